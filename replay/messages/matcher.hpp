// Matcher: posted-receive and unexpected-message queues with MPI's rules (MPI-3.1, section 3.5).
//
// A channel is what MPI keeps in order: the messages of one source to one destination on one communicator.
// Invariants:
//  1. Messages of a channel match in the order of their sends. One whose envelope comes before that of an earlier
//     send waits here, in flight for everybody else, until all earlier ones were delivered.
//  2. A message matches the earliest posted receive that accepts it; a receive takes the earliest delivered
//     message that it accepts. Wildcard source and tag take part in both orders. Of messages that are delivered at one
//     instant the one that was sent first comes first, of those sent at once the one of the lower rank.
//  3. Queues hang off the channel (channel_queues.hpp), so what an exact match costs does not depend on what else is pending;
//     receives from any source and all unexpected messages of a rank hang off the rank, and are indexed by tag likewise; where a
//     probe from any source walked far, those that it may see are listed apart (shown_messages.hpp).
//  4. No match depends on the order in which the messages of an instant are delivered. What certainly belongs together
//     meets at once: a receive from one source and a message that are each other's first choice. Where a receive from any
//     source stands before, the message is *undecided* until decide(), when all of the instant have been delivered. So no posted
//     receive accepts a queued message that is decided.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/messages/channel_queues.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/shown_messages.hpp"
#include "replay/messages/tag_index.hpp"

namespace weft::replay {

class Matcher {
 public:
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
                                 // kNone: it was queued, undecided
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
  // Messages came for that rank of which decide() is to say who takes them.
  [[nodiscard]] bool undecided(std::uint32_t rank) const { return receivers_[rank].undecided; }
  // All messages of an instant were delivered: those that are undecided take their receives, match(message, receive), or
  // are unexpected. False: there were none. O(n log n) for n of them. `match` delivers none.
  template <class Match>
  bool decide(Match match) {
    if (undecided_.empty()) return false;
    for (const std::uint32_t r : undecided_of_) receivers_[r].undecided = false;
    undecided_of_.clear();
    put_in_order();
    for (const std::uint32_t i : undecided_)
      if (const std::uint32_t r = settle(i); r != kNone) match(i, r);
    undecided_.clear();
    return true;
  }
  // A receive is posted. Returns the unexpected message that it takes (unqueued), or kNone: then it is
  // queued.
  [[nodiscard]] std::uint32_t post(std::uint32_t recv);
  // Takes back the receive of that target, a request, that was posted as row `recv`, if nothing matched it yet. A row that was
  // given back has another target, or is a receive of another.
  bool withdraw(std::uint32_t recv, std::uint32_t rank, Target target);
  // Earliest unexpected message that a probe accepts, or kNone. Does not remove it.
  [[nodiscard]] std::uint32_t peek(std::uint32_t rank, std::uint32_t context, std::int32_t source,
                                   std::int32_t tag);
  // The same if `seen` (bool(const Message&)) accepts it, too; from any source the earliest of which that holds, if no earlier
  // message of its own source stands before it.
  template <class Seen>
  [[nodiscard]] std::uint32_t peek_if(std::uint32_t rank, std::uint32_t context, std::int32_t source,
                                      std::int32_t tag, Seen seen) {
    if (source >= 0) {
      const std::uint32_t first = peek(rank, context, source, tag);
      return first != kNone && seen(messages_[first]) ? first : kNone;
    }
    const auto found = [&](std::uint32_t m) {
      return seen(messages_[m]) && peek(rank, context, static_cast<std::int32_t>(messages_[m].src), tag) == m;
    };
    if (!receivers_[rank].shown) {
      std::uint32_t steps = 0, m = first_message(rank, context, tag);
      for (; m != kNone && steps < TagIndex::kWalk; m = next_accepted(m, context, tag), ++steps)
        if (found(m)) return m;
      if (m == kNone) return kNone;
      list_shown(rank);
    }
    if (const ShownMessages::InOrder* const list = shown_.of(rank, context, tag))
      for (const auto& [place, m] : *list)
        if (found(m)) return m;
    return kNone;
  }
  // The data of an unexpected message have come.
  void data_came(std::uint32_t message) {
    const Message& m = messages_[message];
    if (receivers_[m.dst].shown && m.all_prev != kUndecided) shown_.add(m, message);
  }
  // A hint to the processor: message m will be matched soon.
  void prefetch(const Message& m) const { queues_.prefetch(m.src, m.dst, m.context); }
  [[nodiscard]] Pool<PostedRecv>& receives() { return queues_.receives(); }
  [[nodiscard]] std::size_t unexpected() const { return unexpected_; }

