// Replays of windows of panels of an HPL run: what each panel took, and what follows the last one.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "hpl_gen/hpl_sampling.hpp"
#include "predict/hpl_prediction.hpp"
#include "replay/engine.hpp"

namespace weft::predict {

// What the replay of a window tells.
struct WindowRun {
  std::vector<hpl_gen::PanelSeconds> panels;  // measured ones
  // After the last panel's iteration, mean over ranks: what the look-ahead left to update. Without kTime and kBcastTook.
  hpl_gen::PanelSeconds tail;
  double solve_s = 0;
  double time_s = 0;
  double device_s = 0;            // that accelerators worked, mean over ranks
  double device_hidden_s = 0;     // of that, while their ranks did not wait for them
  double after_last_panel_s = 0;  // to the end of all ranks, of what tail and solve_s are in
  replay::ReplayResult result;
  std::uint64_t ops = 0;
};

// What to replay: a window, with pivot exchanges one by one or as one operation a panel.
struct WindowTask {
  hpl_gen::SampleWindow window;
  bool message_by_message = true;
  bool noise = false;
};

// Panels that are replayed for these windows, warm-up included.
[[nodiscard]] std::int64_t panels_of(const std::vector<hpl_gen::SampleWindow>& windows);

// All tasks, options.threads at a time, those that options.windows hold excepted; the order of the results is that of the tasks. Tells options.on_panels how many
// panels are done. Errors: the configuration's, the replay's, kFinding "interrupted" when options.stop says so.
[[nodiscard]] Result<std::vector<WindowRun>> run_windows(const hpl_gen::HplConfig& config,
                                                         const topology::Platform& platform,
                                                         const std::vector<HostId>& placement,
                                                         const PredictOptions& options,
                                                         const std::vector<WindowTask>& tasks);

}  // namespace weft::predict
