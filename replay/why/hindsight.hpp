// Hindsight: what a replay remembers, so that it can be asked when it is over why it took so long. Three parts, each for
// a question of its own:
//
//   CriticalPath   which chain of computations and messages is the makespan made of?
//   IdealClocks    how long would it have taken if messages took no time?
//   WaitStates     which ranks waited for which others, and what held those up?
//
// The engine calls it wherever something happens to a message, a wait, a collective or a rank, and it passes the call on
// to the parts that need it. It only watches: no time of the replay depends on it.
// Complexity: that of the parts, as their headers say; where none is wanted, a call is a test of one flag.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "replay/why/critical_path.hpp"
#include "replay/why/ideal_clocks.hpp"
#include "replay/why/wait_states.hpp"

namespace weft::replay {

class Hindsight {
 public:
  struct Wanted {
    bool path = false, wait_states = false;
    std::size_t regions = 0;           // names of them in the trace
    std::function<void()> no_ideal{};  // ReplayOptions::on_no_ideal
  };
  // All outlive it.
  Hindsight(Wanted wanted, const MessageCost& cost, const Communicators& comms, const Ranks& ranks,
            CauseBook& causes, const Agenda& agenda)
      : any_(wanted.path || wanted.wait_states),
        path_(wanted.path, cost, ranks, causes, agenda),
        ideal_(wanted.path, ranks, wanted.regions, std::move(wanted.no_ideal)),
        waits_(wanted.wait_states, cost.known_at_once(), comms, ranks, agenda) {}

  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] CriticalPath& path() { return path_; }
  [[nodiscard]] const IdealClocks& ideal() const { return ideal_; }
  [[nodiscard]] WaitStates& wait_states() { return waits_; }

  // ---- Messages; `row` and `receive` are where they are kept while they live. In the order of a life: m is sent; a receive
  // is posted; both meet (late: m was there first); one side of m is over; its data have come; m is given back.
  void sent(std::uint32_t row, Message& m, std::uint32_t rank, Target target) {
    if (!any_) return;
    ideal_.sent(row, rank, target);
    path_.sent(m, rank, target);
    waits_.sent(m);
  }
  void posted(std::uint32_t receive, std::uint32_t rank, Target target) {
    if (!any_) return;
    ideal_.posted(receive, rank, target);
    if (!target.is_activity() || target.is_task()) waits_.posted(receive, rank);
  }
  void met(std::uint32_t row, const Message& m, std::uint32_t receive, bool late) {
    if (!any_) return;
    if (!leaves_at_once(m.protocol)) ideal_.met(row, receive);
    waits_.met(m, receive, late);
  }
  void late_receiver(Message& m, Target target) {
    if (any_) path_.late_receiver(m, target);
  }
  // Earlier ones of its channel have come, and have their turn now that m came; `whole`: with all its data.
  [[nodiscard]] std::uint32_t gives_turns(const Message& m, bool whole) {
    return path_.gives_turns(m, whole);
  }
  void takes_turn(Message& m, std::uint32_t past) { path_.takes_turn(m, past); }
  void turns_taken(std::uint32_t& past) { path_.turns_taken(past); }
  void side_over(std::uint32_t row, std::uint32_t rank, Target target) {
    if (any_) ideal_.side_over(row, rank, target);
  }
  void arrived(Message& m, LinkId held_by) {
    if (any_) path_.arrived(m, held_by);
  }
  void over(Message& m) {
    if (any_) path_.over(m);
  }

  // ---- Waits that end now, with a message, a collective, a kernel.
  void woken(std::uint32_t rank, const Message& m, bool sender) {
    if (!any_) return;
    waits_.woken(rank, m, sender);
    path_.woken(rank, m, sender);
  }
  void run_over(std::uint32_t run, std::uint32_t rank, Target target) {
    if (any_) ideal_.run_over(run, rank, target);
  }
  void woken_by_run(std::uint32_t rank, std::uint32_t run) {
    if (!any_) return;
    waits_.woken_by_run(rank, run);
    path_.woken_by_run(rank, run);
  }
  void woken_by_kernel(std::uint32_t rank, std::uint32_t since) { path_.woken_by_kernel(rank, since); }
  void launched(std::uint32_t rank, std::uint32_t& since) { path_.launched(rank, since); }

