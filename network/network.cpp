#include "network/network.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "congestion/level_groups.hpp"
#include "core/check.hpp"
#include "network/flow_audit.hpp"
#include "network/network_steps.hpp"

namespace weft::network {

Network::Network(std::span<const double> capacity, std::unique_ptr<congestion::SharingModel> model)
    : capacity_(capacity),
      model_(std::move(model)),
      max_min_(dynamic_cast<congestion::MaxMin*>(model_.get())),
      links_(capacity.size()),
      may_bundle_(model_->weight_counts_flows()) {
  model_->report_groups(true);
  if (max_min_ != nullptr) max_min_->rate_lone_flows();
}

void Network::watch(FlowWatcher* watcher) {
  WEFT_CHECK(started_ == 0, "a watcher that has missed flows");
  watcher_ = watcher;
  may_bundle_ = false;
  model_->report_groups(false);
}

void Network::audit(FlowAudit* audit) {
  WEFT_CHECK(started_ == 0, "an audit that has missed flows");
  audit_ = audit;
}

double Network::narrowest(std::span<const LinkId> route) const {
  double c = std::numeric_limits<double>::infinity();
  for (LinkId l : route) c = std::min(c, capacity_[l.index()]);
  return c;
}

void Network::count_bytes(std::span<const LinkId> route, std::uint64_t bytes) {
  total_bytes_ = add_bytes(total_bytes_, bytes);
  for (LinkId l : route) links_[l.index()].bytes += bytes;
  if (audit_ != nullptr) audit_->counted(route, bytes);
}

// Whether it pays to look for others of its kind. Flows that together do not take half of any link, as they have limits of
// their own, do not slow each other soon.
inline bool Network::crowded(std::span<const LinkId> route, double rate_cap) const {
  const std::uint32_t enough = route.size() == 1 ? Bundles::kCrowdedLink : Bundles::kCrowded;
  bool filling = false;
  for (const LinkId l : route) {
    const std::uint32_t flows = links_[l.index()].flows;
    if (flows < enough) return false;
    filling = filling || 2 * rate_cap * flows > capacity_[l.index()];
  }
  return filling;
}

void Network::new_rows(std::uint32_t flow) {
  flows_.resize(flow + std::size_t{1});
  completions_.grow(flows_.size());
}

std::uint32_t Network::bundle_for(std::span<const LinkId> route, double weight, double rate_cap, double alone,
                                  Instant now) {
  Bundles::Kind& k = bundles_.kind(Bundles::kind_of(route, weight, rate_cap));
  if (k.bundle == Bundles::kNone) {
    k.bundle = bundles_.open();
    Bundle& b = bundles_[k.bundle];
    b.flow = model_->add(route, weight, rate_cap);
    b.weight = weight;
    b.limit = rate_cap;
    b.served = b.rate = 0;
    b.updated = now;
    b.changed = false;
    b.kind = k.key;
    const std::uint32_t flow = b.flow.index();
    if (flow >= bundle_of_.size()) bundle_of_.resize(flow + 1, Bundles::kNone);
    bundle_of_[flow] = k.bundle;
    if (flow >= flows_.size()) new_rows(flow);
    flows_[flow] = {};
    flows_[flow].owner = kBundled;
    flows_[flow].inverse_alone = 1.0 / alone;
    if (grouped_) accounts_.set_order(flow, started_);
    return k.bundle;
  }
  Bundle& b = bundles_[k.bundle];
  if (b.weight != weight || b.limit != rate_cap || !std::ranges::equal(model_->route(b.flow), route))
    return Bundles::kNone;  // another kind of the same hash
  advance(b, now);
  change(k.bundle);
  return k.bundle;
}

// What the members of a bundle got and lost since it was last looked at.
void Network::advance(Bundle& b, Instant now) {
  if (grouped_) {
    // Who asks changes the bundle, so it joins a group anew.
    b.updated = now;
    if (accounts_.group_of(b.flow.index()) == GroupAccounts::kNone) return;
    b.served = b.members.front().end - leave_group(b.flow.index(), now) * b.weight;
    return;
  }
  const double seconds = (now - b.updated).seconds() * static_cast<double>(b.members.size());
  book(flows_[b.flow.index()], seconds, b.rate * seconds);
  b.advance(now);
}

// The members of a bundle are not what the model knows.
void Network::change(std::uint32_t bundle) {
  if (std::exchange(bundles_[bundle].changed, true)) return;
  reweighed_.push_back(bundle);
}

// Tells the model how many members each changed bundle has now. Ids are given out again last freed first, so a bundle
// keeps its own.
void Network::weigh_bundles(Instant now, std::uint64_t& sequence) {
  for (const std::uint32_t i : reweighed_) {
    Bundle& b = bundles_[i];
    const auto members = static_cast<std::uint32_t>(b.members.size());
    advance(b, now);
    const std::span<const LinkId> route = model_->route(b.flow);
    route_.assign(route.begin(), route.end());
    model_->remove(b.flow);
    if (members == 0) {
      bundles_.kind(b.kind).bundle = Bundles::kNone;
      bundles_.close(i);
      continue;
    }
    const FlowId again = model_->add(route_, b.weight * members, b.limit * members);
    WEFT_CHECK(again == b.flow, "a model gave another id than the one just freed");
    b.changed = false;
    if (max_min_ == nullptr || !max_min_->lone(again)) continue;
    // All others of its links are gone, so the model has rated it.
    go_at(again, max_min_->lone_rate(again), max_min_->lone_bottleneck(again), now, sequence);
    completions_.find_first();
  }
  reweighed_.clear();
}

void Network::go_bundled(FlowId id, double rate, LinkId held_by, Instant now, std::uint64_t& sequence) {
  Bundle& b = *bundle_of(id);
  advance(b, now);
  b.rate = rate / static_cast<double>(b.members.size());
  hold(flows_[id.index()], b.rate, held_by);
  const double left = std::max(0.0, b.members.front().end - b.served);
  completions_.put(id, now + Elapsed::of_seconds(left / b.rate), sequence++);
}

std::uint32_t Network::finish_member(FlowId id, Instant now) {
  const std::uint32_t bundle = bundle_of_[id.index()];
  Bundle& b = bundles_[bundle];
  advance(b, now);
  b.served = std::max(b.served, b.members.front().end);
  change(bundle);
  dirty_ = true;
  return b.pop();
}

// Apart, so that start() is short where nobody else is on the first link.
[[gnu::noinline]] FlowId Network::join_bundle(std::span<const LinkId> route, double weight, double rate_cap,
                                              double alone, std::int64_t bytes, std::uint32_t owner,
                                              Instant now) {
  if (!crowded(route, rate_cap)) return {};
  const std::uint32_t bundle = bundle_for(route, weight, rate_cap, alone, now);
  if (bundle == Bundles::kNone) return {};
  const FlowId flow = bundles_[bundle].flow;
  bundles_[bundle].join(static_cast<double>(bytes), started_++, owner);
  count(bytes);
  dirty_ = true;
  for (const LinkId l : route) carry(l, bytes, now);
  if (audit_ != nullptr) audit_->started(flow, route, weight, rate_cap, bytes, owner, now);
  return flow;
}

// Many are to go on at other rates, and the rows of few of them are near: tells the processor of those that are next but a
// few, and returns how far to go until it is to be told again.
[[gnu::noinline]] const FlowId* Network::hint_at(const FlowId* next, const FlowId* last) const {
  const FlowId* const end = next + kHintAhead;
  const auto so_far = [&](std::size_t n) { return std::min(end + n, last); };
  for (const FlowId* f = so_far(kHintAhead); f != so_far(2 * kHintAhead); ++f) {
    __builtin_prefetch(&flows_[f->index()]);
    completions_.prefetch(*f, false);
  }
  for (const FlowId* f = end; f != so_far(kHintAhead); ++f) completions_.prefetch(*f, true);
  return end;
}

template <class Model>
[[gnu::always_inline]] inline void Network::share_out(Model& model, Instant now, std::uint64_t& sequence) {
  if (!reweighed_.empty()) weigh_bundles(now, sequence);
  dirty_ = false;
  const std::span<const FlowId> changed = model.solve();
  if (const congestion::LevelGroups* const groups = model.groups(); groups != nullptr)
    return settle_groups(*groups, changed, now, sequence);
  if (grouped_) leave_groups(now);
  const std::span<const double> rates = model.rates();
  const std::span<const LinkId> bottlenecks = model.bottlenecks();
  const FlowId* const last = changed.data() + changed.size();
  for (const FlowId* next = changed.data(); next != last;) {
    const FlowId* const end = static_cast<std::size_t>(last - next) > kHintAhead ? hint_at(next, last) : last;
    for (; next != end; ++next) go_at(*next, rates[next->index()], bottlenecks[next->index()], now, sequence);
  }
  if (watcher_ != nullptr) [[unlikely]]
    for (const FlowId id : changed) tell_watcher(id, bottlenecks[id.index()]);
  completions_.find_first();
  // Same rate, another link: what was lost so far is the old one's. It is taken off the new one's account, on which the
  // whole time since `updated` will be booked: neither the rest of the flow nor its end is touched by rounding.
  for (FlowId id : model.moved()) {
    Flow& f = flows_[id.index()];
    if (Bundle* const b = bundle_of(id); b != nullptr) {
      advance(*b, now);
      hold(f, b->rate, bottlenecks[id.index()]);
      continue;
    }
    const double seconds = (now - f.updated).seconds();
    const double bytes = f.rate * seconds;
    book(f, seconds, bytes);
    hold(f, f.rate, bottlenecks[id.index()]);
    book(f, -seconds, -bytes);
    if (watcher_ != nullptr) watcher_->rate_changed(f.owner, now, f.rate, bottlenecks[id.index()]);
  }
}

void Network::tell_watcher(FlowId id, LinkId held_by) {
  const Flow& f = flows_[id.index()];
  watcher_->rate_changed(f.owner, f.updated, f.rate, held_by);
}

void Network::settle(Instant now, std::uint64_t& sequence) {
  if (max_min_ != nullptr)
    share_out(*max_min_, now, sequence);
  else
    share_out(*model_, now, sequence);
  if (audit_ != nullptr) audit_->solved(*model_, now);
}

std::uint32_t Network::next_owner() const {
  FlowId id = completions_.top().flow;
  if (grouped_) id = FlowId(accounts_.next(id.index()));
  if (const Bundle* const b = bundle_of(id); b != nullptr) return b->members.front().owner;
  return flows_[id.index()].owner;
}

FlowId Network::start(std::span<const LinkId> route, double weight, double rate_cap, double alone,
                      std::int64_t bytes, std::uint32_t owner, Instant now, std::uint64_t& sequence,
                      std::array<std::uint32_t, 2> ranks) {
  return start_here(route, weight, rate_cap, alone, bytes, owner, now, sequence, ranks);
}

std::uint32_t Network::finish_top(Instant now) { return finish_here(now); }

std::uint32_t Network::finish_bundled(FlowId id, Instant now) {
  const Bundle& b = *bundle_of(id);
  for (const LinkId l : model_->route(id)) uncarry(l, now);
  const std::uint32_t owner = finish_member(id, now);
  if (b.members.empty() || b.members.front().end > b.served)
    completions_.pop();  // else the next ends now, too
  return owner;
}

std::vector<LinkUse> Network::link_use(Instant end) const {
  std::vector<LinkUse> use;
  use.reserve(links_.size());
  for (const Link& k : links_)
    use.push_back({k.bytes, (k.busy + (k.flows > 0 ? end - k.since : kNoTime)).rounded(), k.peak,
                   Elapsed::of_seconds(std::max(0.0, k.waited)).rounded_sum()});
  return use;
}

}  // namespace weft::network
