// The ends of the flows in progress: one entry a flow, found by FlowId, so that a new rate moves the entry instead of
// leaving a stale one.
//
// By (time, sequence), as event_heap.hpp says; times past the end stand for Instant::last(). Flows that start together mostly end in
// the order in which they are told of it: what ends after all others of the lane, a plain queue, is appended to it, the rest goes to
// the heap. What leaves the lane from its middle leaves a gap, which goes when it comes to one of the lane's ends or when the lane is full.
// O(1) in the lane, O(log flows) in the heap; no allocation once both have grown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/id.hpp"
#include "network/event_heap.hpp"

namespace weft::network {

class CompletionQueue {
 public:
  struct Entry {
    Instant time;
    std::uint64_t sequence;
    FlowId flow;  // none: a gap of the lane
    std::uint32_t reserved = 0;
  };
  static_assert(sizeof(Entry) == 32);

  [[nodiscard]] bool empty() const { return lane_empty() && heap_.empty(); }
  // REQUIRES: !empty().
  [[nodiscard]] const Entry& top() const { return in_lane_ ? lane_[next_ & mask_] : heap_.front(); }
  // Instant::never() if it is empty.
  [[nodiscard]] Instant next_time() const { return next_time_; }
  // f(entry) for the first and, in no order, some that may come after it.
  template <class F>
  void next_few(F f) const {
    if (empty()) return;
    f(top());
    for (std::size_t i = in_lane_ ? 0 : 1; i < std::min<std::size_t>(heap_.size(), 5); ++i) f(heap_[i]);
    for (std::uint32_t i = in_lane_ ? 1 : 0; i < std::min(last_ - next_, 3u); ++i)
      if (const Entry& e = lane_[(next_ + i) & mask_]; e.flow.valid()) f(e);
  }
  // Hints to the processor that the flow will be moved: `near` soon, else later.
  void prefetch(FlowId flow, bool near) const {
    if (flow.index() >= position_.size()) return;
    if (!near) return __builtin_prefetch(&position_[flow.index()]);
    const std::uint32_t at = position_[flow.index()];
    if (at == kAbsent) return;
    __builtin_prefetch((at & kInLane) != 0 ? &lane_[at & ~kInLane] : &heap_[at]);
  }
  // Inserts the flow or moves it to its new time.
  void set(FlowId flow, Instant time, std::uint64_t sequence) {
    grow(std::size_t{flow.index()} + 1);
    put(flow, time, sequence);
    find_first();
  }
  // Flows below `count` may be put.
  void grow(std::size_t count) {
    if (count > position_.size()) position_.resize(count, kAbsent);
  }
  // The same for who sets many: find_first() is due before the queue is asked or popped. REQUIRES: grow() was told of it.
  [[gnu::always_inline]] void put(FlowId flow, Instant time, std::uint64_t sequence) {
    const std::uint32_t at = position_[flow.index()];
    const Entry e{time.no_later_than_last(), sequence, flow};
    if ((at & kInLane) != 0) {
      if (at != kAbsent) [[unlikely]]
        leave_lane(at & ~kInLane);
      insert(e);
    } else if (heap::before(e, heap_[at])) {
      up(at, e);
    } else {
      down(at, e);
    }
  }
  void find_first() {
    if (!lane_empty()) [[unlikely]]
      return find_first_of_both();
    in_lane_ = false;
    next_time_ = heap_.empty() ? Instant::never() : heap_.front().time;
  }
  // REQUIRES: it is in the queue.
  void remove(FlowId flow) {
    const std::uint32_t at = position_[flow.index()];
    position_[flow.index()] = kAbsent;
    if ((at & kInLane) != 0)
      leave_lane(at & ~kInLane);
    else
      leave_heap(at);
    find_first();
  }
  void clear() {
    heap_.clear();
    std::ranges::fill(position_, kAbsent);
    next_ = last_ = gaps_ = 0;
    find_first();
  }
  // REQUIRES: !empty().
  void pop() {
    position_[top().flow.index()] = kAbsent;
    if (in_lane_) {
      ++next_;
      close_gaps();
    } else {
      const Entry last = heap_.back();
      heap_.pop_back();
      if (!heap_.empty()) down(0, last);
    }
    find_first();
  }

