#include "congestion/max_min.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "congestion/certificate.hpp"
#include "congestion/models.hpp"
#include "core/check.hpp"

namespace weft::congestion {
namespace {

// Relative change of a level that counts as none. Rounding of a level is about (flows on the link) x 1e-16; a
// value that is too small costs an idle round, one that is too large costs accuracy.
constexpr double kSameLevel = 2e-14;
// Relative change of a rate that is not worth a new completion event (local scope only).
constexpr double kSameRate = 4e-15;
// A filling of more flows than this takes in the neighbours of the disturbed at once.
constexpr std::size_t kEagerMembers = 512;
// After so many rounds the local scope takes the whole component: bounds the work on adverse loads.
constexpr int kMaxRounds = 12;
#ifdef NDEBUG
constexpr std::uint64_t kCertificatePeriod = 4096;
constexpr std::uint64_t kCertificateBudget = 1u << 16;
#else
constexpr std::uint64_t kCertificatePeriod = 1;
constexpr std::uint64_t kCertificateBudget = ~std::uint64_t{0};
#endif

}  // namespace

MaxMin::MaxMin(std::span<const double> capacity, Scope scope)
    : capacity_(capacity),
      scope_(scope),
      table_(static_cast<std::uint32_t>(capacity.size())),
      link_(capacity.size()),
      work_(capacity.size()) {
  for (std::size_t l = 0; l < capacity.size(); ++l) {
    WEFT_CHECK(capacity[l] > 0 && std::isfinite(capacity[l]),
               fmt::format("capacity of link {} is {}", l, capacity[l]));
    int exponent = 0;
    (void)std::frexp(capacity[l], &exponent);  // capacity < 2^exponent
    link_[l].capacity = capacity[l];
    link_[l].to_quanta = std::ldexp(1.0, 61 - exponent);
    link_[l].from_quanta = std::ldexp(1.0, exponent - 61);
  }
}

void MaxMin::mark_dirty(std::uint32_t link) {
  if (work_[link].dirty == solve_) return;
  work_[link].dirty = solve_;
  dirty_.push_back(link);
}

FlowId MaxMin::add(std::span<const LinkId> route, double weight, double rate_cap) {
  const std::uint32_t flow = table_.add(route, weight, rate_cap);
  if (flow == rate_.size()) {
    rate_.push_back(0);
    next_rate_.push_back(0);
    bottleneck_.emplace_back();
    next_bottleneck_.push_back(kNone);
    member_.push_back(0);
    rising_.push_back(0);
  }
  rate_[flow] = 0;
  bottleneck_[flow] = LinkId();
  member_[flow] = 0;
  added_.push_back(flow);
  return FlowId(flow);
}

void MaxMin::remove(FlowId id) {
  const std::uint32_t flow = id.index();
  WEFT_CHECK(table_.alive(flow), fmt::format("flow {} is not in the table", flow));
  const double rate = rate_[flow];
  const std::uint32_t bottleneck = bottleneck_[flow].index();
  if (bottleneck != kNone) --link_[bottleneck].bound;
  for (const LinkId link : table_.route(flow)) {
    link_[link.index()].load -= quanta(link.index(), rate);
    // In the local scope only the flows that the link held back can tell that it has room again.
    if (scope_ == Scope::kComponent || link_[link.index()].bound > 0) mark_dirty(link.index());
  }
  table_.remove(flow);
}

bool MaxMin::join(std::uint32_t flow) {
  if (member_[flow] == solve_) return false;
  member_[flow] = solve_;
  members_.push_back(flow);
  return true;
}

void MaxMin::join_bound(std::uint32_t link) {
  if (link_[link].bound == 0) return;
  for (const FlowTable::Entry e : table_.flows_on(link))
    if (bottleneck_[e.flow].index() == link) join(e.flow);
}

// Adds everything connected to members_[from...] through shared links.
void MaxMin::close_component(std::size_t from) {
  ++filling_;
  for (std::size_t i = from; i < members_.size(); ++i) {
    for (const LinkId link : table_.route(members_[i])) {
      LinkWork& w = work_[link.index()];
      if (w.stamp == filling_) continue;
      w.stamp = filling_;
      for (const FlowTable::Entry e : table_.flows_on(link.index())) join(e.flow);
    }
  }
}

std::span<const FlowId> MaxMin::solve() {
  changed_.clear();
  moved_.clear();
  if (added_.empty() && dirty_.empty()) return {};
  ++stats_.solves;
  members_.clear();
  if (scope_ == Scope::kComponent) {
    // One component after the other: each is filled as if it were alone.
    const auto fill_from = [&](auto&& seed) {
      const std::size_t before = members_.size();
      seed();
      if (members_.size() == before) return;
      close_component(before);
      std::sort(members_.begin() + static_cast<std::ptrdiff_t>(before), members_.end());
    };
    std::size_t begin = 0;
    const auto finish = [&] {
      if (members_.size() == begin) return;
      fill();
      commit();
      members_.clear();
      begin = 0;
    };
    for (const std::uint32_t flow : added_) {
      if (!table_.alive(flow)) continue;
      fill_from([&] { join(flow); });
      finish();
    }
    for (const std::uint32_t link : dirty_) {
      fill_from([&] {
        if (table_.count_on(link) > 0) join(table_.flows_on(link)[0].flow);
      });
      finish();
    }
  } else {
    for (const std::uint32_t flow : added_) {
      if (!table_.alive(flow) || !join(flow)) continue;
      for (const LinkId link : table_.route(flow)) join_bound(link.index());
    }
    for (const std::uint32_t link : dirty_) join_bound(link);
    if (!members_.empty()) {
      fill();
      for (int round = 1; disturbs(); ++round) {
        if (round == kMaxRounds) close_component(0);
        fill();
      }
      commit();
    }
  }
  added_.clear();
  dirty_.clear();
  ++solve_;
  WEFT_CHECK(solve_ != 0 && filling_ < 0xfffffff0u, "more than 2^32 solves by one model");
  sort_changed();
  return changed_;
}

inline void MaxMin::reset(LinkWork& w, std::uint32_t link) {
  w.stamp = filling_;
  w.weight = 0;
  w.filled_at = kInfinity;
  w.inside = 0;
  w.members = 0;
  w.bound_inside = 0;
  touched_.push_back(link);
}

// Fills members_ over what all other flows leave; the result is in next_rate_ and next_bottleneck_.
void MaxMin::fill() {
  ++filling_;
  touched_.clear();
  stats_.flows_solved += members_.size();
  stats_.max_component = std::max(stats_.max_component, static_cast<std::uint32_t>(members_.size()));
  if (members_.size() == 1) {
    fill_one(members_[0]);
    stats_.links_touched += touched_.size();
    return;
  }
  const bool weighted = table_.weighted() > 0;
  const bool limited = table_.limited() > 0;
  limited_.clear();
  for (const std::uint32_t flow : members_) {
    const double rate = rate_[flow];
    rising_[flow] = filling_;
    if (limited && table_.limit(flow) < kInfinity) limited_.push_back(flow);
    const double weight = weighted ? table_.weight(flow) : 1.0;
    const auto enter = [&](std::uint32_t link) {
      LinkWork& w = work_[link];
      if (w.stamp != filling_) reset(w, link);
      w.weight += weight;
      w.inside += quanta(link, rate);
      ++w.members;
    };
    // Of the links that the flow has to itself only the narrowest can stop it.
    std::uint32_t own = kNone;
    double narrowest = kInfinity;
    for (const LinkId link : table_.route(flow)) {
      if (table_.count_on(link.index()) > 1) {
        enter(link.index());
      } else if (link_[link.index()].capacity < narrowest) {
        narrowest = link_[link.index()].capacity;
        own = link.index();
      }
    }
    if (own != kNone) enter(own);
    if (bottleneck_[flow].valid()) ++work_[bottleneck_[flow].index()].bound_inside;
  }
  stats_.links_touched += touched_.size();
  const auto links = static_cast<std::uint32_t>(touched_.size());
  tournament_.resize(links);
  for (std::uint32_t slot = 0; slot < links; ++slot) {
    const std::uint32_t link = touched_[slot];
    LinkWork& w = work_[link];
    w.rising = w.members;
    w.room = room(link, w.inside);
    tournament_.set(slot, w.room / w.weight);
  }
  tournament_.play();
  open_ = static_cast<std::uint32_t>(members_.size());
  if (weighted)
    fill_links<true>();
  else
    fill_links<false>();
}

// One flow alone: its rate is the least room on its route, or its limit.
void MaxMin::fill_one(std::uint32_t flow) {
  const double old_rate = rate_[flow];
  const double weight = table_.weight(flow);
  double rate = table_.limit(flow);
  std::uint32_t bottleneck = kNone;
  for (const LinkId id : table_.route(flow)) {
    const std::uint32_t link = id.index();
    double least = link_[link].capacity;
    if (table_.count_on(link) > 1) {
      LinkWork& w = work_[link];
      reset(w, link);
      w.members = 1;
      w.room = least = room(link, quanta(link, old_rate));
    }
    // A tie goes to the first link.
    if (least < rate) {
      rate = least;
      bottleneck = link;
    }
  }
  const double level = rate / weight;
  for (const std::uint32_t link : touched_) {
    LinkWork& w = work_[link];
    w.room -= rate;
    w.highest = level;
  }
  if (bottleneck_[flow].valid()) work_[bottleneck_[flow].index()].bound_inside = 1;
  if (bottleneck != kNone) {
    LinkWork& w = work_[bottleneck];
    if (w.stamp != filling_) {
      const std::uint32_t held = bottleneck_[flow].index() == bottleneck;
      reset(w, bottleneck);
      w.members = 1;
      w.bound_inside = held;
    }
    w.filled_at = level;
  }
  next_rate_[flow] = rate;
  next_bottleneck_[flow] = bottleneck;
}

template <bool kWeighted>
void MaxMin::stop(std::uint32_t flow, double level, double rate, std::uint32_t bottleneck) {
  rising_[flow] = 0;
  next_rate_[flow] = rate;
  next_bottleneck_[flow] = bottleneck;
  --open_;
  const double weight = kWeighted ? table_.weight(flow) : 1.0;
  for (const LinkId link : table_.route(flow)) {
    LinkWork& w = work_[link.index()];
    w.room -= rate;
    w.weight -= weight;
    w.highest = level;
    --w.rising;
  }
}

// Stops all flows still rising on `link`, at `level`.
template <bool kWeighted>
void MaxMin::stop_at_link(std::uint32_t link, double level) {
  LinkWork& w = work_[link];
  if constexpr (kWeighted) {
    // In ascending order, so that the sums do not depend on the order of the link's list; and with the weight
    // summed afresh, free of what cancellation left in it.
    at_link_.clear();
    for (const FlowTable::Entry e : table_.flows_on(link))
      if (rising_[e.flow] == filling_) at_link_.push_back(e.flow);
    std::sort(at_link_.begin(), at_link_.end());
    double weight = 0;
    for (const std::uint32_t flow : at_link_) weight += table_.weight(flow);
    level = std::max(0.0, w.room) / weight;
    w.filled_at = level;
    for (const std::uint32_t flow : at_link_) stop<true>(flow, level, level * table_.weight(flow), link);
  } else {
    // Equal weights: all subtract the same rate, in any order.
    w.filled_at = level;
    const FlowTable::Entry* entry = table_.flows_on(link).data();
    for (std::uint32_t left = w.rising; left > 0; ++entry) {
      if (rising_[entry->flow] != filling_) continue;
      stop<false>(entry->flow, level, level, link);
      --left;
    }
  }
}

template <bool kWeighted>
void MaxMin::fill_links() {
  // Limits in the order in which they are reached.
  const auto limit_level = [&](std::uint32_t flow) { return table_.limit(flow) / table_.weight(flow); };
  if (limited_.size() > 1)
    std::sort(limited_.begin(), limited_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const double la = limit_level(a);
      const double lb = limit_level(b);
      return la < lb || (la == lb && a < b);
    });
  std::size_t next_limited = 0;
  while (open_ > 0) {
    const double lowest = tournament_.lowest();
    const std::uint32_t slot = tournament_.winner();
    while (next_limited < limited_.size() && rising_[limited_[next_limited]] != filling_) ++next_limited;
    if (next_limited < limited_.size()) {
      const std::uint32_t flow = limited_[next_limited];
      const double level = limit_level(flow);
      // A key may be out of date, never too high: at worst the limit waits until the lowest is refreshed.
      if (level <= lowest) {
        stop<kWeighted>(flow, level, table_.limit(flow), kNone);
        continue;
      }
    }
    WEFT_DCHECK(lowest < kInfinity, "flows rise over no link");
    const std::uint32_t link = touched_[slot];
    const LinkWork& w = work_[link];
    if (w.rising == 0) {
      tournament_.update(slot, kInfinity);
      continue;
    }
    const double level = std::max(0.0, w.room) / w.weight;
    if (level > lowest) {
      tournament_.update(slot, level);
    } else {
      stop_at_link<kWeighted>(link, level);
      if (open_ > 0) tournament_.update(slot, kInfinity);
    }
  }
}

