// Simulation: the loop of one replay. engine.cpp is its only user.
//
// At one instant everything that can run runs (the ready queue, then the events of that instant, in sequence order);
// then the network is solved once; then time moves to the next event. Each event is handed to the class that owns what
// it is about; nothing here knows what a message or a collective is.
//
//   Agenda         when: the clock, events, the first error     Operations      what an operation does to its rank
//   Ranks          rows of ranks, who can run                   Transfers       messages from their send to their end
//   CollectiveRuns collectives in progress                      Probes          what a probe sees
//   Tasks          tasks of ranks
//   RunAhead       computations and polls taken as one          Matcher         which send a receive takes
//   SeriesRuns     series of exchanges in progress              MessageRouter   which links a message takes
//   ComputeTimes   how long computations take                   Waits, CauseBook  what ends a wait, and why
//   DeviceQueues   what ranks launched on their accelerators
//   DeviceCopies   copies between accelerators and hosts that share links
//   Hindsight      what made the replay as long as it is, and who waited for whom
//
// Members are declared in the order in which one needs the other; none knows the Simulation.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.hpp"
#include "network/network.hpp"
#include "replay/agenda.hpp"
#include "replay/audits.hpp"
#include "replay/collectives/choices.hpp"
#include "replay/communicators.hpp"
#include "replay/engine.hpp"
#include "replay/kernel_time.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/matcher.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/message_router.hpp"
#include "replay/messages/probes.hpp"
#include "replay/messages/traffic.hpp"
#include "replay/messages/transfers.hpp"
#include "replay/ranks/collective_runs.hpp"
#include "replay/ranks/compute_times.hpp"
#include "replay/ranks/device_copies.hpp"
#include "replay/ranks/device_queues.hpp"
#include "replay/ranks/operations.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/ranks/regions.hpp"
#include "replay/ranks/run_ahead.hpp"
#include "replay/ranks/tasks.hpp"
#include "replay/ranks/unanswered_tests.hpp"
#include "replay/ranks/waits.hpp"
#include "replay/series/series_runs.hpp"
#include "replay/why/cause_book.hpp"
#include "replay/why/hindsight.hpp"

namespace weft::replay {

class Simulation {
 public:
  // All references outlive it. `programs`: what was read of the trace, as Ranks has it.
  Simulation(traces::TraceReader& trace, const topology::Platform& platform,
             const std::vector<HostId>& placement, const ReplayOptions& options,
             std::unique_ptr<congestion::SharingModel> model, CollectiveChoices choices, KernelClock kernels,
             std::vector<DeviceCopies::Ends> copies, Ranks::Programs programs);
  // Before run().
  void audit(const Audits& audits);
  // To be called once.
  [[nodiscard]] Result<ReplayResult> run();

 private:
  void run_ready();
  void run_rank(std::uint32_t r);
  bool handle(const Agenda::Event& e);
  void enter_network(std::uint32_t owner);
  void flow_over(std::uint32_t owner);
  void instant_over();
  void prefetch_next();
  void report_progress();
  [[nodiscard]] std::string next_in_words() const;
  [[nodiscard]] ReplayResult collect();
  void collect_ranks(ReplayResult& out);

  traces::TraceReader& trace_;
  const ReplayOptions& options_;
  Agenda agenda_;
  Ranks ranks_;
  Communicators comms_;
  network::Network network_;
  Pool<Message> messages_;
  FlowStarts starts_;
  Matcher matcher_;
  MessageRouter router_;
  MessageCost cost_;
  Traffic traffic_;
  CauseBook causes_;
  Hindsight hindsight_;
  Waits waits_;
  ComputeTimes compute_;
  DeviceQueues devices_;
  DeviceCopies copies_;
  Probes probes_;
  RunAhead run_ahead_;
  CollectiveRuns collectives_;
  Tasks tasks_;
  Transfers transfers_;
  SeriesRuns series_;
  Regions regions_;
  UnansweredTests unanswered_tests_;
  Operations operations_;
  std::uint64_t event_count_ = 0;
  Instant last_;               // when anything happened
  std::uint64_t next_report_;  // events
  ClockAudit* clock_audit_ = nullptr;
};

}  // namespace weft::replay
