#include "topology/simgrid/platform_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "core/files/input_file.hpp"
#include "topology/graphs/xml_text.hpp"
#include "topology/simgrid/cluster_zones.hpp"
#include "topology/simgrid/document_type.hpp"
#include "topology/simgrid/route_reader.hpp"
#include "topology/simgrid/routed_zones.hpp"
#include "topology/simgrid/units.hpp"

namespace weft::topology::simgrid {
namespace {

constexpr std::uint64_t kMostBytes = 1ULL << 28;

enum class Sharing { kShared, kSplit, kFatpipe };

class Reader {
 public:
  explicit Reader(Network& net) : net_(net) {}

  Result<void> read(const XmlElement& platform) {
    WEFT_TRY(check_version(platform));
    WEFT_TRY(check_document(platform));
    WEFT_TRY(platform.each([&](const XmlElement& e) -> Result<void> {
      if (e.name() == "config") return read_config(e);
      if (e.name() == "actor" || e.name() == "process") {
        ++actors_;
        return {};
      }
      if (!is_zone(e) && e.name() != "cluster") return other(e, "zone, cluster or config");
      if (!net_.zones.empty())
        return bad_input(e.place(), "a second outermost netzone", value_of(e, "id"), "one, that holds all");
      return e.name() == "cluster" ? read_cluster(e, kNone) : read_zone(e, kNone);
    }));
    if (net_.hosts.empty()) return bad_input(platform.place(), "the platform has no host");
    RouteReader routes(net_, names_);
    for (const Told& t : routes_) WEFT_TRY(routes.read(t.zone, t.element, t.backbone));
    for (const auto& [zone, place] : routed_)
      if (auto sealed = static_cast<RoutedZone&>(*net_.zones[zone]).seal(); !sealed) {
        sealed.error().where = place;
        return sealed;
      }
    tell_the_rest();
    return {};
  }

 private:
  // A route, to be read when all names are known.
  struct Told {
    std::uint32_t zone;
    XmlElement element;
    std::optional<std::uint32_t> backbone;
  };

  static bool is_zone(const XmlElement& e) { return e.name() == "zone" || e.name() == "AS"; }

  static Result<void> check_version(const XmlElement& platform) {
    WEFT_ASSIGN(const std::string version, platform.required("version"));
    if (const auto number = whole_number(version); number && *number >= 4 && *number < 4.2) return {};
    return bad_input(platform.place(), "version of the platform file", version,
                     "4 or 4.1; simgrid_update_xml of SimGrid makes one of an older file");
  }

  // A number that is all of the text.
  static std::optional<double> whole_number(const std::string& text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
  }
  // Cores change nothing here, but for a number that is none.
  static Result<void> check_cores(const XmlElement& e) {
    const std::string text = value_of(e, "core", "1");
    const double cores = whole_number(text).value_or(0);
    if (cores >= 1 && cores == std::floor(cores)) return {};
    return bad_input(e.place(), "cores of a host", text, "a whole number from 1 on");
  }

  // What is neither read nor without meaning.
  static Result<void> other(const XmlElement& e, std::string_view expected) {
    if (e.name() == "trace") return {};  // connected to nothing it means nothing
    if (e.name() == "trace_connect" || e.name() == "peer") {
      Error no = not_supported(fmt::format("<{}> in a SimGrid platform", e.name()));
      no.where = e.place();
      return no;
    }
    return bad_input(e.place(), "unknown element of a SimGrid platform", std::string(e.name()),
                     std::string(expected));
  }
  static Result<void> constant(const XmlElement& e, std::initializer_list<const char*> files) {
    for (const char* file : files)
      if (!value_of(e, file).empty()) {
        Error no = not_supported(fmt::format("{}: what changes with time", file), "no such attribute");
        no.where = e.place();
        return no;
      }
    return {};
  }

  Result<void> read_config(const XmlElement& e) {
    return e.each([&](const XmlElement& prop) -> Result<void> {
      config_.push_back(value_of(prop, "id"));
      return {};
    });
  }
  void tell_the_rest() {
    if (!config_.empty())
      net_.warnings.push_back(fmt::format("the platform sets options of SimGrid, which are not read: {}",
                                          fmt::join(config_, ", ")));
    if (actors_ > 0)
      net_.warnings.push_back(fmt::format("the platform starts {} actors, which are not read", actors_));
  }

