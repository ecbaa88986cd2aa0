// The search of parameters against a formula whose best is known.
#include "hpl_gen/hpl_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "core/rng.hpp"

namespace weft::hpl_gen {
namespace {

TEST(HplSearch, FindsTheBestOfAFormulaWithinItsBudgetAndNeverWorseThanTheBase) {
  SearchSpace space;
  space.n = {1000};
  space.nb = {32, 64, 128, 256};
  space.grids = {{2, 8}, {4, 4}, {8, 2}};
  space.bcast = {Bcast::k1Ring, Bcast::k2Ring};
  space.depth = {0, 1};
  space.swap = {Swap::kMix, Swap::kBinaryExchange};
  space.pmap = {ProcessMap::kRowMajor};
  const HplConfig base{.n = 1000, .nb = 32, .p = 2, .q = 8};
  int calls = 0;
  const EvaluateOne evaluate = [&](const HplConfig& c, int) -> Result<std::optional<Candidate>> {
    ++calls;
    const double gflops =
        100 - std::fabs(std::log2(static_cast<double>(c.nb) / 128)) - std::abs(c.p - 4) + c.depth;
    return std::optional<Candidate>(Candidate{c, gflops, 0.0, 0});
  };
  const auto r = search_hpl(base, space, 40, 3, one_by_one(evaluate));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->best.config.nb, 128);
  EXPECT_EQ(r->best.config.p, 4);
  EXPECT_EQ(r->best.config.depth, 1);
  EXPECT_LE(calls, 40);
  EXPECT_EQ(calls, r->evaluations);
  const auto small = search_hpl(base, space, 8, 3, one_by_one(evaluate));
  ASSERT_TRUE(small);
  EXPECT_GE(small->best.gflops, small->base.gflops);
  EXPECT_LE(small->evaluations, 8);
}

// A descent takes another broadcast, which a later parameter makes no matter: nothing then speaks against the base's.
TEST(HplSearch, OfEqualRatesTheBasesParametersAreTaken) {
  SearchSpace space;
  space.n = {1000};
  space.nb = {64};
  space.grids = {{2, 4}};
  space.bcast = {Bcast::k1Ring, Bcast::kLong};
  space.swap = {Swap::kMix, Swap::kSpreadRoll};
  const HplConfig base{.n = 1000, .nb = 64, .p = 2, .q = 4, .bcast = Bcast::k1Ring};
  for (const bool exact : {false, true}) {
    const auto r =
        search_hpl(base, space, 40, 3, one_by_one([&](const HplConfig& c, int) {
                     const double gflops = c.swap == Swap::kSpreadRoll ? 5 : c.bcast == Bcast::kLong ? 2 : 1;
                     return Result<std::optional<Candidate>>(Candidate{c, gflops, 0.1, 0, exact});
                   }));
    ASSERT_TRUE(r);
    EXPECT_EQ(r->best.config.swap, Swap::kSpreadRoll);
    EXPECT_EQ(r->best.config.bcast, Bcast::k1Ring);
    EXPECT_TRUE(r->local_best);
  }
}

// PFACT decides only where NBMIN leaves it something: one parameter after the other would end at either's first value. And N.
TEST(HplSearch, TriesEveryValueOrSaysWhichItDidNot) {
  SearchSpace space;
  space.n = {1000, 2000};
  space.nb = {64};
  space.grids = {{4, 4}};
  space.factorisation = {{Factor::kLeft, 1, Factor::kCrout, 2},
                         {Factor::kLeft, 8, Factor::kCrout, 2},
                         {Factor::kRight, 1, Factor::kCrout, 2},
                         {Factor::kRight, 8, Factor::kCrout, 2}};
  HplConfig base{.n = 1000, .nb = 64, .p = 4, .q = 4};
  base.pfact = Factor::kLeft;
  base.nbmin = 1;
  for (const bool exact : {false, true}) {
    int calls = 0;
    const EvaluateOne evaluate = [&](const HplConfig& c, int) -> Result<std::optional<Candidate>> {
      ++calls;
      const double inner = c.nbmin == 1 ? 0 : c.pfact == Factor::kRight ? 5 : -5;
      return std::optional<Candidate>(
          Candidate{c, static_cast<double>(c.n) / 100 + inner, exact ? 0.0 : 0.1, 0, exact});
    };
    const auto all = search_hpl(base, space, 20, 3, one_by_one(evaluate));
    ASSERT_TRUE(all);
    EXPECT_EQ(all->best.config.n, 2000);
    EXPECT_EQ(all->best.config.pfact, Factor::kRight);
    EXPECT_EQ(all->best.config.nbmin, 8);
    EXPECT_TRUE(all->untried.empty());
    EXPECT_EQ(calls, all->evaluations);
    // What was simulated in full is not evaluated again, and its predictions are spent on others.
    EXPECT_EQ(calls, exact ? 8 : 8 + 3 + 3);
    const auto few = search_hpl(base, space, 8, 3, one_by_one(evaluate));
    ASSERT_TRUE(few);
    EXPECT_EQ(few->untried.empty(), exact);
    if (!exact) {
      EXPECT_EQ(few->untried.front(), "factorisation PFACT right NBMIN 1 RFACT crout NDIV 2");
    }
    const auto fewest = search_hpl(base, space, 4, 3, one_by_one(evaluate));
    ASSERT_TRUE(fewest);
    EXPECT_EQ(fewest->evaluations, 4);
    EXPECT_EQ(fewest->untried.front(), exact ? "factorisation PFACT right NBMIN 8 RFACT crout NDIV 2"
                                             : "factorisation PFACT left NBMIN 8 RFACT crout NDIV 2");
  }
}

// Two parameters of which each alone makes it worse, and both together make it best.
TEST(HplSearch, TriesAllWhereTheyAreFewAndElseSaysOfHowManyItTriedSome) {
  SearchSpace space;
  space.n = {1000};
  space.nb = {32, 64, 64, 128};
  space.grids = {{2, 4}, {4, 2}};
  space.bcast = {Bcast::k1Ring, Bcast::kLong};
  space.depth = {0, 1};
  const HplConfig base{.n = 1000, .nb = 32, .p = 2, .q = 4, .bcast = Bcast::k1Ring};
  for (const bool exact : {false, true}) {
    const EvaluateOne evaluate = [&](const HplConfig& c, int) -> Result<std::optional<Candidate>> {
      const bool moved = c.p == 4, deep = c.depth == 1;
      const double gflops = static_cast<double>(c.nb) / 100 + (moved && deep ? 5 : moved || deep ? -5 : 0);
      return std::optional<Candidate>(Candidate{c, gflops, exact ? 0.0 : 0.1, 0, exact});
    };
    // 3 x 2 x 2 x 2, and what is put aside for more windows.
    const auto all = search_hpl(base, space, 40, 3, one_by_one(evaluate));
    ASSERT_TRUE(all);
    EXPECT_EQ(all->candidates, 24u);
    EXPECT_EQ(all->ranking.size(), 24u);
    EXPECT_EQ(all->best.config.p, 4);
    EXPECT_EQ(all->best.config.depth, 1);
    EXPECT_LE(all->evaluations, 40);
    const auto few = search_hpl(base, space, 23, 3, one_by_one(evaluate));
    ASSERT_TRUE(few);
    EXPECT_EQ(few->candidates, 24u);
    EXPECT_LT(few->ranking.size(), 24u);
    // One parameter after the other ends at 2 x 4 from the base; from elsewhere it does not.
    EXPECT_EQ(few->best.config.p, 4);
    EXPECT_EQ(few->best.config.depth, 1);
    EXPECT_LE(few->evaluations, 23);
  }
  // A value of the base that the lists do not have is one more.
  HplConfig other = base;
  other.nb = 48;
  const auto r = search_hpl(other, space, 100, 3, one_by_one([](const HplConfig& c, int) {
                              return Result<std::optional<Candidate>>(Candidate{c, 1, 0.0, 0, true});
                            }));
  ASSERT_TRUE(r);
  EXPECT_EQ(r->candidates, 32u);
  EXPECT_EQ(r->ranking.size(), 32u);
}

// By the candidates that were tried, whether the best is better than all that differ from it in one parameter.
bool beats_all_beside_it(const SearchResult& r, const SearchSpace& s) {
  const auto rate_of = [&](const HplConfig& c) -> std::optional<double> {
    for (const Candidate& t : r.ranking)
      if (t.config == c) return t.gflops;
    return std::nullopt;
  };
  const auto no_faster = [&](auto set, const auto& values) {
    return std::ranges::all_of(values, [&](const auto& v) {
      HplConfig c = r.best.config;
      set(c, v);
      const auto rate = rate_of(c);
      return rate && *rate <= r.best.gflops;
    });
  };
  return no_faster([](HplConfig& c, std::int64_t v) { c.nb = v; }, s.nb) &&
         no_faster([](HplConfig& c, Grid g) { c.p = g.p, c.q = g.q; }, s.grids) &&
         no_faster([](HplConfig& c, Bcast v) { c.bcast = v; }, s.bcast) &&
         no_faster([](HplConfig& c, int v) { c.depth = v; }, s.depth) &&
         no_faster([](HplConfig& c, Swap v) { c.swap = v; }, s.swap);
}

// Landscapes of chance, in which descents end late, or for want of evaluations in their middle.
TEST(HplSearch, ALocalBestIsToldWhereAllBesideItWereTriedAndElseNot) {
  SearchSpace space;
  space.n = {1000};
  space.nb = {32, 64, 96, 128};
  space.grids = {{2, 4}, {4, 2}, {1, 8}};
  space.bcast = {Bcast::k1Ring, Bcast::kLong, Bcast::k2Ring};
  space.depth = {0, 1, 2};
  space.swap = {Swap::kMix, Swap::kBinaryExchange, Swap::kSpreadRoll};
  space.pmap = {ProcessMap::kRowMajor};
  const HplConfig base{.n = 1000, .nb = 32, .p = 2, .q = 4, .bcast = Bcast::k1Ring};
  int local = 0, other = 0;
  for (const bool exact : {true, false})
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      for (int budget = 8; budget <= 120; budget += 7) {
        std::vector<HplConfig> first_round;
        const EvaluateOne evaluate = [&](const HplConfig& c,
                                         int windows) -> Result<std::optional<Candidate>> {
          if (windows == 3) first_round.push_back(c);
          Rng draw(seed * 1'000'003 +
                   static_cast<std::uint64_t>(c.nb * 10'000 + c.p * 1'000 + c.depth * 100) +
                   static_cast<std::uint64_t>(c.bcast) * 10 + static_cast<std::uint64_t>(c.swap));
          return std::optional(Candidate{c, 1 + static_cast<double>(draw.below(1'000'000)), 0.01, 0, exact});
        };
        const auto r = search_hpl(base, space, budget, 3, one_by_one(evaluate));
        ASSERT_TRUE(r);
        EXPECT_EQ(r->local_best, beats_all_beside_it(*r, space)) << seed << " with " << budget;
        ++(r->local_best ? local : other);
        for (std::size_t i = 0; i < first_round.size(); ++i)
          ASSERT_EQ(std::count(first_round.begin(), first_round.end(), first_round[i]), 1) << "tried twice";
      }
  EXPECT_GT(local, 100);
  EXPECT_GT(other, 100);
}

SearchSpace of_nb(std::vector<std::int64_t> nb) {
  SearchSpace space;
  space.n = {1000};
  space.nb = std::move(nb);
  space.grids = {{4, 4}};
  return space;
}

// Two that seem fastest in a few windows and turn out to be slowest: those behind them are asked again.
TEST(HplSearch, TheBestOfAllIsToldWhenMoreWindowsMakeFinalistsSlower) {
  for (const bool with_steady : {true, false}) {
    const EvaluateOne evaluate = [](const HplConfig& c, int windows) -> Result<std::optional<Candidate>> {
      const bool flatters = c.nb <= 64;
      if (c.nb == 128) return std::optional(Candidate{c, 57, 0.0, 0, true});
      if (c.nb == 256) return std::optional(Candidate{c, 62.9, 0.01, 0});
      return std::optional(Candidate{c, flatters && windows < 12 ? 65.0 : 56.0, 0.02, 0});
    };
    const auto space = of_nb(with_steady ? std::vector<std::int64_t>{32, 64, 128, 256}
                                         : std::vector<std::int64_t>{32, 64, 128});
    const auto r = search_hpl({.n = 1000, .nb = 32, .p = 4, .q = 4}, space, 64, 3, one_by_one(evaluate));
    ASSERT_TRUE(r);
    EXPECT_EQ(r->best.config.nb, with_steady ? 256 : 128);
    EXPECT_EQ(r->best.round, 3);
    EXPECT_EQ(r->ranking.front().config, r->best.config);
    EXPECT_EQ(r->base.gflops, 56);
  }
}

// Exact figures are as good as those of the last round, wherever the field of a round ends.
TEST(HplSearch, NoExactCandidateIsFasterThanTheBest) {
  std::vector<std::int64_t> nb(30);
  std::iota(nb.begin(), nb.end(), 1);
  const EvaluateOne evaluate = [](const HplConfig& c, int) -> Result<std::optional<Candidate>> {
    return std::optional(
        Candidate{c, c.nb % 2 == 0 ? 60 + static_cast<double>(c.nb) : 59, 0.0, 0, c.nb % 2 == 0});
  };
  for (int budget = 4; budget < 70; ++budget) {
    const auto r =
        search_hpl({.n = 1000, .nb = 1, .p = 4, .q = 4}, of_nb(nb), budget, 3, one_by_one(evaluate));
    ASSERT_TRUE(r);
    for (const Candidate& c : r->ranking)
      EXPECT_LE(c.gflops, r->best.gflops) << budget << " NB " << c.config.nb;
    EXPECT_LE(r->evaluations, budget);
  }
}

// The predictions end with the first candidate that is sampled: its rate less its error is still more than the exact one's.
TEST(HplSearch, WhatIsFastForSureIsToldWhereThePredictionsEnd) {
  SearchSpace space = of_nb({64});
  space.n = {1000, 9000};
  const EvaluateOne evaluate = [](const HplConfig& c, int windows) -> Result<std::optional<Candidate>> {
    const bool exact = c.n == 1000;
    const std::optional<double> error = exact         ? std::optional(0.0)
                                        : windows > 3 ? std::optional(0.0122)
                                                      : std::nullopt;
    return std::optional(Candidate{c, exact ? 115.0 : 151.0, error, 0, exact});
  };
  for (int budget = 4; budget < 10; ++budget) {
    const auto r = search_hpl({.n = 1000, .nb = 64, .p = 4, .q = 4}, space, budget, 3, one_by_one(evaluate));
    ASSERT_TRUE(r);
    EXPECT_EQ(r->best.config.n, 9000) << budget;
  }
}

TEST(HplSearch, StoppedAnywhereItKeepsWhatItHas) {
  SearchSpace space;
  space.n = {1000};
  space.nb = {32, 64, 128, 256};
  space.grids = {{4, 4}};
  space.bcast = {Bcast::k1Ring};
  space.depth = {0, 1};
  space.swap = {Swap::kMix};
  space.pmap = {ProcessMap::kRowMajor};
  const HplConfig base{.n = 1000, .nb = 32, .p = 4, .q = 4};
  int whole = 1 << 20;
  for (int stop = 0; stop < whole; ++stop) {
    int calls = 0;
    double best = 0;
    const EvaluateOne evaluate = [&](const HplConfig& c, int) -> Result<std::optional<Candidate>> {
      if (calls == stop) return std::optional<Candidate>();
      ++calls;
      const double gflops = static_cast<double>(c.nb) + c.depth;
      best = std::max(best, gflops);
      return std::optional<Candidate>(Candidate{c, gflops, 0.0, 0});
    };
    const auto r = search_hpl(base, space, 30, 3, one_by_one(evaluate));
    ASSERT_TRUE(r);
    EXPECT_EQ(r->evaluations, calls);
    if (r->complete) whole = stop;
    ASSERT_EQ(r->ranking.empty(), stop == 0);
    if (stop > 0) {
      EXPECT_EQ(r->best.gflops, best) << "stopped after " << stop;
      EXPECT_EQ(r->base.config, base);
    }
  }
  EXPECT_GT(whole, 4);
  EXPECT_LT(whole, 31);
}

// Where the second round simulates in full, the third asks for nothing: what that leaves goes to candidates that were not tried.
TEST(HplSearch, NoPredictionIsLeftWhereACandidateIs) {
  SearchSpace space;
  space.n = {1000};
  space.nb = {32, 64, 128, 256};
  space.grids = {{4, 4}};
  space.bcast = {Bcast::k1Ring, Bcast::k2Ring};
  space.depth = {0, 1};
  space.swap = {Swap::kMix};
  space.pmap = {ProcessMap::kRowMajor};
  const HplConfig base{.n = 1000, .nb = 32, .p = 4, .q = 4};
  for (const int exact_windows : {3, 6, 12, 24})  // from so many on a prediction is of all panels
    for (int budget = 8; budget <= 60; ++budget) {
      int calls = 0;
      const auto r = search_hpl(
          base, space, budget, 3, one_by_one([&](const HplConfig& c, int windows) {
            ++calls;
            const double gflops = static_cast<double>(c.nb) + c.depth;
            return Result<std::optional<Candidate>>(Candidate{c, gflops, 0.0, 0, windows >= exact_windows});
          }));
      ASSERT_TRUE(r);
      EXPECT_EQ(r->evaluations, calls);
      EXPECT_LE(calls, budget);
      EXPECT_TRUE(calls == budget || r->ranking.size() == r->candidates)
          << exact_windows << " windows, " << budget;
      if (r->ranking.size() == r->candidates) {
        EXPECT_EQ(r->best.gflops, 257) << budget;
      }
    }
}

// A stage is what could be tried at once: it depends on no result of its own.
TEST(HplSearch, StagesAskForWhatIsNewOnlyAndEndWithTheBudget) {
  SearchSpace space;
  space.n = {1000};
  space.nb = {32, 64, 64, 128, 256};
  space.grids = {{4, 4}, {2, 8}};
  space.bcast = {Bcast::k1Ring, Bcast::k2Ring, Bcast::kLong};
  space.depth = {0, 1};
  space.swap = {Swap::kMix};
  space.pmap = {ProcessMap::kRowMajor};
  const HplConfig base{.n = 1000, .nb = 32, .p = 4, .q = 4};
  for (int budget = 8; budget < 30; ++budget) {
    std::vector<std::pair<HplConfig, int>> asked;
    std::size_t widest = 0;
    const Evaluate evaluate = [&](const std::vector<HplConfig>& configs, int windows) {
      widest = std::max(widest, configs.size());
      std::vector<std::optional<Candidate>> out(configs.size());
      // Backwards: the order of a stage decides nothing.
      for (std::size_t i = configs.size(); i-- > 0;) {
        const HplConfig& c = configs[i];
        for (const auto& [other, of_windows] : asked) EXPECT_FALSE(other == c && of_windows == windows);
        asked.emplace_back(c, windows);
        out[i] = Candidate{c, static_cast<double>(c.nb) + c.depth, 0.0, 0};
      }
      return Result<std::vector<std::optional<Candidate>>>(std::move(out));
    };
    const auto r = search_hpl(base, space, budget, 3, evaluate);
    ASSERT_TRUE(r);
    EXPECT_EQ(asked.size(), static_cast<std::size_t>(r->evaluations));
    EXPECT_LE(r->evaluations, budget);
    EXPECT_GE(widest, 2u);
    const auto alone = search_hpl(
        base, space, budget, 3, one_by_one([](const HplConfig& c, int) {
          return Result<std::optional<Candidate>>(Candidate{c, static_cast<double>(c.nb) + c.depth, 0.0, 0});
        }));
    ASSERT_TRUE(alone);
    ASSERT_EQ(alone->ranking.size(), r->ranking.size());
    for (std::size_t i = 0; i < r->ranking.size(); ++i) {
      EXPECT_EQ(alone->ranking[i].config, r->ranking[i].config) << i;
      EXPECT_EQ(alone->ranking[i].round, r->ranking[i].round) << i;
    }
  }
}

}  // namespace
}  // namespace weft::hpl_gen
