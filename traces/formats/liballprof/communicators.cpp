#include "traces/formats/liballprof/communicators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "traces/formats/liballprof/parts.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces::allprof {
namespace {

// Comparisons of handles with what was made: bounds what a file can cost that makes and names very many.
constexpr std::uint64_t kMostWork = std::uint64_t{1} << 30;

class CommMaker {
 public:
  CommMaker(const std::vector<CommLog>& logs, const std::vector<std::string>& hosts, std::string where,
            Losses& losses)
      : logs_(logs), hosts_(hosts), where_(std::move(where)), losses_(losses), ranks_(logs.size()) {}

  Result<Communicators> run();

 private:
  using How = CommMade::How;
  // Who a communicator's members are and which of their handles it is.
  struct Group {
    Ranks members;                    // of the world, in its order; while `open`: those that may belong to it
    std::vector<LocalComm> local;     // of each member; kNone: not known (yet)
    std::vector<std::uint32_t> made;  // of each member, in its log; kNone: it was there from the start
    std::size_t next = 0;             // its call that is to be looked at next
    How how{};
    bool reorder = false;
    bool open = false;   // members and ranks are still to be told
    bool inter = false;  // its members are those of the local side
    bool done = false;   // no more calls
    bool real = true;    // one of the trace
  };
  // What a made communicator looks like to its rank.
  struct Expected {
    std::uint32_t call = kNone;         // kNone: not known yet
    std::uint32_t caller = 0;           // position in MadeBy::made
    std::uint32_t group = kNone;        // kNone: not known yet
    std::uint32_t member = 0;           // position in Group::members
    std::int32_t rank = -1, size = -1;  // -1: any
    bool none = false;                  // there is none for this rank
  };
  // A call that all members of a communicator made.
  struct MadeBy {
    std::uint32_t group;
    std::vector<std::uint32_t> made;  // of each member
  };
  struct Rank {
    std::vector<Expected> expected;                 // of each made
    std::vector<std::uint32_t> group_of, made_of;   // of each use
    std::vector<LocalComm> same_as;                 // of each use: the first one of the same communicator
    std::vector<std::uint32_t> claimed;             // of each use: the made that it was seen to be of
    std::vector<std::vector<std::uint32_t>> calls;  // by use: made, in order
    std::set<std::uint32_t> open_made, open_uses;   // not bound
  };

  [[nodiscard]] const CommUse& use(std::uint32_t rank, LocalComm u) const { return logs_[rank].uses[u]; }
  std::uint32_t add_group(Group g);
  Result<std::uint32_t> known_group(Ranks members, std::vector<std::uint32_t> made, How how);
  void expect(std::uint32_t group, bool shape);
  Result<bool> advance();
  Result<bool> step(std::uint32_t g);
  Result<bool> finish_one(bool whole);
  // How far handles are told apart: by what is certain, by likeness, and by likeness before all is known that could be alike.
  enum class Tell : std::uint8_t { sure, like, early };
  bool bind(Tell tell);
  bool bind_given(std::uint32_t rank, LocalComm u);
  void bind_predefined();
  bool bind_aliases();
  void go_on_as(std::uint32_t rank, LocalComm u, LocalComm first);
  void bind_to(std::uint32_t rank, LocalComm u, std::uint32_t made);
  // How well traffic goes together: in what must be the same, and in bytes, which a receive may have more room for.
  struct Score {
    std::int64_t traffic = 0, bytes = 0;
    bool can = false;  // no other member's handle is known, and one of another's can be
    auto operator<=>(const Score&) const = default;
  };
  [[nodiscard]] Score score(std::uint32_t rank, LocalComm u, const Expected& e);
  [[nodiscard]] bool goes_with_an_open_one(const CommUse& mine, const Expected& e);
  [[nodiscard]] bool used_before(const Expected& a, const Expected& b) const;
  [[nodiscard]] bool fits(std::uint32_t rank, LocalComm u, std::uint32_t made) const;
  [[nodiscard]] Error too_many() const;
  Communicators result();

