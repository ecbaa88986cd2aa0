// CriticalPath: the chain of computations and messages that made the replay as long as it is.
//
// A rank goes on from its own past until it waits; the wait ends with a message, and from there back the message is what
// counts: up to the instant when it could begin, which is the later one of its send and, of a rendezvous, its receive. One that
// waited for its turn behind an earlier message goes on from the envelope of that.
// So every instant has one predecessor, and from the rank that finishes last back to 0 every tick of the makespan
// belongs to exactly one part. (Dimemas calls it that, too; LLAMP's path is the same without contention.)
//
// How it is kept: as a tree of nodes, each a stretch of one rank's own time or the life of one message, that points at
// what came before it. A rank holds its newest node, a message under way that of its sender; what nobody points at any
// more is given back at once, so what is held is the path itself and the young branches that have not been overtaken.
// Stretches of one rank are joined where nothing branches off.
// Invariants:
//  1. The parts of a node add up to its end less the end of the node before it, to the tick.
//  2. The newest node of a rank ends at `since`; its own time since then is in its accounts (Rank::spent, CauseBook).
// Complexity: O(1) a message and a wait (amortised); memory 160 B a node. Switched off, a test of one flag each.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/id.hpp"
#include "replay/agenda.hpp"
#include "replay/messages/message.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/results.hpp"
#include "replay/time.hpp"
#include "replay/why/cause_book.hpp"

namespace weft::replay {

class CriticalPath {
 public:
  // All outlive it. `on`: otherwise it does nothing, and there is no path().
  CriticalPath(bool on, const MessageCost& cost, const Ranks& ranks, CauseBook& causes, const Agenda& agenda);
  [[nodiscard]] bool on() const { return on_; }

  // ---- Messages. Their sender, named by `rank` and `target`, posts m now.
  void sent(Message& m, std::uint32_t rank, Target target) {
    if (on_) m.path = hold(actor(rank, target));
  }
  // Its receiver comes only now, and the data could not leave before.
  void late_receiver(Message& m, Target target) {
    if (!on_) return;
    const std::uint32_t node = hold(actor(m.dst, target));
    drop(m.path);
    m.path = node;
    m.state |= kHeldBack;
  }
  // The envelope of m comes now, with all its data if it is `whole`. Messages that were sent after it and came before waited
  // for that: one is m of takes_turn(). `past`: of gives_turns(), held until turns_taken().
  [[nodiscard]] std::uint32_t gives_turns(const Message& m, bool whole) {
    return on_ ? message(m, false, !whole) : kNone;
  }
  void takes_turn(Message& m, std::uint32_t past) {
    // Its data may yet come, and count then.
    if (!on_ || (leaves_at_once(m.protocol) && (m.state & kArrived) == 0)) return;
    drop(m.path);
    m.path = hold(past);
    m.state |= kHeldBack;
  }
  void turns_taken(std::uint32_t& past) {
    if (on_) drop(past);
  }
  // The row of m is given back.
  void over(Message& m) {
    if (on_) drop(m.path);
  }
  // All its data have come; `held_by`: the link that held them back last, if one did.
  void arrived(Message& m, LinkId held_by) {
    if (on_) m.held_by = held_by;
  }

  // ---- Waits that end now: of a rank with message m, or with a collective; of a collective's round.
  void woken(std::uint32_t rank, const Message& m, bool sender) {
    if (on_) go_on(rank, message(m, sender));
  }
  void woken_by_run(std::uint32_t rank, std::uint32_t run) {
    if (on_) go_on(rank, hold(runs_[run]));
  }
  void run_begins(std::uint32_t run, std::uint32_t rank);
  void run_woken(std::uint32_t run, const Message& m, bool sender);
  // Processor time of the collective since its newest node, of `cause`.
  void run_paid(std::uint32_t run, std::uint32_t rank, Cause cause);
  void run_ends(std::uint32_t run);

  // ---- Tasks (tasks.hpp). One of the rank is there, and may begin; it lacks nothing more now that `other` is over, or has begun; it has
  // its cpu now, which stood at `before`; its time there is over, in which it computed, or paid for `cause`; a message of it is over; it
  // is over; a wait of the rank ends with it.
  void task_comes(std::uint32_t task, std::uint32_t rank);
  void task_follows(std::uint32_t task, std::uint32_t other) {
    if (on_) task_goes_on(task, hold(tasks_[other]));
  }
  void task_has_turn(std::uint32_t task, std::uint32_t before) {
    if (on_ && before != kNone && nodes_[before].end > nodes_[tasks_[task]].end)
      task_goes_on(task, hold(before));
  }
  void task_worked(std::uint32_t task, std::uint32_t rank, std::uint64_t op, std::optional<Cause> cause,
                   std::uint32_t& before);
  void task_woken(std::uint32_t task, const Message& m, bool sender) {
    if (on_) task_goes_on(task, message(m, sender));
  }
  void task_ends(std::uint32_t task) {
    if (on_) drop(tasks_[task]);
  }
  void woken_by_task(std::uint32_t rank, std::uint32_t task) {
    if (on_) go_on(rank, hold(tasks_[task]));
  }

