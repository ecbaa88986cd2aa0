#include "congestion/pcie_model.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "congestion/models.hpp"
#include "core/check.hpp"

namespace weft::congestion {
namespace {

// Rates that differ by less than this, relatively, do not differ.
constexpr double kSame = 1e-12;
constexpr auto kNoGroups = std::numeric_limits<std::size_t>::max();

// The nearest number of 40 bits: flows in the same situation get the same rate to the bit, whatever sums it came
// from, and end at the same instant instead of one after the other.
double forty_bits(double x) {
  constexpr std::uint64_t kDropped = 13;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) + (std::uint64_t{1} << (kDropped - 1));
  return std::bit_cast<double>(bits & ~((std::uint64_t{1} << kDropped) - 1));
}

bool below(double a, double b) { return a < b * (1 - kSame); }

}  // namespace

PcieModel::PcieModel(std::span<const double> capacity, const PcieNetwork* pcie)
    : capacity_(capacity),
      pcie_link_(pcie != nullptr ? pcie->pcie_link
                                 : std::vector<PcieLink>(capacity.size(), PcieNetwork::kFabric)),
      table_(static_cast<std::uint32_t>(capacity.size())),
      arbiter_(pcie != nullptr ? pcie->tree : PcieTree{}),
      seen_(capacity.size(), 0),
      dirty_stamp_(capacity.size(), 0),
      room_(capacity.size(), 0) {
  WEFT_CHECK(pcie_link_.size() == capacity.size(), "a PCIe network of another fabric");
  link_of_.resize(2 * static_cast<std::size_t>(arbiter_.tree().nodes()));
  for (std::uint32_t l = 0; l < pcie_link_.size(); ++l)
    if (pcie_link_[l] != PcieNetwork::kFabric) link_of_[pcie_link_[l]] = LinkId(l);
}

FlowId PcieModel::add(std::span<const LinkId> route, double flow_weight, double rate_cap) {
  const std::uint32_t flow = table_.add(route, flow_weight, rate_cap);
  if (flow == rate_.size()) {
    parts_.emplace_back();
    rate_.push_back(0);
    solved_.push_back(0);
    bottleneck_.emplace_back();
    member_.push_back(0);
  }
  rate_[flow] = 0;
  bottleneck_[flow] = LinkId();
  member_[flow] = 0;
  Parts& p = parts_[flow];
  p = Parts();
  p.own = rate_cap;
  path_.clear();
  route_.clear();
  for (const LinkId l : route) {
    const PcieLink pcie = pcie_link_[l.index()];
    if (pcie == PcieNetwork::kFabric) {
      route_.push_back(l);
      continue;
    }
    if (path_.empty()) p.own = std::min(p.own, capacity_[l.index()]);
    path_.push_back(pcie);
  }
  if (!path_.empty()) p.pcie = arbiter_.add(path_, p.own);
  p.fabric = !route_.empty();
  p.kind = kind_of(route, flow_weight, rate_cap);
  added_.push_back(flow);
  return FlowId(flow);
}

void PcieModel::remove(FlowId id) {
  const std::uint32_t flow = id.index();
  WEFT_CHECK(table_.alive(flow), "removal of no flow");
  for (const LinkId l : table_.route(flow)) {
    if (dirty_stamp_[l.index()] == solve_) continue;
    dirty_stamp_[l.index()] = solve_;
    dirty_.push_back(l.index());
  }
  if (parts_[flow].pcie != kNone) arbiter_.remove(parts_[flow].pcie);
  for (Stage& s : stages_)
    if (flow < s.id.size() && s.id[flow].valid()) s.shares.remove(std::exchange(s.id[flow], FlowId()));
  table_.remove(flow);
}

std::span<const FlowId> PcieModel::solve() {
  changed_.clear();
  moved_.clear();
  if (added_.empty() && dirty_.empty()) return {};
  ++stats_.solves;
  const auto from = [&](std::uint32_t flow) {
    if (!table_.alive(flow) || member_[flow] == solve_) return;
    flows_.clear();
    links_.clear();
    collect(flow);
    close_component();
    name_component();
    if (look_up()) return;
    solve_component();
    commit();
    remember();
  };
  for (const std::uint32_t flow : added_) from(flow);
  for (const std::uint32_t link : dirty_)
    if (table_.count_on(link) > 0) from(table_.flows_on(link)[0].flow);
  added_.clear();
  dirty_.clear();
  ++solve_;
  WEFT_CHECK(solve_ != 0, "more than 2^32 solves by one model");
  std::sort(changed_.begin(), changed_.end());
  return changed_;
}

