// One point-to-point message in flight or waiting, and one posted receive.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/containers/id_stack.hpp"
#include "core/containers/large_blocks.hpp"
#include "core/id.hpp"
#include "replay/message_cost.hpp"
#include "replay/time.hpp"

namespace weft::replay {

// Who is told when a send or receive is over: a request slot of its rank, the rank itself (blocking), or a
// collective in progress (kActivity), or a task (kActivity and kTask). Slots stay below 2^22 (program_cursor.hpp).
struct Target {
  static constexpr std::uint32_t kNobody = 0xffffffffu;
  static constexpr std::uint32_t kBlocking = 0x7fffffffu;
  static constexpr std::uint32_t kActivity = 0x80000000u;
  static constexpr std::uint32_t kTask = 0x40000000u;
  std::uint32_t value = kNobody;
  [[nodiscard]] bool is_activity() const { return value != kNobody && (value & kActivity) != 0; }
  // REQUIRES of both: is_activity(). Which collective, or which task.
  [[nodiscard]] bool is_task() const { return (value & kTask) != 0; }
  [[nodiscard]] std::uint32_t activity() const { return value & ~(kActivity | kTask); }
};

// A length of time in eight bytes: its 53 upper bits, so to the tick up to 2 us.
class ShortElapsed {
 public:
  constexpr ShortElapsed() = default;
  explicit ShortElapsed(Elapsed d) : ticks_(network::detail::to_double(d.ticks())) {}
  [[nodiscard]] bool any() const { return std::bit_cast<std::int64_t>(ticks_) != 0; }
  [[nodiscard]] Elapsed elapsed() const { return Elapsed::of_ticks(network::detail::to_ticks(ticks_)); }

 private:
  double ticks_ = 0;
};

// Bits of Message::state.
enum MessageState : std::uint8_t {
  kMatched = 1,  // a receive belongs to it
  kStarted = 2,  // its data left (or wait out the latency)
  kArrived = 4,  // all data have come
  kQueued = 8,   // in the receiver's unexpected-message queue
  kCollective = 16,
  kEnvelopeHere = 32,  // its envelope is there; it may wait for earlier messages of its channel (matcher.hpp)
  kFoundAtPoll = 64,   // its receiver polled for it after a computation (Found::kAtPoll)
  kHeldBack = 128,     // by its receive, which was late, or by its turn (critical_path.hpp)
};

inline constexpr std::uint32_t kNone = 0xffffffffu;

// On three cache lines, by who asks: matching, the transfer of the data, and what a rendezvous waits for. Tens of
// thousands of messages do not stay in a cache.
struct alignas(64) Message {
  std::uint32_t src = 0, dst = 0;  // world ranks
  std::uint32_t context = 0;       // communicator; top bit set for collectives' messages
  std::int32_t tag = 0;
  std::int64_t bytes = 0;
  Target send_target;  // told when the send is over
  Target recv_target;  // told when the receive is over
  Protocol protocol{};
  std::uint8_t state = 0;
  std::uint16_t hops = 0;
  FlowId flow;
  std::uint32_t route = 0;  // of the route cache, while its epoch is route_epoch
  std::uint32_t route_epoch = 0;
  // Links of the matcher's queues: of the channel, in flight or unexpected, and of the receiver as a whole.
  std::uint32_t pair_next = kNone, pair_prev = kNone;
  std::uint32_t all_next = kNone, all_prev = kNone;

  Instant started;     // data left
  Instant flow_start;  // latency paid
  Elapsed ideal;       // transfer alone
  Instant left;        // data left: from here on they wait out the latency

  Instant posted;   // send posted, its processor time paid
  Instant visible;  // envelope at the receiver, if it is not matched earlier (probes)
  Instant matched;  // a receive was found, unless the data left without one; before that: it had its turn

  // For the critical path: the node that it began at, and the link that held it back last.
  std::uint32_t path = kNone;
  LinkId held_by;
  ShortElapsed paid;  // processor time of its send, and of others that the same call posts

  // Its send was called.
  [[nodiscard]] Instant called() const { return posted + (kNoTime - paid.elapsed()); }
  // Its match is known; of one that waits for its receive. `since`: when that was posted; `known_at_once`: as MessageCost says.
  void receive_was_there(Instant since, bool known_at_once) {
    const Instant both = std::max(known_at_once ? posted : visible, since);
    const ShortElapsed turn(both < matched ? matched - both : kNoTime);
    const auto words = std::bit_cast<std::array<std::uint32_t, 2>>(turn);
    pair_next = words[0];
    pair_prev = words[1];
  }
  // How long it and its receive were there before its turn came. REQUIRES: receive_was_there(), which takes the place of the links of
  // its channel's queue.
  [[nodiscard]] Elapsed waited_for_turn() const {
    return std::bit_cast<ShortElapsed>(std::array{pair_next, pair_prev}).elapsed();
  }
  [[nodiscard]] Found found() const {
    return (state & kFoundAtPoll) != 0 ? Found::kAtPoll : Found::kWaitedFor;
  }
};
static_assert(sizeof(Message) == 192);

struct PostedRecv {
  std::uint32_t rank = 0;
  std::uint32_t context = 0;
  std::int32_t source = 0;  // kAnySource possible
  std::int32_t tag = 0;     // kAnyTag possible
  std::int64_t bytes = 0;
  Target target;
  std::uint64_t sequence = 0;
  std::uint32_t next = kNone, prev = kNone;
  Instant posted{};
};

// Index pool: rows are reused, most recently freed first.
template <class T>
class Pool {
 public:
  std::uint32_t take() {
    if (free_.empty()) {
      rows_.emplace_back();
      return static_cast<std::uint32_t>(rows_.size() - 1);
    }
    const std::uint32_t i = free_.back();
    free_.pop_back();
    return i;
  }
  [[gnu::always_inline]] void give(std::uint32_t i) { free_.push_back(i); }
  T& operator[](std::uint32_t i) { return rows_[i]; }
  const T& operator[](std::uint32_t i) const { return rows_[i]; }
  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] std::size_t live() const { return rows_.size() - free_.size(); }
  // Slow, for rare operations: every row in use, in order of its index.
  template <class F>
  void for_each_live(F f) {
    const auto live = live_rows();
    for (std::size_t i = 0; i < live.size(); ++i)
      if (live[i]) f(rows_[i]);
  }
  // Marks which rows are in use (slow; for reports).
  [[nodiscard]] std::vector<bool> live_rows() const {
    std::vector<bool> live(rows_.size(), true);
    for (std::uint32_t i : free_) live[i] = false;
    return live;
  }

 private:
  std::vector<T, LargeBlocks<T>> rows_;
  IdStack free_;
};

}  // namespace weft::replay
