// FlowTable: which flows exist, which links they cross, and the reverse. Columns over FlowId, no rates.
//
// Invariants:
//  1. Incidence is stored both ways. flows_on(l) has one Entry per (flow, hop); each hop knows the position
//     of its entry, so removal swaps with the last entry in O(1) per hop. The order inside flows_on()
//     therefore depends on history: nothing that reaches a result may depend on it. Most links have one flow at most: its entry
//     stands in the row of the link, no list is made, and the hop knows no position. The row has the link's capacity, too: who goes
//     over a route asks for it there.
//  2. Routes and link lists live in two pools cut into blocks of 2^k items (lists: BlockPool); a freed block goes to
//     the free list of its size, threaded through the block itself. Once the pools have grown to the peak, add() and
//     remove() allocate nothing.
//  3. Ids are dense and reused, the last freed first. A free id keeps its block of hops: the next route is mostly as long.
// Complexity: add and remove O(route). Memory: 8 bytes per hop in each pool, rounded up to powers of two.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/containers/block_pool.hpp"
#include "core/containers/id_stack.hpp"
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
  // Of links whose capacity() is asked for.
  explicit FlowTable(std::span<const double> capacity);

  // REQUIRES: route holds each link at most once, all < link_count(); weight finite and > 0; limit > 0, and
  // finite if the route is empty. Violations are bugs of the caller and end the program.
  std::uint32_t add(std::span<const LinkId> route, double weight, double limit) {
    return add(route, weight, limit, [](std::uint32_t, std::uint32_t, std::uint32_t) {});
  }
  // The same; `crossed(hop, link, count)` hears of each link on the way, with the number of its flows, the new one the last of them:
  // who keeps columns over links goes over the route once with the table.
  template <class Crossed>
  std::uint32_t add(std::span<const LinkId> route, double weight, double limit, Crossed crossed);
  // The two halves of it: an id with its weight and limit, which is on no link and not alive; and its route. enter() or give_back() is
  // what becomes of it.
  [[nodiscard]] std::uint32_t take(std::size_t hops, double weight, double limit);
  template <class Crossed>
  void enter(std::uint32_t flow, std::span<const LinkId> route, Crossed crossed);
  void give_back(std::uint32_t flow) { free_ids_.push_back(flow); }
  // One whose links nobody else is on: these know it, but it is not alive until enter_rest(), before another comes onto one of them,
  // or it is given back after leave_alone(). `each(hop, link)` hears of each link.
  template <class Each>
  void enter_alone(std::uint32_t flow, std::span<const LinkId> route, Each each);
  void enter_rest(std::uint32_t flow, std::span<const LinkId> route);
  void leave_alone(LinkId link) { lists_[link.index()].all.size = 0; }
  // REQUIRES: alive(flow).
  void remove(std::uint32_t flow) {
    remove(flow, [](std::uint32_t, std::uint32_t) {});
  }
  // The same; `left(link, count)` hears of each link, with the number of flows that are still on it.
  template <class Left>
  void remove(std::uint32_t flow, Left left);
  // Whether the next add() makes a new row.
  [[nodiscard]] bool full() const { return free_ids_.empty(); }
  // The id that the next add() gives.
  [[nodiscard]] std::uint32_t next() const { return free_ids_.empty() ? rows() : free_ids_.back(); }

  [[nodiscard]] std::uint32_t link_count() const { return static_cast<std::uint32_t>(lists_.size()); }
  // Ids are below rows(); not all of them alive.
  [[nodiscard]] std::uint32_t rows() const { return static_cast<std::uint32_t>(weight_.size()); }
  [[nodiscard]] std::uint32_t active() const { return active_; }
  // Flows whose weight is not 1: where there are none, sums of weights are whole numbers and exact in any
  // order.
  [[nodiscard]] std::uint32_t weighted() const { return weighted_; }
  // Flows with a finite limit.
  [[nodiscard]] std::uint32_t limited() const { return limited_; }
  [[nodiscard]] bool alive(std::uint32_t flow) const { return flow < rows() && hops_[flow].length != kDead; }
  [[nodiscard]] double weight(std::uint32_t flow) const { return weight_[flow]; }
  [[nodiscard]] double limit(std::uint32_t flow) const { return limit_[flow]; }
  [[nodiscard]] std::span<const LinkId> route(std::uint32_t flow) const {
    return {hop_link_.data() + hops_[flow].offset, hops_[flow].length};
  }
  [[nodiscard]] std::span<const Entry> flows_on(std::uint32_t link) const {
    const List& l = lists_[link];
    return {l.all.size == 1 ? &l.sole : l.all.items, l.all.size};
  }
  [[nodiscard]] std::uint32_t count_on(std::uint32_t link) const { return lists_[link].all.size; }
  [[nodiscard]] double capacity(std::uint32_t link) const { return lists_[link].capacity; }
  // A hint to the processor: the row of that link is asked for soon.
  void prefetch(LinkId link) const { __builtin_prefetch(&lists_[link.index()]); }
  void set_capacity(std::uint32_t link, double capacity) { lists_[link].capacity = capacity; }

 private:
  static constexpr std::uint32_t kDead = 0xffffffffu;
  static constexpr std::uint32_t kNil = 0xffffffffu;
  static constexpr std::size_t kClasses = 32;
  // Two on a cache line: for a flow that meets nobody it is all that is touched of a link.
  struct alignas(32) List {
    BlockPool<Entry>::Array all;  // its size counts the flows; the items are of two and more
    Entry sole{};                 // of one
    double capacity = 0;
  };
  static_assert(sizeof(List) == 32);
  // Where a route is; of a free id, where the next one may be.
  struct Hops {
    std::uint32_t offset = 0;
    std::uint32_t length = kDead;
    std::uint32_t room = 0;  // hops of its block
    bool weighted = false, limited = false;
  };
  void new_row();
  void make_room(Hops& hops, std::size_t length);
  Hops& with_room(std::uint32_t flow, std::size_t length) {
    Hops& hops = hops_[flow];
    if (length > hops.room) [[unlikely]]
      make_room(hops, length);
    return hops;
  }
  void count(const Hops& hops) {
    ++active_;
    weighted_ += hops.weighted;
    limited_ += hops.limited;
  }
  void add_to_list(List& list, Entry e);
  [[noreturn]] static void refuse(std::size_t hops, double weight, double limit);
  [[noreturn]] void refuse_link(std::uint32_t link) const;
  [[noreturn]] static void refuse_flow(std::uint32_t flow);
  std::uint32_t take_route_block(std::uint32_t size_class);
  void grow(List& list);

  // columns over flow
  std::vector<double> weight_;
  std::vector<double> limit_;
  std::vector<Hops> hops_;
  IdStack free_ids_;
  // route pool
  std::vector<LinkId> hop_link_;
  std::vector<std::uint32_t> hop_position_;  // of this hop's entry in its link's list; next block when free
  // link lists
  std::vector<List> lists_;
  BlockPool<Entry> entries_;
  std::array<std::uint32_t, kClasses> free_routes_;
  std::uint32_t active_ = 0;
  std::uint32_t weighted_ = 0;
  std::uint32_t limited_ = 0;
};

