// Latency tolerance against closed forms, against a search by halves over replays, and against the two graphs of LLAMP's
// own tests; slopes against what makes them exact; what a class of links brings at twice the speed.
#include "predict/sensitivity.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <string>

#include "tests/predict/asked.hpp"
#include "tests/replay/well_formed.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/seed.hpp"
#include "traces/formats.hpp"

namespace weft::predict {
namespace {

using replay::kLarge;
using replay::kMicro;
using replay::kSmall;
using testing::MemoryTrace;
using traces::OpKind;

Tolerance tolerance(Asked& asked, double ratio) {
  auto t = tolerance_of(asked.question(), ratio);
  EXPECT_TRUE(t) << (t ? "" : t.error().message());
  return t ? *t : Tolerance{};
}
Sensitivity all(Asked& asked, unsigned threads = 1) {
  auto s = sensitivity_of(asked.question(), threads, {});
  EXPECT_TRUE(s) << (s ? "" : s.error().message());
  return s ? *s : Sensitivity{};
}

// A token of 10 hops, eager or not: with d more a way the run is longer by 10 d, or by 30 d.
TEST(LatencyTolerance, OfATokenIsTheTimeOverItsHops) {
  for (const std::int64_t bytes : {kSmall, kLarge}) {
    MemoryTrace t(6);
    for (std::uint32_t hop = 0; hop < 10; ++hop) {
      t.compute(hop % 6, Duration(7 * kMicro + 3));
      t.p2p(hop % 6, OpKind::send, static_cast<std::int32_t>((hop + 1) % 6), 0, bytes);
      t.p2p((hop + 1) % 6, OpKind::recv, static_cast<std::int32_t>(hop % 6), 0, bytes);
    }
    Asked asked(std::move(t), replay::microsecond_platform());
    const std::int64_t ways = bytes == kSmall ? 10 : 30;
    EXPECT_EQ(asked.base.path.trips, static_cast<std::uint64_t>(ways));
    for (const double ratio : {0.01, 0.02, 0.05}) {
      const auto lost =
          static_cast<std::int64_t>(std::llround(ratio * static_cast<double>(asked.base.makespan.count())));
      const Tolerance found = tolerance(asked, ratio);
      ASSERT_TRUE(found.latency);
      EXPECT_NEAR(static_cast<double>(found.latency->count()), static_cast<double>(lost / ways), 1);
      EXPECT_LE(found.replays, 8u);
    }
  }
}

// Without contention it is the last latency at which the makespan is within its limit, to the picosecond.
TEST(LatencyTolerance, IsTheLastLatencyWithinTheLimit) {
  for (const std::uint64_t seed : support::seeds_to(40)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    auto p = topology::load_platform("fat-tree:m=4,n=3,bw=10GB/s,lat=300ns").value();
    p.mpi.eager_limit = Bytes(2000);
    Asked asked(testing::well_formed(seed).trace, std::move(p));
    for (const double ratio : {0.01, 0.05}) {
      const Duration limit(std::llround((1 + ratio) * static_cast<double>(asked.base.makespan.count())));
      const Tolerance found = tolerance(asked, ratio);
      if (asked.at(limit).makespan <= limit) {
        EXPECT_FALSE(found.latency);
        continue;
      }
      ASSERT_TRUE(found.latency);
      EXPECT_LE(asked.at(*found.latency).makespan, limit);
      EXPECT_GT(asked.at(*found.latency + Duration(1)).makespan, limit);
    }
  }
}

TEST(LatencyTolerance, IsUnboundedWhereNoMessageIsWaitedFor) {
  MemoryTrace t(2);
  t.compute(0, Duration(50 * kMicro));
  t.compute(1, Duration(70 * kMicro));
  Asked asked(std::move(t), replay::microsecond_platform());
  EXPECT_FALSE(tolerance(asked, 0.05).latency);
}

// LLAMP's test_graph_analysis.py: o = 1500, G = 6, a message of 4 bytes takes L + 18. From L = 482 on the receiver waits
// for it, not for its own computation; from there on the slope is 1.
// Rank 0 takes any message and then one of rank 1, which sends one. That of rank 2 comes two ways after the start, that of
// rank 1 one way after 100 us: with more latency than the difference it comes second, and the program stops.
TEST(LatencyTolerance, EndsWhereAnotherMatchStopsTheProgram) {
  MemoryTrace t(4);
  t.p2p(0, OpKind::recv, traces::kAnySource, 0, kSmall);
  t.p2p(0, OpKind::recv, 1, 0, kSmall);
  t.compute(1, Duration(100 * kMicro));
  t.p2p(1, OpKind::send, 0, 0, kSmall);
  t.p2p(3, OpKind::send, 2, 0, kSmall);
  t.p2p(2, OpKind::recv, 3, 0, kSmall);
  t.p2p(2, OpKind::send, 0, 0, kSmall);
  Asked asked(std::move(t), replay::microsecond_platform());
  const Tolerance found = tolerance(asked, 3);
  ASSERT_TRUE(found.latency);
  EXPECT_FALSE(found.ends);
  EXPECT_TRUE(asked.at(*found.latency).finished);
  EXPECT_FALSE(asked.at(*found.latency + Duration(1)).finished);
  const Sensitivity s = all(asked);
  for (const Slope& slope : s.slopes) EXPECT_TRUE(slope.more && slope.less) << slope.what;
}

// What no clock holds is too long as well: the first guess is a latency as long as the run.
TEST(LatencyTolerance, OfARunAsLongAsTheClock) {
  MemoryTrace t(2);
  t.compute(0, Duration(80LL * 86400 * 1'000'000 * kMicro));
  t.p2p(0, OpKind::send, 1, 0, kSmall);
  t.p2p(1, OpKind::recv, 0, 0, kSmall);
  Asked asked(std::move(t), replay::microsecond_platform());
  const Tolerance found = tolerance(asked, 0.01);
  ASSERT_TRUE(found.latency);
  EXPECT_NEAR(static_cast<double>(found.latency->count()),
              0.01 * static_cast<double>(asked.base.makespan.count()), 2048);
}

// Two ranks of one host: no link carries what they copy, so none makes it faster.
TEST(Slopes, CopiesWithinAHostAreNotTheLinks) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 0, kLarge);
  t.p2p(1, OpKind::recv, 0, 0, kLarge);
  auto platform = replay::microsecond_platform();
  platform.ranks_per_host = 2;
  platform.mpi.local_bandwidth = 1e9;
  Asked asked(std::move(t), std::move(platform));
  asked.placement = {HostId(0), HostId(0)};
  auto options = asked.options;
  options.critical_path = true;
  asked.trace.rewind();
  auto base = replay::replay(asked.trace, asked.platform, asked.placement, options);
  ASSERT_TRUE(base) << base.error().message();
  asked.base = std::move(base).value();
  EXPECT_NEAR(static_cast<double>(asked.base.path.own_pace.count()), 1000.0 * kMicro, 1000);
  EXPECT_EQ(asked.base.path.own_pace_bytes, static_cast<std::uint64_t>(kLarge));
  const Sensitivity s = all(asked);
  EXPECT_EQ(s.slopes[1].told, Duration(0));
  EXPECT_EQ(s.slopes[1].more, Duration(0));
}

