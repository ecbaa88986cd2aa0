// DirectReplay: a replay in which ranks go ahead of each other, for programs whose matches time does not decide.
//
// What a rank does next follows from its own program and from when its messages are over; nothing else of the others
// matters, as long as it does not ask what came meanwhile. So each rank has a clock of its own and goes on until it waits for
// something whose end nobody knows yet, or until it polls: then the network comes up to its clock first. Computation, overheads, handshakes, matches
// and waits are sums and maxima of instants (docs/model.md, "Ranks that go ahead"); no event stands for them. What must
// be seen in the order of time is left: flows that share links.
//
//   kShared  a flow starts and ends by an event each, in the order of time, as in a Simulation; ranks are ahead in between
//   kFree    flows do not slow each other (--model contention-free): their ends are known with their starts, there is no event at all
//   kAlone   no flow meets another: likewise. Where two flows do meet (LinkCalendar), the attempt is over: contended() says so, and the same replay is to be made with kShared.
//
// Same rules as Simulation, which knows all programs: the costs are MessageCost's, the causes CauseBook's, the rates the
// network's. Results are the same to the tick (tests/replay/direct/), but for counts of work and for which of two waits that
// end at one same tick held a rank: the network hears of flows in an order that no loop decides (FlowStarts).
// Gives up on what it does not know: then the Simulation is to be asked, whose errors are told.
// Complexity: O(1) an operation and message besides the network; no allocation once the tables have grown. A rank is at most
// kAhead messages ahead of the network, or kTurn operations of the other ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/prefetch.hpp"
#include "core/result.hpp"
#include "network/network.hpp"
#include "replay/agenda.hpp"
#include "replay/audits.hpp"
#include "replay/collective_rounds.hpp"
#include "replay/collectives/choices.hpp"
#include "replay/communicators.hpp"
#include "replay/direct/channels.hpp"
#include "replay/direct/link_calendar.hpp"
#include "replay/direct/link_loads.hpp"
#include "replay/engine.hpp"
#include "replay/kernel_time.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/flow_starts.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/message_steps.hpp"
#include "replay/messages/traffic.hpp"
#include "replay/ranks/compute_times.hpp"
#include "replay/ranks/poll_view.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/ranks/regions.hpp"
#include "replay/ranks/requests.hpp"
#include "replay/ranks/run_ahead.hpp"
#include "replay/series/series_runs.hpp"
#include "replay/why/cause_book.hpp"
#include "replay/why/hindsight.hpp"
#include "topology/routing/route_cache.hpp"
#include "topology/routing/socket_routes.hpp"

namespace weft::replay {

class DirectReplay final : private PollView {
 public:
  enum class Flows : std::uint8_t { kShared, kAlone, kFree };

  // Whether such a replay may be made with these options on that platform, if the program allows it.
  [[nodiscard]] static bool possible(const topology::Platform& platform, const ReplayOptions& options);
  // What to try first. After kAlone comes kShared.
  [[nodiscard]] static Flows first_try(const topology::Platform& platform, const ReplayOptions& options);

  // All references outlive it; `model` shares the links of the platform. `programs`: what was read of the trace, as Ranks has it.
  DirectReplay(traces::TraceReader& trace, const topology::Platform& platform,
               const std::vector<HostId>& placement, const ReplayOptions& options,
               std::unique_ptr<congestion::SharingModel> model, CollectiveChoices choices,
               KernelClock kernels, Flows flows, Ranks::Programs programs);
  // Before run(). REQUIRES: kShared, or nothing to tell.
  void audit(const Audits& audits);
  // To be called once. Nothing: it gave up.
  [[nodiscard]] std::optional<ReplayResult> run();
  // It gave up because two flows met. Only with kAlone.
  [[nodiscard]] bool contended() const { return contended_; }
  // It gave up because the trace could not be read on. Who begins anew may find another error first; but if it finds none, this one
  // counts: the trace is not to be relied on.
  [[nodiscard]] std::optional<Error> take_error() { return std::move(unreadable_); }
  // What it has read of the trace, for who begins anew; none: some of it is gone. Afterwards it is of no use.
  [[nodiscard]] Ranks::Programs take_programs() { return ranks_.take_programs(); }

 private:
  static constexpr std::uint32_t kAhead = 64;
  static constexpr std::uint32_t kTurn = 64;
  static constexpr std::uint64_t kPeersAhead = 2;  // operations
  static constexpr std::uint64_t kBeyond = ~std::uint64_t{0};

