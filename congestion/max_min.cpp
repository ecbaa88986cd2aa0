#include "congestion/max_min.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "congestion/certificate.hpp"
#include "congestion/models.hpp"
#include "congestion/rounding.hpp"
#include "core/check.hpp"

namespace weft::congestion {
namespace {

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

MaxMin::MaxMin(std::span<const double> capacity, Scope scope, std::size_t large_solve,
               std::uint64_t most_visits)
    : capacity_(capacity),
      scope_(scope),
      large_solve_(large_solve),
      most_visits_(most_visits),
      table_(static_cast<std::uint32_t>(capacity.size())),
      link_(capacity.size()) {
  for (std::size_t l = 0; l < capacity.size(); ++l) {
    WEFT_CHECK(capacity[l] > 0 && std::isfinite(capacity[l]),
               fmt::format("capacity of link {} is {}", l, capacity[l]));
    int exponent = 0;
    (void)std::frexp(capacity[l], &exponent);  // capacity < 2^exponent
    link_[l].to_quanta = std::ldexp(1.0, 61 - exponent);
    link_[l].free = link_[l].quanta(capacity[l]);
  }
}

void MaxMin::mark_dirty(std::uint32_t link) {
  if (link_[link].dirty == solve_) return;
  link_[link].dirty = solve_;
  dirty_.push_back(link);
}

FlowId MaxMin::add(std::span<const LinkId> route, double weight, double rate_cap) {
  const std::uint32_t flow = table_.add(route, weight, rate_cap);
  if (flow == rate_.size()) {
    rate_.push_back(0);
    bottleneck_.emplace_back();
    flow_.emplace_back();
    member_.push_back(0);
    rising_.push_back(0);
  }
  rate_[flow] = 0;
  bottleneck_[flow] = LinkId();
  member_[flow] = 0;
  Flow& f = flow_[flow];
  f.rate = 0;
  f.bottleneck = kNone;
  f.hops = static_cast<std::uint32_t>(route.size());
  if (route.size() <= f.link.size()) std::copy(route.begin(), route.end(), f.link.begin());
  if (weight != 1.0 && weight_.empty()) weight_.resize(link_.size());
  for (const LinkId id : route) {
    Link& l = link_[id.index()];
    // What is free on a link that one flow has to itself is not kept up to date: nobody asks.
    if (++l.count != 2) continue;
    l.free = l.quanta(capacity_[id.index()]) - l.quanta(rate_[table_.flows_on(id.index())[0].flow]);
  }
  added_.push_back(flow);
  return FlowId(flow);
}

void MaxMin::remove(FlowId id) {
  const std::uint32_t flow = id.index();
  WEFT_CHECK(table_.alive(flow), fmt::format("flow {} is not in the table", flow));
  if (groups_) {
    if (groups_->group(flow) != LevelGroups::kNone) groups_->remove(flow);
    for (const LinkId link : table_.route(flow)) --link_[link.index()].count;
    table_.remove(flow);
    ++removed_;
    return;
  }
  const double rate = rate_[flow];
  const std::uint32_t bottleneck = bottleneck_[flow].index();
  if (bottleneck != kNone) --link_[bottleneck].bound;
  for (const LinkId link : table_.route(flow)) {
    Link& l = link_[link.index()];
    --l.count;
    l.free += l.quanta(rate);
    // In the local scope only the flows that the link held back can tell that it has room again.
    if (scope_ == Scope::kComponent || l.bound > 0) mark_dirty(link.index());
  }
  table_.remove(flow);
}

bool MaxMin::join(std::uint32_t flow) {
  if (member_[flow] == solve_) return false;
  member_[flow] = solve_;
  __builtin_prefetch(&flow_[flow]);
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
      Link& l = link_[link.index()];
      if (l.stamp == filling_) continue;
      l.stamp = filling_;
      for (const FlowTable::Entry e : table_.flows_on(link.index())) join(e.flow);
    }
  }
}

