// weft route SRC DST --on PLATFORM: the links that a message takes.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/flags/platform_flags.hpp"
#include "cli/text_width.hpp"
#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "core/quantity_text.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "topology/placement/host_lookup.hpp"
#include "topology/platform/platform.hpp"
#include "topology/routing/route_latency.hpp"

namespace weft::cli::verb_route {
namespace {

struct Options {
  CommonOptions common;
  std::string src, dst, platform;
  PlatformFlags flags;
};

Result<void> run(const Options& o) {
  using nlohmann::ordered_json;
  using report::Table;
  WEFT_ASSIGN(const topology::Platform p,
              topology::load_platform(o.platform, o.flags.changes(o.common.seed)));
  const topology::Fabric& f = p.fabric;
  topology::HostLookup lookup(f);
  WEFT_ASSIGN(const HostId src, lookup.find(o.src, "SRC"));
  WEFT_ASSIGN(const HostId dst, lookup.find(o.dst, "DST"));
  std::vector<LinkId> links;
  const bool reached = f.routing().route(src, dst, links);

  ordered_json j = {{"schema", "weft.route/1"}, {"platform", p.name},       {"routing", f.routing().name()},
                    {"src", f.host_name(src)},  {"dst", f.host_name(dst)},  {"hops", links.size()},
                    {"latency_s", nullptr},     {"bandwidth_Bps", nullptr}, {"links", ordered_json::array()}};
  Table table(
      {{"hop"}, {"link", Table::Align::kLeft}, {"class", Table::Align::kLeft}, {"bandwidth"}, {"latency"}});
  std::string csv = report::csv_line({"hop", "link", "class", "bandwidth_Bps", "latency_s"});
  const TimeSum latency = topology::latency_sum(f.links(), links);
  double narrowest = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::size_t l = links[i].index();
    const topology::LinkTable& t = f.links();
    const std::string name = f.link_name(links[i]);
    const std::string link_class = t.class_name(links[i]);
    narrowest = i == 0 ? t.capacity[l] : std::min(narrowest, t.capacity[l]);
    j["links"].push_back({{"name", name},
                          {"class", link_class},
                          {"bandwidth_Bps", t.capacity[l]},
                          {"latency_s", to_seconds(t.latency[l])}});
    table.add(
        {fmt::format("{}", i + 1), name, link_class, show(Bandwidth(t.capacity[l])), show(t.latency[l])});
    csv += report::csv_line({fmt::format("{}", i + 1), name, link_class, fmt::format("{}", t.capacity[l]),
                             fmt::format("{}", to_seconds(t.latency[l]))});
  }
  const Error finding{ErrorCode::kFinding,
                      {},
                      fmt::format("no route from {} to {} on {}", f.host_name(src), f.host_name(dst), p.name),
                      {},
                      {}};
  if (reached) j["latency_s"] = to_seconds(latency);
  if (!links.empty()) j["bandwidth_Bps"] = narrowest;
  if (!reached) j["error"] = finding.message();
  if (reached)
    o.common.print(table.text(text_width()) +
                   fmt::format("{} to {}: {}, {}{}\n", f.host_name(src), f.host_name(dst),
                               counted(links.size(), "link"), show(latency),
                               links.empty() ? std::string() : ", " + show(Bandwidth(narrowest))));
  WEFT_TRY(o.common.write_json(report::json_text(j)));
  WEFT_TRY(o.common.write_csv(csv));
  if (!reached) return finding;
  return {};
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.add_option("src", o->src, "source host, by index or name")->required()->type_name("SRC");
  app.add_option("dst", o->dst, "destination host, by index or name")->required()->type_name("DST");
  app.add_option("--on", o->platform, ".textproto file, built-in name, or FAMILY:key=value,...")
      ->required()
      ->type_name("PLATFORM");
  o->flags.add(app);
  add_common(app, o->common);
  return with_outputs(o->common, [o] { return run(*o); });
}

}  // namespace weft::cli::verb_route
