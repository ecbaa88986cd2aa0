// Which predictions of HPL are as fast as the fastest, as far as they tell: of what predict hpl and tune hpl compare.
//
// Two runs are not told apart where the rate of the one is above that of the other by d and
//   d <= t s / sqrt(K) + the sum of both intervals of their samples (HplPrediction::error_estimate).
// The seeds are the same for all runs, so K of them give K differences: d is their mean, s their standard deviation (of a
// sample), t Student's quantile for hpl_gen::kConfidence and K - 1 degrees of freedom. One seed has no s: then this part is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hpl_gen/hpl_dat.hpp"
#include "predict/hpl_prediction.hpp"
#include "report/hpl/seed_spread.hpp"

namespace weft::report {

// Of a sample without an interval: what is less than that slower is not told apart. Nine of ten samples of four windows, the fewest
// that have an interval, are within it (docs/hpl.md, 10).
inline constexpr double kWithoutInterval = 0.05;
// With one seed where something is drawn: what is less than that slower may be the faster one with another.
inline constexpr double kChance = 0.01;

struct RatedRun {
  std::vector<std::uint64_t> seeds;
  std::vector<double> gflops;      // of each seed
  std::optional<double> interval;  // of the sample, relative; 0: all panels; nullopt: not known
};

// A run each of `groups`. `seeds`: of each prediction.
[[nodiscard]] std::vector<RatedRun> rated_runs(std::span<const predict::HplPrediction> predictions,
                                               std::span<const SeedGroup> groups,
                                               std::span<const std::uint64_t> seeds);
// By their means, the first of equal ones. REQUIRES: not empty.
[[nodiscard]] std::size_t fastest_of(std::span<const RatedRun> runs);

enum class WhyClose : std::uint8_t {
  kEqual,       // the same with every seed
  kWithin,      // the rule above
  kNoInterval,  // kWithoutInterval
  kOneSeed,     // told apart, but with one seed only: kChance
};
struct CloseRun {
  std::size_t run = 0;
  WhyClose why = WhyClose::kEqual;
  double slower = 0;  // than the best, relative; below 0: it is faster, and less sure
};

// In the order of WhyClose, the fastest first. `drawn`: another seed gives other rates.
[[nodiscard]] std::vector<CloseRun> close_runs(std::span<const RatedRun> runs, std::size_t best, bool drawn);

// A run as people are told of it.
struct NamedRun {
  std::string label;  // of its platform
  const hpl_gen::HplConfig* config;
};
// A line for each reason, empty where all are told apart. `seeds`: of each run. `repeat`: how to have several seeds.
[[nodiscard]] std::string close_runs_text(std::span<const CloseRun> close, std::span<const NamedRun> runs,
                                          std::size_t best, std::size_t seeds, const std::string& repeat);
// Index of the best and of those that are close.
[[nodiscard]] nlohmann::ordered_json close_runs_json(std::span<const CloseRun> close, std::size_t best);

// Quantile of Student's distribution for a two-sided interval of hpl_gen::kConfidence. REQUIRES: freedom >= 1.
[[nodiscard]] double student_quantile(std::size_t freedom);

}  // namespace weft::report
