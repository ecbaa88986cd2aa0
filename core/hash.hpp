// 64-bit FNV-1a over words: run fingerprints. Not for adversaries, not for file integrity (that is XXH64).
#pragma once

#include <cstdint>

namespace weft {

class Fingerprint {
 public:
  constexpr void add(std::uint64_t word) {
    for (int i = 0; i < 8; ++i) {
      h_ ^= (word >> (8 * i)) & 0xff;
      h_ *= 0x100000001b3ULL;
    }
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return h_; }

 private:
  std::uint64_t h_ = 0xcbf29ce484222325ULL;
};

}  // namespace weft
