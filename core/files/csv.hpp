// CsvReader: the rows of a CSV text one at a time, each cell with its column for errors.
//
// Cells are set apart by commas; blanks around a cell do not count. A cell in double quotes may hold commas, and a
// quote written twice. A line ends at \n (a \r before it is dropped); blank lines, and a byte order mark, are skipped.
// Memory: one row. O(length of the row) a row.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace weft {

struct CsvCell {
  std::string text;
  std::uint32_t column = 1;  // where it begins in its line, from 1
};

class CsvReader {
 public:
  // `file` names the text in errors; both must outlive the reader. Lines that begin with `comment` are skipped; 0:
  // none.
  CsvReader(std::string_view file, std::string_view text, char comment = '\0')
      : file_(file), rest_(text), comment_(comment) {}

  // The next row; false at the end. Error: a quote that does not close, or text after one that does.
  [[nodiscard]] Result<bool> next_row();
  [[nodiscard]] std::span<const CsvCell> cells() const { return cells_; }
  [[nodiscard]] std::string_view line_text() const { return line_; }
  [[nodiscard]] std::uint32_t line() const { return number_; }
  // "FILE:LINE:COLUMN" in the row.
  [[nodiscard]] std::string where(std::uint32_t column) const;

 private:
  [[nodiscard]] Result<void> split();

  std::string_view file_, rest_, line_;
  std::uint32_t number_ = 0;
  char comment_;
  std::vector<CsvCell> cells_;
};

}  // namespace weft
