#include "core/numbers/least_squares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/check.hpp"

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kNeighbours = 3;  // on either side, for the local mean

// Weighted sums over a stretch of points, from which its line follows in O(1). They are added up along each stretch:
// differences of running sums would lose small weights behind large ones.
struct Sums {
  long double w = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  void add(const DataPoint& p, double weight) {
    const long double wx = static_cast<long double>(weight) * p.x,
                      wy = static_cast<long double>(weight) * p.y;
    w += weight;
    x += wx;
    y += wy;
    xx += wx * p.x;
    xy += wx * p.y;
    yy += wy * p.y;
  }
};
struct Line {
  double intercept = 0, slope = 0, error = 0;
};

Line line_of(const Sums& s, double min_intercept, double min_slope) {
  Line l;
  const long double determinant = s.w * s.xx - s.x * s.x;
  long double slope = 0;
  if (determinant > 1e-15L * s.w * s.xx) slope = (s.w * s.xy - s.x * s.y) / determinant;
  if (slope < min_slope) slope = min_slope;
  long double intercept = (s.y - slope * s.x) / s.w;
  if (intercept < min_intercept) {
    intercept = min_intercept;
    slope = s.xx > 0 ? std::max<long double>(min_slope, (s.xy - intercept * s.x) / s.xx) : min_slope;
  }
  const long double error = s.yy - 2 * intercept * s.y - 2 * slope * s.xy + intercept * intercept * s.w +
                            2 * intercept * slope * s.x + slope * slope * s.xx;
  l.intercept = static_cast<double>(intercept);
  l.slope = static_cast<double>(slope);
  l.error = static_cast<double>(std::max<long double>(0, error));
  return l;
}

// Sorted points with one y per x, and what errors are relative to.
struct Prepared {
  std::vector<DataPoint> points;
  std::vector<double> weight;
};
Prepared prepare(std::vector<DataPoint> in, std::span<const double> reference) {
  std::vector<std::size_t> order(in.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return in[a].x < in[b].x; });
  Prepared out;
  std::vector<double> scale;
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    double y = 0, r = 0;
    for (; j < order.size() && in[order[j]].x == in[order[i]].x; ++j) {
      y += in[order[j]].y;
      r += std::fabs(reference.empty() ? in[order[j]].y : reference[order[j]]);
    }
    const auto n = static_cast<double>(j - i);
    out.points.push_back({in[order[i]].x, y / n});
    scale.push_back(r / n);
    i = j;
  }
  for (std::size_t i = 0; i < scale.size(); ++i) {
    const std::size_t lo = i < kNeighbours ? 0 : i - kNeighbours;
    const std::size_t hi = std::min(scale.size(), i + kNeighbours + 1);
    const double mean = std::accumulate(scale.begin() + static_cast<std::ptrdiff_t>(lo),
                                        scale.begin() + static_cast<std::ptrdiff_t>(hi), 0.0) /
                        static_cast<double>(hi - lo);
    out.weight.push_back(mean > 0 ? 1 / (mean * mean) : 1);
  }
  return out;
}

LineSegment describe(const Prepared& p, std::size_t lo, std::size_t hi, const Line& line) {
  LineSegment s;
  s.from = lo == 0 ? 0 : p.points[lo].x;
  s.intercept = line.intercept;
  s.slope = line.slope;
  s.points = hi - lo;
  double sum = 0, weights = 0, mean = 0, residual = 0, total = 0;
  for (std::size_t i = lo; i < hi; ++i) {
    weights += p.weight[i];
    mean += p.weight[i] * p.points[i].y;
  }
  mean /= weights;
  for (std::size_t i = lo; i < hi; ++i) {
    const double r = p.points[i].y - (line.intercept + line.slope * p.points[i].x);
    residual += p.weight[i] * r * r;
    total += p.weight[i] * (p.points[i].y - mean) * (p.points[i].y - mean);
    const double relative = std::fabs(r) * std::sqrt(p.weight[i]);
    s.max_relative = std::max(s.max_relative, relative);
    sum += relative;
  }
  s.mean_relative = sum / static_cast<double>(hi - lo);
  s.r2 = total > 0 ? std::max(0.0, 1 - residual / total) : 1;
  return s;
}

}  // namespace

