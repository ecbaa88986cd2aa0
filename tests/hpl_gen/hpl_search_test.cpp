// The search of parameters against a formula whose best is known.
#include "hpl_gen/hpl_search.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

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
  const Evaluate evaluate = [&](const HplConfig& c, int) -> Result<std::optional<Candidate>> {
    ++calls;
    const double gflops =
        100 - std::fabs(std::log2(static_cast<double>(c.nb) / 128)) - std::abs(c.p - 4) + c.depth;
    return std::optional<Candidate>(Candidate{c, gflops, 0.0, 0});
  };
  const auto r = search_hpl(base, space, 40, 3, evaluate);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->best.config.nb, 128);
  EXPECT_EQ(r->best.config.p, 4);
  EXPECT_EQ(r->best.config.depth, 1);
  EXPECT_LE(calls, 40);
  EXPECT_EQ(calls, r->evaluations);
  const auto small = search_hpl(base, space, 8, 3, evaluate);
  ASSERT_TRUE(small);
  EXPECT_GE(small->best.gflops, small->base.gflops);
  EXPECT_LE(small->evaluations, 8);
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
    const Evaluate evaluate = [&](const HplConfig& c, int) -> Result<std::optional<Candidate>> {
      if (calls == stop) return std::optional<Candidate>();
      ++calls;
      const double gflops = static_cast<double>(c.nb) + c.depth;
      best = std::max(best, gflops);
      return std::optional<Candidate>(Candidate{c, gflops, 0.0, 0});
    };
    const auto r = search_hpl(base, space, 30, 3, evaluate);
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

}  // namespace
}  // namespace weft::hpl_gen
