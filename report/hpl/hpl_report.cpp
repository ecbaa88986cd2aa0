#include "report/hpl/hpl_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "hpl_gen/closed_form/closed_form.hpp"
#include "hpl_gen/grid.hpp"
#include "predict/hpl_exchanges.hpp"
#include "predict/run_facts.hpp"
#include "report/hpl/close_runs.hpp"
#include "report/hpl/factorisation.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

Json forms_json(const predict::ClosedFormPrediction& closed) {
  return Json{
      {"hpl_gflops", closed.hpl},       {"mcl_gflops", closed.mcl}, {"roofline_gflops", closed.roofline},
      {"phases_gflops", closed.phases}, {"gamma_s", closed.gamma},  {"alpha_s", closed.alpha},
      {"beta_s_per_word", closed.beta}};
}

// The lines of HPL.dat that have no key of their own, and the run.
Json config_json(const hpl_gen::HplConfig& c, const predict::PredictOptions& options) {
  Json j{{"pmap", hpl_gen::name_of(c.pmap)},
         {"pfact", hpl_gen::name_of(c.pfact)},
         {"nbmin", c.nbmin},
         {"ndiv", c.ndiv},
         {"rfact", hpl_gen::name_of(c.rfact)},
         {"bcast", hpl_gen::name_of(c.bcast)},
         {"depth", c.depth},
         {"swap", hpl_gen::name_of(c.swap)},
         {"swap_threshold", c.swap_threshold},
         {"map", options.map},
         {"seed", options.seed},
         {"noise", options.noise}};
  add_node_grid(j, c);
  return j;
}

// --on LABEL=PLATFORM; empty: it has none.
std::string label_given(const predict::HplPrediction& run) {
  return run.label == run.platform ? std::string() : run.label;
}

constexpr std::size_t kTextPoints = 20;
constexpr std::size_t kFilePoints = 200;
using Part = hpl_gen::PanelSeconds;

struct PhaseRow {
  const char* name;
  const char* what;
  double predict::HplPrediction::*seconds;
  double predict::PhaseErrors::*error;
};
constexpr PhaseRow kPhases[] = {
    {"update", "multiplication and triangular solve", &predict::HplPrediction::update_s,
     &predict::PhaseErrors::update_s},
    {"swap", "row exchanges and U", &predict::HplPrediction::swap_s, &predict::PhaseErrors::swap_s},
    {"bcast", "waiting for panels and sending them on", &predict::HplPrediction::bcast_s,
     &predict::PhaseErrors::bcast_s},
    {"pfact", "factoring own panels", &predict::HplPrediction::pfact_s, &predict::PhaseErrors::pfact_s},
    {"solve", "back substitution", &predict::HplPrediction::solve_s, &predict::PhaseErrors::solve_s},
};

std::string config_text(const hpl_gen::HplConfig& c) {
  if (hpl_gen::on_accelerators(c.program))
    return fmt::format("{}, N {} NB {} on {} x {}, {}, split {}",
                       c.program == hpl_gen::Program::kRocHpl ? "rocHPL" : "HPL-NVIDIA", c.n, c.nb, c.p, c.q,
                       hpl_gen::name_of(c.bcast), c.rochpl.split);
  return fmt::format("N {} NB {} on {} x {}, {}, depth {}, swap {}", c.n, c.nb, c.p, c.q,
                     hpl_gen::name_of(c.bcast), c.depth, hpl_gen::name_of(c.swap));
}

Table::Column column_of(const FactorisationPart& part) {
  return {std::string(part.name), part.named_values ? Table::Align::kLeft : Table::Align::kRight};
}

// Ranks wait longer for panels than these are on their way: for others to factor them, which no network makes shorter.
bool waits_for_panels(const predict::HplPrediction& run) { return run.bcast_s > run.bcast_took_s; }

// What takes most beside the update.
const PhaseRow& longest_phase(const predict::HplPrediction& run) {
  const PhaseRow* longest = &kPhases[1];
  for (const PhaseRow& p : kPhases)
    if (&p != &kPhases[0] && run.*p.seconds > run.*longest->seconds) longest = &p;
  return *longest;
}

