// Runs whose flows are nearly all one component, to the end, against the solver that takes every component anew; and
// what they cost in work, which no clock and no load on the machine changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/rng.hpp"
#include "network/flow_run.hpp"
#include "tests/congestion/cases.hpp"

namespace weft::network {
namespace {

namespace problems = congestion::problems;

FlowRun make(std::string_view model, const std::vector<double>& capacity) {
  auto run = FlowRun::create(model, capacity);
  EXPECT_TRUE(run.has_value());
  return std::move(run).value();
}

TEST(LargeComponent, EveryFlowEndsWhenTheComponentSolverSaysToAPicosecond) {
  const std::uint64_t base = problems::base_seed(1);
  for (std::uint64_t seed = base; seed < base + 8; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const problems::RouteMaker maker(problems::kShapes[seed % 4], rng);
    const problems::CaseOptions options{.equal_capacity = seed % 3 != 0};
    const auto capacity = problems::random_capacity(maker.links(), options, rng);
    FlowRun local = make("max-min", capacity);
    FlowRun component = make("max-min-component", capacity);
    for (int i = 0; i < 1200; ++i) {
      const auto route = maker.route(rng);
      const Bytes bytes(static_cast<std::int64_t>(1'000'000 + rng.below(15'000'000)));
      const SimTime start(
          Duration(static_cast<std::int64_t>(rng.below(4) == 0 ? rng.below(1'000'000'000) : 0)));
      local.add(route, bytes, start, Duration(0));
      component.add(route, bytes, start, Duration(0));
    }
    ASSERT_TRUE(local.run(false).has_value());
    ASSERT_TRUE(component.run(false).has_value());
    for (std::uint32_t f = 0; f < local.size(); ++f)
      ASSERT_LE(std::abs((local.finish(f) - component.finish(f)).count()), 1) << "flow " << f;
    // The first solve has them all, so links were left out (MaxMin::kLargeSolve).
    EXPECT_GE(local.stats().max_component, 600u);
  }
}

// 3,000 random flows at once on a fat-tree of 16 leaves with 16 hosts and 16 spines: about 12 on each host's cable.
TEST(LargeComponent, WorkOfARunIsWhatItWas) {
  constexpr std::uint32_t kHosts = 256;
  const std::vector<double> capacity(4 * kHosts, 12.5e9);
  FlowRun run = make("max-min", capacity);
  Rng rng(1);
  for (int i = 0; i < 3000; ++i) {
    const auto s = static_cast<std::uint32_t>(rng.below(kHosts));
    const auto d = static_cast<std::uint32_t>((s + 1 + rng.below(kHosts - 1)) % kHosts);
    std::vector<LinkId> route{LinkId(s)};
    if (s / 16 != d / 16) {
      route.emplace_back(2 * kHosts + s / 16 * 16 + d % 16);
      route.emplace_back(3 * kHosts + d / 16 * 16 + d % 16);
    }
    route.emplace_back(kHosts + d);
    run.add(route, Bytes(static_cast<std::int64_t>(1'000'000 + rng.below(9'000'001))), kTimeZero,
            Duration(0));
  }
  ASSERT_TRUE(run.run(false).has_value());
  EXPECT_EQ(run.stats().solves, 2606u);
  EXPECT_EQ(run.stats().flows_solved, 306'431u);
  EXPECT_EQ(run.stats().links_touched, 201'119u);
}

}  // namespace
}  // namespace weft::network
