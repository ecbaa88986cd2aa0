// Predictions of one run with several seeds: mean and spread.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "predict/hpl_prediction.hpp"

namespace weft::report {

struct Spread {
  double mean = 0, stddev = 0;  // of a sample: n - 1; 0 of one value
  double least = 0, most = 0;
};
[[nodiscard]] Spread spread_of(std::span<const double> values);

// Runs [first, first + count) of a list are the same run with other seeds.
struct SeedGroup {
  std::size_t first = 0, count = 0;
};
// `group`: of each run; runs of a group are neighbours.
[[nodiscard]] std::vector<SeedGroup> seed_groups(std::span<const std::size_t> group);

// Time, rate, phases, accelerators: means. The sample's error: the largest. The busiest link: where it is busiest.
[[nodiscard]] predict::HplPrediction mean_of(std::span<const predict::HplPrediction> runs);
[[nodiscard]] Spread gflops_of(std::span<const predict::HplPrediction> runs);

// Of a group: which run it is, how often, spread of rate and time.
[[nodiscard]] nlohmann::ordered_json seed_spread_json(std::span<const predict::HplPrediction> runs);

}  // namespace weft::report
