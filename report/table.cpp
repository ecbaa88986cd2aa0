#include "report/table.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/printable.hpp"

namespace weft::report {
namespace {
// Columns on a terminal: UTF-8 continuation bytes take none.
std::size_t width_of(std::string_view s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// width_of(s) <= most, by no more of s than that takes.
bool fits(std::string_view s, std::size_t most) {
  std::size_t columns = 0;
  for (const char c : s)
    if ((c & 0xc0) != 0x80 && ++columns > most) return false;
  return true;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%'; }

// No line ends between a number and its unit: a short word after a digit.
bool breaks_at(std::string_view text, std::size_t space) {
  if (space == 0 || !is_digit(text[space - 1])) return true;
  std::size_t end = space + 1;
  while (end < text.size() && (is_letter(text[end]) || text[end] == '/')) ++end;
  return end == space + 1 || end - space > 8;
}
}  // namespace

void Table::add(std::vector<std::string> cells) {
  WEFT_CHECK(cells.size() == columns_.size(), "a table row has the wrong number of cells");
  for (std::string& cell : cells) cell = printable(cell);  // a name from a file does not steer the terminal
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t width, std::size_t keys) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t w = width_of(columns_[c].title);
    for (const auto& r : rows_) w = std::max(w, width_of(r[c]));
    widths.push_back(w);
  }
  std::string out;
  std::vector<std::size_t> part;  // columns side by side
  const auto line = [&](auto&& cell) {
    std::string l;
    for (const std::size_t c : part) {
      const std::string& s = cell(c);
      const std::string pad(widths[c] - width_of(s), ' ');
      if (c != part.front()) l += "  ";
      l += columns_[c].align == Align::kRight ? pad + s : s + pad;
    }
    while (!l.empty() && l.back() == ' ') l.pop_back();
    out += l + "\n";
  };
  for (std::size_t next = 0; next < columns_.size();) {
    part.clear();
    std::size_t used = 0;
    for (std::size_t c = 0; next > 0 && c < keys; ++c) {
      part.push_back(c);
      used += widths[c] + 2;
    }
    const std::size_t first = next;
    for (; next < columns_.size() && (next < first + 1 || next < keys || used + widths[next] <= width);
         ++next) {
      part.push_back(next);
      used += widths[next] + 2;
    }
    if (first > 0) out += "\n";
    line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
    for (const auto& r : rows_) line([&](std::size_t c) -> const std::string& { return r[c]; });
  }
  return out;
}

std::string wrap(std::string_view text, std::size_t width, std::size_t indent) {
  std::string out;
  while (true) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    bool first = true;
    while (true) {
      const std::size_t before = first ? 0 : indent;
      if (before <= width && fits(line, width - before)) break;
      // The last space within the width, else the first one; leading ones are the line's own indent.
      std::size_t at = std::string_view::npos;
      std::size_t columns = before + std::min(line.find_first_not_of(' '), line.size());
      for (std::size_t i = std::min(line.find_first_not_of(' '), line.size()); i < line.size(); ++i) {
        if (line[i] == ' ' && breaks_at(line, i) && (columns <= width || at == std::string_view::npos))
          at = i;
        if ((line[i] & 0xc0) != 0x80) ++columns;
        if (columns > width && at != std::string_view::npos) break;
      }
      if (at == std::string_view::npos) break;
      out += std::string(before, ' ') + std::string(line.substr(0, at)) + "\n";
      line.remove_prefix(at + 1);
      first = false;
    }
    out += std::string(first ? 0 : indent, ' ') + std::string(line);
    if (end == std::string_view::npos) return out;
    out += "\n";
    text.remove_prefix(end + 1);
  }
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string out;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += ',';
    if (cells[i].find_first_of(",\"\n\r") == std::string::npos) {
      out += cells[i];
      continue;
    }
    out += '"';
    for (char ch : cells[i]) {
      if (ch == '"') out += '"';
      out += ch;
    }
    out += '"';
  }
  return out + "\n";
}

}  // namespace weft::report
