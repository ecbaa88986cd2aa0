// Checks shared by the quick and the slow tests of MaxMin.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "congestion/certificate.hpp"
#include "congestion/max_min.hpp"
#include "tests/congestion/cases.hpp"

namespace weft::congestion::problems {

inline constexpr MaxMin::Scope kScopes[] = {MaxMin::Scope::kLocal, MaxMin::Scope::kComponent};

// The certificate over a whole problem, with rates given from outside.
inline std::optional<std::string> certify_case(const Case& c, const std::vector<double>& rate) {
  FlowTable table(static_cast<std::uint32_t>(c.capacity.size()));
  std::vector<std::uint32_t> all;
  for (const Flow& f : c.flows) all.push_back(table.add(f.route, f.weight, f.limit));
  return certify(table, c.capacity, rate, all);
}

inline void expect_rates(const MaxMin& model, const std::vector<FlowId>& ids,
                         const std::vector<long double>& want, double tolerance) {
  double worst = 0;
  for (std::size_t i = 0; i < ids.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>((model.rate(ids[i]) - want[i]) / want[i])));
  EXPECT_LE(worst, tolerance);
}

// One random problem, solved at once by both scopes.
inline void check_problem(std::uint64_t seed, std::uint32_t max_flows) {
  const Case c = random_case(seed, max_flows);
  const auto want = reference_rates(c);
  for (const auto scope : kScopes) {
    SCOPED_TRACE(describe(seed, c));
    MaxMin m(c.capacity, scope);
    std::vector<FlowId> ids;
    for (const Flow& f : c.flows) ids.push_back(m.add(f.route, f.weight, f.limit));
    EXPECT_EQ(m.solve().size(), ids.size());
    std::vector<double> rate;
    for (const FlowId id : ids) rate.push_back(m.rate(id));
    EXPECT_EQ(certify_case(c, rate).value_or(""), "");
    expect_rates(m, ids, want, 1e-12);
  }
}

// Adds and removes at random with a solve after each few, and compares with a model that saw only the
// survivors.
inline void check_incremental(std::uint64_t seed, std::uint32_t operations, std::uint32_t peak) {
  Rng rng(seed);
  const RouteMaker maker(kShapes[rng.below(4)], rng);
  const auto options = random_options(rng);
  const auto capacity = random_capacity(maker.links(), options, rng);
  // Half of them leave out links with room to spare from the first solve on.
  MaxMin local(capacity, MaxMin::Scope::kLocal, seed % 2 == 0 ? 0 : MaxMin::kLargeSolve);
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
        const Flow f = random_flow(maker, options, rng);
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
    if (step % 16 == 0) expect_rates(local, here, reference_rates(survivors), 1e-12);
  }
}

}  // namespace weft::congestion::problems
