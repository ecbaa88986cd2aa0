// A run of HPL on a platform, predicted by replaying what the generator says it does: all panels or a sample of them.
//
// Time is HPL's own: from the barrier before the factorisation to the end of the solve. Parts are means over ranks:
// pfact (factoring own panels), bcast (waiting for panels, that of others' factorisation included), swap (row
// exchanges, with what is forwarded meanwhile), update, solve; what is left is waiting between them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/threads/parallel.hpp"
#include "hpl_gen/hpl_sampling.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "replay/engine.hpp"
#include "topology/placement/placement.hpp"

namespace weft::predict {

inline constexpr int kDefaultWindows = 6;

// How the exchanges for the pivots of a panel are replayed.
enum class Exchanges : std::uint8_t {
  kAuto,      // kSeries where it is measured to be the same (hpl_exchanges.hpp), else kMessages
  kMessages,  // message by message, sharing links with all others
  kSeries,    // one operation a panel, every message as if it were alone
};

struct WindowPoints;  // journal/prediction_point.hpp

struct PredictOptions {
  int sample = 0;            // windows; 0 = all panels
  std::int64_t width = 0;    // measured panels of a window; 0 = chosen
  std::int64_t warm_up = 0;  // dropped ones before; 0 = chosen
  Exchanges exchanges = Exchanges::kAuto;
  std::int64_t most_pieces = 0;  // of an update that polls; 0 = one for every NB columns, as HPL
  std::string map{topology::kDefaultMap};
  std::string model;                // how flows share links; empty: by what the platform is
  double accuracy = 0;              // as ReplayOptions has it
  std::uint64_t seed = 0;           // of placement and noise
  hpl_gen::HplTraceOptions pivots;  // where pivots come from (set_pivots); the rest of it is chosen here
  bool noise = false;
  unsigned threads = 1;  // windows at the same time; no result depends on it
  // When set: so many more panels are done, so many more have turned out to be needed. From any thread, one call at a
  // time.
  std::function<void(std::int64_t done, std::int64_t planned)> on_panels;
  OnFewerThreads on_fewer_threads;          // core/threads/parallel.hpp
  const std::atomic<bool>* stop = nullptr;  // true: give up, error kFinding "interrupted"
  // Where windows last, so that several processes do those of one prediction; null: all are done here.
  const WindowPoints* windows = nullptr;
};

// Seconds that each phase of a sample is off by at most, with hpl_gen::kConfidence.
struct PhaseErrors {
  double pfact_s = 0, bcast_s = 0, swap_s = 0, update_s = 0, solve_s = 0;
};

// How the pivot exchanges were replayed, and what the short cut leaves out at most.
struct ExchangeChoice {
  bool series = false;
  std::string why;  // for people
  // Shares of the time: by how much that itself or a phase may differ (nullopt: nobody looked), and each phase for itself (0 where
  // exchanges are messages).
  std::optional<double> differs_at_most;
  hpl_gen::PanelSeconds phases_at_most;
  std::int64_t panels_tried = 0;  // simulated both ways to find out
};

struct HplPrediction {
  hpl_gen::HplConfig config;  // as it ran (laid_on_nodes)
  std::string platform;       // its name, and how tables call it
  std::string label;
  std::string model;  // that shared the links
  double time_s = 0;
  double gflops = 0;
  double efficiency = 0;   // of the peak
  double peak_gflops = 0;  // of the ranks that the run's hosts hold (hpl_peak.hpp)
  double pfact_s = 0, bcast_s = 0, swap_s = 0, update_s = 0, solve_s = 0;
  double bcast_took_s =
      0;  // from the first send of a panel to its last arrival, mean over process rows, all panels
  // Of rocHPL, mean over ranks: their accelerators worked, in all panels together, and the part of that which went on
  // behind other phases, as their hosts did not wait for them; nullopt: only some panels were simulated, or there are
  // none. Hosts wait for copies, too (columns that have no room), so this is not what update_s leaves of it.
  std::optional<double> device_s, device_hidden_s;
  std::int64_t panels_simulated = 0, panels_total = 0;
  std::int64_t shortest_window = 0;  // panels, warm-up included
  // Half the width of the interval that holds, with hpl_gen::kConfidence, what a simulation of all panels and messages
  // would say: the sample's error (hpl_gen/hpl_sampling.hpp) and what the exchanges' short cut leaves out. 0 when
  // everything was simulated, nullopt when the sample is too small to tell or nobody looked at the short cut.
  std::optional<double> error_estimate;  // of time_s, relative to it
  std::optional<PhaseErrors> phase_error;
  ExchangeChoice exchanges;
  // As measured or fitted; the last one's parts have what comes after it, so that they add up to the phases.
  std::vector<hpl_gen::PanelSeconds> panels;
  replay::EngineStats engine;  // summed
  std::uint64_t messages = 0, ops = 0;
  std::string busiest_link;  // and its share of the time of the simulated panels
  double busiest_utilization = 0;
};

// The platform's names. A line of a journal may have them with other bytes than they are written with.
void set_names(HplPrediction& prediction, const topology::Platform& platform);

// Panels that a prediction simulates, before it is known whether exchanges have to be tried both ways.
[[nodiscard]] std::int64_t planned_panels(const hpl_gen::HplConfig& config, const PredictOptions& options);

// `asked` as it runs on the nodes of the placement (laid_on_nodes). Errors: the configuration's, laid_on_nodes', a count of the
// options below 0 (kUsage), more ranks than the platform has slots, the replay's, a time that is no number (absurd speeds),
// "interrupted".
[[nodiscard]] Result<HplPrediction> predict_hpl(const hpl_gen::HplConfig& asked,
                                                const topology::Platform& platform,
                                                const PredictOptions& options);

// Beside it (hpl_gen/closed_form/closed_form.hpp, phase_model.hpp), with parameters read off the platform. All Gflop/s.
struct ClosedFormPrediction {
  hpl_gen::HplConfig config;  // as it would run (laid_on_nodes)
  double hpl = 0, mcl = 0;
  double roofline = 0;         // of the same peak as HplPrediction::efficiency is a share of
  double phases = 0;           // panel by panel, with look-ahead
  double gamma = 0;            // seconds per flop of the slowest rank: its dgemm at NB
  double alpha = 0, beta = 0;  // of the network: seconds, seconds per word
  // Where alpha and beta are from, for people: "node-0 to node-1", the first two hosts of the placement, or "ranks of
  // node-0". All messages of the equations but those within a host are such ones, however far they go.
  std::string network;
};
[[nodiscard]] Result<ClosedFormPrediction> closed_forms(const hpl_gen::HplConfig& asked,
                                                        const topology::Platform& platform,
                                                        const PredictOptions& options);

}  // namespace weft::predict
