// weft predict hpl --on PLATFORM: Gflop/s of HPL before anybody runs it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "cli/hpl_choices.hpp"
#include "cli/hpl_prediction.hpp"
#include "cli/hpl_report.hpp"
#include "cli/platform_flags.hpp"
#include "cli/replay_flags.hpp"
#include "cli/verb.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "topology/placement.hpp"
#include "topology/platform.hpp"

namespace weft::cli {
namespace {

struct Options {
  CommonOptions common;
  HplFlags hpl;
  std::string on;
  PlatformFlags flags;
  PredictOptions predict;
  std::string sample;
  bool closed_form = false;
};

// --closed-form: no replay.
Result<void> run_closed_forms(const Options& o, const std::vector<hpl_gen::HplConfig>& configs,
                              const topology::Platform& platform, const PredictOptions& options) {
  std::vector<ClosedFormPrediction> closed;
  nlohmann::ordered_json j{{"schema", "weft.predict/1"}, {"runs", nlohmann::ordered_json::array()}};
  for (const auto& config : configs) {
    WEFT_ASSIGN(auto forms, closed_forms(config, platform, options));
    j["runs"].push_back(closed_form_json(config, forms));
    closed.push_back(forms);
  }
  o.common.print(closed_forms_text(configs, closed, platform.name));
  if (!o.common.json.empty()) WEFT_TRY(o.common.write_json(report::json_text(j)));
  if (!o.common.csv.empty())
    return usage_error("--csv with --closed-form", o.common.csv, "--json, which has them");
  return {};
}

Result<void> run(const Options& o) {
  WEFT_ASSIGN(const auto platform, topology::load_platform(o.on, o.flags.overrides(o.common.seed)));
  WEFT_ASSIGN(const auto chosen, complete_dat(o.hpl, platform));
  PredictOptions options = o.predict;
  options.seed = o.common.seed;
  hpl_gen::HplTraceOptions pivots;
  WEFT_TRY(set_pivots(o.hpl, o.common.seed, pivots));
  options.pivots = pivots.pivots;
  options.matrix_seed = pivots.matrix_seed;
  options.threads = o.common.threads;
  constexpr std::uint64_t kMostRuns = 4096;
  if (chosen.dat.run_count() > kMostRuns)
    return usage_error("too many runs in one HPL.dat", fmt::format("{}", chosen.dat.run_count()),
                       fmt::format("at most {}", kMostRuns));
  const auto configs = chosen.dat.runs();
  if (o.closed_form) return run_closed_forms(o, configs, platform, options);
  Progress progress(o.common.progress_mode(), "predict", configs.size(), "runs");
  std::vector<HplPrediction> runs;
  std::vector<ClosedFormPrediction> closed;
  std::vector<double> walls;
  for (const auto& config : configs) {
    const auto start = std::chrono::steady_clock::now();
    WEFT_ASSIGN(auto prediction, predict_hpl(config, platform, options));
    WEFT_ASSIGN(auto forms, closed_forms(config, platform, options));
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    walls.push_back(wall.count());
    if (configs.size() > 1) prediction.panels.clear();
    runs.push_back(std::move(prediction));
    closed.push_back(forms);
    progress.update(runs.size());
  }
  progress.finish();
  o.common.print(configs.size() == 1 ? prediction_text(runs[0], closed[0], chosen.chosen, platform.name)
                                     : predictions_text(runs, platform.name));
  if (!o.common.json.empty()) {
    nlohmann::ordered_json j;
    if (configs.size() == 1) {
      j = prediction_json(runs[0], closed[0], platform.name, options);
      j["engine"]["wall_s"] = walls[0];
      j["engine"]["peak_rss_bytes"] = peak_rss_bytes();
    } else {
      j["schema"] = "weft.predict/1";
      j["runs"] = nlohmann::ordered_json::array();
      for (std::size_t i = 0; i < runs.size(); ++i) {
        auto row = prediction_json(runs[i], closed[i], platform.name, options);
        row.erase("schema");
        row["engine"]["wall_s"] = walls[i];
        j["runs"].push_back(std::move(row));
      }
      j["engine"] = {{"peak_rss_bytes", peak_rss_bytes()}};
    }
    WEFT_TRY(o.common.write_json(report::json_text(j)));
  }
  if (!o.common.csv.empty())
    WEFT_TRY(o.common.write_csv(configs.size() == 1 ? panel_csv(runs[0]) : predictions_csv(runs, closed)));
  return {};
}

}  // namespace

Action setup_predict(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.require_subcommand(1);
  CLI::App* hpl =
      app.add_subcommand("hpl", "Gflop/s, time split and panel curve of HPL, by replay and by closed forms");
  hpl->add_option("--on", o->on, "platform: .textproto file, built-in name or family:key=value,...")
      ->type_name("PLATFORM")
      ->required();
  o->flags.add(*hpl);
  hpl->add_option("--map", o->predict.map,
                  "which rank runs where: " + std::string(topology::kMaps) + " [block]")
      ->type_name("MAP");
  hpl->add_option("--model", o->predict.model,
                  "how flows share links: max-min, pcie, ... [pcie where there are PCIe trees, else max-min]")
      ->type_name("MODEL");
  hpl->add_option("--sample", o->sample, "simulate K windows of panels, not all [K = 6]")
      ->type_name("K")
      ->expected(0, 1)
      ->check(CLI::Range(0, 100000));
  hpl->add_option("--window", o->predict.width, "measured panels of a window [Q, within 8 to 32]")
      ->type_name("PANELS")
      ->check(CLI::Range(1, 1000000));
  hpl->add_option("--warm-up", o->predict.warm_up, "panels dropped at the start of a window [DEPTH + 5]")
      ->type_name("PANELS")
      ->check(CLI::Range(1, 1000000));
  hpl->add_option(
         "--pieces", o->predict.most_pieces,
         "pieces of an update that polls for the next panel; 0 = one for every NB columns, as HPL [0]")
      ->type_name("PIECES")
      ->check(CLI::Range(0, 1000000));
  hpl->add_flag("--exchanges", o->predict.message_by_message,
                "pivot exchanges message by message (slower, as exact)");
  hpl->add_flag("--closed-form", o->closed_form, "closed forms only, no replay: for any number of ranks");
  hpl->add_flag("--noise", o->predict.noise,
                "kernels vary from call to call as the platform says, by --seed");
  add_hpl_flags(*hpl, o->hpl);
  add_common(*hpl, o->common);
  return with_outputs(o->common, [o, hpl] {
    if (hpl->count("--sample") > 0)
      o->predict.sample = o->sample.empty() ? kDefaultWindows : std::stoi(o->sample);
    return run(*o);
  });
}

}  // namespace weft::cli
