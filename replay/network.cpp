#include "replay/network.hpp"

#include <algorithm>
#include <limits>

namespace weft::replay {

Network::Network(const topology::Fabric& fabric, std::unique_ptr<congestion::SharingModel> model)
    : capacity_(fabric.links().capacity), model_(std::move(model)), links_(fabric.link_count()) {}

double Network::narrowest(std::span<const LinkId> route) const {
  double c = std::numeric_limits<double>::infinity();
  for (LinkId l : route) c = std::min(c, capacity_[l.index()]);
  return c;
}

void Network::count_bytes(std::span<const LinkId> route, std::uint64_t bytes) {
  for (LinkId l : route) links_[l.index()].bytes += bytes;
}

FlowId Network::start(std::span<const LinkId> route, double weight, double rate_cap, double alone,
                      std::int64_t bytes, std::uint32_t owner, Instant now,
                      std::array<std::uint32_t, 2> ranks) {
  const FlowId f = model_->add(route, weight, rate_cap);
  if (f.index() >= flows_.size()) flows_.resize(f.index() + 1);
  Flow& flow = flows_[f.index()];
  flow = {static_cast<double>(bytes), 0.0, now, 1.0 / alone, LinkId(), owner, ranks, {}};
  for (std::size_t i = 0; i < std::min(route.size(), flow.links.size()); ++i)
    flow.links[i] = route[i].index();
  for (LinkId l : route) {
    Link& k = links_[l.index()];
    k.bytes += static_cast<std::uint64_t>(bytes);
    if (k.flows++ == 0) k.since = now;
    k.peak = std::max(k.peak, k.flows);
  }
  ++started_;
  dirty_ = true;
  return f;
}

void Network::settle(Instant now, std::uint64_t& sequence) {
  dirty_ = false;
  const std::span<const FlowId> changed = model_->solve();
  const std::span<const double> rates = model_->rates();
  const std::span<const LinkId> bottlenecks = model_->bottlenecks();
  for (FlowId id : changed) {
    Flow& f = flows_[id.index()];
    const double seconds = (now - f.updated).seconds();
    const double bytes = f.rate * seconds;
    book(f, seconds, bytes);
    f.remaining = std::max(0.0, f.remaining - bytes);
    f.rate = rates[id.index()];
    f.held_by = bottlenecks[id.index()];
    f.updated = now;
    completions_.set(id, now + Elapsed::of_seconds(f.remaining / f.rate), sequence++);
  }
  // Same rate, another link: what was lost so far is the old one's. It is taken off the new one's account, on which the
  // whole time since `updated` will be booked: neither the rest of the flow nor its end is touched by rounding.
  for (FlowId id : model_->moved()) {
    Flow& f = flows_[id.index()];
    const double seconds = (now - f.updated).seconds();
    const double bytes = f.rate * seconds;
    book(f, seconds, bytes);
    f.held_by = bottlenecks[id.index()];
    book(f, -seconds, -bytes);
  }
}

std::uint32_t Network::finish_top(Instant now) {
  const FlowId id = completions_.top().flow;
  completions_.pop();
  const Flow& f = flows_[id.index()];
  book(f, (now - f.updated).seconds(), f.remaining);
  for (LinkId l : model_->route(id)) {
    Link& k = links_[l.index()];
    if (--k.flows == 0) k.busy += now - k.since;
  }
  model_->remove(id);
  dirty_ = true;
  return f.owner;
}

std::vector<LinkUse> Network::link_use(Instant end) const {
  std::vector<LinkUse> use;
  use.reserve(links_.size());
  for (const Link& k : links_)
    use.push_back({k.bytes, (k.busy + (k.flows > 0 ? end - k.since : kNoTime)).rounded(), k.peak,
                   Elapsed::of_seconds(std::max(0.0, k.waited)).rounded()});
  return use;
}

}  // namespace weft::replay
