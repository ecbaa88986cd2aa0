// A network from a SimGrid platform file: its hosts in the order of the file, its links by their names, its routes.
//
// Host names, link names and routes are SimGrid's; what links join is inferred from the legs of the netzones (graphs/wiring.hpp), and where
// that does not come out, unknown. A SHARED link is one link for both directions. Which elements are read: platform_file.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "topology/graphs/wiring.hpp"
#include "topology/registry.hpp"
#include "topology/simgrid/platform_file.hpp"

namespace weft::topology::family_simgrid_file {
namespace {

using simgrid::Network;

constexpr std::array<ParamInfo, 3> kSimgridParams = {{
    {"path", "required", "SimGrid platform file (XML, version 4 or 4.1)"},
    {"bw", "the file's", "replaces the bandwidth of every link"},
    {"lat", "the file's", "replaces the latency of every link"},
}};
// Platforms whose netzones share links have all pairs looked at, up to so many.
constexpr std::size_t kMostPairsLookedAt = std::size_t{1} << 21;

class SimgridRouting final : public Routing {
 public:
  SimgridRouting(std::shared_ptr<const Network> net, std::vector<std::uint32_t> number)
      : net_(std::move(net)), number_(std::move(number)) {}
  bool route(HostId src, HostId dst, std::vector<LinkId>& out) const override {
    if (src == dst) return true;
    std::vector<std::uint32_t> links;
    if (!net_->route(net_->hosts[src.index()], net_->hosts[dst.index()], links) || links.empty())
      return false;
    for (const std::uint32_t l : links) out.emplace_back(number_[l]);
    return true;
  }
  std::string_view name() const override { return "netzones"; }

