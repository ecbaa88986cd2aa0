// CollectiveRuns: collectives in progress, each on one rank: a *run* goes through the rank's rounds of messages.
//
// Life of a run: begin() looks its schedule up; then every round is
//     receives posted -> send overheads paid -> sends posted -> all of the round is over -> receive overheads paid
// and the next one begins. What arrives while overheads are paid finds its receive there. A blocking call is a run like
// any other, whose target is the rank itself.
// Invariants:
//  1. `pending` is the number of messages of the round that are not over, and one more while the round is being posted:
//     so it gets to 0 once a round, whatever completes at once.
//  2. The time of a run up to `mark` is explained: in the rank's account if that waits in the blocking call, else in
//     the run's, as far as the rank waited for it since `window`.
// It posts messages through a port: anything with post_send() and post_recv() as Transfers has them.
// Which messages a round has: CollectiveRounds. Complexity: as there; below 1 KB a waiting rank, if no round is long.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "replay/agenda.hpp"
#include "replay/collective_rounds.hpp"
#include "replay/collectives/choices.hpp"
#include "replay/communicators.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/message.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/ranks/waits.hpp"
#include "replay/why/cause_book.hpp"

namespace weft::replay {

class CollectiveRuns {
 public:
  // All references outlive it.
  CollectiveRuns(const Communicators& comms, CollectiveChoices choices, const MessageCost& cost, Ranks& ranks,
                 Waits& waits, CauseBook& causes, Hindsight& hindsight, Agenda& agenda)
      : comms_(comms),
        choices_(std::move(choices)),
        cost_(cost),
        ranks_(ranks),
        waits_(waits),
        causes_(causes),
        hindsight_(hindsight),
        agenda_(agenda),
        calls_(ranks.count()) {}

  // Rank r calls the collective `op`, whose end `target` is told. Returns the run, to be advanced, or kNone: it is over
  // already, or cannot be, which fails the replay.
  [[nodiscard]] std::uint32_t begin(std::uint32_t r, const traces::Op& op, Target target);

  // Takes a run on until it waits; tells its target when it is over.
  template <class Port>
  void advance(std::uint32_t run, Port& port);

  // A side of message m, of `run`, is over; null: nobody can have waited for it.
  void message_over(std::uint32_t run, const Message* m, bool sender) {
    Run& c = runs_[run];
    if (--c.pending != 0) return;
    if (m != nullptr) {
      explain_round(c, *m, sender);
      hindsight_.run_woken(run, *m, sender);
    }
    ranks_.make_collective_ready(run);
  }
  // The processor time that `run` posted an event for has passed.
  void overheads_over(std::uint32_t run) {
    const Run& c = runs_[run];
    hindsight_.run_paid(run, c.rank, c.step == Step::kReceived ? Cause::kRecvOverhead : Cause::kSendOverhead);
    explain_overheads(runs_[run]);
    ranks_.make_collective_ready(run);
  }

  // Nobody asks any more for that request of rank r, if `run` is to tell it of its end.
  void forget(std::uint32_t run, std::uint32_t r, Target t) {
    if (run >= runs_.size()) return;
    Run& c = runs_[run];
    if (c.rank == r && c.target.value == t.value) c.target.value = Target::kNobody;
  }
  [[nodiscard]] std::vector<CollectiveUse> algorithms_used() const { return choices_.used(); }
  // Who is told when `run` is over.
  [[nodiscard]] Target target(std::uint32_t run) const { return runs_[run].target; }

 private:
  enum class Step : std::uint8_t {
    kRoundOver,  // its messages are there
    kReceived,   // ... and their receive overheads paid
    kSending,    // the receives of the next round are posted, its send overheads are paid
  };
  struct Run {
    std::uint32_t rank = 0;
    std::uint32_t pending = 0;
    Target target;
    CollectiveRounds rounds;
    Step step = Step::kReceived;
    Instant mark, window;
    CauseBook::Account causes{};
  };

  [[nodiscard]] std::uint32_t take();
  [[nodiscard]] CollectiveRounds::Rules rules() { return {comms_, choices_, cost_}; }
  void finish(std::uint32_t run);
  void explain_round(Run& c, const Message& m, bool sender);
  void explain_overheads(Run& c);
  [[nodiscard]] CauseBook::Account* waiting_for(Run& c, Instant& from);
  template <class Port>
  void post(std::uint32_t run, Port& port, bool receives, bool sends);

  const Communicators& comms_;
  CollectiveChoices choices_;
  const MessageCost& cost_;
  Ranks& ranks_;
  Waits& waits_;
  CauseBook& causes_;
  Hindsight& hindsight_;
  Agenda& agenda_;
  std::deque<Run> runs_;  // stable addresses: what a run posts may complete others
  std::vector<std::uint32_t> free_;
  std::vector<std::vector<std::uint32_t>> calls_;  // by rank and communicator
};

template <class Port>
void CollectiveRuns::post(std::uint32_t run, Port& port, bool receives, bool sends) {
  Run& c = runs_[run];
  const Target mine{run | Target::kActivity};
  c.rounds.post(rules(), receives, sends, [&](const CollectiveRounds::RoundMessage& m) {
    ++c.pending;
    if (m.send)
      port.post_send(c.rank, m.peer, m.context, m.tag, m.bytes, traces::OpKind::isend, mine,
                     c.rounds.send_cost(), m.form);
    else
      port.post_recv(c.rank, static_cast<std::int32_t>(m.peer), m.context, m.tag, m.bytes, mine);
    return !agenda_.failed();
  });
}

template <class Port>
void CollectiveRuns::advance(std::uint32_t run, Port& port) {
  Run& c = runs_[run];
  while (!agenda_.failed()) {
    if (c.step == Step::kRoundOver) {
      c.step = Step::kReceived;
      if (c.rounds.receive_cost() > kNoTime)
        return agenda_.post_in_turn(c.rounds.receive_cost(), EventKind::kActivityTimer, run);
    }
    if (c.step == Step::kReceived) {
      hindsight_.round_over(run);
      if (c.rounds.over()) return finish(run);
      c.rounds.open(rules());
      c.pending = 1;  // holds the round open while it is posted
      c.step = Step::kSending;
      if (c.rounds.send_cost() > kNoTime) {
        post(run, port, true, false);
        return agenda_.post_in_turn(c.rounds.send_cost(), EventKind::kActivityTimer, run);
      }
      post(run, port, true, true);
    } else {
      post(run, port, false, true);
    }
    if (agenda_.failed()) return;
    c.rounds.posted();
    c.step = Step::kRoundOver;
    if (--c.pending > 0) return;
  }
}

}  // namespace weft::replay