  Result<std::uint32_t> add_point(const std::string& name, PointKind kind, std::uint32_t zone,
                                  std::uint32_t is, const XmlElement& e) {
    const auto point = static_cast<std::uint32_t>(net_.points.size());
    if (!names_.points.emplace(name, point).second)
      return bad_input(e.place(), "two hosts, routers or netzones of one name", name, "each name once");
    std::uint32_t number = 0;
    if (zone != kNone) {
      number = static_cast<std::uint32_t>(net_.zones[zone]->members.size());
      net_.zones[zone]->members.push_back(point);
    }
    net_.points.push_back({name, kind, zone, number, is});
    return point;
  }
  Result<std::uint32_t> add_host(const std::string& name, double speed, std::uint32_t zone,
                                 const XmlElement& e) {
    if (net_.hosts.size() >= kMostHosts)
      return bad_input(e.place(), "too many hosts", {}, fmt::format("at most {}", kMostHosts));
    WEFT_ASSIGN(const std::uint32_t point,
                add_point(name, PointKind::kHost, zone, static_cast<std::uint32_t>(net_.hosts.size()), e));
    net_.hosts.push_back(point);
    net_.speed.push_back(speed);
    return net_.points[point].number;
  }
  Result<void> add_zone(std::unique_ptr<Zone> zone, const std::string& id, std::uint32_t parent,
                        const XmlElement& e) {
    const auto number = static_cast<std::uint32_t>(net_.zones.size());
    zone->name = id;
    zone->parent = parent;
    WEFT_ASSIGN(zone->point, add_point(id, PointKind::kZone, parent, number, e));
    net_.zones.push_back(std::move(zone));
    return {};
  }
  Result<std::uint32_t> add_link(Link link, const XmlElement& e) {
    const auto index = static_cast<std::uint32_t>(net_.links.size());
    if (!names_.links.emplace(link.name, index).second)
      return bad_input(e.place(), "two links of one name", link.name, "each name once");
    net_.links.push_back(std::move(link));
    return index;
  }
  // The number of each half; of a link that is not split that link.
  Result<Halves> add_links(const std::string& name, double bytes_per_s, double latency_s, Sharing sharing,
                           const XmlElement& e) {
    if (sharing != Sharing::kSplit) {
      WEFT_ASSIGN(const std::uint32_t both,
                  add_link({name, bytes_per_s, latency_s, sharing == Sharing::kFatpipe, true}, e));
      return Halves{both, both};
    }
    WEFT_ASSIGN(const std::uint32_t up, add_link({name + "_UP", bytes_per_s, latency_s, false, false}, e));
    WEFT_ASSIGN(const std::uint32_t down,
                add_link({name + "_DOWN", bytes_per_s, latency_s, false, false}, e));
    names_.split.emplace(name, Halves{up, down});
    names_.other_half[up] = down;
    names_.other_half[down] = up;
    return Halves{up, down};
  }

  static Result<Sharing> sharing_of(const XmlElement& e, const char* name, Sharing fallback) {
    const std::string text = value_of(e, name);
    if (text.empty()) return fallback;
    if (text == "SHARED") return Sharing::kShared;
    if (text == "SPLITDUPLEX" || text == "FULLDUPLEX") return Sharing::kSplit;
    if (text == "FATPIPE") return Sharing::kFatpipe;
    if (text == "WIFI") {
      Error no = not_supported("wireless links");
      no.where = e.place();
      return no;
    }
    return bad_input(e.place(), name, text, "SHARED, SPLITDUPLEX or FATPIPE");
  }

