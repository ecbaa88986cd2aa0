#include "cli/flags/hpl_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

#include "cli/flags/values.hpp"
#include "core/counted.hpp"
#include "core/quantity_text.hpp"

namespace weft::cli {
namespace {

using namespace hpl_gen;

// Cuts `text` at commas and gives every part to `one`, which returns a Result of T.
template <class T, class One>
Result<std::vector<T>> list_of(const std::string& text, std::string_view option, One&& one) {
  std::vector<T> out;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    WEFT_ASSIGN(T value, one(std::string_view(text).substr(from, to - from)));
    out.push_back(value);
    from = to + 1;
  }
  if (out.size() > static_cast<std::size_t>(kMaxListValues))
    return usage_error(fmt::format("{}: too many values", option), fmt::format("{}", out.size()),
                       fmt::format("at most {}, as HPL", kMaxListValues));
  return out;
}

Result<std::int64_t> whole(std::string_view text, std::string_view option, std::int64_t least,
                           std::int64_t most = kMaxOrder) {
  std::int64_t v = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (code != std::errc{} || end != text.data() + text.size() || v < least || v > most)
    return usage_error(fmt::format("{}: not a valid number", option), std::string(text),
                       fmt::format("a whole number from {} to {}", least, most));
  return v;
}

template <class T>
Result<void> numbers(const std::string& text, std::string_view option, std::int64_t least,
                     std::vector<T>& out, std::int64_t most = kMaxOrder) {
  if (text.empty()) return {};
  WEFT_ASSIGN(out, list_of<T>(text, option, [&](std::string_view part) -> Result<T> {
                WEFT_ASSIGN(const std::int64_t v, whole(part, option, least, most));
                return static_cast<T>(v);
              }));
  return {};
}

template <class E>
Result<void> names(const std::string& text, std::string_view option,
                   Result<E> (*parse)(std::string_view, std::string_view), std::vector<E>& out) {
  if (text.empty()) return {};
  WEFT_ASSIGN(out, list_of<E>(text, option, [&](std::string_view part) { return parse(part, option); }));
  return {};
}

// 0 or 1, or the two words.
Result<void> either(const std::string& text, std::string_view option, std::string_view zero,
                    std::string_view one, bool value_of_zero, bool& out) {
  if (text.empty()) return {};
  if (text == "0" || text == zero)
    out = value_of_zero;
  else if (text == "1" || text == one)
    out = !value_of_zero;
  else
    return usage_error(fmt::format("{}: unknown value", option), text, fmt::format("0|{}, 1|{}", zero, one));
  return {};
}

}  // namespace

