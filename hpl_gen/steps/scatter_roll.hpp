// The long broadcast: a binomial scatter of pieces from member 0, then each piece goes round ("roll").
//
// Members 0 .. size-1 have a piece each, words / size rounded down, at least 1; the last has the rest. In the roll a
// member exchanges with its two neighbours in turn, size - 1 times. Who leaves out empty pieces is not decided here.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hpl_gen/grid.hpp"

namespace weft::hpl_gen {

// Member `me` in program order: scatter(partner, words, receives), then roll(partner, words sent, words received).
template <class Scatter, class Roll>
void scatter_and_roll(int me, int size, std::int64_t words, Scatter&& scatter, Roll&& roll) {
  const std::int64_t piece = std::max<std::int64_t>(words / size, 1);
  int bit = size > 1 ? floor_power(size - 1).value : 1;
  int mask = 2 * bit - 1, rest = me, index = bit;
  for (; bit > 0;) {
    mask ^= bit;
    if ((me & mask) == 0) {
      std::int64_t length = words - index * piece;
      if (index + bit < size) length = std::min(length, bit * piece);
      length = std::max<std::int64_t>(length, 0);
      const int partner = me ^ bit;
      if ((me & bit) != 0)
        scatter(partner, length, true);
      else if (partner < size)
        scatter(partner, length, false);
    }
    const bool lower = rest < bit;
    if (!lower) rest -= bit;
    bit >>= 1;
    index += lower ? -bit : bit;
  }
  const auto length_of = [&](int i) {
    const std::int64_t begin = i * piece;
    const std::int64_t end = i == size - 1 ? words : std::min(words, begin + piece);
    return std::max<std::int64_t>(end - begin, 0);
  };
  for (int k = 0; k + 1 < size; ++k) {
    const int l = k / 2;
    const bool backward = ((me + k) & 1) != 0;
    const int sent = backward ? ring_add(me, l, size) : ring_sub(me, l, size);
    const int got = backward ? ring_sub(me, l + 1, size) : ring_add(me, l + 1, size);
    roll(backward ? ring_sub(me, 1, size) : ring_add(me, 1, size), length_of(sent), length_of(got));
  }
}

}  // namespace weft::hpl_gen
