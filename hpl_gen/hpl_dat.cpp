#include "hpl_gen/hpl_dat.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/files/input_file.hpp"
#include "hpl_gen/block_cyclic.hpp"

namespace weft::hpl_gen {
namespace {

constexpr std::array<std::string_view, 3> kFactors = {"left", "crout", "right"};
constexpr std::array<std::string_view, 6> kBcasts = {"1rg", "1rM", "2rg", "2rM", "Lng", "LnM"};
constexpr std::array<std::string_view, 3> kSwaps = {"bin-exch", "long", "mix"};
constexpr std::array<std::string_view, 2> kMaps = {"row", "col"};
constexpr std::array<std::string_view, 3> kPrograms = {"netlib", "rochpl", "nvidia"};

constexpr std::int64_t kMaxInt = 2147483647;  // HPL counts in int
// What fgets(line, HPL_LINE_MAX - 2, file) reads at once, the end of the line included; the rest is its next line.
constexpr std::size_t kMostOfLine = 256 - 2 - 1;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v'; }

// Where a word of a line begins and ends.
struct Word {
  std::size_t begin = 0, end = 0;
};

Word next_word(std::string_view line, std::size_t from) {
  while (from < line.size() && is_blank(line[from])) ++from;
  std::size_t end = from;
  while (end < line.size() && !is_blank(line[end])) ++end;
  return {from, end};
}

// Of a number as C writes it what std::from_chars takes: no plus before the digits.
std::string_view without_plus(std::string_view word) {
  if (word.starts_with('+') && !word.starts_with("+-")) word.remove_prefix(1);
  return word;
}

// Reads the file line by line; keeps the position of what is being read.
class Lines {
 public:
  Lines(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}

  // The next line, which must hold `meaning`.
  Result<std::string_view> next(std::string_view meaning) {
    ++number_;
    if (text_.empty())
      return bad_input(fmt::format("{}:{}:1", name_, number_), "the file ends early", {},
                       std::string(meaning));
    const std::size_t end = text_.find('\n');
    const std::string_view line = text_.substr(0, end);
    const std::size_t whole = end == std::string_view::npos ? text_.size() : end + 1;
    if (whole > kMostOfLine)
      return error(kMostOfLine - 1, "HPL would take the rest of a line that is too long for the next line",
                   fmt::format("{} characters", line.size()),
                   fmt::format("at most {}, the end of the line included", kMostOfLine));
    text_.remove_prefix(whole);
    line_ = line;
    return line;
  }
  // About the value of that index in the line that was read last.
  Error about_value(std::size_t index, std::string what, std::string expected) const {
    Word w = next_word(line_, 0);
    for (; index > 0; --index) w = next_word(line_, w.end);
    return error(w.begin, std::move(what), line_.substr(w.begin, w.end - w.begin), std::move(expected));
  }
  Error error(std::size_t at, std::string what, std::string_view got, std::string expected) const {
    return bad_input(fmt::format("{}:{}:{}", name_, number_, at + 1), std::move(what), std::string(got),
                     std::move(expected));
  }
  std::string here() const { return fmt::format("{}:{}", name_, number_); }

  // A whole number in `line` at `w`.
  Result<std::int64_t> integer(std::string_view line, Word w, std::string_view meaning) const {
    const std::string_view word = line.substr(w.begin, w.end - w.begin);
    std::int64_t v = 0;
    const auto [end, code] = std::from_chars(without_plus(word).data(), word.data() + word.size(), v);
    if (word.empty()) return error(w.begin, fmt::format("{} is missing", meaning), {}, "a whole number");
    if (code != std::errc{} || end != word.data() + word.size())
      return error(w.begin, fmt::format("{} is not a number", meaning), word, "a whole number");
    if (v < -kMaxInt || v > kMaxInt)
      return error(w.begin, fmt::format("{} is too large", meaning), word,
                   "a number that fits HPL's 32 bits");
    return v;
  }
  Result<std::int64_t> single(std::string_view meaning) {
    WEFT_ASSIGN(const auto line, next(meaning));
    return integer(line, next_word(line, 0), meaning);
  }

  // The line with a count, then the line with that many values; `least` = the smallest that HPL takes.
  Result<std::vector<std::int64_t>> list(std::string_view count_meaning, std::string_view meaning,
                                         std::int64_t least, std::int64_t most = kMaxInt) {
    WEFT_ASSIGN(const auto count_line, next(count_meaning));
    const Word w = next_word(count_line, 0);
    WEFT_ASSIGN(const std::int64_t count, integer(count_line, w, count_meaning));
    if (count < 1 || count > kMaxListValues)
      return error(w.begin, fmt::format("{} is out of range", count_meaning),
                   count_line.substr(w.begin, w.end - w.begin), fmt::format("1 to {}", kMaxListValues));
    return values(meaning, least, count, most);
  }

