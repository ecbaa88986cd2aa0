#include "topology/fit/measurements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/files/csv.hpp"
#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"

namespace weft::topology::fit {
namespace {

constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 30;
constexpr std::size_t kMaxColumns = 256;

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t' || s.front() == '"')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r' || s.back() == '"'))
    s.remove_suffix(1);
  return s;
}

constexpr std::string_view kTitles =
    "\"# OSU MPI Latency Test\" (osu_latency), \"# OSU MPI Bandwidth Test\" (osu_bw) or \"# Benchmarking "
    "PingPong\" (IMB)";

// A line that begins the output of a benchmark. Without a format: one that no message between two hosts can be told from.
struct Title {
  std::string_view name;
  std::optional<Measurements::Format> format;
  bool imb = false;  // its programs write several benchmarks one after the other
};

// After "# OSU MPI" an accelerator may be named ("-CUDA"), after "Test" a version.
std::optional<Title> osu_title(std::string_view name) {
  constexpr std::string_view kProgram = "OSU MPI";
  if (!name.starts_with(kProgram)) return std::nullopt;
  std::string_view rest = name.substr(kProgram.size());
  if (rest.starts_with("-")) rest.remove_prefix(std::min(rest.find(' '), rest.size()));
  Title t{name, std::nullopt};
  if (rest.starts_with(" Latency Test")) t.format = Measurements::Format::kOsuLatency;
  if (rest.starts_with(" Bandwidth Test")) t.format = Measurements::Format::kOsuBandwidth;
  return t;
}

// `line` without blanks around it.
std::optional<Title> title_of(std::string_view line) {
  if (!line.starts_with('#')) return std::nullopt;
  line.remove_prefix(1);
  line = trimmed(line);
  constexpr std::string_view kImb = "Benchmarking ";
  if (!line.starts_with(kImb)) return osu_title(line);
  Title t{trimmed(line.substr(kImb.size())), std::nullopt, true};
  if (t.name == "PingPong") t.format = Measurements::Format::kImbPingPong;
  return t;
}

// Column heads of these benchmarks; IMB's stand without "#".
bool is_table_head(std::string_view line) {
  return line.find("[usec]") != std::string_view::npos ||
         (line.starts_with('#') && (line.find("Latency") != std::string_view::npos ||
                                    line.find("Bandwidth (MB/s)") != std::string_view::npos));
}

// Calls f(line text, its offset, its number) until f says stop (false).
template <class F>
void for_each_line(std::string_view text, F f) {
  std::uint32_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (!f(text.substr(at, end - at), at, number)) return;
    at = end + 1;
  }
}

}  // namespace

Result<Measurements> Measurements::read(const std::string& path) {
  WEFT_ASSIGN(std::string text, read_text(path, kMaxFile));
  return parse(path, std::move(text));
}

Result<Measurements> Measurements::parse(const std::string& file, std::string text) {
  Measurements m;
  m.file_ = file;
  m.text_ = std::move(text);
  bool comments = false, titled = false;
  std::uint32_t header = 0, table = 0;
  for_each_line(m.text_, [&](std::string_view line, std::size_t, std::uint32_t number) {
    const std::string_view t = trimmed(line);
    if (t.empty()) return true;
    if (title_of(t)) {
      titled = true;
      return false;
    }
    if (is_table_head(t)) {
      table = number;
      return true;
    }
    comments = comments || t.front() == '#';
    if (t.front() == '#' || table > 0 || t.find(',') == std::string_view::npos) return true;
    header = number;
    return false;
  });
  if (titled) {
    WEFT_TRY(m.parse_blanks());
  } else if (header > 0) {
    WEFT_TRY(m.parse_csv(header));
  } else if (table > 0) {
    return bad_input(SourcePos{file, table, 1}.text(), "no line says which benchmark this table is of", {},
                     fmt::format("{} above it", kTitles));
  } else {
    return bad_input(SourcePos{file, 1, 1}.text(),
                     comments ? "comments name no known benchmark" : "not a file of measurements", {},
                     "CSV with a header line, OSU latency or bandwidth output, or IMB PingPong output");
  }
  if (m.rows() == 0)
    return bad_input(SourcePos{file, 1, 1}.text(), "no measurement in the file", {},
                     m.left_out_.empty()
                         ? std::string("a row of numbers")
                         : fmt::format("a PingPong block beside {}", fmt::join(m.left_out_, ", ")));
  return m;
}

