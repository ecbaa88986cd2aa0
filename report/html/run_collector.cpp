#include "report/html/run_collector.hpp"

#include <utility>

namespace weft::report {

RunCollector::RunCollector(const traces::TraceReader& trace, const topology::Platform& platform,
                           std::vector<HostId> placement, const replay::ReplayOptions& options,
                           PageBudget budget)
    : platform_(platform),
      placement_(std::move(placement)),
      budget_(budget),
      spans_(trace.header().ranks, budget.spans),
      lanes_(trace.header().ranks, budget.lane_spans),
      messages_(budget.messages),
      traffic_(trace.header().ranks, platform.fabric, placement_, options),
      panels_(trace) {}

void RunCollector::attach(replay::ReplayOptions& options) {
  options.on_op = [this, before = std::move(options.on_op)](RankId rank, std::uint64_t op, SimTime begin,
                                                            SimTime end) {
    if (before) before(rank, op, begin, end);
    spans_.add(rank.index(), op, begin, end);
  };
  options.on_hang = [this, before = std::move(options.on_hang)](RankId rank, std::uint64_t op, SimTime begin,
                                                                SimTime end) {
    if (before) before(rank, op, begin, end);
    spans_.add(rank.index(), op, begin, end);
  };
  options.on_device = [this, before = std::move(options.on_device)](const replay::DeviceSeen& d) {
    if (before) before(d);
    lanes_.add(d);
  };
  options.on_message = [this, before = std::move(options.on_message)](const replay::MessageSeen& m) {
    if (before) before(m);
    messages_.add(m);
    traffic_.add(m);
  };
  options.on_copy = [this, before = std::move(options.on_copy)](const replay::CopySeen& c) {
    if (before) before(c);
    traffic_.add(c);
  };
  options.on_region = [this, before = std::move(options.on_region)](RankId rank, RegionId region,
                                                                    SimTime begin, SimTime end) {
    if (before) before(rank, region, begin, end);
    panels_.add(rank, region, begin, end);
  };
}

Result<PageRun> RunCollector::finish(traces::TraceReader& trace, const predict::RunFacts& facts) {
  PageRun run;
  run.facts = facts;
  spans_.finish();
  lanes_.finish();
  messages_.finish();
  trace.rewind();
  WEFT_ASSIGN(run.timeline, timeline_section(spans_, lanes_, messages_, *facts.result, trace, budget_.path));
  run.traffic = traffic_.finish(facts.result->makespan);
  run.panels = panels_.finish();
  if (can_draw(platform_)) run.drawing = draw(platform_);
  return run;
}

}  // namespace weft::report