  Result<std::vector<std::int64_t>> values(std::string_view meaning, std::int64_t least, std::int64_t count,
                                           std::int64_t most = kMaxInt) {
    WEFT_ASSIGN(const auto line, next(meaning));
    std::vector<std::int64_t> out;
    std::size_t ours = 0, theirs = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const Word w = next_word(line, ours);
      WEFT_ASSIGN(const std::int64_t v, integer(line, w, fmt::format("value {} of {}", i + 1, meaning)));
      // HPL steps over the length of the word and one blank, whatever stood before the word.
      const Word h = next_word(line, std::min(theirs, line.size()));
      if (h.begin != w.begin || h.end != w.end)
        return error(w.begin,
                     fmt::format("HPL would misread value {} of {}: it expects one blank between values",
                                 i + 1, meaning),
                     line.substr(0, w.end), "values from the first column on, one blank between them");
      theirs += (h.end - h.begin) + 1;
      ours = w.end;
      if (v < least)
        return error(w.begin, fmt::format("a value of {} is less than {}", meaning, least),
                     line.substr(w.begin, w.end - w.begin), fmt::format("at least {}", least));
      if (v > most)
        return error(w.begin, fmt::format("a value of {} is more than {}", meaning, most),
                     line.substr(w.begin, w.end - w.begin), fmt::format("at most {}", most));
      out.push_back(v);
    }
    return out;
  }

 private:
  std::string_view text_;
  std::string name_;
  std::string_view line_;
  int number_ = 0;
};

// A choice as HPL takes it: numbers beyond the known ones become `otherwise`.
template <class E>
E choice(std::int64_t v, std::size_t known, E otherwise, std::string_view meaning, const Lines& at, HplDat& d,
         std::string_view name) {
  if (v >= 0 && v < static_cast<std::int64_t>(known)) return static_cast<E>(v);
  d.notes.push_back(fmt::format("{}: {} {} is unknown to {}, which takes {}", at.here(), meaning, v,
                                d.program == Program::kRocHpl ? "rocHPL" : "HPL", name));
  return otherwise;
}

template <class E, std::size_t Size>
Result<E> parse_name(std::string_view text, std::string_view option,
                     const std::array<std::string_view, Size>& names) {
  const auto lower = [](std::string_view s) {
    std::string out(s);
    for (char& c : out)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return out;
  };
  std::string known;
  for (std::size_t i = 0; i < Size; ++i) {
    if (lower(text) == lower(names[i]) || text == fmt::format("{}", i)) return static_cast<E>(i);
    known += fmt::format("{}{}|{}", i == 0 ? "" : ", ", i, names[i]);
  }
  return usage_error(fmt::format("{}: unknown value", option), std::string(text), known);
}

std::string joined(const auto& values, auto&& show) {
  std::string out;
  for (const auto& v : values) out += fmt::format("{}{}", out.empty() ? "" : " ", show(v));
  return out;
}

}  // namespace

int HplDat::ranks() const {
  int most = 0;
  for (const Grid& g : grids) most = std::max(most, g.p * g.q);
  return most;
}

std::uint64_t HplDat::run_count() const {
  std::uint64_t c = 1;
  for (const std::size_t s : {n.size(), nb.size(), grids.size(), pfact.size(), nbmin.size(), ndiv.size(),
                              rfact.size(), bcast.size(), depth.size()})
    c *= s;
  return c;
}

std::vector<HplConfig> HplDat::runs() const {
  std::vector<HplConfig> out;
  HplConfig c;
  c.pmap = pmap;
  c.swap = swap;
  c.swap_threshold = swap_threshold;
  c.l1_transposed = l1_transposed;
  c.u_transposed = u_transposed;
  c.equil = equil;
  c.align = align;
  c.threshold = threshold;
  c.program = program;
  c.rochpl = rochpl;
  for (const Grid& g : grids)
    for (const auto order : n)
      for (const auto width : nb)
        for (const int d : depth)
          for (const Bcast b : bcast)
            for (const Factor r : rfact)
              for (const Factor f : pfact)
                for (const int m : nbmin)
                  for (const int v : ndiv) {
                    c.p = g.p, c.q = g.q, c.n = order, c.nb = width, c.depth = d, c.bcast = b;
                    c.rfact = r, c.pfact = f, c.nbmin = m, c.ndiv = v;
                    out.push_back(c);
                  }
  return out;
}

