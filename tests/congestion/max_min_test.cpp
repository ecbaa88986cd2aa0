#include "congestion/max_min.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "congestion/certificate.hpp"
#include "tests/congestion/cases.hpp"

namespace weft::congestion {
namespace {

using testing::base_seed;
using testing::Case;
using testing::describe;
using testing::Flow;
using testing::random_case;
using testing::reference_rates;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr MaxMin::Scope kScopes[] = {MaxMin::Scope::kLocal, MaxMin::Scope::kComponent};

std::vector<LinkId> links(std::initializer_list<std::uint32_t> ids) {
  std::vector<LinkId> r;
  for (const auto i : ids) r.emplace_back(i);
  return r;
}

// The certificate over a whole problem, with rates given from outside.
std::optional<std::string> certify_case(const Case& c, const std::vector<double>& rate) {
  FlowTable table(static_cast<std::uint32_t>(c.capacity.size()));
  std::vector<std::uint32_t> all;
  for (const Flow& f : c.flows) all.push_back(table.add(f.route, f.weight, f.limit));
  return certify(table, c.capacity, rate, all);
}

void expect_rates(const MaxMin& model, const std::vector<FlowId>& ids, const Case& c, double tolerance) {
  const auto want = reference_rates(c);
  double worst = 0;
  for (std::size_t i = 0; i < ids.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>((model.rate(ids[i]) - want[i]) / want[i])));
  EXPECT_LE(worst, tolerance);
}

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

TEST(MaxMin, RandomProblemsAreCertifiedAndEqualTheReferenceTo1em12) {
  const std::uint64_t base = base_seed(1);
  for (std::uint64_t seed = base; seed < base + 1500; ++seed) {
    const Case c = random_case(seed, 200);
    for (const auto scope : kScopes) {
      SCOPED_TRACE(describe(seed, c));
      MaxMin m(c.capacity, scope);
      std::vector<FlowId> ids;
      for (const Flow& f : c.flows) ids.push_back(m.add(f.route, f.weight, f.limit));
      EXPECT_EQ(m.solve().size(), ids.size());
      std::vector<double> rate;
      for (const FlowId id : ids) rate.push_back(m.rate(id));
      EXPECT_EQ(certify_case(c, rate).value_or(""), "");
      expect_rates(m, ids, c, 1e-12);
    }
    if (HasFailure()) return;
  }
}

// Adds and removes at random with a solve after each few, and compares with a model that saw only the
// survivors.
void check_incremental(std::uint64_t seed, std::uint32_t operations, std::uint32_t peak) {
  Rng rng(seed);
  const testing::RouteMaker maker(testing::kShapes[rng.below(4)], rng);
  const auto options = testing::random_options(rng);
  const auto capacity = testing::random_capacity(maker.links(), options, rng);
  MaxMin local(capacity, MaxMin::Scope::kLocal);
  MaxMin component(capacity, MaxMin::Scope::kComponent);
  std::vector<Flow> flow_of;  // by id
  std::vector<bool> alive;
  std::vector<double> local_rate;  // as told by solve()
  std::uint32_t active = 0;
  for (std::uint32_t step = 0; step < operations; ++step) {
    const std::uint64_t burst = 1 + (rng.below(4) == 0 ? rng.below(8) : 0);
    for (std::uint64_t b = 0; b < burst; ++b) {
      if (active > 0 && (active >= peak || rng.below(2) == 0)) {
        std::uint64_t k = rng.below(active);
        std::uint32_t id = 0;
        while (!alive[id] || k-- > 0) ++id;
        local.remove(FlowId(id));
        component.remove(FlowId(id));
        alive[id] = false;
        --active;
      } else {
        const Flow f = testing::random_flow(maker, options, rng);
        const FlowId id = local.add(f.route, f.weight, f.limit);
        ASSERT_EQ(id, component.add(f.route, f.weight, f.limit));
        if (id.index() == flow_of.size()) {
          flow_of.emplace_back();
          alive.push_back(false);
          local_rate.push_back(0);
        }
        ASSERT_FALSE(alive[id.index()]);
        flow_of[id.index()] = f;
        alive[id.index()] = true;
        local_rate[id.index()] = 0;
        ++active;
      }
    }
    const auto changed = local.solve();
    ASSERT_TRUE(std::is_sorted(changed.begin(), changed.end()));
    ASSERT_TRUE(std::adjacent_find(changed.begin(), changed.end()) == changed.end());
    for (const FlowId id : changed) {
      ASSERT_TRUE(alive[id.index()]);
      local_rate[id.index()] = local.rate(id);
    }
    (void)component.solve();

    MaxMin scratch(capacity, MaxMin::Scope::kComponent);
    std::vector<FlowId> here, there;
    Case survivors{capacity, {}};
    for (std::uint32_t id = 0; id < alive.size(); ++id) {
      if (!alive[id]) continue;
      const Flow& f = flow_of[id];
      here.emplace_back(id);
      there.push_back(scratch.add(f.route, f.weight, f.limit));
      survivors.flows.push_back(f);
    }
    (void)scratch.solve();
    double worst = 0;
    for (std::size_t i = 0; i < here.size(); ++i) {
      const double want = scratch.rate(there[i]);
      ASSERT_EQ(component.rate(here[i]), want)
          << "not bit for bit at step " << step << ", flow " << here[i].index();
      ASSERT_EQ(local.rate(here[i]), local_rate[here[i].index()])
          << "a change was not reported at step " << step;
      worst = std::max(worst, std::abs(local.rate(here[i]) - want) / want);
    }
    ASSERT_LE(worst, 1e-12) << "local scope at step " << step;
    if (step % 16 == 0) expect_rates(local, here, survivors, 1e-12);
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
