#include "replay/why/wait_states.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "core/numbers/shares.hpp"

namespace weft::replay {

namespace {

using traces::OpKind;

constexpr std::uint64_t key(std::uint32_t high, std::uint32_t low) {
  return (std::uint64_t{high} << 32) | low;
}
// Nothing: who waits for whom is not a matter of the collective alone (neighbourhood collectives).
std::optional<WaitKind> kind_of(OpKind k) {
  if (k >= OpKind::neighbor_allgather && k <= OpKind::neighbor_alltoallw) return std::nullopt;
  switch (k) {
    case OpKind::barrier:
      return WaitKind::kBarrier;
    case OpKind::bcast:
    case OpKind::scatter:
    case OpKind::scatterv:
      return WaitKind::kLateBroadcast;
    case OpKind::reduce:
    case OpKind::gather:
    case OpKind::gatherv:
      return WaitKind::kEarlyReduce;
    case OpKind::scan:
    case OpKind::exscan:
      return WaitKind::kEarlyScan;
    default:
      return WaitKind::kNxN;
  }
}

bool all_wait_for_all(std::optional<WaitKind> k) { return k == WaitKind::kBarrier || k == WaitKind::kNxN; }

}  // namespace

WaitStates::WaitStates(bool on, bool known_at_once, const Communicators& comms, const Ranks& ranks,
                       const Agenda& agenda)
    : on_(on), known_at_once_(known_at_once), comms_(comms), ranks_(ranks), agenda_(agenda) {
  if (on_) logs_.resize(ranks.count());
}

// ---- What ranks do.

// What the rank did up to `until` is a stretch; `not_yet` of its computation comes later.
void WaitStates::cut(std::uint32_t rank, Tick until, Elapsed not_yet) {
  Log& log = logs_[rank];
  if (until <= log.until) return;
  const Elapsed computed = ranks_[rank].total(Part::kCompute) - not_yet;
  const Tick total = computed.rounded().count();
  const Tick length = until - log.until;
  const Stretch s{log.until, until, std::clamp<Tick>(total - log.computed, 0, length), log.region};
  log.computed = total;
  log.until = until;
  // Joined where nothing is lost by it.
  if (!log.stretches.empty()) {
    Stretch& b = log.stretches.back();
    const bool same =
        (b.computed == 0 && s.computed == 0) || (b.computed == b.end - b.begin && s.computed == length);
    if (same && b.end == s.begin && b.region == s.region) {
      b.end = s.end;
      b.computed += s.computed;
      return;
    }
  }
  log.stretches.push_back(s);
}

void WaitStates::enters(std::uint32_t rank, std::uint32_t region) {
  if (!on_) return;
  cut(rank, now());
  logs_[rank].region = region;
}

void WaitStates::add(std::uint32_t activity, Tick size) {
  if (size == 0) return;
  if (activity >= activity_.size()) activity_.resize(activity + std::size_t{1}, 0);
  if (activity_[activity] == 0) activities_.push_back(activity);
  activity_[activity] += size;
}

void WaitStates::add_activity(std::uint32_t rank, Tick from, Tick to, Tick sign) {
  const auto& list = logs_[rank].stretches;
  auto s = std::partition_point(list.begin(), list.end(), [&](const Stretch& x) { return x.begin < to; });
  while (s != list.begin() && (--s)->end > from) {
    const Tick length = s->end - s->begin;
    const Tick inside = std::min(s->end, to) - std::max(s->begin, from);
    // Of a stretch that is not counted in full its parts are taken to be even over it.
    const Tick computed =
        inside == length ? s->computed : static_cast<Tick>(network::Ticks{s->computed} * inside / length);
    const std::uint32_t region = 2 * (s->region + 1);  // kNone + 1 is 0
    add(region, sign * computed);
    add(region + 1, sign * (inside - computed));
  }
}

// ---- Who met whom. Waits end when a send is called, and ranks meet when it is posted or its receive called: so stretches
// are cut there.

void WaitStates::called_send(const Message& m) {
  cut(m.src, tick(m.called()));
  cut(m.src, now());
}

void WaitStates::called_receive(std::uint32_t receive, std::uint32_t rank) {
  if (receive >= receives_.size()) receives_.resize(receive + std::size_t{1});
  receives_[receive] = now();
  cut(rank, now());
}

void WaitStates::pair_met(const Message& m, std::uint32_t receive, bool late) {
  if (m.src == m.dst || (m.state & kCollective) != 0) return;
  // The receive may have been called while the message was on its way.
  const Tick when = late ? now() : std::max(tick(m.posted), receives_[receive]);
  pair_met(m.src, m.dst, when);
  pair_met(m.dst, m.src, when);
}

// What happens while `of` is blocked must not hide what was before: the wait is looked at when it is over.
void WaitStates::pair_met(std::uint32_t of, std::uint32_t with, Tick when) {
  Met& met = met_[key(of, with)];
  const Tick blocked = tick(ranks_[of].blocked_since);
  if (met.last <= blocked)
    met.before = met.last;
  else if (when <= blocked)
    met.before = std::max(met.before, when);
  met.last = std::max(met.last, when);
}

std::uint32_t& WaitStates::count_of(std::uint32_t rank, std::uint32_t comm) {
  auto& calls = logs_[rank].calls;
  const auto at = std::lower_bound(calls.begin(), calls.end(), std::pair{comm, std::uint32_t{0}});
  if (at != calls.end() && at->first == comm) return at->second;
  return calls.insert(at, {comm, 0})->second;
}

WaitStates::Tick WaitStates::last_met(std::uint32_t rank, std::uint32_t other, Tick by) const {
  Tick latest = 0;
  if (const auto found = met_.find(key(rank, other)); found != met_.end()) {
    const Met& met = found->second;
    latest = met.last <= by ? met.last : met.before;
  }
  const auto until = [by](const std::vector<Joined>& list) {
    return std::upper_bound(list.begin(), list.end(), by,
                            [](Tick t, const Joined& at) { return t < at.when; });
  };
  // Backwards through what both joined: where one joined, and the other had, they met at that instant, and not later.
  const auto& mine = logs_[rank].joined;
  const auto& others = logs_[other].joined;
  for (auto i = until(mine), j = until(others); i != mine.begin() || j != others.begin();) {
    const bool is_mine = j == others.begin() || (i != mine.begin() && (i - 1)->when >= (j - 1)->when);
    const Joined& at = is_mine ? *--i : *--j;
    if (at.when <= latest) break;
    if (is_mine ? both_joined(at, rank, other) : both_joined(at, other, rank)) return at.when;
  }
  return latest;
}

bool WaitStates::both_joined(const Joined& at, std::uint32_t rank, std::uint32_t other) const {
  const std::int64_t me = comms_.rank_in(at.comm, other);
  if (me < 0) return false;
  const Meetings& meetings = meetings_[at.comm];
  const Meeting& m = meetings.list[at.nth];
  if (m.row == kNone) return true;
  if (m.kind == WaitKind::kEarlyScan) return me < comms_.rank_in(at.comm, rank);
  // Where there is a root to wait for, it had come.
  const Tick came = meetings.comings[m.row * comms_.members(at.comm).size() + static_cast<std::size_t>(me)];
  return came >= 0 && came <= at.when;
}

// ---- Waits.

void WaitStates::woken(std::uint32_t rank, const Message& m, bool sender) {
  if (!on_) return;
  const Tick from = tick(ranks_[rank].blocked_since);
  if (!sender) return waited(rank, m.src, from, tick(m.called()), WaitKind::kLateSender);
  if (leaves_at_once(m.protocol)) return;
  // What the request takes on its way is not the receiver's fault.
  const Tick asked = tick(known_at_once_ ? m.posted : m.visible);
  const Tick both = tick(m.matched + (kNoTime - m.waited_for_turn()));
  waited(rank, m.dst, std::max(from, asked), both, WaitKind::kLateReceiver);
}

std::uint32_t WaitStates::come(std::uint32_t rank, std::uint32_t comm, std::optional<WaitKind> kind,
                               Tick when) {
  if (comm >= meetings_.size()) meetings_.resize(comm + std::size_t{1});
  Meetings& meetings = meetings_[comm];
  const std::uint32_t nth = count_of(rank, comm)++;
  if (nth >= meetings.list.size()) {
    Meeting& m = meetings.list.emplace_back();
    m.kind = kind;
    if (!all_wait_for_all(kind)) {
      m.row = meetings.rows++;
      meetings.comings.resize(meetings.rows * comms_.members(comm).size(), -1);
    }
  }
  Meeting& m = meetings.list[nth];
  m.last = std::max(m.last, when);
  return nth;
}

void WaitStates::comes(std::uint32_t run, std::uint32_t rank, const Call& call) {
  if (!on_) return;
  cut(rank, now());
  const std::uint32_t nth = come(rank, call.comm, kind_of(call.kind), now());
  Meeting& m = meetings_[call.comm].list[nth];
  m.last_rank = rank;
  if (call.me == call.root) {
    m.root = now();
    m.root_rank = rank;
  } else if (m.first_rank == kNone) {
    m.first = now();
    m.first_rank = rank;
  }
  if (run >= runs_.size()) runs_.resize(run + std::size_t{1});
  runs_[run] = {call, nth};
  joins(call, nth);
}

void WaitStates::joins(const Call& call, std::uint32_t nth) {
  const auto& members = comms_.members(call.comm);
  const auto joined_by = [&](std::size_t me) {
    joined(static_cast<std::uint32_t>(members[me]), {now(), call.comm, nth});
  };
  Meeting& m = meetings_[call.comm].list[nth];
  if (m.row == kNone) {
    if (++m.came < members.size()) return;
    for (std::size_t i = 0; i < members.size(); ++i) joined_by(i);
    return;
  }
  coming(call.comm, m, call.me) = now();
  if (m.kind == WaitKind::kEarlyScan) {
    for (; m.came < members.size() && coming(call.comm, m, m.came) >= 0; ++m.came) joined_by(m.came);
  } else if (m.kind != WaitKind::kLateBroadcast) {
    joined_by(call.me);
  } else if (call.me == call.root) {
    for (std::size_t i = 0; i < members.size(); ++i)
      if (coming(call.comm, m, i) >= 0) joined_by(i);
  } else if (m.root_rank != kNone) {
    joined_by(call.me);
  }
}

void WaitStates::joined(std::uint32_t rank, Joined at) {
  auto& list = logs_[rank].joined;
  list.push_back(at);
  // A series may be told later than it was joined.
  for (auto i = list.end() - 1; i != list.begin() && (i - 1)->when > i->when; --i) std::swap(*i, *(i - 1));
}

void WaitStates::woken_by_run(std::uint32_t rank, std::uint32_t run) {
  if (!on_) return;
  const auto& [call, nth] = runs_[run];
  const Meeting& m = meetings_[call.comm].list[nth];
  if (!m.kind) return;
  std::pair<Tick, std::uint32_t> late{m.last, m.last_rank};
  if (*m.kind == WaitKind::kLateBroadcast) {
    late = {m.root, m.root_rank};
  } else if (*m.kind == WaitKind::kEarlyReduce) {
    late = {m.first, call.me == call.root ? m.first_rank : kNone};
  } else if (*m.kind == WaitKind::kEarlyScan) {
    const auto& members = comms_.members(call.comm);
    late = {-1, kNone};
    for (std::size_t i = 0; i <= call.me; ++i)
      late = std::max(late, {coming(call.comm, m, i), static_cast<std::uint32_t>(members[i])});
  }
  if (late.second == kNone) return;
  waited(rank, late.second, tick(ranks_[rank].blocked_since), std::min(now(), late.first), *m.kind);
}

void WaitStates::in_series(std::uint32_t rank, std::uint32_t comm, std::uint32_t last, Instant end,
                           Elapsed computed) {
  if (!on_) return;
  const Tick began = tick(ranks_[rank].op_start), all_there = tick(ranks_[last].op_start);
  cut(rank, began, computed);
  cut(last, all_there);
  joined(rank, {all_there, comm, come(rank, comm, WaitKind::kNxN, all_there)});
  // It may compute before its first exchange, too.
  const Tick idle = tick(end) - computed.rounded().count();
  waited(rank, last, began, std::min(now(), idle), WaitKind::kNxN, computed);
}

void WaitStates::waited(std::uint32_t rank, std::uint32_t late, Tick begin, Tick end, WaitKind kind,
                        Elapsed not_yet) {
  if (end <= begin || late == rank) return;
  Log& log = logs_[rank];
  cut(rank, begin, not_yet);
  Wait w;
  w.begin = begin;
  w.end = end;
  w.rank = rank;
  w.late = late;
  w.kind = kind;
  w.region = log.region;
  w.nth = static_cast<std::uint32_t>(log.waits.size());
  find_delays(w);
  log.waits.push_back(static_cast<std::uint32_t>(waits_.size()));
  log.until = end;
  waits_.push_back(w);
}

void WaitStates::find_delays(Wait& w) {
  w.delays = delays_.size();
  const Tick met = last_met(w.rank, w.late, w.begin);
  add_activity(w.late, met, w.end, 1);
  add_activity(w.rank, met, w.begin, -1);
  Tick found = 0;
  std::sort(activities_.begin(), activities_.end());
  for (const std::uint32_t a : activities_) {
    const Tick size = std::exchange(activity_[a], 0);
    if (size <= 0) continue;
    delays_.push_back({a, size});
    found += size;
  }
  activities_.clear();
  const auto& theirs = logs_[w.late].waits;
  const auto first = std::partition_point(theirs.begin(), theirs.end(),
                                          [&](std::uint32_t i) { return waits_[i].begin < met; });
  const auto end =
      std::partition_point(first, theirs.end(), [&](std::uint32_t i) { return waits_[i].end <= w.end; });
  w.from = static_cast<std::uint32_t>(first - theirs.begin());
  w.to = static_cast<std::uint32_t>(end - theirs.begin());
  if (w.from > 0) w.clipped = std::max<Tick>(0, waits_[theirs[w.from - 1]].end - met);
  // Both had the same time since they met, the late one without this wait: so it did something more, or waited, unless
  // what it is in the middle of is not known yet.
  if (found == 0 && w.clipped == 0 && w.from == w.to)
    delays_.push_back({2 * (logs_[w.late].region + 1) + 1, w.size()});
}

// ---- The blame.

// A wait is blamed on a range of waits in proportion to their sizes. While the waits of a rank are gone through
// backwards, `density` is the blame per tick of all ranges that are open, and `open` what of it is not handed out: the
// last wait of the last open range takes what is left, so nothing is lost.
struct WaitStates::Blame {
  struct Edge {
    double begins = 0, ends = 0;  // densities
    Sum amount = 0;               // of those that begin
    std::int32_t begin = 0, end = 0;
  };
  std::vector<Edge> edges;  // by wait of the rank
  std::vector<Tick> total;  // sizes of the waits before each, and of all
  std::vector<Sum> extra;   // by wait: blamed on it alone
  double density = 0;
  Sum open = 0;
  std::int32_t ranges = 0;

