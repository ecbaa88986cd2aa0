// What tells the format of a file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.hpp"

namespace weft::traces {

// The first 4 KiB of a text that comes in pieces, or as much more, up to 8 MiB, as its first line that is no comment stands
// behind: comments are those of TI text (#) and of GOAL (//, /* */).
class FirstBytes {
 public:
  static constexpr std::size_t kLeast = 4096, kMost = 8u << 20;

  // Takes of `more`, which follows, what is wanted.
  void add(std::string_view more);
  // How many bytes are wanted next: 0 = enough.
  [[nodiscard]] std::size_t wanted() const { return target_ - bytes_.size(); }
  [[nodiscard]] const std::string& bytes() const& { return bytes_; }
  [[nodiscard]] std::string bytes() && { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::size_t target_ = kLeast;
};

// Those of a file. Errors: kBadInput.
[[nodiscard]] Result<std::string> first_bytes(const std::string& path);

}  // namespace weft::traces
