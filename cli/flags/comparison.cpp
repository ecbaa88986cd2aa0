#include "cli/flags/comparison.hpp"

#include "cli/interrupt.hpp"
#include "cli/text_width.hpp"
#include "report/compare.hpp"
#include "report/html/runs_of_page.hpp"

namespace weft::cli {

void Comparison::add(CLI::App& app) {
  matrix.add(app);
  app.add_option("--routing", routings, "routing, once for each; every platform must know it [its own]")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_flag(
      "--sensitivity", sensitivity,
      "on the page: what the fastest run and the one after it depend on, as replay --sensitivity tells it; "
      "by some twenty to sixty more replays of each");
  flags.add(app);
}

Result<void> Comparison::run(const char* verb) {
  if (journal.wanted() && report.wanted())
    return not_supported("a page of runs that a journal keeps",
                         "--journal without --report, or the page without it");
  if (sensitivity && !report.wanted())
    return usage_error("--sensitivity is told on the page, which is not asked for", "no --report",
                       "--report FILE, or replay --sensitivity");
  if (const std::string* twice = given_twice(routings))
    return usage_error("--routing twice", *twice, "each routing once");
  WEFT_TRY(journal.open(common, false));
  WEFT_ASSIGN(predict::MatrixRequest request, matrix_request(matrix, flags, common, flags));
  const std::vector<std::string> own{""};
  for (const auto& spec : matrix.on)
    for (const auto& routing : routings.empty() ? own : routings) {
      request.platforms.push_back({spec, flags.changes(common.seed)});
      if (!routing.empty()) request.platforms.back().changes.routing = routing;
    }
  report::RunsOfPage page;
  if (report.wanted()) report::watch(request, page);
  request.points = journal.plan();
  predict::Matrix runs;
  WEFT_TRY(run_with_progress(request, verb, common, runs));
  if (sensitivity) WEFT_TRY(report::ask_what_if(request, runs, page));
  const std::string stopped = journal.stopped(runs.points);
  if (journal.silent()) {
    common.print(journal.shard_text(runs.points));
    if (!stopped.empty()) return interrupted(stopped);
    return {};
  }
  const auto rows = report::rank_runs(runs.facts(), matrix.critical_path);
  common.print(report::compare_text(rows, text_width()));
  if (!common.json.empty()) WEFT_TRY(common.write_json(report::compare_json(rows, stopped)));
  if (!common.csv.empty()) WEFT_TRY(common.write_csv(report::compare_csv(rows)));
  if (report.wanted()) WEFT_TRY(report.write(report::page_of(verb, page.take(), matrix.critical_path)));
  if (!stopped.empty()) return interrupted(stopped);
  for (const auto& row : rows)
    if (!row.error.empty()) return row.finding();
  return {};
}

}  // namespace weft::cli
