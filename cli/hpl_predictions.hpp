// The predictions that weft predict hpl makes: runs of HPL on platforms, with their seeds, some at once; and what is said
// of several.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/flags/hpl_flags.hpp"
#include "cli/flags/journal_flags.hpp"
#include "core/result.hpp"
#include "predict/hpl_choices.hpp"
#include "predict/hpl_prediction.hpp"
#include "predict/journal/prediction_point.hpp"
#include "topology/platform/platform.hpp"

namespace weft::cli {

// What to predict on one platform.
struct PredictionTask {
  std::string on;  // the platform as it was asked for
  topology::Platform platform;
  predict::ChosenDat chosen;
  std::vector<hpl_gen::HplConfig> configs;
};

// One replay. The task outlives it.
struct PredictionJob {
  const PredictionTask* task;
  const hpl_gen::HplConfig* config;
  std::uint64_t seed;
  std::size_t group;  // which of the runs asked for; --repeat makes several jobs of one
};

// Of each job; empty: not done.
using Made = std::vector<std::optional<predict::TimedPrediction>>;

// All of them, `at_once` of them at the same time. Errors: of the first that failed; none of those that were given up because of
// `options.stop`.
[[nodiscard]] Result<void> predict_all(const std::vector<PredictionJob>& jobs,
                                       const predict::PredictOptions& options, unsigned at_once, Made& made);

// The same as points of the journal. `changes`: of the platforms; `pivots`: as they were asked for.
[[nodiscard]] Result<predict::PointsDone> predict_points(const std::vector<PredictionJob>& jobs,
                                                         const JournalFlags& journal,
                                                         const topology::PlatformChanges& changes,
                                                         const std::string& pivots,
                                                         const predict::PredictOptions& options,
                                                         unsigned at_once, Made& made);

// Several predictions as one output, whatever their number.
struct Predictions {
  std::vector<predict::HplPrediction> runs;
  std::vector<predict::ClosedFormPrediction> closed;
  std::vector<double> walls;
  std::vector<std::uint64_t> seeds;
  std::vector<std::size_t> group;
  bool drawn = false;  // other seeds give other rates

  // Errors: of the closed forms.
  [[nodiscard]] Result<void> add(predict::TimedPrediction&& made, const PredictionJob& job,
                                 const predict::PredictOptions& options);
  [[nodiscard]] std::string text(std::size_t width) const;
  // `one`: a single run was asked for, and is the document.
  [[nodiscard]] nlohmann::ordered_json json(bool one, const predict::PredictOptions& options) const;
};

}  // namespace weft::cli
