// Totals of a trace while its operations go by: a message is a send as written, or a start of a persistent
// send.
#pragma once

#include <map>
#include <span>
#include <utility>

#include "traces/trace.hpp"

namespace weft::traces {

class SendCounter {
 public:
  void add(RankId rank, const Op& op, std::span<const std::int64_t> list) {
    ++totals_.ops;
    if (is_send(op.kind)) {
      count(op.amount);
    } else if (op.kind >= OpKind::send_init && op.kind <= OpKind::rsend_init) {
      persistent_[{rank.index(), op.request}] = op.amount;
    } else if (persistent_.empty()) {
      return;
    } else if (op.kind == OpKind::start) {
      start(rank, op.request);
    } else if (op.kind == OpKind::startall) {
      for (const std::int64_t r : list) start(rank, static_cast<std::uint32_t>(r));
    } else if (op.kind == OpKind::request_free || op.kind == OpKind::recv_init) {
      persistent_.erase({rank.index(), op.request});
    }
  }
  [[nodiscard]] const TraceTotals& totals() const { return totals_; }

 private:
  void count(std::int64_t bytes) {
    ++totals_.messages;
    totals_.bytes += static_cast<std::uint64_t>(bytes);
  }
  void start(RankId rank, std::uint32_t slot) {
    if (const auto it = persistent_.find({rank.index(), slot}); it != persistent_.end()) count(it->second);
  }
  TraceTotals totals_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::int64_t> persistent_;  // (rank, slot) -> bytes
};

}  // namespace weft::traces
