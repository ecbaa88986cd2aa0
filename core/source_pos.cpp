#include "core/source_pos.hpp"

#include <fmt/format.h>

namespace weft {

std::string SourcePos::text() const {
  if (line == 0) return file;
  if (column == 0) return fmt::format("{}:{}", file, line);
  return fmt::format("{}:{}:{}", file, line, column);
}

std::string BytePos::text() const {
  std::string s = fmt::format("{}@byte {:#x}", file, offset);
  if (record >= 0 && rank >= 0) return s + fmt::format(" (record {}, rank {})", record, rank);
  if (record >= 0) return s + fmt::format(" (record {})", record);
  if (rank >= 0) return s + fmt::format(" (rank {})", rank);
  return s;
}

}  // namespace weft