  const std::vector<CommLog>& logs_;
  const std::vector<std::string>& hosts_;
  std::string where_;
  Losses& losses_;
  std::vector<Rank> ranks_;
  std::vector<Group> groups_;
  std::vector<MadeBy> calls_;
  std::uint64_t members_ = 0, work_ = 0;
};

Error CommMaker::too_many() const {
  Error e = not_supported("communicators of so many members or so many handles",
                          fmt::format("at most {} members", format::kMaxMembers));
  e.where = where_;
  return e;
}

std::uint32_t CommMaker::add_group(Group g) {
  g.local.assign(g.members.size(), kNone);
  members_ += g.members.size();
  groups_.push_back(std::move(g));
  return static_cast<std::uint32_t>(groups_.size() - 1);
}

// Tells the members of a group what to look for; `shape`: rank and size, too.
void CommMaker::expect(std::uint32_t id, bool shape) {
  const Group& g = groups_[id];
  const auto size = static_cast<std::int32_t>(g.members.size());
  for (std::uint32_t i = 0; i < g.members.size(); ++i) {
    if (g.made[i] == kNone) continue;
    Expected& e = ranks_[static_cast<std::size_t>(g.members[i])].expected[g.made[i]];
    e.group = id;
    e.member = i;
    if (shape) {
      e.rank = static_cast<std::int32_t>(i);
      e.size = size;
    }
  }
}

Result<std::uint32_t> CommMaker::known_group(Ranks members, std::vector<std::uint32_t> made, How how) {
  const std::uint32_t id =
      add_group({.members = std::move(members), .local = {}, .made = std::move(made), .how = how});
  if (members_ > format::kMaxMembers) return too_many();
  expect(id, true);
  return id;
}

// The next call of a communicator, once all its members are known to make it.
Result<bool> CommMaker::step(std::uint32_t id) {
  if (groups_[id].done || groups_[id].open || groups_[id].inter) return false;
  const std::size_t n = groups_[id].members.size();
  std::vector<std::uint32_t> made(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Group& g = groups_[id];
    if (g.local[i] == kNone) return false;
    const auto& calls = ranks_[static_cast<std::size_t>(g.members[i])].calls[g.local[i]];
    if (g.next >= calls.size()) {
      groups_[id].done = true;  // of all, or of one whose file ends early
      return false;
    }
    made[i] = calls[g.next];
  }
  const Ranks members = groups_[id].members;
  const auto made_of = [&](std::size_t i) -> const CommMade& {
    return logs_[static_cast<std::size_t>(members[i])].made[made[i]];
  };
  ++groups_[id].next;
  const How how = made_of(0).how;
  for (std::size_t i = 1; i < n; ++i)
    if (made_of(i).how != how) {
      groups_[id].done = true;  // handles were told apart wrongly: what follows stays unknown
      return false;
    }
  for (std::size_t i = 0; i < n; ++i) {
    Expected& e = ranks_[static_cast<std::size_t>(members[i])].expected[made[i]];
    e.call = static_cast<std::uint32_t>(calls_.size());
    e.caller = static_cast<std::uint32_t>(i);
  }
  calls_.push_back({id, made});
  switch (how) {
    case How::dup:
      WEFT_TRY(known_group(members, made, how));
      return true;
    case How::split: {
      std::map<std::int32_t, std::vector<std::size_t>> colors;
      for (std::size_t i = 0; i < n; ++i) {
        if (made_of(i).color < 0) {  // MPI_UNDEFINED
          ranks_[static_cast<std::size_t>(members[i])].expected[made[i]].none = true;
        } else {
          colors[made_of(i).color].push_back(i);
        }
      }
      for (auto& [color, some] : colors) {
        std::ranges::stable_sort(some, {}, [&](std::size_t i) { return made_of(i).key; });
        Ranks who;
        std::vector<std::uint32_t> theirs;
        for (const std::size_t i : some) {
          who.push_back(members[i]);
          theirs.push_back(made[i]);
        }
        WEFT_TRY(known_group(std::move(who), std::move(theirs), how));
      }
      return true;
    }
    default: {
      const std::uint32_t child = add_group({.members = members,
                                             .local = {},
                                             .made = made,
                                             .how = how,
                                             .reorder = made_of(0).reorder,
                                             .open = how != How::inter,
                                             .inter = how == How::inter,
                                             .real = false});
      if (members_ > format::kMaxMembers) return too_many();
      expect(child, how == How::inter);
      return true;
    }
  }
}

Result<bool> CommMaker::advance() {
  bool any = false;
  for (std::uint32_t g = 0; g < groups_.size(); ++g)
    for (;;) {
      WEFT_ASSIGN(const bool more, step(g));
      if (!more) break;
      any = true;
    }
  return any;
}

// Whether use `u` of the rank can be what it made there.
bool CommMaker::fits(std::uint32_t rank, LocalComm u, std::uint32_t made) const {
  const CommMade& m = logs_[rank].made[made];
  const Expected& e = ranks_[rank].expected[made];
  const CommUse& seen = use(rank, u);
  if (e.none || u < m.since || u >= m.until) return false;
  return (e.rank < 0 || e.rank == seen.rank) && (e.size < 0 || e.size == seen.size) &&
         (m.how == How::merge || seen.size <= use(rank, m.parent).size);
}

// How well the traffic of a handle goes with that of the other members of a communicator.
CommMaker::Score CommMaker::score(std::uint32_t rank, LocalComm u, const Expected& e) {
  const Group& g = groups_[e.group];
  Score sum;
  if (g.open || g.inter) return sum;
  const CommUse& mine = use(rank, u);
  const auto me = static_cast<std::int32_t>(e.member);
  const auto compare = [&sum](std::uint64_t sent, std::uint64_t sent_tags, std::uint64_t sent_bytes,
                              std::uint64_t received, std::uint64_t received_tags, std::uint64_t room) {
    const bool same = sent == received && sent_tags == received_tags && sent_bytes <= room;
    sum.traffic += same ? 1 : -1;
    sum.bytes += same && sent_bytes == room ? 1 : 0;
  };
  for (const auto& [peer, t] : mine.with) {
    const auto p = static_cast<std::size_t>(peer);
    if (p >= g.local.size() || peer == me || g.local[p] == kNone) continue;
    const auto& theirs = use(static_cast<std::uint32_t>(g.members[p]), g.local[p]).with;
    const auto it = theirs.find(me);
    const Traffic back = it == theirs.end() ? Traffic{} : it->second;
    compare(t.sent, t.sent_tags, t.sent_bytes, back.received, back.received_tags, back.received_bytes);
    compare(back.sent, back.sent_tags, back.sent_bytes, t.received, t.received_tags, t.received_bytes);
  }
  for (std::size_t i = 0; i < g.local.size(); ++i) {
    if (g.local[i] == kNone || i == e.member) continue;
    const CommUse& theirs = use(static_cast<std::uint32_t>(g.members[i]), g.local[i]);
    sum.traffic += theirs.collectives == mine.collectives ? 2 : -2;
    if (theirs.with.contains(me) && !mine.with.contains(static_cast<std::int32_t>(i))) --sum.traffic;
    return sum;
  }
  sum.can = goes_with_an_open_one(mine, e);
  return sum;
}

// Whether a handle of the first other member, of those that are not told yet, has the same collectives and the messages to this one.
bool CommMaker::goes_with_an_open_one(const CommUse& mine, const Expected& e) {
  const Group& g = groups_[e.group];
  const std::size_t other = e.member == 0 ? 1 : 0;
  if (other >= g.members.size() || g.made[other] == kNone) return false;
  const auto rank = static_cast<std::uint32_t>(g.members[other]);
  const auto traffic = [](const CommUse& u, std::size_t peer) {
    const auto it = u.with.find(static_cast<std::int32_t>(peer));
    return it == u.with.end() ? Traffic{} : it->second;
  };
  const Traffic t = traffic(mine, other);
  // Of very many the next ones: each of the others is compared with as many.
  constexpr std::size_t kMostAsked = 64;
  const auto goes = [&](LocalComm v) {
    const CommUse& theirs = use(rank, v);
    if (theirs.collectives != mine.collectives || !fits(rank, v, g.made[other])) return false;
    const Traffic back = traffic(theirs, e.member);
    return t.sent == back.received && t.sent_tags == back.received_tags && t.received == back.sent &&
           t.received_tags == back.sent_tags;
  };
  std::size_t asked = 0;
  for (const LocalComm v : ranks_[rank].open_uses) {
    if (asked++ == kMostAsked) break;
    if (goes(v)) return true;
  }
  return false;
}

// Whether others used what they made by the call of `a` before what they made by that of `b`: programs mostly do so in one order.
bool CommMaker::used_before(const Expected& a, const Expected& b) const {
  constexpr std::size_t kMostAsked = 16;
  const MadeBy &one = calls_[a.call], &two = calls_[b.call];
  if (one.group != two.group) return false;
  const auto use_of = [&](std::int32_t rank, std::uint32_t made) {
    const Expected& e = ranks_[static_cast<std::size_t>(rank)].expected[made];
    return e.none || e.group == kNone ? kNone : groups_[e.group].local[e.member];
  };
  const Ranks& members = groups_[one.group].members;
  const std::size_t n = members.size();
  std::int64_t votes = 0;
  for (std::size_t i = 1; i < std::min(n, kMostAsked); ++i) {
    const std::size_t k = (a.caller + i) % n;
    const LocalComm u = use_of(members[k], one.made[k]), v = use_of(members[k], two.made[k]);
    if (u != kNone && v != kNone) votes += u < v ? 1 : -1;
  }
  return votes > 0;
}

void CommMaker::bind_to(std::uint32_t rank, LocalComm u, std::uint32_t made) {
  Rank& r = ranks_[rank];
  const Expected& e = r.expected[made];
  r.group_of[u] = e.group;
  r.made_of[u] = made;
  groups_[e.group].local[e.member] = u;
  r.open_made.erase(made);
  r.open_uses.erase(u);
}

// A use whose handle stood for `first` before, and still does: its calls are calls on that.
void CommMaker::go_on_as(std::uint32_t rank, LocalComm u, LocalComm first) {
  Rank& r = ranks_[rank];
  r.same_as[u] = first;
  if (!r.calls[u].empty()) {
    auto& calls = r.calls[first];
    calls.insert(calls.end(), r.calls[u].begin(), r.calls[u].end());
    std::ranges::sort(calls);
    if (Group& g = groups_[r.group_of[first]]; g.real) g.done = false;
  }
  r.open_uses.erase(u);
}

// Handles that can be of one communicator only; else by what goes on there, and by order.
bool CommMaker::bind(Tell tell) {
  bool any = false;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    Rank& r = ranks_[rank];
    const std::vector<std::uint32_t> open(r.open_uses.begin(), r.open_uses.end());
    for (const LocalComm u : open) {
      // What it goes on as where nothing else fits, because no free says for sure that it is gone.
      LocalComm revived = kNone;
      std::uint32_t only = kNone;
      std::size_t candidates = 0;
      bool pending = false, equal = false;
      std::pair<bool, Score> best;  // rank and size are known, traffic
      if (const LocalComm before = use(rank, u).before; before != kNone) {
        const LocalComm first = r.same_as[before];
        const std::uint32_t m = r.made_of[first];
        if (r.group_of[first] == kNone && tell != Tell::early) continue;
        if (r.group_of[first] != kNone && (m == kNone || u < logs_[rank].made[m].until)) {
          go_on_as(rank, u, first);
          any = true;
          continue;
        }
        if (r.group_of[first] != kNone && logs_[rank].made[m].guessed) revived = first;
      }
      const std::uint32_t claimed = r.claimed[u];
      if (claimed != kNone && r.open_made.contains(claimed) && fits(rank, u, claimed) &&
          tell != Tell::early) {
        if (r.expected[claimed].group == kNone) continue;
        bind_to(rank, u, claimed);
        any = true;
        continue;
      }
      work_ += r.open_made.size() + 1;
      if (work_ > kMostWork) return any;
      for (const std::uint32_t m : r.open_made) {
        if (!fits(rank, u, m)) continue;
        if (r.expected[m].group == kNone) {
          pending = true;
          continue;
        }
        const LocalComm other = logs_[rank].made[m].use;
        if (other != kNone && other != u && fits(rank, other, m)) continue;
        ++candidates;
        const std::pair s(r.expected[m].size >= 0,
                          tell != Tell::sure ? score(rank, u, r.expected[m]) : Score{});
        const bool tie = only != kNone && s == best;
        if (tie) equal = true;
        if (only == kNone || s > best ||
            (tie && tell != Tell::sure && used_before(r.expected[m], r.expected[only]))) {
          equal = tie;
          only = m;
          best = s;
        }
      }
      if (revived != kNone && only == kNone && !pending) {
        go_on_as(rank, u, revived);
        any = true;
        continue;
      }
      if (only == kNone || (tell == Tell::sure && candidates > 1) || (tell != Tell::early && pending))
        continue;
      if (equal) ++losses_.assumed_comms;
      bind_to(rank, u, only);
      any = true;
    }
  }
  return any;
}

