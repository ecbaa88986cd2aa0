// A Cray Cascade: routers (blades) in chassis, chassis in groups; green links within a chassis, black ones between chassis, one blue link
// between two groups, at the router of each that is numbered as the other. Minimal routes: green, black, blue, green, black.
//
// SimGrid (3.32 to 4.1) goes on from a green link as if it had led to the first chassis: between blades of one chassis that is not the first it takes
// a black link behind it that does not begin there, between two such chassis a black link of the first one. Here the route is a walk.
#include <fmt/format.h>

#include "topology/fabric_builder.hpp"
#include "topology/platform/params.hpp"
#include "topology/simgrid/cluster_zones.hpp"

namespace weft::topology::simgrid {
namespace {

struct DragonflyShape {
  std::uint32_t groups = 1, blue = 1;
  std::uint32_t chassis = 1, black = 1;  // of a group
  std::uint32_t blades = 1, green = 1;   // of a chassis
  std::uint32_t nodes = 1;               // of a blade
  [[nodiscard]] std::uint32_t routers() const { return groups * chassis * blades; }
};

class DragonflyZone final : public Zone {
 public:
  explicit DragonflyZone(DragonflyShape shape) : s_(shape), routers_(shape.routers()) {}

  void build(const std::string& cluster, const ClusterLinks& links, Network& net, ClusterCounts& counts) {
    const auto cable = [&](std::string of, double times) {
      return add_duplex(net, fmt::format("{}_{}", of, counts.dragonfly_links++), links, times);
    };
    const std::uint64_t hosts = std::uint64_t{s_.routers()} * s_.nodes;
    for (std::uint64_t h = 0; h < hosts; ++h) limiter_.push_back(add_limiter(net, cluster, h, links));
    // SimGrid numbers the limiters of switches down from twice the hosts.
    for (std::uint32_t r = 0; r < s_.routers(); ++r) {
      routers_[r].limiter = add_limiter(net, cluster, 2 * hosts - 1 - r, links);
      routers_[r].green.resize(s_.blades);
      routers_[r].black.resize(s_.chassis);
    }
    for (std::uint32_t r = 0; r < s_.routers(); ++r)
      for (std::uint32_t n = 0; n < s_.nodes; ++n)
        routers_[r].nodes.push_back(cable(fmt::format("local_link_from_router_{}_to_node_{}", r, n), 1));
    for (std::uint32_t c = 0; c < s_.groups * s_.chassis; ++c)
      for (std::uint32_t j = 0; j < s_.blades; ++j)
        for (std::uint32_t k = j + 1; k < s_.blades; ++k) {
          const Halves d =
              cable(fmt::format("green_link_in_chassis_{}_between_routers_{}_and_{}", c % s_.chassis, j, k),
                    s_.green);
          routers_[c * s_.blades + j].green[k] = d.up;
          routers_[c * s_.blades + k].green[j] = d.down;
        }
    for (std::uint32_t g = 0; g < s_.groups; ++g)
      for (std::uint32_t j = 0; j < s_.chassis; ++j)
        for (std::uint32_t k = j + 1; k < s_.chassis; ++k)
          for (std::uint32_t b = 0; b < s_.blades; ++b) {
            const Halves d =
                cable(fmt::format("black_link_in_group_{}_between_chassis_{}_and_{}_blade_{}", g, j, k, b),
                      s_.black);
            routers_[router(g, j, b)].black[k] = d.up;
            routers_[router(g, k, b)].black[j] = d.down;
          }
    for (std::uint32_t i = 0; i < s_.groups; ++i)
      for (std::uint32_t j = i + 1; j < s_.groups; ++j) {
        const std::uint32_t a = router(i, 0, j), b = router(j, 0, i);
        const Halves d =
            cable(fmt::format("blue_link_between_group_{}_and_{}_routers_{}_and_{}", i, j, a, b), s_.blue);
        routers_[a].blue = d.up;
        routers_[b].blue = d.down;
      }
  }

  bool leg(const Network& /*net*/, std::uint32_t src, std::uint32_t dst, Leg& out) const override {
    if (src >= limiter_.size() || dst >= limiter_.size()) return false;
    const auto take = [&](std::uint32_t link) {
      if (link != kNone) out.links.push_back(link);
    };
    const std::uint32_t to = dst / s_.nodes;
    const std::uint32_t to_group = to / (s_.chassis * s_.blades), to_chassis = to / s_.blades % s_.chassis,
                        to_blade = to % s_.blades;
    std::uint32_t at = src / s_.nodes;
    take(limiter_[src]);
    take(routers_[at].nodes[src % s_.nodes].up);
    if (const std::uint32_t group = at / (s_.chassis * s_.blades); group != to_group) {
      const std::uint32_t chassis = at / s_.blades % s_.chassis;
      if (at % s_.blades != to_group) {
        take(routers_[at].limiter);
        take(routers_[at].green[to_group]);
        at = router(group, chassis, to_group);
      }
      if (chassis != 0) {
        take(routers_[at].limiter);
        take(routers_[at].black[0]);
        at = router(group, 0, to_group);
      }
      take(routers_[at].blue);
      take(routers_[at].limiter);
      at = router(to_group, 0, group);
    }
    if (at % s_.blades != to_blade) {
      take(routers_[at].limiter);
      take(routers_[at].green[to_blade]);
      at = router(to_group, at / s_.blades % s_.chassis, to_blade);
    }
    if (at / s_.blades % s_.chassis != to_chassis) {
      take(routers_[at].limiter);
      take(routers_[at].black[to_chassis]);
    }
    take(routers_[to].limiter);
    take(routers_[to].nodes[dst % s_.nodes].down);
    take(limiter_[dst]);
    return true;
  }

