// The queue of a simulation's one-shot events, by (time, sequence): event_heap.hpp. Times past the end are posted for
// Instant::last(). O(log n) push and pop; no allocation once it has grown.
//
// Most events come a delay after now that many others have, the latency of a route: they are posted in the order in which
// they happen. EventQueue has lanes for them, which are plain queues; what would not be the last of its lane goes to the heap.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "network/clock.hpp"
#include "network/event_heap.hpp"

namespace weft::network {

// What happens at `time`; what `kind` and `index` mean is the business of whoever posts them. Kind: an enumeration of
// one byte.
template <class Kind>
struct Event {
  Instant time;
  std::uint64_t sequence;
  Kind kind;
  std::uint32_t index;
};

template <class Kind>
class EventQueue {
 public:
  using Event = network::Event<Kind>;
  static_assert(sizeof(Event) == 32, "events are moved a lot: two per cache line");

  [[nodiscard]] bool empty() const { return first_ == kNothing; }
  // REQUIRES of both: !empty().
  [[nodiscard]] const Event& top() const { return first_ == kHeap ? heap_.front() : lanes_[first_].front(); }
  // Instant::never() if it is empty.
  [[nodiscard]] Instant next_time() const { return next_time_; }
  // f(event) for the next and, in no order, some that may come after it.
  template <class F>
  void next_few(F f) const {
    if (empty()) return;
    f(top());
    for (std::size_t i = first_ == kHeap ? 1 : 0; i < std::min<std::size_t>(heap_.size(), 5); ++i)
      f(heap_[i]);
    for (std::uint32_t lanes = used_; lanes != 0; lanes &= lanes - 1) {
      const auto l = static_cast<std::uint32_t>(std::countr_zero(lanes));
      if (const std::size_t ahead = l == first_ ? 1 : 0; lanes_[l].size() > ahead) f(lanes_[l].at(ahead));
    }
  }
  void push(Event e) {
    e.time = e.time.no_later_than_last();
    push_heap(e);
  }
  // The same of what happens a time after its push that many others have, too: `delay` says which.
  [[gnu::always_inline]] void push_in_turn(Event e, std::uint64_t delay) {
    e.time = e.time.no_later_than_last();
    const auto l = static_cast<std::uint32_t>((delay * 0x9e3779b97f4a7c15ULL) >> (64 - kLaneBits));
    Lane& lane = lanes_[l];
    if (lane.size() == 0) {
      used_ |= 1u << l;
      if (is_first(e)) be_first(e, l);
      lane.push(e);
    } else if (heap::before(lane.back(), e)) {
      lane.push(e);
    } else {
      push_heap(e);
    }
  }
  void pop() {
    if (first_ != kHeap) {
      lanes_[first_].pop();
      if (lanes_[first_].size() == 0) used_ &= ~(1u << first_);
    } else {
      const Event last = heap_.back();
      heap_.pop_back();
      if (!heap_.empty()) heap::down(heap_, 0, last, Put{heap_.data()});
    }
    find_first();
  }

 private:
  static constexpr int kLaneBits = 2;
  static constexpr std::uint32_t kLanes = 1u << kLaneBits, kHeap = kLanes, kNothing = kLanes + 1;
  // First in, first out, in a ring that grows.
  class Lane {
   public:
    [[nodiscard]] std::size_t size() const { return last_ - next_; }
    [[nodiscard]] const Event& at(std::size_t i) const { return ring_[(next_ + i) & mask_]; }
    [[nodiscard]] const Event& front() const { return at(0); }
    [[nodiscard]] const Event& back() const { return ring_[(last_ - 1) & mask_]; }
    [[gnu::always_inline]] void push(const Event& e) {
      if (size() == ring_.size()) grow();
      ring_[last_++ & mask_] = e;
    }
    void pop() { ++next_; }

   private:
    [[gnu::noinline]] void grow() {
      std::vector<Event> wider(std::max<std::size_t>(16, 2 * ring_.size()));
      const std::size_t n = size();
      for (std::size_t i = 0; i < n; ++i) wider[i] = at(i);
      ring_.swap(wider);
      mask_ = ring_.size() - 1;
      next_ = 0;
      last_ = n;
    }
    std::vector<Event> ring_;  // a power of two
    std::size_t mask_ = 0, next_ = 0, last_ = 0;
  };
  struct Put {
    Event* rows;
    void operator()(std::size_t i, const Event& e) const { rows[i] = e; }
  };
  [[nodiscard, gnu::always_inline]] bool is_first(const Event& e) const {
    return empty() || heap::before(e, top());
  }
  void be_first(const Event& e, std::uint32_t where) {
    first_ = where;
    next_time_ = e.time;
  }
  [[gnu::noinline]] void push_heap(const Event& e) {
    if (is_first(e)) be_first(e, kHeap);
    heap_.emplace_back();  // which up() writes
    heap::up(heap_, heap_.size() - 1, e, Put{heap_.data()});
  }
  void find_first() {
    const Event* first = heap_.empty() ? nullptr : heap_.data();
    std::uint32_t where = kHeap;
    for (std::uint32_t lanes = used_; lanes != 0; lanes &= lanes - 1) {
      const auto l = static_cast<std::uint32_t>(std::countr_zero(lanes));
      const Event& e = lanes_[l].front();
      if (first != nullptr && !heap::before(e, *first)) continue;
      first = &e;
      where = l;
    }
    if (first != nullptr) return be_first(*first, where);
    first_ = kNothing;
    next_time_ = Instant::never();
  }

  heap::Rows<Event> heap_;
  std::array<Lane, kLanes> lanes_;
  std::uint32_t used_ = 0;          // bits of the lanes that are not empty
  std::uint32_t first_ = kNothing;  // where top() is: a lane or kHeap
  Instant next_time_ = Instant::never();
};

}  // namespace weft::network