template <class Crossed>
std::uint32_t FlowTable::add(std::span<const LinkId> route, double weight, double limit, Crossed crossed) {
  const std::uint32_t flow = take(route.size(), weight, limit);
  enter(flow, route, crossed);
  return flow;
}

inline std::uint32_t FlowTable::take(std::size_t hops, double weight, double limit) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool weighted = weight != 1.0, limited = limit != kInfinity;
  // Most are neither.
  if (weighted || limited || hops == 0)
    if (!(weight > 0 && weight < kInfinity && limit > 0 && (hops > 0 || limit < kInfinity))) [[unlikely]]
      refuse(hops, weight, limit);
  const std::uint32_t flow = next();
  if (full()) [[unlikely]]
    new_row();
  else
    free_ids_.pop_back();
  weight_[flow] = weight;
  limit_[flow] = limit;
  hops_[flow].weighted = weighted;
  hops_[flow].limited = limited;
  return flow;
}

template <class Crossed>
[[gnu::always_inline]] inline void FlowTable::enter(std::uint32_t flow, std::span<const LinkId> route,
                                                    Crossed crossed) {
  Hops& hops = with_room(flow, route.size());
  hops.length = static_cast<std::uint32_t>(route.size());
  const std::uint32_t offset = hops.offset, links = link_count();
  LinkId* const hop_link = hop_link_.data() + offset;
  List* const lists = lists_.data();
  for (std::uint32_t i = 0; i < route.size(); ++i) {
    const std::uint32_t link = route[i].index();
    if (link >= links) [[unlikely]]
      refuse_link(link);
    List& list = lists[link];
    hop_link[i] = route[i];
    const std::uint32_t others = list.all.size++;
    const Entry e{flow, offset + i};
    if (others == 0)
      list.sole = e;
    else
      add_to_list(list, e);
    crossed(i, link, others + 1);
  }
  count(hops);
}

// Of a list whose size counts it already.
[[gnu::always_inline]] inline void FlowTable::add_to_list(List& list, Entry e) {
  const std::uint32_t at = list.all.size - 1;
  if (at >= list.all.room) [[unlikely]]
    grow(list);
  Entry* const entries = list.all.items;
  if (at == 1) {
    entries[0] = list.sole;
    hop_position_[list.sole.hop] = 0;
  }
  entries[at] = e;
  hop_position_[e.hop] = at;
}

template <class Each>
[[gnu::always_inline]] inline void FlowTable::enter_alone(std::uint32_t flow, std::span<const LinkId> route,
                                                          Each each) {
  const std::uint32_t offset = with_room(flow, route.size()).offset;
  List* const lists = lists_.data();
  for (std::uint32_t i = 0; i < route.size(); ++i) {
    const std::uint32_t link = route[i].index();
    List& list = lists[link];
    list.all.size = 1;
    list.sole = {flow, offset + i};
    each(i, link);
  }
}

inline void FlowTable::enter_rest(std::uint32_t flow, std::span<const LinkId> route) {
  Hops& hops = hops_[flow];
  hops.length = static_cast<std::uint32_t>(route.size());
  std::copy(route.begin(), route.end(), hop_link_.data() + hops.offset);
  count(hops);
}

template <class Left>
[[gnu::always_inline]] inline void FlowTable::remove(std::uint32_t flow, Left left) {
  if (!alive(flow)) [[unlikely]]
    refuse_flow(flow);
  Hops& hops = hops_[flow];
  List* const lists = lists_.data();
  const LinkId* const hop_link = hop_link_.data();
  std::uint32_t* const hop_position = hop_position_.data();
  const std::uint32_t end = hops.offset + hops.length;
  for (std::uint32_t hop = hops.offset; hop < end; ++hop) {
    const std::uint32_t link = hop_link[hop].index();
    List& list = lists[link];
    const std::uint32_t size = --list.all.size;
    if (size > 0) {
      Entry* const entries = list.all.items;
      const std::uint32_t position = hop_position[hop];
      const Entry last = entries[size];
      entries[position] = last;
      hop_position[last.hop] = position;
      if (size == 1) list.sole = entries[0];
    }
    left(link, size);
  }
  hops.length = kDead;
  free_ids_.push_back(flow);
  --active_;
  weighted_ -= hops.weighted;
  limited_ -= hops.limited;
}

}  // namespace weft::congestion
