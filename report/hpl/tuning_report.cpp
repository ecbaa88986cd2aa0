#include "report/hpl/tuning_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "predict/run_facts.hpp"
#include "report/hpl/close_runs.hpp"
#include "report/hpl/factorisation.hpp"
#include "report/hpl/hpl_report.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

using hpl_gen::Candidate;
using hpl_gen::HplConfig;

constexpr std::size_t kTuningTextRows = 12;

double gain_over_base(const hpl_gen::SearchResult& result) {
  return result.best.gflops / result.base.gflops - 1;
}

// In words, with what of the factorisation of panels is varied.
std::string tuned_config_text(const HplConfig& c, std::span<const FactorisationPart> varied) {
  const std::string words = factorisation_words(hpl_gen::factorisation_of(c), varied);
  return fmt::format("N {} NB {} {} x {} {} depth {} {} {}{}{}", c.n, c.nb, c.p, c.q,
                     hpl_gen::name_of(c.bcast), c.depth, hpl_gen::name_of(c.swap), hpl_gen::name_of(c.pmap),
                     words.empty() ? "" : " ", words);
}

// What the text and the CSV begin a row with.
std::vector<std::string> tuned_config_cells(const HplConfig& c) {
  return {fmt::format("{}", c.n),
          fmt::format("{}", c.nb),
          fmt::format("{}", c.p),
          fmt::format("{}", c.q),
          std::string(hpl_gen::name_of(c.pmap)),
          std::string(hpl_gen::name_of(c.bcast)),
          fmt::format("{}", c.depth),
          std::string(hpl_gen::name_of(c.swap))};
}

bool tried_all(const hpl_gen::SearchResult& result) { return result.candidates <= result.ranking.size(); }

std::vector<std::string> tuning_warnings(const TuningFacts& facts) {
  std::vector<std::string> out = facts.warnings;
  const hpl_gen::SearchResult& result = *facts.result;
  const auto not_enough = [&](std::string_view to) {
    out.push_back(fmt::format("{} were not enough to {}; --evaluations {} or more",
                              counted(result.evaluations, "prediction"), to, 2 * facts.evaluations));
  };
  if (!result.untried.empty())
    not_enough(fmt::format("try {}", fmt::join(result.untried, ", ")));
  else if (result.complete && !tried_all(result) && !result.local_best)
    not_enough("end at a local best");
  return out;
}

// What is as fast as the first of the ranking.
std::vector<CloseRun> close_to_best(const TuningFacts& facts) {
  std::vector<RatedRun> rated;
  for (const Candidate& c : facts.result->ranking) rated.push_back({{0}, {c.gflops}, c.error_estimate});
  return close_runs(rated, 0, facts.drawn);
}

std::string close_to_best_text(const TuningFacts& facts) {
  std::vector<NamedRun> named;
  for (const Candidate& c : facts.result->ranking) named.push_back({{}, &c.config});
  return close_runs_text(close_to_best(facts), named, 0, 1, "weft predict hpl --repeat 5");
}

Table ranking_table(const hpl_gen::SearchResult& result, std::span<const FactorisationPart> varied) {
  std::vector<Table::Column> columns({{"N"},
                                      {"NB"},
                                      {"P"},
                                      {"Q"},
                                      {"map", Table::Align::kLeft},
                                      {"bcast", Table::Align::kLeft},
                                      {"depth"},
                                      {"swap", Table::Align::kLeft}});
  for (const auto& part : varied) columns.push_back({std::string(part.name)});
  columns.insert(columns.end(), {{"rate"}, {"+-"}, {"round"}});
  Table table(columns);
  for (const Candidate& c : result.ranking) {
    if (table.size() == kTuningTextRows) break;
    std::vector<std::string> cells = tuned_config_cells(c.config);
    for (const auto& part : varied) cells.push_back(part.text(hpl_gen::factorisation_of(c.config)));
    cells.insert(cells.end(),
                 {show(FlopRate(c.gflops * 1e9)), c.error_estimate ? show_percent(*c.error_estimate) : "-",
                  fmt::format("{}", c.round)});
    table.add(std::move(cells));
  }
  return table;
}

}  // namespace

std::string tuning_answer(const TuningFacts& facts) {
  const hpl_gen::SearchResult& result = *facts.result;
  const auto varied = varying_parts(facts.space->factorisation);
  return fmt::format("{}: {}, {:+.1f} % over the base ({}: {})",
                     tuned_config_text(result.best.config, varied), show(FlopRate(result.best.gflops * 1e9)),
                     gain_over_base(result) * 100, tuned_config_text(result.base.config, varied),
                     show(FlopRate(result.base.gflops * 1e9)));
}

