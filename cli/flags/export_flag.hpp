// --export FORMAT:OUT of a replay, any number of times: the rows of report/timeline/replay_exports.def. --ranks, --from-time
// and --to-time choose what viewers get.
#pragma once

#include <CLI/CLI.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/verb.hpp"
#include "predict/run_facts.hpp"
#include "replay/engine.hpp"
#include "report/timeline/ops_collector.hpp"
#include "report/timeline/replay_export.hpp"

namespace weft::cli {

class ExportFlag {
 public:
  // `common` must live as long as this.
  void add(CLI::App& app, CommonOptions& common);
  // Before the replay: opens the outputs and asks the replay for what they need. Errors: kUsage, kNotSupported, kBadInput.
  // `fabric` and `placement`, hosts by rank, live until write().
  Result<void> open(replay::ReplayOptions& options, const topology::Fabric& fabric,
                    const std::vector<HostId>& placement);
  // After it. `trace` is the one that was replayed. `warnings` gets what outputs do not hold of it, which is told on standard
  // error, too, where an output takes standard output.
  Result<void> write(traces::TraceReader& trace, const predict::RunFacts& facts,
                     const std::vector<HostId>& placement, std::vector<std::string>& warnings);

 private:
  [[nodiscard]] std::string take(const std::string& spec);
  [[nodiscard]] Result<report::TimelineOptions> chosen(std::uint32_t ranks) const;
  Result<report::Timeline> timeline(traces::TraceReader& trace, Duration makespan);

  CommonOptions* common_ = nullptr;
  std::vector<std::string> given_;
  std::string ranks_, from_time_, to_time_;
  std::vector<std::unique_ptr<report::ReplayExport>> exports_;
  std::deque<std::string> places_;  // of all of them; the list of outputs points here
  // What the replay fills, each where some export shows it.
  std::optional<report::TimelineCollector> collector_;
  report::OpsCollector ops_;
};

}  // namespace weft::cli