// That is the wait for others to factor.
bool factoring_counts(const predict::HplPrediction& run) {
  return longest_phase(run).seconds == &predict::HplPrediction::bcast_s && waits_for_panels(run);
}

std::string limits(const predict::HplPrediction& run) {
  const PhaseRow* second = &longest_phase(run);
  const bool factoring = factoring_counts(run);
  const std::string name = factoring ? "waiting for panels" : second->name;
  const std::string most = show_percent(run.*second->seconds / run.time_s);
  const std::string update = show_percent(run.update_s / run.time_s);
  // What the host is in says little where accelerators work, most of it hides: its update is the wait for them.
  const std::string working = run.device_s ? show_percent(*run.device_s / run.time_s) : std::string();
  std::string text;
  if (run.update_s >= run.*second->seconds)
    text =
        fmt::format("{}; next {} with {}",
                    run.device_s ? fmt::format("Accelerators limit it: they work {} of the time, hosts wait "
                                               "for them {}",
                                               working, update)
                                 : fmt::format("Computation limits it: {} of the time is update", update),
                    name, most);
  else
    text = fmt::format("{} limits it: {} of the time{}; {}", factoring ? "Waiting for panels" : name, most,
                       factoring ? fmt::format(", of which their messages take at most {}",
                                               show_percent(run.bcast_took_s / run.time_s))
                                 : std::string(),
                       run.device_s
                           ? fmt::format("accelerators work {}, hosts wait for them {}", working, update)
                           : "update is " + update);
  if (!run.busiest_link.empty())
    text += fmt::format("; busiest link {} at {} ({} sharing)", run.busiest_link,
                        show_percent(run.busiest_utilization), run.model);
  return text + ".\n";
}

// What a sample is worth, in words: how many panels, and how far off at most.
std::string sample_text(const predict::HplPrediction& run) {
  const std::string panels = fmt::format("{} of {} panels simulated", run.panels_simulated, run.panels_total);
  if (run.error_estimate)
    return fmt::format(" (+-{} with {:.0f} % confidence: {})", show_percent(*run.error_estimate),
                       hpl_gen::kConfidence * 100, panels);
  if (run.exchanges.series && !run.exchanges.differs_at_most)
    return fmt::format(" ({}; no estimate: what the short cut of exchanges leaves out is not known)", panels);
  return fmt::format(" ({}: too few to say how far off; --sample {} or more, --window {} or more)", panels,
                     hpl_gen::kWindowsToEstimate, hpl_gen::kPanelsToEstimate);
}

std::string exchanges_text(const predict::ExchangeChoice& e) {
  std::string text = e.series ? "as one operation a panel, each message as if alone" : "message by message";
  text = fmt::format("pivot exchanges: {}: {}", text, e.why);
  if (e.panels_tried > 0)
    text += fmt::format(" (a difference of up to {} is taken)", show_percent(predict::kSeriesTolerance));
  return text + "\n";
}

double hidden(const predict::HplPrediction& run) {
  return run.bcast_took_s > 0 ? std::max(0.0, 1 - run.bcast_s / run.bcast_took_s) : 0;
}

// How long panels are on their way, and what ranks wait for.
std::string broadcasts_text(const predict::HplPrediction& run) {
  if (run.bcast_took_s <= 0) return {};
  return fmt::format("panel broadcasts take {} from first send to last arrival; ranks wait {} for {}\n",
                     show_seconds(run.bcast_took_s), show_seconds(run.bcast_s),
                     waits_for_panels(run)
                         ? fmt::format("panels, at least {} of it until others have factored and sent them",
                                       show_seconds(run.bcast_s - run.bcast_took_s))
                         : fmt::format("them: {} hidden", show_percent(hidden(run))));
}

// Share of the host's phases during which its accelerator worked.
double hidden_behind_device(const predict::HplPrediction& run) {
  const double host = run.pfact_s + run.bcast_s + run.swap_s;
  return run.device_hidden_s && host > 0 ? std::min(*run.device_hidden_s / host, 1.0) : 0;
}

