// Ideal clocks against a replay on an ideal network: by hand, and to the last tick over random programs of all that a rank
// can do without looking at the time.
#include "replay/why/ideal_clocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "tests/replay/microseconds.hpp"
#include "tests/replay/random_program.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay::ideal_clocks_test {
namespace {

using testing::MemoryTrace;
using testing::RandomProgram;
using traces::OpKind;

constexpr auto kMicrosecond = Duration(kMicro);

ReplayResult with_path(MemoryTrace& t, ReplayOptions o = {}) {
  o.critical_path = true;
  return replayed(t, microsecond_platform(), o);
}

// The sender computes for 10 us, the receiver for 4 before it receives and 5 after; then the sender receives an answer.
TEST(IdealClocks, OfTwoRanksAreTheirComputationAndWhoWaitsForWhom) {
  for (const std::int64_t bytes : {kSmall, kLarge}) {
    MemoryTrace t(2);
    const RegionId tail = t.add_region("tail");
    t.compute(0, 10 * kMicrosecond);
    t.p2p(0, OpKind::send, 1, 0, bytes);
    t.compute(0, 1 * kMicrosecond);
    t.region(0, OpKind::region_begin, tail);
    t.p2p(0, OpKind::recv, 1, 1, bytes);
    t.region(0, OpKind::region_end, tail);
    t.compute(1, 4 * kMicrosecond);
    t.p2p(1, OpKind::recv, 0, 0, bytes);
    t.compute(1, 5 * kMicrosecond);
    t.p2p(1, OpKind::send, 0, 1, bytes);
    const auto r = with_path(t);
    ASSERT_TRUE(r.ideal.known);
    EXPECT_EQ(r.ideal.makespan, 15 * kMicrosecond);
    // It is there at 11 us and goes on at 15.
    EXPECT_EQ(r.ideal.regions, std::vector<Duration>{4 * kMicrosecond});
  }
}

// A rendezvous holds its sender until the receive is there; an eager message does not.
TEST(IdealClocks, OnlyARendezvousWaitsForItsReceive) {
  for (const bool large : {false, true}) {
    MemoryTrace t(2);
    t.p2p(0, OpKind::send, 1, 0, large ? kLarge : kSmall);
    t.compute(0, 10 * kMicrosecond);
    t.compute(1, 6 * kMicrosecond);
    t.p2p(1, OpKind::recv, 0, 0, kLarge);
    const auto r = with_path(t);
    ASSERT_TRUE(r.ideal.known);
    EXPECT_EQ(r.ideal.makespan, (large ? 16 : 10) * kMicrosecond);
  }
}

// Segments of a pipeline are eager, and over when they have come; where messages take no time that is when they are sent.
TEST(IdealClocks, AnEagerSegmentIsOverWhenItIsSent) {
  MemoryTrace t(2);
  t.collective(0, OpKind::bcast, 0, 200'000, CommId(0));
  t.compute(0, 3000 * kMicrosecond);
  t.compute(1, 1000 * kMicrosecond);
  t.collective(1, OpKind::bcast, 0, 200'000, CommId(0));
  t.p2p(0, OpKind::send, 1, 5, 0);
  t.p2p(1, OpKind::recv, 0, 5, 0);
  ReplayOptions o;
  o.critical_path = true;
  o.collectives["bcast"] = "pipeline";
  auto slow = topology::load_platform("crossbar:n=2,bw=50MB/s,lat=500ns").value();
  slow.mpi.eager_limit = Bytes(1 << 20);
  const auto r = replayed(t, slow, o);
  ASSERT_TRUE(r.ideal.known);
  EXPECT_EQ(r.ideal.makespan, 3000 * kMicrosecond);
}

// A request is over when its message is; the rank goes on when it waits for it, not before.
TEST(IdealClocks, ARequestCountsWhereItIsWaitedFor) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::irecv, 1, 0, kSmall, CommId(0), 0);
  t.compute(0, 3 * kMicrosecond);
  t.p2p(0, OpKind::send, 1, 1, kSmall);  // leaves at 3 us, whatever comes
  t.wait(0, 0);
  t.compute(1, 9 * kMicrosecond);
  t.p2p(1, OpKind::send, 0, 0, kSmall);
  t.p2p(1, OpKind::recv, 0, 1, kSmall);
  t.compute(1, 1 * kMicrosecond);
  const auto r = with_path(t);
  ASSERT_TRUE(r.ideal.known);
  EXPECT_EQ(r.ideal.makespan, 10 * kMicrosecond);
}

// Both halves of a sendrecv begin when it is called, however long the send's overhead is.
TEST(IdealClocks, ASendrecvSendsWhenItIsCalled) {
  MemoryTrace t(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    const auto other = static_cast<std::int32_t>(1 - r);
    t.compute(r, (r == 0 ? 2 : 7) * kMicrosecond);
    t.p2p(r, OpKind::sendrecv, other, 0, kSmall);
    traces::Op half;
    half.kind = OpKind::recv;
    half.peer = other;
    half.amount = kSmall;
    half.flags = traces::kPairedRecv;
    t.add(r, half);
    t.compute(r, (r == 0 ? 1 : 4) * kMicrosecond);
  }
  const auto r = with_path(t);
  ASSERT_TRUE(r.ideal.known);
  EXPECT_EQ(r.ideal.makespan, 11 * kMicrosecond);
}

// What a rank does then depends on when messages come, so nothing is said, and whoever asked is told.
TEST(IdealClocks, GiveUpWhereTimeDecides) {
  const auto known = [](void (*doubt)(MemoryTrace&)) {
    MemoryTrace t(2);
    t.compute(1, kMicrosecond);
    t.p2p(1, OpKind::send, 0, 0, kSmall);
    doubt(t);
    int told = 0;
    ReplayOptions o;
    o.on_no_ideal = [&] { ++told; };
    const auto r = with_path(t, o);
    EXPECT_TRUE(r.finished);
    EXPECT_EQ(told, r.ideal.known ? 0 : 1);
    EXPECT_TRUE(r.path.known);
    return r.ideal.known;
  };
  EXPECT_TRUE(known([](MemoryTrace& t) { t.p2p(0, OpKind::recv, 1, traces::kAnyTag, kSmall); }));
  EXPECT_FALSE(known([](MemoryTrace& t) { t.p2p(0, OpKind::recv, traces::kAnySource, 0, kSmall); }));
  EXPECT_FALSE(known([](MemoryTrace& t) {
    t.p2p(0, OpKind::probe, 1, 0, 0);
    t.p2p(0, OpKind::recv, 1, 0, kSmall);
  }));
  EXPECT_FALSE(known([](MemoryTrace& t) {
    t.p2p(0, OpKind::irecv, 1, 5, kSmall, CommId(0), 0);
    traces::Op cancel;
    cancel.kind = OpKind::cancel;
    cancel.request = 0;
    t.add(0, cancel);
    t.wait(0, 0);
    t.p2p(0, OpKind::recv, 1, 0, kSmall);
  }));
  // Nobody asked.
  MemoryTrace t(1);
  t.compute(0, kMicrosecond);
  EXPECT_FALSE(replayed(t, microsecond_platform(), {}).ideal.known);
}

TEST(IdealClocks, AreThoseOfAReplayOnAnIdealNetwork) {
  const char* const one = std::getenv("WEFT_SEED");
  constexpr RawMode kModes[] = {RawMode::kOff, RawMode::kOff, RawMode::kEager, RawMode::kDetached,
                                RawMode::kRendezvous};
  auto platform = topology::load_platform("torus:dims=2x2x2,bw=1GB/s,lat=1us").value();
  platform.mpi.send_overhead = Duration(3 * kMicro);
  platform.mpi.recv_overhead = Duration(2 * kMicro);
  platform.mpi.test_cost = Duration(7 * kMicro);
  std::size_t finished = 0, slower = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    if (one != nullptr && seed != std::strtoull(one, nullptr, 10)) continue;
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    RandomProgram program(seed);
    ReplayOptions o;
    o.raw = kModes[seed % std::size(kModes)];
    o.critical_path = true;
    const auto real = replayed(program.trace(), platform, o);
    ASSERT_TRUE(real.finished) << real.deadlock.summary();
    o.critical_path = false;
    o.ideal_network = true;
    program.trace().rewind();
    const auto ideal = replayed(program.trace(), platform, o);
    ASSERT_TRUE(ideal.finished && real.ideal.known);
    ASSERT_EQ(real.ideal.makespan, ideal.makespan);
    std::vector<Duration> regions;
    for (const auto& g : ideal.regions) regions.push_back(g.longest);
    ASSERT_EQ(real.ideal.regions, regions);
    ++finished;
    slower += real.makespan > ideal.makespan;
  }
  EXPECT_TRUE(one != nullptr || (finished == 1500 && slower > 1400)) << finished << ", " << slower;
}

}  // namespace
}  // namespace weft::replay::ideal_clocks_test
