// ChannelQueues: the channels of a replay, found by who sends to whom on which communicator, and the two queues of each:
// receives that wait for a message, messages that wait for a receive.
//
// A channel is what MPI keeps in order: the messages of one source to one destination on one communicator. A message takes
// the earliest receive that accepts it, a receive the earliest message (MPI-3.1, section 3.5); a queue in which a walk came out
// long is indexed by tag (tag_index.hpp) until it is empty. What else a channel has is the business of who matches: its row
// extends ChannelRow and says with idle(past) whether it may be forgotten; queues are linked by pair_next and pair_prev of messages,
// by next and prev of receives, which have a tag and a sequence number in the order of their posts.
// Complexity: O(1) a look-up, append, removal and search; no allocation once table, pool and indices have grown.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/containers/large_blocks.hpp"
#include "replay/messages/linked_rows.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/tag_index.hpp"
#include "replay/time.hpp"
#include "traces/op.hpp"

namespace weft::replay {

// Source and destination in one word.
[[nodiscard]] inline std::uint64_t channel_pair(std::uint32_t source, std::uint32_t destination) {
  return (static_cast<std::uint64_t>(destination) << 32) | source;
}

struct ChannelRow {
  static constexpr std::uint64_t kFree = ~0ULL;
  std::uint64_t pair = kFree;
  std::uint32_t context = 0;
  std::uint32_t recv_head = kNone, recv_tail = kNone;  // without a message
  std::uint32_t msg_head = kNone, msg_tail = kNone;    // without a receive
  bool recvs_indexed = false, msgs_indexed = false;
};

template <class Channel, class Receive>
class ChannelQueues {
 public:
  explicit ChannelQueues(Pool<Message>& messages)
      : messages_(messages), channels_(4096), shift_(shift_of(channels_.size())) {}

  // Made if there is none. Valid until the next call.
  [[nodiscard]] Channel& find(std::uint32_t source, std::uint32_t destination, std::uint32_t context) {
    const std::uint64_t pair = channel_pair(source, destination);
    for (std::size_t i = slot_of(pair, context);; i = (i + 1) & (channels_.size() - 1)) {
      Channel& c = channels_[i];
      if (c.pair == pair && c.context == context) [[likely]]
        return c;
      if (c.pair == Channel::kFree) return make(pair, context);
    }
  }
  // Null if there is none.
  [[nodiscard]] Channel* known(std::uint32_t source, std::uint32_t destination, std::uint32_t context) {
    const std::uint64_t pair = channel_pair(source, destination);
    Channel& c = probe(pair, context);
    return c.pair == pair ? &c : nullptr;
  }
  // Nothing happens before `t` any more: rows may be idle by that.
  void forget_before(Instant t) { past_ = t; }
  [[nodiscard]] std::size_t table_bytes() const { return channels_.size() * sizeof(Channel); }
  // A hint to the processor: that channel will be asked for soon.
  void prefetch(std::uint32_t source, std::uint32_t destination, std::uint32_t context) const {
    __builtin_prefetch(&channels_[slot_of(channel_pair(source, destination), context)], 1);
  }

  // The earliest receive of the channel that takes a message of that tag, or kNone; it stays.
  [[nodiscard]] std::uint32_t first_receive(Channel& c, std::int32_t tag) {
    std::uint32_t r = c.recv_head;
    if (r == kNone || accepts(r, tag)) return r;
    if (!c.recvs_indexed) {
      for (std::uint32_t steps = 1; steps < TagIndex::kWalk; ++steps) {
        ++steps_;
        r = receives_[r].next;
        if (r == kNone || accepts(r, tag)) return r;
      }
      c.recvs_indexed = true;
      for (r = c.recv_head; r != kNone; r = receives_[r].next)
        receive_index_.append(key(c, receives_[r].tag), r);
    }
    return earlier(receive_index_.first(key(c, tag)), receive_index_.first(key(c, traces::kAnyTag)));
  }
  void append_receive(Channel& c, std::uint32_t r) {
    link_last<&Receive::next, &Receive::prev>(receives_, c.recv_head, c.recv_tail, r);
    if (c.recvs_indexed) receive_index_.append(key(c, receives_[r].tag), r);
  }
  void remove_receive(Channel& c, std::uint32_t r) {
    unlink<&Receive::next, &Receive::prev>(receives_, c.recv_head, c.recv_tail, r);
    if (!c.recvs_indexed) return;
    receive_index_.remove(key(c, receives_[r].tag), r);
    c.recvs_indexed = c.recv_head != kNone;
  }
  // Of two receives the one that was posted first; kNone is after all others.
  [[nodiscard]] std::uint32_t earlier(std::uint32_t a, std::uint32_t b) const {
    if (a == kNone || b == kNone) return a == kNone ? b : a;
    return receives_[b].sequence < receives_[a].sequence ? b : a;
  }

