#include "network/flow_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/rng.hpp"

namespace weft::network {
namespace {

std::vector<LinkId> links(std::initializer_list<std::uint32_t> ids) {
  std::vector<LinkId> r;
  for (const auto i : ids) r.emplace_back(i);
  return r;
}

FlowRun make(const std::vector<double>& capacity, std::string_view model = "max-min") {
  auto run = FlowRun::create(model, capacity);
  EXPECT_TRUE(run.has_value());
  return std::move(run).value();
}

constexpr SimTime at_us(std::int64_t us) { return SimTime(Duration(us * 1'000'000)); }

// 1 GB/s. Alone until 1 ms + 1 us, then halves: the first has 1 MB of 2 left, so both need time for their
// share.
TEST(FlowRun, PhasesFollowArrivalsAndDepartures) {
  const std::vector<double> capacity{1e9};
  FlowRun run = make(capacity);
  run.add(links({0}), Bytes(2'000'000), kTimeZero, Duration(1'000'000));
  run.add(links({0}), Bytes(3'000'000), at_us(1000), Duration(1'000'000));
  ASSERT_TRUE(run.run(true).has_value());
  EXPECT_EQ(run.finish(0), at_us(3001));
  EXPECT_EQ(run.finish(1), at_us(5001));
  EXPECT_EQ(run.makespan(), at_us(5001));
  ASSERT_EQ(run.phases(0).size(), 2u);
  EXPECT_EQ(run.phases(0)[0].from, at_us(1));
  EXPECT_EQ(run.phases(0)[0].to, at_us(1001));
  EXPECT_DOUBLE_EQ(run.phases(0)[0].rate, 1e9);
  EXPECT_DOUBLE_EQ(run.phases(0)[1].rate, 5e8);
  ASSERT_EQ(run.phases(1).size(), 2u);
  EXPECT_EQ(run.phases(1)[1].to, at_us(5001));
  EXPECT_EQ(run.phases(1)[1].bottleneck, LinkId(0));
}

TEST(FlowRun, EmptyFlowsTakeTheirLatencyAndFlowsToOneselfNothing) {
  const std::vector<double> capacity{1e9};
  FlowRun run = make(capacity);
  run.add(links({0}), Bytes(0), at_us(5), Duration(2'000'000));
  run.add({}, Bytes(1'000'000), at_us(5), Duration(0));
  ASSERT_TRUE(run.run(true).has_value());
  EXPECT_EQ(run.finish(0), at_us(7));
  EXPECT_EQ(run.finish(1), at_us(5));
}

TEST(FlowRun, NoFlowsEndAtZero) {
  const std::vector<double> capacity{1e9};
  FlowRun run = make(capacity);
  ASSERT_TRUE(run.run(false).has_value());
  EXPECT_EQ(run.makespan(), kTimeZero);
}

TEST(FlowRun, AFlowBeyondTheRangeOfTimeIsAnErrorNotAWrongAnswer) {
  const std::vector<double> capacity{1.0};
  FlowRun run = make(capacity);
  run.add(links({0}), Bytes(9'000'000'000'000'000'000), kTimeZero, Duration(0));
  const auto r = run.run(false);
  ASSERT_FALSE(r.has_value());
  EXPECT_NE(r.error().message().find("flow 0"), std::string::npos);
}

// Work is conserved: the bytes of the phases are the bytes of the flow, to a rounding of the instants.
TEST(FlowRun, PhasesAddUpToTheBytes) {
  const std::vector<double> capacity(12, 12.5e9);
  for (const char* model : {"max-min", "max-min-component", "contention-free"}) {
    FlowRun run = make(capacity, model);
    Rng rng(3);
    std::vector<std::int64_t> bytes;
    for (int i = 0; i < 300; ++i) {
      const auto a = static_cast<std::uint32_t>(rng.below(6));
      const auto b = static_cast<std::uint32_t>(6 + rng.below(6));
      bytes.push_back(static_cast<std::int64_t>(rng.below(5'000'000)));
      run.add(links({a, b}), Bytes(bytes.back()), at_us(static_cast<std::int64_t>(rng.below(3000))),
              Duration(0));
    }
    ASSERT_TRUE(run.run(true).has_value());
    for (std::uint32_t f = 0; f < 300; ++f) {
      double moved = 0;
      SimTime last = kTimeZero;
      for (const FlowPhase& p : run.phases(f)) {
        EXPECT_GE(p.from, last);
        EXPECT_GT(p.to, p.from);
        last = p.to;
        moved += p.rate * to_seconds(p.to - p.from);
      }
      // Half a picosecond at full rate is 6e-3 bytes.
      EXPECT_NEAR(moved, static_cast<double>(bytes[f]), 7e-3 + 1e-9 * static_cast<double>(bytes[f]));
    }
  }
}

// F equal flows into one host: all end when the link has carried all, F x bytes / capacity.
TEST(FlowRun, IncastEndsWhenTheLastLinkHasCarriedAll) {
  const std::vector<double> capacity(33, 12.5e9);
  FlowRun run = make(capacity);
  for (std::uint32_t i = 0; i < 32; ++i) run.add(links({i, 32}), Bytes(1'000'000), kTimeZero, Duration(0));
  ASSERT_TRUE(run.run(false).has_value());
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.finish(i), SimTime(Duration(2'560'000'000)));
}

// Two flows into one host, a third that shares the sender of the first for a while. When it ends the first goes on at
// the rate that it had, but it is the receiver's link that holds it then.
TEST(FlowRun, APhaseEndsWhereAnotherLinkHoldsTheFlowAtTheSameRate) {
  const std::vector<double> capacity{12.5e9, 12.5e9, 12.5e9, 12.5e9};  // out of 0, into 1, into 2, out of 3
  FlowRun run = make(capacity);
  run.add(links({0, 1}), Bytes(10'000'000), kTimeZero, Duration(0));
  run.add(links({0, 2}), Bytes(1'000'000), kTimeZero, Duration(0));
  run.add(links({3, 1}), Bytes(10'000'000), kTimeZero, Duration(0));
  ASSERT_TRUE(run.run(true).has_value());
  ASSERT_EQ(run.phases(0).size(), 2u);
  EXPECT_EQ(run.phases(0)[0].to, at_us(160));
  EXPECT_EQ(run.phases(0)[0].bottleneck, LinkId(0));
  EXPECT_EQ(run.phases(0)[1].from, at_us(160));
  EXPECT_EQ(run.phases(0)[1].to, at_us(1600));
  EXPECT_EQ(run.phases(0)[1].bottleneck, LinkId(1));
  EXPECT_EQ(run.phases(0)[0].rate, run.phases(0)[1].rate);
  ASSERT_EQ(run.phases(2).size(), 1u);
}

// Whatever link a phase names: it is full all that time, and no flow on it is faster.
TEST(FlowRun, EveryPhaseNamesALinkThatIsFullAndOnWhichNoFlowIsFaster) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    std::vector<double> capacity;
    for (int l = 0; l < 12; ++l) capacity.push_back(1e9 * static_cast<double>(1 + rng.below(3)));
    FlowRun run = make(capacity);
    std::vector<std::vector<LinkId>> routes;
    for (int f = 0; f < 30; ++f) {
      std::vector<LinkId> route;
      for (std::uint32_t l = 0; l < 12; ++l)
        if (rng.below(4) == 0) route.emplace_back(l);
      if (route.empty()) route.emplace_back(0);
      run.add(route, Bytes(static_cast<std::int64_t>(1 + rng.below(8)) * 100'000),
              at_us(static_cast<std::int64_t>(rng.below(4)) * 100), Duration(0));
      routes.push_back(route);
    }
    ASSERT_TRUE(run.run(true).has_value());
    for (std::uint32_t f = 0; f < run.size(); ++f)
      for (const FlowPhase& p : run.phases(f)) {
        ASSERT_TRUE(p.bottleneck.valid());
        double load = 0, fastest = 0;
        const SimTime middle = p.from + (p.to - p.from) / 2;
        for (std::uint32_t g = 0; g < run.size(); ++g) {
          if (std::find(routes[g].begin(), routes[g].end(), p.bottleneck) == routes[g].end()) continue;
          for (const FlowPhase& q : run.phases(g))
            if (q.from <= middle && middle < q.to) {
              load += q.rate;
              fastest = std::max(fastest, q.rate);
            }
        }
        const double full = capacity[p.bottleneck.index()];
        EXPECT_NEAR(load, full, 1e-9 * full) << "flow " << f << " link " << p.bottleneck.index();
        EXPECT_LE(fastest, p.rate * (1 + 1e-9));
      }
  }
}

// Flows by groups: 2 TB at a six-hundredth of 100 MB/s would end beyond the clock, alone they end within it.
TEST(FlowRun, AnEndBeyondTheClockComesIntoItWhenOthersLeave) {
  std::vector<double> capacity(601, 1e9);
  capacity[0] = 1e8;
  FlowRun run = make(capacity);
  for (std::uint32_t f = 0; f < 600; ++f)
    run.add(links({f + 1, 0}),
            Bytes(f == 0   ? 2'000'000'000'000
                  : f == 1 ? 500'000
                           : 1'000'000),
            kTimeZero, Duration(1'000'000));
  ASSERT_TRUE(run.run(false).has_value());
  EXPECT_NEAR(to_seconds(run.makespan() - kTimeZero), (2e12 + 598e6 + 5e5) / 1e8 + 1e-6, 1e-6);
  EXPECT_NEAR(to_seconds(run.finish(2) - kTimeZero), (599 * 1e6 + 5e5) / 1e8 + 1e-6, 1e-6);
}

// A group of 650 flows of 2 GB has served 10^16 bytes a second of weight when one of 1,000 bytes joins it.
TEST(FlowRun, SmallFlowsLoseNothingInGroupsThatServedMuch) {
  std::vector<double> capacity(652, 1e12);
  capacity[0] = 1e11;
  FlowRun run = make(capacity);
  constexpr double kLight = 1e9;  // 1 / 1 ns
  for (std::uint32_t f = 0; f < 650; ++f)
    run.add(links({f + 1, 0}), Bytes(2'000'000'000), kTimeZero, Duration(0), 1);
  run.add(links({651, 0}), Bytes(1000), at_us(5'000'000), Duration(0), kLight);
  ASSERT_TRUE(run.run(false).has_value());
  const double took = to_seconds(run.finish(650) - at_us(5'000'000));
  EXPECT_NEAR(took, 1000 / (1e11 * kLight / (kLight + 650)), 1e-12);
}

}  // namespace
}  // namespace weft::network
