// Dragonfly of Kim, Dally, Scott and Abts (ISCA 2008): g groups of a routers, p hosts and h global ports per
// router; the routers of a group are a clique, the groups are joined by global cables.
//
// Router ports: 0..p-1 hosts, then a-1 local ones (to the other routers in order), then global ones.
// Canonical size g = a h + 1: one cable per pair of groups, placed by `arrangement` (Camarero et al., TACO
// 2015). With router i, global port k, j = i h + k, group u, the far end is
//   absolute (= consecutive)  j >= u: (j+1, floor(u/h), u mod h); else (j, floor((u-1)/h), (u-1) mod h)
//   palmtree                  ((u-j-1) mod g, a-1-i, h-1-k)
//   relative                  ((u+1+j) mod g, floor((ah-1-j)/h), (ah-1-j) mod h)
//   circulant (h even)        t = floor(k/2), off = i h/2 + t + 1: group u+off (k even) or u-off (k odd),
//   router i, port k^1
// Fewer groups: c = floor(a h / (g-1)) cables per pair, the rest unused. A group deals its targets, in the
// order of the arrangement, c cables each round-robin over its routers, whose numbers of cables, to one group and to
// all, differ by one at most. From h = 2 on every router is a gateway: more than half of the ports are used.
//
// Routings minimal, valiant and ugal-u: groups.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "topology/families/groups.hpp"
#include "topology/registry.hpp"

