// Which messages travel under load (docs/model.md, "Messages under load"): system, expectation, reason.
#include <gtest/gtest.h>

#include "replay/engine.hpp"
#include "replay/message_cost.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/platform_text.hpp"
#include "traces/kernel.hpp"

namespace weft::replay::loaded_message_test {
namespace {

using testing::MemoryTrace;
using traces::Kernel;
using traces::Op;
using traces::OpKind;

constexpr std::int64_t kUs = 1'000'000;  // ticks
constexpr std::int64_t kBytes = 80'000;
constexpr std::int64_t kWork = 100;  // us of a dgemm here

// Idle: 20 us and 8 GB/s between hosts, 5 GB/s within one. Loaded from 50 kB on: 30 us more and 2 GB/s; 7 us, 1 GB/s.
topology::Platform machine() {
  return testing::platform_of_text(
      "topology { family: \"crossbar\" set: \"n=4\" set: \"bw=10GB/s\" set: \"lat=1us\" }\n"
      "host { ranks: 2 kernel { name: \"dgemm\" intercept: \"100us\" } kernel { name: \"*\" intercept: "
      "\"10us\" } }\n"
      "mpi { eager_limit: \"999B\" transfer { latency_factor: \"10\" bandwidth_factor: \"0.8\" }\n"
      "  local_transfer { per_byte: \"200ps\" }\n"
      "  loaded_transfer { from: \"50kB\" intercept: \"30us\" per_byte: \"500ps\" }\n"
      "  loaded_local_transfer { from: \"50kB\" intercept: \"7us\" per_byte: \"1ns\" } }\n");
}

void kernel(MemoryTrace& t, std::uint32_t rank, Kernel k) {
  t.add(rank, {.kind = OpKind::compute_kernel}, {static_cast<std::int64_t>(k), 8, 8, 8});
}
// A poll that finds the message from rank 0, then its receive.
void poll_and_receive(MemoryTrace& t, std::int64_t bytes) {
  t.add(1, {.kind = OpKind::iprobe, .flags = traces::kHit, .peer = 0, .tag = 5, .amount = 1},
        {0, 1, 0, 5, bytes});
  t.p2p(1, OpKind::recv, 0, 5, bytes);
}
// When rank 1 has the message that rank 0 sends at once, after what `before` puts into its program.
template <class F>
std::int64_t arrival(F before, std::int64_t bytes = kBytes, int host = 1) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 5, bytes);
  before(t);
  poll_and_receive(t, bytes);
  const topology::Platform p = machine();
  const auto r = replay(t, p, {HostId(0), HostId(static_cast<std::uint32_t>(host))}, {});
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r->makespan.count();
}
// After both sides are ready at `us`: L(s) - L(0) is nothing here, so the data take their bytes alone.
constexpr std::int64_t idle(std::int64_t us) { return us * kUs + kBytes * 125; }
constexpr std::int64_t loaded(std::int64_t us) { return (us + 30) * kUs + kBytes * 500; }

TEST(LoadedMessage, FoundAtAPollRightAfterAComputation) {
  EXPECT_EQ(arrival([](MemoryTrace& t) { kernel(t, 1, Kernel::dgemm); }), loaded(kWork));
}

TEST(LoadedMessage, CopiesBetweenComputationAndPollChangeNothing) {
  EXPECT_EQ(arrival([](MemoryTrace& t) {
              kernel(t, 1, Kernel::dgemm);
              kernel(t, 1, Kernel::dlacpy);
            }),
            loaded(kWork + 10));
}

TEST(LoadedMessage, CopiesAloneAreNoComputation) {
  EXPECT_EQ(arrival([](MemoryTrace& t) {
              for (int i = 0; i < 4; ++i) kernel(t, 1, Kernel::dlacpy);
            }),
            idle(40));
}

TEST(LoadedMessage, PollingOnAfterTheComputationChangesNothing) {
  // The request is under way for 20 us, the receiver polls from 5 us on: the cores beside it still compute.
  EXPECT_EQ(arrival([](MemoryTrace& t) { t.compute(1, Duration(5 * kUs)); }), loaded(20));
  // Nothing before the poll: it only waits.
  EXPECT_EQ(arrival([](MemoryTrace&) {}), idle(20));
}

