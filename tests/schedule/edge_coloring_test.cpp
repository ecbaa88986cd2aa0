#include "schedule/coloring/edge_coloring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "schedule/search.hpp"
#include "tests/congestion/cases.hpp"
#include "tests/schedule/storm_workload.hpp"
#include "topology/platform/platform.hpp"

namespace weft::schedule {
namespace {

using weft::testing::Fraction;
using weft::testing::StormWorkload;
using weft::testing::unit_grid;

// An exchange on a platform as a user names it, a rank a host.
struct Placed {
  topology::Platform platform;
  Workload workload;
  std::unique_ptr<RateOracle> oracle;

  Placed(const Exchange& e, const std::string& spec, const std::string& model = "max-min") {
    auto p = topology::load_platform(spec);
    EXPECT_TRUE(p) << (p ? "" : p.error().message());
    platform = std::move(*p);
    std::vector<HostId> host;
    for (std::uint32_t r = 0; r < e.ranks; ++r) host.emplace_back(r);
    auto w = place_exchange(e, platform.fabric, host);
    EXPECT_TRUE(w);
    workload = std::move(*w);
    auto o = make_rate_oracle(model, workload, platform.fabric);
    EXPECT_TRUE(o);
    oracle = std::move(*o);
  }
};

Exchange with_diagonals(std::uint32_t x, std::uint32_t y) {
  Grid grid;
  grid.size = {x, y, 1};
  grid.dimensions = 2;
  grid.diagonals = true;
  grid.face.fill(Bytes(1));
  grid.edge = Bytes(1);
  return halo_exchange(grid);
}

void expect_an_order(const Exchange& e, const Order& order) {
  ASSERT_EQ(order.size(), e.messages.size());
  for (std::uint32_t r = 0; r < e.ranks; ++r) {
    std::vector<std::uint32_t> own(order.begin() + e.first[r], order.begin() + e.first[r + 1]);
    std::sort(own.begin(), own.end());
    for (std::uint32_t k = 0; k < own.size(); ++k) EXPECT_EQ(own[k], e.first[r] + k);
  }
}

// What the steps take if no lane is ever shared worse than it could be.
double sum_of_loads(const Workload& w, const Order& order) {
  double sum = 0;
  for (std::uint32_t k = 0; k < w.exchange.most_sends(); ++k) {
    std::vector<double> load(w.lanes(), 0);
    for (std::uint32_t r = 0; r < w.ranks(); ++r) {
      if (k >= w.exchange.sends(r)) continue;
      const std::uint32_t m = order[w.exchange.first[r] + k];
      for (const std::uint32_t l : w.lanes_of(m)) load[l] += w.seconds_in(m, l);
    }
    sum += *std::max_element(load.begin(), load.end());
  }
  return sum;
}

TEST(EdgeColoring, OneThatIsProperMeetsTheBoundWhereOnlyPortsCount) {
  for (const bool periodic : {false, true})
    for (const Exchange& e : {unit_grid(8, 8, 1, periodic), unit_grid(6, 7, 1, periodic),
                              unit_grid(4, 4, 4, periodic), unit_grid(5, 4, 3, periodic)}) {
      const Placed s(e, "crossbar:n=64,bw=1GB/s,lat=0");
      const double bound = link_bound(s.workload).seconds;
      Evaluator evaluator(s.workload, *s.oracle);
      EdgeColoring coloring(s.workload, bound);
      for (std::uint64_t attempt = 0; attempt < 3; ++attempt) {
        coloring.color(attempt, 0);
        expect_an_order(e, coloring.order());
        EXPECT_TRUE(coloring.proper()) << e.messages.size() << " messages, attempt " << attempt;
        for (const Mode mode : {Mode::kBarrier, Mode::kAsync})
          EXPECT_NEAR(evaluator.makespan(coloring.order(), mode), bound, 1e-9 * bound);
      }
    }
}

// What steps take at least: of each the longest message, where every rank sends its longest first.
double sum_of_longest(const Workload& w) {
  std::vector<double> longest(w.exchange.most_sends(), 0);
  for (std::uint32_t r = 0; r < w.ranks(); ++r) {
    std::vector<double> own;
    for (std::uint32_t m = w.exchange.first[r]; m < w.exchange.first[r + 1]; ++m) {
      own.push_back(0);
      for (const std::uint32_t l : w.lanes_of(m)) own.back() = std::max(own.back(), w.seconds_in(m, l));
    }
    std::sort(own.rbegin(), own.rend());
    for (std::size_t k = 0; k < own.size(); ++k) longest[k] = std::max(longest[k], own[k]);
  }
  return std::accumulate(longest.begin(), longest.end(), 0.0);
}

// Sizes that differ, links inside a tree: what the loads of the order itself say.
TEST(EdgeColoring, ProperMeansThatTheLoadsOfStepsAreWithinTheBound) {
  const std::uint64_t seed = congestion::problems::base_seed(67);
  int proper = 0, improper = 0;
  for (std::uint64_t round = 0; round < 60; ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed + round));
    Rng rng(seed + round);
    std::vector<Message> messages;
    for (std::uint32_t r = 0; r < 8; ++r)
      for (std::uint64_t k = rng.below(5); k > 0; --k) {
        const auto d = static_cast<std::uint32_t>(rng.below(8));
        if (d != r)
          messages.push_back({r, d, Bytes(1 + static_cast<std::int64_t>(rng.below(1 + round % 3)))});
      }
    if (messages.empty()) continue;
    const StormWorkload s(make_exchange(8, messages), 1, Fraction(21, 121));
    const double bound = link_bound(s.workload).seconds;
    const double most = std::max(bound, sum_of_longest(s.workload));
    EdgeColoring coloring(s.workload, bound);
    for (std::uint64_t attempt = 0; attempt < 4; ++attempt) {
      coloring.color(attempt, seed);
      expect_an_order(s.workload.exchange, coloring.order());
      const double sum = sum_of_loads(s.workload, coloring.order());
      if (coloring.proper()) {
        EXPECT_LE(sum, most * (1 + 1e-4));
      }
      ++(coloring.proper() ? proper : improper);
    }
  }
  EXPECT_GT(proper, 10);
  EXPECT_GT(improper, 10);
}

