// Small programs of MPI operations and every way in which they can go: who arrives when decides what a receive from any
// source takes (MPI-3.1, section 3.5). A second, slow implementation of the matching rules, for tests.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "traces/op.hpp"

namespace weft::testing {

using traces::OpKind;

// One step of a rank, simpler than an Op: what the explorer runs and what a trace is written from.
struct Step {
  enum Kind { kSend, kRecv, kProbe, kPoll, kWait, kCollective, kSendrecv, kInit, kStart } kind;
  OpKind op{};  // of sends and collectives
  int peer = 0, tag = 0, comm = 0;
  int slot = -1;             // -1: blocking
  std::vector<int> slots{};  // of waits: those that must be complete
  std::vector<int> asked{};  // of a waitany: more that were asked for
  bool recorded = false;     // of a receive from any source: the trace knows the match
  int from = 0;              // of it, and of a sendrecv's receive
  int bytes = 8;             // of sends and receives
};
struct ExploredProgram {
  std::vector<std::vector<int>> comms;  // members
  std::vector<std::vector<Step>> ranks;
  bool wildcards = false;
};
inline constexpr int kAny = -1;

inline bool is_sync(OpKind k) { return k == OpKind::ssend || k == OpKind::issend || k == OpKind::ssend_init; }
inline bool is_buffered(OpKind k) { return k == OpKind::bsend || k == OpKind::ibsend; }

// Every interleaving. A message is sent, then some time it is matched: a receive takes the first message of a source that it
// accepts, unless a receive that its rank posted before accepts it, too; nothing else is in order. Sending, calling a collective
// and leaving a wait commute with everything another rank can do, so they happen at once; posting a receive, probing and
// matches are tried in every order.
class Explorer {
 public:
  Explorer(const ExploredProgram& p, bool synchronous) : p_(p), synchronous_(synchronous) {}
  struct Verdict {
    bool some_clean = false, some_faulty = false;
    bool whole = true;  // everything was explored
  };
  Verdict run() {
    State s;
    s.ranks.resize(p_.ranks.size());
    explore(std::move(s));
    return verdict_;
  }

 private:
  static constexpr std::size_t kMaxStates = 60'000;
  static constexpr int kBlocking = -1, kPairSend = -2, kNobody = -3;
  struct Message {
    int comm, src, dst, tag;
    int waiter;  // of src: slot, kBlocking, kPairSend, kNobody
    int bytes;
  };
  struct Posted {
    int comm, src, tag, slot, bytes;
  };
  struct RankState {
    std::size_t pc = 0;
    bool issued = false, done = false, pair_done = true;
    std::set<int> complete;                      // slots
    std::vector<Posted> posted;                  // in order
    std::map<int, int> calls;                    // collectives by communicator
    std::map<int, std::pair<int, int>> started;  // slot of a non-blocking one -> (communicator, number)
  };
  struct State {
    std::vector<RankState> ranks;
    std::map<std::tuple<int, int, int>, std::vector<Message>> sent;  // and not matched: (comm, src, dst)
    bool cut = false;                                                // a receive was too small
  };

  static bool fits(const Posted& p, const Message& m) {
    return p.comm == m.comm && (p.src == kAny || p.src == m.src) && (p.tag == kAny || p.tag == m.tag);
  }
  static void tell(State& s, int rank, int slot) {
    RankState& k = s.ranks[static_cast<std::size_t>(rank)];
    if (slot == kBlocking) k.done = true;
    if (slot == kPairSend) k.pair_done = true;
    if (slot >= 0) k.complete.insert(slot);
  }
  // Whether one of the first `receives` that are posted accepts it.
  static bool accepted(const RankState& k, std::size_t receives, const Message& m) {
    return std::any_of(k.posted.begin(), k.posted.begin() + static_cast<std::ptrdiff_t>(receives),
                       [&](const Posted& p) { return fits(p, m); });
  }
  // The i-th receive of rank r takes from `channel` what it must take; false if that is nothing.
  static bool match(State& s, int r, std::size_t i, std::vector<Message>& channel) {
    RankState& k = s.ranks[static_cast<std::size_t>(r)];
    const Posted p = k.posted[i];
    const auto it = std::ranges::find_if(channel, [&](const Message& m) { return m.dst == r && fits(p, m); });
    if (it == channel.end() || accepted(k, i, *it)) return false;
    const Message m = *it;
    channel.erase(it);
    k.posted.erase(k.posted.begin() + static_cast<std::ptrdiff_t>(i));
    s.cut = s.cut || m.bytes > p.bytes;
    tell(s, m.src, m.waiter);
    tell(s, m.dst, p.slot);
    return true;
  }
  void send(State& s, int r, const Step& st, int waiter) const {
    s.sent[{st.comm, r, st.peer}].push_back({st.comm, r, st.peer, st.tag, waiter, st.bytes});
  }
  // Have all that rank r needs for call `number` on `comm` come?
  [[nodiscard]] bool met(const State& s, int r, const Step& st, int number) const {
    const auto there = [&](int m) {
      const auto& calls = s.ranks[static_cast<std::size_t>(m)].calls;
      const auto it = calls.find(st.comm);
      return it != calls.end() && it->second >= number;
    };
    const auto& members = p_.comms[static_cast<std::size_t>(st.comm)];
    if (!synchronous_ && st.op == OpKind::bcast) return there(st.peer);
    if (!synchronous_ && st.op == OpKind::reduce && st.peer != r) return true;
    return std::ranges::all_of(members, there);
  }

