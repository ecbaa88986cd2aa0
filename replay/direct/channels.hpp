// Channels: which send a receive takes, where both name each other and time decides nothing.
//
// A channel is what MPI keeps in order: the messages of one source to one destination on one communicator. A message takes
// the earliest receive that accepts it, a receive the earliest message (MPI-3.1, section 3.5). Both sides come in the order
// of their programs, and so whoever is taken on first, the pairs are the same: the earliest receive that accepts any message of the
// channel is the first choice of each of these, so it gets its own first choice in every order; without that pair the same
// holds of the rest. That is why a rank may post in its own future (direct_replay.hpp), and why a receive from any source,
// whose messages come in the order of time, is nothing for this class.
// Complexity: O(messages or receives of the channel that are passed over) a match; no allocation once the pools have grown.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/messages/message.hpp"
#include "replay/time.hpp"
#include "traces/op.hpp"

namespace weft::replay {

class Channels {
 public:
  // A receive that waits for its message.
  struct Receive {
    Instant posted;
    std::int64_t bytes = 0;
    std::int32_t tag = 0;  // kAnyTag possible
    Target target;
    std::uint32_t next = kNone;
  };
  // On one cache line: with thousands of ranks most look-ups miss.
  struct alignas(64) Channel {
    Instant delivered;  // the last message of the channel: none is before those that were sent earlier
    std::uint64_t pair = kEmpty;
    std::uint32_t context = 0;
    std::uint32_t route = 0, epoch = 0;  // of the route cache; epoch 0: not asked for
    std::uint32_t message_head = kNone,
                  message_tail = kNone;  // without a receive; linked by Message::pair_next
    std::uint32_t receive_head = kNone, receive_tail = kNone;  // without a message
  };
  static_assert(sizeof(Channel) == 64);

  explicit Channels(Pool<Message>& messages) : messages_(messages), channels_(1024) {}

  // Valid until the next call.
  [[nodiscard]] Channel& find(std::uint32_t source, std::uint32_t destination, std::uint32_t context) {
    const std::uint64_t pair = pair_of(source, destination);
    for (std::size_t i = mix(pair, context) & (channels_.size() - 1);; i = (i + 1) & (channels_.size() - 1)) {
      Channel& c = channels_[i];
      if (c.pair == pair && c.context == context) [[likely]]
        return c;
      if (c.pair == kEmpty) return make(pair, context);
    }
  }
  // A hint to the processor: that channel will be asked for soon.
  void prefetch(std::uint32_t source, std::uint32_t destination, std::uint32_t context) const {
    __builtin_prefetch(&channels_[mix(pair_of(source, destination), context) & (channels_.size() - 1)], 1);
  }

  // The earliest receive that takes a message of that tag, or none; it leaves its queue.
  [[nodiscard]] bool take_receive(Channel& c, std::int32_t tag, Receive& out) {
    std::uint32_t before = kNone;
    for (std::uint32_t r = c.receive_head; r != kNone; before = r, r = receives_[r].next) {
      if (receives_[r].tag != tag && receives_[r].tag != traces::kAnyTag) continue;
      out = receives_[r];
      (before == kNone ? c.receive_head : receives_[before].next) = out.next;
      if (c.receive_tail == r) c.receive_tail = before;
      receives_.give(r);
      --waiting_receives_;
      return true;
    }
    return false;
  }
  void wait(Channel& c, const Receive& receive) {
    const std::uint32_t r = receives_.take();
    receives_[r] = receive;
    receives_[r].next = kNone;
    (c.receive_tail == kNone ? c.receive_head : receives_[c.receive_tail].next) = r;
    c.receive_tail = r;
    ++waiting_receives_;
  }
  // The message that a receive of that tag would take; kNone: none.
  [[nodiscard]] std::uint32_t first_message(const Channel& c, std::int32_t tag) const {
    std::uint32_t m = c.message_head;
    while (m != kNone && tag != traces::kAnyTag && messages_[m].tag != tag) m = messages_[m].pair_next;
    return m;
  }
  // The same of messages; kNone: none.
  [[nodiscard]] std::uint32_t take_message(Channel& c, std::int32_t tag) {
    std::uint32_t before = kNone;
    for (std::uint32_t m = c.message_head; m != kNone; before = m, m = messages_[m].pair_next) {
      if (tag != traces::kAnyTag && messages_[m].tag != tag) continue;
      (before == kNone ? c.message_head : messages_[before].pair_next) = messages_[m].pair_next;
      if (c.message_tail == m) c.message_tail = before;
      --waiting_messages_;
      return m;
    }
    return kNone;
  }
  void wait(Channel& c, std::uint32_t message) {
    messages_[message].pair_next = kNone;
    (c.message_tail == kNone ? c.message_head : messages_[c.message_tail].pair_next) = message;
    c.message_tail = message;
    ++waiting_messages_;
  }
  // Messages that no receive took so far, receives that no message came for.
  [[nodiscard]] std::uint64_t waiting_messages() const { return waiting_messages_; }
  [[nodiscard]] std::uint64_t waiting_receives() const { return waiting_receives_; }

 private:
  static constexpr std::uint64_t kEmpty = ~0ULL;
  static std::uint64_t pair_of(std::uint32_t source, std::uint32_t destination) {
    return (static_cast<std::uint64_t>(destination) << 32) | source;
  }
  static std::size_t mix(std::uint64_t pair, std::uint32_t context) {
    std::uint64_t k = (pair ^ (static_cast<std::uint64_t>(context) << 21)) * 0x9e3779b97f4a7c15ULL;
    k += context * 0xd6e8feb86659fd93ULL;
    return static_cast<std::size_t>(k ^ (k >> 32));
  }
  [[gnu::noinline]] Channel& make(std::uint64_t pair, std::uint32_t context) {
    if ((used_ + 1) * 3 > channels_.size() * 2) grow();
    ++used_;
    Channel c;
    c.pair = pair;
    c.context = context;
    return put(c);
  }
  void grow() {
    std::vector<Channel> old(channels_.size() * 2);
    old.swap(channels_);
    for (const Channel& c : old)
      if (c.pair != kEmpty) put(c);
  }
  Channel& put(const Channel& c) {
    std::size_t i = mix(c.pair, c.context) & (channels_.size() - 1);
    while (channels_[i].pair != kEmpty) i = (i + 1) & (channels_.size() - 1);
    return channels_[i] = c;
  }

  Pool<Message>& messages_;
  Pool<Receive> receives_;
  std::vector<Channel> channels_;  // open addressing, power of two
  std::size_t used_ = 0;
  std::uint64_t waiting_messages_ = 0, waiting_receives_ = 0;
};

}  // namespace weft::replay
