// Coefficients that are known come back; cuts are those that trying all of them finds.
#include "core/numbers/least_squares.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/rng.hpp"
#include "tests/support/seed.hpp"

namespace weft {
namespace {

std::uint64_t seed() { return support::seed_or(1); }

TEST(LeastSquares, ColumnsOfVeryDifferentSizeKeepTheirCoefficients) {
  Rng rng(seed());
  SCOPED_TRACE("seed " + std::to_string(seed()));
  const std::vector<double> truth = {2.5e-6, 7.9e-11, 3e-10, 5e-10, 1e-10};
  std::vector<std::vector<double>> columns(5);
  std::vector<double> y, w;
  for (int i = 0; i < 300; ++i) {
    const double m = 1 + 4000 * rng.unit(), n = 1 + 4000 * rng.unit(), k = 1 + 400 * rng.unit();
    const double row[] = {1, m * n * k, m * n, m * k, n * k};
    double t = 0;
    for (int j = 0; j < 5; ++j) {
      columns[j].push_back(row[j]);
      t += truth[j] * row[j];
    }
    y.push_back(t);
    w.push_back(1 / (t * t));
  }
  const LinearFit f = solve_least_squares(columns, y, w);
  for (int j = 0; j < 5; ++j) EXPECT_NEAR(f.coefficient[j] / truth[j], 1, 1e-7) << j;
  EXPECT_NEAR(f.r2, 1, 1e-12);
  EXPECT_LT(f.max_relative, 1e-9);
}

TEST(LeastSquares, StandardErrorsOfALineAreThoseOfTheTextbook) {
  // Unit weights: var(slope) = s^2 / sum (x - mean)^2, s^2 = residuals / (n - 2).
  const std::vector<double> x = {1, 2, 3, 4, 7}, y = {1.1, 1.9, 3.2, 3.8, 7.1}, w(5, 1.0);
  const LinearFit f = solve_least_squares({std::vector<double>(5, 1.0), x}, y, w);
  double mx = 0, my = 0, sxx = 0, sxy = 0, residual = 0;
  for (int i = 0; i < 5; ++i) {
    mx += x[i] / 5;
    my += y[i] / 5;
  }
  for (int i = 0; i < 5; ++i) {
    sxx += (x[i] - mx) * (x[i] - mx);
    sxy += (x[i] - mx) * (y[i] - my);
  }
  const double slope = sxy / sxx, intercept = my - slope * mx;
  for (int i = 0; i < 5; ++i) residual += std::pow(y[i] - intercept - slope * x[i], 2);
  EXPECT_NEAR(f.coefficient[1], slope, 1e-13);
  EXPECT_NEAR(f.coefficient[0], intercept, 1e-13);
  EXPECT_NEAR(f.std_error[1], std::sqrt(residual / 3 / sxx), 1e-13);
  EXPECT_NEAR(f.std_error[0], std::sqrt(residual / 3 * (1.0 / 5 + mx * mx / sxx)), 1e-13);
}

TEST(LeastSquares, AColumnThatOthersExplainGetsZero) {
  const std::vector<double> one(4, 1.0), x = {1, 2, 3, 4}, y = {3, 5, 7, 9}, w(4, 1.0);
  const LinearFit f = solve_least_squares({one, x, x}, y, w);
  EXPECT_NEAR(f.coefficient[0], 1, 1e-12);
  EXPECT_NEAR(f.coefficient[1] + f.coefficient[2], 2, 1e-12);
  EXPECT_EQ(f.coefficient[2], 0);
}

std::vector<DataPoint> pieces(Rng& rng, double noise, const std::vector<LineSegment>& truth, int n) {
  std::vector<DataPoint> out;
  for (int i = 0; i < n; ++i) {
    const double x = std::floor(std::exp(18 * rng.unit()));
    out.push_back({x, evaluate(truth, x) * (1 + noise * (2 * rng.unit() - 1))});
  }
  return out;
}

TEST(Segments, KnownBreaksAndLinesComeBackWithAndWithoutNoise) {
  const std::vector<LineSegment> truth = {{0, 1e-6, 3e-10}, {8133, 6e-6, 1.5e-10}, {63305, 1.5e-5, 8.2e-11}};
  for (const double noise : {0.0, 0.02}) {
    Rng rng(seed());
    SCOPED_TRACE("seed " + std::to_string(seed()));
    auto points = pieces(rng, noise, truth, 400);
    auto f = fit_segments(points, {});
    ASSERT_TRUE(f) << f.error().message();
    if (noise > 0) {
      // The criterion may spend a segment more on noise; the lines must still be those of the truth.
      EXPECT_GE(f->size(), 3u);
      EXPECT_LE(f->size(), 5u);
      for (const DataPoint& p : points) EXPECT_NEAR(evaluate(*f, p.x) / evaluate(truth, p.x), 1, 0.03) << p.x;
      continue;
    }
    ASSERT_EQ(f->size(), 3u);
    for (std::size_t s = 0; s < 3; ++s) {
      EXPECT_NEAR((*f)[s].intercept / truth[s].intercept, 1, 1e-6);
      EXPECT_NEAR((*f)[s].slope / truth[s].slope, 1, 1e-6);
      // A break is where the first point beyond it is.
      double next = 1e300;
      for (const DataPoint& p : points)
        if (p.x >= truth[s].from) next = std::min(next, p.x);
      if (s > 0) {
        EXPECT_EQ((*f)[s].from, next);
      }
    }
  }
}

TEST(Segments, DynamicProgrammingFindsTheCutThatTryingAllOfThemFinds) {
  Rng rng(seed());
  SCOPED_TRACE("seed " + std::to_string(seed()));
  for (int round = 0; round < 20; ++round) {
    const auto points = pieces(rng, 0.2, {{0, 1, 1e-4}, {3000, 4, 1e-5}}, 14);
    SegmentOptions two;
    two.max_segments = 2;
    auto f = fit_segments(points, two);
    ASSERT_TRUE(f);
    if (f->size() < 2) continue;
    const auto error_of = [&](double cut) {
      SegmentOptions forced;
      forced.breaks = {cut};
      auto g = fit_segments(points, forced);
      double e = 0, n = 0;
      // mean_relative is no square; use r2 through the lines themselves.
      for (const LineSegment& s : *g) n += static_cast<double>(s.points);
      std::vector<DataPoint> sorted = points;
      std::sort(sorted.begin(), sorted.end(),
                [](const DataPoint& a, const DataPoint& b) { return a.x < b.x; });
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        double mean = 0, count = 0;
        for (std::size_t j = i < 3 ? 0 : i - 3; j < std::min(sorted.size(), i + 4); ++j, ++count)
          mean += sorted[j].y;
        e += std::pow((sorted[i].y - evaluate(*g, sorted[i].x)) / (mean / count), 2);
      }
      return e;
    };
    std::vector<double> xs;
    for (const DataPoint& p : points) xs.push_back(p.x);
    std::sort(xs.begin(), xs.end());
    if (std::adjacent_find(xs.begin(), xs.end()) != xs.end()) continue;
    const double found = error_of((*f)[1].from);
    for (std::size_t i = 4; i + 4 <= xs.size(); ++i) EXPECT_GE(error_of(xs[i]), found * (1 - 1e-9)) << i;
  }
}

TEST(Segments, ASegmentStartsAtItsOwnBreak) {
  std::vector<DataPoint> points;
  for (double x = 1024; x < 1e6; x *= 2) points.push_back({x, x < 65536 ? 1 + x / 1e4 : 20 + x / 1e5});
  const auto starts = [&](std::vector<double> breaks) {
    SegmentOptions o;
    o.breaks = std::move(breaks);
    auto f = fit_segments(points, o);
    EXPECT_TRUE(f);
    std::vector<double> out;
    for (const LineSegment& s : *f) out.push_back(s.from);
    return out;
  };
  EXPECT_EQ(starts({512, 65536}), (std::vector<double>{0, 65536})) << "no size is below the first";
  EXPECT_EQ(starts({40000, 50000, 262144}), (std::vector<double>{0, 50000, 262144})) << "none is between";
  EXPECT_EQ(starts({65536, 2e6}), (std::vector<double>{0, 65536})) << "none is beyond the second";
  EXPECT_EQ(starts({512}), (std::vector<double>{0}));
}

TEST(Segments, ALineNeverFallsAndLimitsHold) {
  auto f = fit_segments({{1, 5}, {2, 4}, {3, 3}, {4, 2}}, {});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->front().slope, 0);
  SegmentOptions o;
  o.min_intercept = 2;
  auto g = fit_segments({{10, 10}, {20, 20}, {30, 30}, {40, 40}}, o);
  ASSERT_TRUE(g);
  EXPECT_GE(g->front().intercept, 2);
  EXPECT_GT(g->front().slope, 0.8);
  auto few = fit_segments({{1, 1}}, {});
  ASSERT_FALSE(few);
  EXPECT_NE(few.error().message().find("too few"), std::string::npos);
}

}  // namespace
}  // namespace weft