// Another handle of the world (C and Fortran have their own), or MPI_COMM_SELF. False: neither.
bool CommMaker::bind_given(std::uint32_t rank, LocalComm u) {
  Rank& r = ranks_[rank];
  const CommUse& seen = use(rank, u);
  if (seen.rank == static_cast<std::int32_t>(rank) && seen.size == static_cast<std::int32_t>(ranks_.size()) &&
      groups_[0].local[rank] != kNone) {
    go_on_as(rank, u, groups_[0].local[rank]);
    return true;
  }
  if (seen.rank != 0 || seen.size != 1) return false;
  const std::uint32_t group =
      add_group({.members = {static_cast<std::int32_t>(rank)}, .local = {}, .made = {kNone}});
  groups_[group].local[0] = u;
  r.group_of[u] = group;
  r.open_uses.erase(u);
  return true;
}

// Handles that MPI libraries have from the start. Those of Open MPI in C are variables of the library, beside each other.
void CommMaker::bind_predefined() {
  constexpr std::uint64_t kBeside = 4096;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const LocalComm world = groups_[0].local[rank];
    const std::uint64_t first = world == kNone ? 0 : use(rank, world).handle;
    const std::vector<std::uint32_t> open(ranks_[rank].open_uses.begin(), ranks_[rank].open_uses.end());
    for (const LocalComm u : open) {
      const std::uint64_t handle = use(rank, u).handle;
      const bool beside = !is_small_handle(first) && !is_mpich_comm(first) &&
                          (handle > first ? handle - first : first - handle) <= kBeside;
      if (is_predefined(handle) || beside) (void)bind_given(rank, u);
    }
  }
}