LinearFit solve_least_squares(const std::vector<std::vector<double>>& columns, std::span<const double> y,
                              std::span<const double> w) {
  const std::size_t p = columns.size(), n = y.size();
  WEFT_CHECK(p > 0 && n > 0 && w.size() == n, "least squares without data");
  // Weighted columns of length 1; row-major would thrash for large n.
  std::vector<std::vector<double>> a(p, std::vector<double>(n));
  std::vector<double> b(n), length(p, 0);
  for (std::size_t i = 0; i < n; ++i) b[i] = std::sqrt(w[i]) * y[i];
  for (std::size_t j = 0; j < p; ++j) {
    for (std::size_t i = 0; i < n; ++i) {
      a[j][i] = std::sqrt(w[i]) * columns[j][i];
      length[j] += a[j][i] * a[j][i];
    }
    length[j] = std::sqrt(length[j]);
    if (length[j] > 0)
      for (double& v : a[j]) v /= length[j];
  }
  std::vector<double> diagonal(p, 0);
  std::vector<bool> used(p, false);
  std::size_t row = 0;
  std::vector<std::size_t> row_of(p, 0);
  for (std::size_t j = 0; j < p && row < n; ++j) {
    double norm = 0;
    for (std::size_t i = row; i < n; ++i) norm += a[j][i] * a[j][i];
    norm = std::sqrt(norm);
    if (norm < 1e-10) continue;  // explained by the columns before it
    const double alpha = a[j][row] > 0 ? -norm : norm;
    std::vector<double> v(a[j].begin() + static_cast<std::ptrdiff_t>(row), a[j].end());
    v[0] -= alpha;
    const double vv = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
    const auto reflect = [&](std::vector<double>& c) {
      double d = 0;
      for (std::size_t i = row; i < n; ++i) d += v[i - row] * c[i];
      for (std::size_t i = row; i < n; ++i) c[i] -= 2 * d / vv * v[i - row];
    };
    for (std::size_t k = j + 1; k < p; ++k) reflect(a[k]);
    reflect(b);
    diagonal[j] = alpha;
    used[j] = true;
    row_of[j] = row++;
  }
  LinearFit f;
  f.coefficient.assign(p, 0);
  for (const bool u : used) f.explained.push_back(!u);
  f.std_error.assign(p, 0);
  const auto back_substitute = [&](std::span<const double> right) {
    std::vector<double> c(p, 0);
    for (std::size_t j = p; j-- > 0;) {
      if (!used[j]) continue;
      double s = right[row_of[j]];
      for (std::size_t k = j + 1; k < p; ++k)
        if (used[k]) s -= a[k][row_of[j]] * c[k];
      c[j] = s / diagonal[j];
    }
    return c;
  };
  f.coefficient = back_substitute(b);
  double weights = 0, mean = 0, residual = 0, total = 0;
  for (std::size_t j = 0; j < p; ++j)
    if (length[j] > 0) f.coefficient[j] /= length[j];
  for (std::size_t i = 0; i < n; ++i) {
    weights += w[i];
    mean += w[i] * y[i];
  }
  mean /= weights;
  for (std::size_t i = 0; i < n; ++i) {
    double fit = 0;
    for (std::size_t j = 0; j < p; ++j) fit += f.coefficient[j] * columns[j][i];
    residual += w[i] * (y[i] - fit) * (y[i] - fit);
    total += w[i] * (y[i] - mean) * (y[i] - mean);
    const double relative = y[i] != 0 ? std::fabs((y[i] - fit) / y[i]) : 0;
    f.max_relative = std::max(f.max_relative, relative);
    f.mean_relative += relative / static_cast<double>(n);
  }
  f.r2 = total > 0 ? 1 - residual / total : 1;
  // Variance of c = sigma^2 (R^T R)^-1: rows of R^-1 by back substitution on unit vectors.
  const double sigma2 = n > row ? residual / static_cast<double>(n - row) : 0;
  for (std::size_t u = 0; u < p; ++u) {
    if (!used[u]) continue;
    std::vector<double> unit(p, 0);
    unit[row_of[u]] = 1;
    const auto c = back_substitute(unit);
    for (std::size_t j = 0; j < p; ++j)
      if (length[j] > 0) f.std_error[j] += sigma2 * c[j] * c[j] / (length[j] * length[j]);
  }
  for (double& e : f.std_error) e = std::sqrt(e);
  return f;
}

