#include "topology/graphs/text_scanner.hpp"

namespace weft::topology {

bool TextScanner::next_line() {
  while (!rest_.empty()) {
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++number_;
    if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
    at_ = 0;
    column_ = 1;
    const std::size_t first = line_.find_first_not_of(" \t");
    if (first != std::string_view::npos && line_[first] != '#') return true;
  }
  return false;
}

std::string_view TextScanner::next_field() {
  while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) ++at_;
  const std::size_t begin = at_;
  while (at_ < line_.size() && line_[at_] != ' ' && line_[at_] != '\t') ++at_;
  column_ = static_cast<std::uint32_t>(begin + 1);
  return line_.substr(begin, at_ - begin);
}

}  // namespace weft::topology