// One route stands for all.
std::string messages_taken(const predict::ClosedFormPrediction& closed) {
  return fmt::format("network of the closed forms, a message alone, {}: {}, {}\n", closed.network,
                     show_seconds(closed.alpha),
                     closed.beta > 0 ? show(Bandwidth(8 / closed.beta)) : "any size in no time");
}

}  // namespace

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

std::vector<CurvePoint> panel_curve(const predict::HplPrediction& run, std::size_t points) {
  std::vector<CurvePoint> out;
  const std::size_t panels = run.panels.size();
  points = std::min(points, panels);
  const auto n = static_cast<double>(run.config.n);
  // With look-ahead a panel is over before its update is, which stands in the time of a later one.
  const auto ahead = static_cast<std::size_t>(std::max(0, run.config.look_ahead()));
  const auto updated = [&](std::size_t k) { return k == panels ? panels : k - std::min(k, ahead); };
  double seconds = 0;
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t from = i * panels / points, to = (i + 1) * panels / points;
    hpl_gen::PanelSeconds parts;
    for (std::size_t k = from; k < to; ++k) parts += run.panels[k];
    const double took = parts.s[hpl_gen::PanelSeconds::kTime];
    seconds += took;
    const auto left = [&](std::size_t k) {
      return std::max(0.0, n - static_cast<double>(k) * static_cast<double>(run.config.nb));
    };
    const double flops = 2.0 / 3.0 * (std::pow(left(updated(from)), 3) - std::pow(left(updated(to)), 3));
    out.push_back({static_cast<std::int64_t>(from) * run.config.nb, seconds,
                   took > 0 ? flops / took * 1e-9 : 0, parts});
  }
  return out;
}

std::string prediction_text(const predict::HplPrediction& run, const predict::ClosedFormPrediction& closed,
                            const std::vector<std::string>& chosen, std::size_t width) {
  std::string out;
  for (const std::string& c : chosen) out += fmt::format("chosen: {}\n", c);
  out +=
      fmt::format("{} on {}: {} in {}, {} of peak", config_text(run.config), run.label,
                  show(FlopRate(run.gflops * 1e9)), show_seconds(run.time_s), show_percent(run.efficiency));
  if (run.panels_simulated < run.panels_total) out += sample_text(run);
  // The columns take turns as the ring's root: how far each lags behind comes round after Q panels.
  const hpl_gen::Bcast bcast = run.config.bcast;
  const bool ring = bcast != hpl_gen::Bcast::kLong && bcast != hpl_gen::Bcast::kLongM;
  if (run.panels_simulated < run.panels_total && ring && run.shortest_window < run.config.q)
    out += fmt::format(
        "\nnote: a ring over {0} columns comes round after {0} panels, the windows have {1}: the estimate "
        "says too "
        "little, and the rate may be off; --window {0} sees all of it",
        run.config.q, run.shortest_window);
  out += "\n" + limits(run) + exchanges_text(run.exchanges) + "\n";

  // A column of errors where something was estimated.
  const bool sampled = run.panels_simulated < run.panels_total;
  std::vector<Table::Column> head = {{"part", Table::Align::kLeft}, {"mean per rank"}};
  if (sampled) head.push_back({"+-"});
  head.push_back({"share"});
  head.push_back({"what", Table::Align::kLeft});
  Table parts(head);
  const auto add_part = [&](const char* name, double seconds, const std::string& error, const char* what) {
    std::vector<std::string> cells = {name, show_seconds(seconds)};
    if (sampled) cells.push_back(error);
    cells.push_back(show_percent(seconds / run.time_s));
    cells.emplace_back(what);
    parts.add(cells);
  };
  double sum = 0;
  for (const PhaseRow& p : kPhases) {
    add_part(p.name, run.*p.seconds, run.phase_error ? show_seconds((*run.phase_error).*p.error) : "-",
             p.what);
    sum += run.*p.seconds;
  }
  add_part("other", run.time_s - sum, "-",
           run.time_s < sum ? "time and phases are estimated apart" : "between them, first and last panels");
  out += parts.text(width);
  if (run.device_s)
    out += fmt::format(
        "accelerators work {}, {} of it while hosts are in other phases than to wait for them (update, {}): "
        "{} of "
        "pfact, bcast and swap is hidden\n",
        show_seconds(*run.device_s), show_seconds(*run.device_hidden_s), show_seconds(run.update_s),
        show_percent(hidden_behind_device(run)));
  out += broadcasts_text(run);

  const auto curve = panel_curve(run, kTextPoints);
  double most = 0;
  for (const CurvePoint& p : curve) most = std::max(most, p.gflops);
  Table plot({{"column"}, {"time"}, {"rate"}, {"", Table::Align::kLeft}});
  for (const CurvePoint& p : curve)
    plot.add({fmt::format("{}", p.column), show_seconds(p.seconds), show(FlopRate(p.gflops * 1e9)),
              std::string(static_cast<std::size_t>(most > 0 ? std::lround(40 * p.gflops / most) : 0), '#')});
  out += "\n" + plot.text() + "\n";

  Table forms({{"closed form", Table::Align::kLeft}, {"rate"}, {"to the replay"}});
  const auto form = [&](const char* name, double gflops) {
    forms.add(
        {name, show(FlopRate(gflops * 1e9)), fmt::format("{:+.1f} %", (gflops / run.gflops - 1) * 100)});
  };
  form("netlib (HPL, equation 3)", closed.hpl);
  form("layered (MCL)", closed.mcl);
  form("phases, panel by panel", closed.phases);
  form("roofline", closed.roofline);
  return out + forms.text(width) + messages_taken(closed);
}

