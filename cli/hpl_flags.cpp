#include "cli/hpl_flags.hpp"

#include <fmt/format.h>

#include <limits>
#include <vector>

#include "core/quantity_text.hpp"

namespace weft::cli {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

template <class T>
Result<void> integers(const std::string& text, const char* flag, std::int64_t lo, std::int64_t hi,
                      std::vector<T>& out) {
  if (text.empty()) return {};
  out.clear();
  for (const std::string& part : split(text)) {
    WEFT_ASSIGN(const std::int64_t v, parse_integer(part, lo, hi, flag));
    out.push_back(static_cast<T>(v));
  }
  if (out.size() > static_cast<std::size_t>(hpl_gen::kMaxListValues))
    return usage_error(fmt::format("{}: too many values", flag), fmt::format("{}", out.size()),
                       fmt::format("at most {}, as in HPL.dat", hpl_gen::kMaxListValues));
  return {};
}

template <class T, class Parse>
Result<void> names(const std::string& text, const char* flag, Parse parse, std::vector<T>& out) {
  if (text.empty()) return {};
  out.clear();
  for (const std::string& part : split(text)) {
    WEFT_ASSIGN(const T v, parse(part, flag));
    out.push_back(v);
  }
  return {};
}

// HPL's number or a word: which of the two.
Result<void> either(const std::string& text, const char* flag, const char* zero, const char* one,
                    bool zero_value, bool& out) {
  if (text.empty()) return {};
  if (text == "0" || text == zero)
    out = zero_value;
  else if (text == "1" || text == one)
    out = !zero_value;
  else
    return usage_error(fmt::format("{}: unknown value", flag), text,
                       fmt::format("0 ({}) or 1 ({})", zero, one));
  return {};
}

}  // namespace

void HplFlags::add(CLI::App& app) {
  const auto option = [&](const char* name, std::string& value, const char* what, const char* type) {
    app.add_option(name, value, what)->type_name(type);
  };
  option("--dat", dat, "HPL.dat; the flags below replace its lines", "FILE");
  option("--n", n, "order of the matrix", "N,...");
  option("--nb", nb, "block size", "NB,...");
  option("--p", p, "process rows", "P,...");
  option("--q", q, "process columns", "Q,...");
  option("--pmap", pmap, "ranks by rows or columns of the grid: row (0), column (1)", "MAP");
  option("--pfact", pfact, "panel factorisation: left (0), crout (1), right (2)", "FACT,...");
  option("--nbmin", nbmin, "recursion stops at this many columns", "NBMIN,...");
  option("--ndiv", ndiv, "parts of a recursion step", "NDIV,...");
  option("--rfact", rfact, "recursive factorisation: left, crout, right", "FACT,...");
  option("--bcast", bcast, "panel broadcast: 1ring, 1rM, 2ring, 2rM, long, longM (0 to 5)", "BCAST,...");
  option("--depth", depth, "look-ahead", "DEPTH,...");
  option("--swap", swap, "row swap: bin-exch (0), long (1), mix (2)", "SWAP");
  option("--swap-threshold", swap_threshold, "mix: spread-roll above this many columns", "COLUMNS");
  option("--l1", l1, "L1 stored transposed (0) or not (1)", "FORM");
  option("--u", u, "U stored transposed (0) or not (1)", "FORM");
  option("--equil", equil, "equilibration: no (0), yes (1)", "YES");
}

Result<hpl_gen::HplDat> HplFlags::read() const {
  hpl_gen::HplDat d;
  if (!dat.empty()) {
    WEFT_ASSIGN(d, hpl_gen::read_hpl_dat(dat));
  }
  constexpr std::int64_t kInt = std::numeric_limits<int>::max();
  if (n != "auto") WEFT_TRY(integers(n, "--n", 0, kInt, d.n));
  WEFT_TRY(integers(nb, "--nb", 1, kInt, d.nb));
  std::vector<int> rows, columns;
  WEFT_TRY(integers(p, "--p", 1, kInt, rows));
  WEFT_TRY(integers(q, "--q", 1, kInt, columns));
  if (rows.size() != columns.size())
    return usage_error("--p and --q: not the same number of values",
                       fmt::format("{} and {}", rows.size(), columns.size()), "one Q for each P");
  if (!rows.empty()) {
    d.grids.clear();
    for (std::size_t i = 0; i < rows.size(); ++i) d.grids.push_back({rows[i], columns[i]});
  }
  if (!pmap.empty()) {
    WEFT_ASSIGN(d.pmap, hpl_gen::parse_pmap(pmap, "--pmap"));
  }
  WEFT_TRY(names(pfact, "--pfact", hpl_gen::parse_factor, d.pfact));
  WEFT_TRY(names(rfact, "--rfact", hpl_gen::parse_factor, d.rfact));
  WEFT_TRY(names(bcast, "--bcast", hpl_gen::parse_bcast, d.bcast));
  WEFT_TRY(integers(nbmin, "--nbmin", 1, kInt, d.nbmin));
  WEFT_TRY(integers(ndiv, "--ndiv", 2, kInt, d.ndiv));
  WEFT_TRY(integers(depth, "--depth", 0, kInt, d.depth));
  if (!swap.empty()) {
    WEFT_ASSIGN(d.swap, hpl_gen::parse_swap(swap, "--swap"));
  }
  std::vector<std::int64_t> threshold;
  WEFT_TRY(integers(swap_threshold, "--swap-threshold", 0, kInt, threshold));
  if (!threshold.empty()) d.swap_threshold = threshold.front();
  WEFT_TRY(either(l1, "--l1", "transposed", "no", true, d.l1_transposed));
  WEFT_TRY(either(u, "--u", "transposed", "no", true, d.u_transposed));
  WEFT_TRY(either(equil, "--equil", "no", "yes", false, d.equil));
  return d;
}

}  // namespace weft::cli
