// WaitStates: where ranks waited for others who were late, and what the others did meanwhile.
//
// Kinds are those of Scalasca (WaitKind in results.hpp). A wait begins when a rank blocks, or when a rendezvous' request has
// come, and ends when the other side has called what it was late with. What delayed that side is looked for as in
// D. Boehme, M. Geimer, F. Wolf, L. Arnold, "Identifying the root causes of wait states in large-scale parallel
// applications" (ICPP 2010; ACM TOPC 3(2), 2016): since both last met, what the late one did more of than the one that
// waited is a *delay*; waits of its own in that time hand the blame on. So a wait is shared out among delays (direct) and
// other waits, and what comes to those is shared out in the same way (propagated): every picosecond of waiting ends at
// one delay (docs/model.md, "Wait states").
//
// Times are whole picoseconds here, so that sums are exact. Invariants:
//  1. The stretches and waits of a rank follow each other without gap or overlap up to Log::until.
//  2. What a wait is blamed on was recorded before it: blame is handed on from the newest wait to the oldest.
// Complexity: O(what two ranks did since they met) a wait, once more O(1) a wait for the blame. Memory 32 B a stretch
// (at most three a message, one a region and a wait), 80 B a wait, 16 B a delay of it, about 60 B a pair of ranks that
// exchange messages, 48 B a collective, 16 B a rank in it, 8 B more where not everybody waits for all. Switched off, a
// test of one flag each.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "replay/agenda.hpp"
#include "replay/communicators.hpp"
#include "replay/messages/message.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/results.hpp"
#include "replay/time.hpp"
#include "traces/op.hpp"

namespace weft::replay {

class WaitStates {
 public:
  // All outlive it. `on`: otherwise it does nothing, and there is no result().
  // `known_at_once`: as MessageCost says.
  WaitStates(bool on, bool known_at_once, const Communicators& comms, const Ranks& ranks,
             const Agenda& agenda);
  [[nodiscard]] bool on() const { return on_; }

  // ---- Messages; those of collectives do not count. m is posted now, for a send that its sender called before.
  void sent(const Message& m) {
    if (on_ && (m.state & kCollective) == 0) called_send(m);
  }
  // `rank` calls that receive, of the program.
  void posted(std::uint32_t receive, std::uint32_t rank) {
    if (on_) called_receive(receive, rank);
  }
  // m met that receive now, which is called only now or was there.
  void met(const Message& m, std::uint32_t receive, bool late) {
    if (on_) pair_met(m, receive, late);
  }
  // A rank that was blocked goes on with m, whose sender or receiver it is.
  void woken(std::uint32_t rank, const Message& m, bool sender);

  // ---- Collectives.
  struct Call {
    std::uint32_t comm = 0;
    traces::OpKind kind{};  // blocking form
    std::uint32_t me = 0;   // rank in the communicator
    std::uint32_t root = 0;
  };
  // `rank` comes to a collective, which is `run` from here on.
  void comes(std::uint32_t run, std::uint32_t rank, const Call& call);
  // A rank that was blocked goes on because `run` is over.
  void woken_by_run(std::uint32_t rank, std::uint32_t run);
  // A series of exchanges of ranks who are all there: `last` came last, now.
  // Its member `rank` goes on at `end`, after it computed for `computed`, which is in its account already.
  void in_series(std::uint32_t rank, std::uint32_t comm, std::uint32_t last, Instant end, Elapsed computed);

  // From here on the rank is in `region` (kNone: in none).
  void enters(std::uint32_t rank, std::uint32_t region);

  // `regions`: how many there are. REQUIRES: on().
  [[nodiscard]] WaitResult result(std::size_t regions);