std::string closed_forms_text(const std::vector<hpl_gen::HplConfig>& configs,
                              const std::vector<predict::ClosedFormPrediction>& closed,
                              const std::string& platform, std::size_t width) {
  // What tells runs apart has a column, whether a form goes by it or not.
  std::vector<hpl_gen::PanelFactorisation> factorisations;
  factorisations.reserve(configs.size());
  for (const auto& c : configs) factorisations.push_back(hpl_gen::factorisation_of(c));
  const auto parts = varying_parts(factorisations);
  const auto varies = [&](auto hpl_gen::HplConfig::*line) {
    return std::ranges::any_of(configs, [&](const auto& c) { return c.*line != configs.front().*line; });
  };
  const bool bcast = varies(&hpl_gen::HplConfig::bcast), depth = varies(&hpl_gen::HplConfig::depth);
  std::vector<Table::Column> columns = {{"N"}, {"NB"}, {"P"}, {"Q"}};
  for (const FactorisationPart& part : parts) columns.push_back(column_of(part));
  if (bcast) columns.push_back({"bcast", Table::Align::kLeft});
  if (depth) columns.push_back({"depth"});
  columns.insert(columns.end(), {{"netlib eq. 3"}, {"layered"}, {"phases"}, {"roofline"}});
  Table t(columns);
  const auto rate = [](double gflops) { return show(FlopRate(gflops * 1e9)); };
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const auto& c = configs[i];
    const predict::ClosedFormPrediction& f = closed[i];
    std::vector<std::string> cells = {fmt::format("{}", c.n), fmt::format("{}", c.nb), fmt::format("{}", c.p),
                                      fmt::format("{}", c.q)};
    for (const FactorisationPart& part : parts) cells.push_back(part.text(factorisations[i]));
    if (bcast) cells.emplace_back(hpl_gen::name_of(c.bcast));
    if (depth) cells.push_back(fmt::format("{}", c.depth));
    cells.insert(cells.end(), {rate(f.hpl), rate(f.mcl), rate(f.phases), rate(f.roofline)});
    t.add(cells);
  }
  std::string out = fmt::format("closed forms for {}, nothing replayed\n{}", platform, t.text(width));
  std::vector<std::string> told;  // runs of other sizes may begin on other hosts
  for (const predict::ClosedFormPrediction& f : closed) {
    std::string line = messages_taken(f);
    if (std::find(told.begin(), told.end(), line) == told.end()) told.push_back(std::move(line));
  }
  for (const std::string& line : told) out += line;
  return out;
}

nlohmann::ordered_json closed_form_json(const predict::ClosedFormPrediction& closed,
                                        const topology::Platform& platform,
                                        const predict::PredictOptions& options) {
  const hpl_gen::HplConfig& config = closed.config;
  Json j{{"n", config.n},
         {"nb", config.nb},
         {"p", config.p},
         {"q", config.q},
         {"closed_form", forms_json(closed)},
         {"platform", platform.name}};
  if (!platform.label.empty()) j["label"] = platform.label;
  j["config"] = config_json(config, options);
  return j;
}

