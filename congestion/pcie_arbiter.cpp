#include "congestion/pcie_arbiter.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace weft::congestion {
namespace {

// Sums of a few factors are right to some 1e-15; what differs by less than this does not differ.
constexpr double kTolerance = 1e-12;
// A crossing group is served at least this part of a port that it shares with one other.
constexpr double kLeastServed = 1e-3;
// Ports of so many groups are what was measured.
constexpr std::size_t kMeasuredGroups = 2;

bool exceeds(double sum, double capacity) { return sum > capacity * (1 + kTolerance); }

bool is_down(PcieLink link) { return (link & 1) != 0; }

}  // namespace

PcieArbiter::PcieArbiter(PcieTree tree) : tree_(std::move(tree)) {
  const std::uint32_t n = tree_.nodes();
  WEFT_CHECK(tree_.up_capacity.size() == n && tree_.down_capacity.size() == n &&
                 tree_.root_complex.size() == n && tree_.never_crosses.size() == n && tree_.tau.size() == n &&
                 (tree_.gate.empty() || tree_.gate.size() == n),
             "columns of a PCIe tree differ in length");
  std::vector<std::uint32_t> depth(n, PcieTree::kNoParent);
  for (std::uint32_t v = 0; v < n; ++v) {
    WEFT_CHECK(tree_.tau[v] >= 0 && std::isfinite(tree_.tau[v]), "tau of a PCIe node below 0 or not finite");
    std::uint32_t steps = 0;
    for (std::uint32_t u = v; tree_.parent[u] != PcieTree::kNoParent; u = tree_.parent[u]) {
      WEFT_CHECK(tree_.parent[u] < n && ++steps <= n, "the parents of a PCIe tree form no tree");
    }
    depth[v] = steps;
    if (steps == 0) continue;
    WEFT_CHECK(tree_.up_capacity[v] > 0 && tree_.down_capacity[v] > 0, "PCIe link without capacity");
  }
  std::vector<std::uint8_t> to_gate(n, 0);  // a gate climbs by the node's link
  for (std::uint32_t v = 0; v < tree_.gate.size(); ++v)
    for (std::uint32_t u = v; tree_.gate[v] != 0 && u != PcieTree::kNoParent; u = tree_.parent[u])
      to_gate[u] = 1;
  std::vector<PcieLink> order;
  order.reserve(2 * static_cast<std::size_t>(n));
  for (std::uint32_t v = 0; v < n; ++v) {
    order.push_back(pcie_up(v));
    order.push_back(pcie_down(v));
  }
  std::sort(order.begin(), order.end(), [&](PcieLink a, PcieLink b) {
    if (is_down(a) != is_down(b)) return is_down(b);
    if (to_gate[a / 2] != to_gate[b / 2]) return (to_gate[a / 2] != 0) == is_down(a);
    if (depth[a / 2] != depth[b / 2]) return (depth[a / 2] < depth[b / 2]) == is_down(a);
    return a < b;
  });
  rank_.resize(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) rank_[order[i]] = i;
  slot_.resize(order.size());
  seen_.resize(order.size());
  full_.resize(order.size());
  group_of_.resize(order.size() + 1);
  group_seen_.resize(order.size() + 1);
}

std::uint32_t PcieArbiter::take_id(double ceiling) {
  WEFT_CHECK(ceiling > 0, "the ceiling of a communication is not above 0");
  std::uint32_t id;
  if (free_ids_.empty()) {
    id = static_cast<std::uint32_t>(communications_.size());
    communications_.emplace_back();
  } else {
    id = free_ids_.back();
    free_ids_.pop_back();
  }
  communications_[id].ceiling = ceiling;
  communications_[id].fixed = false;
  communications_[id].hops.clear();
  return id;
}

