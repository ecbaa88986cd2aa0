#include "topology/families/grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "topology/bisection.hpp"
#include "topology/fabric_builder.hpp"
#include "topology/routing/choice.hpp"

namespace weft::topology {
namespace {

enum class Tie : std::uint8_t { kPlus, kMinus, kParity, kSimgrid };
constexpr std::array<Word<Tie>, 4> kTies = {
    {{"plus", Tie::kPlus}, {"minus", Tie::kMinus}, {"parity", Tie::kParity}, {"simgrid", Tie::kSimgrid}}};

struct Grid : GridPlan {
  std::vector<std::uint64_t> stride;  // of a coordinate in the router number
  std::vector<std::uint64_t> port;    // first port of a dimension where all routers have the same ports
  std::vector<std::uint32_t> first;   // first link of a router; empty where all have `degree` ports
  std::uint64_t routers = 1, degree = 0;

  [[nodiscard]] std::uint64_t hosts() const { return routers * hosts_per_router; }
  [[nodiscard]] std::uint64_t host_ports() const { return host_links ? hosts_per_router : 0; }
  [[nodiscard]] std::uint64_t vertex(std::uint64_t router) const {
    return host_links ? hosts() + router : router;
  }
  [[nodiscard]] std::uint64_t coordinate(std::uint64_t router, std::size_t d) const {
    return router / stride[d] % k[d];
  }
  // Does the router at coordinate c have a neighbour of its own in that direction? (k = 2: one for both.)
  [[nodiscard]] bool has(std::size_t d, std::uint64_t c, bool plus) const {
    if (k[d] == 1) return false;
    if (k[d] == 2) return plus;
    return line[d] == 0 || (plus ? c + 1 < k[d] : c > 0);
  }
  [[nodiscard]] std::uint64_t ports_of(std::uint64_t router, std::size_t d) const {
    const std::uint64_t c = coordinate(router, d);
    return (has(d, c, true) ? cables[d] : 0) + (has(d, c, false) ? cables[d] : 0);
  }
  // First of the cables of dimension d in that direction.
  [[nodiscard]] std::uint64_t first_port(std::uint64_t router, std::size_t d, bool plus) const {
    std::uint64_t p = host_ports();
    if (first.empty()) {
      p = port[d];
    } else {
      for (std::size_t i = 0; i < d; ++i) p += ports_of(router, i);
    }
    return p + (!plus && k[d] > 2 && has(d, coordinate(router, d), true) ? cables[d] : 0);
  }
  [[nodiscard]] std::uint64_t first_link(std::uint64_t router) const {
    return first.empty() ? (host_links ? hosts() : 0) + router * degree : first[router];
  }
  [[nodiscard]] GridDimension dimension(std::size_t d) const {
    return {stride[d], k[d], routers / (stride[d] * k[d]), hosts_per_router};
  }
  [[nodiscard]] std::uint64_t neighbour(std::uint64_t router, std::size_t d, bool plus) const {
    const std::uint64_t c = coordinate(router, d);
    const std::uint64_t to = plus ? (c + 1 == k[d] ? 0 : c + 1) : (c == 0 ? k[d] - 1 : c - 1);
    return router + (to - c) * stride[d];  // wraps around 2^64 and back
  }
};

class DimensionOrder final : public Routing {
 public:
  DimensionOrder(Grid g, Tie tie, GridWay way, std::uint64_t seed)
      : g_(std::move(g)), tie_(tie), way_(way), seed_(seed) {
    parallel_ = std::any_of(g_.cables.begin(), g_.cables.end(), [](std::uint64_t c) { return c > 1; });
  }

  bool route(HostId from, HostId to, std::vector<LinkId>& out) const override {
    return walk(from, to, pair_key(seed_, from, to), {}, out);
  }
  RouteScope scope() const override {
    if (!parallel_ || way_ == GridWay::kDimensionOrder) return RouteScope::kPair;
    return way_ == GridWay::kHashed ? RouteScope::kMessage : RouteScope::kLoad;
  }
  bool route_message(HostId from, HostId to, std::uint64_t message, const LinkLoad& load,
                     std::vector<LinkId>& out) const override {
    // A message's number alone would not do: of a pattern it goes by the source, as the destination does.
    return walk(from, to, message_key(seed_, from, to, message),
                scope() == RouteScope::kLoad ? load : LinkLoad(), out);
  }
  std::string_view name() const override { return text_of(kGridRoutings, way_); }

