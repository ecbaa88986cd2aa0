// Tournament: the smallest of a fixed set of keys, where keys change often. A winner tree.
//
// Leaves are slots 0..n-1, padded with infinity to a power of two; each inner node holds the winner of its
// two children. Changing a key replays the path from its leaf to the root: log2 n comparisons, each a select
// and not a branch. A binary heap does fewer comparisons but waits for mispredicted branches; on the solver's
// loads the tournament took half the time. Of equal keys the lowest slot wins, so the order is total. No
// allocation below the largest size so far.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace weft::congestion {

class Tournament {
 public:
  // Then set() each slot once, then play().
  void resize(std::uint32_t slots) {
    size_ = std::bit_ceil(slots);
    if (key_.size() < 2 * static_cast<std::size_t>(size_)) {
      key_.resize(2 * static_cast<std::size_t>(size_));
      slot_.resize(2 * static_cast<std::size_t>(size_));
    }
    for (std::uint32_t i = slots; i < size_; ++i) set(i, std::numeric_limits<double>::infinity());
  }
  // REQUIRES: key >= 0 (not -0).
  void set(std::uint32_t slot, double key) {
    key_[size_ + slot] = std::bit_cast<std::uint64_t>(key);
    slot_[size_ + slot] = slot;
  }
  void play() {
    for (std::uint32_t i = size_ - 1; i > 0; --i) {
      const std::uint32_t winner = 2 * i + (key_[2 * i + 1] < key_[2 * i] ? 1 : 0);
      key_[i] = key_[winner];
      slot_[i] = slot_[winner];
    }
  }
  // REQUIRES: at least one slot.
  [[nodiscard]] double lowest() const { return std::bit_cast<double>(key_[1]); }
  [[nodiscard]] std::uint32_t winner() const { return slot_[1]; }
  void update(std::uint32_t slot, double key) {
    std::uint64_t now = std::bit_cast<std::uint64_t>(key);
    std::uint32_t i = size_ + slot;
    key_[i] = now;
    for (; i > 1; i >>= 1) {
      const std::uint64_t other = key_[i ^ 1];
      // A tie goes to the left child, whose slots are all lower.
      const bool beaten = other < now + (i & 1);
      now = beaten ? other : now;
      slot = beaten ? slot_[i ^ 1] : slot;
      key_[i >> 1] = now;
      slot_[i >> 1] = slot;
    }
  }

 private:
  // Keys as the bits of the doubles: those that are not negative have the same order. Two columns, so that
  // the compiler selects in registers.
  std::uint32_t size_ = 1;
  std::vector<std::uint64_t> key_;
  std::vector<std::uint32_t> slot_;
};

}  // namespace weft::congestion