 private:
  std::shared_ptr<const Network> net_;
  std::vector<std::uint32_t> number_;  // LinkId of a link of the file
};

Result<std::string> path_of(const Params& params) {
  const Params::Entry* entry = params.find("path");
  if (entry == nullptr || entry->value.empty())
    return bad_input(params.where(), "key path is missing", {}, "simgrid:path=FILE.xml");
  return entry->value;
}

// Legs of all netzones between places of which the hosts come first.
simgrid::Places legs_of(const Network& net) {
  const auto points = static_cast<std::uint32_t>(net.points.size());
  simgrid::Places all(points);
  for (const auto& zone : net.zones) {
    zone->walk(net, all);
    for (const auto& [ends, bypass] : zone->bypasses)
      all.walk(bypass.begins == simgrid::kNone ? ends.first : bypass.begins,
               bypass.ends == simgrid::kNone ? ends.second : bypass.ends, bypass.links);
  }
  std::vector<std::uint32_t> place(all.count());
  std::uint32_t next = static_cast<std::uint32_t>(net.hosts.size());
  for (std::uint32_t p = 0; p < all.count(); ++p)
    place[p] = p < points && net.points[p].kind == simgrid::PointKind::kHost ? net.points[p].is : next++;
  for (RoutesWalked::Route& r : all.routes) {
    r.src = place[r.src];
    r.dst = place[r.dst];
  }
  return all;
}

// True: a link may be on a route twice, since legs of several netzones have it, or several of one.
bool links_may_repeat(const Network& net) {
  std::vector<std::uint32_t> zone_of(net.links.size(), simgrid::kNone);
  for (std::uint32_t z = 0; z < net.zones.size(); ++z) {
    if (net.zones[z]->may_repeat()) return true;
    simgrid::Places legs(static_cast<std::uint32_t>(net.points.size()));
    net.zones[z]->walk(net, legs);
    for (const auto& [ends, bypass] : net.zones[z]->bypasses)
      legs.used.insert(legs.used.end(), bypass.links.begin(), bypass.links.end());
    for (const std::uint32_t l : legs.used) {
      if (zone_of[l] != simgrid::kNone && zone_of[l] != z) return true;
      zone_of[l] = z;
    }
  }
  return false;
}

Result<void> check_links_once(const Network& net, const std::string& path) {
  if (!links_may_repeat(net)) return {};
  const auto refused = [&](std::string what, std::string expected) {
    Error no = not_supported(std::move(what), std::move(expected));
    no.where = path;
    return no;
  };
  const std::size_t hosts = net.hosts.size();
  if (hosts * hosts > kMostPairsLookedAt)
    return refused(
        "links that several netzones use, among so many hosts that routes are not looked at one by one",
        fmt::format("at most {} pairs of hosts", kMostPairsLookedAt));
  std::vector<std::uint32_t> seen(net.links.size(), 0), links;
  std::uint32_t mark = 0;
  for (const std::uint32_t src : net.hosts)
    for (const std::uint32_t dst : net.hosts) {
      links.clear();
      ++mark;
      if (src == dst || !net.route(src, dst, links)) continue;
      for (const std::uint32_t l : links)
        if (std::exchange(seen[l], mark) == mark)
          return refused(fmt::format("the route from {} to {}, which takes link {} twice",
                                     net.points[src].name, net.points[dst].name, net.links[l].name),
                         "routes that take a link once");
    }
  return {};
}

void name_vertices(FabricBuilder& b, const Network& net, const Wiring& w, std::uint32_t hosts) {
  auto names = std::make_shared<std::vector<std::string>>(w.vertices);
  std::uint32_t place = hosts;
  for (const simgrid::Point& p : net.points) {
    const std::uint32_t v = w.vertex[p.kind == simgrid::PointKind::kHost ? p.is : place++];
    if (v == Wiring::kNoVertex || p.kind == simgrid::PointKind::kZone || (!w.known && v >= hosts)) continue;
    if ((*names)[v].empty()) (*names)[v] = p.name;
  }
  b.set_vertex_names([names, hosts, known = w.known](VertexId v) {
    const std::string& name = (*names)[v.index()];
    if (!name.empty()) return name;
    return known ? fmt::format("switch-{}", v.index() - hosts) : std::string("network");
  });
}

Result<Fabric> build_simgrid(const Params& params) {
  WEFT_ASSIGN(const std::string path, path_of(params));
  for (const std::string_view key : {"hosts_per_switch", "routing"})
    if (params.has(key)) return params.error(key, "a SimGrid platform fixes this", "no such key");
  for (const std::string_view key : {"fail", "nics", "nic", "nic_bw", "switch_lat"})
    if (const Params::Entry* e = params.find(key)) {
      Error no = not_supported(fmt::format("{} on a SimGrid platform", key), "a change of the file");
      no.where = e->where;
      return no;
    }
  WEFT_ASSIGN(const LinkValues override_values, params.values_beside_file());
  WEFT_ASSIGN(auto read, simgrid::read_platform(path));
  const std::shared_ptr<const Network> net = std::move(read);
  WEFT_TRY(check_links_once(*net, path));

  const auto hosts = static_cast<std::uint32_t>(net->hosts.size());
  const simgrid::Places legs = legs_of(*net);
  std::vector<std::uint8_t> two_way;
  for (const simgrid::Link& l : net->links) two_way.push_back(l.two_way ? 1 : 0);
  const Wiring w = infer_wiring({hosts, legs.count(), static_cast<std::uint32_t>(net->links.size()),
                                 legs.routes, legs.used, two_way, !net->ways_are_untold});
  WEFT_TRY(params.placed(check_size(w.vertices, (net->links.size() + 1) / 2)));
  const bool pass_on = net->hosts_pass_on || w.hosts_pass_on;
  FabricBuilder b(hosts, w.vertices, pass_on ? w.vertices : w.vertices - hosts);
  const std::uint8_t link_class = b.add_class("link");
  std::uint8_t fatpipe_class = link_class;
  if (std::ranges::any_of(net->links, &simgrid::Link::fatpipe)) {
    fatpipe_class = b.add_class(std::string(kFatpipe));
    const std::array<std::uint8_t, 2> all = {link_class, fatpipe_class};
    b.set_group_classes(all);
  }
  const std::vector<std::uint32_t> number = numbers_by_start(w);
  std::vector<std::uint32_t> first(w.vertices, ~0u);
  for (std::size_t l = 0; l < number.size(); ++l) first[w.from[l]] = std::min(first[w.from[l]], number[l]);
  std::vector<std::string> names(number.size());
  std::vector<std::uint8_t> both_ways(number.size());
  for (std::size_t l = 0; l < number.size(); ++l) {
    const simgrid::Link& link = net->links[l];
    names[number[l]] = link.name;
    both_ways[number[l]] = w.both_ways[l];
    b.link(w.from[l], number[l] - first[w.from[l]], w.to[l], link.fatpipe ? fatpipe_class : link_class,
           {params.has("bw") ? override_values.bandwidth : Bandwidth(link.bytes_per_s),
            params.has("lat") ? override_values.latency : from_seconds(link.latency_s)});
  }
  b.set_link_names(std::move(names));
  if (!w.known) b.set_wiring_unknown();
  if (std::ranges::count(both_ways, 1) > 0) b.set_two_way(std::move(both_ways));
  b.set_routing(std::make_shared<SimgridRouting>(net, number));
  name_vertices(b, *net, w, hosts);
  return b.build();
}

// What the file says of hosts.
Result<HostFacts> facts_of(const Params& params) {
  WEFT_ASSIGN(const std::string path, path_of(params));
  WEFT_ASSIGN(const auto net, simgrid::read_platform(path));
  return HostFacts{net->speed, net->warnings};
}

}  // namespace

Family family() {
  Family f{kSimgridParams, build_simgrid, "path=platform.xml"};
  f.host_facts = facts_of;
  return f;
}

}  // namespace weft::topology::family_simgrid_file