void PcieModel::collect(std::uint32_t flow) {
  if (member_[flow] == solve_) return;
  member_[flow] = solve_;
  flows_.push_back(flow);
}

void PcieModel::close_component() {
  for (std::size_t i = 0; i < flows_.size(); ++i)
    for (const LinkId l : table_.route(flows_[i])) {
      if (seen_[l.index()] == solve_) continue;
      seen_[l.index()] = solve_;
      links_.push_back(l.index());
      for (const FlowTable::Entry e : table_.flows_on(l.index())) collect(e.flow);
    }
  // By class, so that the sums of a solve do not depend on who came first.
  std::sort(flows_.begin(), flows_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return parts_[a].kind != parts_[b].kind ? parts_[a].kind < parts_[b].kind : a < b;
  });
  stats_.links_touched += links_.size();
  stats_.max_component = std::max(stats_.max_component, static_cast<std::uint32_t>(flows_.size()));
}

void PcieModel::solve_component() {
  pcie_flows_.clear();
  active_.clear();
  for (const std::uint32_t f : flows_) {
    parts_[f].allowed = parts_[f].own;
    parts_[f].aside = false;
    if (parts_[f].pcie == kNone) continue;
    pcie_flows_.push_back(f);
    active_.push_back(parts_[f].pcie);
  }
  limiter_.assign(pcie_flows_.size(), LinkId());
  filled_ = false;
  solve_fabric(0);
  if (pcie_uncontended()) {
    ++ways_.max_min;
    return;
  }
  for (const std::uint32_t f : pcie_flows_) take_back(f);
  arbiter_.choose(active_);
  arbitrate();
  solve_fabric(1);
  const bool fits = std::none_of(pcie_flows_.begin(), pcie_flows_.end(),
                                 [&](std::uint32_t f) { return below(parts_[f].share, parts_[f].allowed); });
  if (fits) {
    ++ways_.factors;
    return;
  }
  meet();
}

bool PcieModel::pcie_uncontended() {
  for (const std::uint32_t l : links_) {
    if (pcie_link_[l] == PcieNetwork::kFabric) continue;
    double sum = 0;
    for (const FlowTable::Entry e : table_.flows_on(l)) sum += parts_[e.flow].share;
    if (sum > capacity_[l] * (1 + kSame)) return false;
  }
  return true;
}

// Back into arbitration.
void PcieModel::take_back(std::uint32_t flow) {
  Parts& p = parts_[flow];
  p.aside = false;
  arbiter_.set_fixed(p.pcie, false);
  arbiter_.set_ceiling(p.pcie, p.own);
}

void PcieModel::arbitrate() {
  const std::span<const double> a = arbiter_.solve();
  for (std::size_t i = 0; i < pcie_flows_.size(); ++i) {
    Parts& p = parts_[pcie_flows_[i]];
    if (p.aside) continue;
    p.allowed = a[i];
    const PcieLink limiter = arbiter_.limiter()[i];
    limiter_[i] = limiter == PcieArbiter::kNone ? LinkId() : link_of_[limiter];
  }
}

void PcieModel::limit_fabric(Stage& stage, std::uint32_t flow, double limit) {
  FlowId& id = stage.id[flow];
  if (id.valid() && stage.limit[flow] == limit) return;
  if (id.valid()) stage.shares.remove(id);
  route_.clear();
  for (const LinkId l : table_.route(flow))
    if (pcie_link_[l.index()] == PcieNetwork::kFabric) route_.push_back(l);
  id = stage.shares.add(route_, weight(flow), limit);
  stage.limit[flow] = limit;
}

// M under the limits `allowed`. Not by groups, however many flows: limits of many change at a time.
void PcieModel::solve_fabric(std::size_t stage) {
  stage_ = std::min(stage, kMaxStages - 1);
  while (stages_.size() <= stage_)
    stages_.push_back({MaxMin(capacity_, MaxMin::Scope::kLocal, kNoGroups), {}, {}});
  Stage& s = stages_[stage_];
  s.id.resize(parts_.size());
  s.limit.resize(parts_.size());
  for (const std::uint32_t f : flows_)
    if (parts_[f].fabric) limit_fabric(s, f, parts_[f].allowed);
  (void)s.shares.solve();
  stats_.flows_solved += flows_.size();  // once a round
  for (const std::uint32_t f : flows_) {
    Parts& p = parts_[f];
    p.share = p.fabric ? s.shares.rate(s.id[f]) : p.allowed;
  }
}

