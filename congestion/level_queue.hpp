// LevelQueue: which of a growing set of slots has the lowest key, where keys are found to be too low when they come up.
//
// Slots are numbered from 0 as they are added. Who asks for the lowest key says what a slot's key is now, which may be
// higher than what is on file, or kNever: nothing rises there any more. Of equal keys the lowest slot wins, so the order
// is total. Keys are not negative.
//
// A few keys are looked through each time, which takes fewer steps than to keep them in order: most fillings are of a few
// links. More: a 4-ary heap. Many: buckets by the leading bits of the key, 16 to a factor of two, and a heap of the bucket
// that is open. Most slots of a large filling are links that nothing will fill; in a bucket they cost a few nanoseconds
// when they enter and again when it opens, where a heap of thousands waits for memory and for mispredicted branches.
// Lowering a key leaves the old entry where it is; it is passed over. No allocation below the largest size so far.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/uninitialized.hpp"

namespace weft::congestion {

class LevelQueue {
 public:
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  void clear() {
    key_.clear();
    if (!ordered_) return;
    ordered_ = false;
    heap_.clear();
    if (spread_) {
      heads_.fill(kNone);
      used_.fill(0);
      pool_.clear();
    }
    spread_ = false;
    horizon_ = ~std::uint64_t{0};
  }
  // A key for each of `rows`, key(row), in this order.
  template <class Rows, class Key>
  void assign(const Rows& rows, Key key) {
    clear();
    key_.resize(rows.size());
    double* to = key_.data();
    for (const auto row : rows) *to++ = key(row);
    if (key_.size() > kFew) put_in_order();
  }
  [[nodiscard]] std::uint32_t slots() const { return static_cast<std::uint32_t>(key_.size()); }
  // The next slot.
  void add(double key) {
    key_.push_back(key);
    if (ordered_) return insert({key, slots() - 1});
    if (key_.size() > kFew) put_in_order();
  }
  [[nodiscard]] double key(std::uint32_t slot) const { return key_[slot]; }
  void set(std::uint32_t slot, double key) {
    key_[slot] = key;
    if (ordered_) insert({key, slot});
  }
  // The lowest key on file, kNever if none is left. `now(slot)`: the slot's key now; `ahead(slot)`: it will be asked.
  template <class Now, class Ahead>
  double lowest(Now now, Ahead ahead) {
    if (!ordered_) {
      // The first of the lowest.
      double least = kNever;
      const double* const end = key_.data() + key_.size();
      const double* winner = key_.data();
      for (const double* k = winner; k != end; ++k)
        if (*k < least) {
          least = *k;
          winner = k;
        }
      winner_ = static_cast<std::uint32_t>(winner - key_.data());
      return least;
    }
    while (true) {
      while (!heap_.empty()) {
        if (heap_.front().key == key_[heap_.front().slot]) return heap_.front().key;
        pop();
      }
      if (!spread_ || !open_next(now, ahead)) return kNever;
    }
  }
  // Its slot. REQUIRES: lowest() was just asked and is not kNever. The same of the next two.
  [[nodiscard]] std::uint32_t winner() const { return ordered_ ? heap_.front().slot : winner_; }
  void raise_winner(double key) {
    if (!ordered_) {
      key_[winner_] = key;
      return;
    }
    const std::uint32_t slot = heap_.front().slot;
    key_[slot] = key;
    if (bits(key) < horizon_) {
      down(0, {key, slot});
    } else {
      pop();
      file({key, slot});
    }
  }
  void drop_winner() {
    if (!ordered_) {
      key_[winner_] = kNever;
      return;
    }
    key_[heap_.front().slot] = kNever;
    pop();
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  static constexpr std::size_t kFew = 40;    // keys that need no order
  static constexpr std::size_t kSmall = 64;  // entries of a heap that needs no buckets
  static constexpr int kShift = 48;          // of the bits of a key: 16 buckets to a factor of two
  static constexpr std::size_t kBuckets = 1024;
  struct Entry {
    double key;
    std::uint32_t slot;
    std::uint32_t next = kNone;  // in its bucket
    bool operator<(const Entry& o) const { return key < o.key || (key == o.key && slot < o.slot); }
  };
  static_assert(sizeof(Entry) == 16);
  // Keys that are not negative have the order of their bits.
  static std::uint64_t bits(double key) { return std::bit_cast<std::uint64_t>(key); }

  void put_in_order() {
    ordered_ = true;
    for (std::uint32_t slot = 0; slot < slots(); ++slot)
      if (key_[slot] != kNever) insert({key_[slot], slot});
  }
  void insert(const Entry& e) {
    if (bits(e.key) >= horizon_) return file(e);
    std::size_t i = heap_.size();
    heap_.push_back(e);
    while (i > 0) {
      const std::size_t parent = (i - 1) >> 2;
      if (!(e < heap_[parent])) break;
      heap_[i] = heap_[parent];
      i = parent;
    }
    heap_[i] = e;
    if (!spread_ && heap_.size() > kSmall) spread();
  }
  void file(Entry e) {
    const std::size_t b = std::min<std::size_t>(kBuckets - 1, (bits(e.key) - base_) >> kShift);
    e.next = heads_[b];
    heads_[b] = static_cast<std::uint32_t>(pool_.size());
    used_[b / 64] |= std::uint64_t{1} << (b % 64);
    pool_.push_back(e);
  }
  void spread() {
    spread_ = true;
    base_ = bits(heap_.front().key);
    horizon_ = base_ + (std::uint64_t{1} << kShift);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < heap_.size(); ++i) {
      const Entry e = heap_[i];
      if (bits(e.key) < horizon_)
        heap_[kept++] = e;
      else
        file(e);
    }
    heap_.resize(kept);
    build();
  }
  template <class Now, class Ahead>
  bool open_next(Now now, Ahead ahead) {
    std::size_t word = 0;
    while (word < used_.size() && used_[word] == 0) ++word;
    if (word == used_.size()) return false;
    const std::size_t b = word * 64 + static_cast<std::size_t>(std::countr_zero(used_[word]));
    used_[word] &= used_[word] - 1;
    horizon_ = b == kBuckets - 1 ? ~std::uint64_t{0} : base_ + (std::uint64_t{b + 1} << kShift);
    for (std::uint32_t i = heads_[b]; i != kNone; i = pool_[i].next) {
      if (pool_[i].key != key_[pool_[i].slot]) continue;
      ahead(pool_[i].slot);
      heap_.push_back(pool_[i]);
    }
    heads_[b] = kNone;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < heap_.size(); ++i) {
      Entry e = heap_[i];
      e.key = key_[e.slot] = now(e.slot);
      if (bits(e.key) < horizon_)
        heap_[kept++] = e;
      else if (e.key != kNever)
        file(e);
    }
    heap_.resize(kept);
    build();
    return true;
  }
  void build() {
    if (heap_.size() < 2) return;
    for (std::size_t i = ((heap_.size() - 2) >> 2) + 1; i-- > 0;) down(i, heap_[i]);
  }
  void down(std::size_t i, const Entry e) {
    const std::size_t n = heap_.size();
    while (true) {
      const std::size_t first = (i << 2) + 1;
      if (first >= n) break;
      std::size_t best = first;
      const std::size_t end = first + 4 < n ? first + 4 : n;
      for (std::size_t c = first + 1; c < end; ++c)
        if (heap_[c] < heap_[best]) best = c;
      if (!(heap_[best] < e)) break;
      heap_[i] = heap_[best];
      i = best;
    }
    heap_[i] = e;
  }
  void pop() {
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) down(0, last);
  }

  std::vector<double, Uninitialized<double>> key_;  // by slot; kNever: passed over
  bool ordered_ = false;                            // heap_ and all that follows are in use
  std::uint32_t winner_ = 0;                        // unless they are
  std::vector<Entry> heap_;                         // keys below horizon_
  bool spread_ = false;                             // over buckets
  std::uint64_t base_ = 0;                          // bits of the key at which bucket 0 begins
  std::uint64_t horizon_ = ~std::uint64_t{0};
  std::vector<Entry> pool_;
  std::array<std::uint32_t, kBuckets> heads_ = filled();
  std::array<std::uint64_t, kBuckets / 64> used_{};
  static constexpr std::array<std::uint32_t, kBuckets> filled() {
    std::array<std::uint32_t, kBuckets> a{};
    a.fill(kNone);
    return a;
  }
};

}  // namespace weft::congestion
