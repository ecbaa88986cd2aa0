// The choice of P x Q against all grids; who owns what of a panel against counting.
#include "hpl_gen/grid.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "hpl_gen/panel.hpp"

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

TEST(MostSquare, OfNodesIsTheLeastDifferentOfTheGridsThatTheyFill) {
  for (const Grid node : {Grid{1, 1}, Grid{4, 1}, Grid{1, 8}, Grid{2, 4}, Grid{3, 2}})
    for (int ranks = 1; ranks <= 300; ++ranks) {
      std::optional<Grid> best;
      for (int p = 1; p <= ranks; ++p) {
        const Grid g{p, ranks / p};
        if (ranks % p == 0 && p % node.p == 0 && g.q % node.q == 0 &&
            (!best || std::abs(g.p - g.q) < std::abs(best->p - best->q)))
          best = g;
      }
      const auto fills = [&](const Grid& g) { return g.p % node.p == 0 && g.q % node.q == 0; };
      EXPECT_EQ(most_square(ranks, fills), best) << ranks << " on " << node.p << " x " << node.q;
    }
}

TEST(BlockCyclic, TheMostIsWhatTheFullestProcessOwns) {
  for (int p = 1; p <= 5; ++p)
    for (std::int64_t nb = 1; nb <= 5; ++nb)
      for (std::int64_t from = 0; from <= 24; ++from)
        for (std::int64_t to = 0; to <= 24; ++to) {
          std::int64_t most = 0;
          for (int me = 0; me < p; ++me)
            most = std::max(most, to > from ? local_count(from / nb * nb, to, nb, me, p) : 0);
          EXPECT_EQ(most_local_count(from, to, nb, p), most)
              << from << ".." << to << " by " << nb << " on " << p;
        }
}

TEST(PanelSeats, ColumnsAndRowsOfAllPanelsAreThoseOfTheMatrix) {
  const HplConfig c{.n = 47, .nb = 6, .p = 3, .q = 4};
  const ProcessGrid grid{c.p, c.q, ProcessMap::kColumnMajor, 1};
  std::int64_t next = 0;
  for (std::int64_t k = 0; k < c.panels(); ++k) {
    const Panel panel = panel_of(c, k);
    EXPECT_EQ(panel.first, next);
    next = panel.end();
    std::int64_t below = 0, rows = 0;
    int currents = 0;
    for (int row = 0; row < c.p; ++row) {
      const PanelSeat seat = seat_of(c, grid, row, panel.col, k);
      EXPECT_TRUE(seat.owns());
      EXPECT_EQ(seat.row_at(seat.distance()), row);
      EXPECT_EQ(seat.rank_at(seat.distance()), grid.rank_of(row, panel.col));
      EXPECT_EQ(seat.current(), seat.distance() == 0);
      currents += seat.current() ? 1 : 0;
      below += seat.below();
      rows += seat.rows;
    }
    EXPECT_EQ(currents, 1);
    EXPECT_EQ(rows, c.n - panel.first);
    EXPECT_EQ(below, c.n - panel.end());
  }
  EXPECT_EQ(next, c.n);
  EXPECT_EQ(panel_of(c, c.panels()).width, 0) << "behind the matrix";
}

}  // namespace
}  // namespace weft::hpl_gen
