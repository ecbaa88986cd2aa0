#include "congestion/level_groups.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "congestion/rounding.hpp"
#include "core/check.hpp"

namespace weft::congestion {
namespace {

// Links that a solve may visit: so many times the links of the network, and some.
constexpr std::uint64_t kVisitsPerLink = 64;
constexpr std::uint64_t kVisits = 4096;
// A promise is kPromise times the level, and renewed where the level is above it or below 1 / kStalePromise of it. A link
// may become calm when kCalmRoom of it is free, which always suffices; each solve looks at kSweep links.
constexpr double kPromise = 1.03;
constexpr double kStalePromise = 1.06;
constexpr double kCalmRoom = 0.08;
constexpr std::uint32_t kSweep = 32;
constexpr int kLargest = 180;  // log2 of the largest limit that is told from larger ones

}  // namespace

LevelGroups::LevelGroups(const FlowTable& table, std::span<const double> capacity,
                         std::span<const double> most, double accuracy, std::span<const LinkId> bottleneck,
                         std::span<const double> rate, std::uint64_t most_visits)
    : table_(table),
      capacity_(capacity),
      most_(most),
      same_level_(std::max(kSameLevel, accuracy)),
      same_rate_(std::max(kSameRate, accuracy)),
      most_visits_(most_visits),
      narrow_(capacity.size() <= kNarrowLinks) {
  row_.reserve(capacity.size());
  members_.resize(capacity.size());
  calm_.resize(capacity.size());
  for (std::uint32_t l = 0; l < capacity.size(); ++l) open_row(l, capacity[l], most[l]);
  assign(bottleneck, rate);
}

// Columns for the flow, and its link if it has a limit.
void LevelGroups::know(std::uint32_t flow) {
  if (flow >= group_.size()) {
    group_.resize(flow + 1, kNone);
    place_.resize(flow + 1);
    own_.resize(flow + 1, kNone);
    moved_at_.resize(flow + 1, 0);
  }
  if (own_[flow] != kNone || table_.limit(flow) == kInfinity) return;
  if (free_own_.empty()) {
    own_[flow] = static_cast<std::uint32_t>(row_.size());
    owner_.push_back(flow);
  } else {
    own_[flow] = free_own_.back();
    free_own_.pop_back();
    owner_[own_[flow] - table_.link_count()] = flow;
  }
  open_row(own_[flow], table_.limit(flow), table_.limit(flow));
}

void LevelGroups::assign(std::span<const LinkId> bottleneck, std::span<const double> rate) {
  forget_reported();
  std::ranges::fill(calm_, std::uint8_t{0});
  overdrawn_.clear();
  std::vector<double> old(group_row_.size());
  for (std::uint32_t l = 0; l < row_.size(); ++l) {
    old[l] = group_row_[l].held > 0 ? group_row_[l].level : 0;
    members_[l].clear();
    group_row_[l].held = 0;
    if (l < table_.link_count()) {
      open_row(l, capacity_[l], most_[l]);
    } else {
      const double limit = table_.limit(owner_[l - table_.link_count()]);
      open_row(l, limit, limit);
    }
  }
  for (std::uint32_t f = 0; f < table_.rows(); ++f) {
    if (!table_.alive(f)) continue;
    know(f);
    const std::uint32_t link = bottleneck[f].valid() ? bottleneck[f].index() : own_[f];
    WEFT_CHECK(link != kNone, "a flow that nothing holds back");
    if (group_[f] != link) note_moved(f);
    group_row_[link].level = std::max(group_row_[link].level, rate[f] / table_.weight(f));
    bind(f, link);
  }
  for (std::uint32_t f = 0; f < table_.rows(); ++f) {
    if (!table_.alive(f)) continue;
    const double level = group_row_[group_[f]].level;
    const auto cross = [&](std::uint32_t link) {
      Row& r = row_[link];
      r.give(-r.quanta(level * table_.weight(f)));
      if (group_[f] != link) r.highest = std::max(r.highest, level);
    };
    for (const LinkId l : table_.route(f)) cross(l.index());
    if (own_[f] != kNone) cross(own_[f]);
  }
  for (std::uint32_t l = 0; l < row_.size(); ++l) {
    set_thresholds(l);
    if (row_[l].off()) due(l);
    if (group_row_[l].held > 0 && (l >= old.size() || group_row_[l].level != old[l])) note_changed(l);
    group_row_[l].promise = group_row_[l].level * kPromise;
  }
  for (std::uint32_t l = 0; l < table_.link_count(); ++l) sweep(l);
}

// Makes the link calm if that is worth while.
void LevelGroups::sweep(std::uint32_t link) {
  const Row& r = row_[link];
  if (calm_[link] != 0 || group_row_[link].held > 0 || table_.count_on(link) == 0) return;
  if (r.bytes(r.free_in_64()) > kCalmRoom * capacity_[link]) try_calm(link);
}

// Row `link`, the next one or one that is used again. `most`: what it ever has.
void LevelGroups::open_row(std::uint32_t link, double capacity, double most) {
  if (link >= row_.size()) {
    row_.emplace_back();
    group_row_.emplace_back();
    if (link >= members_.size()) members_.emplace_back();
    changed_at_.push_back(0);
  }
  Row& r = row_[link];
  r = {};
  group_row_[link].level = 0;
  int exponent = 0;
  (void)std::frexp(most, &exponent);               // most < 2^exponent
  exponent = std::clamp(exponent, -60, kLargest);  // a limit may be any number; float holds these
  r.set_to_quanta(61 - exponent);
  r.set_free(r.quanta(std::min(capacity, std::ldexp(1.0, kLargest))));
}

template <class Each>
void LevelGroups::for_each_active(const Member& m, std::uint32_t link, Each each) const {
  if (m.others != kLong) {
    with_others(m, [&](auto other) {
      for (std::uint32_t i = 0; i < m.active; ++i) each(std::uint32_t{other[i]});
    });
    return;
  }
  for (const LinkId l : table_.route(m.flow))
    if (l.index() != link && calm_[l.index()] == 0) each(l.index());
  if (own_[m.flow] != kNone && own_[m.flow] != link) each(own_[m.flow]);
}

template <class Each>
void LevelGroups::for_each_calm(const Member& m, std::uint32_t link, Each each) const {
  if (m.others != kLong) {
    with_others(m, [&](auto other) {
      for (std::uint32_t i = m.active; i < m.others; ++i) each(std::uint32_t{other[i]});
    });
    return;
  }
  for (const LinkId l : table_.route(m.flow))
    if (l.index() != link && calm_[l.index()] != 0) each(l.index());
}

// Of a calm link; the promises may no longer fit.
inline void LevelGroups::give_calm(std::uint32_t link, std::int64_t quanta) {
  Row& r = row_[link];
  const bool fitted = r.high() >= 0;
  r.give(quanta);
  if (fitted && r.high() < 0) overdrawn_.push_back(link);
}

// A flow on a calm link has another promise, both in bytes/s.
inline void LevelGroups::promise(std::uint32_t link, double before, double after) {
  const Row& r = row_[link];
  give_calm(link, r.quanta(before) - r.quanta(after));
}

// `link` of the flow's route has become calm, or active.
void LevelGroups::regroup(std::uint32_t flow, std::uint32_t link, bool calm) {
  Member& m = members_[group_[flow]][place_[flow]];
  if (m.others == kLong) return;
  with_others(m, [&](auto other) {
    std::uint32_t at = 0;
    while (other[at] != link) ++at;
    std::swap(other[at], other[calm ? --m.active : m.active++]);
  });
}

void LevelGroups::try_calm(std::uint32_t link) {
  Row& r = row_[link];
  Quanta free = r.quanta(capacity_[link]);
  for (const FlowTable::Entry e : table_.flows_on(link))
    free -= r.quanta(group_row_[group_[e.flow]].promise * table_.weight(e.flow));
  if (free < 0) return;
  r.set_free(free);
  calm_[link] = 1;
  for (const FlowTable::Entry e : table_.flows_on(link)) regroup(e.flow, link, true);
}

void LevelGroups::wake(std::uint32_t link) {
  if (calm_[link] == 0) return;
  calm_[link] = 0;
  Row& r = row_[link];
  r.set_free(r.quanta(capacity_[link]));
  r.highest = 0;
  for (const FlowTable::Entry e : table_.flows_on(link)) {
    if (group(e.flow) == kNone) continue;  // about to be added
    const double level = group_row_[group_[e.flow]].level;
    r.give(-r.quanta(level * table_.weight(e.flow)));
    r.highest = std::max(r.highest, level);
    regroup(e.flow, link, false);
  }
  set_thresholds(link);
  if (r.off()) due(link);
}

void LevelGroups::wake_overdrawn() {
  for (const std::uint32_t link : overdrawn_) wake(link);
  overdrawn_.clear();
}

void LevelGroups::bind(std::uint32_t flow, std::uint32_t link) {
  Member m;
  m.flow = flow;
  const auto add = [&](std::uint32_t other) {
    if (other == link || m.others == kLong) return;
    with_others(m, [&](auto others) {
      using Number = typename decltype(others)::value_type;
      if (m.others == others.size() || other > std::numeric_limits<Number>::max())
        m.others = kLong;
      else
        others[m.others++] = static_cast<Number>(other);
    });
  };
  for (const LinkId l : table_.route(flow))
    if (calm_[l.index()] == 0) add(l.index());
  if (own_[flow] != kNone) add(own_[flow]);
  m.active = m.others;
  for (const LinkId l : table_.route(flow))
    if (calm_[l.index()] != 0) add(l.index());
  group_[flow] = link;
  place_[flow] = static_cast<std::uint32_t>(members_[link].size());
  members_[link].push_back(m);
  group_row_[link].first = members_[link].data();
  ++group_row_[link].held;
  longest_ = std::max(longest_, table_.route(flow).size() + 1);
}

void LevelGroups::unbind(std::uint32_t flow) {
  const std::uint32_t link = group_[flow];
  std::vector<Member>& m = members_[link];
  m[place_[flow]] = m.back();
  place_[m.back().flow] = place_[flow];
  m.pop_back();
  --group_row_[link].held;
  set_thresholds(link);
}

// Where the level or the group changed.
void LevelGroups::set_thresholds(std::uint32_t link) {
  Row& r = row_[link];
  const Group& g = group_row_[link];
  const double rounding = flows_on(link) + 1.0;
  if (g.held == 0) {
    // Of what it has, not less than half of the power of two above the most that it ever has.
    const double all = link < table_.link_count() ? capacity_[link] * r.to_quanta() : 0x1p60;
    r.slack = static_cast<float>(same_rate_ * std::min(all, 0x1p60) + rounding);
    r.bar = kInfinity;
    return;
  }
  double weight = g.held;
  if (table_.weighted() > 0) {
    weight = 0;
    for (const Member& m : members_[link]) weight += table_.weight(m.flow);
  }
  r.slack = static_cast<float>(same_rate_ * g.level * weight * r.to_quanta() + rounding);
  r.bar = g.level * (1 + same_level_);
}

void LevelGroups::due(std::uint32_t link) {
  Group& g = group_row_[link];
  if ((g.state & kDue) != 0) return;
  __builtin_prefetch(g.first);
  __builtin_prefetch(g.first + 2);
  __builtin_prefetch(g.first + 4);
  const double key = g.held > 0 ? g.level : row_[link].highest;
  if (g.state == 0) {
    touched_.push_back(link);
    g.state = static_cast<std::uint32_t>(touched_.size()) | kDue;
    queue_.add(key);
  } else {
    g.state |= kDue;
    queue_.set((g.state & ~kDue) - 1, key);
  }
}

void LevelGroups::forget_reported() {
  if (!reported_) return;
  changed_.clear();
  moved_.clear();
  reported_ = false;
}

void LevelGroups::note_changed(std::uint32_t group) {
  if (changed_at_[group] == solve_) return;
  changed_at_[group] = solve_;
  changed_.push_back(group);
}

void LevelGroups::note_moved(std::uint32_t flow) {
  if (moved_at_[flow] == solve_) return;
  moved_at_[flow] = solve_;
  moved_.push_back(flow);
}

void LevelGroups::add(std::uint32_t flow) {
  know(flow);
  // It joins the group where it will probably get least; solve() mends what was a wrong guess.
  std::uint32_t best = kNone;
  double least = kInfinity;
  const double weight = table_.weight(flow);
  const auto look = [&](std::uint32_t link) {
    const Row& r = row_[link];
    const Group& g = group_row_[link];
    const double n = g.held;
    const double room = r.bytes(std::max<std::int64_t>(0, r.free_in_64()));
    const double level =
        g.held > 0
            ? (g.level * n + room) / (n + 1)
            : std::max(room, (link < capacity_.size() ? capacity_[link] : room) / flows_on(link)) / weight;
    if (level < least) {
      least = level;
      best = link;
    }
  };
  for (const LinkId l : table_.route(flow)) look(l.index());
  if (own_[flow] != kNone) look(own_[flow]);
  if (best < calm_.size()) wake(best);
  if (group_row_[best].held == 0) {
    group_row_[best].level = least;
    group_row_[best].promise = least * kPromise;
  }
  bind(flow, best);
  set_thresholds(best);
  forget_reported();
  note_moved(flow);
  const double level = group_row_[best].level;
  const Member m = members_[best].back();
  for_each_active(m, best, [&](std::uint32_t link) {
    if (update(link, 0, level * weight, level)) due(link);
  });
  for_each_calm(m, best, [&](std::uint32_t link) { promise(link, 0, group_row_[best].promise * weight); });
  Row& r = row_[best];
  r.give(-r.quanta(level * weight));
  if (r.off()) due(best);
  wake_overdrawn();
}

void LevelGroups::remove(std::uint32_t flow) {
  const double rate = this->rate(flow);
  const double promised = group_row_[group_[flow]].promise * table_.weight(flow);
  unbind(flow);
  for (const LinkId l : table_.route(flow)) {
    if (calm_[l.index()] != 0)
      promise(l.index(), promised, 0);
    else if (update(l.index(), rate, 0, 0))
      due(l.index());
  }
  if (own_[flow] != kNone) {
    if (update(own_[flow], rate, 0, 0)) due(own_[flow]);
    free_own_.push_back(own_[flow]);
    own_[flow] = kNone;
  }
  group_[flow] = kNone;
}

void LevelGroups::change_capacity(std::uint32_t link, double before) {
  Row& r = row_[link];
  const std::int64_t more = r.quanta(capacity_[link]) - r.quanta(before);
  if (calm_[link] != 0) {
    give_calm(link, more);
    return wake_overdrawn();
  }
  r.give(more);
  set_thresholds(link);
  if (r.off()) due(link);
}

inline void LevelGroups::consider(std::uint32_t flow, std::uint32_t link, double bar, double& rest) {
  if (group_[flow] == link) return;
  const double level = group_row_[group_[flow]].level;
  if (level > bar)
    candidates_.push_back({level, flow});
  else
    rest = std::max(rest, level);
}

// The link's group shares what the other flows leave; those that are above its level join, highest first.
template <bool kWeighted>
void LevelGroups::share(std::uint32_t link) {
  Row& r = row_[link];
  Group& g = group_row_[link];
  const std::size_t had = g.held;
  if (had == 0 && !r.off()) return;
  ++links_visited_;
  const double before = g.level;
  Quanta room = r.free();
  double weight = 0;
  if constexpr (kWeighted) {
    for (const Member& m : members_[link]) {
      const double w = table_.weight(m.flow);
      weight += w;
      room += r.quanta(before * w);
    }
  } else {
    weight = static_cast<double>(had);
    room += static_cast<Quanta>(had) * r.quanta(before);
  }
  // Not more than the capacity, but for rounding.
  const auto level_now = [&] {
    return r.bytes(static_cast<std::int64_t>(std::max<Quanta>(0, room))) / weight;
  };
  double level = had > 0 ? level_now() : 0;
  candidates_.clear();
  std::size_t joining = 0;
  if (r.highest > level * (1 + same_level_)) {
    double rest = 0;
    const double bar = level * (1 + same_level_);
    if (link < table_.link_count())
      for (const FlowTable::Entry e : table_.flows_on(link)) consider(e.flow, link, bar, rest);
    else
      consider(owner_[link - table_.link_count()], link, bar, rest);
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return a.level != b.level ? a.level > b.level : a.flow < b.flow;
    });
    for (; joining < candidates_.size(); ++joining) {
      const Candidate& c = candidates_[joining];
      if (weight > 0 && c.level <= level * (1 + same_level_)) {
        rest = std::max(rest, c.level);
        break;
      }
      const double w = kWeighted ? table_.weight(c.flow) : 1.0;
      room += r.quanta(c.level * w);
      weight += w;
      level = level_now();
    }
    r.highest = rest;
  }
  if (joining == 0 && std::abs(level - before) <= same_rate_ * before) return;
  flows_visited_ += had + joining;
  note_changed(link);
  g.level = level;
  const double promised = g.promise;
  const bool renew = level > promised || level * kStalePromise < promised;
  if (renew) g.promise = level * kPromise;
  due_.resize(std::max(due_.size(), (had + joining) * longest_));
  std::size_t due_count = 0;
  const auto pass_on = [&](std::uint32_t other, double old_rate, double new_rate) {
    due_[due_count] = other;
    due_count += update(other, old_rate, new_rate, level) ? 1 : 0;
  };
  for (std::size_t i = 0; i < had; ++i) {
    const Member& m = members_[link][i];
    const double w = kWeighted ? table_.weight(m.flow) : 1.0;
    const double new_rate = level * w;
    room -= r.quanta(new_rate);
    for_each_active(m, link, [&](std::uint32_t other) { pass_on(other, before * w, new_rate); });
    if (renew)
      for_each_calm(m, link, [&](std::uint32_t other) { promise(other, promised * w, g.promise * w); });
  }
  for (std::size_t i = 0; i < joining; ++i) {
    const std::uint32_t flow = candidates_[i].flow;
    const double w = kWeighted ? table_.weight(flow) : 1.0;
    const double old_promise = group_row_[group_[flow]].promise;
    unbind(flow);
    bind(flow, link);
    note_moved(flow);
    room -= r.quanta(level * w);
    const Member& m = members_[link].back();
    for_each_active(m, link,
                    [&](std::uint32_t other) { pass_on(other, candidates_[i].level * w, level * w); });
    for_each_calm(m, link, [&](std::uint32_t other) { promise(other, old_promise * w, g.promise * w); });
  }
  r.set_free(room);
  set_thresholds(link);
  for (std::size_t i = 0; i < due_count; ++i) due(due_[i]);
  wake_overdrawn();
}

