// n-dimensional torus: routers at the points of a k_1 x ... x k_n grid, rings in every dimension.
//
// Router number: coordinate 1 counts fastest. Router ports: its hosts, then per dimension + and - (k > 2),
// one cable (k = 2: both directions are the same neighbour), none (k = 1). host_links=off: the router is the
// host.
//
// Routing is dimension-ordered, lowest dimension first: diff = (dst - src) mod k goes + if diff <=
// floor(k/2), else -. In an even ring the farthest point ties; `tie` decides: plus (default), minus, or
// parity (source's coordinate sum even: plus), which loads both directions alike. `cables` joins neighbours
// of a dimension by several cables (Cray Gemini: 2x1x2); the destination's number picks one, the same on
// every hop. O(path length) per route, no tables.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "topology/registry.hpp"

namespace weft::topology {
namespace {

constexpr std::array<ParamInfo, 4> kParams = {{
    {"dims", "required", "ring lengths joined by x, like 4x4x2"},
    {"cables", "1 each", "parallel cables between neighbours of each dimension"},
    {"host_links", "on", "off: host = router, no host cable"},
    {"tie", "plus", "direction to the farthest point of an even ring: plus, minus, parity, simgrid"},
}};
constexpr std::array<std::string_view, 1> kRoutings = {"dimension-order"};
constexpr std::array<std::string_view, 4> kTies = {"plus", "minus", "parity", "simgrid"};
constexpr std::size_t kMaxDims = 16;

struct Grid {
  std::vector<std::uint64_t> k;       // ring lengths
  std::vector<std::uint64_t> stride;  // of a coordinate in the router number
  std::vector<std::uint64_t> port;    // first port of a dimension; its + ports, then its - ports
  std::vector<std::uint64_t> cables;  // parallel ones per dimension
  std::uint64_t routers = 1, hosts_per_router = 1, degree = 0;
  bool host_links = true;

  [[nodiscard]] std::uint64_t hosts() const { return routers * hosts_per_router; }
  [[nodiscard]] std::uint64_t vertex(std::uint64_t router) const {
    return host_links ? hosts() + router : router;
  }
  [[nodiscard]] std::uint64_t link(std::uint64_t router, std::uint64_t p) const {
    return (host_links ? hosts() : 0) + router * degree + p;
  }
  [[nodiscard]] std::uint64_t coordinate(std::uint64_t router, std::size_t d) const {
    return router / stride[d] % k[d];
  }
  [[nodiscard]] std::uint64_t neighbour(std::uint64_t router, std::size_t d, bool plus) const {
    const std::uint64_t c = coordinate(router, d);
    const std::uint64_t to = plus ? (c + 1 == k[d] ? 0 : c + 1) : (c == 0 ? k[d] - 1 : c - 1);
    return router + (to - c) * stride[d];  // wraps around 2^64 and back
  }
};

class DimensionOrder final : public Routing {
 public:
  DimensionOrder(Grid g, std::string_view tie) : g_(std::move(g)), tie_(tie) {}

  bool route(HostId from, HostId to, std::vector<LinkId>& out) const override {
    if (from == to) return true;
    std::uint64_t at = from.index() / g_.hosts_per_router;
    const std::uint64_t goal = to.index() / g_.hosts_per_router;
    bool plus_at_tie = tie_ == kTies[0] || tie_ == kTies[3];
    if (tie_ == kTies[2]) {
      std::uint64_t sum = 0;
      for (std::size_t d = 0; d < g_.k.size(); ++d) sum += g_.coordinate(at, d);
      plus_at_tie = sum % 2 == 0;
    }
    if (g_.host_links) push(out, from.index());
    for (std::size_t d = 0; d < g_.k.size(); ++d) {
      const std::uint64_t k = g_.k[d];
      const std::uint64_t diff = (g_.coordinate(goal, d) + k - g_.coordinate(at, d)) % k;
      if (diff == 0) continue;
      const bool half_to_zero = tie_ == kTies[3] && 2 * diff == k && g_.coordinate(goal, d) == 0;
      const bool plus = 2 * diff == k ? (k == 2 || (plus_at_tie && !half_to_zero)) : diff < k - diff;
      for (std::uint64_t hop = plus ? diff : k - diff; hop > 0; --hop) {
        push(out, g_.link(at, g_.port[d] + (plus ? 0 : g_.cables[d]) + to.index() % g_.cables[d]));
        at = g_.neighbour(at, d, plus);
      }
    }
    if (g_.host_links) push(out, g_.link(goal, to.index() % g_.hosts_per_router));
    return true;
  }
  std::string_view name() const override { return kRoutings[0]; }