  void copied(std::uint32_t rank, std::uint32_t& since, const CriticalPath::Copy& copy) {
    path_.copied(rank, since, copy);
  }

  // ---- Tasks, as CriticalPath says. A wait of the rank for its tasks, since Rank::blocked_since, ends with message m.
  void waited_for_tasks(std::uint32_t rank, const Message& m, bool sender) {
    if (any_) waits_.woken(rank, m, sender);
  }
  void task_comes(std::uint32_t task, std::uint32_t rank) { path_.task_comes(task, rank); }
  void task_follows(std::uint32_t task, std::uint32_t other) { path_.task_follows(task, other); }
  void task_has_turn(std::uint32_t task, std::uint32_t before) { path_.task_has_turn(task, before); }
  void task_worked(std::uint32_t task, std::uint32_t rank, std::uint64_t op, std::optional<Cause> cause,
                   std::uint32_t& before) {
    path_.task_worked(task, rank, op, cause, before);
  }
  void task_woken(std::uint32_t task, const Message& m, bool sender) { path_.task_woken(task, m, sender); }
  void task_ends(std::uint32_t task) { path_.task_ends(task); }
  void woken_by_task(std::uint32_t rank, std::uint32_t task) { path_.woken_by_task(rank, task); }

  // ---- Collectives, as CriticalPath and WaitStates say.
  void run_begins(std::uint32_t run, std::uint32_t rank, const WaitStates::Call& call) {
    if (!any_) return;
    path_.run_begins(run, rank);
    ideal_.run_begins(run, rank);
    waits_.comes(run, rank, call);
  }
  void run_woken(std::uint32_t run, const Message& m, bool sender) {
    if (any_) path_.run_woken(run, m, sender);
  }
  void round_over(std::uint32_t run) {
    if (any_) ideal_.round_over(run);
  }
  void run_paid(std::uint32_t run, std::uint32_t rank, Cause cause) {
    if (any_) path_.run_paid(run, rank, cause);
  }
  void run_ends(std::uint32_t run) {
    if (any_) path_.run_ends(run);
  }
  [[nodiscard]] std::uint32_t series_begins(std::uint32_t last) { return path_.series_begins(last); }
  void series_over(std::uint32_t rank, std::uint32_t last, std::uint32_t past, Instant end, Elapsed computed,
                   const std::array<double, kCauseCount>& seconds) {
    path_.series_over(rank, last, past, end, computed, seconds);
  }
  void series_told(std::uint32_t past) { path_.series_told(past); }
  void in_series(std::uint32_t rank, std::uint32_t comm, std::uint32_t last, Instant end, Elapsed computed) {
    waits_.in_series(rank, comm, last, end, computed);
  }

  // ---- Ranks: a request of one has no message; it has waited for those of `slots`; its operation is over; what it does depends on
  // when messages come; it sleeps for d; it begins, or ends, region `id`; from here on it is in `region` (kNone: in none).
  void no_message(std::uint32_t rank, std::uint32_t slot) {
    if (any_) ideal_.no_message(rank, slot);
  }
  template <class Slots>
  void collected(std::uint32_t rank, const Slots& slots) {
    if (any_) ideal_.collected(rank, slots);
  }
  void op_over(std::uint32_t rank) {
    if (any_) ideal_.op_over(rank);
  }
  void depends_on_time() { ideal_.give_up(); }
  void region(std::uint32_t rank, std::uint64_t id, bool begins) {
    begins ? ideal_.region_begins(rank, id) : ideal_.region_ends(rank, id);
  }
  void sleeps(std::uint32_t rank, Elapsed d) { path_.sleeps(rank, d); }
  void enters(std::uint32_t rank, std::uint32_t region) {
    path_.enters(rank, region);
    waits_.enters(rank, region);
  }

 private:
  bool any_;
  CriticalPath path_;
  IdealClocks ideal_;
  WaitStates waits_;
};

}  // namespace weft::replay
