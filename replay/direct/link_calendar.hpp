// LinkCalendar: when each link is in use, as long as no two flows meet on one.
//
// Flows are entered in any order of time. Each takes its links from its start to its end; two that touch on a link meet, as
// far as this class can tell: times are whole picoseconds, starts rounded down and ends up. What lies before the instant that
// nothing more can start before is forgotten. Complexity: O(1) a link where flows come about in the order of time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
  // In the order of time.
  using Row = std::vector<Span>;
  bool enter(Row& row, Span s) {
    std::size_t at = row.size();
    for (; at > 0 && s.from <= row[at - 1].to; --at)
      if (s.to >= row[at - 1].from) return false;
    if (row.size() == row.capacity()) at -= drop_past(row, at);
    row.insert(row.begin() + static_cast<std::ptrdiff_t>(at), s);
    return true;
  }
  // Of the first `before` spans; how many went.
  [[gnu::noinline]] std::size_t drop_past(Row& row, std::size_t before) const {
    std::size_t past = 0;
    while (past < before && row[past].to < past_) ++past;
    row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(past));
    return past;
  }

  std::vector<Row> rows_;  // by link
  std::int64_t past_ = 0;
};

}  // namespace weft::replay