namespace weft::topology::family_dragonfly {
namespace {

constexpr std::array<ParamInfo, 6> kParams = {{
    {"p", "required", "hosts per router"},
    {"a", "2p", "routers per group"},
    {"h", "p", "global ports per router"},
    {"g", "a h + 1", "groups"},
    {"arrangement", "absolute",
     "who meets whom: absolute (= consecutive), palmtree, relative, circulant (h even, g = ah+1)"},
    kRoutingParam<kGroupRoutings>,
}};
enum class Arrangement : std::uint8_t { kAbsolute, kPalmtree, kRelative, kCirculant };
constexpr std::array<Word<Arrangement>, 5> kArrangements = {{{"absolute", Arrangement::kAbsolute},
                                                             {"consecutive", Arrangement::kAbsolute},
                                                             {"palmtree", Arrangement::kPalmtree},
                                                             {"relative", Arrangement::kRelative},
                                                             {"circulant", Arrangement::kCirculant}}};

struct Shape {
  std::uint64_t p = 1, a = 1, h = 1, g = 1;
  std::uint64_t per_pair = 0;  // cables between two groups
  Arrangement arrangement = Arrangement::kAbsolute;
  [[nodiscard]] std::uint64_t routers() const { return a * g; }
  [[nodiscard]] std::uint64_t hosts() const { return p * a * g; }
  [[nodiscard]] bool canonical() const { return g == a * h + 1; }
};

// One end of a global cable.
struct Port {
  std::uint64_t group, router, port;
};

Port far_end(const Shape& s, std::uint64_t u, std::uint64_t i, std::uint64_t k) {
  const std::uint64_t j = i * s.h + k, all = s.a * s.h, g = s.g;
  switch (s.arrangement) {
    case Arrangement::kAbsolute:
      if (j >= u) return {j + 1, u / s.h, u % s.h};
      return {j, (u - 1) / s.h, (u - 1) % s.h};
    case Arrangement::kPalmtree:
      return {(u + 2 * g - j - 1) % g, s.a - 1 - i, s.h - 1 - k};
    case Arrangement::kRelative:
      return {(u + 1 + j) % g, (all - 1 - j) / s.h, (all - 1 - j) % s.h};
    case Arrangement::kCirculant: {
      const std::uint64_t offset = i * (s.h / 2) + k / 2 + 1;
      return {(k % 2 == 0 ? u + offset : u + g - offset) % g, i, k ^ 1};
    }
  }
  return {};
}

// Order in which group u deals its cables to group v when there are fewer groups than ports allow.
std::uint64_t turn(const Shape& s, std::uint64_t u, std::uint64_t v) {
  switch (s.arrangement) {
    case Arrangement::kPalmtree:
      return (u + s.g - v - 1) % s.g;
    case Arrangement::kRelative:
      return (v + s.g - u - 1) % s.g;
    default:
      return v < u ? v : v - 1;
  }
}

Result<Shape> read_shape(const Params& params) {
  Shape s;
  constexpr std::int64_t kTop = 1 << 24;
  const std::string_view p_key =
      params.has("p") || !params.has("hosts_per_switch") ? "p" : "hosts_per_switch";
  WEFT_ASSIGN(s.p, params.integer(p_key, 1, kTop));
  WEFT_ASSIGN(const std::uint64_t per_switch, params.integer_or("hosts_per_switch", 1, kTop, s.p));
  if (per_switch != s.p) return params.error("hosts_per_switch", "it is p", fmt::format("{}", s.p));
  WEFT_ASSIGN(s.a, params.integer_or("a", 1, kTop, 2 * s.p));
  WEFT_ASSIGN(s.h, params.integer_or("h", 0, kTop, s.p));
  const std::uint64_t ports = saturating_mul(s.a, s.h);
  WEFT_ASSIGN(s.g, params.integer_or("g", 1, kTop, ports + 1));
  if (s.g > ports + 1)
    return params.error("g", "more groups than global ports reach", fmt::format("at most {}", ports + 1));
  WEFT_ASSIGN(s.arrangement, params.choice("arrangement", kArrangements));
  if (s.arrangement == Arrangement::kCirculant && (s.h % 2 != 0 || !s.canonical()))
    return params.error("arrangement", "circulant needs an even h and g = a h + 1",
                        "absolute, palmtree or relative");
  s.per_pair = s.g > 1 ? ports / (s.g - 1) : 0;
  const std::uint64_t routers = saturating_mul(s.a, s.g), hosts = saturating_mul(routers, s.p);
  const std::uint64_t cables =
      hosts + saturating_mul(routers, s.a - 1) / 2 + saturating_mul(routers, s.h) / 2;
  WEFT_TRY(params.placed(check_size(hosts + routers, cables)));
  WEFT_TRY(params.placed(check_size(0, saturating_mul(saturating_mul(s.g, s.g), s.per_pair))));
  return s;
}

Result<Fabric> build(const Params& params) {
  WEFT_ASSIGN(const Shape s, read_shape(params));
  WEFT_ASSIGN(const GroupWay routing, params.choice("routing", kGroupRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  constexpr std::array<std::string_view, 3> classes = {"host", "local", "global"};
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(classes));

  const std::uint64_t hosts = s.hosts(), routers = s.routers();
  FabricBuilder b(hosts, hosts + routers, routers);
  for (const std::string_view c : classes) (void)b.add_class(std::string(c));
  b.set_group_classes(std::array<std::uint8_t, 1>{2});  // of one group, too
  b.reserve_cables(hosts + routers * (s.a - 1) / 2 + s.per_pair * s.g * (s.g - 1) / 2);
  for (std::uint64_t h = 0; h < hosts; ++h) b.cable(h, 0, hosts + h / s.p, h % s.p, 0, values[0]);
  for (std::uint64_t r = 0; r < routers; ++r)
    for (std::uint64_t j = r % s.a + 1; j < s.a; ++j)
      b.cable(hosts + r, s.p + j - 1, hosts + r - r % s.a + j, s.p + r % s.a, 1, values[1]);

  // Global ports in use: all h of every router, or the first of a round-robin deal.
  const std::uint64_t dealt = s.canonical() ? s.a * s.h : s.per_pair * (s.g - 1);
  std::vector<std::uint32_t> first(routers, 0);
  std::uint64_t next = hosts;
  for (std::uint64_t r = 0; r < routers; ++r) {
    first[r] = static_cast<std::uint32_t>(next);
    const std::uint64_t i = r % s.a;
    next += s.p + s.a - 1 + (s.canonical() ? s.h : dealt / s.a + (i < dealt % s.a ? 1 : 0));
  }
  std::vector<GroupRouting::Gate> gates(s.g * s.g * s.per_pair);
  const std::uint64_t base = s.p + s.a - 1;  // first global port
  const auto join = [&](std::uint64_t c, Port x, Port y) {
    const std::uint64_t rx = x.group * s.a + x.router, ry = y.group * s.a + y.router;
    gates[(x.group * s.g + y.group) * s.per_pair + c] = {static_cast<std::uint32_t>(x.router),
                                                         static_cast<std::uint32_t>(y.router),
                                                         static_cast<std::uint32_t>(base + x.port)};
    if (x.group < y.group) b.cable(hosts + rx, base + x.port, hosts + ry, base + y.port, 2, values[2]);
  };
  for (std::uint64_t u = 0; u < s.g && s.g > 1; ++u) {
    if (s.canonical()) {
      for (std::uint64_t i = 0; i < s.a; ++i)
        for (std::uint64_t k = 0; k < s.h; ++k) join(0, {u, i, k}, far_end(s, u, i, k));
      continue;
    }
    for (std::uint64_t v = 0; v < s.g; ++v)
      for (std::uint64_t c = 0; u != v && c < s.per_pair; ++c) {
        const std::uint64_t x = turn(s, u, v) * s.per_pair + c, y = turn(s, v, u) * s.per_pair + c;
        join(c, {u, x % s.a, x / s.a}, {v, y % s.a, y / s.a});
      }
  }
  const GroupShape shape{s.p, s.a, s.a, s.g, s.per_pair};
  std::vector<std::uint32_t> order(s.a);
  std::iota(order.begin(), order.end(), 0u);
  b.set_bisection(group_cut(b, shape, order));
  const auto made = std::make_shared<GroupRouting>(shape, std::make_unique<Clique>(s.p), std::move(first),
                                                   std::move(gates), routing, seed);
  b.set_routing(made);
  b.set_vertex_names([hosts, a = s.a](VertexId v) {
    if (v.index() < hosts) return fmt::format("node-{}", v.index());
    return fmt::format("g{}r{}", (v.index() - hosts) / a, (v.index() - hosts) % a);
  });
  Fabric fabric = b.build();
  made->set_capacity(fabric.links().capacity);
  return fabric;
}

}  // namespace

Family family() { return {kParams, build, "p=2"}; }

}  // namespace weft::topology::family_dragonfly
