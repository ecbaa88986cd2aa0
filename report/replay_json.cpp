#include "report/replay_json.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "network/sharing.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "report/why/critical_path.hpp"
#include "report/why/sensitivity.hpp"
#include "report/why/wait_states.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::ordered_json;

// By RulesFrom.
constexpr const char* kRulesFrom[] = {"options", "platform", "recording", "default"};

Json model_json(const predict::RunFacts& run) {
  const auto& o = *run.options;
  Json m = sharing_json(network::model_name(o.model, run.platform->fabric), o.accuracy);
  m["sharing"] = m["name"];
  m["raw"] = predict::raw_name(o.raw);
  m["raw_switch_bytes"] = o.raw_switch ? Json(o.raw_switch->value()) : Json(nullptr);
  m["header_bytes"] = o.header.value();
  m["weights"] = o.rtt_weights ? "rtt" : "none";
  m["compute_scale"] = o.compute_scale;
  m["kernel_models"] = run.platform->compute.has_kernels();
  m["noise"] = o.noise;
  m["recorded_matches"] = o.recorded_matches;
  m["map"] = run.map;
  m["seed"] = o.seed;
  Json chosen = Json::object();
  for (const auto& [kind, algorithm] : run.platform->mpi.collectives) chosen[kind] = algorithm;
  for (const auto& [kind, algorithm] : o.collectives) chosen[kind] = algorithm;
  m["collectives"] = std::move(chosen);
  const replay::RulesName& rules = run.result->collective_rules;
  m["collective_rules"] = rules.name.empty() ? "default" : rules.name;
  m["collective_rules_from"] = kRulesFrom[static_cast<std::size_t>(rules.from)];
  m["assumed"] = predict::assumed_of(run);
  if (o.raw == replay::RawMode::kOff) {
    const auto& mpi = run.platform->mpi;
    m["mpi"] = Json{{"eager_limit_bytes", mpi.eager_limit.value()},
                    {"send_overhead_s", to_seconds(mpi.send_overhead)},
                    {"recv_overhead_s", to_seconds(mpi.recv_overhead)},
                    {"send_overhead_s_per_byte", mpi.send_overhead_per_byte},
                    {"recv_overhead_s_per_byte", mpi.recv_overhead_per_byte},
                    {"local_latency_s", to_seconds(mpi.local_latency)},
                    {"local_bandwidth_Bps", mpi.local_bandwidth},
                    {"piecewise", mpi.piecewise()},
                    {"assumed", mpi.assumed}};
  }
  return m;
}

// {"send_overhead_s": ..., ...}: `seconds` by cause.
template <class Seconds>
Json causes_json(const Seconds& seconds) {
  Json j = Json::object();
  for (std::size_t c = 0; c < replay::kCauseCount; ++c)
    j[fmt::format("{}_s", replay::kCauseNames[c])] = seconds(c);
  return j;
}

}  // namespace

Json costs_json(const replay::MessageCosts& c) {
  return Json{{"messages", c.count},
              {"bytes", c.bytes},
              {"hops", c.hops},
              {"latency_s", to_seconds(c.latency)},
              {"transfer_s", to_seconds(c.transfer)},
              {"contention_s", to_seconds(c.contention)},
              {"late_sender_s", to_seconds(c.late_sender)},
              {"late_receiver_s", to_seconds(c.late_receiver)}};
}

Json deadlock_json(const replay::DeadlockReport& deadlock) {
  Json blocked = Json::array();
  for (const auto& b : deadlock.blocked) {
    Json waits = Json::array();
    for (const RankId r : b.waits_for) waits.push_back(r.index());
    blocked.push_back(Json{{"rank", b.rank.index()},
                           {"op_index", b.op_index},
                           {"op", b.op},
                           {"position", b.position},
                           {"waits_for", std::move(waits)}});
  }
  Json cycle = Json::array();
  for (const std::size_t i : deadlock.cycle) cycle.push_back(deadlock.blocked[i].rank.index());
  return Json{{"kind", "deadlock"},
              {"message", deadlock.summary()},
              {"cycle", std::move(cycle)},
              {"blocked", std::move(blocked)}};
}

