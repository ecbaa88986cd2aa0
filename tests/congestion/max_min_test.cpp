#include "congestion/max_min.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/congestion/checks.hpp"

namespace weft::congestion {
namespace {

using problems::base_seed;
using problems::Case;
using problems::certify_case;
using problems::check_incremental;
using problems::check_problem;
using problems::describe;
using problems::Flow;
using problems::kNoLimit;
using problems::kScopes;
using problems::links;
using problems::random_case;

TEST(MaxMin, EqualFlowsOnOneLinkGetEqualShares) {
  for (const auto scope : kScopes) {
    const std::vector<double> capacity{12e9};
    MaxMin m(capacity, scope);
    for (int i = 0; i < 3; ++i) (void)m.add(links({0}), 1, kNoLimit);
    EXPECT_EQ(m.solve().size(), 3u);
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_DOUBLE_EQ(m.rate(FlowId(i)), 4e9);
    EXPECT_EQ(m.bottleneck(FlowId(1)), LinkId(0));
  }
}

// Links 10, 6 and 6: alone, a has the least of its links, the first of equals, or its limit. Then b comes to link 2, to
// which a's rate is what any other's is: 3 each. Alone again, a has 6.
TEST(MaxMin, AFlowAloneHasItsNarrowestLinkUntilAnotherComes) {
  for (const auto scope : kScopes) {
    const std::vector<double> capacity{10, 6, 6};
    MaxMin m(capacity, scope);
    const FlowId limited = m.add(links({0}), 2, 4);
    EXPECT_EQ(m.solve().size(), 1u);
    EXPECT_EQ(m.rate(limited), 4);
    EXPECT_FALSE(m.bottleneck(limited).valid());
    m.remove(limited);
    (void)m.solve();
    const FlowId a = m.add(links({0, 1, 2}), 1, kNoLimit);
    EXPECT_EQ(m.solve().size(), 1u);
    EXPECT_EQ(m.rate(a), 6);
    EXPECT_EQ(m.bottleneck(a), LinkId(1));
    EXPECT_EQ(m.stats().flows_solved, 2u);
    EXPECT_EQ(m.stats().max_component, 1u);
    const FlowId b = m.add(links({2}), 1, kNoLimit);
    EXPECT_EQ(m.solve().size(), 2u);
    EXPECT_EQ(m.rate(a), 3);
    EXPECT_EQ(m.rate(b), 3);
    m.remove(b);
    EXPECT_EQ(m.solve().size(), 1u);
    EXPECT_EQ(m.rate(a), 6);
    m.remove(a);
    EXPECT_TRUE(m.solve().empty());
  }
}

// Links 10 and 6. a over both, b over the first, c over the second: c and a share 6 -> 3 each; b takes 10 - 3
// = 7.
TEST(MaxMin, AFlowHeldBackElsewhereLeavesItsShareToOthers) {
  for (const auto scope : kScopes) {
    const std::vector<double> capacity{10, 6};
    MaxMin m(capacity, scope);
    const FlowId a = m.add(links({0, 1}), 1, kNoLimit);
    const FlowId b = m.add(links({0}), 1, kNoLimit);
    (void)m.solve();
    EXPECT_DOUBLE_EQ(m.rate(a), 5);
    const FlowId c = m.add(links({1}), 1, kNoLimit);
    const auto changed = m.solve();
    EXPECT_EQ(changed.size(), 3u);
    EXPECT_DOUBLE_EQ(m.rate(a), 3);
    EXPECT_DOUBLE_EQ(m.rate(b), 7);
    EXPECT_DOUBLE_EQ(m.rate(c), 3);
    EXPECT_EQ(m.bottleneck(a), LinkId(1));
    EXPECT_EQ(m.bottleneck(b), LinkId(0));
    m.remove(c);
    (void)m.solve();
    EXPECT_DOUBLE_EQ(m.rate(a), 5);
    EXPECT_DOUBLE_EQ(m.rate(b), 5);
  }
}

// Weights 1, 2, 3 on 12 with the last capped at 3: level of the others is (12 - 3) / 3 = 3.
TEST(MaxMin, WeightsAndLimitsAreHonoured) {
  for (const auto scope : kScopes) {
    const std::vector<double> capacity{12};
    MaxMin m(capacity, scope);
    const FlowId a = m.add(links({0}), 1, kNoLimit);
    const FlowId b = m.add(links({0}), 2, kNoLimit);
    const FlowId c = m.add(links({0}), 3, 3);
    (void)m.solve();
    EXPECT_DOUBLE_EQ(m.rate(a), 3);
    EXPECT_DOUBLE_EQ(m.rate(b), 6);
    EXPECT_DOUBLE_EQ(m.rate(c), 3);
    EXPECT_FALSE(m.bottleneck(c).valid());
  }
}

// Three flows share link 2 at 100 / 3; the first leaves 1000 - 100 / 3 of link 0. Link 1 is 10^12 times as
// fast.
TEST(MaxMin, ASlowLinkKeepsItsDigitsBesideAVeryFastOne) {
  for (const auto scope : kScopes) {
    const std::vector<double> capacity{1e3, 1e15, 100};
    MaxMin m(capacity, scope);
    (void)m.add(links({0, 1, 2}), 1, kNoLimit);
    (void)m.add(links({1, 2}), 1, kNoLimit);
    (void)m.add(links({1, 2}), 1, kNoLimit);
    (void)m.solve();
    const FlowId late = m.add(links({0}), 1, kNoLimit);
    (void)m.solve();
    EXPECT_NEAR(m.rate(late), 1000 - 100.0 / 3, 1e-12 * 1000);
  }
}

// Flows over the same links, each over some of its own besides, that come at once: the local scope, which has a short cut for
// them, gives what the filling of a component does, to the last bit; if their own links are wide, by hand. Then one of them ends.
TEST(MaxMin, FlowsThatShareAllOfTheirLinksAreFilledAsAComponentIs) {
  const std::uint64_t base = base_seed(1);
  for (std::uint64_t seed = base; seed < base + 400; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const auto flows = static_cast<std::uint32_t>(2 + rng.below(5)),
               shared = 1 + static_cast<std::uint32_t>(rng.below(3));
    const bool weighted = rng.below(3) > 0, wide = rng.below(2) > 0;
    std::vector<double> capacity;
    for (std::uint32_t l = 0; l < shared; ++l)
      capacity.push_back(1e9 * static_cast<double>(1 + rng.below(4)));
    const double narrowest = *std::min_element(capacity.begin(), capacity.end());
    std::vector<std::vector<LinkId>> routes(flows);
    std::vector<double> weights(flows, 1);
    for (std::uint32_t f = 0; f < flows; ++f) {
      for (std::uint32_t l = 0; l < shared; ++l) routes[f].emplace_back(l);
      for (auto own = rng.below(3); own > 0; --own) {
        routes[f].emplace_back(static_cast<std::uint32_t>(capacity.size()));
        capacity.push_back(wide ? 1e10 : 1e9 * (0.1 + rng.unit()));
      }
      if (weighted) weights[f] = 0.1 + rng.unit();
    }
    MaxMin local(capacity, MaxMin::Scope::kLocal), component(capacity, MaxMin::Scope::kComponent);
    double sum = 0;
    for (std::uint32_t f = 0; f < flows; ++f) {
      for (MaxMin* const m : {&local, &component}) (void)m->add(routes[f], weights[f], kNoLimit);
      sum += weights[f];
    }
    const auto compare = [&](std::uint32_t from, double tolerance) {
      (void)local.solve();
      (void)component.solve();
      for (std::uint32_t f = from; f < flows; ++f) {
        EXPECT_NEAR(local.rate(FlowId(f)), component.rate(FlowId(f)), tolerance * narrowest) << f;
        EXPECT_EQ(local.bottleneck(FlowId(f)), component.bottleneck(FlowId(f))) << f;
        if (wide) {
          EXPECT_NEAR(local.rate(FlowId(f)), narrowest * weights[f] / sum, 1e-12 * narrowest) << f;
        }
      }
    };
    compare(0, 0);
    for (MaxMin* const m : {&local, &component}) m->remove(FlowId(0));
    sum -= weights[0];
    compare(1, 1e-12);
    if (HasFailure()) return;
  }
}

TEST(MaxMin, RandomProblemsAreCertifiedAndEqualTheReferenceTo1em12) {
  const std::uint64_t base = base_seed(1);
  for (std::uint64_t seed = base; seed < base + 1500; ++seed) {
    check_problem(seed, 200);
    if (HasFailure()) return;
  }
}

TEST(MaxMin, IncrementalEqualsFromScratch) {
  const std::uint64_t base = base_seed(1);
  for (std::uint64_t seed = base; seed < base + 150; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed * 77);
    check_incremental(seed, 80, static_cast<std::uint32_t>(2 + rng.below(60)));
    if (HasFailure()) return;
  }
}

// Many flows on few links: nearly all are one component and the end of one reaches far. After every end all are checked,
// with and without links left out that have room to spare, which changes no rate.
TEST(MaxMin, OneLargeComponentIsCertifiedAfterEveryEnd) {
  const std::uint64_t base = base_seed(1);
  for (std::uint64_t seed = base; seed < base + 24; ++seed) {
    Rng rng(seed);
    const problems::RouteMaker maker(problems::kShapes[seed % 4], rng);
    const problems::CaseOptions o{
        .equal_capacity = seed % 3 != 0, .weighted = seed % 5 == 0, .limits = seed % 7 == 0};
    Case c;
    c.capacity = problems::random_capacity(maker.links(), o, rng);
    for (std::uint32_t i = 0; i < 2 * maker.links(); ++i)
      c.flows.push_back(problems::random_flow(maker, o, rng));
    SCOPED_TRACE(describe(seed, c));
    MaxMin plain(c.capacity, MaxMin::Scope::kLocal, ~std::size_t{0});
    MaxMin lean(c.capacity, MaxMin::Scope::kLocal, 0);
    std::vector<FlowId> id;
    for (const Flow& f : c.flows) {
      id.push_back(plain.add(f.route, f.weight, f.limit));
      ASSERT_EQ(lean.add(f.route, f.weight, f.limit), id.back());
    }
    for (std::uint32_t end = 0; end < 100 && !c.flows.empty(); ++end) {
      (void)plain.solve();
      (void)lean.solve();
      std::vector<double> rate;
      for (const FlowId f : id) {
        rate.push_back(lean.rate(f));
        ASSERT_NEAR(plain.rate(f), rate.back(), 1e-12 * rate.back()) << "after end " << end;
      }
      ASSERT_EQ(certify_case(c, rate).value_or(""), "") << "after end " << end;
      const std::uint64_t k = rng.below(id.size());
      plain.remove(id[k]);
      lean.remove(id[k]);
      if (rng.below(3) == 0) {  // another takes its place
        c.flows[k] = problems::random_flow(maker, o, rng);
        id[k] = plain.add(c.flows[k].route, c.flows[k].weight, c.flows[k].limit);
        ASSERT_EQ(lean.add(c.flows[k].route, c.flows[k].weight, c.flows[k].limit), id[k]);
        continue;
      }
      c.flows.erase(c.flows.begin() + static_cast<std::ptrdiff_t>(k));
      id.erase(id.begin() + static_cast<std::ptrdiff_t>(k));
    }
  }
}

TEST(MaxMin, ScalingCapacitiesByAPowerOfTwoScalesRatesExactly) {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    Case c = random_case(seed, 100);
    for (Flow& f : c.flows) f.limit = f.route.empty() ? 1e9 : kNoLimit;
    std::vector<double> scaled = c.capacity;
    for (double& x : scaled) x *= 8;
    for (const auto scope : kScopes) {
      MaxMin a(c.capacity, scope);
      MaxMin b(scaled, scope);
      for (const Flow& f : c.flows) {
        (void)a.add(f.route, f.weight, f.limit);
        (void)b.add(f.route, f.weight, f.limit);
      }
      (void)a.solve();
      (void)b.solve();
      for (std::uint32_t i = 0; i < c.flows.size(); ++i) {
        if (c.flows[i].route.empty()) continue;
        ASSERT_EQ(a.rate(FlowId(i)) * 8, b.rate(FlowId(i))) << describe(seed, c);
      }
    }
  }
}

