// --export FORMAT:OUT: a replay for other tools, at its own times (traces/timed_export.hpp).
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "replay/engine.hpp"
#include "traces/timed_export.hpp"

namespace weft::cli {

class ExportFlag {
 public:
  void add(CLI::App& app);
  // Before the replay: opens the output and asks the replay for the times. Errors: kUsage, kNotSupported, kBadInput.
  Result<void> open(replay::ReplayOptions& options);
  // After it. `trace` is the one that was replayed.
  Result<void> write(traces::TraceReader& trace);
  [[nodiscard]] bool asked() const { return !spec_.empty(); }

 private:
  std::string spec_;
  std::unique_ptr<traces::TimedExport> out_;
  traces::OpTimes times_;
};

}  // namespace weft::cli