  // The earliest message of the channel that a receive of that tag takes, or kNone; it stays.
  [[nodiscard]] std::uint32_t first_message(Channel& c, std::int32_t tag) {
    std::uint32_t m = c.msg_head;
    if (m == kNone || tag == traces::kAnyTag || messages_[m].tag == tag) return m;
    if (!c.msgs_indexed) {
      for (std::uint32_t steps = 1; steps < TagIndex::kWalk; ++steps) {
        ++steps_;
        m = messages_[m].pair_next;
        if (m == kNone || messages_[m].tag == tag) return m;
      }
      c.msgs_indexed = true;
      for (m = c.msg_head; m != kNone; m = messages_[m].pair_next)
        message_index_.append(key(c, messages_[m].tag), m);
    }
    return message_index_.first(key(c, tag));
  }
  void append_message(Channel& c, std::uint32_t m) {
    link_last<&Message::pair_next, &Message::pair_prev>(messages_, c.msg_head, c.msg_tail, m);
    if (c.msgs_indexed) message_index_.append(key(c, messages_[m].tag), m);
  }
  void remove_message(Channel& c, std::uint32_t m) {
    unlink<&Message::pair_next, &Message::pair_prev>(messages_, c.msg_head, c.msg_tail, m);
    if (!c.msgs_indexed) return;
    message_index_.remove(key(c, messages_[m].tag), m);
    c.msgs_indexed = c.msg_head != kNone;
  }

  // Rows that searches went past so far: what grows if queues are walked where they should be indexed.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] Pool<Receive>& receives() { return receives_; }
  [[nodiscard]] const Pool<Receive>& receives() const { return receives_; }

 private:
  using Table = std::vector<Channel, LargeBlocks<Channel>>;
  [[nodiscard]] static int shift_of(std::size_t slots) { return 64 - std::countr_zero(slots); }
  [[nodiscard]] bool accepts(std::uint32_t r, std::int32_t tag) const {
    return receives_[r].tag == tag || receives_[r].tag == traces::kAnyTag;
  }
  static TagIndex::Key key(const Channel& c, std::int32_t tag) { return {c.pair, c.context, tag}; }
  [[nodiscard]] std::size_t slot_of(std::uint64_t pair, std::uint32_t context) const {
    const std::uint64_t k = pair + context * 0xd6e8feb86659fd93ULL;
    // The upper bits, as many as the table has. Of this factor, as the best of 300: over rings, halo exchanges in two and three
    // dimensions, dissemination, trees, grids of HPL and all pairs, 100 to 1,000,000 ranks, a channel is found after 1.2 rows on
    // the mean and after 1.6 at worst (2^64 over the golden ratio: 1.6 and 4.1, rings).
    return static_cast<std::size_t>((k * 0x1ff6868765646b47ULL) >> shift_);
  }
  // The channel's row, or the free one where it would be.
  [[nodiscard]] Channel& probe(std::uint64_t pair, std::uint32_t context) {
    std::size_t i = slot_of(pair, context);
    while (channels_[i].pair != Channel::kFree &&
           !(channels_[i].pair == pair && channels_[i].context == context))
      i = (i + 1) & (channels_.size() - 1);
    return channels_[i];
  }
  [[gnu::noinline]] Channel& make(std::uint64_t pair, std::uint32_t context) {
    if ((used_ + 1) * 3 > channels_.size() * 2) rebuild();
    ++used_;
    Channel& c = probe(pair, context);
    c.pair = pair;
    c.context = context;
    return c;
  }
  // Drops idle channels; grows only if that leaves the table more than a third full.
  void rebuild() {
    std::size_t live = 0;
    for (const Channel& c : channels_) live += c.pair != Channel::kFree && !c.idle(past_);
    Table old(live * 3 > channels_.size() ? channels_.size() * 2 : channels_.size());
    old.swap(channels_);
    shift_ = shift_of(channels_.size());
    used_ = live;
    for (const Channel& c : old)
      if (c.pair != Channel::kFree && !c.idle(past_)) probe(c.pair, c.context) = c;
  }

  Pool<Message>& messages_;
  Pool<Receive> receives_;
  Table channels_;  // open addressing, power of two
  int shift_;       // of 64 bits, to as many as number its slots
  std::size_t used_ = 0;
  Instant past_;
  std::uint64_t steps_ = 0;
  TagIndex receive_index_, message_index_;  // of the queues that are indexed
};

}  // namespace weft::replay
