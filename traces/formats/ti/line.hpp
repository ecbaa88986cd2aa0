// Is a text one of SimGrid's time-independent traces?
#pragma once

#include <string_view>

#include "traces/formats/rank_text.hpp"

namespace weft::traces {

// True for text whose first line is an action: a rank and a word.
[[nodiscard]] inline bool looks_like_ti_line(std::string_view text) {
  const std::string_view line = first_line(text);
  std::size_t i = 0;
  while (i < line.size() && line[i] >= '0' && line[i] <= '9') ++i;
  if (i == 0 || i == line.size() || (line[i] != ' ' && line[i] != '\t')) return false;
  while (i < line.size() && (line[i] == ' ' || line[i] == '\t')) ++i;
  return i < line.size() && ((line[i] >= 'a' && line[i] <= 'z') || (line[i] >= 'A' && line[i] <= 'Z'));
}

}  // namespace weft::traces