// Step 3. Here every flow is in arbitration and `share` is M under what arbitration allows.
void PcieModel::meet() {
  aside_at_.resize(pcie_flows_.size());  // what those set aside are fixed at
  states_.clear();
  for (int round = 0; round < kMaxRounds; ++round) {
    ++ways_.rounds;
    bool same = true;
    back_.clear();
    for (std::size_t i = 0; i < pcie_flows_.size(); ++i) {
      const std::uint32_t f = pcie_flows_[i];
      const Parts& p = parts_[f];
      if (!p.aside) continue;
      if (!below(p.share, p.allowed) || below(aside_at_[i], p.share)) back_.push_back(f);
    }
    for (std::size_t k = back_.size(); k > 0; --k)
      for (const LinkId l : table_.route(back_[k - 1])) {
        if (pcie_link_[l.index()] == PcieNetwork::kFabric) continue;
        for (const FlowTable::Entry e : table_.flows_on(l.index()))
          if (parts_[e.flow].aside) back_.push_back(e.flow);
      }
    for (const std::uint32_t f : back_) {
      if (!parts_[f].aside) continue;
      take_back(f);
      parts_[f].share = parts_[f].allowed;  // not to be set aside again before it was arbitrated
      same = false;
    }
    for (std::size_t i = 0; i < pcie_flows_.size(); ++i) {
      Parts& p = parts_[pcie_flows_[i]];
      if (!below(p.share, p.allowed)) continue;
      if (p.aside && !below(p.share, aside_at_[i])) continue;
      p.aside = true;
      aside_at_[i] = p.share;
      arbiter_.set_ceiling(p.pcie, p.share);
      arbiter_.set_fixed(p.pcie, true);
      same = false;
    }
    if (same) {
      ++ways_.rounds_met;
      return;
    }
    if (seen_state()) break;
    arbitrate();
    solve_fabric(2 + static_cast<std::size_t>(round));
  }
  ++ways_.filled_up;
  fill_up();
}

// What the next round depends on. Rounds that come to a state a second time go round for ever.
bool PcieModel::seen_state() {
  std::uint64_t state = 0;
  const auto mix = [&](double x) {
    state = (state ^ std::bit_cast<std::uint64_t>(forty_bits(x))) * 0x9e3779b97f4a7c15u;
    state ^= state >> 29;
  };
  for (std::size_t i = 0; i < pcie_flows_.size(); ++i) {
    const Parts& p = parts_[pcie_flows_[i]];
    if (!p.aside) continue;
    mix(static_cast<double>(i + 1));
    mix(aside_at_[i]);
    mix(p.allowed);
  }
  // Like the one just before: it creeps by what is rounded here, and may end yet.
  const bool seen =
      !states_.empty() && std::find(states_.begin(), states_.end() - 1, state) != states_.end() - 1;
  states_.push_back(state);
  return seen;
}

// Step 4.
void PcieModel::fill_up() {
  filled_ = true;
  for (const std::uint32_t f : pcie_flows_) take_back(f);
  arbitrate();
  solve_fabric(1);
  for (const std::uint32_t l : links_) {
    room_[l] = capacity_[l];
    for (const FlowTable::Entry e : table_.flows_on(l)) room_[l] -= parts_[e.flow].share;
  }
  rising_.clear();
  for (const std::uint32_t f : flows_) {
    const Parts& p = parts_[f];
    rising_.push_back({f, std::max(0.0, p.own - p.share)});
  }
  fill();
}

// Rising flows share what is left in room_ as MaxMin shares capacities; their rates there come on top of `share`. A link
// without room stops whoever crosses it where it is. Made anew each time: this is rare.
void PcieModel::fill() {
  const auto full = [&](LinkId l) { return room_[l.index()] <= kSame * capacity_[l.index()]; };
  std::vector<double> room(capacity_.begin(), capacity_.end());
  for (const std::uint32_t l : links_)
    if (!full(LinkId(l))) room[l] = room_[l];
  MaxMin rest(room, MaxMin::Scope::kComponent);
  std::vector<std::pair<std::uint32_t, FlowId>> added;
  for (const Rising& r : rising_) {
    const std::span<const LinkId> route = table_.route(r.flow);
    if (r.limit <= 0 || std::any_of(route.begin(), route.end(), full)) continue;
    added.emplace_back(r.flow, rest.add(route, weight(r.flow), r.limit));
  }
  (void)rest.solve();
  for (const auto& [flow, id] : added) parts_[flow].share += rest.rate(id);
}

