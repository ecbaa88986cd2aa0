// The sampling of panels against panels made by formula.
#include "hpl_gen/hpl_sampling.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace weft::hpl_gen {
namespace {

TEST(SampleWindows, AreApartInOrderAndEndWithTheRun) {
  for (const std::int64_t panels : {1, 5, 40, 300, 1954, 24122})
    for (const int count : {2, 3, 6, 24}) {
      const auto windows = choose_windows(panels, count, 8, 3);
      ASSERT_FALSE(windows.empty());
      EXPECT_EQ(windows.front().first, 0);
      EXPECT_EQ(windows.back().last, panels);
      for (std::size_t i = 0; i < windows.size(); ++i) {
        EXPECT_LE(windows[i].first, windows[i].measured);
        EXPECT_LE(windows[i].measured, windows[i].fitted);
        EXPECT_LT(windows[i].fitted, windows[i].last);
        if (i > 0) {
          EXPECT_LE(windows[i - 1].last, windows[i].first);
        }
      }
    }
}

TEST(SampleFit, PanelsThatFollowTheModelAreFoundExactly) {
  const auto c = HplConfig{.n = 64000, .nb = 64, .p = 4, .q = 8};
  const std::int64_t panels = c.panels();
  const auto windows = choose_windows(panels, 6, 8, 3);
  ASSERT_GT(windows.size(), 3u);
  const auto seconds = [&](std::int64_t k) {
    // Most local rows and columns, counted block by block.
    const std::int64_t from = (k + 1) * c.nb, blocks = from < c.n ? (c.n - from + c.nb - 1) / c.nb : 0;
    const auto rows = static_cast<double>((blocks + c.p - 1) / c.p * c.nb);
    // N + 1 columns: the right-hand side is a block of its own, of one column.
    const std::int64_t all = blocks + 1;
    const bool alone = (all - 1) % c.q == 0;
    const auto columns =
        static_cast<double>(alone ? (all - 1) / c.q * c.nb + 1 : (all + c.q - 1) / c.q * c.nb);
    return 1e-9 * rows * (from < c.n ? columns : 1) + 1e-7 * (rows + (from < c.n ? columns : 1)) + 1e-5;
  };
  std::vector<std::vector<PanelSeconds>> measured;
  for (const auto& w : windows) {
    measured.emplace_back();
    for (std::int64_t k = w.measured; k < w.last; ++k) {
      PanelSeconds p;
      p.s[PanelSeconds::kTime] = seconds(k);
      measured.back().push_back(p);
    }
  }
  double total = 0;
  for (std::int64_t k = 0; k < panels; ++k) total += seconds(k);
  const auto fit = fit_panels(c, windows, measured);
  EXPECT_NEAR(fit.total.s[PanelSeconds::kTime] / total, 1, 1e-6);
  EXPECT_LT(fit.relative_error, 1e-6);
}

}  // namespace
}  // namespace weft::hpl_gen
