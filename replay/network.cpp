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

FlowId Network::start(std::span<const LinkId> route, double weight, double rate_cap, std::int64_t bytes,
                      std::uint32_t owner, Instant now, std::array<std::uint32_t, 2> ranks) {
  const FlowId f = model_->add(route, weight, rate_cap);
  if (f.index() >= flows_.size()) flows_.resize(f.index() + 1);
  flows_[f.index()] = {static_cast<double>(bytes), 0.0, now, owner, ranks, {}};
  for (std::size_t i = 0; i < std::min<std::size_t>(route.size(), 4); ++i)
    flows_[f.index()].links[i] = route[i].index();
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
  for (FlowId id : changed) {
    Flow& f = flows_[id.index()];
    f.remaining = std::max(0.0, f.remaining - f.rate * (now - f.updated).seconds());
    f.rate = rates[id.index()];
    f.updated = now;
    completions_.set(id, now + Elapsed::of_seconds(f.remaining / f.rate), sequence++);
  }
}

std::uint32_t Network::finish_top(Instant now) {
  const FlowId id = completions_.top().flow;
  completions_.pop();
  for (LinkId l : model_->route(id)) {
    Link& k = links_[l.index()];
    if (--k.flows == 0) k.busy += now - k.since;
  }
  model_->remove(id);
  dirty_ = true;
  return flows_[id.index()].owner;
}

std::vector<LinkUse> Network::link_use(Instant end) const {
  std::vector<LinkUse> use;
  use.reserve(links_.size());
  for (const Link& k : links_)
    use.push_back({k.bytes, (k.busy + (k.flows > 0 ? end - k.since : kNoTime)).rounded(), k.peak});
  return use;
}

}  // namespace weft::replay