  Result<void> read_zone(const XmlElement& e, std::uint32_t parent) {
    WEFT_ASSIGN(const std::string id, e.required("id"));
    WEFT_ASSIGN(const std::string routing, e.required("routing"));
    const std::string way = lower(routing);
    std::unique_ptr<Zone> zone;
    bool routed = true;
    if (way == "full" || way == "none") {
      zone = std::make_unique<FullZone>();
    } else if (way == "floyd") {
      zone = std::make_unique<FloydZone>();
    } else if (way == "dijkstra" || way == "dijkstracache") {
      zone = std::make_unique<DijkstraZone>();
    } else if (way == "cluster" || way == "star") {
      zone = std::make_unique<StarZone>();
      routed = false;
    } else if (way == "vivaldi" || way == "wifi") {
      Error no = not_supported(fmt::format("a netzone with routing=\"{}\"", routing));
      no.where = e.place();
      return no;
    } else {
      return bad_input(e.place(), "routing of a netzone", routing,
                       "Full, Floyd, Dijkstra, DijkstraCache, Cluster or None");
    }
    const auto number = static_cast<std::uint32_t>(net_.zones.size());
    WEFT_TRY(add_zone(std::move(zone), id, parent, e));
    if (routed) routed_.emplace_back(number, e.place());
    std::optional<std::uint32_t> backbone;
    WEFT_TRY(e.each([&](const XmlElement& child) -> Result<void> {
      if (child.name() != "backbone") return {};
      if (routed || backbone)
        return bad_input(child.place(), "a backbone", {}, "one, in a netzone of routing=\"Cluster\"");
      WEFT_ASSIGN(const Halves made, read_link(child));
      backbone = made.up;
      return {};
    }));
    return e.each([&](const XmlElement& child) { return read_member(child, number, routed, backbone); });
  }

  Result<void> read_member(const XmlElement& e, std::uint32_t zone, bool routed,
                           std::optional<std::uint32_t> backbone) {
    const std::string_view name = e.name();
    if (name == "prop" || name == "backbone") return {};
    if (is_zone(e)) return read_zone(e, zone);
    if (name == "cluster") return read_cluster(e, zone);
    if (name == "host") return read_host(e, zone);
    if (name == "link") {
      WEFT_ASSIGN(const Halves made, read_link(e));
      (void)made;
      return {};
    }
    if (name == "router") {
      WEFT_ASSIGN(const std::string id, e.required("id"));
      WEFT_ASSIGN(const std::uint32_t point, add_point(id, PointKind::kRouter, zone, 0, e));
      (void)point;
      return {};
    }
    if (name == "cabinet" || name == "host_link") {
      if (routed)
        return bad_input(e.place(), fmt::format("<{}> outside of a cluster", name), {},
                         "a netzone of routing=\"Cluster\"");
      if (name == "cabinet") return read_cabinet(e, zone, backbone);
      routes_.push_back({zone, e, backbone});
      return {};
    }
    for (const std::string_view route :
         {"route", "zoneRoute", "ASroute", "bypassRoute", "bypassZoneRoute", "bypassASroute"})
      if (name == route) {
        routes_.push_back({zone, e, {}});
        return {};
      }
    return other(e, "host, router, link, cluster, zone, route, zoneRoute...");
  }

  Result<void> read_host(const XmlElement& e, std::uint32_t zone) {
    WEFT_TRY(constant(e, {"speed_file", "availability_file", "state_file"}));
    WEFT_TRY(check_cores(e));
    WEFT_ASSIGN(const std::string id, e.required("id"));
    WEFT_ASSIGN(const std::string text, e.required("speed"));
    WEFT_ASSIGN(const std::vector<double> speeds, flops_per_second(text, e.place()));
    const std::string state = value_of(e, "pstate", "0");
    const double pstate = whole_number(state).value_or(-1);
    if (!(pstate >= 0) || pstate >= static_cast<double>(speeds.size()))
      return bad_input(e.place(), "pstate", state,
                       fmt::format("the number of one of {} speeds", speeds.size()));
    const double speed = speeds[static_cast<std::size_t>(pstate)];
    if (speed == 0) return bad_input(e.place(), "a host that does not compute", text, "a speed above 0");
    WEFT_ASSIGN(const std::uint32_t number, add_host(id, speed, zone, e));
    (void)number;
    return {};
  }

  Result<Halves> read_link(const XmlElement& e) {
    WEFT_TRY(constant(e, {"bandwidth_file", "latency_file", "state_file"}));
    WEFT_ASSIGN(const std::string id, e.required("id"));
    WEFT_ASSIGN(const std::string bandwidth, e.required("bandwidth"));
    WEFT_ASSIGN(const Sharing sharing, sharing_of(e, "sharing_policy", Sharing::kShared));
    WEFT_ASSIGN(const double bytes_per_s, bytes_per_second(bandwidth, e.place()));
    WEFT_ASSIGN(const double latency_s, seconds(value_of(e, "latency", "0"), e.place()));
    return add_links(id, bytes_per_s, latency_s, sharing, e);
  }