void add_hpl_flags(CLI::App& app, HplFlags& f, bool for_platform) {
  constexpr HplConfig d = HplDat::kDefault;
  const auto by_platform = [&](std::string_view what, std::int64_t file, const std::string& platform) {
    return for_platform ? with_default(what, platform) : with_default(what, file);
  };
  const auto form = [](bool transposed) { return transposed ? "transposed" : "no-transposed"; };
  const std::string grid =
      "all ranks of the platform, as square as they and whole nodes are, or what the other leaves of them";
  app.add_option("--dat", f.dat, "an HPL.dat; a flag below replaces its line [none]")->type_name("FILE");
  app.add_option(
      "--n", f.n,
      by_platform(
          "order of the matrix, in elements; lists are joined by commas, and every combination is a run", d.n,
          fmt::format("auto: {:.0f} % of the platform's memory", predict::kMemoryShare * 100)));
  app.add_option(
      "--nb", f.nb,
      by_platform("width of blocks and panels, in columns", d.nb, fmt::format("{}", predict::kDefaultNb)));
  app.add_option("--p", f.p, by_platform("process rows, in pairs with --q", d.p, grid));
  app.add_option("--q", f.q, by_platform("process columns, in pairs with --p", d.q, grid));
  app.add_option("--pmap", f.pmap, with_default("0|row, 1|col: how ranks fill the grid", name_of(d.pmap)));
  app.add_option("--pfact", f.pfact,
                 with_default("0|left, 1|crout, 2|right: panel factorisation", name_of(d.pfact)));
  app.add_option("--nbmin", f.nbmin, with_default("columns at which the recursion stops", d.nbmin));
  app.add_option("--ndiv", f.ndiv, with_default("parts of a recursion step", d.ndiv));
  app.add_option("--rfact", f.rfact,
                 with_default("0|left, 1|crout, 2|right: recursive factorisation", name_of(d.rfact)));
  app.add_option("--bcast", f.bcast,
                 with_default("0|1rg, 1|1rM, 2|2rg, 3|2rM, 4|Lng, 5|LnM: panel broadcast", name_of(d.bcast)));
  app.add_option("--depth", f.depth, with_default("look-ahead, in panels", d.depth));
  app.add_option("--swap", f.swap, with_default("0|bin-exch, 1|long, 2|mix: row swaps", name_of(d.swap)));
  app.add_option("--swap-threshold", f.swap_threshold,
                 with_default("mix: long above this many columns", d.swap_threshold));
  app.add_option("--l1", f.l1,
                 with_default("0|transposed, 1|no-transposed: form of L1", form(d.l1_transposed)));
  app.add_option("--u", f.u, with_default("0|transposed, 1|no-transposed: form of U", form(d.u_transposed)));
  app.add_option("--equil", f.equil,
                 with_default("0|no, 1|yes: even parts of U in long swaps", d.equil ? "yes" : "no"));
  app.add_option("--align", f.align, with_default("memory alignment in doubles", d.align));
  app.add_option(
      "--program", f.program,
      with_default(
          "netlib | rochpl | nvidia: which program runs; rochpl = AMD's rocHPL 6.1, with its "
          "defaults: NB 384, BCAST 1rg, NBMIN 16, RFACT right, L1 no-transposed, PMAP col, DEPTH 1; "
          "nvidia = HPL-NVIDIA 1.0 as far as it is known, with its input files' NB 288, NBMIN 2, RFACT left",
          name_of(d.program)));
  app.add_option(
      "--split", f.split,
      with_default("rochpl, nvidia: rocHPL's -f, the share of the columns updated first", d.rochpl.split));
  app.add_option("--local-p", f.local_p,
                 fmt::format("rochpl, nvidia: rocHPL's -p, process rows on a node [{}]",
                             for_platform ? "rochpl: a node's ranks over --local-q; nvidia: P"
                                          : "all; of rochpl in a pair with --local-q"));
  app.add_option(
      "--local-q", f.local_q,
      fmt::format("rochpl, nvidia: rocHPL's -q, process columns on a node [{}]",
                  for_platform ? "rochpl: a node's ranks over --local-p, or as many as Q has; nvidia: Q"
                               : "all; of rochpl in a pair with --local-p"));
  app.add_option(
         "--device-memory", f.device_memory,
         "nvidia: of an accelerator, for its part of the matrix and for buffers; columns that do not fit are "
         "updated through the host's [all fits]")
      ->type_name("BYTES");
  app.add_option("--threshold", f.threshold,
                 with_default("of the residual check; 0 or less: no check", d.threshold));
  app.add_option(
         "--pivots", f.pivots,
         with_default(
             "random (by --seed) | exact (factors HPL's own matrix) | from:TRACE (of a recorded run with "
             "this N, NB, P)",
             f.pivots))
      ->type_name("random|exact|from:FILE");
  app.add_option("--matrix-seed", f.matrix_seed,
                 fmt::format("of exact pivots [{}, HPL's]", HplTraceOptions{}.matrix_seed))
      ->transform(count(0, kMaxSigned))
      ->type_name("N");
}

