// Groups of routers joined by global cables: what dragonfly, Aries and Dragonfly+ share. A group's inside is a
// LocalNetwork (clique, Aries' two dimensions, leaves and spines); the global cables are a list of gates per ordered
// pair of groups.
//
// Routings (Kim, Dally, Scott and Abts, ISCA 2008):
//   minimal   local - global - local with one global cable. Of several cables of a pair those with the fewest local
//             hops are candidates, over which each source's destinations are dealt, from a hash on. Two global cables
//             can be a shorter walk; minimal does not take it.
//   valiant   drawn for every message: minimal to a random third group, minimal from where it arrives there; within a
//             group over a random third router. Fewer than three groups (routers): minimal. Loops are cut out.
//   ugal-u    two minimal and two Valiant candidates drawn for every message; the one with the smallest
//             (most used link's messages per bandwidth) x (router hops) is taken, if equal the first minimal one, whose
//             global cable goes by the destination's number. What is known is the use of every link at the start of the
//             message, not queues: neither UGAL-L nor UGAL-G, hence the U.
#pragma once

#include <array>
#include <boost/container/static_vector.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "topology/fabric_builder.hpp"
#include "topology/platform/params.hpp"

namespace weft::topology {

enum class GroupWay : std::uint8_t { kMinimal, kValiant, kUgal };
inline constexpr std::array<Word<GroupWay>, 4> kGroupRoutings = {{{"minimal", GroupWay::kMinimal},
                                                                  {"valiant", GroupWay::kValiant},
                                                                  {"ugal-u", GroupWay::kUgal},
                                                                  {"ugal", GroupWay::kUgal}}};

// One step between routers, by their numbers in the whole network; `port` of `from`.
struct RouterHop {
  std::uint64_t from, port, to;
};
using RouterWalk = boost::container::static_vector<RouterHop, 24>;

// The inside of a group. Routers 0..a-1.
class LocalNetwork {
 public:
  virtual ~LocalNetwork() = default;
  [[nodiscard]] virtual std::uint32_t distance(std::uint64_t i, std::uint64_t j) const = 0;
  // Appends a shortest walk from router i to j of the group whose router 0 is `base`; `key` picks one of several.
  virtual void walk(std::uint64_t base, std::uint64_t i, std::uint64_t j, std::uint64_t key,
                    RouterWalk& out) const = 0;
};

// All routers of a group joined with each other; router i's port to j is `first_port` + (j < i ? j : j - 1).
class Clique final : public LocalNetwork {
 public:
  explicit Clique(std::uint64_t first_port) : first_port_(first_port) {}
  std::uint32_t distance(std::uint64_t i, std::uint64_t j) const override { return i == j ? 0 : 1; }
  void walk(std::uint64_t base, std::uint64_t i, std::uint64_t j, std::uint64_t,
            RouterWalk& out) const override {
    if (i != j) out.push_back({base + i, first_port_ + (j < i ? j : j - 1), base + j});
  }

 private:
  std::uint64_t first_port_;
};

struct GroupShape {
  std::uint64_t p = 1;         // hosts on each of the first `hosted` routers of a group
  std::uint64_t a = 1;         // routers per group
  std::uint64_t hosted = 1;    // of them with hosts
  std::uint64_t g = 1;         // groups
  std::uint64_t per_pair = 0;  // global cables between two groups
  [[nodiscard]] std::uint64_t routers() const { return a * g; }
  [[nodiscard]] std::uint64_t hosts() const { return p * hosted * g; }
  // Router of a host, in the whole network.
  [[nodiscard]] std::uint64_t router_of(std::uint64_t host) const {
    const std::uint64_t n = host / p;
    return n / hosted * a + n % hosted;
  }
};

// Cables of the better of two equal cuts, counted in `built` (hosts are vertices 0..hosts-1, router r is hosts + r):
// between halves of the groups, an odd one halved inside, and through the middle of every group. `order`: the hosted
// routers of a group, one half of it first. Where a router's hosts have to be parted their cables count. nullopt: fewer
// than two hosts. O(links).
[[nodiscard]] std::optional<std::uint64_t> group_cut(const FabricBuilder& built, const GroupShape& shape,
                                                     std::span<const std::uint32_t> order);

class GroupRouting final : public Routing {
 public:
  struct Gate {
    std::uint32_t router, far_router;  // within their groups
    std::uint32_t port;                // of `router`
  };
  // `gates`: cable c of the ordered group pair (u, v) stands at (u g + v) per_pair + c. `first_link`: of each router,
  // whose ports are its hosts first.
  GroupRouting(GroupShape shape, std::unique_ptr<const LocalNetwork> local,
               std::vector<std::uint32_t> first_link, std::vector<Gate> gates, GroupWay way,
               std::uint64_t seed);

  // Capacities of the finished fabric, which ugal-u weighs use by; call once before use.
  void set_capacity(std::vector<double> capacity) { capacity_ = std::move(capacity); }

  bool route(HostId src, HostId dst, std::vector<LinkId>& out) const override;
  bool route_message(HostId src, HostId dst, std::uint64_t message, const LinkLoad& load,
                     std::vector<LinkId>& out) const override;
  RouteScope scope() const override;
  std::string_view name() const override { return text_of(kGroupRoutings, way_); }
  std::optional<HopHistogram> hop_histogram() const override;

 private:
  // Which of several equal cables: `number` modulo how many, or dealt over them under a key (choice.hpp).
  struct Pick {
    std::uint64_t number;
    std::optional<std::uint64_t> key = std::nullopt;
    [[nodiscard]] std::uint64_t of(std::uint64_t n) const;
  };
  [[nodiscard]] const Gate& choose(std::uint64_t u, std::uint64_t v, std::uint64_t i, std::uint64_t j,
                                   Pick pick) const;
  void minimal(std::uint64_t src, std::uint64_t dst, Pick pick, std::uint64_t key, RouterWalk& out) const;
  void valiant(std::uint64_t src, std::uint64_t dst, std::uint64_t key, RouterWalk& out) const;
  [[nodiscard]] double cost(const RouterWalk& walk, const LinkLoad& load) const;
  void write(HostId src, HostId dst, const RouterWalk& walk, std::vector<LinkId>& out) const;
  [[nodiscard]] LinkId link(const RouterHop& h) const {
    return LinkId(static_cast<std::uint32_t>(first_link_[h.from] + h.port));
  }

  GroupShape s_;
  std::unique_ptr<const LocalNetwork> local_;
  std::vector<std::uint32_t> first_link_;
  std::vector<Gate> gates_;
  std::vector<double> capacity_;  // of every link; empty: all alike
  GroupWay way_;
  std::uint64_t seed_;
};

}  // namespace weft::topology