  Result<std::vector<std::string>> names_of(const XmlElement& e, std::vector<std::int64_t>& radicals) {
    WEFT_ASSIGN(const std::string radical, e.required("radical"));
    WEFT_ASSIGN(radicals, numbers(radical, kMostHosts - net_.hosts.size(), e.place()));
    std::vector<std::string> out;
    out.reserve(radicals.size());
    for (const std::int64_t n : radicals)
      out.push_back(fmt::format("{}{}{}", value_of(e, "prefix"), n, value_of(e, "suffix")));
    return out;
  }

  [[nodiscard]] StarZone& star(std::uint32_t zone) { return static_cast<StarZone&>(*net_.zones[zone]); }

  Result<void> read_cabinet(const XmlElement& e, std::uint32_t zone, std::optional<std::uint32_t> backbone) {
    std::vector<std::int64_t> radicals;
    WEFT_ASSIGN(const std::vector<std::string> hosts, names_of(e, radicals));
    WEFT_ASSIGN(const double bytes_per_s, required_bandwidth(e, "bw"));
    WEFT_ASSIGN(const double latency_s, required_latency(e, "lat"));
    WEFT_ASSIGN(const double speed, required_speed(e));
    for (const std::string& host : hosts) {
      WEFT_ASSIGN(const std::uint32_t number, add_host(host, speed, zone, e));
      WEFT_ASSIGN(const Halves halves, add_links("link_" + host, bytes_per_s, latency_s, Sharing::kSplit, e));
      star(zone).join(number, halves.up, halves.down, backbone);
    }
    return {};
  }
  static Result<double> required_bandwidth(const XmlElement& e, const char* name) {
    WEFT_ASSIGN(const std::string text, e.required(name));
    return bytes_per_second(text, e.place());
  }
  // 0: there is none, as in SimGrid.
  static Result<double> optional_bandwidth(const XmlElement& e, const char* name) {
    return bytes_per_second_or_0(value_of(e, name, "0"), e.place(), name);
  }
  static Result<double> required_latency(const XmlElement& e, const char* name) {
    WEFT_ASSIGN(const std::string text, e.required(name));
    return seconds(text, e.place());
  }
  static Result<double> required_speed(const XmlElement& e) {
    WEFT_ASSIGN(const std::string text, e.required("speed"));
    WEFT_ASSIGN(const std::vector<double> speeds, flops_per_second(text, e.place()));
    if (speeds.front() == 0)
      return bad_input(e.place(), "hosts that do not compute", text, "a speed above 0");
    return speeds.front();
  }

  Result<void> read_cluster(const XmlElement& e, std::uint32_t parent) {
    WEFT_ASSIGN(const std::string id, e.required("id"));
    std::vector<std::int64_t> radicals;
    WEFT_ASSIGN(const std::vector<std::string> hosts, names_of(e, radicals));
    WEFT_ASSIGN(const double speed, required_speed(e));
    WEFT_TRY(check_cores(e));
    WEFT_TRY(optional_bandwidth(e, "loopback_bw"));
    if (const std::string loopback = value_of(e, "loopback_lat"); !loopback.empty())
      WEFT_TRY(seconds(loopback, e.place()));
    ClusterLinks links;
    WEFT_ASSIGN(links.bytes_per_s, required_bandwidth(e, "bw"));
    WEFT_ASSIGN(links.latency_s, required_latency(e, "lat"));
    WEFT_ASSIGN(const Sharing sharing, sharing_of(e, "sharing_policy", Sharing::kSplit));
    links.split_duplex = sharing == Sharing::kSplit;
    links.fatpipe = sharing == Sharing::kFatpipe;
    WEFT_ASSIGN(links.limiter, optional_bandwidth(e, "limiter_link"));
    const std::string topology = value_of(e, "topology", "FLAT");
    const std::string parameters = value_of(e, "topo_parameters");
    const std::size_t first_link = net_.links.size();
    std::unique_ptr<Zone> zone;
    if (topology == "FAT_TREE") {
      WEFT_ASSIGN(zone, fat_tree_zone(parameters, hosts.size(), id, links, e.place(), net_, counts_));
    } else if (topology == "TORUS") {
      WEFT_ASSIGN(zone, torus_zone(parameters, hosts.size(), id, links, e.place(), net_));
    } else if (topology == "DRAGONFLY") {
      WEFT_ASSIGN(zone, dragonfly_zone(parameters, hosts.size(), id, links, e.place(), net_, counts_));
    } else if (topology == "FLAT") {
      return read_flat_cluster(e, parent, id, hosts, radicals, speed, links);
    } else {
      return bad_input(e.place(), "topology of a cluster", topology, "FLAT, FAT_TREE, TORUS or DRAGONFLY");
    }
    for (std::size_t l = first_link; l < net_.links.size(); ++l)
      if (!names_.links.emplace(net_.links[l].name, static_cast<std::uint32_t>(l)).second)
        return bad_input(e.place(), "two links of one name", net_.links[l].name, "each name once");
    const auto number = static_cast<std::uint32_t>(net_.zones.size());
    WEFT_TRY(add_zone(std::move(zone), id, parent, e));
    for (const std::string& host : hosts) {
      WEFT_ASSIGN(const std::uint32_t member, add_host(host, speed, number, e));
      (void)member;
    }
    return {};
  }

