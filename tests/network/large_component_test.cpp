// Runs whose flows are nearly all one component, to the end, against the solver that takes every component anew; and
// what they cost in work, which no clock and no load on the machine changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "congestion/max_min.hpp"
#include "core/rng.hpp"
#include "network/flow_run.hpp"
#include "tests/congestion/cases.hpp"
#include "topology/platform/platform.hpp"
#include "topology/routing/route_cache.hpp"

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
    FlowRun local = make("max-min", capacity), bundled = make("max-min", capacity);
    FlowRun component = make("max-min-component", capacity);
    for (int i = 0; i < 1200; ++i) {
      const auto route = maker.route(rng);
      const Bytes bytes(static_cast<std::int64_t>(1'000'000 + rng.below(15'000'000)));
      const SimTime start(
          Duration(static_cast<std::int64_t>(rng.below(4) == 0 ? rng.below(1'000'000'000) : 0)));
      local.add(route, bytes, start, Duration(0));
      bundled.add(route, bytes, start, Duration(0));
      component.add(route, bytes, start, Duration(0));
    }
    // With phases no flows go as a bundle.
    const auto l = local.run(true), c = component.run(true), b = bundled.run(false);
    ASSERT_EQ(l.has_value(), c.has_value());
    ASSERT_EQ(b.has_value(), c.has_value());
    if (!c) continue;  // a link drawn so slow that time ends before its last flow
    for (std::uint32_t f = 0; f < local.size(); ++f) {
      // To a picosecond, or, of days, to some units of the last place of a rate.
      const std::int64_t most = 1 + (component.finish(f) - kTimeZero).count() / 250'000'000'000'000;
      ASSERT_LE(std::abs((local.finish(f) - component.finish(f)).count()), most) << "flow " << f;
      ASSERT_LE(std::abs((bundled.finish(f) - component.finish(f)).count()), most) << "flow " << f;
    }
    // The first solve has them all, so links were left out (MaxMin::kLargeSolve).
    EXPECT_GE(local.stats().max_component, 600u);
  }
}

// Random flows in a Network of its own model, to the end: when each ended, and what its links lost.
struct Ends {
  std::vector<SimTime> end;
  double waited = 0;
  double overhead = 0;  // of all flows together: time under way less the time alone
  congestion::SolveStats work;
};
struct Load {
  std::vector<LinkId> route;
  double weight = 1, limit = std::numeric_limits<double>::infinity();
  std::int64_t bytes = 0;
  Instant start;
};
Ends ends_of(const std::vector<double>& capacity, std::unique_ptr<congestion::SharingModel> model,
             const std::vector<Load>& load) {
  Network net(capacity, std::move(model));
  Ends out;
  out.end.resize(load.size());
  std::uint64_t sequence = 0;
  std::size_t next = 0;
  Instant now;
  const auto alone = [&](const Load& l) { return std::min(net.narrowest(l.route), l.limit); };
  while (next < load.size() || !net.idle() || net.dirty()) {
    if (next < load.size() && load[next].start == now) {
      const Load& l = load[next];
      net.start(l.route, l.weight, l.limit, alone(l), l.bytes, static_cast<std::uint32_t>(next++), now,
                sequence);
    } else if (!net.idle() && net.next_completion().time == now) {
      const std::uint32_t expected = net.next_owner();
      const std::uint32_t f = net.finish_top(now);
      EXPECT_EQ(f, expected);
      out.end[f] = now.rounded();
      out.overhead += (now - load[f].start).seconds() - static_cast<double>(load[f].bytes) / alone(load[f]);
    } else if (net.dirty()) {
      net.settle(now, sequence);
    } else {
      now = net.idle() || (next < load.size() && load[next].start < net.next_completion().time)
                ? load[next].start
                : net.next_completion().time;
    }
  }
  for (const LinkUse& l : net.link_use(now)) out.waited += to_seconds(l.waited);
  out.work = net.solver_stats();
  return out;
}

// Weights, limits, bundles (many flows of a few routes), starts between ends; by groups from the first flow on, by groups
// that are often filled from scratch, by groups until the model gives them up, and every component anew.
TEST(LargeComponent, AccountsByGroupEndEveryFlowAndBookEveryWaitAsAccountsByFlowDo) {
  using congestion::MaxMin;
  const std::uint64_t base = problems::base_seed(1);
  for (std::uint64_t seed = base; seed < base + 16; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const problems::RouteMaker maker(problems::kShapes[seed % 4], rng);
    const problems::CaseOptions options{
        .equal_capacity = seed % 3 != 0, .weighted = seed % 4 == 1, .limits = seed % 4 == 2};
    const auto capacity = problems::random_capacity(maker.links(), options, rng);
    std::vector<Load> load;
    const auto few = maker.route(rng);
    for (int i = 0; i < 700; ++i) {
      const problems::Flow f = problems::random_flow(maker, options, rng);
      Load l;
      // A third of the flows crowd one route, so that some of them become a bundle.
      const bool crowd = seed % 2 == 0 && rng.below(3) == 0;
      l.route = crowd || f.route.empty() ? few : f.route;
      if (!crowd) l.weight = f.weight, l.limit = f.limit;
      l.bytes = static_cast<std::int64_t>(1'000'000 + rng.below(15'000'000));
      if (rng.below(3) == 0)
        l.start = Instant() + Elapsed(Duration(static_cast<std::int64_t>(rng.below(3'000'000'000))));
      load.push_back(l);
    }
    std::ranges::stable_sort(load, {}, &Load::start);
    const Ends want = ends_of(capacity, std::make_unique<MaxMin>(capacity, MaxMin::Scope::kComponent), load);
    for (const std::uint64_t most_visits : {0, 40, 1}) {
      const Ends got =
          ends_of(capacity, std::make_unique<MaxMin>(capacity, MaxMin::Scope::kLocal, 0, most_visits), load);
      for (std::size_t f = 0; f < load.size(); ++f)
        ASSERT_LE(std::abs((got.end[f] - want.end[f]).count()),
                  2 + (want.end[f] - kTimeZero).count() / 1'000'000'000'000'000)
            << "flow " << f << ", at most " << most_visits << " visits";
      EXPECT_NEAR(got.overhead, want.overhead, 1e-9 * want.overhead);
      if (seed % 4 == 2) continue;  // what a flow loses to its own limit is no link's
      EXPECT_NEAR(got.waited, got.overhead, 1e-6 * got.overhead);
    }
  }
}

// With an accuracy every end is near the exact one, for less work; how near is measured, not proved (docs/performance.md).
TEST(LargeComponent, AccuracyKeepsEndsNearForLessWork) {
  auto fabric = topology::load_platform("xgft:h=2,m=16x16,w=1x16");
  ASSERT_TRUE(fabric);
  std::vector<SimTime> exact_end;
  std::uint64_t exact_work = 0;
  for (const double accuracy : {0.0, 1e-4, 1e-2}) {
    auto run = FlowRun::create("max-min", fabric->fabric, accuracy);
    ASSERT_TRUE(run);
    topology::RouteCache routes(fabric->fabric);
    Rng rng(7);
    for (int i = 0; i < 3000; ++i) {
      const auto s = static_cast<std::uint32_t>(rng.below(256));
      const auto d = static_cast<std::uint32_t>((s + 1 + rng.below(255)) % 256);
      const auto route = routes.find(HostId(s), HostId(d));
      run->add(route.links, Bytes(static_cast<std::int64_t>(1'000'000 + rng.below(9'000'001))), kTimeZero,
               route.latency);
    }
    ASSERT_TRUE(run->run(false));
    if (accuracy == 0) {
      for (std::uint32_t f = 0; f < run->size(); ++f) exact_end.push_back(run->finish(f));
      exact_work = run->stats().flows_solved;
      continue;
    }
    EXPECT_LT(run->stats().flows_solved, exact_work);
    double worst = 0, mean = 0;
    for (std::uint32_t f = 0; f < run->size(); ++f) {
      const double off = std::abs(static_cast<double>((run->finish(f) - exact_end[f]).count())) /
                         static_cast<double>((exact_end[f] - kTimeZero).count());
      worst = std::max(worst, off);
      mean += off / run->size();
    }
    EXPECT_GT(worst, 0) << "nothing was left out";
    EXPECT_LT(worst, 2 * accuracy);
    EXPECT_LT(mean, accuracy / 4);
  }
  EXPECT_EQ(FlowRun::create("max-min-component", fabric->fabric, 1e-4).error().code,
            ErrorCode::kNotSupported);
}

// 3,000 random flows at once on a fat-tree of 16 leaves with 16 hosts and 16 spines: about 12 on each host's cable.
constexpr std::uint32_t kHosts = 256;
std::vector<Load> fat_tree_load() {
  std::vector<Load> load(3000);
  Rng rng(1);
  for (Load& l : load) {
    const auto s = static_cast<std::uint32_t>(rng.below(kHosts));
    const auto d = static_cast<std::uint32_t>((s + 1 + rng.below(kHosts - 1)) % kHosts);
    l.route.emplace_back(s);
    if (s / 16 != d / 16) {
      l.route.emplace_back(2 * kHosts + s / 16 * 16 + d % 16);
      l.route.emplace_back(3 * kHosts + d / 16 * 16 + d % 16);
    }
    l.route.emplace_back(kHosts + d);
    l.bytes = static_cast<std::int64_t>(1'000'000 + rng.below(9'000'001));
  }
  return load;
}

TEST(LargeComponent, WorkOfARunIsWhatItWas) {
  const std::vector<double> capacity(4 * kHosts, 12.5e9);
  FlowRun run = make("max-min", capacity);
  for (const Load& l : fat_tree_load()) run.add(l.route, Bytes(l.bytes), kTimeZero, Duration(0));
  ASSERT_TRUE(run.run(false).has_value());
  EXPECT_EQ(run.stats().solves, 2606u);
  EXPECT_EQ(run.stats().flows_solved, 308'293u);
  EXPECT_EQ(run.stats().links_touched, 92'775u);
}

// A solve that is given up costs a filling from scratch, and what it had visited, not groups for the rest of the run:
// without them it visits 368,973 links.
TEST(LargeComponent, WorkAfterASolveWasGivenUpIsThatOfGroups) {
  const std::vector<double> capacity(4 * kHosts, 12.5e9);
  const std::vector<Load> load = fat_tree_load();
  const auto run = [&](std::uint64_t most_visits) {
    using congestion::MaxMin;
    return ends_of(
        capacity, std::make_unique<MaxMin>(capacity, MaxMin::Scope::kLocal, MaxMin::kLargeSolve, most_visits),
        load);
  };
  const Ends free = run(0), given_up = run(300);
  EXPECT_EQ(free.work.links_touched, 92'775u);
  EXPECT_EQ(given_up.work.solves, 2606u);
  EXPECT_EQ(given_up.work.flows_solved, 353'538u);
  EXPECT_EQ(given_up.work.links_touched, 109'710u);
  for (std::size_t f = 0; f < load.size(); ++f)
    ASSERT_LE(std::abs((given_up.end[f] - free.end[f]).count()), 1) << "flow " << f;
}

}  // namespace
}  // namespace weft::network