TEST(EdgeColoring, AnAttemptKnowsNothingOfThoseBefore) {
  const StormWorkload s(unit_grid(4, 4), 2, Fraction(21, 121));
  EdgeColoring one_by_one(s.workload, 8);
  for (std::uint64_t attempt = 0; attempt < 6; ++attempt) {
    one_by_one.color(attempt, 3);
    EdgeColoring alone(s.workload, 8);
    alone.color(attempt, 3);
    EXPECT_EQ(one_by_one.order(), alone.order()) << attempt;
    alone.color(attempt, 4);
    EXPECT_NE(one_by_one.order(), alone.order()) << attempt;
  }
}

TEST(EdgeColoring, LargeHalosMeetTheLinkBoundAfterAFewSchedules) {
  const struct {
    Exchange exchange;
    const char* on;
    const char* model = "max-min";
  } cases[] = {
      {unit_grid(8, 8), "crossbar:n=64,lat=0"},       {unit_grid(8, 8), "torus:dims=8x8,lat=0"},
      {unit_grid(8, 8), "fat-tree:m=8,n=3,lat=0"},    {unit_grid(4, 4, 4), "crossbar:n=64,lat=0"},
      {unit_grid(4, 4, 4), "torus:dims=4x4x4,lat=0"}, {unit_grid(4, 4, 4), "fat-tree:m=8,n=3,lat=0"},
      {unit_grid(16, 4), "torus:dims=8x8,lat=0"},     {unit_grid(16, 4, 1, true), "torus:dims=8x8,lat=0"},
      {with_diagonals(8, 8), "crossbar:n=64,lat=0"},  {unit_grid(8, 2), "cs-storm-16", "pcie"},
      {unit_grid(4, 2, 2), "cs-storm-16", "pcie"},    {unit_grid(4, 4, 1, true), "cs-storm-16", "pcie"}};
  for (const auto& c : cases) {
    const Placed s(c.exchange, c.on, c.model);
    for (const Mode mode : {Mode::kBarrier, Mode::kAsync}) {
      SearchOptions o;
      o.mode = mode;
      o.sample = 0;
      o.nodes = 1;
      const auto r = search_schedule(s.workload, *s.oracle, o, {});
      EXPECT_EQ(r.proof, Proof::kLinkBound) << c.exchange.messages.size() << " messages on " << c.on;
      EXPECT_EQ(r.stage, "edge colouring");
      EXPECT_LE(r.evaluated, 100);
    }
  }
}

// On 5 x 7 no coloring is proper: in the last step the 15 ranks inside would send to one another, 8 of one parity to 7 of the
// other. The best of them takes 6 T.
TEST(EdgeColoring, AnnealingGoesOnFromTheBest) {
  const Placed s(unit_grid(5, 7), "crossbar:n=35,bw=1GB/s,lat=0");
  const double bound = link_bound(s.workload).seconds;
  SearchOptions o;
  o.evaluations = 10'000;
  o.nodes = 1;
  o.sample = 0;
  const auto r = search_schedule(s.workload, *s.oracle, o, {});
  EXPECT_EQ(r.stage, "annealing");
  EXPECT_NEAR(r.best_s / bound, 5.0 / 4, 1e-9);
}

}  // namespace
}  // namespace weft::schedule