std::uint32_t PcieArbiter::add(std::uint32_t src, std::uint32_t dst, double ceiling) {
  WEFT_CHECK(src < tree_.nodes() && dst < tree_.nodes(), "a communication ends at an unknown PCIe node");
  const std::uint32_t id = take_id(ceiling);
  auto depth = [&](std::uint32_t v) {
    std::uint32_t d = 0;
    for (; tree_.parent[v] != PcieTree::kNoParent; v = tree_.parent[v]) ++d;
    return d;
  };
  std::vector<Hop>& hops = communications_[id].hops;
  std::uint32_t a = src;
  std::uint32_t b = dst;
  std::uint32_t da = depth(a);
  std::uint32_t db = depth(b);
  for (; da > db; --da, a = tree_.parent[a]) hops.push_back({pcie_up(a), kNone, false});
  std::size_t descents = 0;
  for (; db > da; --db, b = tree_.parent[b]) ++descents;
  for (; a != b; a = tree_.parent[a], b = tree_.parent[b], ++descents) {
    WEFT_CHECK(tree_.parent[a] != PcieTree::kNoParent, "a communication between two PCIe trees");
    hops.push_back({pcie_up(a), kNone, false});
  }
  const std::size_t climbs = hops.size();
  hops.resize(climbs + descents);
  b = dst;
  for (std::size_t i = climbs + descents; i > climbs; --i, b = tree_.parent[b]) {
    hops[i - 1] = {pcie_down(b), kNone, false};
  }
  mark_parts(communications_[id]);
  return id;
}

std::uint32_t PcieArbiter::add(std::span<const PcieLink> path, double ceiling) {
  const std::uint32_t id = take_id(ceiling);
  for (PcieLink link : path) {
    WEFT_CHECK(link < rank_.size() && tree_.parent[link / 2] != PcieTree::kNoParent,
               "a communication crosses an unknown PCIe link");
    communications_[id].hops.push_back({link, kNone, false});
  }
  mark_parts(communications_[id]);
  return id;
}

// Finds the parts of a path, checks that each is connected, and notes its entry ports and whether it crosses.
void PcieArbiter::mark_parts(Communication& c) {
  std::size_t begin = 0;
  while (begin < c.hops.size()) {
    std::size_t turn = begin;
    while (turn < c.hops.size() && !is_down(c.hops[turn].link)) ++turn;
    std::size_t end = turn;
    while (end < c.hops.size() && is_down(c.hops[end].link)) ++end;
    for (std::size_t i = begin + 1; i < turn; ++i) {
      WEFT_CHECK(tree_.parent[c.hops[i - 1].link / 2] == c.hops[i].link / 2, "a PCIe path that jumps");
    }
    for (std::size_t i = turn + 1; i < end; ++i) {
      WEFT_CHECK(tree_.parent[c.hops[i].link / 2] == c.hops[i - 1].link / 2, "a PCIe path that jumps");
    }
    bool crosses = false;
    if (turn > begin && end > turn) {
      const std::uint32_t top = tree_.parent[c.hops[turn].link / 2];
      WEFT_CHECK(tree_.parent[c.hops[turn - 1].link / 2] == top, "a PCIe path that jumps");
      crosses = tree_.root_complex[top] != 0 && tree_.never_crosses[c.hops[begin].link / 2] == 0 &&
                tree_.never_crosses[c.hops[end - 1].link / 2] == 0;
    }
    for (std::size_t i = begin; i < end; ++i) {
      c.hops[i].crosses = crosses;
      c.hops[i].port = i >= turn && i > begin ? c.hops[i - 1].link : kNone;
    }
    begin = end;
  }
}

void PcieArbiter::remove(std::uint32_t id) {
  WEFT_CHECK(id < communications_.size() && communications_[id].ceiling > 0, "removal of no communication");
  communications_[id].ceiling = 0;
  free_ids_.push_back(id);
}

void PcieArbiter::set_ceiling(std::uint32_t id, double ceiling) {
  WEFT_CHECK(id < communications_.size() && communications_[id].ceiling > 0, "ceiling of no communication");
  WEFT_CHECK(ceiling > 0, "the ceiling of a communication is not above 0");
  communications_[id].ceiling = ceiling;
}

void PcieArbiter::set_fixed(std::uint32_t id, bool fixed) {
  WEFT_CHECK(id < communications_.size() && communications_[id].ceiling > 0, "fixing of no communication");
  communications_[id].fixed = fixed;
}

