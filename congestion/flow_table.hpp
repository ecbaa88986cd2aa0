// FlowTable: which flows exist, which links they cross, and the reverse. Columns over FlowId, no rates.
//
// Invariants:
//  1. Incidence is stored both ways. flows_on(l) has one Entry per (flow, hop); each hop knows the position
//     of its entry, so removal swaps with the last entry in O(1) per hop. The order inside flows_on()
//     therefore depends on history: nothing that reaches a result may depend on it.
//  2. Routes and link lists live in two pools cut into blocks of 2^k items; a freed block goes to the free
//     list of its size, threaded through the block itself. Once the pools have grown to the peak, add() and
//     remove() allocate nothing.
//  3. Ids are dense and reused, the last freed first.
// Complexity: add and remove O(route). Memory: 8 bytes per hop in each pool, rounded up to powers of two.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/id.hpp"

namespace weft::congestion {

class FlowTable {
 public:
  // One crossing of a link: the flow, and where in the route pool that hop is.
  struct Entry {
    std::uint32_t flow;
    std::uint32_t hop;
  };
  static_assert(sizeof(Entry) == 8);

  explicit FlowTable(std::uint32_t links);

  // REQUIRES: route holds each link at most once, all < link_count(); weight finite and > 0; limit > 0, and
  // finite if the route is empty. Violations are bugs of the caller and end the program.
  std::uint32_t add(std::span<const LinkId> route, double weight, double limit);
  // REQUIRES: alive(flow).
  void remove(std::uint32_t flow);

  [[nodiscard]] std::uint32_t link_count() const { return static_cast<std::uint32_t>(lists_.size()); }
  // Ids are below rows(); not all of them alive.
  [[nodiscard]] std::uint32_t rows() const { return static_cast<std::uint32_t>(weight_.size()); }
  [[nodiscard]] std::uint32_t active() const { return active_; }
  // Flows whose weight is not 1: where there are none, sums of weights are whole numbers and exact in any
  // order.
  [[nodiscard]] std::uint32_t weighted() const { return weighted_; }
  // Flows with a finite limit.
  [[nodiscard]] std::uint32_t limited() const { return limited_; }
  [[nodiscard]] bool alive(std::uint32_t flow) const { return flow < rows() && length_[flow] != kDead; }
  [[nodiscard]] double weight(std::uint32_t flow) const { return weight_[flow]; }
  [[nodiscard]] double limit(std::uint32_t flow) const { return limit_[flow]; }
  [[nodiscard]] std::span<const LinkId> route(std::uint32_t flow) const {
    return {hop_link_.data() + offset_[flow], length_[flow]};
  }
  [[nodiscard]] std::span<const Entry> flows_on(std::uint32_t link) const {
    const List& l = lists_[link];
    return {entries_.data() + l.offset, l.size};
  }
  [[nodiscard]] std::uint32_t count_on(std::uint32_t link) const { return lists_[link].size; }

 private:
  static constexpr std::uint32_t kDead = 0xffffffffu;
  static constexpr std::uint32_t kNil = 0xffffffffu;
  static constexpr std::size_t kClasses = 32;
  struct List {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    std::uint32_t room = 0;           // entries of its block
    std::uint32_t size_class = kNil;  // block of 2^size_class entries; kNil = no block yet
  };
  std::uint32_t take_route_block(std::uint32_t size_class);
  std::uint32_t take_list_block(std::uint32_t size_class);
  void grow_list(List& list);

  // columns over flow
  std::vector<double> weight_;
  std::vector<double> limit_;
  std::vector<std::uint32_t> offset_;
  std::vector<std::uint32_t> length_;
  std::vector<std::uint32_t> free_ids_;
  // route pool
  std::vector<LinkId> hop_link_;
  std::vector<std::uint32_t> hop_position_;  // of this hop's entry in its link's list; next block when free
  // link lists
  std::vector<List> lists_;
  std::vector<Entry> entries_;
  std::array<std::uint32_t, kClasses> free_routes_;
  std::array<std::uint32_t, kClasses> free_lists_;
  std::uint32_t active_ = 0;
  std::uint32_t weighted_ = 0;
  std::uint32_t limited_ = 0;
};

}  // namespace weft::congestion
