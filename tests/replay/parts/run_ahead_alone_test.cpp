// RunAhead without an engine: how long a run is, and where a message cuts it short, counted by hand.
#include "replay/ranks/run_ahead.hpp"

#include <gtest/gtest.h>

#include "network/network.hpp"
#include "network/sharing.hpp"
#include "replay/messages/probes.hpp"
#include "tests/replay/parts/bare_replay.hpp"

namespace weft::replay::run_ahead_alone_test {
namespace {

using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;

constexpr Duration kPoll{700}, kWork{10'000};

struct World : BareMessages {
  network::Network network;
  Probes probes;
  RunAhead runs;

  static topology::Platform polled() {
    auto p = load("crossbar:n=2,bw=1GB/s,lat=0,speed=1Gflops");
    p.mpi.iprobe_cost = kPoll;
    return p;
  }
  explicit World(MemoryTrace t)
      : BareMessages(std::move(t), polled()),
        network(platform.fabric.links().capacity, *network::make_model("", platform.fabric)),
        probes(messages, matcher, ranks, causes, hindsight, network, agenda),
        runs(ranks, compute, probes, causes, agenda, cost, true) {
    EXPECT_TRUE(ranks[1].program.at(0));  // reads the block
    while (ranks.any_ready()) (void)ranks.take_ready();
  }
  // An eager message of rank 0 with that tag is there, data and all.
  void deliver(std::int32_t tag) {
    const std::uint32_t i = messages.take();
    messages[i] = Message{};
    messages[i].src = 0;
    messages[i].dst = 1;
    messages[i].tag = tag;
    messages[i].protocol = Protocol::kEager;
    messages[i].state = kArrived;
    (void)matcher.deliver(i);
  }
};

// Rank 1: `polls` times a piece of work and a poll for tag 5, then the hit, then a receive.
MemoryTrace polling(int polls) {
  MemoryTrace t(2);
  for (int i = 0; i < polls; ++i) {
    t.compute(1, kWork);
    t.add(1, {.kind = OpKind::iprobe, .peer = 0, .tag = 5, .amount = 1}, {2 * (polls - i) - 1});
  }
  t.add(1, {.kind = OpKind::iprobe, .flags = traces::kHit, .peer = 0, .tag = 5, .amount = 1},
        {0, 1, 0, 5, 8});
  t.p2p(1, OpKind::recv, 0, 5, 8);
  return t;
}

TEST(RunAhead, ARunIsOneEventAtTheSumOfItsOperations) {
  constexpr int kPolls = 60;
  World w(polling(kPolls));
  ASSERT_TRUE(w.runs.begin(1, w.agenda.now()));
  EXPECT_EQ(w.ranks[1].state, RankState::kRunning);
  const Agenda::Event e = w.agenda.take();
  EXPECT_TRUE(w.agenda.empty());
  EXPECT_EQ(e.kind, EventKind::kRunEnd);
  EXPECT_EQ(e.time.rounded().time_since_epoch(), kPolls * (kWork + kPoll));
  w.agenda.move_to(e.time);
  w.runs.end(1, e.sequence, false);
  EXPECT_EQ(w.ranks[1].pc, 2u * kPolls);  // at the hit
  EXPECT_EQ(w.ranks.ops_done(), 2u * kPolls);
  EXPECT_EQ(w.ranks[1].total(Part::kCompute).rounded(), kPolls * kWork);
  EXPECT_EQ(w.ranks[1].total(Part::kPoll).rounded(), kPolls * kPoll);
  EXPECT_EQ(w.causes.sum(Cause::kPolls).rounded(), kPolls * kPoll);
  EXPECT_TRUE(w.ranks.any_ready());
}

TEST(RunAhead, AMessageCutsTheRunAtTheFirstPollFromThenOn) {
  constexpr int kPolls = 9;
  // Just before, at and just after the third poll has looked.
  for (const auto& [after, poll] : std::vector<std::pair<Duration, int>>{
           {Duration(0), 0}, {Duration(-1), 2}, {Duration(0), 2}, {Duration(1), 3}}) {
    World w(polling(kPolls));
    ASSERT_TRUE(w.runs.begin(1, w.agenda.now()));
    const Agenda::Event whole = w.agenda.top();
    const Duration at = poll == 0 ? Duration(0) : 3 * (kWork + kPoll) + after;
    w.agenda.move_to(Instant() + Elapsed(at));
    w.deliver(6);
    w.runs.poke(1);
    EXPECT_EQ(w.agenda.top().sequence, whole.sequence) << "another tag is nothing to it";
    w.deliver(5);
    w.runs.poke(1);
    const Agenda::Event cut = w.agenda.take();
    EXPECT_NE(cut.sequence, whole.sequence);
    EXPECT_EQ(cut.time.rounded().time_since_epoch(), (poll + 1) * (kWork + kPoll)) << to_seconds(after);
    w.agenda.move_to(cut.time);
    w.runs.end(1, cut.sequence, false);
    EXPECT_EQ(w.ranks[1].pc, 2u * poll + 1);  // the poll itself looks again
    EXPECT_EQ(w.ranks[1].stage, Stage::kOverheadPaid);
    EXPECT_EQ(w.ranks[1].total(Part::kCompute).rounded(), (poll + 1) * kWork);
    // The event of the whole run is stale.
    EXPECT_EQ(w.agenda.top().sequence, whole.sequence);
    w.runs.end(1, whole.sequence, false);
    EXPECT_EQ(w.ranks[1].pc, 2u * poll + 1);
  }
}

TEST(RunAhead, AMessageThatIsThereAlreadyEndsTheRunBeforeThePollThatFindsIt) {
  World w(polling(4));
  w.deliver(5);
  EXPECT_FALSE(w.runs.begin(1, w.agenda.now())) << "one computation, then a poll that finds something";
  EXPECT_TRUE(w.agenda.empty());
  EXPECT_EQ(w.ranks[1].state, RankState::kReady);
}

}  // namespace
}  // namespace weft::replay::run_ahead_alone_test
