// Channels: which send a receive takes, where both name each other and time decides nothing.
//
// A channel is what MPI keeps in order: the messages of one source to one destination on one communicator. A message takes
// the earliest receive that accepts it, a receive the earliest message (MPI-3.1, section 3.5). Both sides come in the order
// of their programs, and so whoever is taken on first, the pairs are the same: the earliest receive that accepts any message of the
// channel is the first choice of each of these, so it gets its own first choice in every order; without that pair the same
// holds of the rest. That is why a rank may post in its own future (direct_replay.hpp), and why a receive from any source,
// whose messages come in the order of time, is nothing for this class.
// Complexity: as ChannelQueues; no allocation once the pools have grown.
#pragma once

#include <cstdint>
#include <utility>

#include "replay/messages/channel_queues.hpp"
#include "replay/messages/message.hpp"
#include "replay/time.hpp"

namespace weft::replay {

class Channels {
 public:
  // A receive that waits for its message.
  struct Receive {
    Instant posted;
    std::int64_t bytes = 0;
    std::int32_t tag = 0;  // kAnyTag possible
    Target target;
    std::uint64_t sequence = 0;  // in the order of posts
    std::uint32_t next = kNone, prev = kNone;
  };
  // On one cache line: with thousands of ranks most look-ups miss.
  struct alignas(64) Channel : ChannelRow {
    std::uint32_t route = 0, epoch = 0;  // of the route cache; epoch 0: not asked for
    Instant delivered;  // the last message of the channel: none is before those that were sent earlier
    // Nothing of it is later than what its source sends from `past` on.
    [[nodiscard]] bool idle(Instant past) const {
      return recv_head == kNone && msg_head == kNone && !(past < delivered);
    }
  };
  static_assert(sizeof(Channel) == 64);

  // A source sends nothing before past(source) any more.
  using Past = ChannelQueues<Channel, Receive>::Past;
  Channels(Pool<Message>& messages, std::uint32_t sources, Past past)
      : queues_(messages, sources, std::move(past)) {}

  // Valid until the next call.
  [[nodiscard]] Channel& find(std::uint32_t source, std::uint32_t destination, std::uint32_t context) {
    return queues_.find(source, destination, context);
  }

  // Hints to the processor, for find(): whether they pay, and one.
  [[nodiscard]] bool many() const { return queues_.table_bytes() > kMany; }
  void prefetch(std::uint32_t source, std::uint32_t destination, std::uint32_t context) const {
    queues_.prefetch(source, destination, context);
  }

  // The earliest receive that takes a message of that tag; it leaves its queue, its row is good until another one waits. Null:
  // none.
  [[nodiscard]] const Receive* take_receive(Channel& c, std::int32_t tag) {
    const std::uint32_t r = queues_.first_receive(c, tag);
    if (r == kNone) return nullptr;
    queues_.remove_receive(c, r);
    queues_.receives().give(r);
    return &queues_.receives()[r];
  }
  void wait(Channel& c, const Receive& receive) {
    const std::uint32_t r = queues_.receives().take();
    queues_.receives()[r] = receive;
    queues_.append_receive(c, r);
  }
  // The message that a receive of that tag would take; kNone: none.
  [[nodiscard]] std::uint32_t first_message(Channel& c, std::int32_t tag) {
    return queues_.first_message(c, tag);
  }
  // The same, and it leaves its queue.
  [[nodiscard]] std::uint32_t take_message(Channel& c, std::int32_t tag) {
    const std::uint32_t m = queues_.first_message(c, tag);
    if (m == kNone) return kNone;
    queues_.remove_message(c, m);
    --waiting_messages_;
    return m;
  }
  void wait(Channel& c, std::uint32_t message) {
    queues_.append_message(c, message);
    ++waiting_messages_;
  }
  // Messages that no receive took so far, receives that no message came for.
  [[nodiscard]] std::uint64_t waiting_messages() const { return waiting_messages_; }
  [[nodiscard]] std::uint64_t waiting_receives() const { return queues_.receives().live(); }

 private:
  static constexpr std::size_t kMany = std::size_t{2} << 20;  // bytes
  ChannelQueues<Channel, Receive> queues_;
  std::uint64_t waiting_messages_ = 0;
};

}  // namespace weft::replay
