// Operations: what each operation of a trace does to its rank.
//
// A handler may be entered again after a wait: Rank::stage says how far the operation is. It pays processor time, posts
// messages, starts and awaits requests, and hands the rest to who owns it: collectives to CollectiveRuns, series to
// SeriesRuns, stretches of computations and polls to RunAhead.
// A send that takes processor time is paid before its message leaves; receives of the same call are posted before that:
// what arrives meanwhile finds them there.
// Complexity: O(1) an operation besides those, O(requests) where it names several; no allocation but for first uses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "network/network.hpp"
#include "replay/agenda.hpp"
#include "replay/engine.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/probes.hpp"
#include "replay/messages/transfers.hpp"
#include "replay/ranks/collective_runs.hpp"
#include "replay/ranks/compute_times.hpp"
#include "replay/ranks/device_copies.hpp"
#include "replay/ranks/device_queues.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/ranks/regions.hpp"
#include "replay/ranks/run_ahead.hpp"
#include "replay/ranks/tasks.hpp"
#include "replay/series/series_runs.hpp"
#include "replay/why/cause_book.hpp"

namespace weft::replay {

class Operations {
 public:
  // Who does what; all outlive it.
  struct Owners {
    Ranks& ranks;
    Transfers& transfers;
    CollectiveRuns& collectives;
    Tasks& tasks;
    SeriesRuns& series;
    Probes& probes;
    RunAhead& run_ahead;
    ComputeTimes& compute;
    DeviceQueues& devices;
    DeviceCopies& copies;
    Regions& regions;
    CauseBook& causes;
    Hindsight& hindsight;
    const MessageCost& cost;
    const network::Network& network;
  };
  Operations(const Owners& owners, const ReplayOptions& options, Agenda& agenda)
      : ranks_(owners.ranks),
        transfers_(owners.transfers),
        collectives_(owners.collectives),
        tasks_(owners.tasks),
        series_(owners.series),
        probes_(owners.probes),
        run_ahead_(owners.run_ahead),
        compute_(owners.compute),
        devices_(owners.devices),
        copies_(owners.copies),
        regions_(owners.regions),
        causes_(owners.causes),
        hindsight_(owners.hindsight),
        cost_(owners.cost),
        network_(owners.network),
        options_(options),
        agenda_(agenda),
        overheads_(cost_.has_cpu_costs()),
        test_cost_(cost_.test()) {}

  // Does `op`, at which rank r stands, or goes on with it.
  [[nodiscard]] Step run(std::uint32_t r, Rank& k, const traces::Op& op);

 private:
  using Op = traces::Op;
  using OpKind = traces::OpKind;

  Step compute(std::uint32_t r, Rank& k, const Op& op);
  Step send(std::uint32_t r, Rank& k, const Op& op);
  Step recv(std::uint32_t r, Rank& k, const Op& op);
  Step sendrecv(std::uint32_t r, Rank& k, const Op& op);
  Step sendrecv(std::uint32_t r, Rank& k, const Op& op, const Op& half);
  Step isend(std::uint32_t r, Rank& k, const Op& op);
  Step irecv(std::uint32_t r, Rank& k, const Op& op);
  Step start(std::uint32_t r, Rank& k, const Op& op);
  Step request_free(std::uint32_t r, Rank& k, const Op& op);
  Step cancel(std::uint32_t r, Rank& k, const Op& op);
  Step wait(std::uint32_t r, Rank& k, const Op& op);
  template <class Slots>
  Step wait_for(std::uint32_t r, Rank& k, const Op& op, const Slots& slots);
  Step launch(std::uint32_t r, Rank& k, const Op& op);
  // The copy over links that `op` is, a kernel call or a launch; none: it is a duration, or not a known kernel.
  [[nodiscard]] std::optional<LinkCopy> link_copy(std::uint32_t r, const Rank& k, const Op& op) const;
  Step probe(std::uint32_t r, Rank& k, const Op& op);
  Step iprobe(std::uint32_t r, Rank& k, const Op& op);
  Step missed_poll(std::uint32_t r, Rank& k, const Op& op);
  Step task(std::uint32_t r, Rank& k, const Op& op);
  Step task_wait(std::uint32_t r, Rank& k);
  Step collective(std::uint32_t r, Rank& k, const Op& op);
  Step series(std::uint32_t r, Rank& k, const Op& op);
  Step region(std::uint32_t r, const Op& op);

  // Posts the message of request `slot`, which was started. `paid`: as Transfers::post_send().
  void post_request(std::uint32_t r, Rank& k, std::uint32_t slot, const Op& op, Elapsed paid);
  // Calls the collective, whose end `target` is told.
  void call_collective(std::uint32_t r, const Op& op, Target target) {
    const std::uint32_t run = collectives_.begin(r, op, target);
    if (run == kNone) return;
    if (target.value < Target::kBlocking) ranks_[r].requests.stands_in(target.value, run);
    collectives_.advance(run, transfers_);
  }
  // CPU time `d` of this rank passes, for `cause`, then the operation goes on at `next`.
  Step pay(std::uint32_t r, Rank& k, Elapsed d, Cause cause, Stage next) {
    causes_.add(r, cause, d);
    return pass_in_turn(r, k, d, next);
  }
  // Time `d` of this rank passes, then the operation goes on at `next`.
  Step pass(std::uint32_t r, Rank& k, Elapsed d, Stage next) {
    k.stage = next;
    agenda_.post_in(d, EventKind::kRankTimer, r);
    return Step::kBlocked;
  }
  // The same of an overhead, as many pay it.
  Step pass_in_turn(std::uint32_t r, Rank& k, Elapsed d, Stage next) {
    k.stage = next;
    agenda_.post_in_turn(d, EventKind::kRankTimer, r);
    return Step::kBlocked;
  }
  // The operation goes on when all else of this instant has happened.
  Step look_last(std::uint32_t r, Rank& k) {
    k.part = Part::kRecv;
    k.stage = Stage::kLooks;
    agenda_.post_last(EventKind::kRankTimer, r);
    return Step::kBlocked;
  }
  Step bad(std::uint32_t r, std::string_view what);
  Step in_use(std::uint32_t r, const Op& op);
  Step not_for_launched(std::uint32_t r, const Op& op, std::int64_t slot);

  Ranks& ranks_;
  Transfers& transfers_;
  CollectiveRuns& collectives_;
  Tasks& tasks_;
  SeriesRuns& series_;
  Probes& probes_;
  RunAhead& run_ahead_;
  ComputeTimes& compute_;
  DeviceQueues& devices_;
  DeviceCopies& copies_;
  Regions& regions_;
  CauseBook& causes_;
  Hindsight& hindsight_;
  const MessageCost& cost_;
  const network::Network& network_;
  const ReplayOptions& options_;
  Agenda& agenda_;
  bool overheads_;  // calls take processor time
  Elapsed test_cost_;
};

}  // namespace weft::replay
