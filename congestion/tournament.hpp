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
    if (nodes_.size() < 2 * static_cast<std::size_t>(size_)) nodes_.resize(2 * static_cast<std::size_t>(size_));
    for (std::uint32_t i = slots; i < size_; ++i) set(i, std::numeric_limits<double>::infinity());
  }
  // REQUIRES: key >= 0 (not -0).
  void set(std::uint32_t slot, double key) { nodes_[size_ + slot] = make(slot, key); }
  void play() {
    for (std::uint32_t i = size_ - 1; i > 0; --i) nodes_[i] = lower(nodes_[2 * i], nodes_[2 * i + 1]);
  }
  // REQUIRES: at least one slot.
  [[nodiscard]] double lowest() const { return std::bit_cast<double>(nodes_[1].key); }
  [[nodiscard]] std::uint32_t winner() const { return static_cast<std::uint32_t>(nodes_[1].slot); }
  void update(std::uint32_t slot, double key) {
    Node now = make(slot, key);
    std::uint32_t i = size_ + slot;
    nodes_[i] = now;
    for (; i > 1; i >>= 1) {
      now = lower(now, nodes_[i ^ 1]);
      nodes_[i >> 1] = now;
    }
  }

 private:
  // Doubles that are not negative are ordered as their bits, so (key, slot) is compared as one wide integer.
  struct Node {
    std::uint64_t key;
    std::uint64_t slot;
  };
  static Node make(std::uint32_t slot, double key) { return {std::bit_cast<std::uint64_t>(key), slot}; }
  static Node lower(Node a, Node b) {
    using Wide = unsigned __int128;
    const bool first = ((Wide{a.key} << 64) | a.slot) < ((Wide{b.key} << 64) | b.slot);
    const std::uint64_t mask = -static_cast<std::uint64_t>(first);
    return {b.key ^ ((a.key ^ b.key) & mask), b.slot ^ ((a.slot ^ b.slot) & mask)};
  }

  std::uint32_t size_ = 1;
  std::vector<Node> nodes_;
};

}  // namespace weft::congestion
