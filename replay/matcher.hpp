// Matcher: posted-receive and unexpected-message queues with MPI's rules (MPI-3.1, section 3.5).
//
// Invariants:
//  1. Messages of one (source, destination, context) match receives in the order in which they were delivered
//  here.
//  2. A message matches the earliest posted receive that accepts it; a receive takes the earliest delivered
//     message that it accepts. Wildcard source and tag take part in both orders.
//  3. Queues hang off the (destination, source) pair, so exact matching costs O(queue of the pair) whatever
//     else is pending; only a wildcard-source receive walks all unexpected messages of its rank.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/message.hpp"

namespace weft::replay {

class Matcher {
 public:
  static constexpr std::int32_t kAnyTag = -1;

  Matcher(Pool<Message>& messages, std::uint32_t ranks);

  // A message's envelope is there. Returns the posted receive that takes it (removed from its queue, row
  // still live), or kNone: then it is queued as unexpected.
  [[nodiscard]] std::uint32_t deliver(std::uint32_t message);
  // The route that the last message of the pair of ranks took, to be remembered for the next ones; epoch 0: none.
  struct LastRoute {
    std::uint32_t route = 0, epoch = 0;
  };
  [[nodiscard]] LastRoute& last_route(std::uint32_t dst, std::uint32_t src) { return pair(dst, src).last; }
  // A receive is posted. Returns the unexpected message that it takes (unqueued), or kNone: then it is
  // queued.
  [[nodiscard]] std::uint32_t post(std::uint32_t recv);
  // Takes back a posted receive of that target, if nothing matched it yet. O(posted receives).
  bool withdraw(std::uint32_t rank, Target target);
  // Earliest unexpected message that a probe accepts, or kNone. Does not remove it.
  [[nodiscard]] std::uint32_t peek(std::uint32_t rank, std::uint32_t context, std::int32_t source,
                                   std::int32_t tag) const;
  // The same, but from any source the earliest that `visible` (bool(const Message&)) accepts comes first.
  template <class Visible>
  [[nodiscard]] std::uint32_t peek(std::uint32_t rank, std::uint32_t context, std::int32_t source,
                                   std::int32_t tag, Visible visible) const {
    const std::uint32_t first = peek(rank, context, source, tag);
    if (source >= 0 || first == kNone) return first;
    for (std::uint32_t m = first; m != kNone; m = messages_[m].all_next) {
      const Message& v = messages_[m];
      if (v.context == context && (tag == kAnyTag || tag == v.tag) && visible(v)) return m;
    }
    return first;
  }
  // A hint to the processor: messages from src to dst will be matched soon.
  void prefetch(std::uint32_t dst, std::uint32_t src) const {
    const std::uint64_t key = (static_cast<std::uint64_t>(dst) << 32) | src;
    __builtin_prefetch(&pairs_[mix(key) & (pairs_.size() - 1)]);
  }
  [[nodiscard]] Pool<PostedRecv>& receives() { return recvs_; }
  [[nodiscard]] std::size_t unexpected() const { return unexpected_; }

 private:
  struct Pair {
    std::uint64_t key = kEmpty;
    std::uint32_t recv_head = kNone, recv_tail = kNone;
    std::uint32_t msg_head = kNone, msg_tail = kNone;
    LastRoute last;
  };
  struct Receiver {
    std::uint32_t any_head = kNone, any_tail = kNone;  // receives from any source
    std::uint32_t msg_head = kNone, msg_tail = kNone;  // all unexpected messages
  };
  static constexpr std::uint64_t kEmpty = ~0ULL;
  static std::size_t mix(std::uint64_t k) {
    k *= 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(k ^ (k >> 32));
  }
  Pair& pair(std::uint32_t dst, std::uint32_t src);
  [[nodiscard]] const Pair* find_pair(std::uint32_t dst, std::uint32_t src) const;
  void rebuild();
  void unlink_message(std::uint32_t m);
  void unlink_recv(std::uint32_t r);
  void unlink(std::uint32_t r, std::uint32_t& head, std::uint32_t& tail);
  [[nodiscard]] std::uint32_t first_accepted(const Pair& p, std::uint32_t context, std::int32_t tag) const;

  Pool<Message>& messages_;
  Pool<PostedRecv> recvs_;
  std::vector<Receiver> receivers_;
  std::vector<Pair> pairs_;  // open addressing, power of two
  std::size_t used_ = 0;
  std::size_t unexpected_ = 0;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace weft::replay