namespace {

// What beside the lines of an HPL.dat d.program is told, and its own lines where there is no file.
Result<void> set_program(const HplFlags& f, HplDat& d) {
  if (f.dat.empty() && on_accelerators(d.program)) d.depth = {1}, d.swap = Swap::kSpreadRoll;
  if (f.dat.empty() && d.program == Program::kRocHpl) {
    // Without an HPL.dat: what its command line takes.
    d.nb = {384}, d.bcast = {Bcast::k1Ring}, d.nbmin = {16}, d.rfact = {Factor::kRight};
    d.pmap = ProcessMap::kColumnMajor, d.l1_transposed = false;
  }
  if (f.dat.empty() && d.program == Program::kNvidia) {
    // What NVIDIA's input files for nodes of 8 A100 say (github NVIDIA/deepops, workloads/burn-in/hplfiles).
    d.nb = {288}, d.bcast = {Bcast::k1RingM}, d.nbmin = {2}, d.rfact = {Factor::kLeft};
  }
  if (!on_accelerators(d.program))
    for (const auto& [flag, text] :
         {std::pair{"--split", f.split}, {"--local-p", f.local_p}, {"--local-q", f.local_q}})
      if (!text.empty())
        return usage_error(fmt::format("{} needs --program rochpl or nvidia", flag), text, "");
  if (on_accelerators(d.program))
    for (const auto& [flag, text] : {std::pair{"--depth", f.depth},
                                     {"--swap", f.swap},
                                     {"--swap-threshold", f.swap_threshold},
                                     {"--u", f.u},
                                     {"--equil", f.equil},
                                     {"--align", f.align}})
      if (!text.empty())
        return usage_error(fmt::format("{} is not read by --program {}", flag, name_of(d.program)), text,
                           "no such flag: it always looks one panel ahead and swaps in its own way");
  if (!f.device_memory.empty()) {
    if (d.program != Program::kNvidia)
      return usage_error("--device-memory needs --program nvidia", f.device_memory, "");
    const auto bytes = parse_bytes(f.device_memory, "--device-memory");
    if (!bytes || bytes->value() <= 0)
      return usage_error("--device-memory: not a positive size", f.device_memory,
                         "a number with a unit, like 38GiB");
    d.rochpl.device_memory = bytes->value();
  }
  if (!f.split.empty()) {
    const char* end = f.split.data() + f.split.size();
    const auto [at, code] = std::from_chars(f.split.data(), end, d.rochpl.split);
    if (code != std::errc{} || at != end || !(d.rochpl.split >= 0 && d.rochpl.split <= 1))
      return usage_error("--split: not a share", f.split, "a number from 0 to 1");
  }
  const auto count_of = [](const std::string& text, std::string_view flag, int& out) -> Result<void> {
    if (text.empty()) return {};
    WEFT_ASSIGN(const std::int64_t v, whole(text, flag, 1));
    out = static_cast<int>(v);
    return {};
  };
  WEFT_TRY(count_of(f.local_p, "--local-p", d.rochpl.local_p));
  return count_of(f.local_q, "--local-q", d.rochpl.local_q);
}

// The other side of grids of all `ranks`, one for each value that `text` lists.
Result<std::string> other_side(const std::string& text, std::string_view option, int ranks) {
  std::vector<std::int64_t> sides;
  WEFT_TRY(numbers(text, option, 1, sides));
  for (std::int64_t& side : sides) {
    if (ranks % side != 0)
      return usage_error(fmt::format("{} does not divide the ranks of the platform", option),
                         fmt::format("{}", side), fmt::format("a divisor of {}, or both --p and --q", ranks));
    side = ranks / side;
  }
  return fmt::format("{}", fmt::join(sides, ","));
}

}  // namespace

Result<HplDat> hpl_dat_of(const HplFlags& f) {
  HplDat d;
  if (!f.program.empty()) {
    WEFT_ASSIGN(d.program, parse_program(f.program, "--program"));
  }
  if (!f.dat.empty()) {
    WEFT_ASSIGN(d, read_hpl_dat(f.dat, d.program));
  }
  WEFT_TRY(set_program(f, d));
  WEFT_TRY(numbers(f.n, "--n", 0, d.n));
  WEFT_TRY(numbers(f.nb, "--nb", 1, d.nb, kMaxNb));
  WEFT_TRY(numbers(f.nbmin, "--nbmin", 1, d.nbmin));
  WEFT_TRY(numbers(f.ndiv, "--ndiv", 2, d.ndiv));
  WEFT_TRY(numbers(f.depth, "--depth", 0, d.depth, kMaxDepth));
  WEFT_TRY(names(f.pfact, "--pfact", parse_factor, d.pfact));
  WEFT_TRY(names(f.rfact, "--rfact", parse_factor, d.rfact));
  WEFT_TRY(names(f.bcast, "--bcast", parse_bcast, d.bcast));
  std::vector<std::int64_t> p, q;
  for (const Grid& g : d.grids) p.push_back(g.p), q.push_back(g.q);
  WEFT_TRY(numbers(f.p, "--p", 1, p));
  WEFT_TRY(numbers(f.q, "--q", 1, q));
  if (p.size() != q.size())
    return usage_error("--p and --q must have as many values as each other",
                       fmt::format("{} and {}", p.size(), q.size()), "one Q for each P");
  d.grids.clear();
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] * q[i] > kMaxProcesses)
      return usage_error("the process grid is too large", fmt::format("{} x {}", p[i], q[i]),
                         "at most 2^20 processes");
    d.grids.push_back({static_cast<int>(p[i]), static_cast<int>(q[i])});
  }
  if (!f.pmap.empty()) {
    WEFT_ASSIGN(d.pmap, parse_pmap(f.pmap, "--pmap"));
  }
  if (on_accelerators(d.program) && d.pmap == ProcessMap::kRowMajor &&
      !(f.local_p.empty() && f.local_q.empty()))
    d.notes.push_back(fmt::format(
        "--local-p and --local-q: with PMAP row {} fills the grid row by row, whatever the nodes are",
        name_of(d.program)));
  if (!f.swap.empty()) {
    WEFT_ASSIGN(d.swap, parse_swap(f.swap, "--swap"));
  }
  if (!f.swap_threshold.empty()) {
    WEFT_ASSIGN(d.swap_threshold, whole(f.swap_threshold, "--swap-threshold", 0));
  }
  if (!f.align.empty()) {
    WEFT_ASSIGN(const std::int64_t align, whole(f.align, "--align", 1));
    d.align = static_cast<int>(align);
  }
  WEFT_TRY(either(f.l1, "--l1", "transposed", "no-transposed", true, d.l1_transposed));
  WEFT_TRY(either(f.u, "--u", "transposed", "no-transposed", true, d.u_transposed));
  WEFT_TRY(either(f.equil, "--equil", "no", "yes", false, d.equil));
  if (!f.threshold.empty()) {
    const char* end = f.threshold.data() + f.threshold.size();
    const auto [at, code] = std::from_chars(f.threshold.data(), end, d.threshold);
    if (code != std::errc{} || at != end || !std::isfinite(d.threshold))
      return usage_error("--threshold: not a number", f.threshold, "a number such as 16.0");
  }
  return d;
}