// What nothing made can only be one of these.
bool CommMaker::bind_aliases() {
  bool any = false;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    Rank& r = ranks_[rank];
    const std::vector<std::uint32_t> open(r.open_uses.begin(), r.open_uses.end());
    for (const LocalComm u : open) {
      work_ += r.open_made.size() + 1;
      if (work_ > kMostWork) return any;
      if (std::ranges::any_of(r.open_made, [&](std::uint32_t m) { return fits(rank, u, m); })) continue;
      // A handle that stood for one that was made.
      if (const LocalComm before = use(rank, u).before;
          before != kNone && r.made_of[r.same_as[before]] != kNone)
        continue;
      any = bind_given(rank, u) || any;
    }
  }
  return any;
}

// The oldest communicator whose members are to be told by what they say themselves; `whole`: one that all were seen in.
Result<bool> CommMaker::finish_one(bool whole) {
  for (std::uint32_t id = 0; id < groups_.size(); ++id) {
    if (!groups_[id].open) continue;
    if (whole && std::ranges::find(groups_[id].local, kNone) != groups_[id].local.end()) continue;
    groups_[id].open = false;
    groups_[id].done = true;
    const Group g = groups_[id];
    std::vector<Seen> seen(g.members.size());
    bool used = false;
    for (std::size_t i = 0; i < g.members.size(); ++i) {
      if (g.local[i] == kNone) continue;
      const CommUse& u = use(static_cast<std::uint32_t>(g.members[i]), g.local[i]);
      seen[i] = {u.rank, u.size};
      used = true;
    }
    if (!used) return true;
    std::vector<std::string> hosts;
    if (!hosts_.empty())
      for (const std::int32_t m : g.members) hosts.push_back(hosts_[static_cast<std::size_t>(m)]);
    const auto parts = parts_of(g.how, g.reorder, seen, hosts);
    for (const auto& part : parts) {
      Group known{.members = {}, .local = {}, .made = {}, .how = g.how};
      for (const std::size_t i : part) {
        known.members.push_back(g.members[i]);
        known.made.push_back(g.made[i]);
      }
      const std::uint32_t made = add_group(std::move(known));
      if (members_ > format::kMaxMembers) return too_many();
      expect(made, true);
      for (std::size_t k = 0; k < part.size(); ++k) {
        const LocalComm u = g.local[part[k]];
        groups_[made].local[k] = u;
        if (u != kNone) ranks_[static_cast<std::size_t>(g.members[part[k]])].group_of[u] = made;
      }
    }
    return true;
  }
  return false;
}

