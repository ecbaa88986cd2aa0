// What counts as a message, in one place: a send as written, or a start of a persistent send, to a rank. A send to
// MPI_PROC_NULL sends nothing. Totals of a trace while its operations go by, and each message for who wants more.
#pragma once

#include <map>
#include <span>
#include <utility>

#include "core/byte_sum.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

class SendCounter {
 public:
  struct Sent {
    CommId comm;
    std::int64_t bytes;
  };
  void add(RankId rank, const Op& op, std::span<const std::int64_t> list) {
    add(rank, op, list, [](const Sent&) {});
  }
  // Calls `each(const Sent&)` for every message that the operation sends.
  template <class Each>
  void add(RankId rank, const Op& op, std::span<const std::int64_t> list, Each&& each) {
    ++totals_.ops;
    if (is_send(op.kind)) {
      if (op.peer >= 0) count({op.comm, op.amount}, each);
    } else if (is_send_init(op.kind)) {
      if (op.peer >= 0)
        persistent_.insert_or_assign({rank.index(), op.request}, Sent{op.comm, op.amount});
      else
        persistent_.erase({rank.index(), op.request});
    } else if (persistent_.empty()) {
      return;
    } else if (op.kind == OpKind::start) {
      start(rank, op.request, each);
    } else if (op.kind == OpKind::startall) {
      for (const std::int64_t r : list) start(rank, static_cast<std::uint32_t>(r), each);
    } else if (op.kind == OpKind::request_free || op.kind == OpKind::recv_init) {
      persistent_.erase({rank.index(), op.request});
    }
  }
  [[nodiscard]] const TraceTotals& totals() const { return totals_; }

 private:
  template <class Each>
  void count(const Sent& sent, Each&& each) {
    ++totals_.messages;
    totals_.bytes = add_bytes(totals_.bytes, static_cast<std::uint64_t>(sent.bytes));
    each(sent);
  }
  template <class Each>
  void start(RankId rank, std::uint32_t slot, Each&& each) {
    if (const auto it = persistent_.find({rank.index(), slot}); it != persistent_.end())
      count(it->second, each);
  }
  TraceTotals totals_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Sent> persistent_;  // by (rank, slot)
};

}  // namespace weft::traces