  // Does what commutes with everything; true if it did something.
  bool free_step(State& s, int r) const {
    RankState& k = s.ranks[static_cast<std::size_t>(r)];
    const auto& program = p_.ranks[static_cast<std::size_t>(r)];
    if (k.pc == program.size()) return false;
    const Step& st = program[k.pc];
    const auto over = [&] {
      ++k.pc;
      k.issued = k.done = false;
      k.pair_done = true;
      return true;
    };
    switch (st.kind) {
      case Step::kInit:
        return over();
      case Step::kSend:
      case Step::kStart: {
        const bool waits = is_sync(st.op) || (synchronous_ && !is_buffered(st.op));
        if (st.slot >= 0) {
          if (!waits) k.complete.insert(st.slot);
          send(s, r, st, waits ? st.slot : kNobody);
          return over();
        }
        if (!k.issued) {
          k.issued = true;
          k.done = !waits;
          send(s, r, st, waits ? kBlocking : kNobody);
          return true;
        }
        return k.done && over();
      }
      case Step::kWait: {
        const bool all = std::ranges::all_of(st.slots, [&](int slot) {
          if (k.complete.contains(slot)) return true;
          const auto it = k.started.find(slot);
          return it != k.started.end() && met(s, r,
                                              {.kind = Step::kCollective,
                                               .op = OpKind::ibarrier,
                                               .peer = kAny,
                                               .comm = it->second.first},
                                              it->second.second);
        });
        return all && over();
      }
      case Step::kCollective:
        if (!k.issued) {
          k.issued = true;
          const int number = ++k.calls[st.comm];
          if (st.slot >= 0) k.started[st.slot] = {st.comm, number};
          return true;
        }
        return (st.slot >= 0 || met(s, r, st, k.calls[st.comm])) && over();
      case Step::kSendrecv:
        if (k.issued) return k.done && k.pair_done && over();
        return false;
      case Step::kRecv:
        return k.issued && (st.slot >= 0 || k.done) && over();
      default:
        return false;
    }
  }
  // A step whose order against arrivals counts; false if rank r has none now.
  bool ordered_step(State& s, int r) const {
    RankState& k = s.ranks[static_cast<std::size_t>(r)];
    const auto& program = p_.ranks[static_cast<std::size_t>(r)];
    if (k.pc == program.size() || k.issued) return false;
    const Step& st = program[k.pc];
    if (st.kind == Step::kRecv) {
      k.issued = true;
      k.posted.push_back(
          {st.comm, st.recorded ? st.from : st.peer, st.tag, st.slot >= 0 ? st.slot : kBlocking, st.bytes});
      return true;
    }
    if (st.kind == Step::kSendrecv) {
      k.issued = true;
      k.pair_done = !synchronous_;
      send(s, r, st, synchronous_ ? kPairSend : kNobody);
      k.posted.push_back({st.comm, st.from, st.tag, kBlocking, st.bytes});
      return true;
    }
    if (st.kind == Step::kProbe || st.kind == Step::kPoll) {
      const Posted look{st.comm, st.peer, st.tag, kNobody, 0};
      const auto seen = [&](const Message& m) {
        return m.dst == r && fits(look, m) && !accepted(k, k.posted.size(), m);
      };
      if (std::ranges::none_of(s.sent, [&](const auto& at) { return std::ranges::any_of(at.second, seen); }))
        return false;
      ++k.pc;
      return true;
    }
    return false;
  }

  static std::string key(const State& s) {
    std::string out;
    const auto put = [&](int v) { out += static_cast<char>(v + 5); };
    put(s.cut ? 1 : 0);
    for (const RankState& k : s.ranks) {
      put(static_cast<int>(k.pc));
      put((k.issued ? 1 : 0) + (k.done ? 2 : 0) + (k.pair_done ? 4 : 0));
      for (const int c : k.complete) put(c);
      out += '|';
      for (const Posted& p : k.posted) put(p.comm), put(p.src), put(p.tag), put(p.slot), put(p.bytes);
      out += '|';
    }
    for (const auto& [at, list] : s.sent)
      for (const Message& m : list)
        put(m.comm), put(m.src), put(m.dst), put(m.tag), put(m.waiter), put(m.bytes);
    return out;
  }

  void explore(State s) {
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < static_cast<int>(s.ranks.size()); ++r)
        while (free_step(s, r)) moved = true;
    }
    if (seen_.size() >= kMaxStates) {
      verdict_.whole = false;
      return;
    }
    if (!seen_.insert(key(s)).second) return;
    bool any = false;
    for (int r = 0; r < static_cast<int>(s.ranks.size()); ++r) {
      State t = s;
      if (!ordered_step(t, r)) continue;
      any = true;
      explore(std::move(t));
    }
    for (int r = 0; r < static_cast<int>(s.ranks.size()); ++r)
      for (std::size_t i = 0; i < s.ranks[static_cast<std::size_t>(r)].posted.size(); ++i)
        for (const auto& [at, list] : s.sent) {
          State t = s;
          if (!match(t, r, i, t.sent[at])) continue;
          any = true;
          explore(std::move(t));
        }
    if (any) return;
    bool clean = !s.cut;
    for (std::size_t r = 0; r < s.ranks.size(); ++r)
      clean = clean && s.ranks[r].pc == p_.ranks[r].size() && s.ranks[r].posted.empty();
    for (const auto& [at, list] : s.sent) clean = clean && list.empty();
    (clean ? verdict_.some_clean : verdict_.some_faulty) = true;
  }

  const ExploredProgram& p_;
  bool synchronous_;
  std::unordered_set<std::string> seen_;
  Verdict verdict_;
};

}  // namespace weft::testing