Result<HplDat> parse_hpl_dat(std::string_view text, const std::string& name, Program program) {
  Lines in(text, name);
  HplDat d;
  d.program = program;
  const bool rochpl = program == Program::kRocHpl;
  const auto ints = [](const std::vector<std::int64_t>& v) { return std::vector<int>(v.begin(), v.end()); };
  for (const std::string_view title :
       {"the first title line", "the second title line", "the output file name"})
    WEFT_TRY(in.next(title));
  WEFT_TRY(in.single("the output device"));
  WEFT_ASSIGN(d.n, in.list("the number of problem sizes", "N", 0, kMaxOrder));
  WEFT_ASSIGN(d.nb, in.list("the number of NBs", "NB", 1, kMaxNb));
  WEFT_ASSIGN(const auto map, in.single("PMAP"));
  d.pmap = map == 1 ? ProcessMap::kColumnMajor : ProcessMap::kRowMajor;
  WEFT_ASSIGN(const auto ps, in.list("the number of process grids", "P", 1));
  WEFT_ASSIGN(const auto qs, in.values("Q", 1, static_cast<std::int64_t>(ps.size())));
  d.grids.clear();
  for (std::size_t i = 0; i < ps.size(); ++i) {
    if (ps[i] * qs[i] > kMaxProcesses)
      return in.error(0, "the process grid is too large", fmt::format("{} x {}", ps[i], qs[i]),
                      "at most 2^20 processes");
    d.grids.push_back({static_cast<int>(ps[i]), static_cast<int>(qs[i])});
  }
  {
    WEFT_ASSIGN(const auto line, in.next("the threshold of the residual check"));
    const Word w = next_word(line, 0);
    const std::string_view word = line.substr(w.begin, w.end - w.begin);
    const auto [end, code] =
        std::from_chars(without_plus(word).data(), word.data() + word.size(), d.threshold);
    if (code != std::errc{} || end != word.data() + word.size() || !std::isfinite(d.threshold))
      return in.error(w.begin, "the threshold is not a number", word, "a number such as 16.0");
  }
  const auto factors = [&](std::string_view count, std::string_view what) -> Result<std::vector<Factor>> {
    WEFT_ASSIGN(const auto values, in.list(count, what, -kMaxInt));
    std::vector<Factor> out;
    out.reserve(values.size());
    for (const auto v : values) out.push_back(choice(v, 3, Factor::kRight, what, in, d, "2 (right)"));
    return out;
  };
  WEFT_ASSIGN(d.pfact, factors("the number of panel factorisations", "PFACT"));
  WEFT_ASSIGN(const auto nbmin, in.list("the number of recursive stopping criteria", "NBMIN", 1));
  d.nbmin = ints(nbmin);
  WEFT_ASSIGN(const auto ndiv, in.list("the number of panels in recursion", "NDIV", 2));
  d.ndiv = ints(ndiv);
  WEFT_ASSIGN(d.rfact, factors("the number of recursive panel factorisations", "RFACT"));
  WEFT_ASSIGN(const auto bcasts, in.list("the number of broadcasts", "BCAST", -kMaxInt));
  d.bcast.clear();
  const Bcast unknown = rochpl ? Bcast::kLongM : Bcast::k1RingM;
  for (const auto v : bcasts)
    d.bcast.push_back(choice(v, kBcasts.size(), unknown, "BCAST", in, d, rochpl ? "5 (LnM)" : "1 (1rM)"));
  WEFT_ASSIGN(const auto depths, in.list("the number of look-ahead depths", "DEPTH", 0, kMaxDepth));
  d.depth = ints(depths);
  if (rochpl)
    for (std::size_t i = 0; i < depths.size(); ++i)
      if (depths[i] != 1) return in.about_value(i, "rocHPL takes no other DEPTH than 1", "1");
  if (program == Program::kNvidia) {
    // Runs that differ in it alone would be the same one.
    if (depths.size() > 1)
      d.notes.push_back(fmt::format("{}: DEPTH {} makes one run: nvidia always looks one panel ahead",
                                    in.here(), fmt::join(depths, " ")));
    d.depth = {1};
  }
  WEFT_ASSIGN(const auto swap, in.single("SWAP"));
  d.swap = choice(swap, kSwaps.size(), Swap::kSpreadRoll, "SWAP", in, d, "1 (long)");
  if (rochpl && d.swap != Swap::kSpreadRoll)
    return in.about_value(0, "rocHPL takes no other SWAP than 1", "1 (long)");
  WEFT_ASSIGN(const auto threshold, in.single("the swapping threshold"));
  d.swap_threshold = std::max<std::int64_t>(threshold, 0);
  const auto flag = [&](std::string_view what, int otherwise) -> Result<bool> {
    WEFT_ASSIGN(const auto v, in.single(what));
    return choice(v, 2, otherwise, what, in, d, otherwise == 0 ? "0" : "1") != 0;
  };
  WEFT_ASSIGN(const bool l1, flag("L1", 0));
  WEFT_ASSIGN(const bool u, flag("U", 0));
  if (rochpl && u) return in.about_value(0, "rocHPL takes U in transposed form only", "0 (transposed)");
  WEFT_ASSIGN(d.equil, flag("the equilibration", 1));
  if (rochpl && d.equil) return in.about_value(0, "rocHPL knows no equilibration", "0 (no)");
  d.l1_transposed = !l1, d.u_transposed = !u;
  WEFT_ASSIGN(const auto align, in.single("the memory alignment"));
  d.align = align <= 0 ? 4 : static_cast<int>(align);
  return d;
}