// What the rounds of a collective post beside a computation is none of the rank's own calls, whoever watches.
TEST(LoadedMessage, ACollectiveBesideTheComputationChangesNothing) {
  for (const bool watched : {false, true}) {
    MemoryTrace t(4);
    for (std::uint32_t r = 0; r < 4; ++r) {
      if (r == 0) {
        t.compute(0, Duration(kUs));
        t.p2p(0, OpKind::isend, 1, 9, kBytes, CommId(0), 1);
        t.compute(0, Duration(kWork * kUs / 2));
      }
      t.add(r, {.kind = OpKind::ibarrier, .request = 0});
      if (r == 1) {
        kernel(t, 1, Kernel::dgemm);
        t.add(1, {.kind = OpKind::iprobe, .flags = traces::kHit, .peer = 0, .tag = 9, .amount = 1},
              {0, 1, 0, 9, kBytes});
        t.p2p(1, OpKind::recv, 0, 9, kBytes);
      }
      t.wait(r, 0);
    }
    t.wait(0, 1);
    ReplayOptions o;
    if (watched) o.on_op = [](RankId, std::uint64_t, SimTime, SimTime) {};
    const auto r = replay(t, machine(), {HostId(0), HostId(1), HostId(2), HostId(3)}, o);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->ranks[0].finish.count(), loaded(kWork)) << watched;
  }
}

TEST(LoadedMessage, OneThatIsReceivedWithoutAPollIsNot) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 5, kBytes);
  kernel(t, 1, Kernel::dgemm);
  t.p2p(1, OpKind::recv, 0, 5, kBytes);
  const topology::Platform p = machine();
  const auto r = replay(t, p, {HostId(0), HostId(1)}, {});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->makespan.count(), idle(kWork));
}

TEST(LoadedMessage, OneFoundBetweenOtherMessagesIsNot) {
  // A row swap: the rank computed, then exchanged with another and copied what came; both wait for what comes next.
  EXPECT_EQ(arrival([](MemoryTrace& t) {
              kernel(t, 1, Kernel::dgemm);
              t.p2p(1, OpKind::send, 1, 9, 8);  // to itself: over at once
              kernel(t, 1, Kernel::dlacpy);
              t.p2p(1, OpKind::recv, 1, 9, 8);
              for (int i = 0; i < 2; ++i) kernel(t, 1, Kernel::dlacpy);
            }),
            idle(kWork + 30));
}

TEST(LoadedMessage, SizesBelowTheFirstSegmentAreNot) {
  constexpr std::int64_t kSmall = 40'000;
  EXPECT_EQ(arrival([](MemoryTrace& t) { kernel(t, 1, Kernel::dgemm); }, kSmall), kWork * kUs + kSmall * 125);
}

TEST(LoadedMessage, WithinAHostItsOwnSegmentsHold) {
  EXPECT_EQ(arrival([](MemoryTrace& t) { kernel(t, 1, Kernel::dgemm); }, kBytes, 0),
            (kWork + 7) * kUs + kBytes * 1000);
  EXPECT_EQ(arrival([](MemoryTrace& t) { kernel(t, 1, Kernel::dlacpy); }, kBytes, 0),
            10 * kUs + kBytes * 200);
}

TEST(LoadedMessage, AnEarlierPollOfARunFindsItUnderLoadToo) {
  // Two pieces of 100 us with a poll between: found at the poll, at 100 us, not where the recording has the hit.
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 5, kBytes);
  kernel(t, 1, Kernel::dgemm);
  t.add(1, {.kind = OpKind::iprobe, .peer = 0, .tag = 5, .amount = 1}, {2});
  kernel(t, 1, Kernel::dgemm);
  poll_and_receive(t, kBytes);
  const topology::Platform p = machine();
  for (const bool observed : {false, true}) {
    ReplayOptions o;
    if (observed) o.on_op = [](RankId, std::uint64_t, SimTime, SimTime) {};
    const auto r = replay(t, p, {HostId(0), HostId(1)}, o);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->makespan.count(), loaded(kWork) + kWork * kUs) << observed;
  }
}

TEST(LoadedMessage, IsAtItsOwnPaceOnThePath) {
  for (const std::int64_t us : {0, 100}) {
    MemoryTrace t(2);
    t.p2p(0, OpKind::send, 1, 5, kBytes);
    if (us > 0) t.compute(1, Duration(us * kUs));
    poll_and_receive(t, kBytes);
    const topology::Platform p = machine();
    ReplayOptions o;
    o.critical_path = true;
    const auto r = replay(t, p, {HostId(0), HostId(1)}, o);
    ASSERT_TRUE(r);
    // A part of what the link carries grows with it, what cores let through does not.
    EXPECT_EQ(r->path.on_links().count(), us > 0 ? 0 : kBytes * 125);
    EXPECT_EQ(r->path.own_pace.count(), us > 0 ? kBytes * 500 : 0);
  }
}

TEST(LoadedMessage, TheCostSaysWhatTheEngineDoes) {
  const topology::Platform p = machine();
  const MessageCost cost(p.mpi);
  const MessageCost::Path path{Duration(2 * kUs), 10e9, false};
  const MessageCost::Parts parts = cost.uncontended(kBytes, path, OpKind::send, Found::kAtPoll);
  EXPECT_EQ((parts.permission + parts.latency + parts.transfer).rounded().count(), loaded(0));
  EXPECT_EQ(cost.uncontended(kBytes, path).one_way().rounded().count(), idle(20));
}

}  // namespace
}  // namespace weft::replay::loaded_message_test