  // The end of one side of a message, and of whatever else a rank waits for.
  struct End {
    Instant at;
    std::uint32_t message = kNone;  // held; none: nobody can have waited for it
    bool sender = false;
    std::uint32_t order = 0;  // in which they were told: of two at one instant the later counts
    [[nodiscard]] bool after(const End& o) const { return at > o.at || (at == o.at && order >= o.order); }
  };
  // A collective that its rank is in.
  struct Call {
    CollectiveRounds rounds;
    bool posted = false;  // a round, whose end is waited for
    Instant since;        // when the rank came to it
  };
  // What a rank has besides its row in Ranks, whose `pending` counts the ends that it awaits and does not know.
  struct alignas(64) Lane {
    Instant clock;
    std::uint32_t ahead = 0;    // its messages that have not started
    RequestRows<End> requests;  // with when it is over; complete: that is known
    End last;                   // the latest of what its blocking call awaits
    std::int64_t received = 0;  // bytes of the message that such a call received last
    std::unique_ptr<Call> call;
    std::vector<std::uint32_t> calls;  // of collectives so far, by communicator
  };

  // ---- The loop.
  void run_ready();
  void run_rank(std::uint32_t r);
  template <bool kHints, bool kShared>
  void run_operations(std::uint32_t r);
  bool fetch(Rank& k, const Lane& l);
  bool run_shared();
  // Returns the message whose flow comes into the network now, or kNone.
  [[nodiscard]] std::uint32_t handle(const Agenda::Event& e);
  void instant_over();  // all else of this instant has happened
  bool run_without_events();
  // A rank sends nothing before its own clock.
  [[nodiscard]] Instant sends_from(std::uint32_t r) const {
    return ranks_[r].state == RankState::kDone ? Instant::never() : lanes_[r].clock;
  }
  void forget_past();
  void look();  // at what is due now and then
  [[nodiscard]] ReplayResult collect();
  Step give_up() {
    given_up_ = true;
    return Step::kBlocked;
  }
  // Of an operation whose message is on its way, unless that was given up.
  [[nodiscard]] Step posted() const { return given_up_ ? Step::kBlocked : Step::kDone; }

  // ---- Hints to the processor (direct_hints.cpp), where the state of all ranks or the table of channels is larger than a cache.
  void prefetch_rank(std::uint32_t r, std::uint32_t stage) const;
  void prefetch_next();
  void prefetch_starts() const;
  void prefetch_peer(std::uint32_t r, const Rank& k, std::uint64_t ahead) const;