Result<HplDat> read_hpl_dat(const std::string& path, Program program) {
  WEFT_ASSIGN(const std::string text, read_text(path, 1u << 20));
  return parse_hpl_dat(text, path, program);
}

HplDat to_dat(const HplConfig& c) {
  HplDat d;
  d.n = {c.n}, d.nb = {c.nb}, d.pmap = c.pmap, d.grids = {{c.p, c.q}}, d.threshold = c.threshold;
  d.pfact = {c.pfact}, d.nbmin = {c.nbmin}, d.ndiv = {c.ndiv}, d.rfact = {c.rfact}, d.bcast = {c.bcast};
  d.depth = {c.depth}, d.swap = c.swap, d.swap_threshold = c.swap_threshold;
  d.l1_transposed = c.l1_transposed, d.u_transposed = c.u_transposed, d.equil = c.equil, d.align = c.align;
  d.program = c.program, d.rochpl = c.rochpl;
  return d;
}

std::string write_hpl_dat(const HplDat& dat) {
  HplDat d = dat;
  // It ends on all others, whatever it does by itself.
  if (d.program == Program::kRocHpl)
    d.depth = {1}, d.swap = Swap::kSpreadRoll, d.u_transposed = true, d.equil = false;
  const auto number = [](const auto& v) { return fmt::format("{}", v); };
  const auto code = [](const auto& v) { return fmt::format("{}", static_cast<int>(v)); };
  std::string out = "HPL input file\nwritten by weft\n";
  const auto line = [&](const std::string& value, std::string_view meaning) {
    out += fmt::format("{:<12} {}\n", value, meaning);
  };
  const auto list = [&](const auto& values, auto&& show, std::string_view count, std::string_view meaning) {
    line(number(values.size()), count);
    line(joined(values, show), meaning);
  };
  line("HPL.out", "output file name (if any)");
  line("6", "device out (6=stdout, 7=stderr, else the file)");
  list(d.n, number, "number of problem sizes", "N");
  list(d.nb, number, "number of block sizes", "NB");
  line(code(d.pmap), "PMAP (0=row-major, 1=column-major)");
  line(number(d.grids.size()), "number of process grids");
  line(joined(d.grids, [](const Grid& g) { return g.p; }), "P");
  line(joined(d.grids, [](const Grid& g) { return g.q; }), "Q");
  // All of it: a small one that becomes 0 is no check any more. Whole ones as HPL.dat has them, 16.0.
  const std::string threshold = number(d.threshold);
  const bool whole = threshold.find_first_not_of("-0123456789") == std::string::npos;
  line(threshold + (whole ? ".0" : ""), "threshold");
  list(d.pfact, code, "number of PFACTs", "PFACT (0=left, 1=Crout, 2=right)");
  list(d.nbmin, number, "number of NBMINs", "NBMIN (>= 1)");
  list(d.ndiv, number, "number of NDIVs", "NDIV (>= 2)");
  list(d.rfact, code, "number of RFACTs", "RFACT (0=left, 1=Crout, 2=right)");
  list(d.bcast, code, "number of BCASTs", "BCAST (0=1rg, 1=1rM, 2=2rg, 3=2rM, 4=Lng, 5=LnM)");
  list(d.depth, number, "number of DEPTHs", "DEPTH (>= 0)");
  line(code(d.swap), "SWAP (0=bin-exch, 1=long, 2=mix)");
  line(number(d.swap_threshold), "swapping threshold");
  line(d.l1_transposed ? "0" : "1", "L1 (0=transposed, 1=not transposed)");
  line(d.u_transposed ? "0" : "1", "U (0=transposed, 1=not transposed)");
  line(d.equil ? "1" : "0", "equilibration (0=no, 1=yes)");
  line(number(d.align), "memory alignment in doubles");
  return out;
}

