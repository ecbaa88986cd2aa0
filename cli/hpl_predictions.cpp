#include "cli/hpl_predictions.hpp"

#include <chrono>
#include <span>
#include <utility>

#include "cli/flags/replay_flags.hpp"
#include "core/threads/parallel.hpp"
#include "report/hpl/close_runs.hpp"
#include "report/hpl/hpl_report.hpp"
#include "report/hpl/seed_spread.hpp"

namespace weft::cli {
namespace {

predict::PredictOptions with_seed(predict::PredictOptions options, std::uint64_t seed) {
  options.seed = seed;
  options.pivots.seed = seed;
  return options;
}

// One of them, with the time that it took.
Result<predict::TimedPrediction> predict_one(const PredictionJob& job,
                                             const predict::PredictOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  predict::TimedPrediction out;
  WEFT_ASSIGN(out.prediction,
              predict::predict_hpl(*job.config, job.task->platform, with_seed(options, job.seed)));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  out.wall_s = wall.count();
  return out;
}

}  // namespace

Result<void> predict_all(const std::vector<PredictionJob>& jobs, const predict::PredictOptions& options,
                         unsigned at_once, Made& made) {
  return run_parallel(
      jobs.size(), at_once,
      [&](std::size_t i) -> Result<void> {
        if (options.stop->load()) return {};
        auto p = predict_one(jobs[i], options);
        if (!p && options.stop->load()) return {};
        if (!p) return std::move(p).error();
        if (jobs.size() > 1) p->prediction.panels.clear();
        made[i] = std::move(*p);
        return {};
      },
      options.on_fewer_threads);
}

Result<predict::PointsDone> predict_points(const std::vector<PredictionJob>& jobs,
                                           const JournalFlags& journal_flags,
                                           const topology::PlatformChanges& changes,
                                           const std::string& pivots, const predict::PredictOptions& options,
                                           unsigned at_once, Made& made) {
  const predict::PointsPlan& plan = journal_flags.plan();
  predict::Journal& journal = *plan.journal;
  const bool one = jobs.size() == 1;
  std::vector<predict::PredictionStudy> studies;
  std::vector<predict::Point> points;
  for (const PredictionJob& job : jobs) {
    studies.push_back({job.task->on, changes, pivots, one});
    points.push_back(predict::prediction_point(journal, studies.back(), *job.config, job.task->platform,
                                               with_seed(options, job.seed)));
  }
  // One prediction of several windows: all processes do windows; then one of them puts the prediction together.
  predict::PredictOptions mine = options;
  std::optional<predict::WindowPoints> windows;
  double windows_s = 0;
  if (one && journal_flags.spread() && options.sample > 0 && !journal.find(points[0].key)) {
    windows =
        predict::WindowPoints{plan, predict::prediction_key(journal, studies[0], *jobs[0].config, options)};
    mine.windows = &*windows;
    const auto first = predict_one(jobs[0], mine);
    if (!first && !options.stop->load()) return first.error();
    if (first) windows_s = first->wall_s;
  }
  predict::PointsWork work;
  work.run = [&](std::size_t i) -> Result<predict::Json> {
    WEFT_ASSIGN(auto p, predict_one(jobs[i], mine));
    p.wall_s += windows_s;
    return predict::prediction_json(std::move(p), studies[i]);
  };
  work.take = [&](std::size_t i, const predict::Json& json) {
    made[i] = predict::prediction_of(json);
    if (!made[i]) return false;
    predict::set_names(made[i]->prediction, jobs[i].task->platform);
    return true;
  };
  return predict::run_points(points, plan, at_once, work, options.on_fewer_threads);
}

Result<void> Predictions::add(predict::TimedPrediction&& made, const PredictionJob& job,
                              const predict::PredictOptions& options) {
  WEFT_ASSIGN(auto forms,
              predict::closed_forms(*job.config, job.task->platform, with_seed(options, job.seed)));
  runs.push_back(std::move(made.prediction));
  closed.push_back(forms);
  walls.push_back(made.wall_s);
  seeds.push_back(job.seed);
  group.push_back(job.group);
  return {};
}

std::string Predictions::text(std::size_t width) const {
  return report::predictions_text(runs, report::seed_groups(group), seeds, drawn, width);
}

nlohmann::ordered_json Predictions::json(bool one, const predict::PredictOptions& options) const {
  nlohmann::ordered_json j;
  const auto run_json = [&](std::size_t i) {
    auto run = report::prediction_json(runs[i], closed[i], with_seed(options, seeds[i]));
    run["engine"]["wall_s"] = walls[i];
    return run;
  };
  if (one && !runs.empty()) {
    j = run_json(0);
    j["engine"]["peak_rss_bytes"] = peak_rss_bytes();
    return j;
  }
  j["schema"] = "weft.predict/1";
  j["runs"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto row = run_json(i);
    row.erase("schema");
    j["runs"].push_back(std::move(row));
  }
  const auto groups = report::seed_groups(group);
  if (groups.size() < runs.size()) {
    j["seed_spread"] = nlohmann::ordered_json::array();
    for (const report::SeedGroup& g : groups)
      j["seed_spread"].push_back(report::seed_spread_json(std::span(runs).subspan(g.first, g.count)));
  }
  if (groups.size() > 1) {
    const auto rated = report::rated_runs(runs, groups, seeds);
    const std::size_t fastest = report::fastest_of(rated);
    j["fastest"] = report::close_runs_json(report::close_runs(rated, fastest, drawn), fastest);
  }
  j["engine"] = {{"peak_rss_bytes", peak_rss_bytes()}};
  return j;
}

}  // namespace weft::cli