void PcieArbiter::choose(std::span<const std::uint32_t> active) {
  active_ = active;
  if (++stamp_ == 0) {
    std::fill(seen_.begin(), seen_.end(), 0);
    stamp_ = 1;
  }
  states_.clear();
  std::size_t total = 0;
  for (std::uint32_t id : active) {
    WEFT_DCHECK(id < communications_.size() && communications_[id].ceiling > 0, "no such communication");
    for (const Hop& hop : communications_[id].hops) {
      if (seen_[hop.link] != stamp_) {
        seen_[hop.link] = stamp_;
        slot_[hop.link] = 0;
        states_.push_back({hop.link, 0, false});
      }
      ++slot_[hop.link];
      ++total;
    }
  }
  for (LinkState& s : states_) s.members = slot_[s.link];
  std::sort(states_.begin(), states_.end(),
            [&](const LinkState& a, const LinkState& b) { return rank_[a.link] < rank_[b.link]; });
  start_.resize(states_.size() + 1);
  first_down_ = states_.size();
  std::uint32_t at = 0;
  for (std::uint32_t i = 0; i < states_.size(); ++i) {
    if (first_down_ == states_.size() && is_down(states_[i].link)) first_down_ = i;
    start_[i] = at;
    slot_[states_[i].link] = at;
    at += states_[i].members;
  }
  start_[states_.size()] = at;
  members_.resize(total);
  share_.resize(total);
  for (std::uint32_t i = 0; i < active.size(); ++i) {
    for (const Hop& hop : communications_[active[i]].hops) {
      members_[slot_[hop.link]++] = {i, hop.port, hop.crosses};
    }
  }
}

std::uint32_t PcieArbiter::find(std::vector<std::uint32_t>& sets, std::uint32_t position) {
  while (sets[position] != position) {
    sets[position] = sets[sets[position]];
    position = sets[position];
  }
  return position;
}

// Step A.
void PcieArbiter::upstream() {
  any_arbitrated_ = false;
  for (std::size_t at = 0; at < first_down_; ++at) {
    LinkState& link = states_[at];
    const double capacity = tree_.up_capacity[link.link / 2];
    double sum = 0;
    double fixed = 0;
    std::uint32_t first = kNone;
    for (const Member& m : members(at)) {
      (fixed_[m.position] != 0 ? fixed : sum) += rho_[m.position];
      if (first == kNone && fixed_[m.position] == 0) first = find(bundle_, m.position);
    }
    if (first == kNone || !exceeds(sum + fixed, capacity)) continue;
    const double room = std::max(capacity - fixed, 0.0);
    any_arbitrated_ = true;
    link.short_of_capacity = true;
    for (std::uint32_t i = start_[at]; i < start_[at + 1]; ++i) {
      const std::uint32_t p = members_[i].position;
      if (fixed_[p] != 0) continue;
      rho_[p] = rho_[p] * room / sum;
      share_[i] = rho_[p];
      up_limiter_[p] = link.link;
      bundled_[p] = 1;
      bundle_[find(bundle_, p)] = first;
    }
  }
  // One sweep is enough within a tree: a slower upper link slows by one factor all that come up to it.
  for (std::size_t at = first_down_; any_arbitrated_ && at-- > 0;) {
    if (!states_[at].short_of_capacity) continue;
    double f = std::numeric_limits<double>::infinity();
    PcieLink why = kNone;
    for (std::uint32_t i = start_[at]; i < start_[at + 1]; ++i) {
      if (fixed_[members_[i].position] != 0) continue;
      const double ratio = rho_[members_[i].position] / share_[i];
      if (ratio < f) {
        f = ratio;
        why = up_limiter_[members_[i].position];
      }
    }
    for (std::uint32_t i = start_[at]; i < start_[at + 1]; ++i) {
      const std::uint32_t p = members_[i].position;
      if (fixed_[p] != 0 || !exceeds(rho_[p], share_[i] * f)) continue;
      rho_[p] = share_[i] * f;
      up_limiter_[p] = why;
    }
  }
}