bool LevelGroups::solve() {
  forget_reported();
  std::erase_if(moved_, [&](std::uint32_t flow) { return group_[flow] == kNone; });  // they left again
  links_visited_ = flows_visited_ = 0;
  const std::uint64_t most = most_visits_ > 0 ? most_visits_ : kVisits + kVisitsPerLink * row_.size();
  const bool weighted = table_.weighted() > 0;
  bool done = true;
  while (done) {
    const double lowest = queue_.lowest(
        [&](std::uint32_t slot) {
          return (group_row_[touched_[slot]].state & kDue) != 0 ? queue_.key(slot) : LevelQueue::kNever;
        },
        [&](std::uint32_t slot) { __builtin_prefetch(&group_row_[touched_[slot]]); });
    if (lowest == LevelQueue::kNever) break;
    const std::uint32_t link = touched_[queue_.winner()];
    queue_.drop_winner();
    group_row_[link].state &= ~kDue;
    weighted ? share<true>(link) : share<false>(link);
    done = links_visited_ <= most;
  }
  for (const std::uint32_t link : touched_) group_row_[link].state = 0;
  touched_.clear();
  queue_.clear();
  for (std::uint32_t i = 0; i < std::min(kSweep, table_.link_count()); ++i) {
    if (++sweep_ >= table_.link_count()) sweep_ = 0;
    sweep(sweep_);
  }
  if (!done) return false;  // what it has named so far is still to be told
  reported_ = true;
  ++solve_;
  WEFT_CHECK(solve_ != 0, "more than 2^32 solves by one model");
  return true;
}

}  // namespace weft::congestion