std::span<const FlowId> MaxMin::solve() {
  if (groups_) return solve_groups();
  changed_.clear();
  moved_.clear();
  if (added_.empty() && dirty_.empty()) return {};
  ++stats_.solves;
  if (solve_alone()) return changed_;
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
      for (const LinkId link : route_of(flow)) join_bound(link.index());
    }
    for (const std::uint32_t link : dirty_) join_bound(link);
    if (!members_.empty()) {
      fill();
      for (int round = 1; disturbs(); ++round) {
        take_back();
        if (round == kMaxRounds) close_component(0);
        fill();
      }
      commit();
    }
  }
  const bool large = scope_ == Scope::kLocal && members_.size() > large_solve_ && !never_group_;
  added_.clear();
  dirty_.clear();
  ++solve_;
  WEFT_CHECK(solve_ != 0 && filling_ < 0xfffffff0u, "more than 2^32 solves by one model");
  if (large) enter_groups();
  sort_changed();
  return changed_;
}

// The only change is a new flow that has all of its links to itself: the same as a filling of it, which would find nobody
// else. False: it is not so.
bool MaxMin::solve_alone() {
  if (scope_ != Scope::kLocal || added_.size() != 1 || !dirty_.empty()) return false;
  const std::uint32_t flow = added_[0];
  if (!table_.alive(flow)) return false;
  double rate = table_.limit(flow);
  std::uint32_t bottleneck = kNone;
  for (const LinkId id : route_of(flow)) {
    if (link_[id.index()].count > 1) return false;
    // A tie goes to the first link.
    if (capacity_[id.index()] < rate) {
      rate = capacity_[id.index()];
      bottleneck = id.index();
    }
  }
  if (bottleneck != kNone) {
    Link& l = link_[bottleneck];
    l.bound = 1;
    l.level = rate / table_.weight(flow);
    ++stats_.links_touched;
  }
  flow_[flow].bottleneck = bottleneck;
  bottleneck_[flow] = LinkId(bottleneck);
  rate_[flow] = flow_[flow].rate = rate;
  ++stats_.flows_solved;
  stats_.max_component = std::max(stats_.max_component, 1u);
  changed_.push_back(FlowId(flow));
  if (certificate_due()) {
    members_.assign(1, flow);
    check_certificate(rate_);
  }
  added_.clear();
  return true;
}

inline MaxMin::Link& MaxMin::touch(std::uint32_t link) {
  Link& l = link_[link];
  if (l.stamp == filling_) return l;
  l.stamp = filling_;
  l.filled_at = kInfinity;
  l.rising = 0;
  l.outside = l.count;
  l.held = l.bound;
  l.searched = 0;
  l.slot = static_cast<std::uint32_t>(touched_.size()) & 0x7fffffffu;
  touched_.push_back(link);
  return l;
}

// At which all of its flows that still rise fill the link up.
template <bool kWeighted>
inline double MaxMin::level_of(std::uint32_t link) const {
  const Link& l = link_[link];
  return l.room() / (kWeighted ? weight_[link] : static_cast<double>(l.rising));
}

// The place in the order of filling. A link that holds back flows outside, all of them above its level, gives way a
// little: a member that stops at what it had, but for rounding, does not make them rise again.
template <bool kWeighted>
inline double MaxMin::key(std::uint32_t link) const {
  const double level = level_of<kWeighted>(link);
  return link_[link].held > 0 ? level * (1 + kSameLevel) : level;
}

