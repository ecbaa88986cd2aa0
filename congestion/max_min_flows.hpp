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

// What lone flows are on the route are none from now on. True: nobody is on it, so its flow can be lone.
[[gnu::always_inline]] inline bool MaxMin::meet(std::span<const LinkId> route) {
  std::uint32_t flows = 0;
  for (const LinkId id : route) flows |= link_[id.index()].count;
  if (flows != 0) {
    end_lone_on(route);
    return false;
  }
  return !route.empty() && route.size() <= Flow().link.size() && !groups_;
}

[[gnu::always_inline]] inline void MaxMin::enter_table(std::uint32_t flow, std::span<const LinkId> route) {
  Flow& f = flow_[flow];
  table_.enter(flow, route,
               [&](std::uint32_t hop, std::uint32_t link, std::span<const FlowTable::Entry> flows) {
                 if (hop < f.link.size()) f.link[hop] = LinkId(link);
                 Link& l = link_[link];
                 l.count = static_cast<std::uint32_t>(flows.size());
                 l.place = 0;
                 // What is free on a link that one flow has to itself is not kept up to date: nobody asks.
                 if (l.count == 2) l.free = l.quanta(capacity_[link]) - l.quanta(rate_[flows[0].flow]);
               });
}

[[gnu::always_inline]] inline void MaxMin::begin_lone(std::uint32_t flow, std::span<const LinkId> route,
                                                      double limit) {
  Flow& f = flow_[flow];
  f.lone = 1;
  for (std::size_t hop = 0; hop < route.size(); ++hop) {
    const std::uint32_t link = route[hop].index();
    f.link[hop] = LinkId(link);
    Link& l = link_[link];
    l.count = 1;
    l.place = Link::kLone;
    l.outside = flow;
  }
  const Alone alone = alone_on(route, limit);
  f.bottleneck = alone.bottleneck;
  bottleneck_[flow] = LinkId(alone.bottleneck);
  rate_[flow] = f.rate = alone.rate;
}

[[gnu::always_inline]] inline FlowId MaxMin::add_here(std::span<const LinkId> route, double weight,
                                                      double rate_cap) {
  const bool lone = lone_flows_ && meet(route);
  const std::uint32_t flow = table_.take(route.size(), weight, rate_cap);
  if (flow == flow_.size()) [[unlikely]]
    new_row();
  if (weight != 1.0 && weight_.empty()) [[unlikely]]
    weight_.resize(link_.size());
  member_[flow] = 0;
  Flow& f = flow_[flow];
  f.hops = static_cast<std::uint32_t>(route.size()) & 0x7fffffffu;
  if (lone) {
    begin_lone(flow, route, rate_cap);
    return FlowId(flow);
  }
  rate_[flow] = f.rate = 0;
  bottleneck_[flow] = LinkId();
  f.bottleneck = kNone;
  enter_table(flow, route);
  added_.push_back(flow);
  return FlowId(flow);
}

inline void MaxMin::remove_lone(std::uint32_t flow) {
  flow_[flow].lone = 0;
  for (const LinkId id : route_of(flow)) {
    Link& l = link_[id.index()];
    l.count = 0;
    l.place = 0;
  }
  table_.give_back(flow);
}

[[gnu::always_inline]] inline void MaxMin::remove_here(FlowId id) {
  const std::uint32_t flow = id.index();
  if (flow < flow_.size() && flow_[flow].lone) return remove_lone(flow);
  if (!table_.alive(flow)) [[unlikely]]
    refuse(id);
  if (groups_) [[unlikely]]
    return remove_from_groups(flow);
  const double rate = rate_[flow];
  const std::uint32_t bottleneck = bottleneck_[flow].index();
  if (bottleneck != kNone) --link_[bottleneck].bound;
  table_.remove(flow, [&](std::uint32_t link, std::uint32_t count) {
    Link& l = link_[link];
    l.count = count;
    l.give(l.quanta(rate));
    // In the local scope only the flows that the link held back can tell that it has room again.
    if (scope_ == Scope::kComponent || l.bound > 0) mark_dirty(link);
  });
}

}  // namespace weft::congestion
