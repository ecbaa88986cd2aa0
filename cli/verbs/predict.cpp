// weft predict hpl --on PLATFORM: Gflop/s of HPL before anybody runs it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

#include "cli/flags/hpl_flags.hpp"
#include "cli/flags/journal_flags.hpp"
#include "cli/flags/model_flag.hpp"
#include "cli/flags/platform_flags.hpp"
#include "cli/flags/replay_flags.hpp"
#include "cli/flags/report_flag.hpp"
#include "cli/flags/values.hpp"
#include "cli/hpl_predictions.hpp"
#include "cli/interrupt.hpp"
#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "predict/hpl_peak.hpp"
#include "predict/hpl_prediction.hpp"
#include "predict/hpl_warnings.hpp"
#include "predict/run_facts.hpp"
#include "report/assumed.hpp"
#include "report/hpl/hpl_report.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "topology/platform/platform.hpp"

namespace weft::cli::verb_predict {
namespace {

struct Options {
  CommonOptions common;
  ReportFlag report;
  HplFlags hpl;
  std::vector<std::string> on;
  PlatformFlags flags;
  JournalFlags journal;
  predict::PredictOptions predict;
  std::string sample, exchanges = "auto", accuracy;
  std::uint64_t repeat = 1;
  bool closed_form = false;
};

// Platforms in the order asked for, the runs of HPL.dat in its order on each.
Result<std::vector<PredictionTask>> tasks_of(const Options& o) {
  constexpr std::uint64_t kMaxRuns = 4096;
  std::vector<PredictionTask> tasks;
  std::uint64_t runs = 0;
  std::vector<hpl_gen::Grid> grids;
  for (const std::string& on : o.on) {
    PredictionTask task;
    task.on = on;
    WEFT_ASSIGN(task.platform, topology::load_platform(on, o.flags.changes(o.common.seed)));
    WEFT_ASSIGN(task.chosen, hpl_dat_for(o.hpl, task.platform, o.predict.map, o.common.seed));
    runs += task.chosen.dat.run_count() * o.repeat;
    if (runs > kMaxRuns)
      return usage_error("too many runs", fmt::format("{}", runs), fmt::format("at most {}", kMaxRuns));
    task.configs = task.chosen.dat.runs();
    for (const PredictionTask& other : tasks)
      WEFT_TRY(predict::told_apart(other.on, other.platform, task.on, task.platform));
    tasks.push_back(std::move(task));
    grids.insert(grids.end(), tasks.back().chosen.dat.grids.begin(), tasks.back().chosen.dat.grids.end());
  }
  WEFT_TRY(check_split(o.hpl, grids));
  return tasks;
}

// Whether some update polls for the panel that comes next: those of netlib HPL with look-ahead.
bool polls(const hpl_gen::HplConfig& c) { return !hpl_gen::on_accelerators(c.program) && c.look_ahead() > 0; }

std::vector<PredictionJob> jobs_of(const Options& o, const std::vector<PredictionTask>& tasks) {
  std::vector<PredictionJob> jobs;
  std::size_t group = 0;
  for (const PredictionTask& task : tasks)
    for (const auto& config : task.configs) {
      for (std::uint64_t k = 0; k < o.repeat; ++k) jobs.push_back({&task, &config, o.common.seed + k, group});
      ++group;
    }
  return jobs;
}

// What is to know beside the predictions of all tasks: of the HPL.dat, which is the same for all, and of the platforms, with
// their names where there are several.
std::vector<std::string> warnings_of(const std::vector<PredictionTask>& tasks,
                                     const predict::PredictOptions& options) {
  std::vector<std::string> out = tasks.front().chosen.dat.notes;
  for (const PredictionTask& task : tasks) {
    const std::string whose = tasks.size() == 1 ? "" : predict::platform_label(task.platform) + ": ";
    for (const auto& told : {predict::hpl_warnings(task.platform, task.configs, options),
                             predict::peak_warnings(task.platform, task.configs)})
      for (const std::string& w : told) out.push_back(whose + w);
  }
  return out;
}

report::Assumed assumed_by(const std::vector<PredictionTask>& tasks) {
  report::Assumed out;
  for (const PredictionTask& task : tasks)
    out.add(predict::platform_label(task.platform), predict::hpl_assumed(task.platform));
  return out;
}

// --closed-form: no replay.
Result<void> run_closed_forms(const Options& o, const std::vector<PredictionTask>& tasks,
                              const predict::PredictOptions& options) {
  nlohmann::ordered_json j{{"schema", "weft.predict/1"}, {"runs", nlohmann::ordered_json::array()}};
  std::string text;
  for (const PredictionTask& task : tasks) {
    std::vector<predict::ClosedFormPrediction> closed;
    for (const auto& config : task.configs) {
      WEFT_ASSIGN(auto forms, predict::closed_forms(config, task.platform, options));
      j["runs"].push_back(report::closed_form_json(forms, task.platform, options));
      closed.push_back(forms);
    }
    text +=
        (text.empty() ? "" : "\n") +
        report::closed_forms_text(task.configs, closed, predict::platform_label(task.platform), text_width());
  }
  const std::vector<std::string> warnings = warnings_of(tasks, options);
  const report::Assumed assumed = assumed_by(tasks);
  text += assumed.text();
  for (const std::string& w : warnings) text += "warning: " + w + "\n";
  j["assumed"] = assumed.json();
  j["warnings"] = warnings;
  o.common.print(text);
  if (!o.common.json.empty()) WEFT_TRY(o.common.write_json(report::json_text(j)));
  return {};
}

Result<void> run(Options& o) {
  WEFT_ASSIGN(const std::vector<PredictionTask> tasks, tasks_of(o));
  if (o.predict.most_pieces > 0 &&
      std::ranges::none_of(tasks, [](const auto& task) { return std::ranges::any_of(task.configs, polls); }))
    WEFT_TRY(refuse_unused(*o.common.app, {"--pieces"},
                           "predict hpl of runs that do not poll within an update",
                           "netlib's HPL with --depth 1 or more and several process columns"));
  predict::PredictOptions options = o.predict;
  options.seed = o.common.seed;
  WEFT_ASSIGN(options.accuracy, read_accuracy(o.accuracy, options.model));
  WEFT_TRY(set_pivots(o.hpl, o.common.seed, options.pivots));
  options.on_fewer_threads = tell_fewer_threads;
  if (o.closed_form && o.report.wanted())
    return not_supported("a page of closed forms alone", "--report without --closed-form");
  if (o.closed_form && o.repeat > 1)
    return not_supported("closed forms with several seeds",
                         "--closed-form without --repeat, with one --seed: only --map random changes them");
  if (o.closed_form && o.journal.wanted())
    return not_supported("a journal of closed forms", "--closed-form without --journal: they take no time");
  if (o.closed_form && !o.common.csv.empty())
    return usage_error("--csv with --closed-form", o.common.csv, "--json, which has them");
  if (o.closed_form) return run_closed_forms(o, tasks, options);

  const std::vector<PredictionJob> jobs = jobs_of(o, tasks);
  const std::size_t runs = jobs.size();
  std::int64_t planned = 0, done = 0;
  for (const PredictionJob& job : jobs) planned += predict::planned_panels(*job.config, options);
  const bool one = runs == 1;
  Progress progress(o.common.progress_mode(), "predict", static_cast<std::uint64_t>(planned), "panels");
  // As many runs at once as there are threads, each with its part of them.
  const auto at_once = static_cast<unsigned>(std::min<std::size_t>(runs, o.common.threads));
  options.threads = std::max(1U, o.common.threads / at_once);
  Made made(jobs.size());
  std::mutex telling;
  options.on_panels = [&](std::int64_t more_done, std::int64_t more_planned) {
    const std::lock_guard lock(telling);
    done += more_done;
    planned += more_planned;
    progress.expect(static_cast<std::uint64_t>(planned));
    progress.update(static_cast<std::uint64_t>(done), one ? "" : counted(runs, "run"));
  };
  WEFT_TRY(o.journal.open(o.common, o.report.wanted()));
  std::string stopped;
  if (o.journal.wanted()) {
    options.stop = o.journal.plan().stop;
    WEFT_ASSIGN(const auto points, predict_points(jobs, o.journal, o.flags.changes(o.common.seed),
                                                  o.hpl.pivots, options, at_once, made));
    stopped = o.journal.stopped(points);
    if (o.journal.silent()) {
      progress.finish();
      o.common.print(o.journal.shard_text(points));
      if (!stopped.empty()) return interrupted(stopped);
      return {};
    }
  } else {
    const Interrupt interrupt;
    options.stop = interrupt.flag();
    WEFT_TRY(predict_all(jobs, options, at_once, made));
    const auto finished = std::ranges::count_if(made, [](const auto& m) { return m.has_value(); });
    if (static_cast<std::size_t>(finished) < runs)
      stopped = one ? fmt::format("interrupted after {} of {} panels: no prediction", done, planned)
                    : fmt::format("interrupted after {} of {} runs", finished, runs);
  }
  Predictions all;
  all.drawn = std::ranges::any_of(
      tasks, [&](const auto& task) { return predict::is_drawn(task.platform, task.configs, options); });
  for (std::size_t i = 0; i < runs; ++i)
    if (made[i]) WEFT_TRY(all.add(std::move(*made[i]), jobs[i], options));
  progress.finish();

  std::vector<std::string> warnings = pivot_warnings(options.pivots);
  for (std::string& w : warnings_of(tasks, options)) warnings.push_back(std::move(w));
  std::string text;
  if (!all.runs.empty())
    text =
        one ? report::prediction_text(all.runs[0], all.closed[0], tasks.front().chosen.chosen, text_width())
            : all.text(text_width());
  if (options.accuracy > 0) {
    std::set<std::string_view> models;
    for (const predict::HplPrediction& run : all.runs)
      if (models.insert(run.model).second) text += accuracy_note(run.model, options.accuracy) + "\n";
  }
  const report::Assumed assumed = assumed_by(tasks);
  text += assumed.text();
  for (const std::string& w : warnings) text += "warning: " + w + "\n";
  o.common.print(text);
  if (!o.common.json.empty() || o.report.wanted()) {
    auto j = all.json(one, options);
    j["assumed"] = assumed.json();
    j["warnings"] = warnings;
    if (!stopped.empty()) j["error"] = stopped;
    WEFT_TRY(o.common.write_json(report::json_text(j)));
    if (o.report.wanted() && !all.runs.empty()) {
      const std::string whole =
          one ? report::prediction_text(all.runs[0], all.closed[0], {}, report::kUnwrapped)
              : all.text(report::kUnwrapped);
      WEFT_TRY(o.report.write(report::page_of_document("predict", {std::string(report::first_line(whole))},
                                                       report::json_text(j))));
    }
  }
  if (!o.common.csv.empty() && !(one && all.runs.empty()))
    WEFT_TRY(o.common.write_csv(one ? report::panel_csv(all.runs[0])
                                    : report::predictions_csv(all.runs, all.closed, all.seeds)));
  if (!stopped.empty()) return interrupted(stopped);
  return {};
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.require_subcommand(1);
  CLI::App* hpl =
      app.add_subcommand("hpl", "Gflop/s, time split and panel curve of HPL, by replay and by closed forms");
  hpl->add_option("--on", o->on,
                  "platform: .textproto file, built-in name or family:key=value,...; repeat to compare")
      ->type_name("PLATFORM")
      ->required()
      ->allow_extra_args(false);
  o->flags.add(*hpl);
  add_map(*hpl, o->predict.map);
  add_model(*hpl, o->predict.model);
  add_accuracy(*hpl, o->accuracy);
  hpl->add_option(
         "--sample", o->sample,
         fmt::format("simulate K windows of panels, not all; from {} on with an error estimate [K = {}]",
                     hpl_gen::kWindowsToEstimate, predict::kDefaultWindows))
      ->type_name("K")
      ->expected(0, 1)
      ->transform(count(0, 100000));
  hpl->add_option("--window", o->predict.width, "measured panels of a window [Q, within 8 to 32]")
      ->type_name("PANELS")
      ->transform(count(1, 1000000));
  hpl->add_option("--warm-up", o->predict.warm_up, "panels dropped at the start of a window [DEPTH + 5]")
      ->type_name("PANELS")
      ->transform(count(1, 1000000));
  hpl->add_option(
         "--pieces", o->predict.most_pieces,
         with_default(
             "pieces of an update that polls for the next panel; 0 = one for every NB columns, as HPL",
             o->predict.most_pieces))
      ->type_name("PIECES")
      ->transform(count(0, 1000000));
  hpl->add_flag(
         "--exchanges{messages}", o->exchanges,
         "how pivot exchanges are replayed: --exchanges=auto, =messages (each shares links; the bare flag), "
         "=series (each as if alone, faster) [auto: series where a trial shows the same]")
      ->check(word({"auto", "messages", "series"}))
      ->type_name("auto|messages|series");
  hpl->add_flag("--closed-form", o->closed_form, "closed forms only, no replay: for any number of ranks");
  hpl->add_flag("--noise", o->predict.noise,
                "kernels vary from call to call as the platform says, by --seed");
  hpl->add_option(
         "--repeat", o->repeat,
         with_default("each run K times, with seeds SEED, SEED + 1, ... of noise, random pivots and random "
                      "placement: mean and spread. Random wirings and failures stay those of --seed",
                      o->repeat))
      ->type_name("K")
      ->transform(count(1, 1000));
  add_hpl_flags(*hpl, o->hpl, true);
  o->journal.add(*hpl);
  o->report.add(*hpl, o->common);
  add_common(*hpl, o->common);
  hpl->get_option("--threads")
      ->description(with_default(
          "runs simulated at once, or windows of panels of one run (--sample, trials "
          "of --exchanges); one run of all panels is one window. The result does not depend on it",
          o->common.threads));
  return with_outputs(o->common, [o, hpl]() -> Result<void> {
    const auto refuse = [&](std::initializer_list<const char*> flags, const char* with) -> Result<void> {
      for (const char* flag : flags)
        if (hpl->count(flag) > 0)
          return usage_error(fmt::format("{} {}", flag, with), {}, "--help says what goes together");
      return {};
    };
    if (o->closed_form)
      WEFT_TRY(refuse({"--sample", "--window", "--warm-up", "--pieces", "--exchanges", "--noise", "--pivots",
                       "--model", "--accuracy"},
                      "with --closed-form, where nothing is replayed"));
    if (hpl->count("--sample") == 0)
      WEFT_TRY(refuse({"--window", "--warm-up"}, "without --sample, which has windows"));
    if (hpl->count("--sample") > 0)
      o->predict.sample = o->sample.empty() ? predict::kDefaultWindows : std::stoi(o->sample);
    o->predict.exchanges = o->exchanges == "messages" ? predict::Exchanges::kMessages
                           : o->exchanges == "series" ? predict::Exchanges::kSeries
                                                      : predict::Exchanges::kAuto;
    return run(*o);
  });
}

}  // namespace weft::cli::verb_predict