Result<std::vector<LineSegment>> fit_segments(std::vector<DataPoint> in, const SegmentOptions& o) {
  const Prepared p = prepare(std::move(in), o.reference);
  const std::size_t n = p.points.size();
  if (n < 2) return bad_input({}, "too few sizes for a line", fmt::format("{}", n), "2 or more");
  if (n > kMaxPoints)
    return bad_input({}, "too many different sizes", fmt::format("{}", n),
                     fmt::format("at most {}", kMaxPoints));
  const auto line = [&](std::size_t lo, std::size_t hi) {
    Sums sums;
    for (std::size_t i = lo; i < hi; ++i) sums.add(p.points[i], p.weight[i]);
    return line_of(sums, o.min_intercept, o.min_slope);
  };
  std::vector<std::size_t> starts{0};
  std::vector<double> forced;  // the break at each later start: one before the first point cuts nothing
  if (!o.breaks.empty()) {
    for (const double b : o.breaks) {
      const auto at = std::lower_bound(p.points.begin(), p.points.end(), b,
                                       [](const DataPoint& q, double x) { return q.x < x; });
      const auto i = static_cast<std::size_t>(at - p.points.begin());
      if (i == 0 || i == n) continue;
      if (i > starts.back()) {
        starts.push_back(i);
        forced.push_back(b);
      } else if (i == starts.back()) {
        forced.back() = b;  // no size lies between the two
      }
    }
  } else {
    const std::size_t least = std::max<std::size_t>(2, std::min(o.min_points, n));
    const std::size_t most = std::max<std::size_t>(1, std::min(o.max_segments, n / least));
    // best[k][j]: least error of the first j points in k+1 segments; from[k][j]: start of the last one.
    std::vector<std::vector<double>> best(most, std::vector<double>(n + 1, kInfinity));
    std::vector<std::vector<std::uint32_t>> from(most, std::vector<std::uint32_t>(n + 1, 0));
    // All stretches that start at i; what ends at i is final by then.
    for (std::size_t i = 0; i + least <= n; ++i) {
      Sums sums;
      for (std::size_t j = i + 1; j <= n; ++j) {
        sums.add(p.points[j - 1], p.weight[j - 1]);
        if (j - i < least) continue;
        const double error = line_of(sums, o.min_intercept, o.min_slope).error;
        if (i == 0) best[0][j] = error;
        for (std::size_t k = 1; k < most; ++k) {
          const double e = best[k - 1][i] + error;
          if (e >= best[k][j]) continue;
          best[k][j] = e;
          from[k][j] = static_cast<std::uint32_t>(i);
        }
      }
    }
    // Relative errors below 1e-6 are rounding of the sums, not a reason for more segments.
    const double floor = static_cast<double>(n) * 1e-12;
    double least_bic = kInfinity;
    std::size_t chosen = 0;
    for (std::size_t k = 0; k < most; ++k) {
      if (best[k][n] == kInfinity) continue;
      const auto m = static_cast<double>(n);
      const double bic =
          m * std::log((best[k][n] + floor) / m) + (3.0 * static_cast<double>(k + 1) - 1) * std::log(m);
      if (bic < least_bic) {
        least_bic = bic;
        chosen = k;
      }
    }
    std::vector<std::size_t> cuts;
    for (std::size_t k = chosen, j = n; k > 0; --k) {
      j = from[k][j];
      cuts.push_back(j);
    }
    starts.insert(starts.end(), cuts.rbegin(), cuts.rend());
  }
  std::vector<LineSegment> out;
  for (std::size_t s = 0; s < starts.size(); ++s) {
    const std::size_t hi = s + 1 < starts.size() ? starts[s + 1] : n;
    out.push_back(describe(p, starts[s], hi, line(starts[s], hi)));
    if (s > 0 && !forced.empty()) out.back().from = forced[s - 1];
  }
  return out;
}

double evaluate(std::span<const LineSegment> segments, double x) {
  std::size_t i = segments.size() - 1;
  while (i > 0 && segments[i].from > x) --i;
  return segments[i].intercept + segments[i].slope * x;
}

}  // namespace weft
