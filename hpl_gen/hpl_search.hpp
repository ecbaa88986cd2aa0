// Search of HPL's parameters by sampled predictions, in rounds of growing precision and shrinking fields.
//
//  1. Coordinate descent from the base, few windows: one parameter after the other takes each of its values, the best
//     stays, until a whole round changes nothing or the evaluations of this step are used up. NB, grid, map, DEPTH, BCAST and
//     SWAP first, then N, then how a panel is factored, which is one parameter: NBMIN and PFACT decide together.
//     Where there are no more candidates in all than this step may try, it tries the others as well: the best is then
//     the best of all, not only better than what differs from it in one parameter. Where there are more, what is left of its
//     evaluations goes to descents from other candidates, drawn with a fixed seed; the last of them may end in its middle
//     (SearchResult::local_best).
//  2. As many of the best as are an eighth of all evaluations (two at least), and the base, with twice the windows.
//  3. The best two of these, and the base, with twice the windows again. The winner's gain is over the base there.
//  4. Where more windows made these slower than others that were left behind, the fastest of all is next, until it is one of step 3.
// What steps 2 to 4 did not need goes to candidates that step 1 did not come to, a third at a time, and to their steps 2 to 4.
// Candidates that were simulated in full keep their figure: they are not evaluated again, count as of step 3, and as long as all are so
// two predictions are put aside for steps 2 and 3. Where the predictions end before step 4 does, the best is the one with the highest
// rate less its estimated error. The budget counts predictions, so the result depends on no clock. Of equal rates
// the one with most of the base's parameters is the best, then what was seen first.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "hpl_gen/hpl_dat.hpp"

namespace weft::hpl_gen {

// How a panel is factored.
struct PanelFactorisation {
  Factor pfact = Factor::kRight;
  int nbmin = 4;
  Factor rfact = Factor::kCrout;
  int ndiv = 2;
  friend bool operator==(const PanelFactorisation&, const PanelFactorisation&) = default;
};
[[nodiscard]] inline PanelFactorisation factorisation_of(const HplConfig& c) {
  return {c.pfact, c.nbmin, c.rfact, c.ndiv};
}

struct SearchSpace {
  std::vector<std::int64_t> n, nb;
  std::vector<Grid> grids;
  std::vector<Bcast> bcast;
  std::vector<int> depth;
  std::vector<Swap> swap;
  std::vector<ProcessMap> pmap;
  std::vector<PanelFactorisation> factorisation;  // empty: the base's
};

struct Candidate {
  HplConfig config;
  double gflops = 0;
  std::optional<double>
      error_estimate;  // relative, with kConfidence (hpl_sampling.hpp); none from too few windows
  int round = 0;       // 1 to 3: which precision the figure has
  bool exact = false;  // all was simulated: more windows change nothing, the round is 3
};

struct SearchResult {
  Candidate base, best;
  std::vector<Candidate> ranking;  // all: the best, then by round (last first) and Gflop/s
  int evaluations = 0;
  std::uint64_t candidates = 0;  // all that there are
  // All that differ from the best in one parameter were tried, and nothing that was tried is faster. Else the evaluations
  // ended before a descent did.
  bool local_best = false;
  bool complete = true;              // false: stopped by `evaluate`; what was found until then
  std::vector<std::string> untried;  // values that no candidate has, the evaluations were used up: "N 1000"
};

// Gflop/s of configurations, each with that many windows. They do not depend on each other: in whatever order, also at
// once. One entry each; a nullopt stops the search.
using Evaluate =
    std::function<Result<std::vector<std::optional<Candidate>>>(const std::vector<HplConfig>&, int windows)>;
using EvaluateOne = std::function<Result<std::optional<Candidate>>(const HplConfig&, int windows)>;
// In their order, until one says stop.
[[nodiscard]] Evaluate one_by_one(EvaluateOne evaluate);

// Stopped before the base is known, `ranking` is empty. REQUIRES: evaluations >= 4, windows >= 2.
[[nodiscard]] Result<SearchResult> search_hpl(const HplConfig& base, const SearchSpace& space,
                                              int evaluations, int windows, const Evaluate& evaluate);

}  // namespace weft::hpl_gen
