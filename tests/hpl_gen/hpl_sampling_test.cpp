// The sampling of panels against panels made by formula.
#include "hpl_gen/hpl_sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include "core/rng.hpp"

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
  ASSERT_TRUE(fit.error.has_value());
  EXPECT_LT(fit.error->s[PanelSeconds::kTime], 1e-6 * total);
}

// Seconds of a panel that no fit can know: the curve, a step every seven panels, noise that forgets slowly.
std::vector<std::vector<PanelSeconds>> noisy(std::span<const SampleWindow> windows, std::int64_t panels,
                                             Rng& rng, double& total) {
  std::vector<double> all;
  double drift = 0;
  for (std::int64_t k = 0; k < panels; ++k) {
    const double left = 1 - static_cast<double>(k) / static_cast<double>(panels);
    drift = 0.7 * drift + 0.1 * (static_cast<double>(rng.below(1 << 20)) / (1 << 20) - 0.5);
    all.push_back(left * left * (1 + drift) + (k % 7 == 0 ? 0.05 : 0));
  }
  total = 0;
  for (const double s : all) total += s;
  std::vector<std::vector<PanelSeconds>> measured;
  for (const SampleWindow& w : windows) {
    measured.emplace_back();
    for (std::int64_t k = w.measured; k < w.last; ++k) {
      PanelSeconds p;
      p.s[PanelSeconds::kTime] = all[static_cast<std::size_t>(k)];
      measured.back().push_back(p);
    }
  }
  return measured;
}

// The panels here follow none of the models that the factors were found with.
TEST(SampleFit, TheIntervalHoldsTheTotalOfPanelsWithNoiseAndSteps) {
  const auto c = HplConfig{.n = 64000, .nb = 64, .p = 4, .q = 8};
  int inside = 0;
  constexpr int kRuns = 300;
  double widest = 0;
  for (int run = 0; run < kRuns; ++run) {
    Rng rng(static_cast<std::uint64_t>(run) + 1);
    const auto windows = choose_windows(c.panels(), 4 + run % 9, 8, 3);
    double total = 0;
    const auto measured = noisy(windows, c.panels(), rng, total);
    const auto fit = fit_panels(c, windows, measured);
    ASSERT_TRUE(fit.error.has_value()) << run;
    const double half = fit.error->s[PanelSeconds::kTime];
    widest = std::max(widest, half / total);
    if (std::fabs(fit.total.s[PanelSeconds::kTime] - total) <= half) ++inside;
  }
  EXPECT_GE(inside, kRuns * kConfidence);
  EXPECT_LT(widest, 0.25);  // an interval of everything holds everything
}

// With one process row: panels that accelerators take s^2 for and hosts `turn` s, s a share of the panels, the longer of the two. Wherever it turns,
// windows show one parabola up to there, so that only how long hosts wait in them tells that it will.
TEST(SampleFit, TheIntervalHoldsRunsThatTurnFromAcceleratorsToHosts) {
  const auto c = HplConfig{.n = 64000, .nb = 256, .p = 1, .q = 2, .program = Program::kRocHpl};
  for (const int count : {4, 5, 6})
    for (int percent = 1; percent <= 100; ++percent) {
      const double turn = percent * 0.01;
      const auto windows = choose_windows(c.panels(), count, 8, 6);
      ASSERT_EQ(windows.size(), static_cast<std::size_t>(count));
      double total = 0;
      std::vector<PanelSeconds> all;
      for (std::int64_t k = 0; k < c.panels(); ++k) {
        const double s = 1 - static_cast<double>(k) / static_cast<double>(c.panels());
        PanelSeconds& panel = all.emplace_back();
        panel.s[PanelSeconds::kTime] = std::max(s * s, turn * s);
        panel.s[PanelSeconds::kUpdate] = panel.s[PanelSeconds::kTime] - turn * s;
        total += panel.s[PanelSeconds::kTime];
      }
      std::vector<std::vector<PanelSeconds>> measured;
      for (const SampleWindow& w : windows)
        measured.emplace_back(all.begin() + w.measured, all.begin() + w.last);
      const auto fit = fit_panels(c, windows, measured);
      ASSERT_TRUE(fit.error.has_value());
      const double half = fit.error->s[PanelSeconds::kTime];
      EXPECT_LE(std::fabs(fit.total.s[PanelSeconds::kTime] - total), half) << turn << " " << count;
      // Hosts that hardly ever hold the run up hardly widen it.
      EXPECT_LT(half, percent == 1 ? 5e-3 * total : 0.5 * total) << turn << " " << count;
    }
}

TEST(SampleFit, WhatCannotBeEstimatedSaysSo) {
  const auto c = HplConfig{.n = 64000, .nb = 64, .p = 4, .q = 8};
  double total = 0;
  Rng rng(1);
  for (const auto& [count, width, known] :
       {std::tuple{2, 8, false}, {3, 8, false}, {4, 8, true}, {6, 3, false}, {6, 4, true}}) {
    const auto windows = choose_windows(c.panels(), count, width, 3);
    const auto fit = fit_panels(c, windows, noisy(windows, c.panels(), rng, total));
    EXPECT_EQ(fit.error.has_value(), known) << count << " windows of " << width;
    if (known) {
      EXPECT_GT(fit.error->s[PanelSeconds::kTime], 0);
    }
  }
  const std::vector<SampleWindow> all = {{0, 0, 0, c.panels()}};
  const auto fit = fit_panels(c, all, noisy(all, c.panels(), rng, total));
  ASSERT_TRUE(fit.error.has_value());
  EXPECT_EQ(fit.error->s[PanelSeconds::kTime], 0);
  EXPECT_NEAR(fit.total.s[PanelSeconds::kTime], total, 1e-9 * total);
}

}  // namespace
}  // namespace weft::hpl_gen
