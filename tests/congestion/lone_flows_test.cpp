// Flows that have their links to themselves (MaxMin::rate_lone_flows()): same rates, whoever comes and goes.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/congestion/checks.hpp"
#include "tests/congestion/life.hpp"

namespace weft::congestion {
namespace {

using problems::base_seed;
using problems::certify_case;
using problems::describe;
using problems::kNoLimit;
using problems::links;

// By hand: a alone over links of 6 and 4 goes at 4, held by the second; b comes onto it and both get 2; with b gone a has 4 again.
TEST(LoneFlows, ASecondFlowEndsIt) {
  const std::vector<double> capacity{6, 4, 100};
  MaxMin model(capacity, MaxMin::Scope::kLocal);
  model.rate_lone_flows();
  const FlowId a = model.add(links({0, 1}), 1, kNoLimit);
  EXPECT_TRUE(model.lone(a));
  EXPECT_EQ(model.rate(a), 4);
  EXPECT_EQ(model.bottleneck(a), LinkId(1));
  EXPECT_EQ(model.flows_on(LinkId(0)), 1u);
  EXPECT_FALSE(model.to_solve());
  EXPECT_EQ(model.stats().solves, 0u);

  const FlowId b = model.add(links({1, 2}), 1, kNoLimit);
  EXPECT_FALSE(model.lone(a));
  EXPECT_FALSE(model.lone(b));
  EXPECT_EQ(model.solve().size(), 2u);
  EXPECT_EQ(model.rate(a), 2);
  EXPECT_EQ(model.rate(b), 2);
  model.remove(b);
  EXPECT_EQ(model.solve().size(), 1u);
  EXPECT_EQ(model.rate(a), 4);
  model.remove(a);
  EXPECT_EQ(model.flows_on(LinkId(1)), 0u);

  const FlowId slow = model.add(links({0, 1}), 1, 3);
  EXPECT_TRUE(model.lone(slow));
  EXPECT_EQ(model.rate(slow), 3);
  EXPECT_FALSE(model.bottleneck(slow).valid());  // its own limit
  model.remove(slow);
  EXPECT_EQ(model.flows_on(LinkId(0)), 0u);
}

// Few flows on many links: they meet and part all the time. Seeds with large_solve 2 come to keep rates by groups, too.
TEST(LoneFlows, EveryStateOfARunIsCertifiedAndEqualsTheReferenceTo1em12) {
  const std::uint64_t base = base_seed(1);
  std::uint64_t lone = 0, met = 0, grouped = 0;
  for (std::uint64_t seed = base; seed < base + 120; ++seed) {
    problems::Life life(seed, 0, MaxMin::Scope::kLocal, seed % 2 == 0 ? 2 : MaxMin::kLargeSolve);
    MaxMin& model = life.model();
    model.rate_lone_flows();
    const std::uint64_t crowd = 1 + life.links() / (1 + seed % 8);
    SCOPED_TRACE(describe(seed, life.load()));
    for (int step = 0; step < 120; ++step) {
      for (std::uint64_t ends = life.rng().below(3); ends > 0 && !life.ids().empty(); --ends) life.end();
      for (std::uint64_t starts = life.rng().below(3); starts > 0 && life.ids().size() < crowd; --starts) {
        life.start();
        lone += model.lone(life.ids().back());
      }
      (void)model.solve();
      const std::vector<problems::Flow>& flows = life.load().flows;
      ASSERT_EQ(certify_case(life.load(), life.rates()).value_or(""), "") << "step " << step;
      problems::expect_rates(model, life.ids(), problems::reference_rates(life.load()), 1e-12);
      for (std::size_t i = 0; i < flows.size(); ++i) {
        ASSERT_TRUE(std::ranges::equal(model.route(life.ids()[i]), flows[i].route));
        for (const LinkId l : flows[i].route)
          ASSERT_EQ(model.flows_on(l), std::ranges::count_if(flows, [&](const problems::Flow& f) {
                      return std::ranges::find(f.route, l) != f.route.end();
                    }));
        met += !model.lone(life.ids()[i]);
      }
      if (HasFailure()) return;
    }
    model.report_groups(true);
    grouped += model.groups() != nullptr;
  }
  EXPECT_GT(lone, 1000u);
  EXPECT_GT(met, 1000u);
  EXPECT_GT(grouped, 10u);
}

}  // namespace
}  // namespace weft::congestion