// Finds the flows outside that this filling disturbs; they join. False: none, the filling stands.
bool MaxMin::disturbs() {
  const std::size_t before = members_.size();
  const bool weighted = table_.weighted() > 0;
  for (const std::uint32_t link : touched_) {
    const LinkWork& w = work_[link];
    if (w.members == table_.count_on(link)) continue;
    const std::uint32_t held = link_[link].bound - w.bound_inside;  // flows outside that this link holds back
    const double old_level = link_[link].level;
    if (w.filled_at < kInfinity) {
      const double new_level = w.filled_at;
      if (held > 0 && new_level > old_level * (1 + kSameLevel)) {
        for (const FlowTable::Entry e : table_.flows_on(link))
          if (bottleneck_[e.flow].index() == link) join(e.flow);
      } else if (link_[link].bound == 0 || new_level < old_level * (1 - kSameLevel)) {
        const double bar = new_level * (1 + kSameLevel);
        for (const FlowTable::Entry e : table_.flows_on(link))
          if (rate_[e.flow] > (weighted ? bar * table_.weight(e.flow) : bar)) join(e.flow);
      }
    } else if (held > 0) {
      const double slack = kSameLevel * old_level * held + table_.count_on(link) * link_[link].from_quanta;
      if (w.room > slack || w.highest > old_level * (1 + kSameLevel))
        for (const FlowTable::Entry e : table_.flows_on(link))
          if (bottleneck_[e.flow].index() == link) join(e.flow);
    }
  }
  // Where many are disturbed, more will be: those that share a full link with the new ones join at once,
  // which saves rounds.
  const std::size_t joined = members_.size();
  if (joined > kEagerMembers)
    for (std::size_t i = before; i < joined; ++i)
      for (const LinkId id : table_.route(members_[i])) {
        const std::uint32_t link = id.index();
        LinkWork& w = work_[link];
        if (w.stamp == filling_ && w.bound_inside == link_[link].bound) continue;
        w.stamp = filling_;
        w.bound_inside = link_[link].bound;
        join_bound(link);
      }
  return members_.size() > before;
}