Json replay_document(const predict::RunFacts& run, const ReplayJsonOptions& options) {
  const auto& r = *run.result;
  const auto& fabric = run.platform->fabric;
  Json j;
  j["schema"] = "weft.replay/1";
  j["trace"] = Json{{"name", run.trace},
                    {"ranks", run.ranks},
                    {"ops", run.totals.ops},
                    {"messages", run.totals.messages},
                    {"bytes", run.totals.bytes}};
  j["platform"] = Json{{"name", run.platform->name},
                       {"hosts", fabric.host_count()},
                       {"links", fabric.link_count()},
                       {"routing", run.routing}};
  if (!run.platform->label.empty()) j["platform"]["label"] = run.platform->label;
  j["changes"] = run.changes;
  j["model"] = model_json(run);
  j["makespan_s"] = to_seconds(r.makespan);
  j["fingerprint"] = fmt::format("{:016x}", r.fingerprint);
  j["network_messages"] = r.network.count;
  j["network_bytes"] = r.network.bytes;
  if (!r.finished)
    j["error"] = deadlock_json(r.deadlock);
  else if (std::string text = r.finding(); !text.empty())
    j["error"] = Json{{"kind", "unmatched"},
                      {"message", std::move(text)},
                      {"messages", r.unmatched_messages},
                      {"receives", r.unmatched_receives}};
  else if (options.verified != nullptr && options.verified->checks.wrong > 0)
    j["error"] = Json{{"kind", "verification"}, {"message", options.verified->checks.finding()}};
  if (r.ranks.size() <= kMaxListedRanks || options.per_rank) {
    Json ranks = Json::array();
    for (std::size_t i = 0; i < r.ranks.size(); ++i) {
      const auto& t = r.ranks[i];
      ranks.push_back(Json{{"rank", i},
                           {"finish_s", to_seconds(t.finish)},
                           {"compute_s", to_seconds(t.compute)},
                           {"send_s", to_seconds(t.send)},
                           {"recv_s", to_seconds(t.recv)},
                           {"wait_s", to_seconds(t.wait)},
                           {"collective_s", to_seconds(t.collective)},
                           {"causes", causes_json([&](std::size_t c) { return to_seconds(t.causes[c]); })}});
      if (t.device > Duration(0)) ranks.back()["device_s"] = to_seconds(t.device);
    }
    j["ranks"] = std::move(ranks);
  }
  Json regions = Json::array();
  for (const auto& g : r.regions)
    regions.push_back(Json{{"name", g.name}, {"count", g.count}, {"total_s", to_seconds(g.total)}});
  j["regions"] = std::move(regions);
  Json collectives = Json::array();
  for (const auto& c : r.collectives)
    collectives.push_back(Json{{"name", c.collective}, {"algorithm", c.algorithm}, {"calls", c.calls}});
  j["collectives"] = std::move(collectives);

  std::vector<LinkId> shown;
  if (options.all_links)
    for (std::uint32_t l = 0; l < r.links.size(); ++l) shown.emplace_back(l);
  else
    shown = predict::busiest_links(run, kTopLinks, options.link_order);
  Json links = Json::array();
  for (const LinkId l : shown) {
    const auto& use = r.links[l.index()];
    links.push_back(Json{{"name", fabric.link_name(l)},
                         {"class", fabric.links().class_name(l)},
                         {"bandwidth_Bps", fabric.links().capacity[l.index()]},
                         {"bytes", use.bytes},
                         {"busy_s", to_seconds(use.busy)},
                         {"utilization", predict::utilization(run, l)},
                         {"peak_flows", use.peak_flows},
                         {"waited_s", to_seconds(use.waited)}});
  }
  j["links"] = std::move(links);
  const predict::TimeSums sums = predict::time_sums(r);
  j["causes"] = causes_json([&](std::size_t c) { return sums.causes[c]; });
  j["costs"] = Json{{"point_to_point", costs_json(r.point_to_point)}, {"network", costs_json(r.network)}};
  if (r.path.known) add_critical_path_json(j, run, options.most_segments);
  if (run.sensitivity != nullptr) add_sensitivity_json(j, run);
  if (r.wait_states.known) add_wait_states_json(j, run, options.most_delays);
  if (options.jobs != nullptr) add_jobs_json(j, run, *options.jobs, options.all_links);
  if (options.verified != nullptr) j["verification"] = verification_json(*options.verified);
  j["warnings"] = r.warnings;
  j["engine"] = Json{{"events", r.engine.events},
                     {"solves", r.engine.solves},
                     {"flows", r.engine.flows},
                     {"flows_solved", r.engine.flows_solved},
                     {"links_touched", r.engine.links_touched},
                     {"certificates", r.engine.certificates},
                     {"max_component", r.engine.max_component},
                     {"wall_s", run.wall_s},
                     {"peak_rss_bytes", run.peak_rss_bytes}};
  return j;
}

std::string replay_json(const predict::RunFacts& run, const ReplayJsonOptions& options) {
  return json_text(replay_document(run, options));
}

std::string replay_csv(const replay::ReplayResult& result) {
  std::vector<std::string> head{"rank",   "finish_s", "compute_s",   "send_s",
                                "recv_s", "wait_s",   "collective_s"};
  for (const auto name : replay::kCauseNames) head.push_back(fmt::format("{}_s", name));
  const bool devices =
      std::ranges::any_of(result.ranks, [](const replay::RankTimes& t) { return t.device > Duration(0); });
  if (devices) head.emplace_back("device_s");
  std::string out = csv_line(head);
  for (std::size_t i = 0; i < result.ranks.size(); ++i) {
    const auto& t = result.ranks[i];
    const auto s = [](Duration d) { return predict::exact_number(to_seconds(d)); };
    std::vector<std::string> line{std::to_string(i), s(t.finish), s(t.compute),   s(t.send),
                                  s(t.recv),         s(t.wait),   s(t.collective)};
    for (const Duration d : t.causes) line.push_back(s(d));
    if (devices) line.push_back(s(t.device));
    out += csv_line(line);
  }
  return out;
}

}  // namespace weft::report
