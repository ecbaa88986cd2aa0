// What a run made of a large input, kept for the runs after it, so that they need not make it again.
//
// A copy is called after what it was made of, the purpose and 128 bits of a hash of the input, so it is never out of date; and it
// carries a hash of itself, so a damaged one counts as none. Whoever cannot read or write copies goes on without; no result depends
// on them. Who changes what is made of an input changes the purpose, or a number that the bytes begin with: versions must not share copies.
//
// Where: the folder WEFT_CACHE_DIR of the environment, or weft/ in XDG_CACHE_HOME or in HOME/.cache. Nowhere if WEFT_CACHE_DIR is
// empty, or none is set. A folder holds at most kMostCopies copies of each purpose; a new one takes the place of the oldest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/files/input_file.hpp"

namespace weft {

class KeptCopy {
 public:
  static constexpr std::size_t kMostCopies = 32;

  // Of what is made of `input` for `purpose`, a word. O(input).
  KeptCopy(std::string_view purpose, std::string_view input);

  // What was kept; nothing if there is none.
  [[nodiscard]] std::optional<FileBytes> find() const;
  // Keeps `made`, if it can.
  void keep(std::string_view made) const;
  // Of the copy; empty if none is kept anywhere.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string folder_, purpose_, path_;
};

}  // namespace weft