// members_[from...] begin to rise. kRisingNow: while others do, so that keys are kept up to date.
template <bool kWeighted, bool kRisingNow>
void MaxMin::enter(std::size_t from) {
  const auto known = static_cast<std::uint32_t>(touched_.size());
  const bool limited = table_.limited() > 0;
  for (std::size_t i = from; i < members_.size(); ++i) {
    const std::uint32_t flow = members_[i];
    const double rate = flow_[flow].rate;
    const double weight = kWeighted ? table_.weight(flow) : 1.0;
    rising_[flow] = filling_;
    if (limited && table_.limit(flow) < kInfinity) {
      limited_.push_back(flow);
      if constexpr (kRisingNow) std::push_heap(limited_.begin(), limited_.end(), later());
    }
    const auto rise = [&](std::uint32_t link) -> Link& {
      const bool fresh = kWeighted && link_[link].stamp != filling_;
      Link& l = touch(link);
      l.free += l.quanta(rate);
      if constexpr (kWeighted) weight_[link] = fresh ? weight : weight_[link] + weight;
      ++l.rising;
      --l.outside;
      if constexpr (kRisingNow)
        if (l.slot < known && rate < levels_.key(l.slot) * weight) levels_.set(l.slot, key<kWeighted>(link));
      return l;
    };
    // Of the links that the flow has to itself only the narrowest can stop it.
    std::uint32_t own = kNone;
    double narrowest = kInfinity;
    for (const LinkId id : route_of(flow)) {
      const std::uint32_t link = id.index();
      if (link_[link].count > 1) {
        rise(link);
      } else if (capacity_[link] < narrowest) {
        narrowest = capacity_[link];
        own = link;
      }
    }
    if (own != kNone) {
      Link& l = rise(own);
      l.free = l.quanta(narrowest);
    }
    if (flow_[flow].bottleneck != kNone) --link_[flow_[flow].bottleneck].held;
  }
  open_ += static_cast<std::uint32_t>(members_.size() - from);
  if constexpr (kRisingNow) {
    for (std::size_t slot = known; slot < touched_.size(); ++slot)
      levels_.add(key<kWeighted>(touched_[slot]));
  }
}

// A rate that is the old one but for rounding is the old one: not worth a new completion event (local scope only).
inline double MaxMin::settled(std::uint32_t flow, double rate) const {
  const double old = flow_[flow].rate;
  return scope_ == Scope::kLocal && std::abs(rate - old) <= kSameRate * old ? old : rate;
}

// Fills members_ over what all other flows leave; the result is in next_rate_ and next_bottleneck_. Others join on the
// way where the filling reaches them.
void MaxMin::fill() {
  ++filling_;
  touched_.clear();
  if (members_.size() == 1) {
    fill_one(members_[0]);
  } else {
    open_ = 0;
    limited_.clear();
    if (table_.weighted() > 0)
      fill_links<true>();
    else
      fill_links<false>();
  }
  stats_.flows_solved += members_.size();
  stats_.max_component = std::max(stats_.max_component, static_cast<std::uint32_t>(members_.size()));
  stats_.links_touched += touched_.size();
}

// One flow alone: its rate is the least room on its route, or its limit.
void MaxMin::fill_one(std::uint32_t flow) {
  const double old_rate = rate_[flow];
  double rate = table_.limit(flow);
  std::uint32_t bottleneck = kNone;
  for (const LinkId id : table_.route(flow)) {
    const std::uint32_t link = id.index();
    double least = 0;
    if (link_[link].count > 1) {
      Link& l = touch(link);
      --l.outside;
      l.free += l.quanta(old_rate);
      least = l.room();
    } else {
      least = capacity_[link];
    }
    // A tie goes to the first link.
    if (least < rate) {
      rate = least;
      bottleneck = link;
    }
  }
  rate = settled(flow, rate);
  for (const std::uint32_t link : touched_) link_[link].free -= link_[link].quanta(rate);
  if (bottleneck != kNone) {
    Link& l = touch(bottleneck);
    if (l.count == 1) l.outside = 0;
    l.filled_at = rate / table_.weight(flow);
  }
  if (bottleneck_[flow].valid()) --link_[bottleneck_[flow].index()].held;
  flow_[flow].next_rate = rate;
  flow_[flow].next_bottleneck = bottleneck;
}

template <bool kWeighted>
void MaxMin::stop(std::uint32_t flow, double rate, std::uint32_t bottleneck) {
  rising_[flow] = 0;
  const double old_rate = flow_[flow].rate;
  const bool slower = rate < old_rate * (1 - kSameLevel);
  rate = settled(flow, rate);
  flow_[flow].next_rate = rate;
  flow_[flow].next_bottleneck = bottleneck;
  --open_;
  const double weight = kWeighted ? table_.weight(flow) : 1.0;
  for (const LinkId id : route_of(flow)) {
    Link& l = link_[id.index()];
    l.free -= l.quanta(rate);
    if constexpr (kWeighted) weight_[id.index()] -= weight;
    --l.rising;
    if (slower && l.held > 0) freed_.push_back(id.index());
  }
}

