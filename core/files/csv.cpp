#include "core/files/csv.hpp"

#include <algorithm>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"

namespace weft {
namespace {
bool blank(char c) { return c == ' ' || c == '\t'; }
}  // namespace

std::string CsvReader::where(std::uint32_t column) const {
  return SourcePos{std::string(file_), number_, column}.text();
}

Result<bool> CsvReader::next_row() {
  while (!rest_.empty()) {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++number_;
    if (number_ == 1) line_ = without_bom(line_);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    const std::size_t first = line_.find_first_not_of(" \t");
    if (first == std::string_view::npos || (comment_ != '\0' && line_[first] == comment_)) continue;
    WEFT_TRY(split());
    return true;
  }
  return false;
}

Result<void> CsvReader::split() {
  cells_.clear();
  std::size_t i = 0;
  while (true) {
    while (i < line_.size() && blank(line_[i])) ++i;
    CsvCell cell{{}, static_cast<std::uint32_t>(i + 1)};
    if (i < line_.size() && line_[i] == '"') {
      for (++i; true; ++i) {
        if (i >= line_.size())
          return bad_input(where(cell.column), "quote does not close",
                           std::string(line_.substr(cell.column - 1)), "a closing \"");
        if (line_[i] != '"') {
          cell.text += line_[i];
        } else if (i + 1 < line_.size() && line_[i + 1] == '"') {
          cell.text += line_[i++];
        } else {
          break;
        }
      }
      for (++i; i < line_.size() && blank(line_[i]);) ++i;
      if (i < line_.size() && line_[i] != ',')
        return bad_input(where(cell.column), "text after a quoted field", std::string(line_.substr(i)),
                         "a comma");
    } else {
      const std::size_t end = std::min(line_.find(',', i), line_.size());
      std::size_t last = end;
      while (last > i && blank(line_[last - 1])) --last;
      cell.text = line_.substr(i, last - i);
      i = end;
    }
    cells_.push_back(std::move(cell));
    if (i >= line_.size()) return {};
    ++i;
  }
}

}  // namespace weft