  void blame(std::uint32_t from, std::uint32_t to, Sum amount) {
    if (amount == 0) return;
    const double d = static_cast<double>(amount) / static_cast<double>(total[to] - total[from]);
    Edge& last = edges[to - 1];
    last.begins += d;
    last.amount += amount;
    ++last.begin;
    edges[from].ends += d;
    ++edges[from].end;
  }
  // What comes to wait i, the next one backwards.
  Sum take(std::uint32_t i) {
    const Edge& e = edges[i];
    density += e.begins;
    open += e.amount;
    ranges += e.begin - e.end;
    Sum mine = open;
    if (ranges > 0)
      mine = std::clamp<Sum>(
          static_cast<Sum>(std::round(density * static_cast<double>(total[i + 1] - total[i]))), 0, open);
    open -= mine;
    density = ranges > 0 ? density - e.ends : 0;
    return mine + extra[i];
  }
};

WaitResult WaitStates::result(std::size_t regions) {
  WaitResult out;
  out.known = true;
  out.count = waits_.size();
  out.ranks.resize(logs_.size());
  out.regions.resize(regions + 1);
  std::vector<Blame> blames(logs_.size());
  for (std::size_t r = 0; r < logs_.size(); ++r) {
    const auto& mine = logs_[r].waits;
    blames[r].edges.resize(mine.size());
    blames[r].extra.resize(mine.size());
    blames[r].total.resize(mine.size() + 1);
    for (std::size_t i = 0; i < mine.size(); ++i)
      blames[r].total[i + 1] = blames[r].total[i] + waits_[mine[i]].size();
  }
  struct Cost {
    Sum direct = 0, propagated = 0;
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Cost> costs;       // by rank and activity
  std::map<std::pair<std::uint32_t, std::uint32_t>, Tick> waited_for;  // by who waited for whom
  for (std::size_t i = waits_.size(); i-- > 0;) {
    const Wait& w = waits_[i];
    const Sum handed_on = blames[w.rank].take(w.nth);
    const std::uint64_t delays_to = delays_end(i);
    Blame& late = blames[w.late];
    const Tick in_full = late.total[w.to] - late.total[w.from];
    Tick all = w.clipped + in_full;
    for (std::uint64_t d = w.delays; d < delays_to; ++d) all += delays_[d].size;
    Shares direct(w.size(), all), propagated(handed_on, all);
    for (std::uint64_t d = w.delays; d < delays_to; ++d) {
      Cost& c = costs[{w.late, delays_[d].activity}];
      c.direct += direct.next(delays_[d].size);
      c.propagated += propagated.next(delays_[d].size);
    }
    if (w.clipped > 0) late.extra[w.from - 1] += direct.next(w.clipped) + propagated.next(w.clipped);
    if (in_full > 0) late.blame(w.from, w.to, direct.next(in_full) + propagated.next(in_full));

    const Duration size(w.size());
    const auto kind = static_cast<std::size_t>(w.kind);
    const std::size_t region = w.region == kNone ? regions : w.region;
    for (WaitTimes* const t : {&out.all, &out.ranks[w.rank], &out.regions[region]}) t->kinds[kind] += size;
    waited_for[{w.rank, w.late}] += w.size();
  }
  for (const auto& [who, size] : waited_for) {
    WaitTimes& t = out.ranks[who.first];
    if (Duration(size) <= t.longest) continue;
    t.longest = Duration(size);
    t.longest_for = RankId(who.second);
  }
  for (const auto& [of, cost] : costs) {
    const std::uint32_t region = of.second / 2;  // 0: none
    DelayCost d;
    d.rank = RankId(of.first);
    if (region > 0) d.region = RegionId(region - 1);
    d.communication = of.second % 2 != 0;
    d.direct = TimeSum(cost.direct);
    d.propagated = TimeSum(cost.propagated);
    for (WaitTimes* const t :
         {&out.all, &out.ranks[of.first], &out.regions[region > 0 ? region - 1 : regions]}) {
      t->direct += d.direct;
      t->propagated += d.propagated;
    }
    if (d.cost() > TimeSum(0)) out.delays.push_back(d);
  }
  std::stable_sort(out.delays.begin(), out.delays.end(),
                   [](const DelayCost& a, const DelayCost& b) { return a.cost() > b.cost(); });
  return out;
}

TimeSum WaitTimes::waited() const {
  TimeSum sum;
  for (const TimeSum d : kinds) sum += d;
  return sum;
}

}  // namespace weft::replay
