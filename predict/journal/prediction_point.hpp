// A prediction of HPL as a point of a journal: its key, and its result as JSON and back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "predict/hpl_prediction.hpp"
#include "predict/hpl_windows.hpp"
#include "predict/journal/points.hpp"

namespace weft::predict {

// What predictions depend on besides the configuration and the options.
struct PredictionStudy {
  std::string platform;  // as topology::load_platform takes it
  topology::PlatformChanges changes;
  std::string pivots;   // where they come from, as it was asked
  bool panels = false;  // HplPrediction::panels are kept: as much as the run is long
};

struct TimedPrediction {
  HplPrediction prediction;
  double wall_s = 0;  // that it took where it was made
};

// All that a prediction and its windows depend on.
[[nodiscard]] KeyMaker prediction_key(Journal& journal, const PredictionStudy& study,
                                      const hpl_gen::HplConfig& config, const PredictOptions& options);
// `platform`: that of the study, by which messages call it.
[[nodiscard]] Point prediction_point(Journal& journal, const PredictionStudy& study,
                                     const hpl_gen::HplConfig& config, const topology::Platform& platform,
                                     const PredictOptions& options);
[[nodiscard]] Json prediction_json(TimedPrediction prediction, const PredictionStudy& study);
[[nodiscard]] std::optional<TimedPrediction> prediction_of(const Json& json);

// predict_hpl() of several points: what the plan's journal holds is taken from there. `on_taken` after each one, in
// whatever order. Those that are of other shards and not there, or were given up, are empty in `out`.
[[nodiscard]] Result<PointsDone> predict_points(const PredictionStudy& study, const PointsPlan& plan,
                                                const std::vector<hpl_gen::HplConfig>& configs,
                                                const topology::Platform& platform,
                                                const PredictOptions& options,
                                                std::vector<std::optional<HplPrediction>>& out,
                                                const std::function<void()>& on_taken);

// Windows of one prediction, each a point.
struct WindowPoints {
  PointsPlan plan;      // of all windows: no shard
  KeyMaker prediction;  // prediction_key()
};

// What `run` makes of the tasks, or another process has made of them. `links`: of the platform. Errors: those of `run`
// and run_points(); kFinding "interrupted" when the plan says so.
[[nodiscard]] Result<std::vector<WindowRun>> share_windows(
    const WindowPoints& points, const std::vector<WindowTask>& tasks, std::size_t links,
    const PredictOptions& options, const std::function<Result<WindowRun>(std::size_t)>& run);

}  // namespace weft::predict
