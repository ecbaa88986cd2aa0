// MaxMin: how a flow comes and goes, for who knows that the model is one and calls this for each message: add() and remove() as
// part of the caller.
#pragma once

#include "congestion/max_min.hpp"

namespace weft::congestion {

inline void MaxMin::mark_dirty(std::uint32_t link) {
  if (link_[link].dirty == solve_) return;
  link_[link].dirty = solve_;
  dirty_.push_back(link);
}

[[gnu::always_inline]] inline bool MaxMin::would_be_lone(std::span<const LinkId> route) const {
  if (!lone_flows_ || route.size() - 1 >= Flow().link.size()) return false;  // nor over no link
  std::uint32_t flows = 0;
  for (const LinkId id : route) flows |= table_.count_on(id.index());
  return flows == 0;
}

template <class Each>
[[gnu::always_inline]] inline void MaxMin::begin_lone(std::uint32_t flow, std::span<const LinkId> route,
                                                      double limit, Each each) {
  Flow& f = flow_[flow];
  f.lone = 1;
  Alone alone{limit, kNone};
  table_.enter_alone(flow, route, [&](std::uint32_t hop, std::uint32_t link) {
    f.link[hop] = LinkId(link);
    alone.cross(table_.capacity(link), link);
    each(LinkId(link));
  });
  f.bottleneck = alone.bottleneck;
  f.rate = alone.rate;
}

[[gnu::always_inline]] inline std::uint32_t MaxMin::new_flow(std::span<const LinkId> route, double weight,
                                                             double limit) {
  if (table_.full()) [[unlikely]]
    new_row();
  const std::uint32_t flow = table_.take(route.size(), weight, limit);
  if (weight != 1.0 && weight_.empty()) [[unlikely]]
    weight_.resize(link_.size());
  member_[flow] = 0;
  flow_[flow].hops = static_cast<std::uint32_t>(route.size()) & 0x7fffffffu;
  return flow;
}

template <class Each>
[[gnu::always_inline]] inline FlowId MaxMin::add_lone(std::span<const LinkId> route, double weight,
                                                      double rate_cap, Each each) {
  const std::uint32_t flow = new_flow(route, weight, rate_cap);
  begin_lone(flow, route, rate_cap, each);
  return FlowId(flow);
}

template <class Each>
[[gnu::always_inline]] inline FlowId MaxMin::add_to_others(std::span<const LinkId> route, double weight,
                                                           double rate_cap, Each each) {
  if (lone_flows_) end_lone_on(route);
  const std::uint32_t flow = new_flow(route, weight, rate_cap);
  Flow& f = flow_[flow];
  rate_[flow] = f.rate = 0;
  bottleneck_[flow] = LinkId();
  f.bottleneck = kNone;
  table_.enter(flow, route, [&](std::uint32_t hop, std::uint32_t link, std::uint32_t count) {
    if (hop < f.link.size()) f.link[hop] = LinkId(link);
    // What is free on a link that one flow has to itself is not kept up to date: nobody asks.
    if (count == 2) {
      Link& l = link_[link];
      l.free = l.quanta(table_.capacity(link)) - l.quanta(rate_[table_.flows_on(link)[0].flow]);
    }
    each(LinkId(link));
  });
  added_.push_back(flow);
  return FlowId(flow);
}

template <class Each>
[[gnu::always_inline]] inline void MaxMin::remove_lone(FlowId id, Each each) {
  const std::uint32_t flow = id.index();
  Flow& f = flow_[flow];
  f.lone = 0;
  for (std::size_t hop = 0; hop < f.hops; ++hop) {
    table_.leave_alone(f.link[hop]);
    each(f.link[hop]);
  }
  table_.give_back(flow);
}

template <class Each>
[[gnu::always_inline]] inline void MaxMin::remove_from_others(FlowId id, Each each) {
  const std::uint32_t flow = id.index();
  if (!table_.alive(flow)) [[unlikely]]
    refuse(id);
  if (groups_) [[unlikely]] {
    for (const LinkId link : table_.route(flow)) each(link);
    return remove_from_groups(flow);
  }
  const double rate = rate_[flow];
  const std::uint32_t bottleneck = bottleneck_[flow].index();
  if (bottleneck != kNone) --link_[bottleneck].bound;
  table_.remove(flow, [&](std::uint32_t link, std::uint32_t count) {
    each(LinkId(link));
    if (count == 0) return;
    Link& l = link_[link];
    if (count > 1) l.give(l.quanta(rate));
    // In the local scope only the flows that the link held back can tell that it has room again.
    if (scope_ == Scope::kComponent || l.bound > 0) mark_dirty(link);
  });
}

}  // namespace weft::congestion