std::string predictions_text(const std::vector<predict::HplPrediction>& all,
                             const std::vector<SeedGroup>& groups, const std::vector<std::uint64_t>& seeds_of,
                             bool drawn, std::size_t width) {
  const bool seeds = groups.size() < all.size();
  std::vector<predict::HplPrediction> runs;  // a row each
  std::vector<Spread> spread;
  for (const SeedGroup& g : groups) {
    const auto of_group = std::span(all).subspan(g.first, g.count);
    runs.push_back(mean_of(of_group));
    spread.push_back(gflops_of(of_group));
  }
  const auto elsewhere = [&](const predict::HplPrediction& r) { return r.label != runs.front().label; };
  const bool several = std::any_of(runs.begin(), runs.end(), elsewhere);
  std::vector<hpl_gen::PanelFactorisation> factorisations;
  factorisations.reserve(runs.size());
  for (const predict::HplPrediction& r : runs) factorisations.push_back(hpl_gen::factorisation_of(r.config));
  const auto varying = varying_parts(factorisations);
  // PFACT and RFACT always have a column, the two numbers where they tell runs apart.
  std::vector<FactorisationPart> shown;
  for (const FactorisationPart& part : factorisation_parts())
    if (part.named_values ||
        std::any_of(varying.begin(), varying.end(), [&](const auto& v) { return v.name == part.name; }))
      shown.push_back(part);
  std::vector<Table::Column> columns;
  if (several) columns.push_back({"platform", Table::Align::kLeft});
  columns.insert(columns.end(), {{"N"}, {"NB"}, {"P"}, {"Q"}});
  for (const FactorisationPart& part : shown) columns.push_back(column_of(part));
  columns.insert(
      columns.end(),
      {{"bcast", Table::Align::kLeft}, {"depth"}, {"swap", Table::Align::kLeft}, {"time"}, {"rate"}});
  if (seeds) columns.insert(columns.end(), {{"seeds"}, {"scatter"}, {"least"}, {"most"}});
  columns.insert(columns.end(), {{"of peak"}, {"+-"}});
  const auto works = [](const predict::HplPrediction& r) { return r.device_s.has_value(); };
  const bool devices = std::any_of(runs.begin(), runs.end(), works);
  if (devices) columns.push_back({"accelerators"});
  for (const PhaseRow& p : kPhases) columns.push_back({p.name});
  columns.insert(columns.end(), {{"busiest link", Table::Align::kLeft}, {"used"}});
  Table t(columns);
  const auto rate = [](double gflops) { return show(FlopRate(gflops * 1e9)); };
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const predict::HplPrediction& r = runs[i];
    const auto& c = r.config;
    std::vector<std::string> cells;
    if (several) cells.push_back(r.label);
    cells.insert(cells.end(), {fmt::format("{}", c.n), fmt::format("{}", c.nb), fmt::format("{}", c.p),
                               fmt::format("{}", c.q)});
    for (const FactorisationPart& part : shown) cells.push_back(part.text(factorisations[i]));
    cells.insert(cells.end(),
                 {std::string(hpl_gen::name_of(c.bcast)), fmt::format("{}", c.depth),
                  std::string(hpl_gen::name_of(c.swap)), show_seconds(r.time_s), rate(r.gflops)});
    if (seeds)
      cells.insert(cells.end(),
                   {fmt::format("{}", groups[i].count), show_percent(spread[i].stddev / spread[i].mean),
                    rate(spread[i].least), rate(spread[i].most)});
    cells.insert(cells.end(),
                 {show_percent(r.efficiency), r.error_estimate ? show_percent(*r.error_estimate) : "-"});
    if (devices) cells.push_back(r.device_s ? show_percent(*r.device_s / r.time_s) : "-");
    for (const PhaseRow& p : kPhases) cells.push_back(show_percent(r.*p.seconds / r.time_s));
    cells.insert(cells.end(), {r.busiest_link.empty() ? "-" : r.busiest_link,
                               r.busiest_link.empty() ? "-" : show_percent(r.busiest_utilization)});
    t.add(cells);
  }
  const std::vector<RatedRun> rated = rated_runs(all, groups, seeds_of);
  const std::size_t best = fastest_of(rated);
  const std::vector<CloseRun> close = close_runs(rated, best, drawn);
  const bool all_equal = close.size() + 1 == runs.size() && std::ranges::all_of(close, [](const CloseRun& c) {
                           return c.why == WhyClose::kEqual;
                         });
  const std::string where = several ? "" : " on " + runs.front().label;
  const std::string best_on = several ? " on " + runs[best].label : "";
  std::string head = counted(runs.size(), "run");
  if (seeds) {
    std::size_t most = 0;
    for (const SeedGroup& g : groups) most = std::max(most, g.count);
    head += fmt::format(", {}{}", counted(most, "seed"), runs.size() == 1 ? "" : " each");
  }
  const std::string words = factorisation_words(factorisations[best], varying);
  head += fmt::format("{}{}{}{}{}{}: {}", where,
                      runs.size() == 1 ? ": "
                      : all_equal      ? "; all as fast, as "
                                       : "; fastest: ",
                      config_text(runs[best].config), words.empty() ? "" : ", ", words, best_on,
                      rate(runs[best].gflops));
  if (groups[best].count > 1)
    head += fmt::format(" on the mean, {} to {}, standard deviation {}", rate(spread[best].least),
                        rate(spread[best].most), show_percent(spread[best].stddev / spread[best].mean));
  std::string out = head + "\n" + limits(runs[best]);
  if (factoring_counts(runs[best])) out += broadcasts_text(runs[best]);
  if (!all_equal) {
    std::vector<NamedRun> named;
    named.reserve(runs.size());
    for (const predict::HplPrediction& r : runs) named.push_back({r.label, &r.config});
    out += close_runs_text(close, named, best, groups[best].count, "--repeat 5");
  }
  return out + t.text(width);
}

