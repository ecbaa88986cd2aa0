// Simulation: the state of one replay and the rules that advance it. engine.cpp is its only user.
//
// A rank is a row: a program position, a stage within the current operation, and a count of completions that
// it waits for. Nothing has a stack. At one instant everything that can run runs (ready queue, then events of
// that instant, in sequence order); then the network is solved once; then time moves to the next event.
//
// It keeps clock, ready queue, dispatch and the rows of the ranks; what has a state of its own is a class of its own:
// Matcher, MessageRouter, CauseBook, MessageCost, KernelClock, Network. Split by duty: simulation.cpp (loop, ranks),
// operations.cpp (what each operation does), point_to_point.cpp (transfers, probes), collective_run.cpp (collectives as
// rounds of messages), series_run.cpp (series of exchanges), run_ahead.cpp (computations and polls in one),
// deadlock.cpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "network/event_queue.hpp"
#include "network/network.hpp"
#include "replay/cause_book.hpp"
#include "replay/collectives/schedule.hpp"
#include "replay/engine.hpp"
#include "replay/event_kind.hpp"
#include "replay/kernel_time.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/matcher.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/message_router.hpp"
#include "replay/ranks/call_window.hpp"
#include "replay/ranks/program_cursor.hpp"
#include "replay/series/exchange_series.hpp"
#include "traces/exchange_series.hpp"

namespace weft::replay {

class Simulation {
 public:
  Simulation(traces::TraceReader& trace, const topology::Platform& platform,
             const std::vector<HostId>& placement, const ReplayOptions& options,
             std::unique_ptr<congestion::SharingModel> model, std::vector<const CollectiveAlgorithm*> chosen,
             KernelClock kernels);
  [[nodiscard]] Result<ReplayResult> run();

 private:
  using Op = traces::Op;
  using OpKind = traces::OpKind;

  // Where a rank stands within its current operation.
  enum class Stage : std::uint8_t {
    kFresh,         // not begun
    kOverheadPaid,  // send overhead is over, the message leaves now
    kWaiting,       // completions are awaited; receive overheads may follow
    kFinishing,     // nothing is left but to go on
  };
  enum class RankState : std::uint8_t { kReady, kBlocked, kProbing, kRunning, kDone };
  // Which of the five parts of RankTimes a blocked instant counts for.
  enum class Part : std::uint8_t { kCompute, kSend, kRecv, kWait, kCollective };
  enum class Step : std::uint8_t {
    kDone,
    kBlocked,
    kSkip
  };  // kSkip: the program position was set by the operation

  enum class SlotState : std::uint8_t { kIdle, kInactive, kActive, kComplete };
  // One request of a rank.
  struct Slot {
    SlotState state = SlotState::kIdle;
    bool awaited = false;
    bool persistent = false;
    bool receive = false;
    std::int64_t bytes = 0;  // of a completed receive: its overhead is paid when it is waited for
    Op op;                   // persistent: what start() does
  };
  // What every wake touches stands first, on three cache lines: tens of MB of ranks do not stay in a cache.
  struct alignas(64) Rank {
    std::uint64_t pc = 0;
    std::uint32_t pending = 0;
    RankState state = RankState::kReady;
    Stage stage = Stage::kFresh;
    Part part = Part::kCompute;
    bool in_detour = false;
    std::uint8_t op_length = 1;
    std::vector<Slot> slots;
    Instant op_start;
    Instant blocked_since;
    Elapsed spent[5];
    ProgramCursor program;
    std::uint64_t detour_end = 0;  // a conditional step's body runs early: [.., detour_end), then return_pc
    std::uint64_t return_pc = 0;
    Instant finish;
    std::vector<std::uint64_t> hits_done;                    // conditional steps whose body ran early
    std::vector<std::uint32_t> collective_count;             // by communicator
    std::vector<std::pair<std::uint32_t, Instant>> regions;  // open ones, innermost last
  };
  // MessageCosts while they add up.
  struct Costs {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t hops = 0;
    Elapsed latency, transfer, contention, late_sender, late_receiver;
    [[nodiscard]] MessageCosts rounded() const {
      return {count,
              bytes,
              hops,
              latency.rounded(),
              transfer.rounded(),
              contention.rounded(),
              late_sender.rounded(),
              late_receiver.rounded()};
    }
  };
  // A collective in progress on one rank.
  struct Activity {
    enum class Step : std::uint8_t {
      kRoundOver,  // its messages are there
      kReceived,   // ... and their receive overheads paid
      kSending,    // the receives of the next round are posted, its send overheads are paid
    };
    std::uint32_t rank = 0;
    std::uint32_t comm = 0;
    std::int32_t tag = 0;
    Target target;
    RankSchedule schedule;
    std::uint32_t next = 0;  // first message of the next round
    std::uint32_t pending = 0;
    Elapsed receive_cost;         // overheads of the round that ends
    std::uint32_t round_end = 0;  // of the round that is being posted
    Step step = Step::kReceived;
    // Its time up to `mark` is explained: to its rank if that is inside a blocking call, else in `causes`, as far as
    // the rank waited for it since `window`.
    Instant mark, window;
    CauseBook::Account causes{};
  };
  // What ended a wait: a message, on one of its sides, or an activity; neither: nobody waited.
  struct Ending {
    const Message* message = nullptr;
    bool sender = false;
    const Activity* activity = nullptr;
  };
  // A series of exchanges that some members of a communicator have come to.
  struct Series {
    std::uint32_t arrived = 0;
    std::vector<std::uint8_t> here;  // by member
  };
  struct Comm {
    bool identity = false;  // members are 0..p-1
    std::vector<std::pair<std::uint32_t, std::uint32_t>>
        by_world;  // (world rank, rank), sorted; empty if identity
  };

