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
  using Id = std::uint32_t;
  // A receive that waits for its message.
  struct Receive {
    Instant posted;
    std::int64_t bytes = 0;
    std::int32_t tag = 0;  // kAnyTag possible
    Target target;
    std::uint32_t next = kNone;
  };
  // On one cache line.
  struct alignas(64) Row {
    Instant delivered;  // the last message of the channel: none is before those that were sent earlier
    std::uint64_t pair = 0;
    std::uint32_t context = 0;
    std::uint32_t route = 0, epoch = 0;  // of the route cache; epoch 0: not asked for
    std::uint32_t message_head = kNone,
                  message_tail = kNone;  // without a receive; linked by Message::pair_next
    std::uint32_t receive_head = kNone, receive_tail = kNone;  // without a message
  };
  static_assert(sizeof(Row) == 64);

  explicit Channels(Pool<Message>& messages) : messages_(messages), slots_(1024, kNone) {}

  [[nodiscard]] Row& operator[](Id c) { return rows_[c]; }
  [[nodiscard]] Id find(std::uint32_t source, std::uint32_t destination, std::uint32_t context) {
    const std::uint64_t pair = (static_cast<std::uint64_t>(destination) << 32) | source;
    for (std::size_t i = mix(pair, context) & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      const Id c = slots_[i];
      if (c == kNone) return make(pair, context);
      if (rows_[c].pair == pair && rows_[c].context == context) return c;
    }
  }

  // The earliest receive that takes a message of that tag, or none; it leaves its queue.
  [[nodiscard]] bool take_receive(Id c, std::int32_t tag, Receive& out) {
    Row& row = rows_[c];
    std::uint32_t before = kNone;
    for (std::uint32_t r = row.receive_head; r != kNone; before = r, r = receives_[r].next) {
      if (receives_[r].tag != tag && receives_[r].tag != traces::kAnyTag) continue;
      out = receives_[r];
      (before == kNone ? row.receive_head : receives_[before].next) = out.next;
      if (row.receive_tail == r) row.receive_tail = before;
      receives_.give(r);
      --waiting_receives_;
      return true;
    }
    return false;
  }
  void wait(Id c, const Receive& receive) {
    const std::uint32_t r = receives_.take();
    receives_[r] = receive;
    receives_[r].next = kNone;
    Row& row = rows_[c];
    (row.receive_tail == kNone ? row.receive_head : receives_[row.receive_tail].next) = r;
    row.receive_tail = r;
    ++waiting_receives_;
  }
  // The same of messages; kNone: none.
  [[nodiscard]] std::uint32_t take_message(Id c, std::int32_t tag) {
    Row& row = rows_[c];
    std::uint32_t before = kNone;
    for (std::uint32_t m = row.message_head; m != kNone; before = m, m = messages_[m].pair_next) {
      if (tag != traces::kAnyTag && messages_[m].tag != tag) continue;
      (before == kNone ? row.message_head : messages_[before].pair_next) = messages_[m].pair_next;
      if (row.message_tail == m) row.message_tail = before;
      --waiting_messages_;
      return m;
    }
    return kNone;
  }
  void wait(Id c, std::uint32_t message) {
    messages_[message].pair_next = kNone;
    Row& row = rows_[c];
    (row.message_tail == kNone ? row.message_head : messages_[row.message_tail].pair_next) = message;
    row.message_tail = message;
    ++waiting_messages_;
  }
  // Messages that no receive took so far, receives that no message came for.
  [[nodiscard]] std::uint64_t waiting_messages() const { return waiting_messages_; }
  [[nodiscard]] std::uint64_t waiting_receives() const { return waiting_receives_; }

 private:
  static std::size_t mix(std::uint64_t pair, std::uint32_t context) {
    std::uint64_t k = (pair ^ (static_cast<std::uint64_t>(context) << 21)) * 0x9e3779b97f4a7c15ULL;
    k += context * 0xd6e8feb86659fd93ULL;
    return static_cast<std::size_t>(k ^ (k >> 32));
  }
  [[gnu::noinline]] Id make(std::uint64_t pair, std::uint32_t context) {
    if ((rows_.size() + 1) * 2 > slots_.size()) grow();
    Row row;
    row.pair = pair;
    row.context = context;
    rows_.push_back(row);
    const Id c = static_cast<Id>(rows_.size() - 1);
    put(c);
    return c;
  }
  void grow() {
    slots_.assign(slots_.size() * 2, kNone);
    for (Id c = 0; c < rows_.size(); ++c) put(c);
  }
  void put(Id c) {
    std::size_t i = mix(rows_[c].pair, rows_[c].context) & (slots_.size() - 1);
    while (slots_[i] != kNone) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = c;
  }

  Pool<Message>& messages_;
  Pool<Receive> receives_;
  std::vector<Row> rows_;
  std::vector<Id> slots_;  // open addressing, power of two
  std::uint64_t waiting_messages_ = 0, waiting_receives_ = 0;
};

}  // namespace weft::replay