  // Distances of one router to all: the rings' distances convolved; every router sees the same.
  std::optional<HopHistogram> hop_histogram() const override {
    std::vector<std::uint64_t> far = {1};
    for (const std::uint64_t k : g_.k) {
      std::vector<std::uint64_t> next(far.size() + k / 2, 0);
      for (std::size_t i = 0; i < far.size(); ++i)
        for (std::uint64_t c = 0; c < k; ++c) next[i + std::min(c, k - c)] += far[i];
      far = std::move(next);
    }
    HopHistogram h;
    const std::uint64_t extra = g_.host_links ? 2 : 0, p = g_.hosts_per_router;
    for (std::size_t i = 0; i < far.size(); ++i)
      h.add(i + extra, g_.hosts() * (far[i] * p - (i == 0 ? 1 : 0)));
    return h;
  }

 private:
  static void push(std::vector<LinkId>& out, std::uint64_t link) {
    out.push_back(LinkId(static_cast<std::uint32_t>(link)));
  }
  Grid g_;
  std::string_view tie_;
};

Result<Fabric> build(const Params& params) {
  Grid g;
  constexpr std::int64_t kTop = static_cast<std::int64_t>(kMaxVertices);
  WEFT_ASSIGN(g.k, params.list("dims", 0, kMaxDims, 1, kTop));
  WEFT_ASSIGN(g.host_links, params.on_off("host_links", true));
  WEFT_ASSIGN(g.hosts_per_router, params.integer_or("hosts_per_switch", 1, kTop, 1));
  if (!g.host_links && g.hosts_per_router != 1)
    return params.error("hosts_per_switch", "with host_links=off a router is one host", "1");
  WEFT_ASSIGN(const std::string tie_text, params.choice("tie", kTies));
  const std::string_view tie = *std::find(kTies.begin(), kTies.end(), tie_text);
  WEFT_ASSIGN([[maybe_unused]] const std::string routing, params.choice("routing", kRoutings));

  g.cables.assign(g.k.size(), 1);
  if (params.has("cables")) {
    WEFT_ASSIGN(g.cables, params.list("cables", g.k.size(), kMaxDims, 1, 1 << 16));
  }
  g.degree = g.host_links ? g.hosts_per_router : 0;
  std::uint64_t ring_cables = 0;  // per router, in halves
  for (std::size_t d = 0; d < g.k.size(); ++d) {
    const std::uint64_t k = g.k[d], ports = (k > 2 ? 2 : k - 1) * g.cables[d];
    g.stride.push_back(g.routers);
    g.port.push_back(g.degree);
    g.routers = saturating_mul(g.routers, k);
    g.degree += ports;
    ring_cables += ports;
  }
  const std::uint64_t hosts = saturating_mul(g.routers, g.hosts_per_router);
  WEFT_TRY(
      params.placed(check_size((g.host_links ? hosts : 0) + g.routers,
                               saturating_mul(g.routers, ring_cables) / 2 + (g.host_links ? hosts : 0))));
  std::vector<std::string_view> classes;
  if (g.host_links) classes.push_back("host");
  classes.push_back("torus");
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(classes));

  FabricBuilder b(hosts, (g.host_links ? hosts : 0) + g.routers, g.routers);
  b.reserve_cables(g.routers * ring_cables / 2 + (g.host_links ? hosts : 0));
  for (const std::string_view c : classes) (void)b.add_class(std::string(c));
  const auto ring_class = static_cast<std::uint8_t>(classes.size() - 1);
  if (g.host_links)
    for (std::uint64_t h = 0; h < hosts; ++h)
      b.cable(h, 0, g.vertex(h / g.hosts_per_router), h % g.hosts_per_router, 0, values[0]);
  std::optional<std::uint64_t> bisection;
  for (std::size_t d = 0; d < g.k.size(); ++d) {
    const std::uint64_t k = g.k[d];
    if (k == 1) continue;
    for (std::uint64_t r = 0; r < g.routers; ++r) {
      if (k == 2 && g.coordinate(r, d) == 1) continue;  // one cable, made from its lower end
      for (std::uint64_t c = 0; c < g.cables[d]; ++c)
        b.cable(g.vertex(r), g.port[d] + c, g.vertex(g.neighbour(r, d, true)),
                g.port[d] + c + (k > 2 ? g.cables[d] : 0), ring_class, values[ring_class]);
    }
    if (k % 2 == 0) {
      const std::uint64_t cut = (k == 2 ? g.routers / 2 : 2 * g.routers / k) * g.cables[d];
      bisection = std::min(bisection.value_or(cut), cut);
    }
  }
  b.set_routing(std::make_shared<DimensionOrder>(g, tie));
  b.set_vertex_names([g, hosts](VertexId v) {
    if (v.index() < hosts) return fmt::format("node-{}", v.index());
    std::vector<std::uint64_t> c;
    for (std::size_t d = 0; d < g.k.size(); ++d) c.push_back(g.coordinate(v.index() - hosts, d));
    return fmt::format("({})", fmt::join(c, ","));
  });
  b.set_bisection(bisection);
  return b.build();
}

}  // namespace

Family family_torus() { return {kParams, build, {}, {}}; }

}  // namespace weft::topology
