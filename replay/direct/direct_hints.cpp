// What a DirectReplay will ask for soon. With thousands of ranks nothing stays in a fast cache from one message of a rank to its next,
// and each message waits for some twenty lines of memory, many of them one after the other.
#include "core/prefetch.hpp"
#include "replay/direct/direct_replay.hpp"

namespace weft::replay {

// Its rows; then its operations, and what they are told of; then whom these name.
void DirectReplay::prefetch_rank(std::uint32_t r, std::uint32_t stage) const {
  const Rank& k = ranks_[r];
  if (stage == 0) {
    __builtin_prefetch(&k);
    __builtin_prefetch(&k.spent);
    prefetch_row(lanes_[r], 2 * kCacheLine);
  } else if (stage == 1) {
    k.program.prefetch(k.pc);
    k.program.prefetch(k.pc + 2);
    lanes_[r].requests.prefetch();
  } else if (stage == 2) {
    prefetch_peer(r, k, 0);
    prefetch_peer(r, k, 1);
  }
}

// Before the queues are looked at: what comes next is known but for what this instant still brings, what comes after it is among a
// few.
void DirectReplay::prefetch_next() {
  agenda_.next_few([&](const Agenda::Event& e) {
    const std::uint32_t stage = hints_.next(e.sequence);
    if (e.kind != EventKind::kTransferStart) return prefetch_rank(e.index, stage);
    const Message& m = messages_[e.index];
    if (stage == 0) return prefetch_row(m, 2 * kCacheLine);
    if (stage > 2 || m.route_epoch != routes_.epoch() + 1) return;
    if (stage == 2) return network_.prefetch_links(routes_.at(m.route).links);
    routes_.prefetch(m.route);
    __builtin_prefetch(&lanes_[m.src]);
  });
  network_.prefetch_next(messages_,
                         [this](std::uint32_t r, std::uint32_t stage) { prefetch_rank(r, stage); });
}

// While flows come into the network that start at one instant: the row of a later one, where its links are listed, and these.
void DirectReplay::prefetch_starts() const {
  if (const std::uint32_t i = starts_.later(9); i != kNone) prefetch_row(messages_[i], 2 * kCacheLine);
  const auto has_route = [this](std::uint32_t i) {
    return i != kNone && messages_[i].route_epoch == routes_.epoch() + 1;
  };
  if (const std::uint32_t i = starts_.later(6); has_route(i)) {
    routes_.prefetch(messages_[i].route);
    __builtin_prefetch(&lanes_[messages_[i].src]);
  }
  if (const std::uint32_t i = starts_.later(3); has_route(i))
    network_.prefetch_links(routes_.at(messages_[i].route).links);
}

// The channel of the operation that far ahead, and whom it tells.
void DirectReplay::prefetch_peer(std::uint32_t r, const Rank& k, std::uint64_t ahead) const {
  const traces::Op* const op = k.program.here(k.pc + ahead);
  if (op == nullptr) return;
  if (op->kind == traces::OpKind::compute_kernel) return k.program.prefetch_list(*op);
  if (op->peer < 0) return;
  const auto peer = static_cast<std::uint32_t>(op->peer);
  switch (op->kind) {
    case traces::OpKind::send:
    case traces::OpKind::isend:
      channels_.prefetch(r, peer, op->comm.index());
      routes_.prefetch(placement_[r], placement_[peer]);
      return prefetch_row(lanes_[peer]);
    case traces::OpKind::recv:
    case traces::OpKind::irecv:
      return channels_.prefetch(peer, r, op->comm.index());
    default:
      return;
  }
}

}  // namespace weft::replay