std::uint32_t PcieModel::kind_of(std::span<const LinkId> route, double flow_weight, double limit) {
  kind_key_.clear();
  const auto append = [&](const auto& x) { kind_key_.append(reinterpret_cast<const char*>(&x), sizeof x); };
  append(flow_weight);
  append(limit);
  for (const LinkId l : route) append(l);
  const auto known = kinds_.find(kind_key_);
  if (known != kinds_.end()) return known->second;
  if (kinds_.size() >= kMaxClasses) return kNone;
  const auto kind = static_cast<std::uint32_t>(kinds_.size());
  kinds_.emplace(kind_key_, kind);
  return kind;
}

void PcieModel::name_component() {
  component_.clear();
  if (parts_[flows_.back()].kind == kNone) return;
  for (const std::uint32_t f : flows_)
    component_.append(reinterpret_cast<const char*>(&parts_[f].kind), sizeof(std::uint32_t));
}

bool PcieModel::look_up() {
  if (component_.empty()) return false;
  const auto at = known_.find(component_);
  if (at == known_.end()) return false;
  ++ways_.looked_up;
  const Known& k = at->second;
  for (std::size_t i = 0; i < flows_.size(); ++i) set_rate(flows_[i], k.rate[i], k.held[i]);
  return true;
}

void PcieModel::remember() {
  if (component_.empty() || flows_.size() > kMaxKnown) return;
  if (known_flows_ + flows_.size() > kMaxKnown) {
    known_.clear();
    known_flows_ = 0;
  }
  known_flows_ += flows_.size();
  Known& k = known_[component_];
  for (const std::uint32_t f : flows_) {
    k.rate.push_back(solved_[f]);
    k.held.push_back(bottleneck_[f]);
  }
}

void PcieModel::set_rate(std::uint32_t flow, double solved, LinkId held) {
  const bool moved = bottleneck_[flow] != held;
  bottleneck_[flow] = held;
  solved_[flow] = solved;
  if (std::abs(solved - rate_[flow]) <= accuracy_ * solved) {
    if (moved) moved_.emplace_back(flow);
    return;
  }
  rate_[flow] = solved;
  changed_.emplace_back(flow);
}

void PcieModel::commit() {
  std::size_t i = 0;
  const Stage& s = stages_[stage_];
  for (const std::uint32_t f : flows_) {
    const Parts& p = parts_[f];
    const bool pcie = p.pcie != kNone;
    LinkId held;
    if (p.fabric && below(p.share, p.allowed)) held = s.shares.bottleneck(s.id[f]);
    if (!p.fabric || !below(p.share, p.allowed)) {
      if (pcie) held = limiter_[i];
      if (!pcie && p.fabric) held = s.shares.bottleneck(s.id[f]);
      if (pcie && !held.valid() && p.share < table_.limit(f) * (1 - kSame)) held = first_pcie_link(f);
    }
    if (filled_) held = fullest(f);  // nobody's account is up to date
    i += pcie ? 1 : 0;
    const bool whole = p.share == p.own || pcie_flows_.empty();
    set_rate(f, whole ? p.share : std::min(p.own, forty_bits(p.share)), held);
  }
}

LinkId PcieModel::first_pcie_link(std::uint32_t flow) const {
  for (const LinkId l : table_.route(flow))
    if (pcie_link_[l.index()] != PcieNetwork::kFabric) return l;
  return {};
}

LinkId PcieModel::fullest(std::uint32_t flow) const {
  LinkId best;
  double most = 0;
  for (const LinkId l : table_.route(flow)) {
    double load = 0;
    for (const FlowTable::Entry e : table_.flows_on(l.index())) load += parts_[e.flow].share;
    load /= capacity_[l.index()];
    if (load > most * (1 + kSame)) {
      most = load;
      best = l;
    }
  }
  return best;
}

std::unique_ptr<SharingModel> make_pcie(std::span<const double> capacity, const PcieNetwork* pcie) {
  return std::make_unique<PcieModel>(capacity, pcie);
}

}  // namespace weft::congestion
