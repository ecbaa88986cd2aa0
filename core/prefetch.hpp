// Hints to the processor: what is far away in memory and will be asked for soon. They change no result.
#pragma once

#include <algorithm>
#include <cstddef>

namespace weft {

inline constexpr std::size_t kCacheLine = 64;

// The first lines of a row, at most `most` bytes of it.
template <class Row>
[[gnu::always_inline]] inline void prefetch_row(const Row& row, std::size_t most = 3 * kCacheLine) {
  const char* const first = reinterpret_cast<const char*>(&row);
  for (std::size_t at = 0; at < std::min(sizeof(Row), most); at += kCacheLine) __builtin_prefetch(first + at);
}

}  // namespace weft