std::string tuning_text(const TuningFacts& facts, std::size_t width) {
  const hpl_gen::SearchResult& result = *facts.result;
  std::string text;
  for (const std::string& c : facts.chosen) text += fmt::format("chosen: {}\n", c);
  text += tuning_answer(facts) + "\n" + close_to_best_text(facts);
  const auto exact = std::ranges::count_if(result.ranking, &Candidate::exact);
  const std::string what = exact == std::ssize(result.ranking) ? "of all panels"
                           : exact > 0                         ? "of all panels or of windows of them"
                                                               : "of windows of panels";
  text +=
      fmt::format("{}, {}, {} sharing; {}\n", counted(result.evaluations, "prediction"), what, facts.model,
                  facts.hpl_dat_file.empty() ? "the HPL.dat is below, -o FILE writes it"
                                             : fmt::format("HPL.dat written to {}", facts.hpl_dat_file));
  if (result.complete && !tried_all(result)) {
    const std::string some =
        fmt::format("{} of {}", result.ranking.size(), counted(result.candidates, "candidate"));
    text += result.local_best ? fmt::format("a local best: {} were tried\n", some)
                              : fmt::format("the best of {}\n", some);
  }
  text += facts.assumed.text();
  for (const std::string& w : tuning_warnings(facts)) text += "warning: " + w + "\n";
  return text + "\n" + ranking_table(result, varying_parts(facts.space->factorisation)).text(width);
}

nlohmann::ordered_json tuning_json(const TuningFacts& facts) {
  using Json = nlohmann::ordered_json;
  const hpl_gen::SearchResult& result = *facts.result;
  Json j;
  j["schema"] = "weft.tune/1";
  j["platform"] = facts.platform;
  if (!facts.label.empty()) j["label"] = facts.label;
  j["model"] = sharing_json(facts.model, facts.accuracy);
  j["base_gflops"] = result.base.gflops;
  j["best_gflops"] = result.best.gflops;
  j["gain"] = gain_over_base(result);
  j["evaluations"] = result.evaluations;
  j["candidates"] = result.candidates;
  j["local_best"] = result.local_best;
  j["hpl_dat"] = facts.hpl_dat_file.empty() ? Json(nullptr) : Json(facts.hpl_dat_file);
  j["hpl_dat_text"] = facts.hpl_dat;
  j["pivots"] = facts.pivots;
  j["fastest"] = close_runs_json(close_to_best(facts), 0);
  j["assumed"] = facts.assumed.json();
  j["warnings"] = tuning_warnings(facts);
  Json& rows = j["rows"] = Json::array();
  for (const Candidate& c : result.ranking) {
    rows.push_back({{"n", c.config.n},
                    {"nb", c.config.nb},
                    {"p", c.config.p},
                    {"q", c.config.q},
                    {"pmap", hpl_gen::name_of(c.config.pmap)},
                    {"bcast", hpl_gen::name_of(c.config.bcast)},
                    {"depth", c.config.depth},
                    {"swap", hpl_gen::name_of(c.config.swap)},
                    {"gflops", c.gflops},
                    {"error_estimate", optional_json(c.error_estimate)},
                    {"round", c.round},
                    {"pfact", hpl_gen::name_of(c.config.pfact)},
                    {"nbmin", c.config.nbmin},
                    {"rfact", hpl_gen::name_of(c.config.rfact)},
                    {"ndiv", c.config.ndiv}});
    add_node_grid(rows.back(), c.config);
  }
  if (!facts.error.empty()) j["error"] = facts.error;
  return j;
}

std::string tuning_csv(const hpl_gen::SearchResult& result) {
  std::string csv = csv_line({"n", "nb", "p", "q", "pmap", "bcast", "depth", "swap", "gflops",
                              "error_estimate", "round", "pfact", "nbmin", "rfact", "ndiv"});
  for (const Candidate& c : result.ranking) {
    std::vector<std::string> cells = tuned_config_cells(c.config);
    cells.insert(cells.end(), {predict::exact_number(c.gflops),
                               c.error_estimate ? predict::exact_number(*c.error_estimate) : "",
                               fmt::format("{}", c.round)});
    for (const auto& part : factorisation_parts())
      cells.push_back(part.text(hpl_gen::factorisation_of(c.config)));
    csv += csv_line(cells);
  }
  return csv;
}

}  // namespace weft::report
