// Dragonfly+ (Shpiner et al., HiPINEB 2017; Megafly): a group is a complete bipartite graph of leaves, which hold the
// hosts, and spines, which hold the global cables. With radix k: k/2 leaves, k/2 spines, k/2 hosts per leaf, k/2 global
// ports per spine, up to k^2/4 + 1 groups. Minimal route: leaf - spine - spine - leaf.
//
// Router number in a group: leaves, then spines. Leaf ports: hosts, spines; spine ports: leaves, global. A group deals
// its targets, `cables` each, round-robin over its spines in the order of the group after it; cable x of S h meets
// cable S h - 1 - x where g = S h + 1, so that spine i meets spine S - 1 - i (CODES' large generator). Routings:
// groups.hpp; two leaves (or spines) meet over a spine (leaf) that a hash picks.
#include <fmt/format.h>

#include <numeric>

#include "topology/families/groups.hpp"
#include "topology/registry.hpp"
#include "topology/routing/choice.hpp"

namespace weft::topology::family_dragonfly_plus {
namespace {

constexpr std::array<ParamInfo, 8> kParams = {{
    {"k", "none", "radix: sets p, leaves, spines and h to k/2"},
    {"p", "k/2", "hosts per leaf"},
    {"leaves", "k/2", "leaves per group"},
    {"spines", "k/2", "spines per group"},
    {"h", "k/2", "global ports per spine"},
    {"g", "spines h + 1", "groups"},
    {"cables", "spines h / (g - 1)", "global cables between two groups"},
    kRoutingParam<kGroupRoutings>,
}};

class LeafSpine final : public LocalNetwork {
 public:
  LeafSpine(std::uint64_t p, std::uint64_t leaves, std::uint64_t spines)
      : p_(p), leaves_(leaves), spines_(spines) {}
  std::uint32_t distance(std::uint64_t i, std::uint64_t j) const override {
    if (i == j) return 0;
    return (i < leaves_) == (j < leaves_) ? 2 : 1;
  }
  void walk(std::uint64_t base, std::uint64_t i, std::uint64_t j, std::uint64_t key,
            RouterWalk& out) const override {
    if (i == j) return;
    if ((i < leaves_) == (j < leaves_)) {
      const std::uint64_t pick = mix_hash(key, 10);
      const std::uint64_t over = i < leaves_ ? leaves_ + pick % spines_ : pick % leaves_;
      step(base, i, over, out);
      i = over;
    }
    step(base, i, j, out);
  }