// Stops all flows still rising on `link`, at `level`.
template <bool kWeighted>
void MaxMin::stop_at_link(std::uint32_t link, double level) {
  Link& l = link_[link];
  if constexpr (kWeighted) {
    // In ascending order, so that the sums do not depend on the order of the link's list; and with the weight
    // summed afresh, free of what cancellation left in it.
    at_link_.clear();
    for (const FlowTable::Entry e : table_.flows_on(link))
      if (rising_[e.flow] == filling_) at_link_.push_back(e.flow);
    std::sort(at_link_.begin(), at_link_.end());
    double weight = 0;
    for (const std::uint32_t flow : at_link_) weight += table_.weight(flow);
    level = l.room() / weight;
    l.filled_at = level;
    for (const std::uint32_t flow : at_link_) stop<true>(flow, level * table_.weight(flow), link);
  } else {
    l.filled_at = level;
    at_link_.clear();
    const FlowTable::Entry* entry = table_.flows_on(link).data();
    for (std::uint32_t left = l.rising; left > 0; ++entry) {
      if (rising_[entry->flow] != filling_) continue;
      __builtin_prefetch(&flow_[entry->flow]);
      at_link_.push_back(entry->flow);
      --left;
    }
    for (const std::uint32_t flow : at_link_) stop<false>(flow, level, link);
  }
}

// `link` is full at `level` as long as flows outside keep what they had. False: they may, none of them is above that
// level. Else those that are have joined.
template <bool kWeighted>
bool MaxMin::pull(std::uint32_t link, double level) {
  Link& l = link_[link];
  if (l.outside == 0) return false;
  const std::size_t before = members_.size();
  if (l.held > 0 && l.level > level * (1 + kSameLevel)) {
    join_bound(link);
  } else if (!l.searched && (l.bound == 0 || level < l.level * (1 - kSameLevel))) {
    l.searched = 1;  // the level only rises from here
    const double bar = level * (1 + kSameLevel);
    for (const FlowTable::Entry e : table_.flows_on(link))
      if (rate_[e.flow] > (kWeighted ? bar * table_.weight(e.flow) : bar)) join(e.flow);
  }
  if (members_.size() == before) return false;
  enter<kWeighted, true>(before);
  return true;
}

template <bool kWeighted>
void MaxMin::fill_links() {
  enter<kWeighted, false>(0);
  levels_.clear();
  for (const std::uint32_t link : touched_) levels_.add(key<kWeighted>(link));
  if (limited_.size() > 1) std::make_heap(limited_.begin(), limited_.end(), later());
  freed_.clear();
  while (open_ > 0) {
    const double lowest = levels_.lowest(
        [&](std::uint32_t slot) {
          const std::uint32_t link = touched_[slot];
          return link_[link].rising == 0 ? LevelQueue::kNever : key<kWeighted>(link);
        },
        [&](std::uint32_t slot) { __builtin_prefetch(&link_[touched_[slot]]); });
    const auto drop_limited = [&] {
      std::pop_heap(limited_.begin(), limited_.end(), later());
      limited_.pop_back();
    };
    while (!limited_.empty() && rising_[limited_.front()] != filling_) drop_limited();
    if (!limited_.empty()) {
      const std::uint32_t flow = limited_.front();
      // A key may be out of date, never too high: at worst the limit waits until the lowest is refreshed.
      if (limit_level(flow) <= lowest) {
        drop_limited();
        stop<kWeighted>(flow, table_.limit(flow), kNone);
        continue;
      }
    }
    WEFT_DCHECK(lowest < kInfinity, "flows rise over no link");
    const std::uint32_t link = touched_[levels_.winner()];
    if (link_[link].rising == 0) {
      levels_.drop_winner();
      continue;
    }
    const double now = key<kWeighted>(link);
    if (now > lowest) {
      levels_.raise_winner(now);
      continue;
    }
    const double level = level_of<kWeighted>(link);
    levels_.drop_winner();
    if (pull<kWeighted>(link, level)) {
      levels_.set(link_[link].slot, key<kWeighted>(link));
      continue;
    }
    stop_at_link<kWeighted>(link, level);
    if (freed_.empty()) continue;
    // A flow went slower than before: what its other links hold back can rise.
    const std::size_t before = members_.size();
    for (const std::uint32_t freed : freed_)
      if (link_[freed].held > 0) join_bound(freed);
    freed_.clear();
    if (members_.size() > before) enter<kWeighted, true>(before);
  }
}

