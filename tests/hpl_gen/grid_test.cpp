// The choice of P x Q against all grids.
#include "hpl_gen/grid.hpp"

#include <gtest/gtest.h>

namespace weft::hpl_gen {
namespace {

TEST(MostSquare, IsTheGridOfAllRanksWithTheLeastDifferenceBetweenItsSides) {
  for (int ranks = 1; ranks <= 2000; ++ranks) {
    Grid best{1, ranks};
    for (int p = 1; p <= ranks; ++p)
      if (ranks % p == 0 && p <= ranks / p && ranks / p - p < best.q - best.p) best = {p, ranks / p};
    EXPECT_EQ(most_square(ranks), best) << ranks;
  }
  EXPECT_EQ(most_square(1 << 24), (Grid{4096, 4096}));
  EXPECT_EQ(most_square(2147483647), (Grid{1, 2147483647}));  // a prime
}

}  // namespace
}  // namespace weft::hpl_gen
