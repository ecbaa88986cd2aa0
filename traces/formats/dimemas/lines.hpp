// The lines of a file, packed or not, from any place on, with one buffer for whoever reads where: a window of each rank's records would be one buffer
// for each rank.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/uninitialized.hpp"
#include "traces/formats/dimemas/fields.hpp"

namespace weft::traces::dimemas {

// Where a line begins.
struct LinePos {
  std::uint64_t offset = 0;
  std::uint64_t number = 1;
};

class LineReader {
 public:
  // One that is packed is unpacked, into a file without a name.
  [[nodiscard]] Result<void> open(const std::string& path);
  // The file that `other` has open, from its beginning.
  void open(const LineReader& other);
  // So many tasks a file of this size may have: one that has none of the records needs none of the memory of a task.
  [[nodiscard]] std::uint64_t most_tasks() const;
  // A reader of the same file has what was read on hand if `pos` is in it.
  void seek(const LinePos& pos);
  [[nodiscard]] const LinePos& pos() const { return pos_; }
  // Blanks and a carriage return at its end are none of the line. False at the end of the file, of which `line` then is. `line.text` is valid up to the next call.
  [[nodiscard]] Result<bool> next(Line& line);

 private:
  static constexpr std::size_t kFirst = 64u << 10, kMost = 64u << 20;  // of a buffer; a line is shorter
  class File;
  [[nodiscard]] Result<bool> fill();
  std::string path_;
  std::shared_ptr<const File> file_;
  LinePos pos_;
  std::vector<char, Uninitialized<char>> buffer_;
  std::uint64_t begin_ = 0;  // offset of buffer_[0]
  std::size_t held_ = 0;     // bytes
};

}  // namespace weft::traces::dimemas
