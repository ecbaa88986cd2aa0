#include "report/html/runs_of_page.hpp"

#include <algorithm>
#include <utility>

#include "report/compare.hpp"
#include "topology/placement/placement.hpp"
#include "traces/formats.hpp"

namespace weft::report {

void watch(predict::MatrixRequest& request, RunsOfPage& page) {
  const std::size_t runs =
      request.traces.size() * request.platforms.size() * std::max<std::size_t>(1, request.maps.size());
  page.collectors_.resize(runs);
  page.runs_.resize(runs);
  request.options.critical_path = request.options.wait_states = request.ideal = true;
  request.kept = predict::KeptOfRuns::kRanksAndLinks;
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
    make_text(page.runs_[run]);
    return {};
  };
}

Result<void> ask_what_if(const predict::MatrixRequest& request, const predict::Matrix& matrix,
                         RunsOfPage& page) {
  constexpr std::size_t kAsked = 2;
  const auto rows = rank_runs(matrix.facts());
  for (std::size_t i = 0; i < std::min(kAsked, rows.size()); ++i) {
    const std::size_t index = rows[i].run;
    const predict::MatrixRun& run = matrix.runs[index];
    if (!run.result.finished || rows[i].trace != rows.front().trace) continue;
    const topology::Platform& platform = matrix.platforms[run.platform];
    WEFT_ASSIGN(const auto placement, topology::place(platform, run.facts.ranks, run.map, request.seed));
    const predict::Question question{platform, placement.hosts, matrix.options, run.result,
                                     [&] { return traces::open_trace({run.trace}, request.format); }};
    WEFT_ASSIGN(auto found, predict::sensitivity_of(question, request.threads, request.on_fewer_threads));
    page.what_if_.push_back(std::move(found));
    page.runs_[index].facts.sensitivity = &page.what_if_.back();
  }
  return {};
}

}  // namespace weft::report
