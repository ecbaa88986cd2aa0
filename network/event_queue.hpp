// The two queues of a simulation: one-shot events, and flow completions that move when rates change.
//
// Order is total: (time, sequence). The sequence is given out by whoever posts, so ties are decided by the order
// in which events were posted, never by addresses. Both are 4-ary heaps: half the depth of a binary one, and
// four children share two cache lines. O(log n) push, pop, move; no allocation once they have grown.
//
// Most comparisons are decided by whole picoseconds, one machine word (Instant::whole()); the 128 bits of a time and the
// sequence are looked at where these are equal. Times past the end are posted for Instant::last(), so that a word is enough.
//
// Most events come a delay after now that many others have, the latency of a route: they are posted in the order in which
// they happen. EventQueue has lanes for them, which are plain queues; what would not be the last of its lane goes to the heap.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/id.hpp"
#include "network/clock.hpp"

namespace weft::network {

// A 4-ary heap of what has a time and a sequence number, least first. `put(i, e)` writes e to place i.
namespace heap {
// Of two at the same picosecond.
template <class E>
bool before_within(const E& a, const E& b) {
  return a.time != b.time ? a.time < b.time : a.sequence < b.sequence;
}
template <class E>
bool before(const E& a, const E& b) {
  const std::int64_t at = a.time.whole(), bt = b.time.whole();
  return at != bt ? at < bt : before_within(a, b);
}
// From place i, which is free, towards the top until e fits.
template <class E, class Put>
void up(const std::vector<E>& heap, std::size_t i, const E& e, Put put) {
  const E* const rows = heap.data();
  while (i > 0) {
    const std::size_t parent = (i - 1) >> 2;
    if (!before(e, rows[parent])) break;
    put(i, rows[parent]);
    i = parent;
  }
  put(i, e);
}
// The same away from the top.
template <class E, class Put>
void down(const std::vector<E>& heap, std::size_t i, const E& e, Put put) {
  const E* const rows = heap.data();
  const std::size_t n = heap.size();
  const std::int64_t mine = e.time.whole();
  while (true) {
    const std::size_t first = (i << 2) + 1;
    if (first >= n) break;
    const E* best = rows + first;
    std::int64_t least = best->time.whole();
    const E* const end = rows + std::min(first + 4, n);
    for (const E* c = best + 1; c < end; ++c) {
      const std::int64_t t = c->time.whole();
      if (t > least || (t == least && !before_within(*c, *best))) continue;
      best = c;
      least = t;
    }
    if (least > mine || (least == mine && !before_within(*best, e))) break;
    put(i, *best);
    i = static_cast<std::size_t>(best - rows);
  }
  put(i, e);
}
}  // namespace heap

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
    for (std::uint32_t l = 0; l < kLanes; ++l)
      if (const std::size_t ahead = l == first_ ? 1 : 0; lanes_[l].size() > ahead) f(lanes_[l].at(ahead));
  }
  void push(Event e) {
    e.time = std::min(e.time, Instant::last());
    push_heap(e);
  }
  // The same of what happens a time after its push that many others have, too: `delay` says which.
  void push_in_turn(Event e, std::uint64_t delay) {
    e.time = std::min(e.time, Instant::last());
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
    void push(const Event& e) {
      if (size() == ring_.size()) grow();
      ring_[last_++ & mask_] = e;
    }
    void pop() { ++next_; }

   private:
    void grow() {
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
  [[nodiscard]] bool is_first(const Event& e) const { return empty() || heap::before(e, top()); }
  void be_first(const Event& e, std::uint32_t where) {
    first_ = where;
    next_time_ = e.time;
  }
  void push_heap(const Event& e) {
    if (is_first(e)) be_first(e, kHeap);
    heap_.push_back(e);
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

  std::vector<Event> heap_;
  std::array<Lane, kLanes> lanes_;
  std::uint32_t used_ = 0;          // bits of the lanes that are not empty
  std::uint32_t first_ = kNothing;  // where top() is: a lane or kHeap
  Instant next_time_ = Instant::never();
};

// One entry per active flow, found by FlowId, so that a new rate moves the entry instead of leaving a stale
// one.
class CompletionQueue {
 public:
  struct Entry {
    Instant time;
    std::uint64_t sequence;
    FlowId flow;
    std::uint32_t reserved = 0;
  };
  static_assert(sizeof(Entry) == 32);

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  // REQUIRES: !empty().
  [[nodiscard]] const Entry& top() const { return heap_.front(); }
  // Instant::never() if it is empty.
  [[nodiscard]] Instant next_time() const { return empty() ? Instant::never() : heap_.front().time; }
  // The first and the four that may come after it.
  [[nodiscard]] std::span<const Entry> next_few() const {
    return std::span<const Entry>(heap_).first(std::min<std::size_t>(heap_.size(), 5));
  }
  // Hints to the processor that the flow will be moved: `near` soon, else later.
  void prefetch(FlowId flow, bool near) const {
    if (flow.index() >= position_.size()) return;
    if (!near) return __builtin_prefetch(&position_[flow.index()]);
    if (position_[flow.index()] != kAbsent) __builtin_prefetch(&heap_[position_[flow.index()]]);
  }
  // Inserts the flow or moves it to its new time.
  void set(FlowId flow, Instant time, std::uint64_t sequence) {
    if (flow.index() >= position_.size()) position_.resize(flow.index() + 1, kAbsent);
    std::uint32_t at = position_[flow.index()];
    const Entry e{std::min(time, Instant::last()), sequence, flow};
    if (at == kAbsent) {
      at = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back(e);
      up(at, e);
    } else if (heap::before(e, heap_[at])) {
      up(at, e);
    } else {
      down(at, e);
    }
  }
  // REQUIRES: it is in the queue.
  void remove(FlowId flow) {
    const std::uint32_t at = position_[flow.index()];
    position_[flow.index()] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (last.flow == flow) return;
    if (at > 0 && heap::before(last, heap_[(at - 1) >> 2]))
      up(at, last);
    else
      down(at, last);
  }
  void clear() {
    heap_.clear();
    position_.clear();
  }
  void pop() {
    position_[heap_.front().flow.index()] = kAbsent;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) down(0, last);
  }

 private:
  static constexpr std::uint32_t kAbsent = ~0u;
  struct Put {
    Entry* rows;
    std::uint32_t* position;
    void operator()(std::size_t i, const Entry& e) const {
      rows[i] = e;
      position[e.flow.index()] = static_cast<std::uint32_t>(i);
    }
  };
  void up(std::size_t i, const Entry& e) { heap::up(heap_, i, e, Put{heap_.data(), position_.data()}); }
  void down(std::size_t i, const Entry& e) { heap::down(heap_, i, e, Put{heap_.data(), position_.data()}); }
  std::vector<Entry> heap_;
  std::vector<std::uint32_t> position_;
};

}  // namespace weft::network
