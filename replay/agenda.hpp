// Agenda: the clock of a replay, what is to happen later, and the first error, after which nothing more does.
//
// Events are ordered by (time, sequence number); a sequence number is given once, to events here and to completions of
// flows (network::Network::settle). So the order of what happens is total, and the same in every run.
// Complexity: post() and take() O(log events).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "core/result.hpp"
#include "network/event_queue.hpp"
#include "replay/event_kind.hpp"
#include "replay/time.hpp"

namespace weft::replay {

class Agenda {
 public:
  using Event = network::Event<EventKind>;

  [[nodiscard]] Instant now() const { return now_; }
  // REQUIRES: nothing is left to happen before `t`.
  void move_to(Instant t) { now_ = t; }

  void post(Instant t, EventKind kind, std::uint32_t index) { events_.push({t, sequence_++, kind, index}); }
  // Time `d` from now.
  void post_in(Elapsed d, EventKind kind, std::uint32_t index) { post(now_ + d, kind, index); }
  // That of the event which is posted next: whoever posts it knows it again by that.
  [[nodiscard]] std::uint64_t next_sequence() const { return sequence_; }
  // For whoever numbers completions.
  [[nodiscard]] std::uint64_t& sequence() { return sequence_; }

  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] const Event& top() const { return events_.top(); }
  // The first event, which happens now. REQUIRES: !empty().
  Event take() {
    const Event e = events_.top();
    events_.pop();
    return e;
  }
  // The next event and the four that may come after it.
  [[nodiscard]] std::span<const Event> next_few() const { return events_.next_few(); }

  // The first error counts: later ones may be its consequence.
  void fail(Error e) {
    if (!error_) error_ = std::move(e);
  }
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  // REQUIRES: failed().
  [[nodiscard]] Error take_error() { return std::move(*error_); }

 private:
  Instant now_;
  std::uint64_t sequence_ = 0;
  network::EventQueue<EventKind> events_;
  std::optional<Error> error_;
};

}  // namespace weft::replay
