// LinkCalendar: when each link is in use, as long as no two flows meet on one.
//
// Flows are entered in any order of time. Each takes its links from its start to its end; two that touch on a link meet, as
// far as this class can tell: times are whole picoseconds, starts rounded down and ends up. What lies before the instant that
// nothing more can start before is forgotten. Complexity: O(1) a link where flows come about in the order of time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/containers/block_pool.hpp"
#include "core/id.hpp"
#include "replay/time.hpp"

namespace weft::replay {

class LinkCalendar {
 public:
  explicit LinkCalendar(std::size_t links) : rows_(links) {}

  // False: it meets another flow. What was entered of it stays: there is nothing to go on with.
  [[nodiscard]] bool enter(std::span<const LinkId> route, Instant from, Instant to) {
    const Span s{from.whole(), to.whole() + 1};
    for (const LinkId l : route)
      if (!enter(rows_[l.index()], s)) return false;
    return true;
  }
  // Nothing that is entered from now on starts before `t`.
  void forget_before(Instant t) { past_ = t.whole(); }

 private:
  struct Span {
    std::int64_t from, to;  // ps
  };
  using Row = BlockPool<Span>::Array;  // in the order of time
  bool enter(Row& row, Span s) {
    std::uint32_t at = row.size;
    for (; at > 0 && s.from <= row.items[at - 1].to; --at)
      if (s.to >= row.items[at - 1].from) return false;
    if (row.size == row.room) at -= make_room(row, at);
    Span* const place = row.items + at;
    if (at < row.size) std::copy_backward(place, row.items + row.size, row.items + row.size + 1);
    *place = s;
    ++row.size;
    return true;
  }
  // Room for one more; of the first `before` spans, how many went.
  [[gnu::noinline]] std::uint32_t make_room(Row& row, std::uint32_t before) {
    std::uint32_t past = 0;
    while (past < before && row.items[past].to < past_) ++past;
    std::copy(row.items + past, row.items + row.size, row.items);
    row.size -= past;
    if (row.size == row.room) spans_.grow(row);
    return past;
  }

  BlockPool<Span> spans_;
  std::vector<Row> rows_;  // by link
  std::int64_t past_ = 0;
};

}  // namespace weft::replay
