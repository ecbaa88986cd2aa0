// The trees of Open MPI's collectives (ompi/mca/coll/base/coll_base_topo.c), as one rank sees them.
//
// Ranks are relative to the root, but for in_order_binary(), whose top is the last rank. Children are in the order in
// which they are sent to or received from. O(children).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "replay/collectives/parts.hpp"

namespace weft::replay::collectives::openmpi {

class Tree {
 public:
  static constexpr std::uint32_t kMaxFan = 32;  // of chains and of the radix
  static constexpr std::uint32_t kTop = 0xffffffffu;

  [[nodiscard]] bool is_top() const { return parent_ == kTop; }
  [[nodiscard]] std::uint32_t parent() const { return parent_; }
  [[nodiscard]] std::span<const std::uint32_t> children() const { return {children_.data(), count_}; }

  // `fan` lines that hang from rank 0, the first ones one rank longer.
  static Tree chain(std::uint32_t v, std::uint32_t p, std::uint32_t fan);
  // Level by level, two below each.
  static Tree binary(std::uint32_t v, std::uint32_t p);
  // Parent: v without its highest bit. Children: nearest first.
  static Tree binomial(std::uint32_t v, std::uint32_t p);
  // Parent: v without its lowest bit, so that a subtree is a range. Children: nearest first.
  static Tree in_order_binomial(std::uint32_t v, std::uint32_t p);
  // Digits to base `radix`: parent: v without its lowest digit that is not 0. Children: farthest weight first.
  static Tree knomial(std::uint32_t v, std::uint32_t p, std::uint32_t radix);
  // Every subtree is a range of ranks whose last one is its top: of s ranks the first s / 2 are one part, the others
  // but the top the other.
  static Tree in_order_binary(std::uint32_t rank, std::uint32_t p);

 private:
  void add(std::uint32_t child) { children_[count_++] = child; }
  std::uint32_t parent_ = kTop;
  std::uint32_t count_ = 0;
  // A radix r has (r - 1) ceil(log_r p) children at most: 31 x 7 for 32 bits.
  std::array<std::uint32_t, 224> children_;
};

// The rank as its distance from the root.
[[nodiscard]] inline std::uint32_t relative_rank(const CollectiveCall& c, std::uint32_t me) {
  return Relative{c.ranks, c.root}.of(me);
}

// Elements of a segment of so many bytes, of a message of `count` elements: the nearest number, the lower one of two. All of
// them where the segment is shorter than an element (COLL_BASE_COMPUTED_SEGCOUNT).
[[nodiscard]] std::int64_t segment_elements(std::int64_t segment, std::int64_t element, std::int64_t count);
// A message in segments as the rule of its call asks; 0: one segment.
[[nodiscard]] Blocks segments_of(const CollectiveCall& c);
// Bytes in segments of `each`, a multiple of `element`. Longer ones, so that there are at most 65536.
[[nodiscard]] Blocks in_segments(std::int64_t bytes, std::int64_t each, std::int64_t element);

// The whole vector in segments down a tree: a segment goes to all children at once while the next one comes.
// `first_block`: number of the first segment.
void append_down(const Blocks& segments, Relative r, const Tree& t, RankSchedule& out);
// Up a tree: each segment is received from one child after the other, then sent on while the next one comes from the first
// child, whose receive ompi_coll_base_reduce_generic() has posted by then.
void append_up(const Blocks& segments, Relative r, const Tree& t, RankSchedule& out);

// The parts of a composed algorithm, as the rules of the call choose.
void append_chosen(const CollectiveCall& part, std::uint32_t me, RankSchedule& out);

}  // namespace weft::replay::collectives::openmpi