// Weighted max-min of `room` over groups_ with weights, demands and floors; sets the rates.
void PcieArbiter::share(double room) {
  for (Group& g : groups_) {
    g.rate = 0;
    g.open = g.demand > 0;
  }
  fill_link(groups_, room);
  // Who would fall below its floor has that; the others share the rest, which may push more of them down.
  for (bool more = true; more;) {
    more = false;
    for (Group& g : groups_) {
      if (g.pinned || !exceeds(g.floor, g.rate)) continue;
      g.pinned = more = true;
    }
    if (!more) return;
    double rest = room;
    for (Group& g : groups_) {
      g.open = !g.pinned && g.demand > 0;
      g.rate = g.pinned ? g.floor : 0;
      if (g.pinned) rest -= g.floor;
    }
    fill_link(groups_, std::max(rest, 0.0));
  }
}

// Step B at one link that is asked for more than it has.
void PcieArbiter::contend(std::size_t at, double capacity) {
  const PcieLink link = states_[at].link;
  ++group_stamp_;
  if (group_stamp_ == 0) {
    std::fill(group_seen_.begin(), group_seen_.end(), 0);
    group_stamp_ = 1;
  }
  groups_.clear();
  auto index_of = [&](const Member& m) {
    const std::size_t port = port_index(m);
    if (group_seen_[port] != group_stamp_) {
      group_seen_[port] = group_stamp_;
      group_of_[port] = static_cast<std::uint32_t>(groups_.size());
      groups_.push_back({});
    }
    return group_of_[port];
  };
  double taken = 0;
  for (const Member& m : members(at)) {
    Group& g = groups_[index_of(m)];
    const double rho = rho_[m.position];
    g.crosses = g.crosses || m.crosses;
    if (frozen_[m.position] == 0) {
      g.demand += rho;
      g.floor += releasing_ ? back_pressure_[m.position] : 0;
    } else {
      (fixed_[m.position] != 0 ? g.fixed : g.frozen) += rho;
      taken += rho;
    }
  }
  const auto n = static_cast<double>(groups_.size());
  double x = 0;
  for (const Group& g : groups_) x += g.crosses ? 1 : 0;
  const double crossing = std::max(0.5 - tree_.tau[tree_.parent[link / 2]], kLeastServed);
  const double direct = 0.5 + (0.5 - crossing);
  const double turns = x * crossing + (n - x) * direct;
  for (Group& g : groups_) {
    const double quota = capacity * (x == 0 || x == n ? 1 / n : (g.crosses ? crossing : direct) / turns);
    double left = quota;
    // Fixed members keep to their rates, but their port's queue is served in its turn for all that wait in it.
    if (g.fixed > 0 && g.demand > 0)
      left = std::max(quota - g.fixed, quota * (g.demand / (g.demand + g.fixed)));
    g.weight = std::max(left - g.frozen, 0.0);
  }
  share(capacity - taken);
  bool short_of_floor = false;
  for (const Member& m : members(at)) {
    if (frozen_[m.position] != 0) continue;
    const Group& g = groups_[index_of(m)];
    if (!(g.demand > 0) || !(g.rate < g.demand)) continue;
    rho_[m.position] *= g.rate / g.demand;
    if (exceeds(g.demand, g.rate)) limiter_[m.position] = link;
    short_of_floor |= releasing_ && exceeds(back_pressure_[m.position], rho_[m.position]);
  }
  if (short_of_floor) lift_to_floors(at);
  if (groups_.size() <= kMeasuredGroups) {
    for (const Member& m : members(at))
      if (frozen_[m.position] == 0) granted_[m.position] = std::min(granted_[m.position], rho_[m.position]);
  } else {
    any_wide_ = true;
  }
}

// Within their groups, members below their floors are lifted to them at the cost of those above theirs.
void PcieArbiter::lift_to_floors(std::size_t at) {
  for (bool more = true; more;) {
    more = false;
    for (Group& g : groups_) g.floor = g.demand = 0;
    for (const Member& m : members(at)) {
      if (frozen_[m.position] != 0) continue;
      Group& g = groups_[group_of_[port_index(m)]];
      double& rho = rho_[m.position];
      rho = std::max(rho, back_pressure_[m.position]);
      (exceeds(rho, back_pressure_[m.position]) ? g.demand : g.floor) += rho;
    }
    for (const Member& m : members(at)) {
      if (frozen_[m.position] != 0) continue;
      const Group& g = groups_[group_of_[port_index(m)]];
      double& rho = rho_[m.position];
      if (!exceeds(g.floor + g.demand, g.rate) || !exceeds(rho, back_pressure_[m.position])) continue;
      rho *= std::max(g.rate - g.floor, 0.0) / g.demand;
      more = true;
    }
  }
}