Result<void> check_config(const HplConfig& c) {
  const auto fail = [](std::string_view what, auto got, std::string_view expected) {
    return bad_input({}, std::string(what), fmt::format("{}", got), std::string(expected));
  };
  if (c.n < 0 || c.n > kMaxOrder) return fail("N is out of range", c.n, "0 to 2^31 - 2, HPL's int");
  if (c.nb < 1 || c.nb > kMaxNb) return fail("NB is out of range", c.nb, "1 to 32768");
  if (c.p < 1) return fail("P is out of range", c.p, "at least 1");
  if (c.q < 1) return fail("Q is out of range", c.q, "at least 1");
  if (static_cast<std::int64_t>(c.p) * c.q > kMaxProcesses)
    return fail("the process grid is too large", fmt::format("{} x {}", c.p, c.q), "at most 2^20 processes");
  if (c.nbmin < 1) return fail("NBMIN is out of range", c.nbmin, "at least 1");
  if (c.ndiv < 2) return fail("NDIV is out of range", c.ndiv, "at least 2");
  if (c.depth < 0 || c.depth > kMaxDepth) return fail("DEPTH is out of range", c.depth, "0 to 64");
  if (c.swap_threshold < 0) return fail("the swapping threshold is negative", c.swap_threshold, "at least 0");
  if (on_accelerators(c.program)) {
    const RocHplArguments& r = c.rochpl;
    if (!(r.split >= 0 && r.split <= 1)) return fail("the split is out of range", r.split, "0 to 1");
    if (r.device_memory < 0)
      return fail("the accelerator's memory is negative", r.device_memory, "at least 0 bytes");
    const std::int64_t least =
        device_buffers(c.nb, most_local_count(0, c.n, c.nb, c.p), most_local_count(0, c.n + 1, c.nb, c.q));
    if (r.device_memory > 0 && r.device_memory < least)
      return fail("the accelerator's memory is too small for its panels and rows of U",
                  fmt::format("{}B", r.device_memory),
                  fmt::format("at least {}B with N = {}, NB = {} on {} x {}", least, c.n, c.nb, c.p, c.q));
    if (r.local_p < 0 || (r.local_p > 0 && c.p % r.local_p != 0))
      return fail("P is no multiple of the process rows on a node", r.local_p,
                  fmt::format("a divisor of {}", c.p));
    if (r.local_q < 0 || (r.local_q > 0 && c.q % r.local_q != 0))
      return fail("Q is no multiple of the process columns on a node", r.local_q,
                  fmt::format("a divisor of {}", c.q));
  }
  return {};
}

Result<Factor> parse_factor(std::string_view t, std::string_view o) {
  return parse_name<Factor>(t, o, kFactors);
}
Result<Bcast> parse_bcast(std::string_view t, std::string_view o) { return parse_name<Bcast>(t, o, kBcasts); }
Result<Swap> parse_swap(std::string_view t, std::string_view o) { return parse_name<Swap>(t, o, kSwaps); }
Result<ProcessMap> parse_pmap(std::string_view t, std::string_view o) {
  return parse_name<ProcessMap>(t, o, kMaps);
}

Result<Program> parse_program(std::string_view t, std::string_view o) {
  for (const Program p : {Program::kNetlib, Program::kRocHpl, Program::kNvidia})
    if (t == name_of(p)) return p;
  return usage_error(fmt::format("{}: unknown value", o), std::string(t),
                     fmt::format("one of: {}", fmt::join(kPrograms, ", ")));
}

std::string_view name_of(Program p) { return kPrograms[static_cast<std::size_t>(p)]; }
std::string_view name_of(Factor f) { return kFactors[static_cast<std::size_t>(f)]; }
std::string_view name_of(Bcast b) { return kBcasts[static_cast<std::size_t>(b)]; }
std::string_view name_of(Swap s) { return kSwaps[static_cast<std::size_t>(s)]; }
std::string_view name_of(ProcessMap m) { return kMaps[static_cast<std::size_t>(m)]; }

}  // namespace weft::hpl_gen