Result<void> Measurements::parse_csv(std::size_t header_line) {
  // Cells move into a text of their own: a quoted one may be written otherwise than it reads.
  std::string cells;
  CsvReader csv(file_, text_, '#');
  while (true) {
    WEFT_ASSIGN(const bool row, csv.next_row());
    if (!row) break;
    if (csv.line() < header_line) continue;
    if (csv.line() == header_line) {
      if (csv.cells().size() > kMaxColumns)
        return bad_input(csv.where(csv.cells()[kMaxColumns].column), "too many columns", {},
                         fmt::format("at most {}", kMaxColumns));
      for (const CsvCell& c : csv.cells()) columns_.push_back(c.text);
      continue;
    }
    if (csv.cells().size() != columns_.size())
      return bad_input(csv.where(1), "row of another length than the header",
                       fmt::format("{} cells", csv.cells().size()), fmt::format("{} cells", columns_.size()));
    for (const CsvCell& c : csv.cells()) {
      cells_.push_back({cells.size(), static_cast<std::uint32_t>(c.text.size()), csv.line(), c.column});
      cells += c.text;
    }
  }
  text_ = std::move(cells);
  return {};
}

// What follows the title of a benchmark is its own until the next title. IMB's others are left out, since one run writes
// all; a file of another OSU program is a mistake.
Result<void> Measurements::begin_block(std::string_view line, std::uint32_t number, bool& wanted) {
  const auto title = title_of(line);
  if (!title) return {};
  wanted = title->format.has_value();
  const std::string at = SourcePos{file_, number, 1}.text();
  if (!wanted && !title->imb)
    return bad_input(at, "not times of one message at a time, nor messages one way between two hosts",
                     std::string(title->name), std::string(kTitles));
  if (!wanted) {
    if (std::find(left_out_.begin(), left_out_.end(), title->name) == left_out_.end())
      left_out_.emplace_back(title->name);
    return {};
  }
  if (format_ != Format::kCsv && format_ != *title->format)
    return bad_input(at, "a second kind of benchmark in one file", std::string(title->name),
                     "a file for each; weft fit network takes several");
  format_ = *title->format;
  return {};
}

// Rows of numbers in columns set apart by blanks: the first is the size, one of the others is asked for.
Result<void> Measurements::add_row(std::string_view line, std::size_t offset, std::uint32_t number) {
  const std::size_t wanted = format_ == Format::kImbPingPong ? 2 : 1;
  std::vector<Cell> fields;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t' || line[at] == '\r')) ++at;
    const std::size_t start = at;
    while (at < line.size() && line[at] != ' ' && line[at] != '\t' && line[at] != '\r') ++at;
    if (at > start)
      fields.push_back({offset + start, static_cast<std::uint32_t>(at - start), number,
                        static_cast<std::uint32_t>(start + 1)});
  }
  // Text around the table starts with no digit.
  if (fields.empty() || text_[fields[0].offset] < '0' || text_[fields[0].offset] > '9') return {};
  if (fields.size() <= wanted)
    return bad_input(SourcePos{file_, number, 1}.text(), "row is too short", std::string(trimmed(line)),
                     fmt::format("at least {} numbers", wanted + 1));
  cells_.push_back(fields[0]);
  cells_.push_back(fields[wanted]);
  return {};
}

Result<void> Measurements::parse_blanks() {
  columns_ = {"size", "time"};
  bool wanted = false;
  std::optional<Error> error;
  for_each_line(text_, [&](std::string_view line, std::size_t offset, std::uint32_t number) {
    auto done = begin_block(trimmed(line), number, wanted);
    if (done && wanted) done = add_row(line, offset, number);
    if (!done) error = std::move(done).error();
    return !error;
  });
  if (error) return std::move(*error);
  if (format_ == Format::kOsuBandwidth) columns_.back() = "bandwidth";
  return {};
}

std::optional<std::size_t> Measurements::find(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names)
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i] == name) return i;
  return std::nullopt;
}

std::string Measurements::where(std::size_t row, std::size_t column) const {
  const Cell& c = cells_[row * columns_.size() + column];
  return SourcePos{file_, c.line, c.column}.text();
}

Result<double> Measurements::number(std::size_t row, std::size_t column, double lo, double hi) const {
  const std::string_view t = text(row, column);
  double v = 0;
  const auto [p, ec] = std::from_chars(t.data(), t.data() + t.size(), v);
  if (ec != std::errc() || p != t.data() + t.size() || !std::isfinite(v))
    return bad_input(where(row, column), fmt::format("{} is not a number", columns_[column]), std::string(t),
                     "a number");
  if (v < lo || v > hi)
    return bad_input(where(row, column), fmt::format("{} is out of range", columns_[column]), std::string(t),
                     fmt::format("{:g} to {:g}", lo, hi));
  return v;
}

}  // namespace weft::topology::fit