 private:
  void step(std::uint64_t base, std::uint64_t i, std::uint64_t j, RouterWalk& out) const {
    out.push_back({base + i, i < leaves_ ? p_ + j - leaves_ : j, base + j});
  }
  std::uint64_t p_, leaves_, spines_;
};

Result<Fabric> build(const Params& params) {
  constexpr std::int64_t kTop = 1 << 20;
  std::uint64_t half = 0;
  if (params.has("k")) {
    WEFT_ASSIGN(const std::uint64_t k, params.integer("k", 2, kTop));
    if (k % 2 != 0) return params.error("k", "the radix must be even", "half of the ports on each side");
    half = k / 2;
  }
  const auto side = [&](std::string_view key) -> Result<std::uint64_t> {
    if (half == 0) return params.integer(key, 1, kTop);
    return params.integer_or(key, 1, kTop, half);
  };
  GroupShape s;
  if (params.has("hosts_per_switch") && !params.has("p")) {
    WEFT_ASSIGN(s.p, params.integer("hosts_per_switch", 1, kTop));
  } else {
    WEFT_ASSIGN(s.p, side("p"));
    WEFT_ASSIGN(const std::uint64_t per_switch, params.integer_or("hosts_per_switch", 1, kTop, s.p));
    if (per_switch != s.p) return params.error("hosts_per_switch", "it is p", fmt::format("{}", s.p));
  }
  WEFT_ASSIGN(const std::uint64_t leaves, side("leaves"));
  WEFT_ASSIGN(const std::uint64_t spines, side("spines"));
  WEFT_ASSIGN(const std::uint64_t h, side("h"));
  s.a = leaves + spines;
  s.hosted = leaves;
  const std::uint64_t ports = spines * h;
  WEFT_ASSIGN(s.g, params.integer_or("g", 1, static_cast<std::int64_t>(ports) + 1, ports + 1));
  const std::uint64_t most = s.g > 1 ? ports / (s.g - 1) : 1;
  WEFT_ASSIGN(const std::uint64_t cables_per_pair,
              params.integer_or("cables", 1, static_cast<std::int64_t>(most), most));
  s.per_pair = s.g > 1 ? cables_per_pair : 0;
  WEFT_ASSIGN(const GroupWay routing, params.choice("routing", kGroupRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  const std::uint64_t hosts = saturating_mul(saturating_mul(s.p, leaves), s.g),
                      routers = saturating_mul(s.a, s.g);
  const std::uint64_t dealt = s.per_pair * (s.g - 1);
  const std::uint64_t cables =
      hosts + saturating_mul(s.g, saturating_mul(leaves, spines)) + saturating_mul(s.g, dealt) / 2;
  WEFT_TRY(params.placed(check_size(hosts + routers, cables)));
  WEFT_TRY(params.placed(check_size(0, saturating_mul(saturating_mul(s.g, s.g), s.per_pair))));
  constexpr std::array<std::string_view, 3> classes = {"host", "local", "global"};
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(classes));

  FabricBuilder b(hosts, hosts + routers, routers);
  for (const std::string_view c : classes) (void)b.add_class(std::string(c));
  b.set_group_classes(std::array<std::uint8_t, 1>{2});  // of one group, too
  b.reserve_cables(cables);
  for (std::uint64_t n = 0; n < hosts; ++n) b.cable(n, 0, hosts + s.router_of(n), n % s.p, 0, values[0]);
  for (std::uint64_t u = 0; u < s.g; ++u)
    for (std::uint64_t i = 0; i < leaves; ++i)
      for (std::uint64_t j = 0; j < spines; ++j)
        b.cable(hosts + u * s.a + i, s.p + j, hosts + u * s.a + leaves + j, i, 1, values[1]);
  std::vector<std::uint32_t> first(routers, 0);
  std::uint64_t next = hosts;
  for (std::uint64_t r = 0; r < routers; ++r) {
    first[r] = static_cast<std::uint32_t>(next);
    const std::uint64_t i = r % s.a;
    next += i < leaves ? s.p + spines : leaves + dealt / spines + (i - leaves < dealt % spines ? 1 : 0);
  }
  std::vector<GroupRouting::Gate> gates(s.g * s.g * s.per_pair);
  // Cable c of a pair, from either end: the far end counts the other way round the groups and the cables.
  const auto place = [&](std::uint64_t u, std::uint64_t v, std::uint64_t c) {
    return (v + s.g - u - 1) % s.g * s.per_pair + c;
  };
  for (std::uint64_t u = 0; u < s.g; ++u)
    for (std::uint64_t v = 0; v < s.g; ++v)
      for (std::uint64_t c = 0; u != v && c < s.per_pair; ++c) {
        const std::uint64_t x = place(u, v, c), y = place(v, u, s.per_pair - 1 - c);
        const std::uint64_t i = leaves + x % spines, j = leaves + y % spines;
        gates[(u * s.g + v) * s.per_pair + c] = {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j),
                                                 static_cast<std::uint32_t>(leaves + x / spines)};
        if (u < v)
          b.cable(hosts + u * s.a + i, leaves + x / spines, hosts + v * s.a + j, leaves + y / spines, 2,
                  values[2]);
      }
  std::vector<std::uint32_t> order(leaves);
  std::iota(order.begin(), order.end(), 0u);
  b.set_bisection(group_cut(b, s, order));
  const auto made = std::make_shared<GroupRouting>(s, std::make_unique<LeafSpine>(s.p, leaves, spines),
                                                   std::move(first), std::move(gates), routing, seed);
  b.set_routing(made);
  b.set_vertex_names([hosts, a = s.a, leaves](VertexId v) {
    if (v.index() < hosts) return fmt::format("node-{}", v.index());
    const std::uint64_t r = v.index() - hosts, i = r % a;
    return i < leaves ? fmt::format("g{}leaf{}", r / a, i) : fmt::format("g{}spine{}", r / a, i - leaves);
  });
  Fabric fabric = b.build();
  made->set_capacity(fabric.links().capacity);
  return fabric;
}

}  // namespace

Family family() { return {kParams, build, "k=4"}; }

}  // namespace weft::topology::family_dragonfly_plus
