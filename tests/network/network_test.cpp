// Flows that crowd one route go as a bundle (network/bundles.hpp): nobody outside may see it.
#include "network/network.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace weft::network {
namespace {

Network max_min(const std::vector<double>& capacity) {
  auto model = congestion::make_sharing_model("max-min", capacity);
  EXPECT_TRUE(model);
  return {capacity, std::move(*model)};
}

// 200 equal flows of one route, started together: all end at once, in the order in which they were started, each counted.
TEST(Network, FlowsOfABundleEndInTheOrderOfTheirStart) {
  constexpr std::uint32_t kFlows = 200;
  static_assert(kFlows > Bundles::kCrowded + 50);
  const std::vector<double> capacity{1e9};
  const LinkId route[] = {LinkId(0)};
  Network net = max_min(capacity);
  const Instant start;
  std::uint64_t sequence = 0;
  for (std::uint32_t i = 0; i < kFlows; ++i)
    net.start(route, 1, std::numeric_limits<double>::infinity(), 1e9, 1'000'000, i, start, sequence);
  EXPECT_EQ(net.flows_started(), kFlows);
  std::vector<std::uint32_t> bundled;  // owners of the flows beyond those that came before the crowd
  net.settle(start, sequence);
  unsigned instants = 0;
  while (!net.idle()) {
    const Instant now = net.next_completion().time;
    EXPECT_EQ(now.rounded(), SimTime(Duration(200'000'000'000)));  // 200 MB over 1 GB/s
    while (!net.idle() && net.next_completion().time == now) {
      const std::uint32_t owner = net.finish_top(now);
      if (owner >= Bundles::kCrowdedLink) bundled.push_back(owner);
    }
    if (net.dirty()) net.settle(now, sequence);
    ++instants;
  }
  EXPECT_EQ(instants, 1u);  // all members that end now do so before the network is solved again
  std::vector<std::uint32_t> in_order;
  for (std::uint32_t i = Bundles::kCrowdedLink; i < kFlows; ++i) in_order.push_back(i);
  EXPECT_EQ(bundled, in_order);
}

// Flows of one kind over one link, each started after the one before: a start or an end is one flow's work for the solver, not that
// of all who share; and each ends when the capacity shared out by hand says.
TEST(Network, FlowsOfOneKindCostTheSolverOne) {
  constexpr std::uint32_t kFlows = 40;
  const std::vector<double> capacity{1e9};
  const LinkId route[] = {LinkId(0)};
  Network net = max_min(capacity);
  const auto at_ms = [](std::int64_t ms) { return Instant() + Elapsed(Duration(ms * 1'000'000'000)); };
  std::uint64_t sequence = 0;
  // One a millisecond, 100 MB each, at most 100 MB/s: ten of them fill the link, from then on n get 1 / n of it each.
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    net.start(route, 1, 1e8, 1e8, 100'000'000, i, at_ms(i), sequence);
    if (net.dirty()) net.settle(at_ms(i), sequence);
  }
  // Bytes that the first has at 40 ms: 10 ms alone, then 1 ms of each share; the others one such step less each.
  std::vector<double> left(kFlows, 1e8);
  for (std::uint32_t t = 0; t + 1 < kFlows; ++t)
    for (std::uint32_t i = 0; i <= t; ++i) left[i] -= std::min(1e8, 1e9 / (t + 1)) * 1e-3;
  double now = 1e-3 * (kFlows - 1), served = 0;
  for (std::uint32_t i = 0; i < kFlows; ++i) {
    now += (left[i] - served) / std::min(1e8, 1e9 / (kFlows - i));
    served = left[i];
    const Instant end = net.next_completion().time;
    EXPECT_NEAR(end.since_start().seconds(), now, 1e-9) << i;
    EXPECT_EQ(net.finish_top(end), i);
    if (net.dirty()) net.settle(end, sequence);
  }
  EXPECT_TRUE(net.idle());
  EXPECT_LE(net.solver_stats().flows_solved, 8 * kFlows);  // 1,510 if each start and end moved all
}

// Link 0 shared by three lets each have 4 GB/s; then the first flow is alone and goes as fast as it can, which is its own limit of
// 5 GB/s, or link 1. What it lost it lost on link 0, so that is the link that held it back last.
TEST(Network, AFlowThatEndsUnheldTellsTheLinkThatHeldItLast) {
  for (const bool limited : {true, false}) {
    const std::vector<double> capacity{12e9, limited ? 12e9 : 5e9};
    const LinkId both[] = {LinkId(0), LinkId(1)}, shared[] = {LinkId(0)};
    Network net = max_min(capacity);
    const double none = std::numeric_limits<double>::infinity();
    Instant now;
    std::uint64_t sequence = 0;
    net.start(both, 1, limited ? 5e9 : none, 5e9, 9'000'000'000, 0, now, sequence);
    for (const std::uint32_t i : {1u, 2u}) net.start(shared, 1, none, 12e9, 4'000'000'000, i, now, sequence);
    std::vector<double> ends;
    while (!net.idle()) {
      if (net.dirty()) net.settle(now, sequence);
      now = net.next_completion().time;
      net.finish_top(now);
      ends.push_back(now.since_start().seconds());
      EXPECT_EQ(net.last_held_by(), LinkId(0)) << limited;
    }
    EXPECT_EQ(ends, (std::vector<double>{1, 1, 2}));
    const auto use = net.link_use(now);
    // 1 s at 4 instead of 5 GB/s, and twice 1 s at 4 of 12: 1/5 + 2 * 2/3 s.
    EXPECT_EQ(use[0].waited, Duration(1'533'333'333'333)) << limited;
    EXPECT_EQ(use[1].waited, Duration(0));
  }
}

// A sum over flows goes beyond the longest time that a replay may take, 9.2 million seconds.
TEST(Network, WhatFlowsLostAtALinkIsNotCutOff) {
  const std::vector<double> capacity{1};
  Network net = max_min(capacity);
  std::uint64_t sequence = 0;
  const LinkId link(0);
  for (std::uint32_t f = 0; f < 4; ++f)
    net.start(std::span(&link, 1), 1, std::numeric_limits<double>::infinity(), 1, 2'000'000, f, Instant(),
              sequence);
  Instant now;
  while (!net.idle()) {
    if (net.dirty()) net.settle(now, sequence);
    now = net.next_completion().time;
    net.finish_top(now);
  }
  EXPECT_EQ(now.since_start().seconds(), 8e6);
  EXPECT_EQ(to_seconds(net.link_use(now)[0].waited), 4 * 6e6);
}

// The same among so many that rates are kept by groups of flows: 800 more wait for link 3 all the time.
TEST(Network, AFlowThatEndsUnheldAmongManyTellsTheLinkThatHeldItLast) {
  constexpr std::uint32_t kShort = 599, kLong = 800;
  for (const bool limited : {true, false}) {
    const std::vector<double> capacity{600, limited ? 600.0 : 100.0, 1e6, kLong};
    const LinkId first[] = {LinkId(0), LinkId(1), LinkId(2)}, shared[] = {LinkId(0)};
    const LinkId others[] = {LinkId(2), LinkId(3)};
    Network net = max_min(capacity);
    const double none = std::numeric_limits<double>::infinity();
    Instant now;
    std::uint64_t sequence = 0;
    // At 1 byte a second for 10 s, then at 100 for 10 s; the short ones 10 bytes, the long ones 1 a second for good.
    net.start(first, 1, limited ? 100 : none, 100, 1010, 0, now, sequence);
    for (std::uint32_t i = 1; i <= kShort; ++i) net.start(shared, 1, 700 + i, 600, 10, i, now, sequence);
    for (std::uint32_t i = 1; i <= kLong; ++i)
      net.start(others, 1, 900 + i, 800, 1000, kShort + i, now, sequence);
    for (std::uint32_t i = 0; i <= kShort; ++i) {
      if (net.dirty()) net.settle(now, sequence);
      now = net.next_completion().time;
      const std::uint32_t owner = net.finish_top(now);
      EXPECT_EQ(net.last_held_by(), LinkId(0)) << limited;
      if (i == kShort) {
        EXPECT_EQ(owner, 0u);
        EXPECT_NEAR(now.since_start().seconds(), 20, 1e-6);
      }
    }
  }
}

// A link that still carries a flow when the run ends was busy until then.
TEST(Network, ALinkIsBusyWhileItsFlowIsUnderWay) {
  const std::vector<double> capacity{1e9, 1e9};
  const LinkId route[] = {LinkId(0)};
  Network net = max_min(capacity);
  const Instant start = Instant() + Elapsed(Duration(3'000'000));
  std::uint64_t sequence = 0;
  net.start(route, 1, std::numeric_limits<double>::infinity(), 1e9, 1'000'000, 0, start, sequence);
  EXPECT_FALSE(net.dirty());  // it has its link to itself: its end is known
  EXPECT_EQ(net.next_time(), start + Elapsed(Duration(1'000'000'000)));
  const auto use = net.link_use(start + Elapsed(Duration(5'000'000)));
  EXPECT_EQ(use[0].busy, Duration(5'000'000));
  EXPECT_EQ(use[0].bytes, 1'000'000u);
  EXPECT_EQ(use[0].peak_flows, 1u);
  EXPECT_EQ(use[1].busy, Duration(0));
}

}  // namespace
}  // namespace weft::network
