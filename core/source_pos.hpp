// Where in an input a thing stands, and how that is printed.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

// Position in a text file; line and column count from 1; 0 = unknown and left out.
struct SourcePos {
  std::string file;
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  [[nodiscard]] std::string text() const;  // "FILE:LINE:COLUMN"
};

// Position in a binary file; record and rank are left out when negative.
struct BytePos {
  std::string file;
  std::uint64_t offset = 0;
  std::int64_t record = -1;
  std::int64_t rank = -1;
  [[nodiscard]] std::string text() const;  // "FILE@byte 0x1f40 (record 812, rank 3)"
};

}  // namespace weft
