// The two queues of a simulation: one-shot events, and flow completions that move when rates change.
//
// Order is total: (time, sequence). The sequence is given out by whoever posts, so ties are decided by the order
// in which events were posted, never by addresses. Both are 4-ary heaps: half the depth of a binary one, and
// four children share two cache lines. O(log n) push, pop, move; no allocation once they have grown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/check.hpp"
#include "core/id.hpp"
#include "network/clock.hpp"

namespace weft::network {

// A 4-ary heap of what has a time and a sequence number, least first. `put(i, e)` writes e to place i.
namespace heap {
template <class E>
bool before(const E& a, const E& b) {
  return a.time != b.time ? a.time < b.time : a.sequence < b.sequence;
}
// From place i, which is free, towards the top until e fits.
template <class E, class Put>
void up(const std::vector<E>& heap, std::size_t i, const E& e, Put put) {
  while (i > 0) {
    const std::size_t parent = (i - 1) >> 2;
    if (!before(e, heap[parent])) break;
    put(i, heap[parent]);
    i = parent;
  }
  put(i, e);
}
// The same away from the top.
template <class E, class Put>
void down(const std::vector<E>& heap, std::size_t i, const E& e, Put put) {
  const std::size_t n = heap.size();
  while (true) {
    const std::size_t first = (i << 2) + 1;
    if (first >= n) break;
    std::size_t best = first;
    const std::size_t end = first + 4 < n ? first + 4 : n;
    for (std::size_t c = first + 1; c < end; ++c)
      if (before(heap[c], heap[best])) best = c;
    if (!before(heap[best], e)) break;
    put(i, heap[best]);
    i = best;
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

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] const Event& top() const { return heap_.front(); }
  // The next event and the four that may come after it.
  [[nodiscard]] std::span<const Event> next_few() const {
    return std::span<const Event>(heap_).first(std::min<std::size_t>(heap_.size(), 5));
  }
  void push(const Event& e) {
    heap_.push_back(e);
    heap::up(heap_, heap_.size() - 1, e, [this](std::size_t i, const Event& x) { heap_[i] = x; });
  }
  void pop() {
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) heap::down(heap_, 0, last, [this](std::size_t i, const Event& x) { heap_[i] = x; });
  }

 private:
  std::vector<Event> heap_;
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
  [[nodiscard]] const Entry& top() const { return heap_.front(); }
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
    const Entry e{time, sequence, flow};
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
  void put(std::size_t i, const Entry& e) {
    heap_[i] = e;
    position_[e.flow.index()] = static_cast<std::uint32_t>(i);
  }
  void up(std::size_t i, const Entry& e) {
    heap::up(heap_, i, e, [this](std::size_t at, const Entry& x) { put(at, x); });
  }
  void down(std::size_t i, const Entry& e) {
    heap::down(heap_, i, e, [this](std::size_t at, const Entry& x) { put(at, x); });
  }
  std::vector<Entry> heap_;
  std::vector<std::uint32_t> position_;
};

}  // namespace weft::network