void add_node_grid(Json& object, const hpl_gen::HplConfig& config) {
  const hpl_gen::ProcessGrid grid = hpl_gen::grid_of(config);
  if (grid.local_p == 0) return;
  object["local_p"] = grid.local_p;
  object["local_q"] = grid.local_q;
}

Json prediction_json(const predict::HplPrediction& run, const predict::ClosedFormPrediction& closed,
                     const predict::PredictOptions& options) {
  const auto& c = run.config;
  Json j;
  j["schema"] = "weft.predict/1";
  j["platform"] = run.platform;
  if (const std::string label = label_given(run); !label.empty()) j["label"] = label;
  j["model"] = sharing_json(run.model, options.accuracy);
  j["n"] = c.n;
  j["nb"] = c.nb;
  j["p"] = c.p;
  j["q"] = c.q;
  j["config"] = config_json(c, options);
  j["time_s"] = run.time_s;
  j["gflops"] = run.gflops;
  j["efficiency"] = run.efficiency;
  j["peak_gflops"] = run.peak_gflops;
  j["phases"] = Json{{"pfact_s", run.pfact_s},
                     {"bcast_s", run.bcast_s},
                     {"swap_s", run.swap_s},
                     {"update_s", run.update_s},
                     {"solve_s", run.solve_s}};
  j["bcast"] = Json{{"took_s", run.bcast_took_s}, {"waited_s", run.bcast_s}, {"hidden", hidden(run)}};
  if (hpl_gen::on_accelerators(run.config.program)) {
    j["program"] = hpl_gen::name_of(run.config.program);
    j["split"] = run.config.rochpl.split;
    j["device"] = nullptr;
    if (run.device_s)
      j["device"] = Json{{"busy_s", *run.device_s},
                         {"waited_s", run.update_s},
                         {"overlap_s", *run.device_hidden_s},
                         {"hidden", hidden_behind_device(run)}};
  }
  j["closed_form"] = forms_json(closed);
  j["panels_simulated"] = run.panels_simulated;
  j["panels_total"] = run.panels_total;
  j["error_estimate"] = optional_json(run.error_estimate);
  j["error_confidence"] = hpl_gen::kConfidence;
  j["phases_error"] = nullptr;
  if (run.phase_error)
    j["phases_error"] = Json{{"pfact_s", run.phase_error->pfact_s},
                             {"bcast_s", run.phase_error->bcast_s},
                             {"swap_s", run.phase_error->swap_s},
                             {"update_s", run.phase_error->update_s},
                             {"solve_s", run.phase_error->solve_s}};
  j["exchanges"] = Json{{"as", run.exchanges.series ? "series" : "messages"},
                        {"why", run.exchanges.why},
                        {"differs_at_most", optional_json(run.exchanges.differs_at_most)},
                        {"panels_tried", run.exchanges.panels_tried}};
  j["busiest_link"] = Json{{"name", run.busiest_link}, {"utilization", run.busiest_utilization}};
  Json curve = Json::array();
  for (const CurvePoint& p : panel_curve(run, kFilePoints))
    curve.push_back(Json{{"column", p.column},
                         {"time_s", p.seconds},
                         {"gflops", p.gflops},
                         {"pfact_s", p.parts.s[Part::kPfact]},
                         {"bcast_s", p.parts.s[Part::kBcast]},
                         {"swap_s", p.parts.s[Part::kSwap]},
                         {"update_s", p.parts.s[Part::kUpdate]}});
  if (!curve.empty()) j["panel_curve"] = std::move(curve);
  j["engine"] = Json{{"events", run.engine.events},
                     {"solves", run.engine.solves},
                     {"flows", run.engine.flows},
                     {"messages", run.messages},
                     {"ops", run.ops}};
  return j;
}