Result<Communicators> CommMaker::run() {
  const auto n = static_cast<std::int32_t>(logs_.size());
  Ranks world(logs_.size());
  std::iota(world.begin(), world.end(), 0);
  add_group({.members = world, .local = {}, .made = std::vector<std::uint32_t>(world.size(), kNone)});
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    Rank& r = ranks_[rank];
    const CommLog& log = logs_[rank];
    r.expected.resize(log.made.size());
    r.group_of.assign(log.uses.size(), kNone);
    r.made_of.assign(log.uses.size(), kNone);
    r.same_as.resize(log.uses.size());
    std::iota(r.same_as.begin(), r.same_as.end(), 0U);
    r.claimed.assign(log.uses.size(), kNone);
    r.calls.resize(log.uses.size());
    for (std::uint32_t m = 0; m < log.made.size(); ++m) {
      r.calls[log.made[m].parent].push_back(m);
      r.open_made.insert(m);
      if (log.made[m].use != kNone) r.claimed[log.made[m].use] = m;
    }
    for (LocalComm u = 0; u < log.uses.size(); ++u) {
      const CommUse& seen = log.uses[u];
      if (groups_[0].local[rank] == kNone && seen.rank == static_cast<std::int32_t>(rank) && seen.size == n) {
        groups_[0].local[rank] = u;
        r.group_of[u] = 0;
      } else {
        r.open_uses.insert(u);
      }
    }
  }
  bind_predefined();
  for (bool more = true; more;) {
    if (work_ > kMostWork) return too_many();
    WEFT_ASSIGN(more, advance());
    more = bind(Tell::sure) || more;
    if (!more) more = bind_aliases();
    if (!more) {
      WEFT_ASSIGN(more, finish_one(true));
    }
    if (!more) more = bind(Tell::like);
    if (!more) {
      WEFT_ASSIGN(more, finish_one(false));
    }
    if (!more) more = bind(Tell::early);
  }
  return result();
}

