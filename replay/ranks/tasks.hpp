// Tasks: operations of a rank that begin when others are over, beside its line of control (traces/tasks.hpp).
//
// A task lacks those that it is after. Then it waits for its cpu, which it has as long as it computes or pays for its message:
// a send before that leaves, a receive once more when its data have come. Posts of receives and computations of no time go
// first; else who came first, and of those who wait since one instant sends that cost nothing, then receives, sends and
// computations, each in the order of the program. They begin when all else of an instant has happened.
// A send is over when its protocol says, a receive when it was paid.
//
//   lacks others --> waits for its cpu --> has begun: computes, or pays and is under way --> over
//
// What happens to the tasks of a rank at one event is noted, and the rank queued once (Ranks::make_tasks_ready); advance() then goes
// through all of it. So no task that is over calls another one: no recursion, whatever the graph.
// Invariants:
//  1. Line::left is the number of tasks of the rank that are not over; its task_wait ends when that is 0.
//  2. While the rank waits in a task_wait its time up to Rank::blocked_since is booked: as computation while a cpu
//     computes, else as processor time of messages while one pays for one, else as a wait for the message that ended it.
// It posts messages through a port: anything with post_send() and post_recv() as Transfers has them.
// Complexity: O(log tasks that wait for the cpu) a task, O(1) a dependency; memory 64 bytes a task that is not over, 8 a
// dependency, 4 a task until the next task_wait.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "replay/agenda.hpp"
#include "replay/engine.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/message.hpp"
#include "replay/ranks/compute_times.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/why/cause_book.hpp"
#include "replay/why/hindsight.hpp"
#include "traces/tasks.hpp"

namespace weft::replay {

class Tasks {
 public:
  // All outlive it.
  Tasks(const MessageCost& cost, ComputeTimes& compute, Ranks& ranks, CauseBook& causes, Hindsight& hindsight,
        const ReplayOptions& options, Agenda& agenda)
      : options_(options),
        cost_(cost),
        compute_(compute),
        ranks_(ranks),
        causes_(causes),
        hindsight_(hindsight),
        agenda_(agenda) {}

  // Rank r comes to the task `op`. False: its list names a task that does not stand before it.
  [[nodiscard]] bool add(std::uint32_t r, const traces::Op& op, std::span<const std::int64_t> list);
  // Rank r waits for all its tasks from here on. False: all are over.
  [[nodiscard]] bool wait(std::uint32_t r);
  // The last task of rank r, an operation, if no task_wait stands behind it.
  [[nodiscard]] std::optional<std::uint64_t> unawaited(std::uint32_t r) const {
    if (lines_.empty() || lines_[r].rows.empty()) return std::nullopt;
    return lines_[r].last_op;
  }

  // What became ready, was paid, or came, of rank r.
  template <class Port>
  void advance(std::uint32_t r, Port& port);

  // A side of message m, of that task, is over; null: at once.
  void message_over(std::uint32_t task, std::int64_t bytes, const Message* m, bool sender);
  // For ReplayOptions::on_op: what rank r did last, as far as it was not told.
  void show_rest(std::uint32_t r);
  // All else of this instant has happened: cpus of rank r may be given to tasks that take time.
  void turns(std::uint32_t r) {
    lines_[r].may_work = true;
    lines_[r].asked = false;
    call(r);
  }
  // The time of a task on its cpu is over.
  void timer(std::uint32_t task);
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t task) const { return tasks_[task].rank; }
  // The operation of its rank's program.
  [[nodiscard]] std::uint64_t op_of(std::uint32_t task) const { return tasks_[task].op; }

 private:
  struct Task {
    std::uint32_t rank = 0;
    std::uint32_t number = 0;  // among those of its rank since the last task_wait
    std::uint32_t lacks = 0;   // tasks that it is after and that are not over, or have not begun
    std::uint32_t at_end = kNone, at_start = kNone;  // first of edges_: who is after it
    std::uint32_t context = 0;
    std::int32_t peer = 0, tag = 0;
    traces::OpKind kind{};
    std::uint8_t cpu = 0;
    bool begun = false;
    std::uint64_t turn = 0;  // since it waits for its cpu: least first, no two alike
    std::int64_t amount = 0;
    std::uint64_t op = 0;  // of its rank's program
  };
  struct Edge {
    std::uint32_t later = 0;  // task
    std::uint32_t next = kNone;
  };
  struct Cpu {
    std::uint32_t busy = kNone;          // the task that has it
    std::uint32_t before = kNone;        // of the critical path: what had it last
    bool listed = false;                 // in Line::free_cpus
    std::vector<std::uint32_t> waiting;  // tasks, a heap by turn: the next one in front
    // Of `waiting` those that take time, and how many of them came at `last`.
    std::uint32_t take_time = 0, at_last = 0;
    Instant last;
    void joins(Instant now) {
      if (last != now) at_last = 0;
      last = now;
      ++at_last;
      ++take_time;
    }
    // `now`: it came at this instant.
    void leaves(bool now) {
      at_last -= now ? 1 : 0;
      --take_time;
    }
    // Somebody has waited for it since before.
    [[nodiscard]] bool waited_for(Instant now) const { return take_time > (last == now ? at_last : 0); }
  };
  enum class What : std::uint8_t { kPost, kCame, kOver };
  struct Happened {
    What what;
    std::uint32_t task;
  };
  struct Line {
    std::vector<std::uint32_t> rows;  // by number: its task, kNone once it is over
    std::vector<Cpu> cpus;
    std::vector<Happened> happened;        // that advance() has not seen
    std::vector<std::uint32_t> ready;      // tasks that lack nothing
    std::vector<std::uint32_t> free_cpus;  // that may have a turn to give
    Instant last;                          // when a task began to wait
    std::uint32_t instants = 0;            // at how many
    std::uint64_t last_op = 0;             // that made a task
    // What on_op is to be told next.
    std::uint64_t shown_op = 0;
    Instant shown_since, shown_until;
    std::uint32_t left = 0;
    std::uint32_t computing = 0, sending = 0, receiving = 0;  // cpus
    bool queued = false, waits = false;
    bool may_work = false;  // tasks that take time may begin: all else of this instant has happened
    bool asked = false;     // ... turns() will say so
  };

