// --export FORMAT:OUT of a replay, once for each format: for viewers (report/timeline) and for tools that read traces
// (traces/timed_export.hpp), at the replay's own times. --ranks, --from-time and --to-time choose what viewers get.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/verb.hpp"
#include "predict/run_facts.hpp"
#include "replay/engine.hpp"
#include "report/timeline/timeline.hpp"
#include "traces/timed_export.hpp"

namespace weft::cli {

class ExportFlag {
 public:
  // `common` must live as long as this.
  void add(CLI::App& app, CommonOptions& common);
  // Before the replay: opens the outputs and asks the replay for what they need. Errors: kUsage, kNotSupported, kBadInput.
  Result<void> open(replay::ReplayOptions& options, std::uint32_t ranks);
  // After it. `trace` is the one that was replayed; `placement`: hosts by rank.
  Result<void> write(traces::TraceReader& trace, const predict::RunFacts& facts,
                     const std::vector<HostId>& placement);

 private:
  [[nodiscard]] std::string take(const std::string& spec);
  [[nodiscard]] Result<report::TimelineOptions> chosen(std::uint32_t ranks) const;
  Result<void> write_timeline(traces::TraceReader& trace, const predict::RunFacts& facts,
                              const std::vector<HostId>& placement);

  CommonOptions* common_ = nullptr;
  std::vector<std::string> given_;
  std::string format_, place_;              // of a format of traces/timed_exports.def
  std::string perfetto_, prv_, pcf_, row_;  // files of the viewers
  std::string ranks_, from_time_, to_time_;
  std::unique_ptr<traces::TimedExport> out_;
  traces::OpTimes times_;
  std::optional<report::TimelineCollector> collector_;
};

}  // namespace weft::cli
