// Matcher: posted-receive and unexpected-message queues with MPI's rules (MPI-3.1, section 3.5).
//
// A channel is what MPI keeps in order: the messages of one source to one destination on one communicator.
// Invariants:
//  1. Messages of a channel match in the order of their sends. One whose envelope comes before that of an earlier
//     send waits here, in flight for everybody else, until all earlier ones were delivered.
//  2. A message matches the earliest posted receive that accepts it; a receive takes the earliest delivered
//     message that it accepts. Wildcard source and tag take part in both orders.
//  3. Queues hang off the channel, so exact matching costs O(queue of the channel) whatever else is pending; receives
//     from any source and all unexpected messages of a rank hang off the rank. A queue in which a walk came out long
//     is indexed by tag (tag_index.hpp) until it is empty: then a match costs O(1).
#pragma once

#include <cstdint>
#include <vector>

#include "replay/messages/message.hpp"
#include "replay/messages/tag_index.hpp"

namespace weft::replay {

class Matcher {
 public:
  static constexpr std::int32_t kAnyTag = -1;

  Matcher(Pool<Message>& messages, std::uint32_t ranks);

  // The route that the last message of the channel took, to be remembered for the next ones; epoch 0: none.
  struct LastRoute {
    std::uint32_t route = 0, epoch = 0;
  };
  [[nodiscard]] LastRoute& last_route(const Message& m) { return channel(m).last; }

  // A message is sent: it takes its place in the order of its channel. Returns what last_route() would.
  const LastRoute& send(std::uint32_t message);
  // What became of a message whose turn it may be.
  struct Turn {
    std::uint32_t message = kNone;  // delivered now; kNone: an earlier one of its channel is still under way
    std::uint32_t recv = kNone;  // the posted receive that takes it (removed from its queue, row still live);
                                 // kNone: it was queued as unexpected
    bool more = false;           // ask next_in_order(): another may have waited for this one
  };
  // The envelope of a message that was sent() is there.
  [[nodiscard]] Turn arrives(std::uint32_t message);
  // The earliest of a channel that is under way, if its envelope came before its turn.
  [[nodiscard]] Turn next_in_order(std::uint32_t source, std::uint32_t destination, std::uint32_t context);
  // A message that was not sent() is there, whatever is under way (raw modes). Returns Turn::recv.
  [[nodiscard]] std::uint32_t deliver(std::uint32_t message) {
    return hand_over(channel(messages_[message]), message);
  }
  // A receive is posted. Returns the unexpected message that it takes (unqueued), or kNone: then it is
  // queued.
  [[nodiscard]] std::uint32_t post(std::uint32_t recv);
  // Takes back a posted receive of that target, if nothing matched it yet. O(posted receives).
  bool withdraw(std::uint32_t rank, Target target);
  // Earliest unexpected message that a probe accepts, or kNone. Does not remove it.
  [[nodiscard]] std::uint32_t peek(std::uint32_t rank, std::uint32_t context, std::int32_t source,
                                   std::int32_t tag);
  // The same, but from any source the earliest that `visible` (bool(const Message&)) accepts comes first, if no
  // earlier message of its own source stands before it.
  template <class Visible>
  [[nodiscard]] std::uint32_t peek(std::uint32_t rank, std::uint32_t context, std::int32_t source,
                                   std::int32_t tag, Visible visible) {
    const std::uint32_t first = peek(rank, context, source, tag);
    if (source >= 0) return first;
    for (std::uint32_t m = first; m != kNone; m = next_accepted(m, context, tag))
      if (visible(messages_[m]) && peek(rank, context, static_cast<std::int32_t>(messages_[m].src), tag) == m)
        return m;
    return first;
  }
  // A hint to the processor: message m will be matched soon.
  void prefetch(const Message& m) const {
    __builtin_prefetch(&channels_[mix(pair_of(m.dst, m.src), m.context) & (channels_.size() - 1)]);
  }
  [[nodiscard]] Pool<PostedRecv>& receives() { return recvs_; }
  [[nodiscard]] std::size_t unexpected() const { return unexpected_; }

