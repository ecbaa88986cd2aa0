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

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "core/containers/grouped_table.hpp"
#include "replay/messages/linked_rows.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/tag_index.hpp"
#include "replay/time.hpp"
#include "traces/op.hpp"

namespace weft::replay {

struct ChannelRow {
  static constexpr std::uint64_t kFree = ~0ULL;
  std::uint64_t key = kFree;
  std::uint32_t source = 0;
  std::uint32_t recv_head = kNone, recv_tail = kNone;  // without a message
  std::uint32_t msg_head = kNone, msg_tail = kNone;    // without a receive
  bool recvs_indexed = false, msgs_indexed = false;
};

template <class Channel, class Receive>
class ChannelQueues {
 public:
  // A source sends nothing before past(source) any more. That is asked before its channels take more room, as some may be idle by it.
  using Past = std::function<Instant(std::uint32_t source)>;
  static Instant nothing_is_past(std::uint32_t /*source*/) { return {}; }
  ChannelQueues(Pool<Message>& messages, std::uint32_t sources, Past past = nothing_is_past)
      : messages_(messages), channels_(sources), past_(std::move(past)) {}

  // Made if there is none. Valid until the next call.
  [[nodiscard]] Channel& find(std::uint32_t source, std::uint32_t destination, std::uint32_t context) {
    if (Channel* const c = channels_.find(source, key_of(source, destination, context))) [[likely]]
      return *c;
    return make(source, destination, context);
  }
  // Null if there is none.
  [[nodiscard]] Channel* known(std::uint32_t source, std::uint32_t destination, std::uint32_t context) {
    return channels_.find(source, key_of(source, destination, context));
  }
  [[nodiscard]] std::size_t table_bytes() const { return channels_.bytes(); }
  // A hint to the processor: that channel will be asked for soon.
  void prefetch(std::uint32_t source, std::uint32_t destination, std::uint32_t context) const {
    channels_.prefetch(source, key_of(source, destination, context));
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
  [[nodiscard]] bool accepts(std::uint32_t r, std::int32_t tag) const {
    return receives_[r].tag == tag || receives_[r].tag == traces::kAnyTag;
  }
  static TagIndex::Key key(const Channel& c, std::int32_t tag) { return {c.key, c.source, tag}; }
  // The distance, on that communicator. Never kFree: contexts count up, with one bit for collectives.
  static std::uint64_t key_of(std::uint32_t source, std::uint32_t destination, std::uint32_t context) {
    return std::uint64_t{context} << 32 | (destination - source);
  }
  [[gnu::noinline]] Channel& make(std::uint32_t source, std::uint32_t destination, std::uint32_t context) {
    Channel& c = channels_.make(source, key_of(source, destination, context),
                                [past = past_(source)](const Channel& o) { return !o.idle(past); });
    c.source = source;
    return c;
  }

  Pool<Message>& messages_;
  Pool<Receive> receives_;
  GroupedTable<Channel> channels_;  // by source
  Past past_;
  std::uint64_t steps_ = 0;
  TagIndex receive_index_, message_index_;  // of the queues that are indexed
};

}  // namespace weft::replay
