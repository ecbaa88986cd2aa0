// Rows of a pool in a list: first in, first out, from anywhere. A list is its first and its last row; each row names its
// neighbours in two members of its own, so that it may be in several lists at once. O(1); no allocation.
#pragma once

#include <cstdint>

#include "replay/messages/message.hpp"

namespace weft::replay {

template <auto kNext, auto kPrev, class Row>
void link_last(Pool<Row>& rows, std::uint32_t& first, std::uint32_t& last, std::uint32_t i) {
  rows[i].*kPrev = last;
  rows[i].*kNext = kNone;
  (last == kNone ? first : rows[last].*kNext) = i;
  last = i;
}

template <auto kNext, auto kPrev, class Row>
void unlink(Pool<Row>& rows, std::uint32_t& first, std::uint32_t& last, std::uint32_t i) {
  const std::uint32_t next = rows[i].*kNext, prev = rows[i].*kPrev;
  (prev == kNone ? first : rows[prev].*kNext) = next;
  (next == kNone ? last : rows[next].*kPrev) = prev;
}

}  // namespace weft::replay
