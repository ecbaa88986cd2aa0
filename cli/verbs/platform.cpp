// weft platform list|show|check|export [P]: the catalogue and what a platform is made of.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/flags/platform_flags.hpp"
#include "cli/flags/values.hpp"
#include "cli/tell.hpp"
#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "core/files/atomic_file.hpp"
#include "core/quantity_text.hpp"
#include "predict/run_facts.hpp"
#include "replay/collective_calls.hpp"
#include "replay/kernel_time.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "topology/bisection.hpp"
#include "topology/graphs/export.hpp"
#include "topology/metrics.hpp"
#include "topology/platform/catalogue.hpp"
#include "topology/platform/platform.hpp"
#include "topology/registry.hpp"
#include "topology/verify.hpp"

namespace weft::cli::verb_platform {
namespace {

using nlohmann::ordered_json;
using report::Table;
using namespace topology;  // NOLINT(google-build-using-namespace): this verb is about nothing else

struct Options {
  CommonOptions common;
  std::string action;
  std::string platform;
  PlatformFlags flags;
  std::string to = "dot";
  std::string out;
};

template <class T>
ordered_json or_null(const std::optional<T>& v) {
  return v ? ordered_json(*v) : ordered_json(nullptr);
}

std::string or_unknown(const std::optional<double>& v) { return v ? fmt::format("{:.4f}", *v) : "unknown"; }
template <class T>
std::string or_unknown(const std::optional<T>& v) {
  return v ? fmt::format("{}", *v) : "unknown";
}

Result<void> list(const Options& o) {
  ordered_json j = {{"schema", "weft.platform_list/1"},
                    {"platforms", ordered_json::array()},
                    {"families", ordered_json::array()}};
  Table built_in({{"built-in", Table::Align::kLeft}, {"hosts"}, {"summary", Table::Align::kLeft}});
  std::string csv = report::csv_line({"name", "hosts", "summary"});
  for (const CatalogueEntry& e : catalogue()) {
    WEFT_ASSIGN(const Platform p, load_platform(e.name));
    const std::vector<std::string> row = {p.name, fmt::format("{}", p.fabric.host_count()), p.summary};
    j["platforms"].push_back(
        {{"name", p.name}, {"hosts", p.fabric.host_count()}, {"family", p.family}, {"summary", p.summary}});
    built_in.add(row);
    csv += report::csv_line(row);
  }
  std::string text = built_in.text(text_width()) +
                     "\nFamilies, as FAMILY:key=value,... (a list inside a value is joined by x):\n";
  for (const Family& f : families()) {
    ordered_json keys = ordered_json::array();
    text += fmt::format("\n{}: {}{}\n", f.name, f.summary,
                        f.build == nullptr ? std::string(" (not supported in this version)")
                                           : fmt::format(", such as {}:{}", f.name, f.example));
    for (const ParamInfo& p : f.params) {
      text += fmt::format("  {:<14} [{}] {}\n", p.name, p.fallback, p.help);
      keys.push_back({{"key", p.name}, {"default", p.fallback}, {"help", p.help}});
    }
    j["families"].push_back(
        {{"name", f.name}, {"summary", f.summary}, {"supported", f.build != nullptr}, {"keys", keys}});
  }
  text += "\nKeys of every family:\n";
  for (const ParamInfo& p : common_params())
    text += fmt::format("  {:<16} [{}] {}\n", p.name, p.fallback, p.help);
  o.common.print(text);
  WEFT_TRY(o.common.write_json(report::json_text(j)));
  return o.common.write_csv(csv);
}

std::string hops_line(const Fabric& f, const Metrics& m) {
  if (f.host_count() < 2) return "hops between hosts: none (one host)\n";
  std::string out = fmt::format("hops between hosts: mean {}, diameter {}", or_unknown(m.mean_hops),
                                or_unknown(m.diameter_hops));
  if (!f.wiring_known()) return out + '\n';
  if (f.switch_count() == 1) return out + "; all on one switch\n";
  return out + fmt::format("; between switches with hosts: mean {}, diameter {}\n",
                           or_unknown(m.router_mean_hops), or_unknown(m.router_diameter_hops));
}

// "2.5 Gflop/s", "48.5 to 137 Mflop/s".
std::string speed_of_hosts(const Platform& p) {
  const auto [least, most] = std::ranges::minmax(p.host_speed);
  std::string low = show(FlopRate(least));
  const std::string high = show(FlopRate(most));
  const auto unit = [](const std::string& speed) { return std::string_view(speed).substr(speed.find(' ')); };
  if (low != high && unit(low) == unit(high)) low.resize(low.find(' '));
  return from_to(std::move(low), high);
}

Result<void> show_platform(const Options& o, const Platform& p) {
  const Fabric& f = p.fabric;
  const Metrics m = measure(f);
  const std::optional<std::uint64_t> cut = topology::best_bisection(f);
  const auto classes = summarize_classes(f);
  ordered_json by_class = ordered_json::object();
  Table table({{"class", Table::Align::kLeft}, {"cables"}, {"bandwidth"}, {"latency"}});
  for (const ClassSummary& c : classes) {
    const std::uint64_t cables = c.cables;
    const char* none_or_mixed = c.links == 0 ? "-" : "mixed";
    by_class[c.name] = {{"count", cables},
                        {"links", c.links},
                        {"bandwidth_Bps", or_null(c.bandwidth_Bps)},
                        {"latency_s", or_null(c.latency_s)}};
    table.add({c.name, show_count(static_cast<double>(cables)),
               c.bandwidth_Bps ? show(Bandwidth(*c.bandwidth_Bps)) : none_or_mixed,
               c.latency_s ? show_seconds(*c.latency_s) : none_or_mixed});
  }
  const ordered_json mpi = {{"eager_limit_B", p.mpi.eager_limit.value()},
                            {"send_overhead_s", to_seconds(p.mpi.send_overhead)},
                            {"recv_overhead_s", to_seconds(p.mpi.recv_overhead)},
                            {"send_overhead_s_per_B", p.mpi.send_overhead_per_byte},
                            {"recv_overhead_s_per_B", p.mpi.recv_overhead_per_byte},
                            {"local_latency_s", to_seconds(p.mpi.local_latency)},
                            {"local_bandwidth_Bps", p.mpi.local_bandwidth},
                            {"piecewise", p.mpi.piecewise()},
                            {"collectives", p.mpi.collectives},
                            {"assumed", p.mpi.assumed}};
  ordered_json ports = ordered_json::array();
  for (const topology::PortShare& s : f.port_shares())
    ports.push_back({{"peers", s.peers}, {"factor", s.factor}});
  ordered_json j = {{"schema", "weft.platform/1"},
                    {"name", p.name},
                    {"family", p.family},
                    {"routing", f.routing().name()},
                    {"hosts", f.host_count()},
                    {"switches", f.switch_count()},
                    {"cables", f.cable_count()},
                    {"links", f.wired_links()},
                    {"diameter_hops", or_null(m.diameter_hops)},
                    {"mean_hops", or_null(m.mean_hops)},
                    {"router_diameter_hops", or_null(m.router_diameter_hops)},
                    {"router_mean_hops", or_null(m.router_mean_hops)},
                    {"bisection_links", or_null(cut)},
                    {"unreachable_pairs", m.hops ? ordered_json(m.hops->unreachable) : ordered_json(nullptr)},
                    {"by_class", by_class},
                    {"host_speed_flops", p.host_speed[0]},
                    {"ranks_per_host", p.ranks_per_host},
                    {"ports", ports},
                    {"mpi", mpi}};
  std::optional<Bandwidth> between_sockets;
  if (f.sockets_joined()) between_sockets = Bandwidth(f.links().capacity[f.wired_links()]);
  if (between_sockets)
    j["sockets"] = {{"count", p.compute.sockets}, {"bandwidth_Bps", between_sockets->value()}};
  std::string text = fmt::format("{}{}{}\n", p.name, p.summary.empty() ? "" : ": ", p.summary);
  const std::string network =
      f.wiring_known()
          ? fmt::format("{}, {}", counted(f.switch_count(), "switch"), counted(f.cable_count(), "cable"))
          : fmt::format("{} of which the file does not say what they join", counted(f.wired_links(), "link"));
  text += fmt::format("{}, {}; {} with {} routing\n", counted(f.host_count(), "host"), network, p.family,
                      f.routing().name());
  text += hops_line(f, m);
  text += cut ? fmt::format("bisection: at most {} (best equal cut found)\n", counted(*cut, "cable"))
          : !f.wiring_known() ? std::string("bisection: unknown\n")
          : f.rank_hosts() < 2
              ? std::string("bisection: none (one host has no halves)\n")
              : std::string(
                    "bisection: unknown (more cables than are searched and no closed form, or links whose "
                    "ends no route tells)\n");
  if (m.hops && m.hops->unreachable > 0)
    text += fmt::format("pairs without a route: {}\n", show_count(static_cast<double>(m.hops->unreachable)));
  text += fmt::format("host: {}, {} rank{}\n", speed_of_hosts(p), p.ranks_per_host,
                      p.ranks_per_host == 1 ? "" : "s");
  for (const topology::PortShare& s : f.port_shares())
    text += fmt::format(
        "ports: {:.3g} % of their bandwidth while a host exchanges messages with {} others or more\n",
        s.factor * 100, s.peers);
  if (between_sockets)
    text += fmt::format("sockets: {} a host, from each to each other {} that all messages share\n",
                        p.compute.sockets, show(*between_sockets));
  if (p.compute.has_kernels())
    text += fmt::format("kernels: models of their own, {} class{} of hosts and sockets\n",
                        p.compute.classes.size(), p.compute.classes.size() == 1 ? "" : "es");
  if (p.compute.power.varies()) {
    const auto [least, most] = p.compute.headrooms();
    j["power"] = {{"waiting", p.compute.power.waiting},
                  {"time_s", p.compute.power.time},
                  {"headroom_least", least},
                  {"headroom_most", most}};
    text += fmt::format(
        "power: a core that waits takes {:.3g} % of that of one that computes; others compute {:.3g} to "
        "{:.3g} % faster at most\n",
        p.compute.power.waiting * 100, (least - 1) * 100, (most - 1) * 100);
  }
  if (p.mpi.piecewise()) text += "messages: costs by size\n";
  const std::vector<std::string> assumed = predict::assumed_of(p, p.speed_assumed);
  j["assumed"] = assumed;
  if (!assumed.empty()) text += fmt::format("nobody set (assumed): {}\n", fmt::join(assumed, ", "));
  text += "\n";
  o.common.print(text + table.text(text_width()));
  WEFT_TRY(o.common.write_json(report::json_text(j)));
  return o.common.write_csv(
      report::csv_line(
          {"name", "hosts", "switches", "cables", "diameter_hops", "mean_hops", "bisection_links"}) +
      report::csv_line({p.name, fmt::format("{}", f.host_count()), fmt::format("{}", f.switch_count()),
                        fmt::format("{}", f.cable_count()), or_unknown(m.diameter_hops),
                        m.mean_hops ? predict::exact_number(*m.mean_hops) : "unknown", or_unknown(cut)}));
}

Result<void> check(const Options& o, const Platform& p) {
  const VerifyReport r = verify(p.fabric);
  std::vector<std::string> findings = r.findings;
  if (r.unreachable > 0)
    findings.push_back(fmt::format("{} of {} pairs have no route", r.unreachable, r.pairs_walked));
  if (auto kernels = replay::KernelClock::create(p); !kernels) findings.push_back(kernels.error().message());
  if (auto named = replay::check_collectives(p.mpi); !named) findings.push_back(named.error().message());
  const bool ok = findings.empty();
  ordered_json j = {{"schema", "weft.platform_check/1"},
                    {"name", p.name},
                    {"ok", ok},
                    {"pairs_total", r.pairs_total},
                    {"pairs_walked", r.pairs_walked},
                    {"destinations_walked", r.destinations_walked},
                    {"host_degree", {r.host_degree_min, r.host_degree_max}},
                    {"switch_degree", {r.switch_degree_min, r.switch_degree_max}},
                    {"findings", findings}};
  std::string text = fmt::format("{}: {}\n", p.name, ok ? "sound" : "not sound");
  for (const std::string& s : findings) text += fmt::format("  {}\n", s);
  std::string drawn;
  if (r.pairs_walked < r.pairs_total)
    drawn = r.destinations_walked < p.fabric.host_count()
                ? fmt::format(" (drawn with a fixed seed, to {} of {} hosts)",
                              show_count(r.destinations_walked), show_count(p.fabric.host_count()))
                : " (drawn with a fixed seed)";
  text += fmt::format("walked the routes of {} of {} pairs{}; links per host {}, per switch {}\n",
                      show_count(static_cast<double>(r.pairs_walked)),
                      show_count(static_cast<double>(r.pairs_total)), drawn,
                      from_to(show_count(r.host_degree_min), show_count(r.host_degree_max)),
                      from_to(show_count(r.switch_degree_min), show_count(r.switch_degree_max)));
  const Error finding{ErrorCode::kFinding, {}, fmt::format("platform {} is not sound", p.name), {}, {}};
  if (!ok) j["error"] = finding.message();
  o.common.print(text);
  WEFT_TRY(o.common.write_json(report::json_text(j)));
  std::string csv = report::csv_line({"name", "ok", "finding"});
  for (const std::string& s : findings) csv += report::csv_line({p.name, "false", s});
  if (ok) csv += report::csv_line({p.name, "true", ""});
  WEFT_TRY(o.common.write_csv(csv));
  if (!ok) return finding;
  return {};
}

// What of the platform is not in an export, which has links and (a routes file) routes.
std::vector<std::string> left_out(const Platform& p) {
  std::vector<std::string> out;
  if (p.ranks_per_host > 1) out.push_back(fmt::format("{} ranks a host", p.ranks_per_host));
  if (p.compute.has_kernels()) out.emplace_back("costs of kernels");
  if (p.mpi.piecewise()) out.emplace_back("costs of messages by size");
  if (p.compute.sockets > 1) out.emplace_back("sockets");
  if (!p.fabric.port_shares().empty()) out.emplace_back("shares of ports");
  if (p.fabric.pcie() != nullptr) out.emplace_back("arbitration of PCIe trees");
  return out;
}

// A drawing has cables; a file of routes need not say what links join, and may have links that both directions share.
Result<void> check_drawable(const Fabric& f) {
  if (!f.wiring_known()) return not_supported("a drawing of links whose ends are not told", "--to routes");
  for (std::uint32_t l = 0; l < f.wired_links(); ++l)
    if (f.is_two_way(LinkId(l)) && f.links().from[l] != f.links().to[l])
      return not_supported(
          fmt::format("a drawing of {}, which both directions share", f.link_name(LinkId(l))), "--to routes");
  return {};
}

Result<void> export_platform(const Options& o, const Platform& p) {
  if (o.to != "routes") WEFT_TRY(check_drawable(p.fabric));
  if (const auto missing = left_out(p); !missing.empty() && !o.common.quiet)
    tell("note: the export has links{}; left out: {}, speed of hosts, MPI parameters\n",
         o.to == "routes" ? " and routes" : "", fmt::join(missing, ", "));
  return o.common.outputs->write_pieces("--output", [&](const TextSink& out) -> Result<void> {
    if (o.to == "routes") return write_routes(p.fabric, out);
    if (o.to == "dot")
      write_dot(p.fabric, out);
    else
      write_graphml(p.fabric, out);
    return {};
  });
}

Result<void> run(const Options& o) {
  if (o.action == "list") {
    if (!o.platform.empty()) return usage_error("platform list takes no platform", o.platform);
    return list(o);
  }
  if (o.platform.empty())
    return usage_error(fmt::format("platform {} needs a platform", o.action), {},
                       "weft platform " + o.action + " PLATFORM");
  WEFT_ASSIGN(const Platform p, load_platform(o.platform, o.flags.changes(o.common.seed)));
  if (o.action == "show") return show_platform(o, p);
  if (o.action == "check") return check(o, p);
  return export_platform(o, p);
}

// What an action has no use for. An export is one file, that of -o.
const std::vector<std::string> kOnlyOfExport{"--to", "--output"};
const std::vector<std::string> kNotOfExport{"--json", "--csv"};
const std::vector<std::string> kOfAPlatform{"--set", "--routing", "--fail"};

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("action", o->action,
                 "list: built-in platforms and families; show: counts and distances; check: "
                 "walk the routes; export: DOT, GraphML or a routes file")
      ->required()
      ->check(word({"list", "show", "check", "export"}))
      ->type_name("list|show|check|export");
  app.add_option("platform", o->platform, ".textproto file, built-in name, or FAMILY:key=value,...")
      ->type_name("PLATFORM");
  o->flags.add(app);
  app.add_option("--to", o->to, with_default("export format", o->to))
      ->check(word({"dot", "graphml", "routes"}))
      ->type_name("dot|graphml|routes");
  add_output(app, o->common, "-o,--output", o->out, "export to FILE [- = stdout]");
  add_common(app, o->common);
  const Action act = with_outputs(o->common, [o] { return run(*o); });
  return [o, &app, act](const std::vector<std::string>& words) -> Result<void> {
    WEFT_TRY(
        refuse_unused(app, o->action == "export" ? kNotOfExport : kOnlyOfExport, "platform " + o->action));
    if (o->action == "list") WEFT_TRY(refuse_unused(app, kOfAPlatform, "platform list"));
    if (o->action == "export" && o->out.empty()) o->out = "-";
    return act(words);
  };
}

}  // namespace weft::cli::verb_platform