  void walk(const Network& net, Places& places) const override {
    // A switch's limiter is in front of what leaves it and behind what comes over a blue link: whole routes have them.
    if (limiter_[0] != kNone) return walk_routes(net, places);
    std::vector<std::uint32_t> place(routers_.size());
    for (std::uint32_t& p : place) p = places.add();
    const auto cross = [&](std::uint32_t from, std::uint32_t to, std::uint32_t link) {
      places.walk(from, to, {{link}});
    };
    for (std::uint32_t r = 0; r < s_.routers(); ++r) {
      const Router& from = routers_[r];
      const std::uint32_t group = r / (s_.chassis * s_.blades), chassis = r / s_.blades % s_.chassis,
                          blade = r % s_.blades;
      for (std::uint32_t n = 0; n < s_.nodes; ++n) {
        cross(members[r * s_.nodes + n], place[r], from.nodes[n].up);
        cross(place[r], members[r * s_.nodes + n], from.nodes[n].down);
      }
      for (std::uint32_t b = 0; b < s_.blades; ++b)
        if (b != blade) cross(place[r], place[router(group, chassis, b)], from.green[b]);
      for (std::uint32_t c = 0; c < s_.chassis; ++c)
        if (c != chassis) cross(place[r], place[router(group, c, blade)], from.black[c]);
      if (from.blue != kNone) cross(place[r], place[router(blade, 0, group)], from.blue);
    }
  }

 private:
  void walk_routes(const Network& net, Places& places) const {
    for (std::uint32_t h = 1; h < limiter_.size(); ++h)
      for (const auto& [src, dst] : {std::pair(0u, h), std::pair(h, 0u)}) {
        Leg route;
        (void)leg(net, src, dst, route);
        places.walk(members[src], members[dst], route.links);
      }
  }

  struct Router {
    std::vector<Halves> nodes;
    std::vector<std::uint32_t> green, black;  // by blade, by chassis
    std::uint32_t blue = kNone;
    std::uint32_t limiter = kNone;
  };
  [[nodiscard]] std::uint32_t router(std::uint32_t group, std::uint32_t chassis, std::uint32_t blade) const {
    return (group * s_.chassis + chassis) * s_.blades + blade;
  }

  DragonflyShape s_;
  std::vector<Router> routers_;
  std::vector<std::uint32_t> limiter_;  // by host
};

}  // namespace

Result<std::unique_ptr<Zone>> dragonfly_zone(const std::string& parameters, std::uint64_t hosts,
                                             const std::string& name, const ClusterLinks& links,
                                             const std::string& where, Network& net, ClusterCounts& counts) {
  const auto parts = split(parameters, ';');
  if (parts.size() != 4)
    return bad_input(where, "topo_parameters of a dragonfly", parameters,
                     "GROUPS,CABLES;CHASSIS,CABLES;ROUTERS,CABLES;NODES");
  DragonflyShape s;
  for (const auto& [part, count, cables] :
       {std::tuple(parts[0], &s.groups, &s.blue), std::tuple(parts[1], &s.chassis, &s.black),
        std::tuple(parts[2], &s.blades, &s.green)}) {
    WEFT_ASSIGN(const auto both, shape(part, 2, where));
    *count = both[0];
    *cables = both[1];
  }
  WEFT_ASSIGN(const auto nodes, shape(parts[3], 1, where));
  s.nodes = nodes[0];
  const std::uint64_t routers = saturating_mul(s.groups, saturating_mul(s.chassis, std::uint64_t{s.blades}));
  WEFT_TRY(check_hosts(saturating_mul(routers, s.nodes), hosts, where));
  // Hosts are at most kMostHosts, so the sum of what each router has fits.
  const std::uint64_t of_router = std::uint64_t{s.nodes} + s.blades / 2 + s.chassis / 2;
  WEFT_TRY(check_shape(routers, saturating_mul(routers, of_router), where));
  // A group's way to group g begins at its router g in its first chassis.
  if (s.groups > s.blades)
    return bad_input(where, "more groups than routers in a chassis", parameters,
                     fmt::format("at most {} groups", s.blades));
  auto zone = std::make_unique<DragonflyZone>(s);
  zone->build(name, links, net, counts);
  return std::unique_ptr<Zone>(std::move(zone));
}

}  // namespace weft::topology::simgrid
