#include "hpl_gen/hpl_sampling.hpp"

#include <algorithm>
#include <cmath>

namespace weft::hpl_gen {
namespace {

constexpr std::size_t kTerms = 3;
using Terms = std::array<double, kTerms>;
using Part = PanelSeconds::Part;

// Most rows (or columns) from `from` on that any of `procs` processes has, block-cyclic by `nb`.
double most_local(std::int64_t from, std::int64_t to, std::int64_t nb, std::int64_t procs) {
  if (from >= to) return 0;
  const std::int64_t first = from / nb, blocks = (to + nb - 1) / nb - first;
  const std::int64_t full = (blocks + procs - 1) / procs;
  // The last block may be short; it matters only if its process has as many blocks as any.
  const bool alone = (blocks - 1) % procs == 0;
  return static_cast<double>(alone ? (full - 1) * nb + to - (first + blocks - 1) * nb : full * nb);
}

std::vector<Terms> terms_of(const HplConfig& c) {
  std::vector<Terms> out;
  const int depth = c.q == 1 ? 0 : c.depth;
  for (std::int64_t k = 0; k < c.panels(); ++k) {
    // Iteration k updates with panel k - depth.
    const std::int64_t from = std::min(c.n, std::max<std::int64_t>(0, k - depth + 1) * c.nb);
    const double rows = most_local(from, c.n, c.nb, c.p), columns = most_local(from, c.n + 1, c.nb, c.q);
    out.push_back({rows * columns, rows + columns, 1});
  }
  return out;
}

// Least squares by the normal equations of scaled columns, Gauss with pivoting; a singular system drops terms.
Terms least_squares(std::span<const Terms> x, std::span<const double> y) {
  Terms scale{};
  for (const Terms& row : x)
    for (std::size_t j = 0; j < kTerms; ++j) scale[j] = std::max(scale[j], std::fabs(row[j]));
  double a[kTerms][kTerms + 1] = {};
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t j = 0; j < kTerms; ++j) {
      if (scale[j] == 0) continue;
      const double xj = x[i][j] / scale[j];
      for (std::size_t l = 0; l < kTerms; ++l)
        if (scale[l] > 0) a[j][l] += xj * x[i][l] / scale[l];
      a[j][kTerms] += xj * y[i];
    }
  Terms c{};
  bool used[kTerms] = {};
  std::size_t pivot_row[kTerms];
  for (std::size_t j = 0; j < kTerms; ++j) {
    std::size_t best = kTerms;
    for (std::size_t r = 0; r < kTerms; ++r)
      if (!used[r] && (best == kTerms || std::fabs(a[r][j]) > std::fabs(a[best][j]))) best = r;
    pivot_row[j] = kTerms;
    if (best == kTerms || std::fabs(a[best][j]) < 1e-12 * static_cast<double>(x.size())) continue;
    used[best] = true;
    pivot_row[j] = best;
    for (std::size_t r = 0; r < kTerms; ++r) {
      if (r == best) continue;
      const double f = a[r][j] / a[best][j];
      for (std::size_t l = 0; l <= kTerms; ++l) a[r][l] -= f * a[best][l];
    }
  }
  for (std::size_t j = 0; j < kTerms; ++j)
    if (pivot_row[j] != kTerms && scale[j] > 0)
      c[j] = a[pivot_row[j]][kTerms] / a[pivot_row[j]][j] / scale[j];
  return c;
}

double dot(const Terms& a, const Terms& b) {
  double s = 0;
  for (std::size_t j = 0; j < kTerms; ++j) s += a[j] * b[j];
  return s;
}

// A fitted quantity: coefficients and what they leave at the windows' middles.
struct Curve {
  Terms coefficients{};
  std::vector<double> at, rest;
  [[nodiscard]] double operator()(double k, const Terms& terms) const {
    const double fit = dot(coefficients, terms);
    const auto up = static_cast<std::size_t>(std::upper_bound(at.begin(), at.end(), k) - at.begin());
    if (up == 0) return fit + rest.front();
    if (up == at.size()) return fit + rest.back();
    const double w = (k - at[up - 1]) / (at[up] - at[up - 1]);
    return fit + rest[up - 1] * (1 - w) + rest[up] * w;
  }
};

Curve make_curve(std::span<const double> at, std::span<const Terms> x, std::span<const double> y) {
  Curve c;
  c.coefficients = least_squares(x, y);
  c.at.assign(at.begin(), at.end());
  for (std::size_t i = 0; i < x.size(); ++i) c.rest.push_back(y[i] - dot(c.coefficients, x[i]));
  return c;
}

}  // namespace