  Result<void> read_flat_cluster(const XmlElement& e, std::uint32_t parent, const std::string& id,
                                 const std::vector<std::string>& hosts,
                                 const std::vector<std::int64_t>& radicals, double speed,
                                 const ClusterLinks& links) {
    const auto number = static_cast<std::uint32_t>(net_.zones.size());
    WEFT_TRY(add_zone(std::make_unique<StarZone>(), id, parent, e));
    std::optional<std::uint32_t> backbone;
    WEFT_ASSIGN(const double bytes_per_s, optional_bandwidth(e, "bb_bw"));
    WEFT_ASSIGN(const double bb_latency, seconds(value_of(e, "bb_lat", "0"), e.place()));
    WEFT_ASSIGN(const Sharing bb, sharing_of(e, "bb_sharing_policy", Sharing::kShared));
    if (bb == Sharing::kSplit)
      return bad_input(e.place(), "bb_sharing_policy", value_of(e, "bb_sharing_policy"), "SHARED or FATPIPE");
    if (bytes_per_s > 0 || bb_latency > 0) {
      if (bytes_per_s == 0)
        return bad_input(e.place(), "a backbone that has a latency and no bandwidth", value_of(e, "bb_bw"),
                         "a bandwidth in bb_bw");
      WEFT_ASSIGN(const std::uint32_t made,
                  add_link({id + "_backbone", bytes_per_s, bb_latency, bb == Sharing::kFatpipe, true}, e));
      backbone = made;
    }
    const Sharing sharing = links.split_duplex ? Sharing::kSplit
                            : links.fatpipe    ? Sharing::kFatpipe
                                               : Sharing::kShared;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      WEFT_ASSIGN(const std::uint32_t member, add_host(hosts[i], speed, number, e));
      const std::string link = fmt::format("{}_link_{}", id, radicals[i]);
      std::optional<std::uint32_t> limiter;
      if (links.limiter > 0) {
        WEFT_ASSIGN(const std::uint32_t made,
                    add_link({link + "_limiter", links.limiter, 0, false, true}, e));
        limiter = made;
      }
      WEFT_ASSIGN(const Halves halves, add_links(link, links.bytes_per_s, links.latency_s, sharing, e));
      star(number).join(member, halves.up, halves.down, backbone);
      if (!limiter) continue;
      StarZone::Ways& ways = star(number).of(member);
      ways.up.insert(ways.up.begin(), *limiter);
      ways.down.push_back(*limiter);
    }
    std::string router = value_of(e, "router_id");
    if (router.empty())
      router = fmt::format("{}{}_router{}", value_of(e, "prefix"), id, value_of(e, "suffix"));
    WEFT_ASSIGN(const std::uint32_t point, add_point(router, PointKind::kRouter, number, 0, e));
    (void)point;
    return {};
  }

  Network& net_;
  Names names_;
  std::vector<Told> routes_;
  std::vector<std::pair<std::uint32_t, std::string>> routed_;  // zones, and where they stand
  ClusterCounts counts_;
  std::vector<std::string> config_;
  std::uint64_t actors_ = 0;
};

}  // namespace

Result<std::unique_ptr<Network>> read_platform(const std::string& path) {
  WEFT_ASSIGN(std::string text, read_text(path, kMostBytes));
  WEFT_ASSIGN(const auto xml,
              XmlText::read(path, std::move(text), "a SimGrid platform: <platform version=\"4.1\">"));
  WEFT_ASSIGN(const XmlElement platform, xml->root("platform"));
  auto net = std::make_unique<Network>();
  WEFT_TRY(Reader(*net).read(platform));
  net->find_untold_ways();
  return net;
}

}  // namespace weft::topology::simgrid