Communicators CommMaker::result() {
  Communicators out;
  std::vector<std::uint32_t> id_of(groups_.size(), kNone);
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    Group& group = groups_[g];
    if (!group.real) continue;
    id_of[g] = static_cast<std::uint32_t>(out.all.size());
    std::string name = g == 0                   ? "world"
                       : group.made[0] == kNone ? "self"
                                                : fmt::format("split{}", group.made[0] + 1);
    out.all.push_back({std::move(name), std::move(group.members)});
  }
  out.of_use.resize(ranks_.size());
  out.of_made.resize(ranks_.size());
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    for (std::size_t u = 0; u < logs_[r].uses.size(); ++u) {
      const std::uint32_t g = ranks_[r].group_of[ranks_[r].same_as[u]];
      CommHere here{.id = kNone, .rank = logs_[r].uses[u].rank, .kin = Kin::unknown};
      if (g != kNone && groups_[g].real) {
        here.id = id_of[g];
        here.kin = Kin::normal;
      } else if (g != kNone && groups_[g].inter) {
        here.kin = Kin::inter;
      }
      out.of_use[r].push_back(here);
    }
    for (const Expected& e : ranks_[r].expected)
      out.of_made[r].push_back(e.none || e.group == kNone ? kNone : id_of[e.group]);
  }
  return out;
}

}  // namespace

Result<Communicators> make_communicators(const std::vector<CommLog>& logs,
                                         const std::vector<std::string>& hosts, const std::string& where,
                                         Losses& losses) {
  return CommMaker(logs, hosts, where, losses).run();
}

}  // namespace weft::traces::allprof
