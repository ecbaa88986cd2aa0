#include "predict/journal/prediction_point.hpp"

#include <fmt/format.h>

#include "predict/journal/fields.hpp"
#include "predict/run_facts.hpp"

namespace weft::hpl_gen {

template <class V>
void fields(V& visit, RocHplArguments& a) {
  WEFT_FIELDS(visit, a, split, local_p, local_q, device_memory);
}

// It is in every key, too.
template <class V>
void fields(V& visit, HplConfig& c) {
  WEFT_FIELDS(visit, c, n, nb, p, q, pmap, pfact, nbmin, ndiv, rfact, bcast, depth, swap, swap_threshold,
              l1_transposed, u_transposed, equil, align, threshold, program, rochpl);
}

template <class V>
void fields(V& visit, PanelSeconds& p) {
  auto& [s] = p;
  visit("s", s);
}

}  // namespace weft::hpl_gen

namespace weft::replay {

template <class V>
void fields(V& visit, EngineStats& e) {
  WEFT_FIELDS(visit, e, events, solves, flows, flows_solved, links_touched, certificates, max_component,
              warnings);
}

}  // namespace weft::replay

namespace weft::predict {

template <class V>
void fields(V& visit, PhaseErrors& e) {
  WEFT_FIELDS(visit, e, pfact_s, bcast_s, swap_s, update_s, solve_s);
}

template <class V>
void fields(V& visit, ExchangeChoice& e) {
  WEFT_FIELDS(visit, e, series, why, differs_at_most, phases_at_most, panels_tried);
}

template <class V>
void fields(V& visit, HplPrediction& p) {
  WEFT_FIELDS(visit, p, config, platform, label, model, time_s, gflops, efficiency, peak_gflops, pfact_s,
              bcast_s, swap_s, update_s, solve_s, bcast_took_s, device_s, device_hidden_s, panels_simulated,
              panels_total, shortest_window, error_estimate, phase_error, exchanges, panels, engine, messages,
              ops, busiest_link, busiest_utilization);
}

template <class V>
void fields(V& visit, TimedPrediction& p) {
  auto& [prediction, wall_s] = p;
  visit("prediction", prediction);
  visit("wall_s", wall_s);
}

// What a prediction takes from a window.
struct WindowPoint {
  WindowRun run;                          // its result: `engine` alone
  std::uint64_t messages = 0;             // of the result
  std::vector<std::uint64_t> link_bytes;  // of the result, by link
};

template <class V>
void fields(V& visit, WindowPoint& p) {
  auto& [run, messages, link_bytes] = p;
  auto& [panels, tail, solve_s, time_s, device_s, device_hidden_s, after_last_panel_s, result, ops] = run;
  visit("panels", panels);
  visit("tail", tail);
  visit("solve_s", solve_s);
  visit("time_s", time_s);
  visit("device_s", device_s);
  visit("device_hidden_s", device_hidden_s);
  visit("after_last_panel_s", after_last_panel_s);
  visit("ops", ops);
  visit("engine", result.engine);
  visit("messages", messages);
  visit("link_bytes", link_bytes);
}

KeyMaker prediction_key(Journal& journal, const PredictionStudy& study, const hpl_gen::HplConfig& config,
                        const PredictOptions& options) {
  // Threads, callbacks and where windows last decide no result.
  const auto& [sample, width, warm_up, exchanges, most_pieces, map, model, accuracy, seed, pivots, noise,
               threads, on_panels, on_fewer_threads, stop, windows] = options;
  KeyMaker key("hpl/5", journal.version(), journal.files());
  hpl_gen::HplConfig c = config;
  key.add("config", ToJson::of(c).dump());
  add_platform(key, study.platform, study.changes);
  key.add("sample", static_cast<std::uint64_t>(sample)).add("width", static_cast<std::uint64_t>(width));
  key.add("warm_up", static_cast<std::uint64_t>(warm_up))
      .add("exchanges", static_cast<std::uint64_t>(exchanges));
  key.add("most_pieces", static_cast<std::uint64_t>(most_pieces)).add_map(map);
  key.add("model", model).add("accuracy", accuracy).add("seed", seed).add("noise", std::uint64_t{noise});
  key.add("pivots", study.pivots);
  // Of a recording counts what was read from it.
  if (pivots.recorded != nullptr)
    for (const auto& table : {pivots.recorded->all_rows_from(), pivots.recorded->all_u_rows()})
      key.add("recorded_rows", checksum({reinterpret_cast<const char*>(table.data()), table.size_bytes()}));
  key.add("pivot_seed", pivots.seed).add("matrix_seed", static_cast<std::uint64_t>(pivots.matrix_seed));
  key.add("panels", std::uint64_t{study.panels});
  return key;
}

Point prediction_point(Journal& journal, const PredictionStudy& study, const hpl_gen::HplConfig& config,
                       const topology::Platform& platform, const PredictOptions& options) {
  const double n = static_cast<double>(config.n);
  return {prediction_key(journal, study, config, options).key(),
          fmt::format("N {} NB {} {} x {} on {}", config.n, config.nb, config.p, config.q,
                      platform_label(platform)),
          n * n * n};
}

Json prediction_json(TimedPrediction prediction, const PredictionStudy& study) {
  if (!study.panels) prediction.prediction.panels.clear();
  return ToJson::of(prediction);
}

std::optional<TimedPrediction> prediction_of(const Json& json) { return FromJson::to<TimedPrediction>(json); }

Result<PointsDone> predict_points(const PredictionStudy& study, const PointsPlan& plan,
                                  const std::vector<hpl_gen::HplConfig>& configs,
                                  const topology::Platform& platform, const PredictOptions& options,
                                  std::vector<std::optional<HplPrediction>>& out,
                                  const std::function<void()>& on_taken) {
  out.assign(configs.size(), std::nullopt);
  std::vector<Point> points;
  points.reserve(configs.size());
  for (const hpl_gen::HplConfig& c : configs)
    points.push_back(prediction_point(*plan.journal, study, c, platform, options));
  PointsWork work;
  work.run = [&](std::size_t i) -> Result<Json> {
    TimedPrediction p;
    WEFT_ASSIGN(p.prediction, predict_hpl(configs[i], platform, options));
    return prediction_json(std::move(p), study);
  };
  work.take = [&](std::size_t i, const Json& json) {
    auto p = prediction_of(json);
    if (!p) return false;
    set_names(p->prediction, platform);
    out[i] = std::move(p->prediction);
    on_taken();
    return true;
  };
  return run_points(points, plan, 1, work);
}

Result<std::vector<WindowRun>> share_windows(const WindowPoints& windows,
                                             const std::vector<WindowTask>& tasks, std::size_t links,
                                             const PredictOptions& options,
                                             const std::function<Result<WindowRun>(std::size_t)>& run) {
  std::vector<Point> points;
  points.reserve(tasks.size());
  for (const WindowTask& t : tasks) {
    const auto& [before, first, measured, last] = t.window;
    const std::string what =
        fmt::format("window {} {} {} {}, {}{}", before, first, measured, last,
                    t.message_by_message ? "messages" : "series", t.noise ? ", noise" : "");
    KeyMaker key = windows.prediction;
    points.push_back({key.add("window", what).key(), what, static_cast<double>(last - first)});
  }
  std::vector<WindowRun> runs(tasks.size());
  PointsWork work;
  work.run = [&](std::size_t i) -> Result<Json> {
    WindowPoint p;
    WEFT_ASSIGN(p.run, run(i));
    p.messages = p.run.result.network.count;
    p.link_bytes.reserve(links);
    for (const network::LinkUse& l : p.run.result.links) p.link_bytes.push_back(l.bytes);
    return ToJson::of(p);
  };
  work.take = [&](std::size_t i, const Json& json) {
    auto p = FromJson::to<WindowPoint>(json);
    const auto measured = static_cast<std::size_t>(tasks[i].window.last - tasks[i].window.measured);
    if (!p || p->link_bytes.size() != links || p->run.panels.size() != measured) return false;
    runs[i] = std::move(p->run);
    runs[i].result.network.count = p->messages;
    runs[i].result.links.resize(links);
    for (std::size_t l = 0; l < links; ++l) runs[i].result.links[l].bytes = p->link_bytes[l];
    return true;
  };
  WEFT_ASSIGN(const PointsDone done,
              run_points(points, windows.plan, options.threads, work, options.on_fewer_threads));
  if (done.interrupted) return Error{ErrorCode::kFinding, {}, "interrupted", {}, {}};
  return runs;
}

}  // namespace weft::predict
