// RunAhead: computations one after the other, with polls between them that find nothing, as one event.
//
// While a rank computes and polls, nothing that it does concerns others, and nothing of others concerns it but the
// message that it polls for. So its operations up to the next one of another kind are taken at once; if the message
// becomes visible meanwhile (poke), the run is cut short at the first poll from then on. HPL's look-ahead has some
// sixty polls a panel.
// Invariants:
//  1. Times are those of one event an operation, to the tick: durations add up the same.
//  2. A run has polls of one message at most that can find it; a poll for another ends it.
//  3. The event that ends a run is known by its sequence number: one of a run that was cut short is stale.
//
// A copy over links (device_copies.hpp) concerns others, so it ends a run.
//
// Which kernel calls are pieces of one is not decided here but by CallWindow (call_window.hpp), and holds as well where
// operations are taken one by one: call_time() says how long each takes then.
// HPL's updates are the same few operations dozens of times: where the operations between two polls come again, they are
// compared, not computed, and time is multiplied (whole ticks, so it is the same sum). With noise each call is a draw of
// its own, and most draws after the poll that hits would be for nothing: a run ends after kPollsWithNoise polls, and the
// next one begins there.
// Complexity: O(operations of the run), once more if it is cut short; no allocation but for joined calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "replay/agenda.hpp"
#include "replay/message_cost.hpp"
#include "replay/ranks/call_window.hpp"
#include "replay/ranks/compute_times.hpp"
#include "replay/ranks/poll_view.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/why/cause_book.hpp"

namespace weft::replay {

class RunAhead {
 public:
  // All outlive it. `enabled`: not where somebody wants to see every operation.
  RunAhead(Ranks& ranks, ComputeTimes& compute, PollView& probes, CauseBook& causes, Agenda& agenda,
           const MessageCost& cost, bool enabled)
      : ranks_(ranks),
        compute_(compute),
        probes_(probes),
        causes_(causes),
        agenda_(agenda),
        poll_cost_(cost.poll()),
        enabled_(enabled),
        runs_(ranks.count()),
        joined_(ranks.count()) {}

  [[nodiscard]] bool enabled() const { return enabled_; }
  // Takes the operations of rank r from its next one on, which begins at `start`, and posts the event of their end; false if
  // there are not two of them. REQUIRES: that one is a computation, and is fresh; `start` is not in the past.
  [[nodiscard]] bool begin(std::uint32_t r, Instant start);
  // The event of that sequence number came up. True: the run is over, and the rank ready; false: it was cut short meanwhile, or
  // comes up once more at this instant, after all else, if `more` is due: that may be the message that its last poll finds.
  bool end(std::uint32_t r, std::uint64_t sequence, bool more);
  // Its run polls for a message. REQUIRES: the rank is in a run.
  [[nodiscard]] bool polls(std::uint32_t r) const { return runs_[r].poll != kNoPoll; }
  // The poll of the rank's run that a message may cut short; null: none does.
  [[nodiscard]] const traces::Op* poll_of(std::uint32_t r) {
    return runs_[r].poll == kNoPoll ? nullptr : *ranks_[r].program.at(runs_[r].poll);
  }

  // ---- The same where a rank need not wait for the time of its end if nothing can cut it short.
  // How long the run takes; nothing if there are not two operations. Then poll_of() says whether it is to be posted, or is over.
  [[nodiscard]] std::optional<Elapsed> take(std::uint32_t r, Instant start);
  void post(std::uint32_t r, Elapsed total);
  // It is over at `at`: the rank stands behind it.
  void over(std::uint32_t r, Instant at);

  // ---- All.
  // A message to rank r became visible: if its run polls for it, the run ends at the first poll from now on.
  // REQUIRES: the rank is in a run.
  void poke(std::uint32_t r);

  // ---- Where operations are taken one by one.
  // How long the kernel call of rank r takes that it is at: with all later pieces of it, or not at all if it is one of
  // those.
  [[nodiscard]] Elapsed call_time(std::uint32_t r, const traces::Op& op);
  [[nodiscard]] bool polls_take_time() const { return poll_cost_ > kNoTime; }
  [[nodiscard]] Elapsed poll_time(const traces::Op& op) const {
    // Bounds the time of one operation whatever a trace claims: 2^26 polls of a second each still fit the clock.
    constexpr std::int64_t kMaxMergedPolls = std::int64_t{1} << 26;
    return Elapsed::of_ticks(poll_cost_.ticks() * std::clamp<std::int64_t>(op.amount, 1, kMaxMergedPolls));
  }

