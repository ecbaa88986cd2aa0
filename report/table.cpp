#include "report/table.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/printable.hpp"

namespace weft::report {
namespace {
// Columns on a terminal: UTF-8 continuation bytes take none.
std::size_t width(const std::string& s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}
}  // namespace

void Table::add(std::vector<std::string> cells) {
  WEFT_CHECK(cells.size() == columns_.size(), "a table row has the wrong number of cells");
  for (std::string& cell : cells) cell = printable(cell);  // a name from a file does not steer the terminal
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t w = width(columns_[c].title);
    for (const auto& r : rows_) w = std::max(w, width(r[c]));
    widths.push_back(w);
  }
  std::string out;
  const auto line = [&](auto&& cell) {
    std::string l;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& s = cell(c);
      const std::string pad(widths[c] - width(s), ' ');
      if (c > 0) l += "  ";
      l += columns_[c].align == Align::kRight ? pad + s : s + pad;
    }
    while (!l.empty() && l.back() == ' ') l.pop_back();
    out += l + "\n";
  };
  line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& r : rows_) line([&](std::size_t c) -> const std::string& { return r[c]; });
  return out;
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