 private:
  // position_: a place in the heap; or, with the bit, a place in lane_; or nowhere.
  static constexpr std::uint32_t kInLane = 1u << 31;
  static constexpr std::uint32_t kAbsent = ~0u;
  // In a heap of fewer the way is short.
  static constexpr std::size_t kSmall = 64;
  struct Put {
    Entry* rows;
    std::uint32_t* position;
    void operator()(std::size_t i, const Entry& e) const {
      rows[i] = e;
      position[e.flow.index()] = static_cast<std::uint32_t>(i);
    }
  };
  [[gnu::always_inline]] void up(std::size_t i, const Entry& e) {
    heap::up(heap_, i, e, Put{heap_.data(), position_.data()});
  }
  void down(std::size_t i, const Entry& e) { heap::down(heap_, i, e, Put{heap_.data(), position_.data()}); }

  [[nodiscard]] bool lane_empty() const { return next_ == last_; }
  [[gnu::always_inline]] void insert(const Entry& e) {
    if (lane_empty() ? heap_.size() >= kSmall : heap::before(lane_[(last_ - 1) & mask_], e)) {
      if (last_ - next_ == lane_.size()) [[unlikely]]
        make_room();
      return put_last(e);
    }
    heap_.emplace_back();  // which up() writes
    up(heap_.size() - 1, e);
  }
  void put_last(const Entry& e) {
    const std::uint32_t slot = last_++ & mask_;
    lane_[slot] = e;
    position_[e.flow.index()] = kInLane | slot;
  }
  [[gnu::noinline]] void leave_lane(std::uint32_t slot) {
    lane_[slot].flow = FlowId();
    ++gaps_;
    close_gaps();
  }
  // First and last of the lane are flows afterwards.
  void close_gaps() {
    if (gaps_ == 0) return;
    for (; !lane_empty() && !lane_[next_ & mask_].flow.valid(); ++next_) --gaps_;
    for (; !lane_empty() && !lane_[(last_ - 1) & mask_].flow.valid(); --last_) --gaps_;
  }
  // The lane without its gaps, twice as wide if that is not half of it.
  [[gnu::noinline]] void make_room() {
    const auto old = std::vector<Entry>(lane_.begin(), lane_.end());
    const std::uint32_t begin = next_, end = last_, mask = mask_;
    if (gaps_ < old.size() / 2 || old.empty()) lane_.resize(std::max<std::size_t>(16, 2 * old.size()));
    mask_ = static_cast<std::uint32_t>(lane_.size() - 1);
    next_ = last_ = gaps_ = 0;
    for (std::uint32_t i = begin; i != end; ++i)
      if (const Entry& e = old[i & mask]; e.flow.valid()) put_last(e);
  }
  void leave_heap(std::uint32_t at) {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    if (at > 0 && heap::before(last, heap_[(at - 1) >> 2]))
      up(at, last);
    else
      down(at, last);
  }
  [[gnu::noinline]] void find_first_of_both() {
    in_lane_ = heap_.empty() || heap::before(lane_[next_ & mask_], heap_.front());
    next_time_ = top().time;
  }

  heap::Rows<Entry> heap_;
  std::vector<Entry> lane_;                       // a ring, of a power of two
  std::uint32_t mask_ = 0, next_ = 0, last_ = 0;  // next_ and last_ go round
  std::uint32_t gaps_ = 0;
  std::vector<std::uint32_t> position_;  // by FlowId
  Instant next_time_ = Instant::never();
  bool in_lane_ = false;  // top() is
};

}  // namespace weft::network
