#include "network/flow_audit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "congestion/level_groups.hpp"
#include "congestion/models.hpp"
#include "network/sharing.hpp"
#include "topology/routing/route_limit.hpp"

namespace weft::network {
namespace {

constexpr double kTolerance = 1e-9;
constexpr double kTick = 1e-18;  // s: of a time that was rounded, many times over (network/clock.hpp)

std::vector<double> with_groups(const topology::Fabric& fabric, const congestion::LinkGroups& groups) {
  std::vector<double> capacity(fabric.shared_capacity().begin(), fabric.shared_capacity().end());
  capacity.insert(capacity.end(), groups.capacity.begin(), groups.capacity.end());
  return capacity;
}

}  // namespace

void FlowFindings::tell(std::string what) {
  if (++wrong <= kMostTold) told.push_back(std::move(what));
}

FlowAudit::FlowAudit(std::string_view model, const topology::Fabric& fabric, double accuracy)
    : fabric_(fabric),
      groups_(link_groups(fabric)),
      ports_(port_shares(fabric)),
      capacity_(with_groups(fabric, groups_)),
      model_(model_name(model, fabric)),
      tolerance_(kTolerance + 2 * accuracy),
      accuracy_(accuracy),
      load_(capacity_.size()),
      highest_(capacity_.size()),
      moved_(capacity_.size()),
      counted_(capacity_.size()),
      slack_(capacity_.size()) {
  const congestion::ModelRow* row = congestion::find_model(model_);
  if (row != nullptr && row->is(congestion::kNoContention)) conditions_ = Conditions::kAlone;
  if (row != nullptr && row->is(congestion::kReadsTrees) && fabric.pcie() != nullptr)
    conditions_ = Conditions::kTrees;
  if (near_exact(model_)) tolerance_ = kTolerance + accuracy;
}

std::string FlowAudit::conditions() const {
  switch (conditions_) {
    case Conditions::kAlone:
      return "each message as fast as its route alone";
    case Conditions::kTrees:
      return "capacities, limits, and a solve without a past" +
             (accuracy_ == 0 ? std::string() : fmt::format(", to {} of a rate", accuracy_));
    case Conditions::kMaxMin:
      break;
  }
  return accuracy_ == 0 ? "max-min certificate"
                        : fmt::format("max-min certificate to {} of a rate", 2 * accuracy_);
}

void FlowAudit::started(FlowId flow, std::span<const LinkId> route, double weight, double rate_cap,
                        std::int64_t bytes, std::uint32_t owner, Instant now) {
  if (owner >= rows_.size()) rows_.resize(owner + std::size_t{1});
  Row& r = rows_[owner];
  if (r.alive) findings_.tell(fmt::format("message {} set out twice", owner));
  r.route.assign(route.begin(), route.end());
  r.links = route.size();
  groups_.append(route, r.route);
  r.weight = weight;
  r.limit = std::min(rate_cap, topology::fatpipe_limit(fabric_.links(), route));
  r.bytes = static_cast<double>(bytes);
  r.rate = r.moved = 0;
  r.updated = now;
  r.flow = flow;
  r.changes = 0;
  r.place = static_cast<std::uint32_t>(active_.size());
  r.alive = true;
  active_.push_back(owner);
  if (flow.index() >= members_.size()) members_.resize(flow.index() + std::size_t{1});
  ++members_[flow.index()];
}

std::string FlowAudit::name_of(std::uint32_t link) const {
  const std::uint32_t links = fabric_.link_count();
  if (link < links) return fabric_.link_name(LinkId(link));
  const auto one = std::find(groups_.of_link.begin(), groups_.of_link.end(), link - links);
  return fabric_.link_name(LinkId(static_cast<std::uint32_t>(one - groups_.of_link.begin()))) +
         " with the way back";
}

void FlowAudit::advance(Row& r, Instant now) {
  r.moved += r.rate * (now - r.updated).seconds();
  r.updated = now;
  ++r.changes;
}

void FlowAudit::solved(const congestion::SharingModel& model, Instant now) {
  ++findings_.solves;
  findings_.rates += active_.size();
  const congestion::LevelGroups* const groups = model.groups();
  for (const std::uint32_t owner : active_) {
    Row& r = rows_[owner];
    const double of_flow = groups != nullptr ? groups->rate(r.flow.index()) : model.rate(r.flow);
    const double rate = of_flow / members_[r.flow.index()];
    if (rate == r.rate) continue;
    advance(r, now);
    r.rate = rate;
  }
  if (conditions_ == Conditions::kAlone) return check_alone();
  check_rates();
  if (conditions_ == Conditions::kTrees) check_against_fresh();
}

void FlowAudit::check_alone() {
  for (const std::uint32_t owner : active_) {
    const Row& r = rows_[owner];
    double alone = r.limit;
    for (const LinkId l : r.route) alone = std::min(alone, capacity_[l.index()]);
    if (std::abs(r.rate - alone) > tolerance_ * alone)
      findings_.tell(fmt::format("message {} goes at {} B/s; alone it would at {}", owner, r.rate, alone));
  }
}

// What ports carry now, from the ends of all messages under way.
void FlowAudit::count_peers() {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (const std::uint32_t owner : active_) {
    const std::vector<LinkId>& route = rows_[owner].route;
    if (route.empty()) continue;
    const std::uint32_t a = ports_.host_of_link[route.front().index()],
                        b = ports_.host_of_link[route.back().index()];
    pairs.insert({a, b});
    pairs.insert({b, a});
  }
  for (std::uint32_t host = 0; host < ports_.links_of_host.size(); ++host) {
    const auto peers = std::distance(pairs.lower_bound({host, 0}), pairs.lower_bound({host + 1, 0}));
    for (const LinkId l : ports_.links_of_host[host])
      capacity_[l.index()] =
          fabric_.links().capacity[l.index()] * ports_.factor(static_cast<std::size_t>(peers));
  }
}

// Sums anew over all messages: no account of the solver is asked.
void FlowAudit::check_rates() {
  if (!ports_.empty()) count_peers();
  for (const std::uint32_t owner : active_)
    for (const LinkId l : rows_[owner].route) load_[l.index()] = highest_[l.index()] = 0;
  for (const std::uint32_t owner : active_) {
    const Row& r = rows_[owner];
    for (const LinkId l : r.route) {
      load_[l.index()] += r.rate;
      highest_[l.index()] = std::max(highest_[l.index()], r.rate / r.weight);
    }
  }
  const bool max_min = conditions_ == Conditions::kMaxMin;
  for (const std::uint32_t owner : active_) {
    const Row& r = rows_[owner];
    if (!(r.rate > 0) || r.rate > r.limit * (1 + tolerance_))
      findings_.tell(fmt::format("message {} goes at {} B/s; its limit is {}", owner, r.rate, r.limit));
    bool held = r.rate >= r.limit * (1 - tolerance_);
    for (const LinkId l : r.route) {
      const std::uint32_t i = l.index();
      if (load_[i] > capacity_[i] * (1 + tolerance_))
        findings_.tell(fmt::format("link {} carries {} B/s; it has {}", name_of(i), load_[i], capacity_[i]));
      held = held || (load_[i] >= full_at(i) && r.rate / r.weight >= highest_[i] * (1 - tolerance_));
    }
    if (max_min && !held)
      findings_.tell(
          fmt::format("message {} goes at {} B/s and could go faster: no full link holds it", owner, r.rate));
  }
}

void FlowAudit::check_against_fresh() {
  const auto made = make_model(model_, fabric_);
  WEFT_CHECK(made.has_value(), "the model that is verified exists");
  congestion::SharingModel& fresh = **made;
  std::vector<FlowId> ids;
  ids.reserve(active_.size());
  for (const std::uint32_t owner : active_)
    ids.push_back(fresh.add(std::span(rows_[owner].route).first(rows_[owner].links), rows_[owner].weight,
                            rows_[owner].limit));
  fresh.solve();
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const double rate = rows_[active_[i]].rate, other = fresh.rate(ids[i]);
    if (std::abs(rate - other) > tolerance_ * std::max(rate, other))
      findings_.tell(
          fmt::format("message {} goes at {} B/s; without a past it would at {}", active_[i], rate, other));
  }
}

