// weft tune hpl --on PLATFORM: the HPL.dat that simulates fastest.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
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
#include "core/counted.hpp"
#include "core/files/atomic_file.hpp"
#include "core/quantity_text.hpp"
#include "hpl_gen/hpl_search.hpp"
#include "network/sharing.hpp"
#include "predict/hpl_prediction.hpp"
#include "predict/hpl_tuning.hpp"
#include "predict/hpl_warnings.hpp"
#include "predict/run_facts.hpp"
#include "report/hpl/factorisation.hpp"
#include "report/hpl/hpl_report.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "topology/platform/platform.hpp"

namespace weft::cli::verb_tune {
namespace {

using hpl_gen::Candidate;
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

std::string row_text(const HplConfig& c) {
  return fmt::format("N {} NB {} {} x {} {} depth {} {} {}", c.n, c.nb, c.p, c.q, hpl_gen::name_of(c.bcast),
                     c.depth, hpl_gen::name_of(c.swap), hpl_gen::name_of(c.pmap));
}

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
  // rocHPL reads DEPTH and SWAP and goes its own way.
  const bool netlib = base.program == hpl_gen::Program::kNetlib;
  const hpl_gen::SearchSpace space =
      predict::tuning_space(chosen.dat, {.nb = given.nb.empty(),
                                         .grid = given.p.empty(),
                                         .bcast = given.bcast.empty(),
                                         .depth = netlib && given.depth.empty(),
                                         .swap = netlib && given.swap.empty(),
                                         .pmap = given.pmap.empty()});
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
    if (tuning.points.interrupted) return o.journal.interrupted(o.journal.stopped(tuning.points));
    return {};
  }
  const auto ended = [&](std::string why) {
    return o.journal.wanted() ? o.journal.interrupted(std::move(why))
                              : Error{ErrorCode::kFinding, {}, std::move(why), {}, {}};
  };
  if (result.ranking.empty()) return ended("interrupted before the first prediction");

