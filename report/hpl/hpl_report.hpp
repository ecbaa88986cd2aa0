// Predictions of HPL for people and tools.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "predict/hpl_prediction.hpp"
#include "report/hpl/seed_spread.hpp"

namespace weft::report {

// One run in full: the answer, what limits it, parts, panel curve, closed forms.
[[nodiscard]] std::string prediction_text(const predict::HplPrediction& run,
                                          const predict::ClosedFormPrediction& closed,
                                          const std::vector<std::string>& chosen, std::size_t width);
// Several runs: the fastest and what limits it; a row each, with their platforms where these differ, the shares of the
// phases and the busiest link. Those of `groups` that are one run with several seeds are one row, of their means, with
// the spread of the rate. `seeds`: of each prediction; `drawn`: others give other rates. What is as fast as the fastest is named
// (close_runs.hpp).
[[nodiscard]] std::string predictions_text(const std::vector<predict::HplPrediction>& runs,
                                           const std::vector<SeedGroup>& groups,
                                           const std::vector<std::uint64_t>& seeds, bool drawn,
                                           std::size_t width);
// Adds local_p and local_q where the program lays a grid of its own within nodes.
void add_node_grid(nlohmann::ordered_json& object, const hpl_gen::HplConfig& config);
[[nodiscard]] nlohmann::ordered_json prediction_json(const predict::HplPrediction& run,
                                                     const predict::ClosedFormPrediction& closed,
                                                     const predict::PredictOptions& options);
[[nodiscard]] std::string panel_csv(const predict::HplPrediction& run);
[[nodiscard]] std::string predictions_csv(const std::vector<predict::HplPrediction>& runs,
                                          const std::vector<predict::ClosedFormPrediction>& closed,
                                          const std::vector<std::uint64_t>& seeds);

// null where nothing is known.
[[nodiscard]] nlohmann::ordered_json optional_json(const std::optional<double>& value);

// A stretch of columns of the panel curve.
struct CurvePoint {
  std::int64_t column = 0;      // first
  double seconds = 0;           // from the start to its end
  double gflops = 0;            // while it was factored
  hpl_gen::PanelSeconds parts;  // of its panels together
};
[[nodiscard]] std::vector<CurvePoint> panel_curve(const predict::HplPrediction& run, std::size_t points);

// Closed forms alone (--closed-form), one row a run.
[[nodiscard]] std::string closed_forms_text(const std::vector<hpl_gen::HplConfig>& configs,
                                            const std::vector<predict::ClosedFormPrediction>& closed,
                                            const std::string& platform, std::size_t width);
[[nodiscard]] nlohmann::ordered_json closed_form_json(const predict::ClosedFormPrediction& closed,
                                                      const topology::Platform& platform,
                                                      const predict::PredictOptions& options);

}  // namespace weft::report