 private:
  // A cache line each: with thousands of ranks most look-ups miss, and a row on two lines misses twice.
  struct alignas(64) Channel {
    std::uint64_t pair = kEmpty;
    LastRoute last;
    std::uint32_t context = 0;
    std::uint32_t recv_head = kNone, recv_tail = kNone;
    std::uint32_t msg_head = kNone, msg_tail = kNone;        // unexpected
    std::uint32_t flight_head = kNone, flight_tail = kNone;  // sent, not delivered; linked by pair_next
    std::uint32_t early : 30 = 0;  // of these, envelopes that came before their turn
    std::uint32_t recvs_indexed : 1 = 0;
    std::uint32_t msgs_indexed : 1 = 0;
    [[nodiscard]] bool idle() const {
      return recv_head == kNone && msg_head == kNone && flight_head == kNone;
    }
  };
  static_assert(sizeof(Channel) == 64);
  struct Receiver {
    std::uint32_t any_head = kNone, any_tail = kNone;  // receives from any source
    std::uint32_t msg_head = kNone, msg_tail = kNone;  // all unexpected messages
    bool any_indexed = false, msgs_indexed = false;
  };
  static constexpr std::uint64_t kEmpty = ~0ULL;
  static std::uint64_t pair_of(std::uint32_t dst, std::uint32_t src) {
    return (static_cast<std::uint64_t>(dst) << 32) | src;
  }
  static std::size_t mix(std::uint64_t pair, std::uint32_t context) {
    std::uint64_t k = (pair ^ (static_cast<std::uint64_t>(context) << 21)) * 0x9e3779b97f4a7c15ULL;
    k += context * 0xd6e8feb86659fd93ULL;
    return static_cast<std::size_t>(k ^ (k >> 32));
  }
  Channel& channel(std::uint32_t dst, std::uint32_t src, std::uint32_t context) {
    const std::uint64_t pair = pair_of(dst, src);
    const std::size_t i = mix(pair, context) & (channels_.size() - 1);
    if (channels_[i].pair == pair && channels_[i].context == context) [[likely]]
      return channels_[i];
    return search(pair, context);
  }
  Channel& channel(const Message& m) { return channel(m.dst, m.src, m.context); }
  Channel& search(std::uint64_t pair, std::uint32_t context);
  [[nodiscard]] Channel* find_channel(std::uint32_t dst, std::uint32_t src, std::uint32_t context);
  void rebuild();
  Turn take_turn(Channel& c, std::uint32_t message);
  [[nodiscard]] std::uint32_t hand_over(Channel& c, std::uint32_t message);
  void unlink_message(std::uint32_t m);
  void unlink_from_channel(Channel& c, std::uint32_t r);
  void unlink_from_receiver(std::uint32_t r);
  void unlink(std::uint32_t r, std::uint32_t& head, std::uint32_t& tail);
  [[nodiscard]] std::uint32_t first_message(Channel& c, std::int32_t tag);
  [[nodiscard]] std::uint32_t first_message(std::uint32_t rank, std::uint32_t context, std::int32_t tag);
  [[nodiscard]] std::uint32_t next_accepted(std::uint32_t m, std::uint32_t context, std::int32_t tag) const;
  [[nodiscard]] std::uint32_t first_recv(Channel& c, std::int32_t tag);
  [[nodiscard]] std::uint32_t first_any(std::uint32_t rank, std::uint32_t context, std::int32_t tag);
  [[nodiscard]] std::uint32_t earlier(std::uint32_t a, std::uint32_t b) const;
  static TagIndex::Key key_of(const PostedRecv& r) {
    return {pair_of(r.rank, r.source < 0 ? kNone : static_cast<std::uint32_t>(r.source)), r.context, r.tag};
  }
  static TagIndex::Key key_of(const Message& m) { return {pair_of(m.dst, m.src), m.context, m.tag}; }
  static TagIndex::Key any_key(std::uint32_t rank, std::uint32_t context, std::int32_t tag) {
    return {pair_of(rank, kNone), context, tag};
  }
  void index_any(std::uint32_t m);

  Pool<Message>& messages_;
  Pool<PostedRecv> recvs_;
  std::vector<Receiver> receivers_;
  std::vector<Channel> channels_;  // open addressing, power of two
  std::size_t used_ = 0;
  std::size_t unexpected_ = 0;
  std::uint64_t next_sequence_ = 0;
  // Of the queues that are indexed: receives by their tag; messages by theirs, per channel, per receiver, and per
  // receiver whatever the tag.
  TagIndex recv_index_, msg_index_, any_msg_index_, any_tag_index_;
};

}  // namespace weft::replay
