// Hints to the processor: what is far away in memory and will be asked for soon. They change no result.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weft {

inline constexpr std::size_t kCacheLine = 64;

// The first lines of a row, at most `most` bytes of it.
template <class Row>
[[gnu::always_inline]] inline void prefetch_row(const Row& row, std::size_t most = 3 * kCacheLine) {
  const char* const first = reinterpret_cast<const char*>(&row);
  for (std::size_t at = 0; at < std::min(sizeof(Row), most); at += kCacheLine) __builtin_prefetch(first + at);
}

// How far each of a few things that come next has been hinted at. Where rows lead to rows, each is asked for when the one before it
// has had time to come, so a hint waits for none.
class HintStages {
 public:
  // How often it was called for `id` before, which no other thing had in between.
  [[nodiscard, gnu::always_inline]] std::uint32_t next(std::uint64_t id) {
    Place& p = places_[id % kPlaces];
    if (p.id != id) p = {id, 0};
    return p.stage++;
  }

 private:
  static constexpr std::size_t kPlaces = 32;
  struct Place {
    std::uint64_t id = ~0ULL;
    std::uint32_t stage = 0;
  };
  std::array<Place, kPlaces> places_;
};

}  // namespace weft
