// Cray Cascade with Aries routers (Faanes et al., SC 2012): groups of 96 routers, 6 chassis of 16 blades. Green: the 16
// blades of a chassis joined with each other (15 ports); black: the blades of one slot in the 6 chassis, three parallel
// cables each (15 ports); blue: 10 global ports; four nodes. 960 blue ports per group: four per pair of groups make 241
// groups, 23,136 routers, 92,544 nodes.
//
// Router number in a group = 16 chassis + slot. Router ports: its nodes, green, black (15 = 5 x 3), blue. A group deals
// its targets, `blue` cables each, round-robin over its routers, so that their numbers of cables differ by one at most
// (PPT's consecutive_aries leaves routers idle below 241 groups).
//
// Defaults, quiet network: 100 ns from router to router and 0.4 us at each end, so that the longest minimal route (5
// cables) takes the published 1.3 us; 5.25 GB/s green and black, 4.7 GB/s blue, injection 10.2 GB/s (64 B every 5
// cycles at 800 MHz), all per direction. Two steps inside a group may go green first or black first, and over any of
// the three black cables: a hash of the pair (minimal) or of the message picks. Routings: groups.hpp.
#include <fmt/format.h>

#include "topology/families/groups.hpp"
#include "topology/registry.hpp"
#include "topology/routing/choice.hpp"

namespace weft::topology::family_aries {
namespace {

constexpr std::string_view kBandwidth = "10.2GB/sx5.25GB/sx5.25GB/sx4.7GB/s";
constexpr std::string_view kLatency = "400nsx100nsx100nsx100ns";
constexpr std::array<ParamInfo, 6> kParams = {{
    {"groups", "required", "groups of 96 routers"},
    {"blue", "960 / (groups - 1)", "global cables between two groups"},
    {"hosts_per_switch", "4", "nodes on a router"},
    {"bw", kBandwidth, "host, green, black, blue"},
    {"lat", kLatency, "host, green, black, blue"},
    kRoutingParam<kGroupRoutings>,
}};
constexpr std::uint64_t kSlots = 16, kChassis = 6, kRouters = kSlots * kChassis, kBlack = 3, kBluePorts = 10;

class AriesGroup final : public LocalNetwork {
 public:
  explicit AriesGroup(std::uint64_t hosts) : green_(hosts), black_(hosts + kSlots - 1) {}
  std::uint32_t distance(std::uint64_t i, std::uint64_t j) const override {
    return (i % kSlots != j % kSlots ? 1u : 0u) + (i / kSlots != j / kSlots ? 1u : 0u);
  }
  void walk(std::uint64_t base, std::uint64_t i, std::uint64_t j, std::uint64_t key,
            RouterWalk& out) const override {
    const std::uint64_t cable = mix_hash(key, 10) % kBlack;
    const bool black_first = mix_hash(key, 11) % 2 == 0;
    if (black_first) black(base, i, j, cable, out);
    green(base, i, j, out);
    if (!black_first) black(base, i, j, cable, out);
  }

