#include "congestion/flow_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/check.hpp"

namespace weft::congestion {
namespace {
constexpr std::uint32_t kSmallestList = 2;  // log2 of the first block of a link: 4 entries

std::uint32_t class_of(std::size_t n) {
  return n <= 1 ? 0 : static_cast<std::uint32_t>(std::bit_width(n - 1));
}
}  // namespace

FlowTable::FlowTable(std::uint32_t links) : lists_(links) {
  free_routes_.fill(kNil);
  free_lists_.fill(kNil);
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

std::uint32_t FlowTable::take_list_block(std::uint32_t size_class) {
  std::uint32_t& head = free_lists_[size_class];
  if (head != kNil) {
    const std::uint32_t block = head;
    head = entries_[block].flow;
    return block;
  }
  const std::size_t block = entries_.size();
  const std::size_t end = block + (std::size_t{1} << size_class);
  WEFT_CHECK(end < kNil, "link lists beyond 2^32 entries");
  entries_.resize(end);
  return static_cast<std::uint32_t>(block);
}

void FlowTable::grow_list(List& list) {
  const bool fresh = list.size_class == kNil;
  const std::uint32_t next = fresh ? kSmallestList : list.size_class + 1;
  const std::uint32_t block = take_list_block(next);
  if (!fresh) {
    std::copy_n(entries_.begin() + list.offset, list.size, entries_.begin() + block);
    entries_[list.offset].flow = free_lists_[list.size_class];
    free_lists_[list.size_class] = list.offset;
  }
  list.offset = block;
  list.room = 1u << next;
  list.size_class = next;
}

std::uint32_t FlowTable::add(std::span<const LinkId> route, double weight, double limit) {
  WEFT_CHECK(weight > 0 && std::isfinite(weight), fmt::format("weight of a flow is {}", weight));
  WEFT_CHECK(limit > 0 && (!route.empty() || std::isfinite(limit)),
             fmt::format("rate limit of a flow is {}", limit));
  std::uint32_t flow = 0;
  if (!free_ids_.empty()) {
    flow = free_ids_.back();
    free_ids_.pop_back();
    weight_[flow] = weight;
    limit_[flow] = limit;
  } else {
    flow = rows();
    weight_.push_back(weight);
    limit_.push_back(limit);
    offset_.push_back(0);
    length_.push_back(kDead);
    free_ids_.reserve(weight_.capacity());
  }
  const auto length = static_cast<std::uint32_t>(route.size());
  const std::uint32_t offset = take_route_block(class_of(length));
  offset_[flow] = offset;
  length_[flow] = length;
  const std::uint32_t links = link_count();
  LinkId* const hop_link = hop_link_.data() + offset;
  std::uint32_t* const hop_position = hop_position_.data() + offset;
  for (std::uint32_t i = 0; i < length; ++i) {
    const std::uint32_t link = route[i].index();
    WEFT_CHECK(link < links, fmt::format("link {} of {}", link, links));
    List& list = lists_[link];
    if (list.size == list.room) [[unlikely]]
      grow_list(list);
    hop_link[i] = route[i];
    hop_position[i] = list.size;
    entries_[list.offset + list.size++] = {flow, offset + i};
  }
  ++active_;
  weighted_ += weight != 1.0;
  limited_ += std::isfinite(limit);
  return flow;
}

void FlowTable::remove(std::uint32_t flow) {
  WEFT_CHECK(alive(flow), fmt::format("flow {} is not in the table", flow));
  const std::uint32_t offset = offset_[flow];
  const std::uint32_t length = length_[flow];
  List* const lists = lists_.data();
  Entry* const entries = entries_.data();
  const LinkId* const hop_link = hop_link_.data();
  std::uint32_t* const hop_position = hop_position_.data();
  for (std::uint32_t hop = offset; hop < offset + length; ++hop) {
    List& list = lists[hop_link[hop].index()];
    const std::uint32_t position = hop_position[hop];
    const Entry last = entries[list.offset + --list.size];
    entries[list.offset + position] = last;
    hop_position[last.hop] = position;
  }
  const std::uint32_t size_class = class_of(length);
  hop_position_[offset] = free_routes_[size_class];
  free_routes_[size_class] = offset;
  length_[flow] = kDead;
  free_ids_.push_back(flow);
  --active_;
  weighted_ -= weight_[flow] != 1.0;
  limited_ -= std::isfinite(limit_[flow]);
}

}  // namespace weft::congestion
