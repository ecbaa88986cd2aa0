// The blocks of one rank for who looks ahead: those that were read and not given out. Used where the completion of a receive says
// what it took.
//
// Memory: the blocks ahead, at most kMostAhead.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "traces/trace.hpp"

namespace weft::traces {

class BlocksAhead {
 public:
  static constexpr std::size_t kMostAhead = 4;

  // TraceReader::next_block() of the rank, after those that were read ahead.
  [[nodiscard]] Result<bool> next_block(TraceReader& trace, RankId rank, OpBlock& out) {
    if (!ahead_.empty()) {
      out = std::move(ahead_.front());
      ahead_.erase(ahead_.begin());
      return true;
    }
    if (unreadable_) return *unreadable_;
    if (ended_) return false;
    return trace.next_block(rank, out);
  }
  // Reads one more ahead; false at the end of the rank, at what cannot be read, and beyond kMostAhead.
  bool read_on(TraceReader& trace, RankId rank) {
    if (ended_ || unreadable_ || ahead_.size() == kMostAhead) return false;
    OpBlock next;
    const auto more = trace.next_block(rank, next);
    if (!more)
      unreadable_ = more.error();
    else if (*more)
      ahead_.push_back(std::move(next));
    else
      ended_ = true;
    return more && *more;
  }
  [[nodiscard]] const std::vector<OpBlock>& ahead() const { return ahead_; }

 private:
  std::vector<OpBlock> ahead_;
  std::optional<Error> unreadable_;  // what stands behind them
  bool ended_ = false;
};

}  // namespace weft::traces