  // Computations and missed polls that a rank is in the middle of, taken as one: see run_ahead.cpp.
  struct RunAhead {
    std::uint64_t first = 0, end = 0;  // operations
    std::uint64_t poll = 0;            // one of them that looks for a message; kNoPoll: none does
    std::uint64_t sequence = 0;        // of the event that ends it
    std::uint64_t calls = 0;           // kernel calls before it
    std::uint64_t calls_after = 0;
    bool at_poll = false;  // ends when operation `end`, a poll, looks
    Elapsed polled;        // of its time, spent in polls
  };
  // A stretch of kernel calls and polls that are over which is taken operation by operation (call_window.hpp).
  struct JoinedCalls {
    std::uint64_t end = 0;                // operation after it
    std::vector<CallWindow::Call> calls;  // in order of their first pieces
    [[nodiscard]] bool holds(std::uint64_t pc) const { return pc < end && calls.front().first <= pc; }
  };
  static constexpr std::uint64_t kNoPoll = ~std::uint64_t{0};

  // ---- simulation.cpp
  void run_ready();
  void prefetch_next();
  static bool by_rank(EventKind k) { return k == EventKind::kRankTimer || k == EventKind::kRunEnd; }
  static bool by_message(EventKind k) {
    return k == EventKind::kTransferStart || k == EventKind::kEnvelope || k == EventKind::kMessageDone;
  }
  void handle(const network::Event<EventKind>& e);
  void run_rank(std::uint32_t r);
  void finish_rank(Rank& k);
  void make_ready(std::uint32_t r);
  void notify(std::uint32_t rank, Target t, std::int64_t bytes, const Ending& by);
  void post_event(Instant t, EventKind kind, std::uint32_t index) {
    events_.push({t, sequence_++, kind, index});
  }
  void fail(Error e);
  [[nodiscard]] ReplayResult collect();

  // ---- collective_run.cpp, why ranks wait
  void explain_round(Activity& act, const Message& m, bool sender);
  void explain_overheads(Activity& act);
  [[nodiscard]] CauseBook::Account* waiting_for(Activity& act, Instant& from);

  // ---- operations.cpp
  Step execute(std::uint32_t r, Rank& k, const Op& op);
  Step do_compute(std::uint32_t r, Rank& k, const Op& op);
  Step do_send(std::uint32_t r, Rank& k, const Op& op);
  Step do_recv(std::uint32_t r, Rank& k, const Op& op);
  Step do_sendrecv(std::uint32_t r, Rank& k, const Op& op);
  Step do_isend(std::uint32_t r, Rank& k, const Op& op);
  Step do_irecv(std::uint32_t r, Rank& k, const Op& op);
  Step do_init(Rank& k, const Op& op, bool receive);
  Step do_start(std::uint32_t r, Rank& k, const Op& op);
  Step do_request_free(std::uint32_t r, Rank& k, const Op& op);
  Step do_cancel(std::uint32_t r, Rank& k, const Op& op);
  Step do_wait(std::uint32_t r, Rank& k, const Op& op);
  Step do_probe(std::uint32_t r, Rank& k, const Op& op);
  Step do_iprobe(std::uint32_t r, Rank& k, const Op& op);
  Step do_collective(std::uint32_t r, Rank& k, const Op& op);
  Step do_region(std::uint32_t r, Rank& k, const Op& op);
  // The requests that a completion operation waits for.
  std::span<const std::int64_t> awaited_slots(Rank& k, const Op& op, std::int64_t& single);
  Slot* slot_for(Rank& k, const Op& op);
  void start_request(std::uint32_t r, Rank& k, std::uint32_t slot, const Op& op);
  Step pay(std::uint32_t r, Rank& k, Elapsed d, Cause cause, Stage next);
  Step pass(std::uint32_t r, Rank& k, Elapsed d, Stage next);
  void bad_op(const Rank& k, std::uint32_t r, std::string what);