  // ---- Launched kernels (device_queues.hpp): the rank finds its accelerator idle now, which is kept in `since`; a wait of
  // the rank ends with a kernel of what ran without a break from there on.
  void launched(std::uint32_t rank, std::uint32_t& since);
  void woken_by_kernel(std::uint32_t rank, std::uint32_t since);

  // ---- Copies over links (device_copies.hpp). One of the rank is over now; it began where `since` stands, which stands at its end from
  // here on.
  struct Copy {
    std::uint64_t bytes = 0;
    Elapsed before, latency;  // that passed before its data left: of its kernel, of its route
    Elapsed alone;            // what its data take alone
    bool own_pace = false;    // slower than its links alone
    LinkId held_by;
  };
  void copied(std::uint32_t rank, std::uint32_t& since, const Copy& copy);

  // ---- Series of exchanges: all its members are there; `last` came last. Held until series_told().
  [[nodiscard]] std::uint32_t series_begins(std::uint32_t last) {
    return on_ ? hold(cut(last, agenda_.now())) : kNone;
  }
  // Member `rank` goes on at `end`, after it computed for `computed` and spent `seconds` on each cause; `past`: of
  // series_begins(), `last`.
  void series_over(std::uint32_t rank, std::uint32_t last, std::uint32_t past, Instant end, Elapsed computed,
                   const std::array<double, kCauseCount>& seconds);
  void series_told(std::uint32_t past) {
    if (on_) drop(past);
  }

  // The rank sleeps for d from now on, which its computation will have in it.
  void sleeps(std::uint32_t rank, Elapsed d) {
    if (on_) heads_[rank].slept += d;
  }

  // From here on the rank is in `region` (kNone: in none).
  void enters(std::uint32_t rank, std::uint32_t region);

  // The path to the end of the rank that finished last. REQUIRES: on(), all ranks have finished.
  [[nodiscard]] PathResult path();

 private:
  // Parts of a node, by what it is.
  enum Own : std::uint8_t { kCompute, kSend, kRecv, kPoll, kOther };
  enum Wire : std::uint8_t { kHand, kLat, kMove, kShare, kTurn };
  struct Node {
    std::array<Elapsed, 5> parts{};
    Elapsed slept;  // of the computation
    Instant end;
    std::uint64_t op = 0;    // own time: the first operation; a message: its bytes
    std::uint32_t rank = 0;  // whose time; a message: its sender
    std::uint32_t receiver = 0;
    std::uint32_t region = kNone;  // of the rank whose time it is, or that waits for the message
    std::uint32_t parent = kNone;
    std::uint32_t holders = 0;
    LinkId held_by;
    double link_latencies = 0;  // of links, that the message paid
    std::uint8_t trips = 0;     // request, permission and data of the message, as far as they count
    bool is_message = false;
    bool is_request = false;    // ... of which only the request has come
    bool own_pace = false;      // ... that no wider link makes shorter
    bool is_copy = false;       // a message, of an accelerator's copy
    bool is_series = false;     // ... of a series, in which nobody knows who waited for whom
    bool sender_waits = false;  // a message: for its end, not its receiver
  };
  // Where a rank's accounts stood when its newest node ended.
  struct Head {
    std::uint32_t node = 0;
    std::uint32_t region = kNone;
    std::uint64_t op = 0;
    Instant since;
    Elapsed computed, sends, receives, polls;
    Elapsed slept;  // since then
  };

  std::uint32_t take();
  std::uint32_t hold(std::uint32_t node) {
    ++nodes_[node].holders;
    return node;
  }
  void drop(std::uint32_t& node);
  // The newest node of a rank that runs, ended now.
  std::uint32_t cut(std::uint32_t rank, Instant now);
  [[nodiscard]] std::uint32_t actor(std::uint32_t rank, Target t) {
    if (!t.is_activity()) return cut(rank, agenda_.now());
    return t.is_task() ? tasks_[t.activity()] : runs_[t.activity()];
  }
  // The past of a task is `node` from here on, whose hold it takes over.
  void task_goes_on(std::uint32_t task, std::uint32_t node) {
    drop(tasks_[task]);
    tasks_[task] = node;
  }
  // A node, held once, of the life of m up to now. `envelope`: as far as that, whose data may be under way.
  [[nodiscard]] std::uint32_t message(const Message& m, bool sender, bool envelope = false);
  // The rank's past is `node` from here on, whose hold it takes over.
  void go_on(std::uint32_t rank, std::uint32_t node);
  void remember(std::uint32_t rank, Instant since);

  bool on_;
  const MessageCost& cost_;
  const Ranks& ranks_;
  CauseBook& causes_;
  const Agenda& agenda_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> free_;
  std::vector<Head> heads_;                  // by rank
  std::vector<std::uint32_t> runs_, tasks_;  // newest node by collective run, by task; kNone: none
};

}  // namespace weft::replay