  // Pairs of routers at each distance: the distances along the dimensions convolved.
  std::optional<HopHistogram> hop_histogram() const override {
    std::vector<std::uint64_t> far = {1};
    for (std::size_t d = 0; d < g_.k.size(); ++d) {
      const std::uint64_t k = g_.k[d];
      std::vector<std::uint64_t> along(k, 0);
      for (std::uint64_t c = 0; c < k; ++c) {
        if (g_.line[d] != 0) {
          along[c] = c == 0 ? k : 2 * (k - c);
        } else {
          along[std::min(c, k - c)] += k;
        }
      }
      while (along.back() == 0) along.pop_back();
      std::vector<std::uint64_t> next(far.size() + along.size() - 1, 0);
      for (std::size_t i = 0; i < far.size(); ++i)
        for (std::size_t c = 0; c < along.size(); ++c) next[i + c] += far[i] * along[c];
      far = std::move(next);
    }
    HopHistogram h;
    const std::uint64_t extra = g_.host_links ? 2 : 0, p = g_.hosts_per_router;
    for (std::size_t i = 0; i < far.size(); ++i) h.add(i + extra, far[i] * p * p - (i == 0 ? g_.hosts() : 0));
    return h;
  }

 private:
  // `key`: of the pair or the message.
  bool walk(HostId from, HostId to, std::uint64_t key, const LinkLoad& load, std::vector<LinkId>& out) const {
    if (from == to) return true;
    std::uint64_t at = from.index() / g_.hosts_per_router;
    const std::uint64_t goal = to.index() / g_.hosts_per_router;
    bool plus_at_tie = tie_ == Tie::kPlus || tie_ == Tie::kSimgrid;
    if (tie_ == Tie::kParity) {
      std::uint64_t sum = 0;
      for (std::size_t d = 0; d < g_.k.size(); ++d) sum += g_.coordinate(at, d);
      plus_at_tie = sum % 2 == 0;
    }
    if (g_.host_links) push(out, from.index());
    for (std::size_t d = 0; d < g_.k.size(); ++d) {
      const std::uint64_t k = g_.k[d], here = g_.coordinate(at, d), there = g_.coordinate(goal, d);
      if (here == there) continue;
      const std::uint64_t diff = there >= here ? there - here : there + k - here;
      bool plus = there > here;
      if (g_.line[d] == 0) {
        const bool half_to_zero = tie_ == Tie::kSimgrid && 2 * diff == k && there == 0;
        plus = 2 * diff == k ? (k == 2 || (plus_at_tie && !half_to_zero)) : diff < k - diff;
      }
      const std::uint64_t usual = usual_cable(from, to, d, key);
      for (std::uint64_t hop = plus ? diff : k - diff; hop > 0; --hop) {
        const std::uint64_t base = g_.first_link(at) + g_.first_port(at, d, plus || k == 2);
        push(out, base + cable(base, g_.cables[d], usual, load));
        at = g_.neighbour(at, d, plus);
      }
    }
    if (g_.host_links) push(out, g_.first_link(goal) + to.index() % g_.hosts_per_router);
    return true;
  }
  // The cable of dimension d, on every hop, where load does not decide.
  [[nodiscard]] std::uint64_t usual_cable(HostId from, HostId to, std::size_t d, std::uint64_t key) const {
    const std::uint64_t n = g_.cables[d];
    if (way_ == GridWay::kDimensionOrder) return fixed_cable(from, to, g_.dimension(d), n);
    return (way_ == GridWay::kHashed ? key : to.index()) % n;
  }
  // Which of `n` parallel links from `base` on; of equals `usual`.
  static std::uint64_t cable(std::uint64_t base, std::uint64_t n, std::uint64_t usual, const LinkLoad& load) {
    std::uint64_t best = usual;
    if (load.empty()) return best;
    for (std::uint64_t i = 0; i < n; ++i)
      if (load[base + i] < load[base + best]) best = i;
    return best;
  }
  static void push(std::vector<LinkId>& out, std::uint64_t link) {
    out.push_back(LinkId(static_cast<std::uint32_t>(link)));
  }
  Grid g_;
  Tie tie_;
  GridWay way_;
  std::uint64_t seed_;
  bool parallel_ = false;
};

// Degrees, numbers of links, first links. Errors: too large.
Result<std::uint64_t> size_up(const Params& params, Grid& g) {
  g.degree = g.host_ports();
  std::uint64_t vertices = 0, cables = 0;
  bool uneven = false;
  for (std::size_t d = 0; d < g.k.size(); ++d) {
    g.stride.push_back(g.routers);
    g.port.push_back(g.degree);
    g.routers = saturating_mul(g.routers, g.k[d]);
    g.degree += (g.k[d] > 2 ? 2 : g.k[d] - 1) * g.cables[d];
    uneven = uneven || (g.line[d] != 0 && g.k[d] > 2);
  }
  const std::uint64_t hosts = saturating_mul(g.routers, g.hosts_per_router);
  vertices = (g.host_links ? hosts : 0) + g.routers;
  WEFT_TRY(params.placed(check_size(vertices, g.host_links ? hosts : 0)));
  cables = g.host_links ? hosts : 0;
  for (std::size_t d = 0; d < g.k.size(); ++d) {
    const std::uint64_t steps = g.k[d] == 2 || g.line[d] != 0 ? g.k[d] - 1 : (g.k[d] == 1 ? 0 : g.k[d]);
    cables += saturating_mul(g.routers / g.k[d] * steps, g.cables[d]);
    WEFT_TRY(params.placed(check_size(vertices, cables)));
  }
  if (uneven) {
    std::uint64_t next = g.host_links ? hosts : 0;
    for (std::uint64_t r = 0; r < g.routers; ++r) {
      g.first.push_back(static_cast<std::uint32_t>(next));
      next += g.host_ports();
      for (std::size_t d = 0; d < g.k.size(); ++d) next += g.ports_of(r, d);
    }
  }
  return cables;
}

}  // namespace

void set_grid_classes(const Params& params, std::string_view name, GridPlan& plan) {
  const std::size_t n = plan.k.size(), host = plan.host_links ? 1 : 0;
  plan.classes = {std::string(name)};
  plan.class_of.assign(n, 0);
  if (n < 2 || (params.list_length("bw") != n + host && params.list_length("lat") != n + host)) return;
  plan.classes.clear();
  for (std::size_t d = 0; d < n; ++d) {
    plan.classes.push_back(fmt::format("{}{}", name, d + 1));
    plan.class_of[d] = d;
  }
}

Result<Fabric> build_grid(const Params& params, GridPlan plan) {
  Grid g;
  static_cast<GridPlan&>(g) = std::move(plan);
  constexpr std::int64_t kTop = static_cast<std::int64_t>(kMaxVertices);
  WEFT_ASSIGN(g.hosts_per_router, params.integer_or("hosts_per_switch", 1, kTop, g.hosts_per_router));
  if (!g.host_links && g.hosts_per_router != 1)
    return params.error("hosts_per_switch", "with host_links=off a router is one host", "1");
  WEFT_ASSIGN(const Tie tie, params.choice("tie", kTies));
  WEFT_ASSIGN(const GridWay routing, params.choice("routing", kGridRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  WEFT_ASSIGN(const std::uint64_t cables, size_up(params, g));
  std::vector<std::string_view> classes;
  if (g.host_links) classes.push_back("host");
  const auto first_class = static_cast<std::uint8_t>(classes.size());
  classes.insert(classes.end(), g.classes.begin(), g.classes.end());
  WEFT_ASSIGN(const std::vector<LinkValues> values,
              params.link_values(classes, g.bw_fallback, g.lat_fallback));

  const std::uint64_t hosts = g.hosts();
  FabricBuilder b(hosts, (g.host_links ? hosts : 0) + g.routers, g.routers);
  b.reserve_cables(cables);
  for (const std::string_view c : classes) (void)b.add_class(std::string(c));
  std::vector<std::uint8_t> between_routers(
      g.classes.size());  // one or one a dimension, as bandwidths are given
  std::iota(between_routers.begin(), between_routers.end(), first_class);
  b.set_group_classes(between_routers);
  if (g.host_links)
    for (std::uint64_t h = 0; h < hosts; ++h)
      b.cable(h, 0, g.vertex(h / g.hosts_per_router), h % g.hosts_per_router, 0, values[0]);
  std::vector<ProductDimension> dimensions;
  for (std::size_t d = 0; d < g.k.size(); ++d) {
    const std::uint64_t k = g.k[d];
    if (k == 1) continue;
    const auto link_class = static_cast<std::uint8_t>(first_class + g.class_of[d]);
    for (std::uint64_t r = 0; r < g.routers; ++r) {
      // Every cable is made from its lower end, the one that closes a ring from its upper.
      if ((k == 2 || g.line[d] != 0) && g.coordinate(r, d) + 1 == k) continue;
      const std::uint64_t to = g.neighbour(r, d, true);
      for (std::uint64_t c = 0; c < g.cables[d]; ++c)
        b.cable(g.vertex(r), g.first_port(r, d, true) + c, g.vertex(to), g.first_port(to, d, k == 2) + c,
                link_class, values[link_class]);
    }
    dimensions.push_back({k, (k == 2 || g.line[d] != 0 ? 1 : 2) * g.cables[d]});
  }
  b.set_routing(std::make_shared<DimensionOrder>(g, tie, routing, seed));
  b.set_vertex_names([k = g.k, stride = g.stride, hosts](VertexId v) {
    if (v.index() < hosts) return fmt::format("node-{}", v.index());
    std::vector<std::uint64_t> c;
    for (std::size_t d = 0; d < k.size(); ++d) c.push_back((v.index() - hosts) / stride[d] % k[d]);
    return fmt::format("({})", fmt::join(c, ","));
  });
  b.set_bisection(product_cut(dimensions, g.hosts_per_router));
  return b.build();
}

Result<GridPlan> read_grid(const Params& params, std::string_view name) {
  GridPlan g;
  WEFT_ASSIGN(g.k, params.list("dims", 0, kMaxGridDims, 1, static_cast<std::int64_t>(kMaxVertices)));
  WEFT_ASSIGN(g.host_links, params.on_off("host_links", true));
  g.cables.assign(g.k.size(), 1);
  if (params.has("cables")) {
    WEFT_ASSIGN(g.cables, params.list("cables", g.k.size(), kMaxGridDims, 1, 1 << 16));
  }
  set_grid_classes(params, name, g);
  return g;
}

}  // namespace weft::topology