 private:
  // A cache line each: with thousands of ranks most look-ups miss, and a row on two lines misses twice.
  struct alignas(64) Channel : ChannelRow {
    std::uint32_t flight_head = kNone, flight_tail = kNone;  // sent, not delivered; linked by pair_next
    std::uint32_t early = 0;  // of these, envelopes that came before their turn
    LastRoute last;
    [[nodiscard]] bool idle(Instant) const {
      return recv_head == kNone && msg_head == kNone && flight_head == kNone;
    }
  };
  static_assert(sizeof(Channel) == 64);
  struct Receiver {
    std::uint32_t any_head = kNone, any_tail = kNone;  // receives from any source
    std::uint32_t msg_head = kNone, msg_tail = kNone;  // all unexpected messages
    bool any_indexed = false, msgs_indexed = false;
    bool undecided = false;  // some message is, maybe
    bool shown = false;      // its messages that can be seen are in shown_
  };
  // Message::all_prev of what is undecided: it is in the queue of its channel, not yet in that of its receiver, and all_next says
  // where in undecided_.
  static constexpr std::uint32_t kUndecided = kNone - 1;
  Channel& channel(const Message& m) { return queues_.find(m.src, m.dst, m.context); }
  Turn take_turn(Channel& c, std::uint32_t message);
  [[nodiscard]] std::uint32_t hand_over(Channel& c, std::uint32_t message);
  // The earliest posted receive that takes message m; it stays.
  [[nodiscard]] std::uint32_t receive_for(Channel& c, const Message& m) {
    const std::uint32_t any =
        receivers_[m.dst].any_head == kNone ? kNone : first_any(m.dst, m.context, m.tag);
    return queues_.earlier(queues_.first_receive(c, m.tag), any);
  }
  void unlink_receive(Channel& c, std::uint32_t r);
  void put_in_order();
  [[nodiscard]] std::uint32_t settle(std::uint32_t message);
  void leave_channel(std::uint32_t m);
  void unlink_message(std::uint32_t m);
  void unlink_from_receiver(std::uint32_t r);
  [[nodiscard]] std::uint32_t first_message(std::uint32_t rank, std::uint32_t context, std::int32_t tag);
  [[nodiscard]] std::uint32_t next_accepted(std::uint32_t m, std::uint32_t context, std::int32_t tag) const;
  [[nodiscard]] std::uint32_t first_any(std::uint32_t rank, std::uint32_t context, std::int32_t tag);
  static TagIndex::Key any_key(std::uint32_t rank, std::uint32_t context, std::int32_t tag) {
    return {context, rank, tag};
  }
  void index_any(std::uint32_t m);
  void list_shown(std::uint32_t rank);
  void list(std::uint32_t message);
  // As far as it takes no more than that it is there: that of an eager message is when its data are.
  [[nodiscard]] static bool may_be_shown(const Message& m) {
    return m.protocol != Protocol::kEager || (m.state & kArrived) != 0;
  }

  Pool<Message>& messages_;
  ChannelQueues<Channel, PostedRecv> queues_;
  std::vector<Receiver> receivers_;
  std::vector<std::uint32_t> undecided_;     // messages; kNone where a receive took one meanwhile
  std::vector<std::uint32_t> undecided_of_;  // receivers
  std::size_t unexpected_ = 0;
  std::uint64_t next_sequence_ = 0;
  ShownMessages shown_;
  // Of a receiver's queues that are indexed: receives from any source by their tag; messages by theirs, and whatever the tag.
  TagIndex any_recv_index_, any_msg_index_, any_tag_index_;
};

}  // namespace weft::replay
