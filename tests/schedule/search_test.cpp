#include "schedule/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <numeric>

#include "core/rng.hpp"
#include "tests/congestion/cases.hpp"
#include "tests/schedule/storm_workload.hpp"

namespace weft::schedule {
namespace {

using weft::testing::Fraction;
using weft::testing::StormWorkload;
using weft::testing::unit_grid;

const Fraction kTau(21, 121);

Order by_destinations(const Exchange& e, const std::vector<std::vector<std::uint32_t>>& sends) {
  Order order;
  for (std::uint32_t r = 0; r < e.ranks; ++r) {
    for (std::uint32_t d : sends[r]) {
      for (std::uint32_t m = e.first[r]; m < e.first[r + 1]; ++m) {
        if (e.messages[m].dst == d) order.push_back(m);
      }
    }
  }
  return order;
}

TEST(Evaluator, TheTwoOrdersOfTheSlidesTakeTheirExactTimes) {
  const StormWorkload s(unit_grid(4, 2), 1, kTau);
  Evaluator e(s.workload, *s.oracle);
  const Order a = by_destinations(
      s.workload.exchange, {{4, 1}, {0, 2, 5}, {1, 6, 3}, {7, 2}, {0, 5}, {4, 6, 1}, {2, 7, 5}, {6, 3}});
  const Order b = by_destinations(
      s.workload.exchange, {{1, 4}, {0, 5, 2}, {1, 6, 3}, {2, 7}, {0, 5}, {1, 6, 4}, {2, 5, 7}, {3, 6}});
  ASSERT_EQ(a.size(), 20u);
  EXPECT_NEAR(e.makespan(a, Mode::kBarrier), 149989.0 / 19723, 1e-12);
  EXPECT_NEAR(e.makespan(b, Mode::kBarrier), 781723.0 / 66015, 1e-12);
  EXPECT_NEAR(e.makespan(a, Mode::kAsync), 14308294.0 / 2098951, 1e-12);
  EXPECT_NEAR(e.makespan(b, Mode::kAsync), 5300619.0 / 642383, 1e-12);
}

TEST(Evaluator, ThePublishedFastestSchedulesTakeFourMessageTimes) {
  const StormWorkload two(unit_grid(4, 2), 1, kTau);
  const Order a = by_destinations(
      two.workload.exchange, {{4, 1}, {0, 5, 2}, {1, 3, 6}, {2, 7}, {5, 0}, {6, 4, 1}, {7, 2, 5}, {3, 6}});
  Evaluator e2(two.workload, *two.oracle);
  EXPECT_NEAR(e2.makespan(a, Mode::kBarrier), 4, 1e-12);
  EXPECT_NEAR(e2.makespan(a, Mode::kAsync), 4, 1e-12);
  const auto steps = e2.timeline(a, Mode::kBarrier);
  EXPECT_EQ(steps.back().step, 3u);
  EXPECT_NEAR(steps.back().to_s, 4, 1e-12);

  const StormWorkload three(unit_grid(2, 2, 2), 1, kTau);
  const Order b = by_destinations(
      three.workload.exchange,
      {{1, 4, 2}, {3, 5, 0}, {6, 0, 3}, {2, 1, 7}, {0, 6, 5}, {4, 7, 1}, {7, 2, 4}, {5, 3, 6}});
  Evaluator e3(three.workload, *three.oracle);
  EXPECT_NEAR(e3.makespan(b, Mode::kBarrier), 4, 1e-12);
  EXPECT_NEAR(e3.makespan(b, Mode::kAsync), 4, 1e-12);
}

TEST(Search, SixteenGpusAreProvenOptimalByTheLinkBoundWithEverySeed) {
  for (const Exchange& e : {unit_grid(4, 4), unit_grid(4, 2, 2)}) {
    const StormWorkload s(e, 2, kTau);
    for (Mode mode : {Mode::kBarrier, Mode::kAsync}) {
      for (std::uint64_t seed = 0; seed < 3; ++seed) {
        SearchOptions o;
        o.mode = mode;
        o.seed = seed;
        o.sample = 0;
        const auto r = search_schedule(s.workload, *s.oracle, o, {});
        EXPECT_NEAR(r.best_s, 8, 1e-9);
        EXPECT_EQ(r.proof, Proof::kLinkBound);
        Evaluator check(s.workload, *s.oracle);
        EXPECT_NEAR(check.makespan(r.best, mode), 8, 1e-9);
        Order sorted = r.best;
        std::sort(sorted.begin(), sorted.end());
        Order all(e.messages.size());
        std::iota(all.begin(), all.end(), 0u);
        EXPECT_EQ(sorted, all);
      }
    }
  }
}

// Random patterns with sizes that differ, where no bound is met as a rule.
Exchange random_pattern(Rng& rng) {
  std::vector<Message> messages;
  for (std::uint32_t r = 0; r < 8; ++r) {
    for (std::uint64_t k = rng.below(4); k > 0; --k) {
      const auto d = static_cast<std::uint32_t>(rng.below(8));
      if (d != r) messages.push_back({r, d, Bytes(1 + static_cast<std::int64_t>(rng.below(3)))});
    }
  }
  return make_exchange(8, messages);
}

TEST(Search, BranchAndBoundAgreesWithExhaustionOnRandomPatterns) {
  const std::uint64_t seed = congestion::problems::base_seed(31);
  int met = 0;
  for (std::uint64_t round = 0; round < 25; ++round) {
    Rng rng(seed + round);
    const StormWorkload s(random_pattern(rng), 1, kTau);
    if (s.workload.exchange.schedules() > 5000) continue;
    for (Mode mode : {Mode::kBarrier, Mode::kAsync}) {
      SearchOptions o;
      o.mode = mode;
      const auto all = search_schedule(s.workload, *s.oracle, o, {});
      ASSERT_EQ(all.proof, Proof::kExhaustion);
      Evaluator e(s.workload, *s.oracle);
      const auto bb = branch_and_bound(e, mode, all.statistics.worst * 2, 1u << 22, {});
      ASSERT_TRUE(bb.complete);
      EXPECT_NEAR(bb.seconds, all.best_s, 1e-9 * all.best_s) << "WEFT_SEED=" << seed + round;
      EXPECT_NEAR(e.makespan(bb.order, mode), bb.seconds, 1e-9 * all.best_s);
      EXPECT_LE(all.link.seconds, all.best_s * (1 + 1e-9));
      if (mode == Mode::kBarrier) {
        const auto steps = step_load_bound(s.workload, all.best_s, 1u << 22, {});
        ASSERT_TRUE(steps.complete);
        EXPECT_GE(steps.seconds, all.link.seconds * (1 - 1e-9));
        EXPECT_LE(steps.seconds, all.best_s * (1 + 1e-9));
        met += sooner(steps.seconds, all.best_s) ? 0 : 1;
      }
    }
  }
  EXPECT_GT(met, 0);
}

// Oracle for the step-load bound: every schedule's sum of largest loads.
TEST(Search, StepLoadBoundIsTheLeastSumOfLoadsOverAllSchedules) {
  const std::uint64_t seed = congestion::problems::base_seed(77);
  for (std::uint64_t round = 0; round < 15; ++round) {
    Rng rng(seed + round);
    const StormWorkload s(random_pattern(rng), 1, kTau);
    const Exchange& e = s.workload.exchange;
    if (e.schedules() > 3000 || e.messages.empty()) continue;
    Order order(e.messages.size());
    std::iota(order.begin(), order.end(), 0u);
    double least = 1e300;
    while (true) {
      double sum = 0;
      for (std::uint32_t k = 0; k < e.most_sends(); ++k) {
        std::vector<double> load(s.workload.links(), 0);
        for (std::uint32_t r = 0; r < e.ranks; ++r) {
          if (k >= e.sends(r)) continue;
          const std::uint32_t m = order[e.first[r] + k];
          for (std::uint32_t l : s.workload.links_of(m)) load[l] += s.workload.seconds_on(m, l);
        }
        sum += *std::max_element(load.begin(), load.end());
      }
      least = std::min(least, sum);
      std::uint32_t r = 0;
      while (r < e.ranks &&
             !std::next_permutation(order.begin() + e.first[r], order.begin() + e.first[r + 1]))
        ++r;
      if (r == e.ranks) break;
    }
    const auto bound = step_load_bound(s.workload, 1e300, 1u << 22, {});
    ASSERT_TRUE(bound.complete);
    EXPECT_NEAR(bound.seconds, least, 1e-12) << "WEFT_SEED=" << seed + round;
  }
}

TEST(Search, AnnealingIsNotSaidToHaveFoundWhatAllOfASmallSpaceHas) {
  const std::uint64_t seed = congestion::problems::base_seed(31);
  int above_the_bound = 0;
  for (std::uint64_t round = 0; round < 25; ++round) {
    Rng rng(seed + round);
    const StormWorkload s(random_pattern(rng), 1, kTau);
    const double schedules = s.workload.exchange.schedules();
    if (schedules < 2 || schedules > 5000) continue;
    SearchOptions o;
    o.exhaustive_limit = 0;
    const auto r = search_schedule(s.workload, *s.oracle, o, {});
    EXPECT_EQ(r.stage, "symmetric schedules") << "WEFT_SEED=" << seed + round;
    above_the_bound += sooner(r.link.seconds, r.best_s) ? 1 : 0;
  }
  EXPECT_GT(above_the_bound, 0) << "else annealing has nothing to look for";
}

TEST(Search, WhatMeetsABoundIsProven) {
  const StormWorkload s(unit_grid(2, 2), 1, kTau);
  int random = 0;
  for (const Mode mode : {Mode::kBarrier, Mode::kAsync})
    for (std::uint64_t evaluations = 1; evaluations < 20; ++evaluations) {
      SearchOptions o;
      o.mode = mode;
      o.exhaustive_limit = 0;
      o.evaluations = evaluations;
      o.nodes = 1;
      const auto r = search_schedule(s.workload, *s.oracle, o, {});
      EXPECT_EQ(r.proof == Proof::kNone, sooner(r.lower_s, r.best_s)) << evaluations << ' ' << r.stage;
      random += r.stage == "random schedules" ? 1 : 0;
    }
  EXPECT_GT(random, 0);
}

TEST(Search, OnlyLimitsThatNobodyGaveAreLessForLargeExchanges) {
  const auto of = [](const Exchange& e, const SearchOptions& o) {
    const SearchLimits l = search_limits(o, e);
    return std::array{l.evaluations, l.nodes, l.sample};
  };
  EXPECT_EQ(of(unit_grid(4, 2), {}), (std::array<std::uint64_t, 3>{400'000, 2'000'000, 2'000}));
  // 224 messages of 64 ranks.
  EXPECT_EQ(of(unit_grid(8, 8), {}), (std::array<std::uint64_t, 3>{22'321, 89'285, 1'395}));
  EXPECT_EQ(of(unit_grid(64, 64), {}), (std::array<std::uint64_t, 3>{10, 1'000, 5}));
  SearchOptions o;
  o.evaluations = 30'000;
  o.nodes = 90'000;
  o.sample = 2'000;
  for (const Exchange& e : {unit_grid(4, 2), unit_grid(8, 8), unit_grid(64, 64)})
    EXPECT_EQ(of(e, o), (std::array<std::uint64_t, 3>{30'000, 90'000, 2'000}));
}

TEST(Search, AStopReturnsTheBestSoFarAndItsBound) {
  const StormWorkload s(unit_grid(2, 2, 2), 1, kTau);
  std::atomic<bool> stop{false};
  Control control;
  control.stop = &stop;
  int calls = 0;
  control.progress = [&](double, double, double) {
    if (++calls == 10) stop = true;
  };
  const auto r = search_schedule(s.workload, *s.oracle, {}, control);
  EXPECT_TRUE(r.interrupted);
  EXPECT_FALSE(r.exact);
  EXPECT_EQ(r.lower_s, 4);
  EXPECT_FALSE(r.best.empty());
}

}  // namespace
}  // namespace weft::schedule
