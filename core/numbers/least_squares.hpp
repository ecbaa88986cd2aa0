// Weighted least squares and segmented straight lines: the statistics behind `weft fit` and the sampling of HPL panels.
//
// solve_least_squares() minimises sum w_i (y_i - sum_j c_j x_ij)^2 by Householder reflections on scaled columns, so
// that columns of very different size (1 and m*n*k) do no harm. O(n p^2).
//
// fit_segments() cuts points (x, y), sorted by x, into stretches with a straight line each. For every number K of
// stretches dynamic programming finds the cut with the least weighted squared error (Bellman, CACM 4(6), 1961); K is
// the one with the least Bayesian information criterion n ln(error / n) + (3 K - 1) ln n (Schwarz, 1978; two
// coefficients a line, one break between lines). Errors are relative: weights are 1 / (local mean of y)^2, which unlike
// 1 / y^2 do not pull the line below noisy points. A line that would fall becomes a constant: no message gets cheaper
// by growing. O(K n^2) time, O(K n) memory; at most kMaxPoints distinct x.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/result.hpp"

namespace weft {

struct LinearFit {
  std::vector<double> coefficient;  // one per column; 0 for a column that the others explain
  std::vector<bool> explained;      // columns that those before explain, or that are 0
  std::vector<double> std_error;    // of each, from the weighted residuals
  double r2 = 0;                    // share of the weighted variance that is explained
  double max_relative = 0;          // largest |y - fit| / |y|
  double mean_relative = 0;         // mean of the same
};
// columns[j][i] is x_ij. REQUIRES: all columns, y and w of one length >= 1; w > 0.
[[nodiscard]] LinearFit solve_least_squares(const std::vector<std::vector<double>>& columns,
                                            std::span<const double> y, std::span<const double> w);

struct DataPoint {
  double x = 0, y = 0;
};
struct LineSegment {
  double from = 0;  // x of its first point; 0 for the first segment
  double intercept = 0, slope = 0;
  std::size_t points = 0;
  double r2 = 0, max_relative = 0, mean_relative = 0;
};

inline constexpr std::size_t kMaxPoints = 4000;

struct SegmentOptions {
  std::size_t max_segments = 8;
  std::size_t min_points = 4;         // a segment has at least so many distinct x
  std::vector<double> breaks;         // forced: starts of the second and later segments; no search
  double min_intercept = -1e300;      // lines are bent to start no lower
  double min_slope = 0;               // ... and to rise no slower
  std::span<const double> reference;  // errors are relative to it instead of y (same order as points)
};

// Points are sorted by x, equal x averaged. Errors (kBadInput without a place): too few or too many points.
[[nodiscard]] Result<std::vector<LineSegment>> fit_segments(std::vector<DataPoint> points,
                                                            const SegmentOptions& options);
[[nodiscard]] double evaluate(std::span<const LineSegment> segments, double x);

}  // namespace weft