void PcieArbiter::downstream_pass() {
  for (std::size_t at = first_down_; at < states_.size(); ++at) {
    const double capacity = tree_.down_capacity[states_[at].link / 2];
    double sum = 0;
    for (const Member& m : members(at)) sum += rho_[m.position];
    if (!exceeds(sum, capacity)) continue;
    states_[at].short_of_capacity = true;
    contend(at, capacity);
  }
}

// Step C; true if it slowed anybody.
bool PcieArbiter::press_back() {
  if (!any_arbitrated_) return false;
  const auto n = static_cast<std::uint32_t>(rho_.size());
  for (std::uint32_t p = 0; p < n; ++p) {
    if (bundled_[p] == 0) continue;
    std::uint32_t& slowest = slowest_[find(bundle_, p)];
    if (slowest == kNone || rho_[p] / offered_[p] < rho_[slowest] / offered_[slowest]) slowest = p;
  }
  bool slowed = false;
  for (std::uint32_t p = 0; p < n; ++p) {
    if (bundled_[p] == 0) continue;
    const std::uint32_t slowest = slowest_[find(bundle_, p)];
    const double f = downstream_[slowest] / offered_[slowest];
    if (!exceeds(rho_[p], offered_[p] * f)) continue;
    rho_[p] = offered_[p] * f;
    limiter_[p] = limiter_[slowest];
    slowed_[p] = 1;
    slowed = true;
  }
  return slowed;
}

// A contended link that is not full after C has room for those who are not bundled.
bool PcieArbiter::find_room() {
  bool found = false;
  for (std::size_t at = first_down_; any_arbitrated_ && at < states_.size(); ++at) {
    if (!states_[at].short_of_capacity) continue;
    double sum = 0;
    for (const Member& m : members(at)) sum += rho_[m.position];
    if (!exceeds(tree_.down_capacity[states_[at].link / 2], sum)) continue;
    slowed_[members(at)[0].position] = 1;
    found = true;
  }
  return found;
}

// Spreads slowed_ to all that share a link with a slowed one, directly or through others.
void PcieArbiter::mark_slowed_components() {
  const auto n = static_cast<std::uint32_t>(rho_.size());
  component_.resize(n);
  for (std::uint32_t p = 0; p < n; ++p) component_[p] = p;
  for (std::size_t at = 0; at < states_.size(); ++at) {
    const std::uint32_t first = find(component_, members_[start_[at]].position);
    for (const Member& m : members(at)) component_[find(component_, m.position)] = first;
  }
  for (std::uint32_t p = 0; p < n; ++p) slowed_[find(component_, p)] |= slowed_[p];
  for (std::uint32_t p = 0; p < n; ++p) slowed_[p] = slowed_[find(component_, p)];
}