  const double gain = result.best.gflops / result.base.gflops - 1;
  const std::string dat = hpl_gen::write_hpl_dat(hpl_gen::to_dat(result.best.config));
  std::vector<std::string> warnings = pivot_warnings(options.pivots);
  for (std::string& w : predict::hpl_warnings(platform, sizes_of(space, base), options))
    warnings.push_back(std::move(w));
  if (!result.untried.empty())
    warnings.push_back(fmt::format("{} were not enough to try {}; --evaluations {} or more",
                                   counted(result.evaluations, "prediction"), fmt::join(result.untried, ", "),
                                   2 * o.evaluations));
  const std::string_view model = network::model_name(o.model, platform.fabric);
  std::string text;
  for (const std::string& c : chosen.chosen) text += fmt::format("chosen: {}\n", c);
  const auto inner = report::varying_parts(space.factorisation);
  const auto told = [&](const HplConfig& c) {
    const std::string words = report::factorisation_words(hpl_gen::factorisation_of(c), inner);
    return row_text(c) + (words.empty() ? "" : " " + words);
  };
  const std::string answer = fmt::format("{}: {}, {:+.1f} % over the base ({}: {})", told(result.best.config),
                                         show(FlopRate(result.best.gflops * 1e9)), gain * 100, told(base),
                                         show(FlopRate(result.base.gflops * 1e9)));
  text += answer + "\n";
  const auto exact = std::ranges::count_if(result.ranking, &Candidate::exact);
  const std::string what = exact == std::ssize(result.ranking) ? "of all panels"
                           : exact > 0                         ? "of all panels or of windows of them"
                                                               : "of windows of panels";
  text += fmt::format("{}, {}, {} sharing; {}\n", counted(result.evaluations, "prediction"), what, model,
                      o.out.empty() ? "the HPL.dat is below, -o FILE writes it"
                                    : fmt::format("HPL.dat written to {}", o.out));
  if (result.complete && result.candidates > result.ranking.size())
    text += fmt::format("a local best: {} of {} were tried\n", result.ranking.size(),
                        counted(result.candidates, "candidate"));
  for (const std::string& w : warnings) text += "warning: " + w + "\n";
  text += "\n";
  using report::Table;
  std::vector<Table::Column> columns({{"N"},
                                      {"NB"},
                                      {"P"},
                                      {"Q"},
                                      {"map", Table::Align::kLeft},
                                      {"bcast", Table::Align::kLeft},
                                      {"depth"},
                                      {"swap", Table::Align::kLeft}});
  for (const auto& part : inner) columns.push_back({std::string(part.name)});
  columns.insert(columns.end(), {{"rate"}, {"+-"}, {"round"}});
  Table table(columns);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  std::string csv = report::csv_line({"n", "nb", "p", "q", "pmap", "bcast", "depth", "swap", "gflops",
                                      "error_estimate", "round", "pfact", "nbmin", "rfact", "ndiv"});
  constexpr std::size_t kTextRows = 12;
  for (const Candidate& c : result.ranking) {
    const HplConfig& h = c.config;
    const std::vector<std::string> cells = {fmt::format("{}", h.n),
                                            fmt::format("{}", h.nb),
                                            fmt::format("{}", h.p),
                                            fmt::format("{}", h.q),
                                            std::string(hpl_gen::name_of(h.pmap)),
                                            std::string(hpl_gen::name_of(h.bcast)),
                                            fmt::format("{}", h.depth),
                                            std::string(hpl_gen::name_of(h.swap))};
    auto shown = cells, plain = cells;
    const hpl_gen::PanelFactorisation f = hpl_gen::factorisation_of(h);
    for (const auto& part : inner) shown.push_back(part.text(f));
    shown.insert(shown.end(),
                 {show(FlopRate(c.gflops * 1e9)), c.error_estimate ? show_percent(*c.error_estimate) : "-",
                  fmt::format("{}", c.round)});
    plain.insert(plain.end(), {predict::exact_number(c.gflops),
                               c.error_estimate ? predict::exact_number(*c.error_estimate) : "",
                               fmt::format("{}", c.round)});
    for (const auto& part : report::factorisation_parts()) plain.push_back(part.text(f));
    if (table.size() < kTextRows) table.add(shown);
    csv += report::csv_line(plain);
    rows.push_back({{"n", h.n},
                    {"nb", h.nb},
                    {"p", h.p},
                    {"q", h.q},
                    {"pmap", hpl_gen::name_of(h.pmap)},
                    {"bcast", hpl_gen::name_of(h.bcast)},
                    {"depth", h.depth},
                    {"swap", hpl_gen::name_of(h.swap)},
                    {"gflops", c.gflops},
                    {"error_estimate", report::optional_json(c.error_estimate)},
                    {"round", c.round},
                    {"pfact", hpl_gen::name_of(h.pfact)},
                    {"nbmin", h.nbmin},
                    {"rfact", hpl_gen::name_of(h.rfact)},
                    {"ndiv", h.ndiv}});
  }
  text += table.text(text_width());
  if (options.accuracy > 0) text += accuracy_note(options.accuracy) + "\n";
  if (o.out.empty()) text += "\n" + dat;
  WEFT_TRY(o.common.outputs->write("--output", dat));
  o.common.print(text);
  nlohmann::ordered_json j;
  j["schema"] = "weft.tune/1";
  j["platform"] = platform.name;
  j["model"] = report::sharing_json(model, options.accuracy);
  j["base_gflops"] = result.base.gflops;
  j["best_gflops"] = result.best.gflops;
  j["gain"] = gain;
  j["evaluations"] = result.evaluations;
  j["candidates"] = result.candidates;
  j["hpl_dat"] = o.out.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(o.out);
  j["hpl_dat_text"] = dat;
  j["pivots"] = o.hpl.pivots;
  j["warnings"] = warnings;
  j["rows"] = std::move(rows);
  const std::string stopped =
      result.complete
          ? ""
          : fmt::format("interrupted after {} of {} predictions: the best so far is not the answer",
                        result.evaluations, o.evaluations);
  if (!result.complete) j["error"] = stopped;
  WEFT_TRY(o.common.write_json(report::json_text(j)));
  WEFT_TRY(o.common.write_csv(csv));
  if (o.report.wanted())
    WEFT_TRY(o.report.write(report::page_of_document("tune", answer, report::json_text(j))));
  if (!result.complete) return ended(stopped);
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
