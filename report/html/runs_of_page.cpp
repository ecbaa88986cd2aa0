#include "report/html/runs_of_page.hpp"

#include <algorithm>
#include <utility>

namespace weft::report {

void watch(predict::MatrixRequest& request, RunsOfPage& page) {
  const std::size_t runs =
      request.traces.size() * request.platforms.size() * std::max<std::size_t>(1, request.maps.size());
  page.collectors_.resize(runs);
  page.runs_.resize(runs);
  request.options.critical_path = request.options.wait_states = request.ideal = true;
  const PageBudget budget = PageBudget{}.share(std::max<std::size_t>(1, runs));
  request.on_start = [&page, budget](const predict::RunStart& start, replay::ReplayOptions& options) {
    auto& collector = page.collectors_[start.run];
    collector = std::make_unique<RunCollector>(start.trace, start.platform, start.placement, options, budget);
    collector->attach(options);
  };
  request.on_end = [&page](std::size_t run, traces::TraceReader& trace,
                           const predict::RunFacts& facts) -> Result<void> {
    WEFT_ASSIGN(page.runs_[run], page.collectors_[run]->finish(trace, facts));
    page.collectors_[run].reset();
    return {};
  };
}

}  // namespace weft::report