 private:
  static constexpr std::uint64_t kNoPoll = ~std::uint64_t{0};
  static constexpr int kPollsWithNoise = 4;
  struct Run {
    std::uint64_t first = 0, end = 0;  // operations
    std::uint64_t poll = 0;            // one of them that looks for a message; kNoPoll: none does
    std::uint64_t sequence = 0;        // of the event that ends it
    Instant since;                     // when the last of its operations that took time began
    std::uint64_t calls = 0;           // kernel calls before it
    std::uint64_t calls_after = 0;
    bool at_poll = false;   // ends when operation `end`, a poll, looks
    bool came_up = false;   // the event that ends it did
    bool computes = false;  // more than copies
    Elapsed polled;         // of its time, spent in polls
    // Operations known to be again what stands `period` before them, as a range; what stands before it comes first.
    std::uint64_t again_from = 0, again_end = 0, again_period = 0;
  };
  // A stretch of kernel calls and polls that are over which is taken operation by operation (call_window.hpp).
  struct JoinedCalls {
    std::uint64_t end = 0;                // operation after it
    std::vector<CallWindow::Call> calls;  // in order of their first pieces
    [[nodiscard]] bool holds(std::uint64_t pc) const { return pc < end && calls.front().first <= pc; }
  };
  // What a run that is being put together holds so far.
  struct Stretch {
    CallWindow window;
    Elapsed total;
    Elapsed last;             // how far it had come when the last operation that took time began
    bool takes_time = false;  // there was one
    bool joined = false;      // a poll that is over was passed
    bool unfinished = false;  // what the window holds may go on where this run cannot
    int polls = 0;            // taken
    void take(Elapsed d) {
      if (d == kNoTime) return;
      last = total;
      takes_time = true;
      total += d;
    }
  };
  // The poll that was taken last, and what the stretch had come to then.
  struct LastPoll {
    std::uint64_t at = kNoPoll;
    Elapsed total, polled;
  };
  // What to do with the next operation of a run.
  enum class Take : std::uint8_t { kTaken, kEnds };

  void take_call(std::uint32_t r, Stretch& s) {
    s.take(Elapsed::of_seconds(compute_.kernel_seconds(r, s.window.pop().shape)));
  }
  void take_calls(std::uint32_t r, Stretch& s) {
    while (!s.window.empty()) take_call(r, s);
  }
  void take_kernel(std::uint32_t r, std::uint64_t i, const traces::KernelShape& shape, Stretch& s) {
    if (s.window.add(i, shape) != CallWindow::Added::kFull) return;
    if (s.window.joining())
      take_calls(r, s);
    else
      take_call(r, s);
    (void)s.window.add(i, shape);
  }
  [[nodiscard]] Take take_poll(std::uint32_t r, std::uint64_t i, const traces::Op& op, Stretch& s);
  // Poll i was taken: takes what repeats the operations between `last` and it, and returns how many operations that is.
  [[nodiscard]] std::uint64_t take_again(std::uint32_t r, std::uint64_t i, const LastPoll& last, Stretch& s);
  // How many times operations first .. first + period - 1 of rank r, of the selected block, come again after them.
  [[nodiscard]] std::uint64_t times_again(std::uint32_t r, std::uint64_t first, std::uint64_t period);
  // Looks how far the stretch goes which rank r is at; false: the replay failed.
  [[nodiscard]] bool look_ahead(std::uint32_t r, const Rank& k, ProgramCursor& program, CallWindow& window,
                                std::uint64_t& end);

  Ranks& ranks_;
  ComputeTimes& compute_;
  PollView& probes_;
  CauseBook& causes_;
  Agenda& agenda_;
  Elapsed poll_cost_;
  bool enabled_;
  std::vector<Run> runs_;            // by rank
  std::vector<JoinedCalls> joined_;  // by rank
};

}  // namespace weft::replay
