// What a DirectReplay will ask for soon. With thousands of ranks nothing stays in a fast cache from one message of a rank to its next,
// and each message waits for some twenty lines of memory, many of them one after the other.
#include "core/prefetch.hpp"
#include "replay/direct/direct_replay.hpp"

namespace weft::replay {

void DirectReplay::prefetch_rank(std::uint32_t r) const {
  __builtin_prefetch(&ranks_[r]);
  __builtin_prefetch(&ranks_[r].spent);
  prefetch_row(lanes_[r], 2 * kCacheLine);
}

// Before the queues are looked at: what comes next is known but for what this instant still brings, what comes after it is among a
// few.
void DirectReplay::prefetch_next() const {
  bool first = true;
  agenda_.next_few([&](const Agenda::Event& e) {
    if (e.kind != EventKind::kTransferStart) {
      prefetch_rank(e.index);
      return;
    }
    const Message& m = messages_[e.index];
    if (!first) return prefetch_row(m, 2 * kCacheLine);
    first = false;
    if (m.route_epoch == routes_.epoch() + 1) network_.prefetch_links(routes_.at(m.route).links);
    prefetch_row(lanes_[m.src]);
  });
  network_.prefetch_next(messages_, [this](std::uint32_t r) {
    prefetch_rank(r);
    lanes_[r].requests.prefetch();
  });
}

// The channel of the operation after the next, and whom it tells.
void DirectReplay::prefetch_operation(std::uint32_t r, const Rank& k) const {
  constexpr std::uint64_t kOperationsAhead = 2;
  const traces::Op* const op = k.program.here(k.pc + kOperationsAhead);
  if (op == nullptr || op->peer < 0) return;
  const auto peer = static_cast<std::uint32_t>(op->peer);
  switch (op->kind) {
    case traces::OpKind::send:
    case traces::OpKind::isend:
      channels_.prefetch(r, peer, op->comm.index());
      return prefetch_row(lanes_[peer]);
    case traces::OpKind::recv:
    case traces::OpKind::irecv:
      return channels_.prefetch(peer, r, op->comm.index());
    default:
      return;
  }
}

}  // namespace weft::replay
