#include "topology/fit/measurements.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
  bool csv = false, comments = false;
  std::uint32_t header = 0;
  for_each_line(m.text_, [&](std::string_view line, std::size_t, std::uint32_t number) {
    const std::string_view t = trimmed(line);
    if (t.empty()) return true;
    if (t.front() == '#') {
      comments = true;
      const bool bandwidth = t.find("Bandwidth (MB/s)") != std::string_view::npos ||
                             t.find("Bandwidth Test") != std::string_view::npos;
      if (bandwidth) m.format_ = Format::kOsuBandwidth;
      if (t.find("Latency") != std::string_view::npos && !bandwidth) m.format_ = Format::kOsuLatency;
      if (t.find("#bytes") != std::string_view::npos && t.find("t[usec]") != std::string_view::npos)
        m.format_ = Format::kImbPingPong;
      return true;
    }
    if (t.find(',') != std::string_view::npos && m.format_ == Format::kCsv) {
      csv = true;
      header = number;
      return false;
    }
    // IMB prints its header without "#" in some versions.
    if (t.find("t[usec]") != std::string_view::npos) m.format_ = Format::kImbPingPong;
    return m.format_ == Format::kCsv;
  });
  if (csv) {
    WEFT_TRY(m.parse_csv(header));
  } else if (m.format_ != Format::kCsv) {
    WEFT_TRY(m.parse_blanks());
  } else {
    return bad_input(SourcePos{file, 1, 1}.text(),
                     comments ? "comments name no known benchmark" : "not a file of measurements", {},
                     "CSV with a header line, OSU latency or bandwidth output, or IMB PingPong output");
  }
  if (m.rows() == 0)
    return bad_input(SourcePos{file, 1, 1}.text(), "no measurement in the file", {}, "a row of numbers");
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

// Rows of numbers in columns set apart by blanks: the first is the size, one of the others is asked for.
Result<void> Measurements::parse_blanks() {
  std::size_t wanted = 1;
  if (format_ == Format::kImbPingPong) wanted = 2;
  columns_ = {"size", format_ == Format::kOsuBandwidth ? "bandwidth" : "time"};
  std::optional<Error> error;
  for_each_line(text_, [&](std::string_view line, std::size_t offset, std::uint32_t number) {
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
    if (fields.empty() || text_[fields[0].offset] < '0' || text_[fields[0].offset] > '9') return true;
    if (fields.size() <= wanted) {
      error = bad_input(SourcePos{file_, number, 1}.text(), "row is too short", std::string(trimmed(line)),
                        fmt::format("at least {} numbers", wanted + 1));
      return false;
    }
    cells_.push_back(fields[0]);
    cells_.push_back(fields[wanted]);
    return true;
  });
  if (error) return std::move(*error);
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
