// weft flows FLOWS.csv --on PLATFORM: no MPI; when each of a list of flows finishes, and at what rates it
// went.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/flags/model_flag.hpp"
#include "cli/flags/platform_flags.hpp"
#include "cli/flags/values.hpp"
#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "congestion/models.hpp"
#include "core/counted.hpp"
#include "core/files/input_file.hpp"
#include "core/of_flag.hpp"
#include "core/quantity_text.hpp"
#include "core/source_pos.hpp"
#include "network/flow_list.hpp"
#include "network/flow_run.hpp"
#include "network/sharing.hpp"
#include "predict/run_facts.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "topology/platform/platform.hpp"
#include "topology/routing/no_route.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::cli::verb_flows {
namespace {

using network::FlowPhase;
using network::FlowRequest;
using network::FlowRun;

constexpr std::size_t kRowsForPeople = 40;
constexpr std::size_t kPhaseRowsForPeople = 400;

struct Options {
  CommonOptions common;
  std::string flows;
  std::string platform;
  PlatformFlags flags;
  std::string model;
  std::string accuracy;
  std::string weights = "none";
  std::string header = "0";
  bool no_phases = false;
};

struct Done {
  topology::Platform platform;
  std::vector<FlowRequest> requests;
  Bytes header{0};
  std::string model;
  double accuracy = 0;
};

Result<FlowRun> build(const Options& o, Done& done) {
  WEFT_ASSIGN(done.accuracy, read_accuracy(o.accuracy, o.model, o.weights == "rtt"));
  WEFT_ASSIGN(done.header, of_flag(parse_bytes(o.header, "--header")));
  WEFT_ASSIGN(done.platform, topology::load_platform(o.platform, o.flags.changes(o.common.seed)));
  const topology::Fabric& fabric = done.platform.fabric;
  done.model = network::model_name(o.model, fabric);
  WEFT_ASSIGN(FlowRun run, FlowRun::create(done.model, fabric, done.accuracy));
  WEFT_ASSIGN(const std::string text, read_text(o.flows));
  WEFT_ASSIGN(done.requests, network::parse_flow_list(text, o.flows, fabric));
  // Where the routing decides for every message, it does when the flow starts.
  const bool chosen = fabric.routing().scope() != topology::RouteScope::kPair;
  topology::RouteCache routes(fabric);
  for (const FlowRequest& r : done.requests) {
    const auto where = [&] { return SourcePos{o.flows, r.line, 1}.text(); };
    const auto route = routes.find(r.src, r.dst);
    if (!route.reachable) return topology::no_route(fabric, r.src, r.dst, where());
    std::int64_t bytes = 0;
    if (__builtin_add_overflow(r.bytes.value(), done.header.value(), &bytes))
      return bad_input(where(), "flow and header are too large together",
                       fmt::format("{} + {} bytes", r.bytes.value(), done.header.value()),
                       "at most 2^63 - 1 bytes");
    const bool rtt = o.weights == "rtt";
    if (chosen)
      run.add(r.src, r.dst, Bytes(bytes), r.start, rtt);
    else
      run.add(route.links, Bytes(bytes), r.start, route.latency,
              rtt ? network::rtt_weight(route.latency) : 1.0);
  }
  return run;
}

// What the flow would take on an idle network.
double alone_s(const FlowRun& run, const Done& done, std::uint32_t f) {
  const topology::LinkTable& links = done.platform.fabric.links();
  double latency = 0;
  double narrowest = std::numeric_limits<double>::infinity();
  for (const LinkId l : run.route(f)) {
    latency += to_seconds(links.latency[l.index()]);
    narrowest = std::min(narrowest, links.capacity[l.index()]);
  }
  return latency + static_cast<double>(done.requests[f].bytes.value() + done.header.value()) / narrowest;
}

// Rate over the bandwidth of the first link: rho of the PCIe model.
double factor(const FlowRun& run, const Done& done, std::uint32_t f, const FlowPhase& p) {
  return p.rate / done.platform.fabric.links().capacity[run.route(f).front().index()];
}

std::string to_json(const Options& o, const FlowRun& run, const Done& done, double wall_s) {
  using nlohmann::ordered_json;
  const topology::Fabric& fabric = done.platform.fabric;
  ordered_json j;
  j["schema"] = "weft.flows/1";
  j["platform"] = {
      {"name", done.platform.name}, {"hosts", fabric.host_count()}, {"links", fabric.link_count()}};
  j["model"] = report::sharing_json(done.model, done.accuracy);
  j["model"]["weights"] = o.weights;
  j["model"]["header_bytes"] = done.header.value();
  j["makespan_s"] = to_seconds(run.makespan());
  ordered_json flows = ordered_json::array();
  for (std::uint32_t f = 0; f < run.size(); ++f) {
    const FlowRequest& r = done.requests[f];
    ordered_json one{{"id", f},
                     {"src", r.src.index()},
                     {"dst", r.dst.index()},
                     {"src_name", fabric.host_name(r.src)},
                     {"dst_name", fabric.host_name(r.dst)},
                     {"bytes", r.bytes.value()},
                     {"start_s", to_seconds(r.start)},
                     {"finish_s", to_seconds(run.finish(f))}};
    ordered_json route = ordered_json::array();
    for (const LinkId l : run.route(f)) route.push_back(fabric.link_name(l));
    one["route"] = std::move(route);
    ordered_json phases = ordered_json::array();
    for (const FlowPhase& p : run.phases(f)) {
      ordered_json phase{{"from_s", to_seconds(p.from)}, {"to_s", to_seconds(p.to)}, {"rate_Bps", p.rate}};
      phase["factor"] = factor(run, done, f, p);
      phase["bottleneck"] =
          p.bottleneck.valid() ? ordered_json(fabric.link_name(p.bottleneck)) : ordered_json(nullptr);
      phases.push_back(std::move(phase));
    }
    one["phases"] = std::move(phases);
    flows.push_back(std::move(one));
  }
  j["flows"] = std::move(flows);
  const auto& s = run.stats();
  j["engine"] = {{"events", run.events()}, {"solves", s.solves}, {"flows", run.size()}, {"wall_s", wall_s}};
  return report::json_text(j);
}

std::string to_csv(const FlowRun& run, const Done& done) {
  const topology::Fabric& fabric = done.platform.fabric;
  std::string out = "id,src,dst,bytes_B,start_s,finish_s,alone_s\n";
  for (std::uint32_t f = 0; f < run.size(); ++f) {
    const FlowRequest& r = done.requests[f];
    out += report::csv_line({std::to_string(f), fabric.host_name(r.src), fabric.host_name(r.dst),
                             std::to_string(r.bytes.value()), fmt::format("{}", to_seconds(r.start)),
                             fmt::format("{}", to_seconds(run.finish(f))),
                             fmt::format("{}", alone_s(run, done, f))});
  }
  return out;
}

// The link that held the flow back for longest.
std::string main_bottleneck(const FlowRun& run, const Done& done, std::uint32_t f) {
  std::vector<std::pair<LinkId, Duration>> held;
  for (const FlowPhase& p : run.phases(f)) {
    auto it = std::find_if(held.begin(), held.end(), [&](const auto& h) { return h.first == p.bottleneck; });
    if (it == held.end()) it = held.insert(held.end(), {p.bottleneck, Duration(0)});
    it->second += p.to - p.from;
  }
  const auto most = std::max_element(held.begin(), held.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == held.end() || !most->first.valid() ? "-" : done.platform.fabric.link_name(most->first);
}

std::string to_text(const FlowRun& run, const Done& done, bool phases) {
  using Align = report::Table::Align;
  const topology::Fabric& fabric = done.platform.fabric;
  std::vector<report::Table::Column> columns{{"flow"},
                                             {"src", Align::kLeft},
                                             {"dst", Align::kLeft},
                                             {"bytes"},
                                             {"start"},
                                             {"finish"},
                                             {"mean rate"},
                                             {"x alone"}};
  if (phases) columns.push_back({"held back by", Align::kLeft});
  report::Table table(columns);
  double worst = 0;
  std::uint32_t worst_flow = 0;
  for (std::uint32_t f = 0; f < run.size(); ++f) {
    const FlowRequest& r = done.requests[f];
    const Duration took = run.finish(f) - r.start;
    const double alone = alone_s(run, done, f);
    const double slowdown = alone > 0 ? to_seconds(took) / alone : 1;
    if (slowdown > worst) {
      worst = slowdown;
      worst_flow = f;
    }
    if (f >= kRowsForPeople) continue;
    std::vector<std::string> row{
        std::to_string(f),
        fabric.host_name(r.src),
        fabric.host_name(r.dst),
        show(r.bytes),
        show(r.start - kTimeZero),
        show(run.finish(f) - kTimeZero),
        took.count() > 0 && r.bytes.value() > 0
            ? show(Bandwidth(static_cast<double>(r.bytes.value()) / to_seconds(took)))
            : "-",
        fmt::format("{:.2f}", slowdown)};
    if (phases) row.push_back(main_bottleneck(run, done, f));
    table.add(std::move(row));
  }
  std::string out = table.text(text_width());
  if (run.size() > kRowsForPeople)
    out += fmt::format("... {} more; --csv FILE or --json FILE lists all\n", run.size() - kRowsForPeople);
  out += fmt::format("{} on {} {} in {} ({} sharing)", counted(run.size(), "flow"),
                     predict::platform_label(done.platform), run.size() == 1 ? "finishes" : "finish",
                     show(run.makespan() - kTimeZero), done.model);
  if (run.size() > 0)
    out += fmt::format("; the most delayed is flow {}, {:.2f} times its time alone", worst_flow, worst);
  if (done.accuracy > 0) out += "\n" + accuracy_note(done.model, done.accuracy);
  return out + "\n";
}

// "3/10" where a fraction of small numbers is meant; nothing else.
std::string as_fraction(double x) {
  for (int d = 1; d <= 9999; ++d) {
    const double n = std::round(x * d);
    if (n > 0 && std::abs(x * d - n) < 1e-9 * d)
      return d == 1 ? fmt::format("{}", n) : fmt::format("{}/{}", n, d);
  }
  return {};
}

// Every stretch of time without a change, with the factor of each communication in it.
std::string phase_table(const FlowRun& run, const Done& done) {
  using Align = report::Table::Align;
  const topology::Fabric& fabric = done.platform.fabric;
  std::vector<SimTime> cuts;
  for (std::uint32_t f = 0; f < run.size(); ++f)
    for (const FlowPhase& p : run.phases(f)) {
      cuts.push_back(p.from);
      cuts.push_back(p.to);
    }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  report::Table table({{"phase"},
                       {"from"},
                       {"to"},
                       {"flow"},
                       {"src", Align::kLeft},
                       {"dst", Align::kLeft},
                       {"rho"},
                       {"=", Align::kLeft},
                       {"held back by", Align::kLeft}});
  std::vector<std::size_t> next(run.size(), 0);
  std::size_t rows = 0;
  std::size_t phase = 0;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    bool first = true;
    for (std::uint32_t f = 0; f < run.size(); ++f) {
      const auto& phases = run.phases(f);
      while (next[f] < phases.size() && phases[next[f]].to <= cuts[c]) ++next[f];
      if (next[f] == phases.size() || phases[next[f]].from > cuts[c]) continue;
      const FlowPhase& p = phases[next[f]];
      if (++rows > kPhaseRowsForPeople)
        return table.text(text_width()) + "... more phases; --json FILE lists all\n";
      if (first) ++phase;
      const double rho = factor(run, done, f, p);
      table.add({first ? std::to_string(phase) : "", first ? show(cuts[c] - kTimeZero) : "",
                 first ? show(cuts[c + 1] - kTimeZero) : "", std::to_string(f),
                 fabric.host_name(done.requests[f].src), fabric.host_name(done.requests[f].dst),
                 fmt::format("{:.4f}", rho), as_fraction(rho),
                 p.bottleneck.valid() ? fabric.link_name(p.bottleneck) : "-"});
      first = false;
    }
  }
  return table.text(text_width());
}

Result<void> flows(const Options& o) {
  const auto begin = std::chrono::steady_clock::now();
  Done done;
  WEFT_ASSIGN(FlowRun run, build(o, done));
  if (o.common.json.empty() && run.size() > kRowsForPeople)
    WEFT_TRY(refuse_unused(*o.common.app, {"--no-phases"}, fmt::format("a table of {} flows", run.size()),
                           fmt::format("--json FILE, or at most {} flows", kRowsForPeople)));
  // Phases cost memory for each change of each rate: kept where they are shown.
  const bool phases = !o.no_phases && (!o.common.json.empty() || run.size() <= kRowsForPeople);
  if (auto ended = run.run(phases); !ended) {
    ended.error().where = SourcePos{o.flows, done.requests[run.failed()].line, 1}.text();
    return ended;
  }
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool arbitrated = congestion::find_model(done.model)->is(congestion::kReadsTrees);
  o.common.print((phases && arbitrated ? phase_table(run, done) + "\n" : std::string()) +
                 to_text(run, done, phases));
  if (!o.common.json.empty()) WEFT_TRY(o.common.write_json(to_json(o, run, done, wall_s)));
  if (!o.common.csv.empty()) WEFT_TRY(o.common.write_csv(to_csv(run, done)));
  return {};
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("FLOWS", o->flows,
                 "CSV with a header line: src,dst,bytes,start (64KiB, 1.5us) or src,dst,bytes_B,start_s "
                 "(bare numbers); - = stdin")
      ->required();
  app.add_option("--on", o->platform, "platform: .textproto, built-in name or family:key=value,...")
      ->required()
      ->type_name("PLATFORM");
  o->flags.add(app);
  add_model(app, o->model);
  add_accuracy(app, o->accuracy);
  app.add_option(
         "--weights", o->weights,
         with_default("rtt: share inverse to the route's latency, as SimGrid's CM02; none: all flows alike",
                      o->weights))
      ->check(word({"none", "rtt"}))
      ->transform(renamed("equal", "none"))
      ->type_name("none|rtt");
  app.add_option("--header", o->header, with_default("bytes added to every flow", o->header))
      ->type_name("BYTES");
  app.add_flag("--no-phases", o->no_phases,
               "leave the phases out of the JSON (they need memory per change of rate)");
  add_common(app, o->common);
  return with_outputs(o->common, [o] { return flows(*o); });
}

}  // namespace weft::cli::verb_flows
