// From a few windows of consecutive panels to all panels of an HPL run, with an error estimate.
//
// What panel k takes is close to a b(k), b(k) = {r(k) c(k), r(k) + c(k), 1}: r and c are the most local rows and
// columns of the trailing matrix that any process has. They go down in steps of NB, P or Q panels apart, and so does
// the time; a polynomial in k would not see it. Least squares over the windows give a; what it leaves is interpolated
// linearly between windows. Panels that were measured count as measured.
//
// Error estimate: half the width of an interval that holds what all panels together would have given, in 95 of 100
// runs. Three things that the windows themselves show go into it, each as seconds over the panels that a window speaks
// for:
//   interpolation  each window but the first and the last is left out in turn and predicted from the others
//   scatter        how far single panels of a window lie from its mean along the curve (noise, ranks out of step)
//   drift          how far the later half of a window lies from its earlier half (what the warm-up has not settled)
// The root of the sum of their squares times a factor for each part. The factors are no theory: they are what 95 % and
// more of random runs asked for (docs/hpl.md says how many, which, and how others confirmed them).
// No estimate from fewer than kWindowsToEstimate windows or windows of fewer than kPanelsToEstimate panels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "hpl_gen/hpl_dat.hpp"

namespace weft::hpl_gen {

// What is known of a panel: seconds by which the run went on, and of these, mean over ranks, in each part.
struct PanelSeconds {
  enum Part : std::uint8_t { kTime, kPfact, kBcast, kSwap, kUpdate, kBcastTook, kParts };
  std::array<double, kParts> s{};
  PanelSeconds& operator+=(const PanelSeconds& o) {
    for (std::size_t i = 0; i < kParts; ++i) s[i] += o.s[i];
    return *this;
  }
};

// Panels first .. last-1 are simulated, measured .. last-1 are known then, fitted .. last-1 stand for others. The
// window that begins with the run is known from its first panel on, but its pipeline fills at first, so these stand for
// none.
struct SampleWindow {
  std::int64_t first = 0, measured = 0, fitted = 0, last = 0;
};

// `count` windows of `width` measured panels after `warm_up` others, denser where time is; the first begins with the
// run, the last ends with it. Fewer if they would overlap: one window of all panels then.
// REQUIRES: count >= 2, width >= 1.
[[nodiscard]] std::vector<SampleWindow> choose_windows(std::int64_t panels, int count, std::int64_t width,
                                                       std::int64_t warm_up);

inline constexpr double kConfidence = 0.95;
inline constexpr std::size_t kWindowsToEstimate = 4;
inline constexpr std::int64_t kPanelsToEstimate = 4;

// The seconds of all panels from those measured. `measured[i]`: of windows[i].measured .. last-1, one each.
struct SampleFit {
  std::vector<PanelSeconds> panels;
  PanelSeconds total;
  // Seconds that `total` is off by at most, with kConfidence, part by part; 0 where every panel was measured; nullopt:
  // too few windows or panels to say. Nothing is claimed for kBcastTook (0).
  std::optional<PanelSeconds> error;
  // The same for the back substitution, which the last window runs whole, but from ranks that are in step as the window
  // left them.
  double solve_error = 0;
};
// REQUIRES: `windows` in order, at least one.
[[nodiscard]] SampleFit fit_panels(const HplConfig& config, std::span<const SampleWindow> windows,
                                   std::span<const std::vector<PanelSeconds>> measured);

}  // namespace weft::hpl_gen
