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
  f.held_by = held_by;
  f.updated = now;
  completions_.put(id, now + Elapsed::of_seconds(f.remaining / rate), sequence++);
  if (watcher_ != nullptr) watcher_->rate_changed(f.owner, now, rate, held_by);
}

// Whether the model has rated a flow when it was added, as it has its links to itself: then it goes.
[[gnu::always_inline]] inline bool Network::goes_alone(FlowId id, Instant now, std::uint64_t& sequence) {
  if (max_min_ == nullptr || !max_min_->lone(id)) return false;
  go_at(id, max_min_->rate(id), max_min_->bottleneck(id), now, sequence);
  completions_.find_first();
  return true;
}

[[gnu::always_inline]] inline FlowId Network::start_here(std::span<const LinkId> route, double weight,
                                                         double rate_cap, double alone, std::int64_t bytes,
                                                         std::uint32_t owner, Instant now,
                                                         std::uint64_t& sequence,
                                                         std::array<std::uint32_t, 2> ranks) {
  if (may_bundle_ && !route.empty() && links_[route[0].index()].flows >= Bundles::kCrowdedLink)
    if (const FlowId joined = join_bundle(route, weight, rate_cap, alone, bytes, owner, now); joined.valid())
      return joined;
  const FlowId f = max_min_ != nullptr ? max_min_->add_here(route, weight, rate_cap)
                                       : model_->add(route, weight, rate_cap);
  if (f.index() >= flows_.size()) [[unlikely]]
    new_rows(f.index());
  Flow& flow = flows_[f.index()];
  flow.remaining = static_cast<double>(bytes);
  flow.rate = 0;
  flow.updated = now;
  flow.inverse_alone = 1.0 / alone;
  flow.held_by = LinkId();
  flow.owner = owner;
  flow.ranks = ranks;
  for (std::size_t i = 0; i < std::min(route.size(), flow.links.size()); ++i)
    flow.links[i] = route[i].index();
  carry(route, bytes, now);
  if (grouped_) accounts_.set_order(f.index(), started_);
  ++started_;
  if (!goes_alone(f, now, sequence) || audit_ != nullptr)
    dirty_ = true;  // an audit sees that nothing is to be solved, too
  if (audit_ != nullptr) audit_->started(f, route, weight, rate_cap, bytes, owner, now);
  return f;
}

namespace detail {
[[gnu::always_inline]] inline void remove_from(congestion::MaxMin& model, FlowId flow) {
  model.remove_here(flow);
}
inline void remove_from(congestion::SharingModel& model, FlowId flow) { model.remove(flow); }
}  // namespace detail

template <class Model>
[[gnu::always_inline]] inline std::uint32_t Network::end_top(Model& model, Instant now) {
  const FlowId id = completions_.top().flow;
  uncarry(model.route(id), now);
  last_held_by_ = flows_[id.index()].held_by;
  if (flows_[id.index()].owner == kBundled) [[unlikely]]
    return finish_bundled(id, now);
  completions_.pop();
  const Flow& f = flows_[id.index()];
  book(f, (now - f.updated).seconds(), f.remaining);
  detail::remove_from(model, id);
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