// Step E. A bundle, or a communication in none, rises as one: all of its members at one pace, in parts of what
// they offered.
void PcieArbiter::rise() {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const auto n = static_cast<std::uint32_t>(rho_.size());
  height_.assign(n, kInfinite);  // how far a bundle may rise, by root; 0: it stands
  for (std::uint32_t p = 0; p < n; ++p) {
    bundle_[p] = find(bundle_, p);
    const double above = fixed_[p] != 0 ? 0 : std::max(granted_[p] - rho_[p], 0.0) / offered_[p];
    height_[bundle_[p]] = std::min(height_[bundle_[p]], above);
  }
  const auto capacity = [&](std::size_t at) {
    const PcieLink link = states_[at].link;
    return (is_down(link) ? tree_.down_capacity : tree_.up_capacity)[link / 2];
  };
  held_by_.assign(n, kNone);
  room_.resize(states_.size());
  speed_.resize(states_.size());
  for (std::size_t at = 0; at < states_.size(); ++at) {
    room_[at] = capacity(at);
    for (const Member& m : members(at)) room_[at] -= rho_[m.position];
  }
  const auto full = [&](std::size_t at) { return room_[at] <= kTolerance * capacity(at); };
  // What slowed a communication in B may have room again after C and D, while another link has none.
  for (std::size_t at = 0; at < states_.size(); ++at) full_[states_[at].link] = full(at) ? 1 : 0;
  limiter_full_.resize(n);
  for (std::uint32_t p = 0; p < n; ++p) limiter_full_[p] = limiter_[p] == kNone ? 0 : full_[limiter_[p]];
  for (double level = 0;;) {
    // Who has reached its height, or crosses a full link, stands; and so do all in its bundle.
    for (std::uint32_t p = 0; p < n; ++p)
      if (height_[p] <= level + kTolerance) height_[p] = 0;
    for (std::size_t at = 0; at < states_.size(); ++at) {
      if (!full(at)) continue;
      for (const Member& m : members(at)) {
        if (height_[bundle_[m.position]] == 0) continue;
        height_[bundle_[m.position]] = 0;
        held_by_[bundle_[m.position]] = states_[at].link;
      }
    }
    double step = kInfinite;
    for (std::uint32_t p = 0; p < n; ++p)
      if (bundle_[p] == p && height_[p] > 0) step = std::min(step, height_[p] - level);
    if (step == kInfinite) break;
    for (std::size_t at = 0; at < states_.size(); ++at) {
      speed_[at] = 0;
      for (const Member& m : members(at))
        if (height_[bundle_[m.position]] > 0) speed_[at] += offered_[m.position];
      if (speed_[at] > 0) step = std::min(step, room_[at] / speed_[at]);
    }
    for (std::size_t at = 0; at < states_.size(); ++at) room_[at] -= step * speed_[at];
    for (std::uint32_t p = 0; p < n; ++p)
      if (height_[bundle_[p]] > 0) rho_[p] += step * offered_[p];
    level += step;
  }
  for (std::uint32_t p = 0; p < n; ++p) {
    if (!exceeds(offered_[p], rho_[p]))
      limiter_[p] = up_limiter_[p];  // nothing below took any of it
    else if (held_by_[bundle_[p]] != kNone && limiter_full_[p] == 0)
      limiter_[p] = held_by_[bundle_[p]];
  }
}

std::span<const double> PcieArbiter::solve() {
  const std::size_t n = active_.size();
  for (LinkState& s : states_) s.short_of_capacity = false;
  rho_.resize(n);
  bundle_.resize(n);
  slowest_.assign(n, kNone);
  bundled_.assign(n, 0);
  slowed_.assign(n, 0);
  fixed_.resize(n);
  frozen_.resize(n);
  up_limiter_.assign(n, kNone);
  for (std::uint32_t i = 0; i < n; ++i) {
    rho_[i] = communications_[active_[i]].ceiling;
    fixed_[i] = frozen_[i] = communications_[active_[i]].fixed ? 1 : 0;
    bundle_[i] = i;
  }
  upstream();
  offered_.assign(rho_.begin(), rho_.end());
  limiter_.assign(up_limiter_.begin(), up_limiter_.end());
  granted_.assign(rho_.begin(), rho_.end());
  any_wide_ = false;
  downstream_pass();
  downstream_.assign(rho_.begin(), rho_.end());
  bool release = press_back();
  back_pressure_.assign(rho_.begin(), rho_.end());
  release |= find_room();
  if (release) {
    mark_slowed_components();
    for (std::size_t i = 0; i < n; ++i) {
      frozen_[i] = bundled_[i] | fixed_[i] | (slowed_[i] == 0 ? 1 : 0);
      if (frozen_[i] != 0) continue;
      rho_[i] = granted_[i] = offered_[i];
      limiter_[i] = up_limiter_[i];
    }
    releasing_ = true;
    downstream_pass();
    releasing_ = false;
  }
  if (any_wide_) rise();
  return rho_;
}

}  // namespace weft::congestion