  // ---- point_to_point.cpp
  void post_send(std::uint32_t src, std::uint32_t dst, std::uint32_t context, std::int32_t tag,
                 std::int64_t bytes, OpKind kind, Target target);
  void post_recv(std::uint32_t rank, std::int32_t source, std::uint32_t context, std::int32_t tag,
                 std::int64_t bytes, Target target);
  void envelope_arrived(std::uint32_t m);
  void delivered(std::uint32_t m, std::uint32_t recv);
  void match(std::uint32_t m, Target target, std::int64_t posted_bytes);
  void leave(std::uint32_t m,
             Elapsed before);  // data leave after `before`, then the latency, then the transfer
  void start_flow(std::uint32_t m);
  void arrive(std::uint32_t m);
  void release(std::uint32_t m);
  [[nodiscard]] bool visible(const Message& m) const;
  [[nodiscard]] bool probe_hits(std::uint32_t r, const Op& op);
  void poke_prober(std::uint32_t r);
  void account(const Message& m);

  // ---- collective_run.cpp
  void start_collective(std::uint32_t r, Rank& k, const Op& op, Target target);
  void advance(std::uint32_t a);
  void post_of_round(std::uint32_t a, const ScheduleMessage& s);
  [[nodiscard]] std::int64_t rank_in(std::uint32_t comm, std::uint32_t world) const;

  // ---- run_ahead.cpp
  bool run_ahead(std::uint32_t r, Rank& k);
  [[nodiscard]] Elapsed poll_time(const Op& op) const {
    // Bounds the time of one operation whatever a trace claims: 2^26 polls of a second each still fit the clock.
    constexpr std::int64_t kMaxMergedPolls = std::int64_t{1} << 26;
    return Elapsed::of_ticks(poll_cost_.ticks() * std::clamp<std::int64_t>(op.amount, 1, kMaxMergedPolls));
  }
  void end_run(std::uint32_t r, std::uint64_t sequence);
  void poke_run(std::uint32_t r);
  [[nodiscard]] Elapsed compute_time(std::uint32_t r, const Rank& k, std::uint64_t pc, const Op& op);
  [[nodiscard]] Elapsed call_time(std::uint32_t r, Rank& k, const Op& op);
  [[nodiscard]] bool poll_never_hits(const Rank& k, std::uint64_t pc, const Op& op) const;
  [[nodiscard]] bool poll_is_over(const Rank& k, std::uint64_t pc, const Op& op) const;

  // ---- series_run.cpp
  Step do_series(std::uint32_t r, Rank& k, const Op& op);
  void run_series(std::uint32_t comm);
  [[nodiscard]] SeriesMessage::Cost series_cost(std::uint32_t src, std::uint32_t dst, std::int64_t bytes);
  [[nodiscard]] double kernel_seconds(std::uint32_t r, const traces::KernelShape& shape) {
    RankCompute& c = compute_[r];
    return options_.noise ? kernels_.noisy_seconds(c.row, shape, options_.seed, r, c.call++)
                          : kernels_.seconds(c.row, shape);
  }

  // ---- deadlock.cpp
  [[nodiscard]] DeadlockReport explain_deadlock();

  static constexpr std::size_t kManyRanks = 256;  // their state outgrows the caches
  static constexpr std::uint32_t kReadyActivity = 0x80000000u;

  traces::TraceReader& trace_;
  const topology::Platform& platform_;
  const std::vector<HostId>& placement_;
  const ReplayOptions& options_;
  const std::vector<traces::Communicator>& comms_;
  std::vector<Comm> comm_ranks_;
  std::vector<Series> series_;                      // by communicator
  SeriesPattern pattern_;                           // of the series that is being run
  std::vector<const CollectiveAlgorithm*> chosen_;  // by blocking kind; null = default of the call

  network::Network network_;
  Pool<Message> messages_;
  Matcher matcher_;
  MessageRouter router_;
  network::EventQueue<EventKind> events_;
  std::vector<std::uint32_t> ready_;  // ranks, and activities with kReadyActivity set; FIFO
  std::size_t ready_head_ = 0;
  std::vector<Rank> ranks_;
  std::deque<Activity> activities_;  // stable addresses: advance() nests no deeper than one
  std::vector<std::uint32_t> free_activities_;
  KernelClock kernels_;
  MessageCost cost_;
  struct RankCompute {
    double speed = 0;        // flop/s
    std::uint32_t row = 0;   // of kernels_
    std::uint64_t call = 0;  // kernel calls so far: numbers the draws of the noise
  };
  std::vector<RankCompute> compute_;
  std::vector<RunAhead> runs_;       // by rank
  std::vector<JoinedCalls> joined_;  // by rank

  Instant now_;
  std::uint64_t sequence_ = 0;
  std::uint64_t event_count_ = 0;
  std::uint64_t ops_done_ = 0;
  std::uint64_t next_report_ = 0;
  std::uint32_t ranks_left_ = 0;
  bool overheads_ = false;  // calls take processor time
  bool run_ahead_ = false;
  bool look_ahead_ = false;  // prefetch_next() pays
  Elapsed poll_cost_, test_cost_;
  std::optional<Error> error_;
  std::uint64_t fingerprint_ = 0x9e3779b97f4a7c15ULL;
  Costs p2p_, all_;
  CauseBook causes_;
  std::vector<Elapsed> region_total_;
  std::vector<std::uint64_t> region_count_;
  std::uint64_t truncated_ = 0;  // messages longer than the receive that took them
};

}  // namespace weft::replay