TEST(Certificate, RejectsASolutionWithOneRateCutBy3Percent) {
  const std::uint64_t base = base_seed(1);
  for (std::uint64_t seed = base; seed < base + 1000; ++seed) {
    const Case c = random_case(seed, 100);
    MaxMin m(c.capacity, MaxMin::Scope::kLocal);
    for (const Flow& f : c.flows) (void)m.add(f.route, f.weight, f.limit);
    (void)m.solve();
    std::vector<double> rate;
    for (std::uint32_t i = 0; i < c.flows.size(); ++i) rate.push_back(m.rate(FlowId(i)));
    EXPECT_EQ(certify_case(c, rate).value_or(""), "") << describe(seed, c);
    Rng rng(seed);
    rate[rng.below(rate.size())] *= 0.97;
    EXPECT_NE(certify_case(c, rate).value_or(""), "") << describe(seed, c);
    if (HasFailure()) return;
  }
}

TEST(Certificate, RejectsALinkAboveItsCapacity) {
  const Case c{{10}, {{links({0})}, {links({0})}}};
  EXPECT_FALSE(certify_case(c, {5, 5}).has_value());
  const auto violation = certify_case(c, {5.1, 5});
  ASSERT_TRUE(violation.has_value());
  EXPECT_NE(violation->find("link 0 carries 10.1"), std::string::npos) << *violation;
}

}  // namespace
}  // namespace weft::congestion