void MaxMin::commit() {
  const double same = scope_ == Scope::kLocal ? kSameRate : 0;
  for (const std::uint32_t link : touched_) {
    const LinkWork& w = work_[link];
    // Flows outside keep the level that they were given, so that levels cannot creep by one tolerance a
    // solve.
    if (w.filled_at < kInfinity && link_[link].bound == w.bound_inside) link_[link].level = w.filled_at;
  }
  for (const std::uint32_t flow : members_) {
    const std::uint32_t from = bottleneck_[flow].index();
    const std::uint32_t to = next_bottleneck_[flow];
    if (from != to) {
      if (from != kNone) --link_[from].bound;
      if (to != kNone) ++link_[to].bound;
      bottleneck_[flow] = LinkId(to);
    }
    const double old_rate = rate_[flow];
    const double new_rate = next_rate_[flow];
    if (std::abs(new_rate - old_rate) <= same * old_rate) {
      if (from != to) moved_.push_back(FlowId(flow));
      continue;
    }
    for (const LinkId link : table_.route(flow))
      link_[link.index()].load += quanta(link.index(), new_rate) - quanta(link.index(), old_rate);
    rate_[flow] = new_rate;
    changed_.push_back(FlowId(flow));
  }
  if (stats_.solves % kCertificatePeriod == 0) check_certificate();
}

// Ascending; by a pass over all rows where many have changed.
void MaxMin::sort_changed() {
  if (changed_.size() < 32 || changed_.size() < table_.rows() / 16) {
    std::sort(changed_.begin(), changed_.end());
    return;
  }
  for (const FlowId flow : changed_) rising_[flow.index()] = kChanged;
  changed_.clear();
  for (std::uint32_t flow = 0; flow < table_.rows(); ++flow) {
    if (rising_[flow] != kChanged) continue;
    rising_[flow] = 0;
    changed_.push_back(FlowId(flow));
  }
}

void MaxMin::check_certificate() {
  ++stats_.certificates;
  const auto violation = certify(table_, capacity_, rate_, members_, kCertificateBudget);
  WEFT_CHECK(!violation, *violation);
}

std::unique_ptr<SharingModel> make_max_min(std::span<const double> capacity, const PcieNetwork* /*pcie*/) {
  return std::make_unique<MaxMin>(capacity, MaxMin::Scope::kLocal);
}

std::unique_ptr<SharingModel> make_max_min_component(std::span<const double> capacity,
                                                     const PcieNetwork* /*pcie*/) {
  return std::make_unique<MaxMin>(capacity, MaxMin::Scope::kComponent);
}

}  // namespace weft::congestion
