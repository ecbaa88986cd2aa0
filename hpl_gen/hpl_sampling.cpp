#include "hpl_gen/hpl_sampling.hpp"

#include <algorithm>
#include <cmath>

#include "core/numbers/least_squares.hpp"
#include "hpl_gen/block_cyclic.hpp"

namespace weft::hpl_gen {
namespace {

constexpr std::size_t kTerms = 3;
using Terms = std::array<double, kTerms>;
using Part = PanelSeconds::Part;

std::vector<Terms> terms_of(const HplConfig& c) {
  std::vector<Terms> out;
  const int depth = c.look_ahead();
  for (std::int64_t k = 0; k < c.panels(); ++k) {
    // Iteration k updates with panel k - depth.
    const std::int64_t from = std::min(c.n, std::max<std::int64_t>(0, k - depth + 1) * c.nb);
    const auto rows = static_cast<double>(most_local_count(from, c.n, c.nb, c.p));
    const auto columns = static_cast<double>(most_local_count(from, c.n + 1, c.nb, c.q));
    out.push_back({rows * columns, rows + columns, 1});
  }
  return out;
}

Terms least_squares(std::span<const Terms> x, std::span<const double> y) {
  std::vector<std::vector<double>> columns(kTerms);
  for (const Terms& row : x)
    for (std::size_t j = 0; j < kTerms; ++j) columns[j].push_back(row[j]);
  const LinearFit fit = solve_least_squares(columns, y, std::vector<double>(y.size(), 1.0));
  Terms out{};
  std::copy(fit.coefficient.begin(), fit.coefficient.end(), out.begin());
  return out;
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

// What a window is, in the terms of the fit.
struct FittedWindow {
  double at = 0;  // middle, in panels
  Terms mean{};
  std::array<double, PanelSeconds::kParts> y{};
  double interpolated = 0;  // panels that were not measured and are nearest to this window
  double speaks_for = 0;    // these and its own: a measured panel is not what the whole run has at that place
};

// What interval a spread of 1 s needs to hold 95 % of the errors, by part: docs/hpl.md.
constexpr std::array<double, PanelSeconds::kParts> kWiden = {1.75, 1.5, 3.25, 2.0, 2.5, 0};
// rocHPL's split update: how long hosts wait for panels and for their accelerators changes where the first part of the
// columns is used up, which windows miss. That many times the above.
constexpr std::array<double, PanelSeconds::kParts> kWidenSplit = {1.8, 2.0, 10.0, 1.25, 8.0, 1.0};
// Windows begin with all process columns in step, which swap rows over the ports of their hosts at once then and later
// in a run do not: that share of the sampled swap may be too much.
constexpr double kSwapInStep = 0.35;
// The same for the solve, of a panel's mean time in the last window.
constexpr double kSolveWiden = 0.6;

Curve curve_of(std::span<const FittedWindow> windows, std::size_t part, std::size_t without) {
  std::vector<double> at, y;
  std::vector<Terms> x;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    if (w == without) continue;
    at.push_back(windows[w].at);
    x.push_back(windows[w].mean);
    y.push_back(windows[w].y[part]);
  }
  return make_curve(at, x, y);
}

// Scatter and drift of one window's panels about the curve, in seconds over the panels it speaks for, squared.
double unrest(std::span<const double> about_curve, double speaks_for) {
  const std::size_t count = about_curve.size(), half = count / 2;
  const auto n = static_cast<double>(count);
  double mean = 0;
  for (const double r : about_curve) mean += r / n;
  double variance = 0, early = 0, late = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double r = about_curve[i] - mean;
    variance += r * r / (n - 1);
    (i < half ? early : late) += r;
  }
  const double drift =
      speaks_for * (late / static_cast<double>(count - half) - early / static_cast<double>(half));
  return (speaks_for * speaks_for / n + speaks_for) * variance + drift * drift;
}

// What the time misses where accelerators stop to hold up a run with one process row, in which only the panel goes on beside the
// update. With s panels left accelerators take a s^2 each, hosts b s to factor and send one, and the longer of the two is what the run takes. A
// window in which hosts wait a share u of the time is b s = (1 - u) a s^2: they take over at 1 - u of its s. If that is before the next window, the
// curve through both goes on as a s^2 and is too low by the integral of b s - a s^2 up to there, (1 - u)^3 a s^3 / 6 with the window's s; all that it
// lies below the straight line between the windows is a s^3 / 6. Leaving out windows does not show it: those before are on one parabola.
double missed_turn(std::span<const FittedWindow> windows, std::span<const PanelSeconds> panels,
                   std::span<const std::uint8_t> known) {
  double sum = 0;
  for (std::size_t w = 0; w + 1 < windows.size(); ++w) {
    const FittedWindow &from = windows[w], &to = windows[w + 1];
    const double time = from.y[Part::kTime], slope = (to.y[Part::kTime] - time) / (to.at - from.at);
    double below = 0;
    for (auto k = static_cast<std::size_t>(std::ceil(from.at)); static_cast<double>(k) < to.at; ++k)
      if (known[k] == 0)
        below += time + slope * (static_cast<double>(k) - from.at) - panels[k].s[Part::kTime];
    const double hosts = time > 0 ? std::clamp(1 - from.y[Part::kUpdate] / time, 0.0, 1.0) : 0;
    sum += std::max(below, 0.0) * hosts * hosts * hosts;
  }
  return sum;
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
  std::vector<FittedWindow> fitted;
  bool can_estimate = windows.size() >= kWindowsToEstimate;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    const std::int64_t from = windows[w].fitted, to = windows[w].last;
    const auto n = static_cast<double>(to - from);
    can_estimate = can_estimate && to - from >= kPanelsToEstimate;
    FittedWindow& f = fitted.emplace_back();
    for (std::int64_t k = windows[w].measured; k < to; ++k) {
      const auto i = static_cast<std::size_t>(k);
      fit.panels[i] = measured[w][static_cast<std::size_t>(k - windows[w].measured)];
      known[i] = 1;
      if (k < from) continue;
      for (std::size_t p = 0; p < PanelSeconds::kParts; ++p) f.y[p] += fit.panels[i].s[p] / n;
      for (std::size_t j = 0; j < kTerms; ++j) f.mean[j] += terms[i][j] / n;
    }
    f.at = static_cast<double>(from + to - 1) / 2;
    f.speaks_for = static_cast<double>(to - windows[w].measured);
  }
  const bool all = std::find(known.begin(), known.end(), 0) == known.end();
  if (all) {
    for (const PanelSeconds& p : fit.panels) fit.total += p;
    fit.error = PanelSeconds{};
    return fit;
  }