 private:
  using Tick = std::int64_t;  // picoseconds
  using Sum = WideTicks;      // of many ranks
  struct Stretch {
    Tick begin, end, computed;
    std::uint32_t region;
  };
  struct Wait {
    Tick begin, end;
    Tick clipped = 0;          // what counts of the wait before `from` of the late one, if not all does
    std::uint64_t delays = 0;  // the first one, as many as there are up to those of the next wait
    std::uint32_t rank, late;  // who waited for whom
    std::uint32_t region;
    std::uint32_t nth;       // of its rank
    std::uint32_t from, to;  // waits of the late one that count in full
    WaitKind kind;
    [[nodiscard]] Tick size() const { return end - begin; }
  };
  struct Delay {
    std::uint32_t activity = 0;  // of the late one: twice (region + 1), one more: communication
    Tick size = 0;
  };
  // A rank, and whoever it waits for there, had come to the n-th collective of a communicator: it met those of whom the
  // same is true.
  struct Joined {
    Tick when;
    std::uint32_t comm, nth;
  };
  struct Log {
    std::vector<Stretch> stretches;
    std::vector<std::uint32_t> waits;
    std::vector<Joined> joined;  // in the order of time
    Tick until = 0, computed = 0;
    std::uint32_t region = kNone;
    std::vector<std::pair<std::uint32_t, std::uint32_t>>
        calls;  // communicator, collectives on it; by communicator
  };
  // When two ranks met last, and before the one of them went into the wait that it is in.
  struct Met {
    Tick before = 0, last = 0;
  };
  // A collective of a communicator.
  struct Meeting {
    Tick last = 0, first = 0, root = -1;  // first: of those that are not the root
    std::uint32_t last_rank = kNone, first_rank = kNone, root_rank = kNone;
    std::uint32_t came = 0;          // how many; of a scan: of the lowest ranks, without a gap
    std::uint32_t row = kNone;       // of `comings`; kNone: everybody waits for all
    std::optional<WaitKind> kind{};  // as the first one called it
  };
  struct Meetings {
    std::vector<Meeting> list;
    std::vector<Tick> comings;  // by row and rank of the communicator; -1: not yet
    std::uint32_t rows = 0;
  };
  struct Run {
    Call call;
    std::uint32_t nth = 0;  // of its communicator
  };
  // What comes to the waits of a rank from waits that they caused, while those are gone through backwards.
  struct Blame;

  [[nodiscard]] static Tick tick(Instant t) { return t.rounded().time_since_epoch().count(); }
  [[nodiscard]] Tick now() const { return tick(agenda_.now()); }
  void cut(std::uint32_t rank, Tick until, Elapsed not_yet = kNoTime);
  void called_send(const Message& m);
  void called_receive(std::uint32_t receive, std::uint32_t rank);
  void pair_met(const Message& m, std::uint32_t receive, bool late);
  void pair_met(std::uint32_t of, std::uint32_t with, Tick when);
  [[nodiscard]] std::uint32_t& count_of(std::uint32_t rank, std::uint32_t comm);
  // `rank` comes to its next collective of `comm`, the n-th.
  std::uint32_t come(std::uint32_t rank, std::uint32_t comm, std::optional<WaitKind> kind, Tick when);
  // Those who have joined it now that `call.me` came.
  void joins(const Call& call, std::uint32_t nth);
  void joined(std::uint32_t rank, Joined at);
  [[nodiscard]] Tick& coming(std::uint32_t comm, const Meeting& m, std::size_t me) {
    return meetings_[comm].comings[m.row * comms_.members(comm).size() + me];
  }
  // When both last met, as far as it was not after `by`.
  [[nodiscard]] Tick last_met(std::uint32_t rank, std::uint32_t other, Tick by) const;
  // Whether `other` had joined that collective when `rank` did.
  [[nodiscard]] bool both_joined(const Joined& at, std::uint32_t rank, std::uint32_t other) const;
  // `rank` waited for `late` from `begin` to `end`; `not_yet`: as cut().
  void waited(std::uint32_t rank, std::uint32_t late, Tick begin, Tick end, WaitKind kind,
              Elapsed not_yet = kNoTime);
  void find_delays(Wait& w);
  // Adds what a rank did, without waits, between two instants to activity_, `sign` times.
  void add_activity(std::uint32_t rank, Tick from, Tick to, Tick sign);
  void add(std::uint32_t activity, Tick size);
  [[nodiscard]] std::uint64_t delays_end(std::size_t wait) const {
    return wait + 1 < waits_.size() ? waits_[wait + 1].delays : delays_.size();
  }

  bool on_;
  bool known_at_once_;
  const Communicators& comms_;
  const Ranks& ranks_;
  const Agenda& agenda_;
  std::vector<Log> logs_;  // by rank
  std::vector<Wait> waits_;
  std::vector<Delay> delays_;
  std::vector<Tick> receives_;                  // by receive: when it was called
  std::unordered_map<std::uint64_t, Met> met_;  // by rank and other
  std::vector<Meetings> meetings_;              // by communicator
  std::vector<Run> runs_;
  std::vector<Tick> activity_;             // of find_delays
  std::vector<std::uint32_t> activities_;  // those that are not 0 there
};

}  // namespace weft::replay