std::vector<SampleWindow> choose_windows(std::int64_t panels, int count, std::int64_t width,
                                         std::int64_t warm_up) {
  std::vector<SampleWindow> out;
  const auto total = static_cast<double>(panels);
  std::int64_t done = 0;
  for (int i = 0; i < count; ++i) {
    const double t = static_cast<double>(i) / (count - 1);
    // The density of windows goes with the square root of what is left: time goes with its square.
    auto from = static_cast<std::int64_t>(std::floor(total * (1 - std::pow(1 - t, 2.0 / 3.0))));
    from = std::min(from, panels - width);
    const std::int64_t first = from - warm_up;
    if (i == 0)
      out.push_back({0, 0, warm_up, std::min(panels, warm_up + width)});
    else if (first > done)
      out.push_back({first, from, from, from + width});
    else
      continue;
    done = out.back().last;
  }
  // Too few gaps to save anything: all panels.
  std::int64_t simulated = 0;
  for (const SampleWindow& w : out) simulated += w.last - w.first;
  if (out.size() < 2 || out.back().last != panels || 2 * simulated > panels) return {{0, 0, 0, panels}};
  return out;
}

SampleFit fit_panels(const HplConfig& config, std::span<const SampleWindow> windows,
                     std::span<const std::vector<PanelSeconds>> measured) {
  SampleFit fit;
  const std::vector<Terms> terms = terms_of(config);
  fit.panels.resize(terms.size());
  std::vector<std::uint8_t> known(terms.size(), 0);
  std::vector<double> at;
  std::vector<Terms> x;
  std::array<std::vector<double>, PanelSeconds::kParts> y;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const std::int64_t from = windows[w].fitted, to = windows[w].last;
    const auto n = static_cast<double>(to - from);
    Terms mean{};
    PanelSeconds sum;
    for (std::int64_t k = windows[w].measured; k < to; ++k) {
      const auto i = static_cast<std::size_t>(k);
      fit.panels[i] = measured[w][static_cast<std::size_t>(k - windows[w].measured)];
      known[i] = 1;
      if (k < from) continue;
      sum += fit.panels[i];
      for (std::size_t j = 0; j < kTerms; ++j) mean[j] += terms[i][j] / n;
    }
    at.push_back(static_cast<double>(from + to - 1) / 2);
    x.push_back(mean);
    for (std::size_t p = 0; p < PanelSeconds::kParts; ++p) y[p].push_back(sum.s[p] / n);
  }
  std::vector<double> stands_for(windows.size(), 0);  // panels that are nearest to this window
  if (windows.size() > 1) {
    std::array<Curve, PanelSeconds::kParts> curves;
    for (std::size_t p = 0; p < PanelSeconds::kParts; ++p) curves[p] = make_curve(at, x, y[p]);
    std::size_t near = 0;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const auto k = static_cast<double>(i);
      while (near + 1 < at.size() && std::fabs(at[near + 1] - k) < std::fabs(at[near] - k)) ++near;
      if (known[i] != 0) continue;
      ++stands_for[near];
      for (std::size_t p = 0; p < PanelSeconds::kParts; ++p)
        fit.panels[i].s[p] = std::max(0.0, curves[p](k, terms[i]));
    }
  }
  for (const PanelSeconds& p : fit.panels) fit.total += p;
  if (windows.size() > 3) {
    double sum = 0, squares = 0;
    for (std::size_t w = 1; w + 1 < windows.size(); ++w) {
      std::vector<double> a = at, b = y[Part::kTime];
      std::vector<Terms> t = x;
      const auto drop = static_cast<std::ptrdiff_t>(w);
      a.erase(a.begin() + drop);
      b.erase(b.begin() + drop);
      t.erase(t.begin() + drop);
      const double error = (make_curve(a, t, b)(at[w], x[w]) - y[Part::kTime][w]) * stands_for[w];
      sum += error;
      squares += error * error;
    }
    fit.relative_error = (std::fabs(sum) / 2 + std::sqrt(squares)) / fit.total.s[Part::kTime];
  }
  return fit;
}

}  // namespace weft::hpl_gen