  // Rank r has something to advance().
  void call(std::uint32_t r);
  void note(std::uint32_t r, What what, std::uint32_t task) {
    lines_[r].happened.push_back({what, task});
    call(r);
  }
  // `later` lacks `list`'s task from here on.
  void join(std::uint32_t& list, std::uint32_t later);
  // Those of `list` lack one task less, `task`.
  void release(std::uint32_t& list, std::uint32_t task);
  void begin(std::uint32_t task);
  void over(std::uint32_t task);
  void queue_up(std::uint32_t task);
  void list(Line& line, std::uint32_t cpu);
  // Its cpu is free, and it is next: it has it, if it takes time.
  void take_turn(Line& line, Cpu& cpu);
  // Gives turns to what takes no time; if there is nothing of the kind, to one task of rank r that takes some, when they may begin. False:
  // there is none either.
  [[nodiscard]] bool give_turns(std::uint32_t r, Line& line);
  [[nodiscard]] Elapsed time_of(const Task& t);
  // Its turn, from now on.
  [[nodiscard]] std::uint64_t turn_of(Line& line, const Cpu& cpu, const Task& t);
  [[nodiscard]] bool later(std::uint32_t a, std::uint32_t b) const { return tasks_[a].turn > tasks_[b].turn; }
  [[nodiscard]] bool takes_no_time(const Task& t) const { return t.turn < kTakesTime; }
  static constexpr std::uint64_t kTakesTime = std::uint64_t{1} << 62;
  [[nodiscard]] static std::uint32_t instant_of(const Task& t) {
    return static_cast<std::uint32_t>((t.turn & ~kTakesTime) >> 32);
  }
  [[nodiscard]] static std::uint32_t& at_work(Line& line, traces::OpKind kind) {
    return kind == traces::OpKind::task_compute ? line.computing
           : kind == traces::OpKind::task_send  ? line.sending
                                                : line.receiving;
  }
  // What the time of a task on its cpu counts for.
  [[nodiscard]] static Part part_of(traces::OpKind kind);
  // For ReplayOptions::on_op, which tells one thing at a time: what rank r did from k.blocked_since to now, of what its cpus did then.
  void show(std::uint32_t r, Part part);
  // Time of a rank that waits for its tasks, up to now; message m ended it, if one did.
  void book(std::uint32_t r, const Message* m, bool sender);
  // Goes through what happened; what is ready from it waits for its cpu.
  template <class Port>
  void settle(Line& line, Port& port);
  template <class Port>
  void post(std::uint32_t task, Port& port);

  const ReplayOptions& options_;
  const MessageCost& cost_;
  ComputeTimes& compute_;
  Ranks& ranks_;
  CauseBook& causes_;
  Hindsight& hindsight_;
  Agenda& agenda_;
  Pool<Task> tasks_;
  Pool<Edge> edges_;
  std::vector<Line> lines_;        // by rank; empty until one has tasks
  std::uint32_t posting_ = kNone;  // the task whose message is being posted
};

template <class Port>
void Tasks::post(std::uint32_t task, Port& port) {
  const Task t = tasks_[task];
  if (t.peer == traces::kProcNull) return note(t.rank, What::kOver, task);
  const Target mine{task | Target::kActivity | Target::kTask};
  posting_ = task;
  if (t.kind == traces::OpKind::task_send)
    port.post_send(t.rank, static_cast<std::uint32_t>(t.peer), t.context, t.tag, t.amount,
                   traces::OpKind::isend, mine, time_of(t));
  else
    (void)port.post_recv(t.rank, t.peer, t.context, t.tag, t.amount, mine);
  posting_ = kNone;
}

template <class Port>
void Tasks::settle(Line& line, Port& port) {
  for (std::size_t i = 0; i < line.happened.size() && !agenda_.failed(); ++i) {
    const auto [what, task] = line.happened[i];
    switch (what) {
      case What::kPost:
        post(task, port);
        break;
      case What::kCame:
        queue_up(task);
        break;
      case What::kOver:
        over(task);
        break;
    }
  }
  line.happened.clear();
  for (const std::uint32_t task : line.ready) queue_up(task);
  line.ready.clear();
}

template <class Port>
void Tasks::advance(std::uint32_t r, Port& port) {
  Line& line = lines_[r];
  do settle(line, port);
  while (!agenda_.failed() && give_turns(r, line));
  line.queued = line.may_work = false;
}

}  // namespace weft::replay
