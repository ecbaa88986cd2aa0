// Which HPL.dat is fastest on a platform: hpl_gen/hpl_search.hpp fed with predictions from windows of panels.
#pragma once

#include <cstdint>
#include <functional>

#include "core/result.hpp"
#include "hpl_gen/hpl_search.hpp"
#include "predict/hpl_prediction.hpp"
#include "predict/journal/prediction_point.hpp"

namespace weft::predict {

// Parameters whose values nobody has listed: what HPL's own tuning notes vary is tried.
struct Vary {
  bool nb = false, grid = false, bcast = false, depth = false, swap = false, pmap = false;
};
// What `dat` lists, and for the parameters in `vary` what is usual: NB from 64 to 384, grids of as many ranks with up
// to eight times as many columns as rows or twice as many rows, unless the program cannot run on them where each node has
// `on_node` of its processes (hpl_gen/node_grid.hpp; 0: not known), all broadcasts, depths 0 and 1, all swaps, both maps.
[[nodiscard]] hpl_gen::SearchSpace tuning_space(const hpl_gen::HplDat& dat, const Vary& vary,
                                                int on_node = 0);

// Where predictions last (predict/journal/prediction_point.hpp).
struct KeptPredictions {
  PredictionStudy study;
  PointsPlan plan;  // without a journal nothing is kept
};

struct Tuning {
  hpl_gen::SearchResult search;
  PointsDone points;        // with a journal: of all stages
  std::size_t awaited = 0;  // of a shard: predictions of others that its next stage depends on
};

// Spends at most `evaluations` predictions, those that `kept` holds among them; `on_prediction` is told how many are
// done, also while one is under way. What a stage of the search tries is the points of one call of run_points(): its
// processes share them, and the next stage begins when all are there. When options.stop says so, and where a shard
// waits for others, it ends with what it has (SearchResult::complete). Errors: those of predict_hpl and run_points.
[[nodiscard]] Result<Tuning> tune_hpl(const hpl_gen::HplConfig& base, const hpl_gen::SearchSpace& space,
                                      const topology::Platform& platform, PredictOptions options,
                                      int evaluations,
                                      const std::function<void(std::uint64_t)>& on_prediction,
                                      const KeptPredictions& kept = {});

}  // namespace weft::predict
