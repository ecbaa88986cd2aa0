// Hindsight: what a replay keeps of its past for questions that are asked when it is over: what the makespan is made of
// (CriticalPath), and who waited for whom (WaitStates). The engine tells it what happens; each part takes what it needs.
// Switched off, a call is one test of a flag.
#pragma once

#include <array>
#include <cstdint>

#include "replay/critical_path.hpp"
#include "replay/wait_states.hpp"

namespace weft::replay {

class Hindsight {
 public:
  struct Wanted {
    bool path = false, wait_states = false;
  };
  // All outlive it.
  Hindsight(Wanted wanted, const MessageCost& cost, const Ranks& ranks, CauseBook& causes,
            const Agenda& agenda)
      : any_(wanted.path || wanted.wait_states),
        path_(wanted.path, cost, ranks, causes, agenda),
        waits_(wanted.wait_states, cost.known_at_once(), ranks, agenda) {}

  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] CriticalPath& path() { return path_; }
  [[nodiscard]] WaitStates& wait_states() { return waits_; }

  // ---- Messages: m is posted now; it meets its receive, which is called only now or was there; its data have come; its row is given back.
  void sent(Message& m, std::uint32_t rank, Target target) {
    if (!any_) return;
    path_.sent(m, rank, target);
    if ((m.state & kCollective) == 0) waits_.calls(rank);
  }
  void met(const Message& m, bool late) {
    if (any_) waits_.met(m, late);
  }
  void late_receiver(Message& m, Target target) {
    if (!any_) return;
    path_.late_receiver(m, target);
    if ((m.state & kCollective) == 0) waits_.calls(m.dst);
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
  void woken_by_run(std::uint32_t rank, std::uint32_t run) {
    if (!any_) return;
    waits_.woken_by_run(rank, run);
    path_.woken_by_run(rank, run);
  }
  void woken_by_kernel(std::uint32_t rank, std::uint32_t since) { path_.woken_by_kernel(rank, since); }
  void launched(std::uint32_t rank, std::uint32_t& since) { path_.launched(rank, since); }

  // ---- Collectives, as CriticalPath and WaitStates say.
  void run_begins(std::uint32_t run, std::uint32_t rank, const WaitStates::Call& call) {
    if (!any_) return;
    path_.run_begins(run, rank);
    waits_.comes(run, rank, call);
  }
  void run_woken(std::uint32_t run, const Message& m, bool sender) {
    if (any_) path_.run_woken(run, m, sender);
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
  void in_series(std::uint32_t rank, std::uint32_t comm, std::uint32_t size, std::uint32_t last, Instant end,
                 Elapsed computed) {
    waits_.in_series(rank, comm, size, last, end, computed);
  }

  // From here on the rank is in `region` (kNone: in none).
  void enters(std::uint32_t rank, std::uint32_t region) {
    path_.enters(rank, region);
    waits_.enters(rank, region);
  }

 private:
  bool any_;
  CriticalPath path_;
  WaitStates waits_;
};

}  // namespace weft::replay
