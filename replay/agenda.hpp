// Agenda: the clock of a replay, what is to happen later, and the first error, after which nothing more does.
//
// Events are ordered by (time, sequence number); a sequence number is given once, to events here and to completions of
// flows (network::Network::settle). So the order of what happens is total, and the same in every run.
// Complexity: post() and take() O(log events).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

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

  [[gnu::always_inline]] void post(Instant t, EventKind kind, std::uint32_t index) {
    events_.push({t, sequence_++, kind, index});
  }
  // Time `d` from now.
  void post_in(Elapsed d, EventKind kind, std::uint32_t index) { post(now_ + d, kind, index); }
  // The same where others come the same time after they are posted: costs no search.
  [[gnu::always_inline]] void post_in_turn(Elapsed d, EventKind kind, std::uint32_t index) {
    events_.push_in_turn({now_ + d, sequence_++, kind, index}, static_cast<std::uint64_t>(d.ticks()));
  }
  // Comes when all else of this instant has happened (event_loop.hpp). Returns its sequence number.
  std::uint64_t post_last(EventKind kind, std::uint32_t index) {
    last_.push_back({now_, sequence_, kind, index});
    end_awaited_ = true;
    return sequence_++;
  }
  // Somebody is to be told when all of this instant has happened, before what was posted last.
  void ask_for_end() { end_asked_ = end_awaited_ = true; }
  void end_told() {
    end_asked_ = false;
    end_awaited_ = !last_.empty();
  }
  // Either of the two. Asked for at each event, so it is one flag.
  [[nodiscard]] bool end_is_awaited() const { return end_awaited_; }
  // f(event) for all that was posted last, in the order of their indices, whatever the order in which they were posted.
  template <class F>
  void take_last(F f) {
    taken_.swap(last_);
    last_.clear();
    end_awaited_ = end_asked_;
    std::sort(taken_.begin(), taken_.end(), [](const Event& a, const Event& b) {
      return a.index != b.index ? a.index < b.index : a.sequence < b.sequence;
    });
    for (const Event& e : taken_) f(e);
  }
  // That of the event which is posted next: whoever posts it knows it again by that.
  [[nodiscard]] std::uint64_t next_sequence() const { return sequence_; }
  // For whoever numbers completions.
  [[nodiscard]] std::uint64_t& sequence() { return sequence_; }

  [[nodiscard]] bool empty() const { return events_.empty(); }
  [[nodiscard]] const Event& top() const { return events_.top(); }
  // Of top(); Instant::never() if there is none.
  [[nodiscard]] Instant next_time() const { return events_.next_time(); }
  // The first event, which happens now. REQUIRES: !empty().
  Event take() {
    const Event e = events_.top();
    events_.pop();
    return e;
  }
  // f(event) for the next and, in no order, some that may come after it.
  template <class F>
  void next_few(F f) const {
    events_.next_few(f);
  }

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
  std::vector<Event> last_, taken_;  // of this instant
  bool end_asked_ = false, end_awaited_ = false;
  std::optional<Error> error_;
};

}  // namespace weft::replay