std::string panel_csv(const predict::HplPrediction& run) {
  std::string out = report::csv_line({"column", "time_s", "gflops"});
  for (const CurvePoint& p : panel_curve(run, run.panels.size()))
    out += report::csv_line(
        {fmt::format("{}", p.column), predict::exact_number(p.seconds), predict::exact_number(p.gflops)});
  return out;
}

std::string predictions_csv(const std::vector<predict::HplPrediction>& runs,
                            const std::vector<predict::ClosedFormPrediction>& closed,
                            const std::vector<std::uint64_t>& seeds) {
  std::string out = report::csv_line({"n",
                                      "nb",
                                      "p",
                                      "q",
                                      "pfact",
                                      "nbmin",
                                      "rfact",
                                      "bcast",
                                      "depth",
                                      "swap",
                                      "time_s",
                                      "gflops",
                                      "efficiency",
                                      "pfact_s",
                                      "bcast_s",
                                      "swap_s",
                                      "update_s",
                                      "solve_s",
                                      "error_estimate",
                                      "hpl_gflops",
                                      "mcl_gflops",
                                      "roofline_gflops",
                                      "phases_gflops",
                                      "platform",
                                      "seed",
                                      "ndiv",
                                      "label"});
  const auto number = predict::exact_number;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const predict::HplPrediction& r = runs[i];
    const auto& c = r.config;
    out += report::csv_line({fmt::format("{}", c.n),
                             fmt::format("{}", c.nb),
                             fmt::format("{}", c.p),
                             fmt::format("{}", c.q),
                             std::string(hpl_gen::name_of(c.pfact)),
                             fmt::format("{}", c.nbmin),
                             std::string(hpl_gen::name_of(c.rfact)),
                             std::string(hpl_gen::name_of(c.bcast)),
                             fmt::format("{}", c.depth),
                             std::string(hpl_gen::name_of(c.swap)),
                             number(r.time_s),
                             number(r.gflops),
                             number(r.efficiency),
                             number(r.pfact_s),
                             number(r.bcast_s),
                             number(r.swap_s),
                             number(r.update_s),
                             number(r.solve_s),
                             r.error_estimate ? number(*r.error_estimate) : "",
                             number(closed[i].hpl),
                             number(closed[i].mcl),
                             number(closed[i].roofline),
                             number(closed[i].phases),
                             r.platform,
                             fmt::format("{}", seeds[i]),
                             fmt::format("{}", c.ndiv),
                             label_given(r)});
  }
  return out;
}

}  // namespace weft::report