Result<predict::ChosenDat> hpl_dat_for(const HplFlags& flags, const topology::Platform& platform,
                                       std::string_view map, std::uint64_t seed) {
  predict::Open open;
  HplFlags given = flags;
  open.n = flags.n == "auto" || (flags.n.empty() && flags.dat.empty());
  open.nb = flags.nb.empty() && flags.dat.empty() && (flags.program.empty() || flags.program == "netlib");
  open.grid = flags.p.empty() && flags.q.empty() && flags.dat.empty();
  if (open.n) given.n.clear();
  std::string other;
  if (flags.dat.empty() && flags.p.empty() != flags.q.empty()) {
    const bool has_p = flags.q.empty();
    WEFT_ASSIGN(const int ranks, predict::all_ranks(platform));
    std::string& side = has_p ? given.q : given.p;
    WEFT_ASSIGN(side, other_side(has_p ? flags.p : flags.q, has_p ? "--p" : "--q", ranks));
    other = fmt::format("{} = {} (all {})", has_p ? "Q" : "P", side,
                        counted(static_cast<std::uint64_t>(ranks), "rank"));
  }
  WEFT_ASSIGN(auto dat, hpl_dat_of(given));
  WEFT_ASSIGN(auto chosen, predict::complete_dat(std::move(dat), open, platform, map, seed));
  if (!other.empty()) chosen.chosen.push_back(std::move(other));
  return chosen;
}

Result<void> check_split(const HplFlags& f, std::span<const Grid> grids) {
  if (f.split.empty() || std::ranges::any_of(grids, [](const Grid& g) { return g.p > 1; })) return {};
  return usage_error(
      "--split has nothing to do with one process row, where rows are swapped on the accelerator", f.split,
      "P of 2 or more, or no --split");
}

Result<void> set_pivots(const HplFlags& f, std::uint64_t seed, HplTraceOptions& options) {
  if (f.matrix_seed && f.pivots != "exact")
    return usage_error("--matrix-seed is of exact pivots", fmt::format("{}", *f.matrix_seed),
                       "--pivots exact");
  options.seed = seed;
  options.matrix_seed = f.matrix_seed.value_or(HplTraceOptions{}.matrix_seed);
  if (f.pivots == "random")
    options.pivots = PivotKind::kRandom;
  else if (f.pivots == "exact")
    options.pivots = PivotKind::kExact, options.exact = std::make_shared<ExactPivots>(options.matrix_seed);
  else if (f.pivots.starts_with("from:")) {
    const std::string path = f.pivots.substr(5);
    WEFT_ASSIGN(const auto trace, traces::open_trace({path}));
    WEFT_ASSIGN(options.recorded, read_recorded_rows(*trace, path));
    options.pivots = PivotKind::kRecorded;
  } else
    return usage_error("--pivots: unknown value", f.pivots, "one of: random, exact, from:TRACE");
  return {};
}

std::vector<std::string> pivot_warnings(const HplTraceOptions& options) {
  return options.recorded != nullptr ? options.recorded->warnings() : std::vector<std::string>();
}

}  // namespace weft::cli
