// Replays whose times are known in closed form: alpha + beta n and what max-min sharing makes of it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>

#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay::closed_forms_test {
namespace {

using testing::MemoryTrace;
using traces::OpKind;

constexpr std::int64_t kUs = 1'000'000;  // ticks

topology::Platform platform(const std::string& spec) {
  auto p = topology::load_platform(spec);
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return std::move(p).value();
}

// 12.5 GB/s = 80 ps a byte; two links of 1 us each between any two hosts.
topology::Platform crossbar(int n, const std::string& more = {}) {
  return platform("crossbar:n=" + std::to_string(n) + ",bw=12.5GB/s,lat=1us,speed=10Gflops" + more);
}

ReplayResult run(MemoryTrace& t, const topology::Platform& p, ReplayOptions o = {}) {
  std::vector<HostId> hosts;
  for (std::uint32_t r = 0; r < t.header().ranks; ++r) hosts.emplace_back(r);
  auto r = replay(t, p, hosts, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  if (!r) return {};
  // Event by event it is the same.
  o.ranks_ahead = false;
  const auto by_events = replay(t, p, hosts, o);
  EXPECT_TRUE(by_events && by_events->makespan == r->makespan && by_events->fingerprint == r->fingerprint);
  for (const RankTimes& k : r->ranks)
    EXPECT_EQ(k.compute + k.send + k.recv + k.wait + k.collective, k.finish) << "the five parts add up";
  return std::move(r).value();
}

ReplayOptions raw(RawMode m) {
  ReplayOptions o;
  o.raw = m;
  return o;
}

TEST(ClosedForm, PingPongTakesLatencyPlusBytesOverBandwidthEachWay) {
  const auto p = crossbar(2);
  for (const RawMode mode : {RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous}) {
    for (const std::int64_t n : {0ll, 1ll, 1000ll, 1'000'000ll}) {
      MemoryTrace t(2);
      for (int i = 0; i < 10; ++i) {
        t.p2p(0, OpKind::send, 1, 7, n);
        t.p2p(0, OpKind::recv, 1, 8, n);
        t.p2p(1, OpKind::recv, 0, 7, n);
        t.p2p(1, OpKind::send, 0, 8, n);
      }
      EXPECT_EQ(run(t, p, raw(mode)).makespan.count(), 20 * (2 * kUs + 80 * n)) << n << " bytes";
    }
  }
}

// Beyond some hundred ranks the engine fetches memory ahead of events; nobody may see a difference.
TEST(ClosedForm, AThousandPairsTakeAsLongAsOne) {
  const auto pairs = [](int ranks) {
    MemoryTrace t(static_cast<std::uint32_t>(ranks));
    for (int r = 0; r < ranks; r += 2)
      for (int i = 0; i < 4; ++i) {
        const std::int64_t n = i % 2 == 0 ? 1'000'000 : 100;
        t.compute(r, Duration(kUs));
        t.p2p(r, OpKind::isend, r + 1, i, n, CommId(0), 0);
        t.p2p(r, OpKind::recv, r + 1, i, n);
        t.wait(r, 0);
        t.p2p(r + 1, OpKind::irecv, r, i, n, CommId(0), 0);
        t.p2p(r + 1, OpKind::send, r, i, n);
        t.wait(r + 1, 0);
      }
    return t;
  };
  auto two = pairs(2), many = pairs(2000);
  const auto p = crossbar(2000);
  const auto one = run(two, p), all = run(many, p);
  EXPECT_EQ(all.makespan, one.makespan);
  EXPECT_EQ(all.network.count, 1000 * one.network.count);
  for (std::size_t r = 0; r < all.ranks.size(); ++r) ASSERT_EQ(all.ranks[r].finish, one.ranks[r % 2].finish);
}

TEST(ClosedForm, TheHeaderIsAddedToEveryMessageAlsoToEmptyOnes) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 0, 0);
  t.p2p(1, OpKind::recv, 0, 0, 0);
  ReplayOptions o = raw(RawMode::kEager);
  o.header = Bytes(16);
  const auto p = crossbar(2);
  const auto r = run(t, p, o);
  EXPECT_EQ(r.makespan.count(), 2 * kUs + 16 * 80);
  EXPECT_EQ(r.network.bytes, 0u) << "network_bytes counts no headers";
}

