// CoreClocks: cores that compute faster while others of their CPU wait, where its power holds its clock down.
//
// A core that computes takes a power of P f^3 at the clock f (dynamic power is f V^2, and the voltage V that a clock needs grows as
// the clock), one that waits for messages `waiting` times as much. Kernels are measured while all cores compute, so with a share b
// of them computing the same power allows a clock that is
//
//   g = min(headroom, (b + (1 - b) waiting)^(-1/3))
//
// times as high (docs/kernels.md, "Power"). Ranks of a CPU are taken to wait alike: b is what a rank computed of its own time, averaged
// exponentially over `time`. A run begins with b = 1. Of one whose first `unseen` seconds are not replayed the average is of what is known: that
// beginning, and what was seen since.
// b is brought up to date only by the first computation after a wait, that is after whatever took time and was neither a computation
// nor a poll. What comes between two waits can be taken at once or one by one (run_ahead.hpp), with the same times.
// Complexity: O(1) a computation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "replay/kernel_time.hpp"
#include "replay/ranks/rank.hpp"
#include "topology/platform/compute_model.hpp"

namespace weft::replay {

class CoreClocks {
 public:
  // `unseen`: seconds before the beginning, see above.
  explicit CoreClocks(const topology::PowerBudget& power, double unseen = 0)
      : power_(power), beginning_(std::exp(-unseen / power.time)) {}

  // Ranks are added in their order; none, or all of them.
  void add(double headroom) {
    Row& c = rows_.emplace_back();
    c.headroom = headroom;
    c.known = beginning_;
  }
  // There is a budget.
  [[nodiscard]] bool vary() const { return !rows_.empty(); }

  // Rank r, which is k, begins a computation. REQUIRES: vary().
  void begin(std::uint32_t r, const Rank& k) {
    Row& c = rows_[r];
    Elapsed waited;
    for (const Part part : {Part::kSend, Part::kRecv, Part::kWait, Part::kCollective})
      waited += k.total(part);
    if (waited == c.waited) return;
    c.waited = waited;
    const Elapsed computed = k.total(Part::kCompute);
    const Elapsed all = computed + k.total(Part::kPoll) + waited;
    const double passed = (all - c.all).seconds();
    // Where little of the average is known, what is seen counts at once.
    if (passed < std::max(c.known, kLeastKnown) * power_.time / kSteps) return;
    const double share = (computed - c.computed).seconds() / passed;
    const double fresh = -std::expm1(-passed / power_.time);
    c.known = c.known * (1 - fresh) + fresh;
    c.share += fresh / c.known * (std::clamp(share, 0.0, 1.0) - c.share);
    c.all = all;
    c.computed = computed;
    c.faster = std::min(c.headroom, 1 / std::cbrt(c.share + (1 - c.share) * power_.waiting));
  }
  // How much faster it computes since.
  [[nodiscard]] double faster(std::uint32_t r) const { return rows_[r].faster; }

 private:
  static constexpr double kSteps = 20;  // of the average, in its time
  static constexpr double kLeastKnown = 1e-3;
  struct Row {
    double headroom = 1;
    double share = 1;  // of its time, computing
    double known = 1;  // weight of what is known in the average; 1: all of it
    double faster = 1;
    Elapsed all, computed;  // when the share was last brought up to date
    Elapsed waited;         // for messages or in their overheads; polls left out
  };
  topology::PowerBudget power_;
  double beginning_;       // weight that the beginning of the run has where the replay begins
  std::vector<Row> rows_;  // by rank
};

}  // namespace weft::replay
