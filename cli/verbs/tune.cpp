// weft tune hpl --on PLATFORM: the HPL.dat that simulates fastest.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/flags/hpl_flags.hpp"
#include "cli/flags/journal_flags.hpp"
#include "cli/flags/model_flag.hpp"
#include "cli/flags/platform_flags.hpp"
#include "cli/flags/report_flag.hpp"
#include "cli/flags/values.hpp"
#include "cli/interrupt.hpp"
#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "hpl_gen/hpl_search.hpp"
#include "network/sharing.hpp"
#include "predict/hpl_prediction.hpp"
#include "predict/hpl_tuning.hpp"
#include "predict/hpl_warnings.hpp"
#include "report/hpl/tuning_report.hpp"
#include "report/json_text.hpp"
#include "topology/platform/platform.hpp"

namespace weft::cli::verb_tune {
namespace {

using hpl_gen::HplConfig;

struct Options {
  CommonOptions common;
  ReportFlag report;
  HplFlags hpl;
  std::string on, map = "block", model, accuracy, out;
  PlatformFlags flags;
  JournalFlags journal;
  int evaluations = 64;
};

// Of every size and width of blocks that the search may try.
std::vector<HplConfig> sizes_of(const hpl_gen::SearchSpace& space, HplConfig config) {
  std::vector<HplConfig> out;
  for (const std::int64_t n : space.n)
    for (const hpl_gen::Grid& g : space.grids)
      for (const std::int64_t nb : space.nb) {
        config.n = n, config.nb = nb, config.p = g.p, config.q = g.q;
        out.push_back(config);
      }
  return out;
}

Result<void> run(Options& o) {
  WEFT_ASSIGN(const auto platform, topology::load_platform(o.on, o.flags.changes(o.common.seed)));
  WEFT_ASSIGN(const auto chosen, hpl_dat_for(o.hpl, platform, o.map, o.common.seed));
  const HplConfig base = chosen.dat.runs().front();
  const HplFlags& given = o.hpl;
  // Programs on accelerators have one way for both.
  const bool netlib = base.program == hpl_gen::Program::kNetlib;
  int on_node = 0;
  if (base.program == hpl_gen::Program::kRocHpl) {
    WEFT_ASSIGN(on_node, predict::ranks_on_node(platform, base.ranks(), o.map, o.common.seed));
  }
  const predict::Vary vary{.nb = given.nb.empty(),
                           .grid = given.p.empty() && given.q.empty(),
                           .bcast = given.bcast.empty(),
                           .depth = netlib && given.depth.empty(),
                           .swap = netlib && given.swap.empty(),
                           .pmap = given.pmap.empty()};
  const hpl_gen::SearchSpace space = predict::tuning_space(chosen.dat, vary, on_node);
  WEFT_TRY(check_split(given, space.grids));
  predict::PredictOptions options;
  options.map = o.map;
  options.model = o.model;
  WEFT_ASSIGN(options.accuracy, read_accuracy(o.accuracy, o.model));
  options.seed = o.common.seed;
  WEFT_TRY(set_pivots(o.hpl, o.common.seed, options.pivots));
  options.threads = o.common.threads;
  options.on_fewer_threads = tell_fewer_threads;
  Progress progress(o.common.progress_mode(), "tune", static_cast<std::uint64_t>(o.evaluations),
                    "predictions");
  WEFT_TRY(o.journal.open(o.common, o.report.wanted() || !o.out.empty()));
  std::optional<Interrupt> interrupt;
  if (!o.journal.wanted()) interrupt.emplace();
  options.stop = interrupt ? interrupt->flag() : o.journal.plan().stop;
  const predict::KeptPredictions kept{{o.on, o.flags.changes(o.common.seed), o.hpl.pivots, false},
                                      o.journal.plan()};
  WEFT_ASSIGN(const auto tuning, predict::tune_hpl(
                                     base, space, platform, options, o.evaluations,
                                     [&](std::uint64_t done) { progress.update(done); }, kept));
  const hpl_gen::SearchResult& result = tuning.search;
  progress.finish();
  if (o.journal.silent()) {
    o.common.print(o.journal.shard_text(tuning.points, tuning.awaited));
    if (tuning.points.interrupted) return interrupted(o.journal.stopped(tuning.points));
    return {};
  }
  if (result.ranking.empty()) return interrupted("interrupted before the first prediction");

  report::TuningFacts facts;
  facts.platform = platform.name;
  facts.label = platform.label;
  facts.model = network::model_name(o.model, platform.fabric);
  facts.accuracy = options.accuracy;
  facts.pivots = o.hpl.pivots;
  facts.evaluations = o.evaluations;
  facts.drawn = predict::is_drawn(platform, sizes_of(space, base), options);
  facts.space = &space;
  facts.result = &result;
  facts.chosen = chosen.chosen;
  facts.assumed.add(predict::platform_label(platform), predict::hpl_assumed(platform));
  facts.warnings = chosen.dat.notes;
  for (std::string& w : pivot_warnings(options.pivots)) facts.warnings.push_back(std::move(w));
  for (std::string& w : predict::hpl_warnings(platform, sizes_of(space, base), options))
    facts.warnings.push_back(std::move(w));
  facts.hpl_dat = hpl_gen::write_hpl_dat(hpl_gen::to_dat(result.best.config));
  facts.hpl_dat_file = o.out;
  if (!result.complete)
    facts.error = fmt::format("interrupted after {} of {} predictions: the best so far is not the answer",
                              result.evaluations, o.evaluations);
  std::string text = report::tuning_text(facts, text_width());
  if (options.accuracy > 0) text += accuracy_note(facts.model, options.accuracy) + "\n";
  if (o.out.empty()) text += "\n" + facts.hpl_dat;
  WEFT_TRY(o.common.outputs->write("--output", facts.hpl_dat));
  o.common.print(text);
  const std::string document = report::json_text(report::tuning_json(facts));
  WEFT_TRY(o.common.write_json(document));
  WEFT_TRY(o.common.write_csv(report::tuning_csv(result)));
  if (o.report.wanted())
    WEFT_TRY(o.report.write(report::page_of_document("tune", {report::tuning_answer(facts)}, document)));
  if (!result.complete) return interrupted(facts.error);
  return {};
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.require_subcommand(1);
  CLI::App* hpl = app.add_subcommand(
      "hpl", "search NB, P x Q, BCAST, DEPTH, SWAP, PMAP by simulation; prints the best HPL.dat");
  hpl->add_option("--on", o->on, "platform: .textproto file, built-in name or family:key=value,...")
      ->type_name("PLATFORM")
      ->required();
  o->flags.add(*hpl);
  add_map(*hpl, o->map);
  add_model(*hpl, o->model);
  add_accuracy(*hpl, o->accuracy);
  hpl->add_option("--evaluations", o->evaluations, "predictions to spend [64]")
      ->type_name("K")
      ->transform(count(8, 1000000));
  add_output(*hpl, o->common, "-o,--output", o->out,
             "write the HPL.dat to FILE, - = stdout [print it below the table]");
  add_hpl_flags(*hpl, o->hpl, true);
  o->journal.add(*hpl);
  o->report.add(*hpl, o->common);
  add_common(*hpl, o->common);
  hpl->get_option("--threads")
      ->description(
          "windows of panels of a prediction simulated at once; the result does not depend on it [1]");
  return with_outputs(o->common, [o] { return run(*o); });
}

}  // namespace weft::cli::verb_tune
