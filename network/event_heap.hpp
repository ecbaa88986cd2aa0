// The order of what happens in a simulation, and a heap of it.
//
// Order is total: (time, sequence). The sequence is given out by whoever posts, so ties are decided by the order in which events
// were posted, never by addresses. A 4-ary heap has half the depth of a binary one, and four children share two cache lines.
//
// Most comparisons are decided by whole picoseconds, one machine word (Instant::whole()); the 128 bits of a time and the
// sequence are looked at where these are equal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/uninitialized.hpp"
#include "network/clock.hpp"

namespace weft::network {

// A 4-ary heap of what has a time and a sequence number, least first. `put(i, e)` writes e to place i.
namespace heap {
// What a heap is kept in: emplace_back() leaves a place to be written.
template <class E>
using Rows = std::vector<E, Uninitialized<E>>;
// Of two at the same picosecond.
template <class E>
bool before_within(const E& a, const E& b) {
  return a.time != b.time ? a.time < b.time : a.sequence < b.sequence;
}
template <class E>
bool before(const E& a, const E& b) {
  const std::int64_t at = a.time.whole(), bt = b.time.whole();
  return at != bt ? at < bt : before_within(a, b);
}
// From place i, which is free, towards the top until e fits.
template <class E, class Put>
[[gnu::noinline]] void climb(const E* rows, std::size_t i, const E& e, Put put) {
  while (i > 0) {
    const std::size_t parent = (i - 1) >> 2;
    if (!before(e, rows[parent])) break;
    put(i, rows[parent]);
    i = parent;
  }
  put(i, e);
}
// The same, as part of the caller where it fits right there, as most that start later end later.
template <class E, class Put>
[[gnu::always_inline]] inline void up(const Rows<E>& heap, std::size_t i, const E& e, Put put) {
  const E* const rows = heap.data();
  if (i == 0 || rows[(i - 1) >> 2].time.whole() < e.time.whole()) return put(i, e);
  climb(rows, i, e, put);
}
// The same away from the top.
template <class E, class Put>
[[gnu::noinline]] void sink(const E* rows, std::size_t n, std::size_t i, const E& e, Put put) {
  const std::int64_t mine = e.time.whole();
  while (true) {
    const std::size_t first = (i << 2) + 1;
    if (first >= n) break;
    const E* best = rows + first;
    std::int64_t least = best->time.whole();
    const E* const end = rows + std::min(first + 4, n);
    for (const E* c = best + 1; c < end; ++c) {
      const std::int64_t t = c->time.whole();
      if (t > least || (t == least && !before_within(*c, *best))) continue;
      best = c;
      least = t;
    }
    if (least > mine || (least == mine && !before_within(*best, e))) break;
    put(i, *best);
    i = static_cast<std::size_t>(best - rows);
  }
  put(i, e);
}
template <class E, class Put>
[[gnu::always_inline]] inline void down(const Rows<E>& heap, std::size_t i, const E& e, Put put) {
  if ((i << 2) + 1 >= heap.size()) return put(i, e);
  sink(heap.data(), heap.size(), i, e, put);
}
}  // namespace heap

}  // namespace weft::network
