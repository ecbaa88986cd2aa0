// Network: what a SimGrid platform says of links and routes: netzones, the points in them, links, and which links are
// between two points.
//
// A point is a host, a router or a netzone. A netzone knows the *leg* between two points that are directly in it: links, and, where
// a point is a netzone, the *gateway*, a host or router in it, where the leg begins or ends. A route is put together from legs: that
// of the lowest netzone that holds both ends, before it the route from the source to its first gateway, behind it the route from
// the second gateway to the destination; where a bypass is told for two netzones that hold the ends, it takes the place of the leg
// (SimGrid: "Routing", "Bypassing"; checked against the routes of SimGrid 3.32, docs/validation.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topology/graphs/wiring.hpp"

namespace weft::topology::simgrid {

inline constexpr std::uint32_t kNone = ~0u;

enum class PointKind : std::uint8_t { kHost, kRouter, kZone };

struct Point {
  std::string name;
  PointKind kind = PointKind::kHost;
  std::uint32_t zone = kNone;  // directly in it; kNone: the outermost one
  std::uint32_t number = 0;    // in `zone`, from 0
  std::uint32_t is = 0;        // of all hosts, or of all zones, the number
};

struct Link {
  std::string name;
  double bytes_per_s = 0;
  double latency_s = 0;
  bool fatpipe = false;
  bool two_way = false;  // shared by both directions
};

struct Leg {
  std::vector<std::uint32_t> links;
  std::uint32_t begins = kNone, ends = kNone;  // gateways; kNone: at the points themselves
};

// What the legs of a zone cross, for who wants to know what links join: routes between places, which are points and, from
// `points` on, places that have no name.
class Places {
 public:
  explicit Places(std::uint32_t points) : next_(points) {}
  [[nodiscard]] std::uint32_t add() { return next_++; }
  [[nodiscard]] std::uint32_t count() const { return next_; }
  void walk(std::uint32_t from, std::uint32_t to, std::span<const std::uint32_t> links) {
    const auto begin = static_cast<std::uint32_t>(used.size());
    used.insert(used.end(), links.begin(), links.end());
    routes.push_back({from, to, begin, static_cast<std::uint32_t>(used.size())});
  }
  std::vector<RoutesWalked::Route> routes;
  std::vector<std::uint32_t> used;

 private:
  std::uint32_t next_;
};

class Network;

// The two links of one that is split; twice the same where it is not.
struct Halves {
  std::uint32_t up = kNone, down = kNone;
};

// Netzones, by how they find legs; thread-safe once they are complete.
class Zone {
 public:
  virtual ~Zone() = default;
  // From member `src` to member `dst` of it, numbers of points in it, not the same. False: there is no way.
  [[nodiscard]] virtual bool leg(const Network& net, std::uint32_t src, std::uint32_t dst,
                                 Leg& out) const = 0;
  // True: the file does not tell that leg, and it has no links.
  [[nodiscard]] virtual bool is_untold(std::uint32_t /*src*/, std::uint32_t /*dst*/) const { return false; }
  virtual void walk(const Network& net, Places& places) const = 0;
  // True: some leg may take a link twice, or one that another leg of the zone takes: whole routes are to be looked at.
  [[nodiscard]] virtual bool may_repeat() const { return false; }

  std::string name;
  std::uint32_t parent = kNone;        // zone
  std::uint32_t point = kNone;         // that it is in its parent
  std::vector<std::uint32_t> members;  // points
  struct Bypass {
    std::vector<std::uint32_t> links;
    std::uint32_t begins = kNone, ends = kNone;  // gateways; kNone: between hosts or routers
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, Bypass> bypasses;  // by points
};

class Network {
 public:
  std::vector<Point> points;
  std::vector<Link> links;
  std::vector<std::unique_ptr<Zone>> zones;
  std::vector<std::uint32_t> hosts;  // points
  std::vector<double> speed;         // flop/s, by host
  bool hosts_pass_on = false;        // messages of others
  // Hosts or routers where routes from their netzone, or a smaller one, go out of it, and where they come in; any number of times.
  std::vector<std::uint32_t> gateways_out, gateways_in;
  // Some way to a gateway or from one has no links, as the file does not tell it.
  bool ways_are_untold = false;
  // What the file says and nobody reads, or does not say, one sentence each.
  std::vector<std::string> warnings;

  // Appends the links from one host or router to another. False: there is no route. True and no links: none between hosts, but
  // from a host to a gateway, or back. O(depth of the zones, links), and what their legs cost.
  [[nodiscard]] bool route(std::uint32_t src, std::uint32_t dst, std::vector<std::uint32_t>& out) const;
  // The same between gateways.
  [[nodiscard]] bool route_if_apart(std::uint32_t src, std::uint32_t dst,
                                    std::vector<std::uint32_t>& out) const {
    return src == dst || route(src, dst, out);
  }
  // Sets ways_are_untold and warns, once all is read. O(members of netzones x gateways in them).
  void find_untold_ways();

 private:
  struct Ancestors {
    std::uint32_t common, of_src, of_dst;  // zones
  };
  // From the zone that a point is in to the outermost one.
  [[nodiscard]] std::vector<std::uint32_t> zones_around(std::uint32_t point) const;
  [[nodiscard]] const Zone::Bypass* bypass_of(const Zone& common, std::uint32_t src, std::uint32_t dst,
                                              std::pair<std::uint32_t, std::uint32_t>& ends) const;
};

}  // namespace weft::topology::simgrid
