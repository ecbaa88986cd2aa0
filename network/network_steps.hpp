// Network: how a flow starts and ends, for the loop that does so for each message: start() and finish_top() as part of the
// caller.
#pragma once

#include <algorithm>
#include <utility>

#include "congestion/max_min_flows.hpp"
#include "network/flow_audit.hpp"
#include "network/network.hpp"

namespace weft::network {

// From now on, held back by that link. completions_.find_first() is due.
[[gnu::always_inline]] inline void Network::go_at(FlowId id, double rate, LinkId held_by, Instant now,
                                                  std::uint64_t& sequence) {
  Flow& f = flows_[id.index()];
  if (f.owner == kBundled) [[unlikely]]
    return go_bundled(id, rate, held_by, now, sequence);
  if (f.rate > 0) {  // else it is new
    const double seconds = (now - f.updated).seconds();
    const double bytes = f.rate * seconds;
    book(f, seconds, bytes);
    f.remaining = std::max(0.0, f.remaining - bytes);
  }
  f.rate = rate;
  hold(f, rate, held_by);
  f.updated = now;
  completions_.put(id, now + Elapsed::of_seconds(f.remaining / rate), sequence++);
}

// The row of a flow that comes.
[[gnu::always_inline]] inline void Network::enter(FlowId id, std::span<const LinkId> route, double alone,
                                                  std::int64_t bytes, std::uint32_t owner, Instant now,
                                                  std::array<std::uint32_t, 2> ranks) {
  if (id.index() >= flows_.size()) [[unlikely]]
    new_rows(id.index());
  Flow& flow = flows_[id.index()];
  flow.remaining = static_cast<double>(bytes);
  flow.rate = 0;
  flow.updated = now;
  flow.inverse_alone = 1.0 / alone;
  flow.held_by = LinkId();
  flow.owner = owner;
  flow.ranks = ranks;
  for (std::size_t i = 0; i < std::min(route.size(), flow.links.size()); ++i)
    flow.links[i] = route[i].index();
  if (grouped_) [[unlikely]]
    accounts_.set_order(id.index(), started_);
  ++started_;
  count(bytes);
}

[[gnu::always_inline]] inline FlowId Network::start_here(std::span<const LinkId> route, double weight,
                                                         double rate_cap, double alone, std::int64_t bytes,
                                                         std::uint32_t owner, Instant now,
                                                         std::uint64_t& sequence,
                                                         std::array<std::uint32_t, 2> ranks) {
  FlowId f;
  if (max_min_ != nullptr && max_min_->would_be_lone(route)) {
    // Its links to itself: the model has rated it as it came.
    f = max_min_->add_lone(route, weight, rate_cap, [&](LinkId link) { carry_lone(link, bytes, now); });
    enter(f, route, alone, bytes, owner, now, ranks);
    go_at(f, max_min_->lone_rate(f), max_min_->lone_bottleneck(f), now, sequence);
    completions_.find_first();
    if (watcher_ != nullptr) [[unlikely]]
      tell_watcher(f, max_min_->lone_bottleneck(f));
    if (audit_ == nullptr) return f;
  } else {
    if (may_bundle_ && !route.empty() && links_[route[0].index()].flows >= Bundles::kCrowdedLink)
      if (const FlowId joined = join_bundle(route, weight, rate_cap, alone, bytes, owner, now);
          joined.valid())
        return joined;
    const auto on_link = [&](LinkId link) { carry(link, bytes, now); };
    if (max_min_ != nullptr) {
      f = max_min_->add_to_others(route, weight, rate_cap, on_link);
    } else {
      f = model_->add(route, weight, rate_cap);
      for (const LinkId link : route) on_link(link);
    }
    enter(f, route, alone, bytes, owner, now, ranks);
    dirty_ = true;
    if (audit_ == nullptr) return f;
  }
  dirty_ = true;  // an audit sees that nothing is to be solved, too
  audit_->started(f, route, weight, rate_cap, bytes, owner, now);
  return f;
}

namespace detail {
// Whether the flow is gone with that: it was lone.
template <class Each>
[[gnu::always_inline]] inline bool remove_lone(congestion::MaxMin& model, FlowId flow, Each each) {
  if (!model.lone(flow)) return false;
  model.remove_lone(flow, each);
  return true;
}
template <class Each>
bool remove_lone(congestion::SharingModel& /*model*/, FlowId /*flow*/, Each /*each*/) {
  return false;
}
template <class Each>
[[gnu::always_inline]] inline void remove_from(congestion::MaxMin& model, FlowId flow, Each each) {
  model.remove_from_others(flow, each);
}
template <class Each>
void remove_from(congestion::SharingModel& model, FlowId flow, Each each) {
  for (const LinkId link : model.route(flow)) each(link);
  model.remove(flow);
}
}  // namespace detail

template <class Model>
[[gnu::always_inline]] inline std::uint32_t Network::end_top(Model& model, Instant now) {
  const FlowId id = completions_.top().flow;
  const Flow& f = flows_[id.index()];
  last_held_by_ = f.held_by;
  if (f.owner == kBundled) [[unlikely]]
    return finish_bundled(id, now);
  completions_.pop();
  // One that is lone lost nothing, and its end changes nothing.
  if (detail::remove_lone(model, id, [&](LinkId link) { uncarry_lone(link, now); })) {
    if (audit_ != nullptr) dirty_ = true;
    return f.owner;
  }
  book(f, (now - f.updated).seconds(), f.remaining);
  detail::remove_from(model, id, [&](LinkId link) { uncarry(link, now); });
  if (model.to_solve() || audit_ != nullptr) dirty_ = true;
  return f.owner;
}

[[gnu::always_inline]] inline std::uint32_t Network::finish_here(Instant now) {
  const std::uint32_t owner = grouped_              ? finish_in_group(now)
                              : max_min_ != nullptr ? end_top(*max_min_, now)
                                                    : end_top(*model_, now);
  if (audit_ != nullptr) audit_->finished(owner, now);
  return owner;
}

}  // namespace weft::network