TEST(ClosedForm, EagerSendersReturnAtOnceAndRendezvousSendersWhenAllHasCome) {
  const auto p = crossbar(2);
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 0, 1000);
  t.compute(1, Duration(50 * kUs));
  t.p2p(1, OpKind::recv, 0, 0, 1000);
  EXPECT_EQ(run(t, p, raw(RawMode::kEager)).ranks[0].finish.count(), 0);
  EXPECT_EQ(run(t, p, raw(RawMode::kEager)).ranks[1].finish.count(), 50 * kUs);
  EXPECT_EQ(run(t, p, raw(RawMode::kDetached)).ranks[0].finish.count(), 0);
  EXPECT_EQ(run(t, p, raw(RawMode::kDetached)).ranks[1].finish.count(), 52 * kUs + 80'000);
  EXPECT_EQ(run(t, p, raw(RawMode::kRendezvous)).ranks[0].finish.count(), 52 * kUs + 80'000);
}

TEST(ClosedForm, SynchronousSendsAreRendezvousInEveryMode) {
  const auto p = crossbar(2);
  for (const RawMode mode : {RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous}) {
    MemoryTrace t(2);
    t.p2p(0, OpKind::ssend, 1, 0, 1000);
    t.compute(1, Duration(5 * kUs));
    t.p2p(1, OpKind::recv, 0, 0, 1000);
    EXPECT_EQ(run(t, p, raw(mode)).ranks[0].finish.count(), 7 * kUs + 80'000);
    MemoryTrace i(2);
    i.p2p(0, OpKind::issend, 1, 0, 1000, CommId(0), 0);
    i.wait(0, 0);
    i.compute(1, Duration(5 * kUs));
    i.p2p(1, OpKind::recv, 0, 0, 1000);
    EXPECT_EQ(run(i, p, raw(mode)).ranks[0].finish.count(), 7 * kUs + 80'000);
  }
}

TEST(ClosedForm, RawSwitchSendsSmallPayloadsDetachedAndLargeOnesByRendezvous) {
  const auto p = crossbar(2);
  ReplayOptions o = raw(RawMode::kDetached);
  o.raw_switch = Bytes(65536);
  for (const std::int64_t n : {65535ll, 65536ll}) {
    MemoryTrace t(2);
    t.p2p(0, OpKind::send, 1, 0, n);
    t.p2p(1, OpKind::recv, 0, 0, n);
    EXPECT_EQ(run(t, p, o).ranks[0].finish.count(), n < 65536 ? 0 : 2 * kUs + 80 * n);
  }
}

TEST(ClosedForm, ARingShiftsWithoutContention) {
  constexpr int kRanks = 8;
  const auto p = crossbar(kRanks);
  MemoryTrace t(kRanks);
  for (int step = 0; step < kRanks - 1; ++step)
    for (int r = 0; r < kRanks; ++r) {
      t.p2p(r, OpKind::isend, (r + 1) % kRanks, step, 10'000, CommId(0), 0);
      t.p2p(r, OpKind::recv, (r + kRanks - 1) % kRanks, step, 10'000);
      t.wait(r, 0);
    }
  EXPECT_EQ(run(t, p, raw(RawMode::kEager)).makespan.count(), (kRanks - 1) * (2 * kUs + 800'000));
}

TEST(ClosedForm, AllToAllOnACrossbarIsBoundByTheHostLink) {
  constexpr int kRanks = 9;
  constexpr std::int64_t kBytes = 10'000;
  const auto p = crossbar(kRanks);
  MemoryTrace t(kRanks);
  for (int r = 0; r < kRanks; ++r) {
    for (int d = 1; d < kRanks; ++d) t.p2p(r, OpKind::send, (r + d) % kRanks, 0, kBytes);
    for (int d = 1; d < kRanks; ++d) t.p2p(r, OpKind::recv, (r + d) % kRanks, 0, kBytes);
  }
  const auto result = run(t, p, raw(RawMode::kEager));
  EXPECT_NEAR(static_cast<double>(result.makespan.count()), 2.0 * kUs + (kRanks - 1) * kBytes * 80.0, 1);
  for (const network::LinkUse& l : result.links) {
    EXPECT_EQ(l.bytes, (kRanks - 1) * kBytes);
    EXPECT_EQ(l.peak_flows, kRanks - 1u);
  }
}

TEST(ClosedForm, FlowsOnASharedLinkGetEqualSharesAndTheRestAfterwards) {
  const auto p = crossbar(4);
  MemoryTrace t(4);  // 1 and 2 send to 0: the link into host 0 is shared until the shorter one ends
  t.p2p(1, OpKind::send, 0, 0, 10'000);
  t.p2p(2, OpKind::send, 0, 0, 30'000);
  t.p2p(0, OpKind::recv, 1, 0, 10'000);
  t.p2p(0, OpKind::recv, 2, 0, 30'000);
  const auto r = run(t, p, raw(RawMode::kEager));
  EXPECT_EQ(r.makespan.count(), 2 * kUs + 40'000 * 80) << "20,000 shared at half rate, then 20,000 alone";
  MemoryTrace first(4);
  first.p2p(1, OpKind::send, 0, 0, 10'000);
  first.p2p(2, OpKind::send, 0, 0, 30'000);
  first.p2p(0, OpKind::recv, 1, 0, 10'000);
  EXPECT_EQ(run(first, p, raw(RawMode::kEager)).ranks[0].finish.count(), 2 * kUs + 20'000 * 80);
}

TEST(ClosedForm, TwoStaggeredFlowsShareOnlyWhileBothRun) {
  const auto p = crossbar(3);
  MemoryTrace t(3);
  t.p2p(1, OpKind::send, 0, 0, 10'000);  // 800 us alone
  t.compute(2, Duration(400'000));
  t.p2p(2, OpKind::send, 0, 0, 10'000);
  t.p2p(0, OpKind::recv, 1, 0, 10'000);
  t.p2p(0, OpKind::recv, 2, 0, 10'000);
  // Alone for 400 us, then half each: the first ends after 800 us more, the second has 5,000 B left.
  EXPECT_EQ(run(t, p, raw(RawMode::kEager)).makespan.count(), 2 * kUs + 400'000 + 800'000 + 400'000);
}

TEST(ClosedForm, RttWeightsShareInInverseProportionToTheLatencyOfTheRoute) {
  // Torus ring of 8 without host cables: 0 -> 2 crosses two links, 1 -> 2 one; they share the second.
  const auto p = platform("torus:dims=8,bw=12.5GB/s,lat=1us,host_links=off,speed=10Gflops");
  MemoryTrace t(4);
  t.p2p(0, OpKind::send, 2, 0, 12'500'000);
  t.p2p(1, OpKind::send, 2, 0, 12'500'000);
  t.p2p(2, OpKind::recv, 1, 0, 12'500'000);
  t.p2p(2, OpKind::recv, 0, 0, 12'500'000);
  ReplayOptions o = raw(RawMode::kEager);
  o.rtt_weights = true;
  // SimGrid 3.32, CM02: 1 -> 2 ends at 1.5005 ms, 0 -> 2 at 2.001 ms.
  EXPECT_NEAR(static_cast<double>(run(t, p, o).makespan.count()), 2.001e9, 10);
  MemoryTrace one(4);
  one.p2p(0, OpKind::send, 2, 0, 12'500'000);
  one.p2p(1, OpKind::send, 2, 0, 12'500'000);
  one.p2p(2, OpKind::recv, 1, 0, 12'500'000);
  EXPECT_NEAR(static_cast<double>(run(one, p, o).makespan.count()), 1.5005e9, 10);
}

TEST(ClosedForm, ComputationTakesItsTimeTimesScaleOrItsFlopsOverTheHostSpeed) {
  const auto p = crossbar(1);
  MemoryTrace t(1);
  t.compute(0, Duration(3 * kUs));
  t.flops(0, 1e6);
  EXPECT_EQ(run(t, p).makespan.count(), 3 * kUs + 100 * kUs);
  ReplayOptions o;
  o.compute_scale = 2;
  EXPECT_EQ(run(t, p, o).makespan.count(), 6 * kUs + 100 * kUs);
}

TEST(ReplayOptions, NumbersOutOfTheirRangeAreRefused) {
  const auto p = crossbar(2);
  const auto told = [&](void (*change)(ReplayOptions&)) {
    MemoryTrace t(2);
    t.compute(0, Duration(kUs));
    ReplayOptions o;
    change(o);
    const auto r = replay(t, p, {HostId(0), HostId(1)}, o);
    return r ? std::string("taken") : r.error().message();
  };
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(),
                   kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(told([](ReplayOptions& o) { o.compute_scale = 0; }), "taken");
  EXPECT_EQ(told([](ReplayOptions& o) { o.accuracy = 0.1; }), "taken");
  EXPECT_EQ(told([](ReplayOptions& o) { o.compute_scale = -1; }),
            "error: compute_scale out of range; got \"-1\"; expected 0 or more");
  EXPECT_EQ(told([](ReplayOptions& o) { o.compute_scale = kNan; }),
            "error: compute_scale out of range; got \"nan\"; expected 0 or more");
  EXPECT_EQ(told([](ReplayOptions& o) { o.compute_scale = kInf; }),
            "error: compute_scale out of range; got \"inf\"; expected 0 or more");
  const std::string ratio = "; expected a ratio from 0 (exact) to 0.1, like 1e-4";
  EXPECT_EQ(told([](ReplayOptions& o) { o.accuracy = -0.01; }),
            "error: accuracy out of range; got \"-0.01\"" + ratio);
  EXPECT_EQ(told([](ReplayOptions& o) { o.accuracy = 5; }),
            "error: accuracy out of range; got \"5\"" + ratio);
  EXPECT_EQ(told([](ReplayOptions& o) { o.accuracy = kNan; }),
            "error: accuracy out of range; got \"nan\"" + ratio);
  EXPECT_EQ(told([](ReplayOptions& o) { o.header = Bytes(-8); }),
            "error: header out of range; got \"-8\"; expected 0 bytes or more");
}

TEST(ClosedForm, RanksOnOneHostExchangeMessagesInNoTimeInRawModes) {
  const auto p = crossbar(2, ",ranks_per_host=2");
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 0, 1'000'000);
  t.p2p(1, OpKind::recv, 0, 0, 1'000'000);
  auto r = replay(t, p, {HostId(0), HostId(0)}, raw(RawMode::kRendezvous));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->makespan.count(), 0);
}

TEST(Protocol, RendezvousPaysARoundTripBeforeItsDataAndEagerDoesNot) {
  auto p = crossbar(2);
  p.mpi.eager_limit = Bytes(1000);
  for (const std::int64_t n : {1000ll, 1001ll}) {
    MemoryTrace t(2);
    t.p2p(0, OpKind::send, 1, 0, n);
    t.p2p(1, OpKind::recv, 0, 0, n);
    EXPECT_EQ(run(t, p).makespan.count(), (n <= 1000 ? 2 : 6) * kUs + 80 * n);
  }
}

TEST(Protocol, OverheadsOccupyTheCpuOfTheirRank) {
  auto p = crossbar(2);
  p.mpi.send_overhead = Duration(300'000);
  p.mpi.recv_overhead = Duration(200'000);
  MemoryTrace t(2);
  for (int i = 0; i < 3; ++i) t.p2p(0, OpKind::send, 1, 0, 0);
  for (int i = 0; i < 3; ++i) t.p2p(1, OpKind::recv, 0, 0, 0);
  const auto r = run(t, p);
  EXPECT_EQ(r.ranks[0].finish.count(), 900'000);
  EXPECT_EQ(r.ranks[0].send.count(), 900'000);
  EXPECT_EQ(r.ranks[1].finish.count(), 900'000 + 2 * kUs + 200'000) << "the last message leaves at 0.9 us";
}

// MPI_Bsend and MPI_Ibsend are local, however long the message and wherever its receive: they are over at once.
TEST(ClosedForm, ABufferedSendDoesNotWaitForItsReceive) {
  topology::Platform p = crossbar(2);
  p.mpi.eager_limit = Bytes(100);
  for (const OpKind kind : {OpKind::bsend, OpKind::ibsend, OpKind::send}) {
    MemoryTrace t(2);
    t.p2p(0, kind, 1, 0, 1'000'000, CommId(0), 0);
    if (kind == OpKind::ibsend) t.wait(0, 0);
    t.compute(1, Duration(500 * kUs));
    t.p2p(1, OpKind::recv, 0, 0, 1'000'000);
    const auto r = run(t, p);
    EXPECT_EQ(r.ranks[0].finish == Duration(0), kind != OpKind::send) << traces::op_name(kind);
    EXPECT_GE(r.ranks[1].finish.count(), 500 * kUs + 80'000'000);
  }
}

// k segments of s bytes along p ranks: a rank sends one while the next one comes. Sent eagerly, they follow one another all the same.
TEST(ClosedForm, SegmentsFollowOneAnotherDownAChainAndUpIt) {
  constexpr std::int64_t kSegments = 256, kRanks = 8, kStep = 2 * kUs + 65536 * 80;
  const auto p = crossbar(kRanks);
  for (const bool ahead : {true, false})
    for (const OpKind kind : {OpKind::bcast, OpKind::reduce}) {
      MemoryTrace t(kRanks);
      for (std::uint32_t r = 0; r < kRanks; ++r) t.collective(r, kind, 0, kSegments * 65536, CommId(0));
      ReplayOptions o;
      o.ranks_ahead = ahead;
      o.collectives[std::string(traces::op_name(kind))] = "pipeline";
      EXPECT_EQ(run(t, p, o).makespan.count(), (kSegments + kRanks - 2) * kStep) << traces::op_name(kind);
    }
}

// Of a binary tree of seven the links of three ranks carry each segment twice.
TEST(ClosedForm, SegmentsFollowOneAnotherDownATreeAndUpIt) {
  constexpr std::int64_t kSegments = 100, kStep = 2 * kUs + 2 * 65536 * 80;
  const auto file = std::filesystem::path(::testing::TempDir()) / "weft_segments_of_a_tree.conf";
  std::ofstream(file) << "2\n7 1 2 1 0 5 0 65536\n11 1 2 1 0 4 0 65536\n";
  const auto p = crossbar(7);
  for (const bool ahead : {true, false})
    for (const OpKind kind : {OpKind::bcast, OpKind::reduce}) {
      MemoryTrace t(7);
      for (std::uint32_t r = 0; r < 7; ++r) t.collective(r, kind, 0, kSegments * 65536, CommId(0));
      ReplayOptions o;
      o.ranks_ahead = ahead;
      o.collective_rules = file.string();
      EXPECT_EQ(run(t, p, o).makespan.count(), (kSegments + 1) * kStep) << traces::op_name(kind);
    }
  std::filesystem::remove(file);
}

// A rank takes a segment while the one before goes up, also where both sides of a message wait for each other.
TEST(ClosedForm, AReductionInSegmentsOverlapsWhatComesWithWhatGoes) {
  constexpr std::int64_t kSegments = 100, kRanks = 8;
  const auto file = std::filesystem::path(::testing::TempDir()) / "weft_segments_of_a_chain.conf";
  std::ofstream(file) << "2\n7 1 2 1 0 3 0 65536\n11 1 2 1 0 3 0 65536\n";
  const auto p = crossbar(kRanks);
  for (const OpKind kind : {OpKind::bcast, OpKind::reduce}) {
    MemoryTrace t(kRanks);
    for (std::uint32_t r = 0; r < kRanks; ++r) t.collective(r, kind, 0, kSegments * 65536, CommId(0));
    ReplayOptions o = raw(RawMode::kRendezvous);
    o.collective_rules = file.string();
    EXPECT_EQ(run(t, p, o).makespan.count(), (kSegments + kRanks - 2) * (2 * kUs + 65536 * 80))
        << traces::op_name(kind);
  }
  std::filesystem::remove(file);
}

// The root asks the next rank as soon as it has the first part of a block; the second parts come meanwhile, as their receives are
// posted before. Times of SimGrid 3.32 (smpi/gather:ompi_linear_sync, CM02): all messages eager, or their sends over at once; all by
// rendezvous.
TEST(ClosedForm, AGatherThatAsksRankByRankDoesNotWaitForSecondParts) {
  struct Case {
    int ranks;
    std::int64_t bytes;
    const char* segment;
    std::int64_t eager, rendezvous;  // ps
  };
  const auto file = std::filesystem::path(::testing::TempDir()) / "weft_gather_linear_sync.conf";
  for (const Case& c :
       {Case{16, 60'000, "1024", 76'039'680, 78'039'680},
        Case{16, 200'000, "32768", 244'039'680, 246'039'680}, Case{4, 60'000, "1024", 18'408'960, 20'408'960},
        Case{5, 9'000, "1024", 17'226'880, 18'977'280}, Case{8, 100'000, "32768", 67'484'160, 69'484'160}}) {
    std::ofstream(file) << "1\n9\n1\n" << c.ranks << " 1\n0 3 0 " << c.segment << "\n";
    MemoryTrace t(static_cast<std::uint32_t>(c.ranks));
    for (std::uint32_t r = 0; r < t.header().ranks; ++r)
      t.collective(r, OpKind::gather, 0, c.bytes, CommId(0));
    for (const RawMode mode : {RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous}) {
      ReplayOptions o = raw(mode);
      o.header = Bytes(16);
      o.collective_rules = file.string();
      const auto expected = mode == RawMode::kRendezvous ? c.rendezvous : c.eager;
      EXPECT_NEAR(static_cast<double>(run(t, crossbar(c.ranks), o).makespan.count()),
                  static_cast<double>(expected), 1)
          << c.ranks << " ranks, " << c.bytes << " bytes, mode " << static_cast<int>(mode);
    }
  }
  std::filesystem::remove(file);
}

// With costs the handshake of a second part is paid, by it alone: 2 ranks, request, permission and data one after the other.
TEST(ClosedForm, APartThatIsExpectedPaysItsHandshake) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "weft_gather_expected.conf";
  std::ofstream(file) << "1\n9\n1\n2 1\n0 3 0 1000\n";
  MemoryTrace t(2);
  for (std::uint32_t r = 0; r < 2; ++r) t.collective(r, OpKind::gather, 0, 10'000, CommId(0));
  ReplayOptions o;
  o.collective_rules = file.string();
  topology::Platform p = crossbar(2);
  p.mpi.eager_limit = Bytes(100);
  const std::int64_t handshake = 4 * kUs, latency = 2 * kUs;  // there and back; of the data
  // The empty message; then both parts.
  const ReplayResult r = run(t, p, o);
  EXPECT_EQ(r.makespan.count(), latency + 2 * (handshake + latency) + 10'000 * 80);
  std::filesystem::remove(file);
}

// Segments of every tree of Open MPI's bcast and reduce, where all sends wait for their receive: 17 over each of p - 1 edges.
TEST(ClosedForm, SegmentsOfEveryTreeArrive) {
  const auto file = std::filesystem::path(::testing::TempDir()) / "weft_segments_of_trees.conf";
  for (const int algorithm : {2, 3, 4, 5, 6})
    for (const std::uint32_t p : {2u, 3u, 6u, 9u})
      for (const OpKind kind : {OpKind::bcast, OpKind::reduce}) {
        if (kind == OpKind::bcast && algorithm == 4) continue;  // halves
        const bool bcast = kind == OpKind::bcast;
        std::ofstream(file) << "1\n" << (bcast ? 7 : 11) << " 1 2 1 0 " << algorithm << " 2 1000\n";
        MemoryTrace t(p);
        for (std::uint32_t r = 0; r < p; ++r)
          t.collective(r, kind, static_cast<std::int32_t>(p - 1), 17 * 1000, CommId(0));
        ReplayOptions o = raw(RawMode::kRendezvous);
        o.collective_rules = file.string();
        const auto r = run(t, crossbar(static_cast<int>(p)), o);
        EXPECT_TRUE(r.finished) << traces::op_name(kind) << ' ' << algorithm << ", " << p << " ranks";
        EXPECT_EQ(r.network.count, 17 * (p - 1));
      }
  std::filesystem::remove(file);
}

TEST(Determinism, TheSameReplayTwiceHasTheSameFingerprint) {
  const auto p = crossbar(6);
  MemoryTrace t(6);
  for (int i = 0; i < 50; ++i)
    for (int r = 0; r < 6; ++r) {
      t.p2p(r, OpKind::isend, (r + 1 + i % 5) % 6, i, 1000 * (i + 1), CommId(0), 0);
      t.p2p(r, OpKind::irecv, traces::kAnySource, i, 1 << 20, CommId(0), 1);
      t.wait(r, 0);
      t.wait(r, 1);
    }
  const auto a = run(t, p), b = run(t, p);
  EXPECT_EQ(a.fingerprint, b.fingerprint);
  EXPECT_EQ(a.makespan, b.makespan);
  MemoryTrace other(6);
  for (int r = 0; r < 6; ++r) other.compute(r, Duration(1));
  EXPECT_NE(run(other, p).fingerprint, a.fingerprint);
}

}  // namespace
}  // namespace weft::replay::closed_forms_test
