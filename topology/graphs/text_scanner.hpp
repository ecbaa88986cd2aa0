// TextScanner: fields of a line-oriented text file with the position of each, for errors of the form
// FILE:LINE:COLUMN. Fields are separated by blanks and tabs; a line ends at \n (a \r before it is dropped).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/source_pos.hpp"

namespace weft::topology {

class TextScanner {
 public:
  TextScanner(std::string_view file, std::string_view text) : file_(file), rest_(text) {}

  // Goes to the next line that is not empty and not a comment (#); false at the end of the file.
  bool next_line();
  // Next field of the line; empty at its end. column() is then the field's, or one past the end.
  std::string_view next_field();
  // What comes after the line; and goes on `bytes` of it further, which are whole lines that somebody else has read.
  [[nodiscard]] std::string_view rest() const { return rest_; }
  void pass_over(std::size_t bytes, std::uint32_t lines) {
    rest_.remove_prefix(bytes);
    number_ += lines;
  }
  [[nodiscard]] std::uint32_t line() const { return number_; }
  [[nodiscard]] std::uint32_t column() const { return column_; }
  [[nodiscard]] std::string where() const { return where(column_); }
  [[nodiscard]] std::string where(std::uint32_t column) const {
    return SourcePos{std::string(file_), number_, column}.text();
  }

 private:
  std::string_view file_;
  std::string_view rest_;
  std::string_view line_;
  std::size_t at_ = 0;
  std::uint32_t number_ = 0;
  std::uint32_t column_ = 1;
};

}  // namespace weft::topology