 private:
  // Each step corrects one coordinate of i.
  void green(std::uint64_t base, std::uint64_t& i, std::uint64_t j, RouterWalk& out) const {
    const std::uint64_t own = i % kSlots, to = j % kSlots;
    if (own == to) return;
    out.push_back({base + i, green_ + (to < own ? to : to - 1), base + i - own + to});
    i = i - own + to;
  }
  void black(std::uint64_t base, std::uint64_t& i, std::uint64_t j, std::uint64_t cable,
             RouterWalk& out) const {
    const std::uint64_t own = i / kSlots, to = j / kSlots;
    if (own == to) return;
    const std::uint64_t next = to * kSlots + i % kSlots;
    out.push_back({base + i, black_ + (to < own ? to : to - 1) * kBlack + cable, base + next});
    i = next;
  }
  std::uint64_t green_, black_;  // first port of each
};

Result<Fabric> build(const Params& params) {
  GroupShape s;
  s.a = s.hosted = kRouters;
  const std::uint64_t ports = kRouters * kBluePorts;
  WEFT_ASSIGN(s.g, params.integer("groups", 1, static_cast<std::int64_t>(ports) + 1));
  WEFT_ASSIGN(s.p, params.integer_or("hosts_per_switch", 1, 1 << 16, 4));
  const std::uint64_t most = s.g > 1 ? ports / (s.g - 1) : 1;
  WEFT_ASSIGN(const std::uint64_t blue, params.integer_or("blue", 1, static_cast<std::int64_t>(most), most));
  s.per_pair = s.g > 1 ? blue : 0;
  WEFT_ASSIGN(const GroupWay routing, params.choice("routing", kGroupRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  constexpr std::array<std::string_view, 4> classes = {"host", "green", "black", "blue"};
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(classes, kBandwidth, kLatency));
  const std::uint64_t hosts = s.hosts(), routers = s.routers(), dealt = s.per_pair * (s.g - 1);
  const std::uint64_t cables =
      hosts + s.g * (kChassis * kSlots * (kSlots - 1) / 2 + kSlots * kBlack * kChassis * (kChassis - 1) / 2) +
      s.g * dealt / 2;
  WEFT_TRY(params.placed(check_size(hosts + routers, cables)));

  FabricBuilder b(hosts, hosts + routers, routers);
  for (const std::string_view c : classes) (void)b.add_class(std::string(c));
  b.set_group_classes(std::array<std::uint8_t, 1>{3});  // of one group, too
  b.reserve_cables(cables);
  for (std::uint64_t h = 0; h < hosts; ++h) b.cable(h, 0, hosts + s.router_of(h), h % s.p, 0, values[0]);
  const std::uint64_t green = s.p, black = green + kSlots - 1, base = black + kBlack * (kChassis - 1);
  for (std::uint64_t r = 0; r < routers; ++r) {
    const std::uint64_t slot = r % kSlots, chassis = r % kRouters / kSlots;
    for (std::uint64_t to = slot + 1; to < kSlots; ++to)
      b.cable(hosts + r, green + to - 1, hosts + r - slot + to, green + slot, 1, values[1]);
    for (std::uint64_t to = chassis + 1; to < kChassis; ++to)
      for (std::uint64_t c = 0; c < kBlack; ++c)
        b.cable(hosts + r, black + (to - 1) * kBlack + c, hosts + r + (to - chassis) * kSlots,
                black + chassis * kBlack + c, 2, values[2]);
  }
  std::vector<std::uint32_t> first(routers, 0);
  std::uint64_t next = hosts;
  for (std::uint64_t r = 0; r < routers; ++r) {
    first[r] = static_cast<std::uint32_t>(next);
    next += base + dealt / kRouters + (r % kRouters < dealt % kRouters ? 1 : 0);
  }
  std::vector<GroupRouting::Gate> gates(s.g * s.g * s.per_pair);
  for (std::uint64_t u = 0; u < s.g; ++u)
    for (std::uint64_t v = 0; v < s.g; ++v)
      for (std::uint64_t c = 0; u != v && c < s.per_pair; ++c) {
        const std::uint64_t x = (v < u ? v : v - 1) * s.per_pair + c,
                            y = (u < v ? u : u - 1) * s.per_pair + c;
        const std::uint64_t i = x % kRouters, j = y % kRouters;
        gates[(u * s.g + v) * s.per_pair + c] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j),
                                                 static_cast<std::uint32_t>(base + x / kRouters)};
        if (u < v)
          b.cable(hosts + u * kRouters + i, base + x / kRouters, hosts + v * kRouters + j,
                  base + y / kRouters, 3, values[3]);
      }
  // Halves of a group: of its slots (384 cables; of its chassis: 432).
  std::vector<std::uint32_t> order(kRouters);
  for (std::uint32_t i = 0; i < kRouters; ++i)
    order[i] = static_cast<std::uint32_t>(i % kChassis * kSlots + i / kChassis);
  b.set_bisection(group_cut(b, s, order));
  const auto made = std::make_shared<GroupRouting>(s, std::make_unique<AriesGroup>(s.p), std::move(first),
                                                   std::move(gates), routing, seed);
  b.set_routing(made);
  b.set_vertex_names([hosts](VertexId v) {
    if (v.index() < hosts) return fmt::format("node-{}", v.index());
    const std::uint64_t r = v.index() - hosts;
    return fmt::format("g{}c{}s{}", r / kRouters, r % kRouters / kSlots, r % kSlots);
  });
  Fabric fabric = b.build();
  made->set_capacity(fabric.links().capacity);
  return fabric;
}

}  // namespace

Family family() { return {kParams, build, "groups=2"}; }

}  // namespace weft::topology::family_aries