void FlowAudit::finished(std::uint32_t owner, Instant now) {
  if (owner >= rows_.size() || !rows_[owner].alive) {
    findings_.tell(fmt::format("message {} ends, but is not under way", owner));
    return;
  }
  Row& r = rows_[owner];
  const double last = r.rate;
  advance(r, now);
  r.alive = false;
  rows_[active_.back()].place = r.place;
  active_[r.place] = active_.back();
  active_.pop_back();
  --members_[r.flow.index()];
  ++findings_.messages;
  const double slack = tolerance_ * r.bytes + last * kTick * (r.changes + 1),
               error = std::abs(r.moved - r.bytes);
  findings_.worst_bytes_error = std::max(findings_.worst_bytes_error, error / r.bytes);
  if (error > slack)
    findings_.tell(
        fmt::format("message {} has {} bytes; its rates moved {} until its end", owner, r.bytes, r.moved));
  for (const LinkId l : r.route) {
    moved_[l.index()] += r.moved;
    slack_[l.index()] += slack;
  }
}

void FlowAudit::counted(std::span<const LinkId> route, std::uint64_t bytes) {
  for (const LinkId l : route) counted_[l.index()] += static_cast<double>(bytes);
}

const FlowFindings& FlowAudit::close(std::span<const LinkUse> use) {
  if (!active_.empty())
    findings_.tell(fmt::format("{} messages are under way after the end", active_.size()));
  findings_.links = use.size();
  for (std::uint32_t l = 0; l < use.size(); ++l) {
    const double routed = static_cast<double>(use[l].bytes), carried = moved_[l] + counted_[l];
    if (std::abs(routed - carried) > slack_[l] + kTolerance * routed)
      findings_.tell(fmt::format("link {}: {} bytes were sent over it, rates moved {}",
                                 fabric_.link_name(LinkId(l)), routed, carried));
  }
  return findings_;
}

}  // namespace weft::network
