// MaxMin: one filling of the flows that a change reaches, over what all others leave.
#include <algorithm>
#include <cmath>

#include "congestion/max_min.hpp"
#include "congestion/rounding.hpp"
#include "core/check.hpp"

namespace weft::congestion {
namespace {
constexpr std::uint32_t kFewStop = 8;  // flows whose rows need no hint
}

[[gnu::always_inline]] inline MaxMin::Link& MaxMin::touch(std::uint32_t link) {
  Link& l = link_[link];
  if (l.stamp == filling_) return l;
  l.stamp = filling_;
  l.filled_at = kInfinity;
  l.rising = 0;
  l.outside = table_.count_on(link);
  l.held = l.bound;
  l.place = static_cast<std::uint32_t>(touched_.size());
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
  // Tables do not grow meanwhile: where they are need not be looked up for each row.
  Link* const links = link_.data();
  Flow* const flows = flow_.data();
  std::uint32_t* const rising = rising_.data();
  const std::uint32_t filling = filling_;
  const std::uint32_t* const end = members_.end();
  for (const std::uint32_t* member = members_.begin() + from; member != end; ++member) {
    const std::uint32_t flow = *member;
    Flow& f = flows[flow];
    const double rate = f.rate;
    const double weight = kWeighted ? table_.weight(flow) : 1.0;
    rising[flow] = filling;
    if (limited && table_.limit(flow) < kInfinity) {
      limited_.push_back(flow);
      if constexpr (kRisingNow) std::push_heap(limited_.begin(), limited_.end(), later());
    }
    const auto rise = [&](std::uint32_t link) -> Link& {
      const bool fresh = kWeighted && links[link].stamp != filling;
      Link& l = touch(link);
      l.give(l.quanta(rate));
      if constexpr (kWeighted) weight_[link] = fresh ? weight : weight_[link] + weight;
      ++l.rising;
      --l.outside;
      if constexpr (kRisingNow)
        if (l.slot() < known && rate < levels_.key(l.slot()) * weight)
          levels_.set(l.slot(), key<kWeighted>(link));
      return l;
    };
    // Of the links that the flow has to itself only the narrowest can stop it, and that only where it is narrower than those
    // that it shares: of such a one others take a part.
    std::uint32_t own = kNone;
    double narrowest = kInfinity, shared = kInfinity;
    for (const LinkId id : route_of(flow)) {
      const std::uint32_t link = id.index();
      const double c = table_.capacity(link);
      if (table_.count_on(link) > 1) {
        rise(link);
        shared = std::min(shared, c);
      } else if (c < narrowest) {
        narrowest = c;
        own = link;
      }
    }
    if (narrowest < shared) {
      Link& l = rise(own);
      l.free = l.quanta(narrowest);
    } else {
      own = kNone;
    }
    f.next_bottleneck = own;  // until it stops
    if (f.bottleneck != kNone) --links[f.bottleneck].held;
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

inline void MaxMin::count_filling(std::size_t links) {
  stats_.flows_solved += members_.size();
  stats_.max_component = std::max(stats_.max_component, static_cast<std::uint32_t>(members_.size()));
  stats_.links_touched += links;
}

// Fills members_ over what all other flows leave; the result is in next_rate_ and next_bottleneck_. Others join on the
// way where the filling reaches them.
void MaxMin::fill() {
  begin_filling();
  open_ = 0;
  limited_.clear();
  if (table_.weighted() > 0)
    fill_links<true>();
  else
    fill_links<false>();
  count_filling(touched_.size());
}

inline void MaxMin::begin_filling() {
  ++filling_;
  touched_.clear();
  stopped_at_.clear();
}

// The flow is filled; true if it has its links to itself, so that no other is disturbed.
bool MaxMin::fill_alone(std::uint32_t flow) {
  Flow& f = flow_[flow];
  const std::span<const LinkId> route = route_of(flow);
  for (const LinkId id : route)
    if (table_.count_on(id.index()) > 1) return false;
  const Alone alone = alone_on(route, table_.limit(flow));
  f.next_rate = settled(flow, alone.rate);
  f.next_bottleneck = alone.bottleneck;
  if (alone.bottleneck != kNone) link_[alone.bottleneck].level = f.next_rate / table_.weight(flow);
  count_filling(alone.bottleneck != kNone ? 1 : 0);
  return true;
}

// Most fillings: all flows of a link and nobody else, as when one of them came or went. If all members share the same links,
// and no other flow is on these, then the narrowest stops all of them at once, and who has a link to itself is
// not stopped there: what fill(), disturbs() and commit() would find, to the last bit. False: it is not so, nothing was done.
bool MaxMin::fill_together() {
  if (table_.limited() > 0) return false;
  return table_.weighted() > 0 ? fill_alike<true>() : fill_alike<false>();
}

// The weights of members_ added up: in their order, as enter() does; in ascending order, as stop_at_link() does (of two
// it is the same).
inline double MaxMin::weight_of_members(bool ascending) {
  const IdStack* flows = &members_;
  if (ascending) {
    at_link_.assign({members_.begin(), members_.size()});
    std::sort(at_link_.begin(), at_link_.end());
    flows = &at_link_;
  }
  double sum = 0;
  for (const std::uint32_t flow : *flows) sum += table_.weight(flow);
  return sum;
}

template <bool kWeighted>
bool MaxMin::fill_alike() {
  const auto flows = static_cast<std::uint32_t>(members_.size());
  const double weights = kWeighted ? weight_of_members(false) : static_cast<double>(flows);
  Link* const links = link_.data();
  const std::uint32_t filling = ++filling_;
  const std::span<const LinkId> first = route_of(members_[0]);
  std::uint32_t shared = 0;
  std::uint32_t bottleneck = kNone;
  double level = kInfinity, own = kInfinity;
  for (const LinkId id : first) {
    const double c = table_.capacity(id.index());
    const std::uint32_t count = table_.count_on(id.index());
    if (count == 1) {
      own = std::min(own, c);
      continue;
    }
    if (count != flows) return false;
    links[id.index()].stamp = filling;
    ++shared;
    // A tie goes to the first link. A capacity is a whole number of quanta: room() would be the same.
    const double least = c / weights;
    if (least >= level) continue;
    level = least;
    bottleneck = id.index();
  }
  if (shared == 0) return false;
  const double wide = level * (1 + kSameLevel), narrowest = table_.capacity(bottleneck);
  const auto most = [&](std::uint32_t flow) { return kWeighted ? wide * table_.weight(flow) : wide; };
  if (own <= most(members_[0])) return false;
  std::uint32_t touched = shared + (own < narrowest ? 1 : 0);
  for (std::uint32_t i = 1; i < flows; ++i) {
    const std::uint32_t flow = members_[i];
    std::uint32_t with_others = 0;
    own = kInfinity;
    for (const LinkId id : route_of(flow)) {
      if (table_.count_on(id.index()) == 1)
        own = std::min(own, table_.capacity(id.index()));
      else if (links[id.index()].stamp == filling)
        ++with_others;
      else
        return false;
    }
    if (with_others != shared || own <= most(flow)) return false;
    if (own < narrowest) ++touched;
  }
  if (kWeighted && flows > 2) level = table_.capacity(bottleneck) / weight_of_members(true);
  for (const std::uint32_t flow : members_) {
    flow_[flow].next_rate = settled(flow, kWeighted ? level * table_.weight(flow) : level);
    flow_[flow].next_bottleneck = bottleneck;
  }
  const auto take = [&](std::uint32_t link) {
    Link& l = links[link];
    l.free = l.quanta(table_.capacity(link));
    for (const std::uint32_t flow : members_) l.free -= l.quanta(flow_[flow].next_rate);
  };
  if (shared == 1)
    take(bottleneck);
  else
    for (const LinkId id : first)
      if (table_.count_on(id.index()) > 1) take(id.index());
  links[bottleneck].level = level;
  count_filling(touched);
  return true;
}

// The flows of the link that are above that level.
template <bool kWeighted>
[[gnu::always_inline]] inline void MaxMin::join_above(std::uint32_t link, double level) {
  const double bar = level * (1 + kSameLevel);
  for (const FlowTable::Entry e : table_.flows_on(link))
    if (rate_[e.flow] > (kWeighted ? bar * table_.weight(e.flow) : bar)) join(e.flow);
}

// `link` stopped a flow alone at `level`; `held`: flows outside that it holds back. Those that are disturbed join: if the level is
// above what these have, they rise with it; else who is faster slows down.
[[gnu::always_inline]] inline void MaxMin::join_faster(std::uint32_t link, double level, std::uint32_t held) {
  const Link& l = link_[link];
  if (held > 0 && level > l.level * (1 + kSameLevel)) {
    join_bound(link);
  } else if (l.bound == 0 || level < l.level * (1 - kSameLevel)) {
    if (table_.weighted() > 0)
      join_above<true>(link, level);
    else
      join_above<false>(link, level);
  }
}

// One flow: its rate is the least room on its route, or its limit. Of a new one it is known at once whom it disturbs: only on the
// link that stops it, as on others it leaves less room than there was.
MaxMin::Single MaxMin::fill_one(std::uint32_t flow) {
  begin_filling();
  Flow& f = flow_[flow];
  const double old_rate = f.rate;
  double rate = table_.limit(flow);
  std::uint32_t bottleneck = kNone;
  for (const LinkId id : route_of(flow)) {
    const std::uint32_t link = id.index();
    double least = 0;
    if (table_.count_on(link) > 1) {
      Link& l = touch(link);
      --l.outside;
      l.free += l.quanta(old_rate);
      least = l.room();
    } else {
      least = table_.capacity(link);
    }
    // A tie goes to the first link.
    if (least < rate) {
      rate = least;
      bottleneck = link;
    }
  }
  rate = settled(flow, rate);
  const double level = rate / table_.weight(flow);
  const bool first = is_new(flow);
  if (first && bottleneck != kNone && table_.count_on(bottleneck) > 1) {
    join_faster(bottleneck, level, link_[bottleneck].held);
    if (members_.size() > 1) return Single::kDisturbs;
  }
  f.next_rate = rate;
  f.next_bottleneck = bottleneck;
  for (const std::uint32_t link : touched_) link_[link].free -= link_[link].quanta(rate);
  if (bottleneck != kNone) {
    Link& l = touch(bottleneck);
    if (table_.count_on(bottleneck) == 1) l.outside = 0;
    l.filled_at = level;
    stopped_at_.push_back(bottleneck);
  }
  if (f.bottleneck != kNone) --link_[f.bottleneck].held;
  count_filling(touched_.size());
  return first ? Single::kStands : Single::kFilled;
}

template <bool kWeighted>
[[gnu::always_inline]] inline void MaxMin::stop(std::uint32_t flow, double rate, std::uint32_t bottleneck) {
  rising_[flow] = 0;
  Link* const links = link_.data();
  Flow& f = flow_[flow];
  const bool slower = rate < f.rate * (1 - kSameLevel);
  rate = settled(flow, rate);
  f.next_rate = rate;
  if (f.next_bottleneck != kNone) links[f.next_bottleneck].rising = 0;  // its own link
  f.next_bottleneck = bottleneck;
  --open_;
  const double weight = kWeighted ? table_.weight(flow) : 1.0;
  for (const LinkId id : route_of(flow)) {
    if (table_.count_on(id.index()) == 1) continue;  // what is free there nobody asks
    Link& l = links[id.index()];
    l.give(-l.quanta(rate));
    if constexpr (kWeighted) weight_[id.index()] -= weight;
    --l.rising;
    if (slower && l.held > 0) freed_.push_back(id.index());
  }
}

// Stops all flows still rising on `link`, at `level`. Of many it tells the processor which, before the first.
template <bool kWeighted>
void MaxMin::stop_at_link(std::uint32_t link, double level) {
  Link& l = link_[link];
  stopped_at_.push_back(link);
  if constexpr (kWeighted) {
    // In ascending order, so that the sums do not depend on the order of the link's list; and with the weight
    // summed afresh, free of what cancellation left in it.
    at_link_.clear();
    for (const FlowTable::Entry e : table_.flows_on(link))
      if (rising_[e.flow] == filling_) at_link_.push_back(e.flow);
    if (at_link_.size() > 1) std::sort(at_link_.begin(), at_link_.end());
    double weight = 0;
    for (const std::uint32_t flow : at_link_) weight += table_.weight(flow);
    level = l.room() / weight;
    l.filled_at = level;
    for (const std::uint32_t flow : at_link_) stop<true>(flow, level * table_.weight(flow), link);
  } else {
    l.filled_at = level;
    const FlowTable::Entry* entry = table_.flows_on(link).data();
    const std::uint32_t* const rising = rising_.data();
    if (l.rising <= kFewStop) {
      for (std::uint32_t left = l.rising; left > 0; ++entry) {
        if (rising[entry->flow] != filling_) continue;
        stop<false>(entry->flow, level, link);
        --left;
      }
      return;
    }
    at_link_.clear();
    for (std::uint32_t left = l.rising; left > 0; ++entry) {
      if (rising[entry->flow] != filling_) continue;
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
  } else if ((l.place & Link::kSearched) == 0 && (l.bound == 0 || level < l.level * (1 - kSameLevel))) {
    l.place |= Link::kSearched;  // the level only rises from here
    join_above<kWeighted>(link, level);
  }
  if (members_.size() == before) return false;
  enter<kWeighted, true>(before);
  return true;
}

template <bool kWeighted>
void MaxMin::fill_links() {
  enter<kWeighted, false>(0);
  levels_.assign(touched_, [&](std::uint32_t link) { return key<kWeighted>(link); });
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
      levels_.set(link_[link].slot(), key<kWeighted>(link));
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
  filled_ = before;
  const bool alone = members_.size() == 1;
  for (const std::uint32_t link : touched_) {
    const Link& l = link_[link];
    if (l.outside == 0) continue;
    if (l.filled_at < kInfinity) {
      if (!alone) continue;  // pull() saw to it
      join_faster(link, l.filled_at, l.held);
    } else if (l.held > 0) {
      const double slack = kSameLevel * l.level * l.held + table_.count_on(link) / l.to_quanta;
      if (l.room() > slack) join_bound(link);
    }
  }
  return members_.size() > before;
}

// Undoes a filling of members_[0...filled_): they have again what they had before.
void MaxMin::take_back() {
  for (std::size_t i = 0; i < filled_; ++i) {
    const std::uint32_t flow = members_[i];
    for (const LinkId id : route_of(flow)) {
      if (table_.count_on(id.index()) == 1) continue;
      Link& l = link_[id.index()];
      l.give(l.quanta(flow_[flow].next_rate) - l.quanta(flow_[flow].rate));
    }
  }
}

}  // namespace weft::congestion