  std::array<Curve, PanelSeconds::kParts> curves;
  for (std::size_t p = 0; p < PanelSeconds::kParts; ++p) curves[p] = curve_of(fitted, p, fitted.size());
  std::size_t near = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto k = static_cast<double>(i);
    while (near + 1 < fitted.size() && std::fabs(fitted[near + 1].at - k) < std::fabs(fitted[near].at - k))
      ++near;
    if (known[i] != 0) continue;
    ++fitted[near].interpolated;
    ++fitted[near].speaks_for;
    for (std::size_t p = 0; p < PanelSeconds::kParts; ++p)
      fit.panels[i].s[p] = std::max(0.0, curves[p](k, terms[i]));
  }
  for (const PanelSeconds& p : fit.panels) fit.total += p;
  if (!can_estimate) return fit;

  fit.error.emplace();
  fit.solve_error = kSolveWiden * fitted.back().y[Part::kTime];
  std::vector<double> about_curve;
  for (std::size_t p = 0; p < PanelSeconds::kParts; ++p) {
    double squares = 0;
    for (std::size_t w = 0; w < windows.size(); ++w) {
      const FittedWindow& f = fitted[w];
      if (w > 0 && w + 1 < windows.size()) {
        const double missed = (curve_of(fitted, p, w)(f.at, f.mean) - f.y[p]) * f.interpolated;
        squares += missed * missed;
      }
      about_curve.clear();
      for (std::int64_t k = windows[w].fitted; k < windows[w].last; ++k) {
        const auto i = static_cast<std::size_t>(k);
        about_curve.push_back(fit.panels[i].s[p] - dot(curves[p].coefficients, terms[i]));
      }
      squares += unrest(about_curve, f.speaks_for);
    }
    fit.error->s[p] = kWiden[p] * std::sqrt(squares);
    if (on_accelerators(config.program)) fit.error->s[p] *= kWidenSplit[p];
  }
  // Process columns get out of step with every panel, windows begin in step: hosts that waited for their accelerators wait for broadcasts
  // later in a run. How much of one wait is the other is not known from windows.
  if (on_accelerators(config.program)) {
    if (config.p == 1)
      fit.error->s[Part::kTime] =
          std::hypot(fit.error->s[Part::kTime], missed_turn(fitted, fit.panels, known));
    const auto at_least = [&](Part part, double seconds) {
      fit.error->s[part] = std::max(fit.error->s[part], seconds);
    };
    at_least(Part::kBcast, fit.total.s[Part::kUpdate]);
    at_least(Part::kUpdate, fit.total.s[Part::kUpdate]);
    at_least(Part::kSwap, kSwapInStep * fit.total.s[Part::kSwap]);
  }
  return fit;
}

}  // namespace weft::hpl_gen