  // ---- Operations (direct_operations.cpp). Each goes on where Rank::stage says.
  Step operation(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step compute(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  bool run_ahead(std::uint32_t r, Lane& l);
  Step send(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step recv(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step sendrecv(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step isend(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step irecv(std::uint32_t r, Lane& l, const traces::Op& op);
  Step init(Lane& l, const traces::Op& op);
  Step start(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step wait(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step wait_for_one(std::uint32_t r, Rank& k, Lane& l, std::uint32_t slot);
  Step collective(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step go_on(std::uint32_t r, Rank& k, Lane& l, Call& c);
  void post_round(std::uint32_t r, Rank& k, Lane& l, Call& c, bool receives, bool sends);
  [[nodiscard]] CollectiveRounds::Rules rules() { return {comms_, choices_, cost_}; }
  // Processor time of the rank.
  void spend(std::uint32_t r, Rank& k, Lane& l, Part part, Elapsed d, Cause cause) {
    causes_.add(r, cause, d);
    k.spend(part, d);
    pass(k, l, d);
  }
  // That of the sends of a call, which it posts next.
  void pay_sends(std::uint32_t r, Rank& k, Lane& l, Part part, Elapsed d) {
    paid_ = ShortElapsed(d);
    spend(r, k, l, part, d, Cause::kSendOverhead);
  }
  static void pass(Rank& k, Lane& l, Elapsed d) {
    if (d == kNoTime) return;
    k.since = l.clock;
    l.clock = l.clock + d;
  }
  // What the blocking call awaits is over, or the rank waits.
  Step await(Rank& k) const {
    if (k.pending == 0) return Step::kDone;
    k.stage = Stage::kWaiting;
    return Step::kBlocked;
  }
  // The rank waits until `end`, if that is to come.
  [[gnu::always_inline]] void wait_until(std::uint32_t r, Rank& k, Lane& l, Part part, const End& end) {
    if (end.at <= l.clock) return;
    causes_.waited(r, messages_[end.message], end.sender, l.clock, end.at);
    k.spend(part, end.at - l.clock);
    k.since = l.clock;
    l.clock = end.at;
  }
  [[gnu::always_inline]] void wait_until_last(std::uint32_t r, Rank& k, Lane& l, Part part) {
    if (l.last.message == kNone) return;  // all was over as it was posted
    wait_until(r, k, l, part, l.last);
    let_go(l.last);
  }
  // False: it is in use.
  bool begin(Lane& l, std::uint32_t slot, bool receive);
  template <bool kReceive>
  void post_request(std::uint32_t r, Lane& l, const traces::Op& op, Target target);

  // ---- Polls (direct_polls.cpp).
  [[nodiscard]] bool hits(std::uint32_t r, const traces::Op& op) override;
  [[nodiscard]] bool finds(std::uint32_t r, const traces::Op& op, Instant since) override;
  [[nodiscard]] bool may_come(std::uint32_t r, const traces::Op& op) override;
  [[nodiscard]] bool may_come_now(std::uint32_t r, const traces::Op& op, Instant since);
  void note_found(std::uint32_t r, const traces::Op& op);
  [[nodiscard]] Instant seen_from(std::uint32_t i);
  [[nodiscard]] std::uint32_t probed(std::uint32_t r, const traces::Op& op);
  [[nodiscard]] bool in_step(std::uint32_t r, const Lane& l);
  void expect(std::uint32_t r, const traces::Op& op);
  // Message i, which no receive has taken, was sent or has come: does its receiver look for it?
  [[gnu::always_inline]] void may_be_seen(std::uint32_t i) {
    if (ranks_.may_look(messages_[i].dst)) [[unlikely]]
      shows(i);
  }
  void shows(std::uint32_t i);
  void look_again(std::uint32_t r);
  Step probe(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step iprobe(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step missed_poll(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);
  Step series(std::uint32_t r, Rank& k, Lane& l, const traces::Op& op);

  // ---- Messages (direct_messages.cpp), all at instants that may be in the future of the network.
  // A rank posts at its clock; `op.comm`: a context (Message::context); `form`: as Sent::form.
  void post_send(std::uint32_t r, const Lane& l, const traces::Op& op, Target target,
                 SendForm form = SendForm::kAsAny);
  // The request of m leaves at `at`; returns how long it takes. nullopt: there is no route, and the replay is given up.
  std::optional<Elapsed> ask(Message& m, Instant at);
  // Message i of Protocol::kExpected leaves; returns when its envelope is there.
  Instant send_expected(std::uint32_t i, Instant at);
  void post_recv(std::uint32_t r, const Lane& l, const traces::Op& op, Target target);
  // Message i belongs to that receive.
  void match(std::uint32_t i, const Channels::Receive& receive);
  // Its data leave at `at` + `before`; its route's latency follows. Returns when they have come, if that is known yet.
  std::optional<Instant> leave(std::uint32_t i, Instant at, Elapsed before);
  std::optional<Instant> beyond_the_clock();
  // Latency of message i is paid. True: its flow comes into the network at once, as nothing else is due at this instant.
  bool start_flow(std::uint32_t i);
  void enter_network(std::uint32_t i);
  // All data have come.
  void arrive(std::uint32_t i, Instant at);
  void arrive_here(std::uint32_t i, Instant at);  // the same, where most come by
  // Shows a message, both of whose sides are known, or that nobody received, to who watches.
  void see(const Message& m) const;
  // A side of message i is over. The second is for where most messages come by.
  void tell(std::uint32_t rank, Target target, End end, std::int64_t bytes);
  void tell_here(std::uint32_t rank, Target target, End end, std::int64_t bytes);
  [[gnu::always_inline]] topology::RouteCache::Route route_of(Message& m) {
    if (m.route_epoch != routes_.epoch() + 1) [[unlikely]]
      find_route(m);
    return routes_.at(m.route);
  }
  void find_route(Message& m);

  // A message's row is given back when nobody holds it: its transfer, its match, and each End that names it.
  static std::uint32_t& holders_of(Message& m) { return m.all_next; }
  void hold(std::uint32_t i) { ++holders_of(messages_[i]); }
  [[gnu::always_inline]] void drop(std::uint32_t i) {
    if (--holders_of(messages_[i]) == 0) messages_.give(i);
  }
  [[gnu::always_inline]] void let_go(End& e) {
    if (e.message != kNone) drop(e.message);
    e.message = kNone;
  }

  traces::TraceReader& trace_;
  const ReplayOptions& options_;
  const std::vector<HostId>& placement_;
  Flows flows_;
  Agenda agenda_;  // instants of the network, and starts of flows
  Ranks ranks_;
  std::vector<Lane> lanes_;
  Communicators comms_;
  CollectiveChoices choices_;
  network::Network network_;
  topology::RouteCache routes_;
  topology::SocketRoutes sockets_;
  Pool<Message> messages_;
  FlowStarts starts_;
  Channels channels_;
  LinkCalendar calendar_;  // of kAlone
  LinkLoads loads_;        // of kFree
  MessageCost cost_;
  Traffic traffic_;
  CauseBook causes_;
  ComputeTimes compute_;
  Regions regions_;
  Hindsight hindsight_;  // off: for what series tell
  RunAhead run_ahead_;
  SeriesRuns series_;
  bool overheads_;     // calls take processor time
  ShortElapsed paid_;  // by the call that posts sends, for these
  Elapsed test_cost_;
  bool given_up_ = false;
  bool contended_ = false;
  std::optional<Error> unreadable_;
  Audits audits_;
  HintStages hints_;            // by the numbers of events
  std::uint64_t receives_ = 0;  // posted
  std::uint32_t told_ = 0;
  std::uint64_t truncated_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t links_entered_ = 0;  // without events
  // Operations and rounds at which progress is told, and what is over forgotten (beyond all: nothing is kept), and the first of both.
  std::uint64_t next_report_, next_forget_;
  std::uint64_t next_look_ = 0;
  std::uint64_t rounds_ = 0;  // of collectives, over ranks
};

}  // namespace weft::replay
