// Ranks that wait forever, and tests of sends that let their ranks go on instead.
#include <gtest/gtest.h>

#include <array>

#include "replay/engine.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay::deadlock_test {
namespace {

using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;

constexpr std::int64_t kUs = 1'000'000;

ReplayResult run(MemoryTrace& t, RawMode mode = RawMode::kEager, const ReplayOptions& base = {}) {
  static const topology::Platform crossbar =
      topology::load_platform("crossbar:n=16,bw=12.5GB/s,lat=1us").value();
  ReplayOptions o = base;
  o.raw = mode;
  auto r = replay(t, crossbar, testing::first_hosts(t.header().ranks), o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? std::move(r).value() : ReplayResult{};
}

Op at_slot(OpKind kind, std::uint32_t slot) { return {.kind = kind, .request = slot}; }

TEST(Deadlock, TwoSynchronousSendsToEachOtherAreReportedAsACycle) {
  MemoryTrace t(3);
  t.p2p(0, OpKind::ssend, 1, 0, 10);
  t.p2p(0, OpKind::recv, 1, 0, 10);
  t.p2p(1, OpKind::ssend, 0, 0, 10);
  t.p2p(1, OpKind::recv, 0, 0, 10);
  t.compute(2, Duration(kUs));
  const auto r = run(t);
  EXPECT_FALSE(r.finished);
  ASSERT_EQ(r.deadlock.blocked.size(), 2u);
  ASSERT_EQ(r.deadlock.cycle.size(), 2u);
  EXPECT_EQ(r.deadlock.summary(),
            "deadlock: 2 ranks wait forever; cycle: rank 0 in ssend of 10 bytes to 1 tag 0 on world "
            "(operation 0) -> "
            "rank 1 in ssend of 10 bytes to 0 tag 0 on world (operation 0) -> rank 0");
}

// Both ranks post `request`, complete it and then do the other half of the exchange.
MemoryTrace exchange(OpKind completion, OpKind request, std::int64_t bytes) {
  MemoryTrace t(2);
  for (const std::int32_t r : {0, 1}) {
    const auto me = static_cast<std::uint32_t>(r);
    t.p2p(me, request, 1 - r, 0, bytes, CommId(0), 0);
    const bool list = completion != OpKind::test && completion != OpKind::wait;
    const bool some = list && completion != OpKind::testall;
    t.add(me, at_slot(completion, list ? traces::kNoRequest : 0),
          some ? std::vector<std::int64_t>{1, 0, 0} : std::vector<std::int64_t>(list ? 1 : 0, 0));
    t.p2p(me, request == OpKind::irecv ? OpKind::send : OpKind::recv, 1 - r, 0, bytes);
  }
  return t;
}
constexpr std::array kTests{OpKind::test, OpKind::testall, OpKind::testany, OpKind::testsome};

// MPI 3.1, 3.7.3: a test is local, so this program ends whatever is buffered; the yes of the recording is no promise.
TEST(Deadlock, TestsOfSendsThatNobodyReceivesLetTheirRanksGoOn) {
  for (const OpKind test : kTests) {
    SCOPED_TRACE(traces::op_name(test));
    MemoryTrace t = exchange(test, OpKind::isend, 12'500);
    t.compute(1, Duration(7 * kUs));
    const ReplayResult r = run(t, RawMode::kRendezvous);
    EXPECT_TRUE(r.finished);
    EXPECT_EQ(r.ranks[0].finish.count(), 3 * kUs) << "2 us of latency, 1 us of data";
    EXPECT_EQ(r.ranks[1].finish.count(), 10 * kUs);
    ASSERT_EQ(r.warnings.size(), 1u);
    EXPECT_EQ(r.warnings[0].find(
                  "2 tests of sends that said yes in the recording waited here for their receives, 0 s in "
                  "all, until no rank could go on"),
              0u)
        << r.warnings[0];
    MemoryTrace eager = exchange(test, OpKind::isend, 12'500);
    EXPECT_TRUE(run(eager, RawMode::kEager).warnings.empty());
  }
}

// Rank 2 waits for an answer of rank 1, which waits in its test until nobody goes on.
TEST(Deadlock, ATestThatIsLetGoWaitedForTheReceive) {
  MemoryTrace t(3);
  t.p2p(0, OpKind::recv, 2, 0, 10);
  t.p2p(0, OpKind::recv, 1, 0, 12'500);
  t.p2p(1, OpKind::send_init, 0, 0, 12'500, CommId(0), 0);
  t.add(1, at_slot(OpKind::start, 0));
  t.add(1, at_slot(OpKind::test, 0));
  t.p2p(1, OpKind::send, 2, 0, 10);
  t.add(1, at_slot(OpKind::start, 0));  // while the first message is still there
  t.wait(1, 0);
  t.compute(2, Duration(50 * kUs));
  t.p2p(2, OpKind::recv, 1, 0, 10);
  t.p2p(2, OpKind::send, 0, 0, 10);
  t.p2p(0, OpKind::recv, 1, 0, 12'500);
  ReplayOptions o;
  o.critical_path = true;
  const ReplayResult r = run(t, RawMode::kRendezvous, o);
  ASSERT_TRUE(r.finished);
  EXPECT_EQ(r.unmatched_messages, 0u);
  ASSERT_EQ(r.warnings.size(), 1u);
  EXPECT_EQ(r.warnings[0].find(
                "1 test of sends that said yes in the recording waited here for its receive, 50 us in all"),
            0u)
      << r.warnings[0];
  const RankTimes& waited = r.ranks[1];
  Duration sum{0};
  for (const Duration d : waited.causes) sum += d;
  EXPECT_EQ(waited.compute + sum, Duration(waited.finish.count()));
  EXPECT_GE(waited.causes[static_cast<std::size_t>(Cause::kLateReceiver)].count(), 50 * kUs);
  Duration path{0};
  for (const Duration d : r.path.parts) path += d;
  EXPECT_EQ(path, r.makespan);
}

// Their yes says that the receive was there, or that data were.
TEST(Deadlock, TestsOfReceivesAndSynchronousSendsWait) {
  for (const OpKind test : kTests)
    for (const OpKind request : {OpKind::irecv, OpKind::issend}) {
      SCOPED_TRACE(::testing::Message() << traces::op_name(test) << ' ' << traces::op_name(request));
      MemoryTrace t = exchange(test, request, 10);
      const ReplayResult r = run(t, RawMode::kRendezvous);
      EXPECT_FALSE(r.finished);
      EXPECT_EQ(r.warnings.size(), request == OpKind::issend ? 1u : 0u);
    }
  MemoryTrace t = exchange(OpKind::wait, OpKind::isend, 10);
  EXPECT_FALSE(run(t, RawMode::kRendezvous).finished);
  // A send and a receive in one call.
  MemoryTrace both(2);
  for (const std::int32_t r : {0, 1}) {
    const auto me = static_cast<std::uint32_t>(r);
    both.p2p(me, OpKind::isend, 1 - r, 0, 10, CommId(0), 0);
    both.p2p(me, OpKind::irecv, 1 - r, 1, 10, CommId(0), 1);
    both.add(me, at_slot(OpKind::testall, traces::kNoRequest), {0, 1});
    both.p2p(me, OpKind::recv, 1 - r, 0, 10);
    both.p2p(me, OpKind::send, 1 - r, 1, 10);
  }
  EXPECT_FALSE(run(both, RawMode::kRendezvous).finished);
}

TEST(Deadlock, AReceiveThatNothingAnswersIsReportedWithoutACycle) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::recv, 1, 4, 10);
  const auto r = run(t);
  EXPECT_FALSE(r.finished);
  EXPECT_TRUE(r.deadlock.cycle.empty());
  ASSERT_EQ(r.deadlock.blocked.size(), 1u);
  EXPECT_EQ(r.deadlock.blocked[0].op, "recv from 1 tag 4 on world");
  EXPECT_EQ(r.deadlock.summary(),
            "deadlock: 1 rank waits forever; rank 0 in recv from 1 tag 4 on world (operation 0, " +
                t.position(RankId(0), 0) + ") waits for rank 1");
  MemoryTrace any(2);
  any.p2p(0, OpKind::recv, traces::kAnySource, 4, 10);
  EXPECT_EQ(run(any).deadlock.summary(),
            "deadlock: 1 rank waits forever; rank 0 in recv from any source tag 4 on world (operation 0, " +
                any.position(RankId(0), 0) + ") waits for something that never comes");
}

TEST(Deadlock, AWaitSaysForWhatTheFirstThatItNamesAndIsNotOver) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::irecv, traces::kAnySource, traces::kAnyTag, 8, CommId(0), 0);
  t.p2p(0, OpKind::irecv, 1, 7, 8, CommId(0), 1);
  t.p2p(0, OpKind::issend, 1, 3, 10, CommId(0), 2);
  t.add(0, {.kind = OpKind::waitall}, {0, 2, 1});
  t.p2p(1, OpKind::isend, 0, 6, 8, CommId(0), 0);
  t.p2p(1, OpKind::issend, 0, 3, 10, CommId(0), 1);
  t.add(1, {.kind = OpKind::wait, .request = 1});
  const auto r = run(t);
  ASSERT_EQ(r.deadlock.blocked.size(), 2u);
  // The receive of any tag has had its message; all three were posted at one instant.
  EXPECT_EQ(r.deadlock.blocked[0].op, "waitall for its send of 10 bytes to 1 tag 3 on world and 1 more");
  EXPECT_EQ(r.deadlock.blocked[1].op, "wait for its send of 10 bytes to 0 tag 3 on world");
}

TEST(Deadlock, WithoutACycleTheFirstRanksThatWaitAreNamedAndWhoThatIsFor) {
  MemoryTrace t(14);
  // Rank 0 waits twice for each of rank 2 to 13, rank 1 for 13 and 12; all others but 13 wait for 13, which ends.
  std::vector<std::int64_t> slots;
  for (int twice = 0; twice < 2; ++twice)
    for (std::int32_t peer = 13; peer > 1; --peer) {
      slots.push_back(static_cast<std::int64_t>(slots.size()));
      t.p2p(0, OpKind::irecv, peer, 1, 8, CommId(0), static_cast<std::uint32_t>(slots.back()));
    }
  t.add(0, {.kind = OpKind::waitall}, slots);
  for (const std::uint32_t slot : {0u, 1u})
    t.p2p(1, OpKind::irecv, 13 - static_cast<std::int32_t>(slot), 1, 8, CommId(0), slot);
  t.add(1, {.kind = OpKind::waitall}, {0, 1});
  for (std::uint32_t r = 2; r < 13; ++r) t.p2p(r, OpKind::recv, 13, 1, 8);
  const auto r = run(t);
  EXPECT_TRUE(r.deadlock.cycle.empty());
  ASSERT_EQ(r.deadlock.blocked.size(), 13u);
  std::vector<RankId> others;
  for (std::uint32_t peer = 2; peer < 14; ++peer) others.emplace_back(peer);
  EXPECT_EQ(r.deadlock.blocked[0].waits_for, others);
  const auto at = [&](std::uint32_t rank, std::uint64_t op) { return t.position(RankId(rank), op); };
  EXPECT_EQ(
      r.deadlock.summary(),
      "deadlock: 13 ranks wait forever; rank 0 in waitall for its receive from 13 tag 1 on world and 23 more "
      "(operation 24, " +
          at(0, 24) +
          ") waits for ranks 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more; rank 1 in waitall for its receive "
          "from 13 tag 1 on world and 1 more (operation 2, " +
          at(1, 2) + ") waits for ranks 12, 13; rank 2 in recv from 13 tag 1 on world (operation 0, " +
          at(2, 0) + ") waits for rank 13; and 10 more");
}

}  // namespace
}  // namespace weft::replay::deadlock_test