// Every other computation sleeps instead, which a replay with longer computation leaves as it is. Without contention a
// makespan is convex in the time of the others: 1 % more costs at least what the path tells, 1 % less gains at most that.
TEST(Slopes, OfComputationAreWithoutSleep) {
  bool slept = false;
  for (const std::uint64_t seed : support::seeds_to(40)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    auto program = testing::well_formed(seed);
    std::uint64_t computations = 0;
    auto t = MemoryTrace::copy(program.trace, [&](traces::Op& op) {
      if (op.kind == OpKind::compute_time && ++computations % 2 == 0) op.kind = OpKind::sleep;
    });
    ASSERT_TRUE(t) << t.error().message();
    Asked asked(std::move(*t), topology::load_platform("fat-tree:m=4,n=3,bw=10GB/s,lat=300ns").value());
    const Sensitivity s = all(asked);
    ASSERT_TRUE(s.slopes[2].told && s.slopes[2].more && s.slopes[2].less);
    EXPECT_GE(s.slopes[2].more->count(), s.slopes[2].told->count() - 2);
    EXPECT_LE(s.slopes[2].less->count(), s.slopes[2].told->count() + 2);
    slept |= asked.base.path.slept > Duration(0);
  }
  EXPECT_TRUE(slept);
}

TEST(LatencyTolerance, LlampsExampleGraphsHaveTheirCriticalLatency) {
  const std::string folder = support::shared_dir() + "/traces/goal_samples/llamp/";
  WEFT_NEEDS(std::ifstream(folder + "blocking.goal"), folder << " is not here");
  for (const char* const name : {"blocking", "non_blocking"}) {
    SCOPED_TRACE(name);
    auto p = topology::load_platform("crossbar:n=2,bw=166666666.66666667B/s,lat=0").value();
    p.mpi.send_overhead = p.mpi.recv_overhead = Duration(1'500'000);
    const auto receiver_at = [&](std::int64_t ns) {
      auto t = traces::open_trace({folder + name + ".goal"});
      EXPECT_TRUE(t);
      replay::ReplayOptions o;
      o.model = "contention-free";
      o.critical_path = true;
      o.what_if.latency = Duration((ns - 6) * 1000);  // Weft's message of 4 bytes takes 4 G
      const auto r = replay::replayed(**t, p, o);
      return std::pair(static_cast<double>(r.ranks[1].finish.count()) / 1000, r.path.trips);
    };
    EXPECT_NEAR(receiver_at(6).first, 6500, 1e-3);
    EXPECT_NEAR(receiver_at(482).first, 6500, 1e-3);
    EXPECT_NEAR(receiver_at(483).first, 6501, 1e-3);
    EXPECT_NEAR(receiver_at(10'482).first, 16'500, 1e-3);
    EXPECT_EQ(receiver_at(481).second, 0u);
    EXPECT_EQ(receiver_at(10'482).second, 1u);
  }
}

// A computation, a message alone on its way, a computation: nothing else can become the path, so the slopes are exact.
TEST(Slopes, AreWhatReplaysGiveWhereThePathStays) {
  MemoryTrace t(2);
  t.compute(1, Duration(400 * kMicro));
  t.p2p(1, OpKind::send, 0, 0, kLarge);
  t.p2p(0, OpKind::recv, 1, 0, kLarge);
  t.compute(0, Duration(300 * kMicro));
  Asked asked(std::move(t), replay::microsecond_platform(), "");
  for (const unsigned threads : {1u, 3u}) {
    const Sensitivity s = all(asked, threads);
    ASSERT_EQ(s.slopes.size(), 3u);
    // A way takes 1 us, and there are three of them; a MB takes 1 ms.
    const Duration want[] = {Duration(30'000), Duration(10 * kMicro), Duration(7 * kMicro)};
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(s.slopes[i].told, want[i]) << s.slopes[i].what;
      EXPECT_NEAR(static_cast<double>(s.slopes[i].more->count()), static_cast<double>(want[i].count()), 2);
      EXPECT_NEAR(static_cast<double>(s.slopes[i].less->count()), static_cast<double>(want[i].count()), 2);
    }
    ASSERT_EQ(s.classes.size(), 1u);
    EXPECT_NEAR(static_cast<double>((asked.base.makespan - *s.classes[0].makespan).count()), 500.0 * kMicro,
                2);
  }
}

// Two ranks on two hosts exchange pivots a hundred times: the path tells nothing of changes, replays do. Alone a rank waits for
// nobody in its series, which is computation.
TEST(Slopes, OfASeriesOfExchangesAreReplayedOnly) {
  for (const std::uint32_t members : {2u, 1u}) {
    MemoryTrace t(members);
    for (std::uint32_t r = 0; r < members; ++r) {
      t.compute(r, Duration((10 + r) * kMicro));
      t.add(r, {.kind = OpKind::exchange_series, .peer = 0, .amount = kSmall}, {kSmall, 100, 1, 0});
    }
    Asked asked(std::move(t), replay::microsecond_platform());
    EXPECT_EQ(asked.base.path.has_slopes(), members == 1);
    const Sensitivity s = all(asked);
    for (const Slope& slope : s.slopes) {
      EXPECT_EQ(slope.told.has_value(), members == 1) << slope.what;
      ASSERT_TRUE(slope.more && slope.less) << slope.what;
    }
    if (members == 1) {
      EXPECT_EQ(s.slopes[2].told, s.slopes[2].more);
    } else {
      EXPECT_GT(*s.slopes[0].more, Duration(0));
    }
  }
}

// Two messages into one host: with links 1 % slower each is longer by 1 %, contention included; at twice the speed both
// take half.
TEST(Slopes, ContentionGrowsWithTheData) {
  MemoryTrace t(3);
  for (const std::uint32_t s : {1u, 2u}) {
    t.p2p(s, OpKind::send, 0, 0, kLarge);
    t.p2p(0, OpKind::irecv, static_cast<std::int32_t>(s), 0, kLarge, CommId(0), s);
  }
  t.wait(0, 1);
  t.wait(0, 2);
  Asked asked(std::move(t), replay::microsecond_platform(), "");
  const Sensitivity s = all(asked);
  EXPECT_EQ(s.slopes[1].told, Duration(20 * kMicro));
  EXPECT_NEAR(static_cast<double>(s.slopes[1].more->count()), 20.0 * kMicro, 2);
  ASSERT_EQ(s.classes.size(), 1u);
  EXPECT_NEAR(static_cast<double>((asked.base.makespan - *s.classes[0].makespan).count()), 1000.0 * kMicro,
              2);
}

}  // namespace
}  // namespace weft::predict
