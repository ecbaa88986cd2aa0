// What a picture of a run needs beyond its result, collected while it is replayed: spans, what accelerators did, messages, traffic.
//
// Memory: 40 B a span and 80 B a message, of at most twice those that are kept; TrafficCollector's.
#pragma once

#include <cstddef>
#include <vector>

#include "core/result.hpp"
#include "replay/engine.hpp"
#include "report/html/page.hpp"
#include "report/html/panel_section.hpp"
#include "report/html/span_thinner.hpp"
#include "report/html/timeline_section.hpp"
#include "report/html/traffic_section.hpp"
#include "traces/trace.hpp"

namespace weft::report {

// What one page holds; its runs share it.
struct PageBudget {
  std::size_t spans = 1'000'000, messages = 120'000, path = 60'000, lane_spans = 300'000;
  [[nodiscard]] PageBudget share(std::size_t runs) const {
    return {spans / runs, messages / runs, path / runs, lane_spans / runs};
  }
};

class RunCollector {
 public:
  // `trace`: the one that will be replayed. `platform` outlives it.
  RunCollector(const traces::TraceReader& trace, const topology::Platform& platform,
               std::vector<HostId> placement, const replay::ReplayOptions& options, PageBudget budget);
  RunCollector(const RunCollector&) = delete;
  RunCollector& operator=(const RunCollector&) = delete;
  // Adds itself to the callbacks of `options`; this must outlive the replay.
  void attach(replay::ReplayOptions& options);
  // After the replay. `trace`: the one that was replayed, from its start. Errors: the trace's.
  [[nodiscard]] Result<PageRun> finish(traces::TraceReader& trace, const predict::RunFacts& facts);

 private:
  const topology::Platform& platform_;
  std::vector<HostId> placement_;
  PageBudget budget_;
  SpanThinner spans_;
  LaneThinner lanes_;
  MessageThinner messages_;
  TrafficCollector traffic_;
  PanelCollector panels_;
};

}  // namespace weft::report
