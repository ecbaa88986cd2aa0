#include "congestion/flow_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/check.hpp"

namespace weft::congestion {
namespace {
constexpr std::uint32_t kFirstList = 4;  // entries of the first block of a link

std::uint32_t class_of(std::size_t n) {
  return n <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1));
}
}  // namespace

FlowTable::FlowTable(std::uint32_t links) : lists_(links) { free_routes_.fill(kNil); }

FlowTable::FlowTable(std::span<const double> capacity)
    : FlowTable(static_cast<std::uint32_t>(capacity.size())) {
  for (std::size_t l = 0; l < capacity.size(); ++l) lists_[l].capacity = capacity[l];
}

std::uint32_t FlowTable::take_route_block(std::uint32_t size_class) {
  std::uint32_t& head = free_routes_[size_class];
  if (head != kNil) {
    const std::uint32_t block = head;
    head = hop_position_[block];
    return block;
  }
  const std::size_t block = hop_link_.size();
  const std::size_t end = block + (std::size_t{1} << size_class);
  WEFT_CHECK(end < kNil, "route pool beyond 2^32 hops");
  hop_link_.resize(end);
  hop_position_.resize(end);
  return static_cast<std::uint32_t>(block);
}

// Room for one more than its size counted before.
void FlowTable::grow(List& list) {
  const std::uint32_t size = list.all.size;
  list.all.size = list.all.room;  // what stands there
  entries_.grow(list.all, kFirstList);
  list.all.size = size;
}

void FlowTable::new_row() {
  weight_.push_back(0);
  limit_.push_back(0);
  hops_.emplace_back();
  free_ids_.reserve(weight_.capacity());
}

void FlowTable::make_room(Hops& hops, std::size_t length) {
  const std::uint32_t size_class = class_of(length);
  if (hops.room > 0) {
    const std::uint32_t old = class_of(hops.room);
    hop_position_[hops.offset] = free_routes_[old];
    free_routes_[old] = hops.offset;
  }
  hops.offset = take_route_block(size_class);
  hops.room = 1u << size_class;
}

void FlowTable::refuse(std::size_t hops, double weight, double limit) {
  WEFT_CHECK(weight > 0 && std::isfinite(weight), fmt::format("weight of a flow is {}", weight));
  WEFT_CHECK(limit > 0, fmt::format("rate limit of a flow is {}", limit));
  check_failed(__FILE__, __LINE__, "a route or a finite limit",
               fmt::format("rate limit of a flow over {} links is {}", hops, limit));
}

void FlowTable::refuse_link(std::uint32_t link) const {
  check_failed(__FILE__, __LINE__, "link < link_count()", fmt::format("link {} of {}", link, link_count()));
}

void FlowTable::refuse_flow(std::uint32_t flow) {
  check_failed(__FILE__, __LINE__, "alive(flow)", fmt::format("flow {} is not in the table", flow));
}

}  // namespace weft::congestion