// Finds the flows outside that this filling disturbs; they join. False: none, the filling stands.
bool MaxMin::disturbs() {
  const std::size_t before = members_.size();
  const bool alone = members_.size() == 1;
  const bool weighted = table_.weighted() > 0;
  for (const std::uint32_t link : touched_) {
    const Link& l = link_[link];
    if (l.outside == 0) continue;
    if (l.filled_at < kInfinity) {
      if (!alone) continue;  // pull() saw to it
      const double level = l.filled_at;
      if (l.held > 0 && level > l.level * (1 + kSameLevel)) {
        join_bound(link);
      } else if (l.bound == 0 || level < l.level * (1 - kSameLevel)) {
        const double bar = level * (1 + kSameLevel);
        for (const FlowTable::Entry e : table_.flows_on(link))
          if (rate_[e.flow] > (weighted ? bar * table_.weight(e.flow) : bar)) join(e.flow);
      }
    } else if (l.held > 0) {
      const double slack = kSameLevel * l.level * l.held + l.count / l.to_quanta;
      if (l.room() > slack) join_bound(link);
    }
  }
  filled_ = before;
  return members_.size() > before;
}

// Undoes a filling of members_[0...filled_): they have again what they had before.
void MaxMin::take_back() {
  for (std::size_t i = 0; i < filled_; ++i) {
    const std::uint32_t flow = members_[i];
    for (const LinkId id : route_of(flow)) {
      Link& l = link_[id.index()];
      l.free += l.quanta(flow_[flow].next_rate) - l.quanta(flow_[flow].rate);
    }
  }
}

void MaxMin::commit() {
  for (const std::uint32_t link : touched_) {
    Link& l = link_[link];
    // Flows outside keep the level that they were given, so that levels cannot creep by one tolerance a
    // solve.
    if (l.filled_at < kInfinity && l.held == 0) l.level = l.filled_at;
  }
  for (const std::uint32_t flow : members_) {
    Flow& f = flow_[flow];
    const bool elsewhere = f.bottleneck != f.next_bottleneck;
    if (elsewhere) {
      if (f.bottleneck != kNone) --link_[f.bottleneck].bound;
      if (f.next_bottleneck != kNone) ++link_[f.next_bottleneck].bound;
      f.bottleneck = f.next_bottleneck;
      bottleneck_[flow] = LinkId(f.bottleneck);
    }
    if (f.next_rate != f.rate) {
      rate_[flow] = f.rate = f.next_rate;
      changed_.push_back(FlowId(flow));
    } else if (elsewhere) {
      moved_.push_back(FlowId(flow));
    }
  }
  if (certificate_due()) check_certificate(rate_);
}

// Ascending; by a pass over all rows where many have changed.
void MaxMin::sort_changed() {
  constexpr std::size_t kFew = 8;
  if (changed_.size() <= kFew) {
    for (std::size_t i = 1; i < changed_.size(); ++i)
      for (std::size_t k = i; k > 0 && changed_[k] < changed_[k - 1]; --k)
        std::swap(changed_[k], changed_[k - 1]);
    return;
  }
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

bool MaxMin::certificate_due() const { return stats_.solves % kCertificatePeriod == 0; }

void MaxMin::check_certificate(std::span<const double> rate) {
  ++stats_.certificates;
  const auto violation =
      certify(table_, capacity_, rate, members_, kCertificateBudget, kCertificateTolerance + 2 * accuracy_);
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
