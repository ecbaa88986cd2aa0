// Aligned text tables for people, and the same rows as CSV; text that fits a terminal.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace weft::report {

// Characters of a line, as wide as a terminal shows them (a UTF-8 sequence counts one). No line that can be broken is
// longer; what cannot be broken (a name, a number) keeps its length.
inline constexpr std::size_t kNoWidth = std::numeric_limits<std::size_t>::max();
inline constexpr std::size_t kUsualWidth = 100;  // without a terminal

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Precondition: as many cells as columns.
  void add(std::vector<std::string> cells);
  // Where the columns do not fit beside each other the table goes on below with the columns that are left, each part
  // with the first `keys` columns in front.
  [[nodiscard]] std::string text(std::size_t width = kNoWidth, std::size_t keys = 1) const;
  [[nodiscard]] std::size_t size() const { return rows_.size(); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// `text` in lines of at most `width`, broken at spaces; every line but the first begins with `indent` spaces. A unit
// stays with its number ("12.3 ms").
[[nodiscard]] std::string wrap(std::string_view text, std::size_t width, std::size_t indent = 0);

// One CSV line with quoting (RFC 4180), "\n" at its end.
[[nodiscard]] std::string csv_line(const std::vector<std::string>& cells);

}  // namespace weft::report
