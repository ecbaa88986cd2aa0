// HyperX (Ahn et al., SC 2009): routers at the points of an S_1 x ... x S_L grid, every line of every dimension a
// clique with K_i parallel cables, T hosts on each router. K = 1 is a flattened butterfly; 16x6 with K = 1x3 is an
// Aries group.
//
// Router number: coordinate 1 counts fastest. Router ports: hosts, then per dimension the other coordinates in order,
// K_i cables each. Routings:
//   dimension-order  lowest dimension first; of K parallel cables one for each pair, another one in each dimension
//                    (fixed_cable in choice.hpp), destination mod K where T is a multiple of K
//   valiant          drawn for every message: dimension order to a random router and on; loops are cut out
//   adaptive         minimal, at every router the least used link of any dimension that is still wrong (DAL without its
//                    one detour per dimension); of equals one by a hash of the message
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "topology/bisection.hpp"
#include "topology/registry.hpp"
#include "topology/routing/choice.hpp"

namespace weft::topology::family_hyperx {
namespace {

enum class Way : std::uint8_t { kDimensionOrder, kValiant, kAdaptive };
constexpr std::array<Word<Way>, 3> kRoutings = {
    {{"dimension-order", Way::kDimensionOrder}, {"valiant", Way::kValiant}, {"adaptive", Way::kAdaptive}}};
constexpr std::array<ParamInfo, 4> kParams = {{
    {"dims", "required", "routers in each dimension, joined by x"},
    {"cables", "1 each", "parallel cables in each dimension"},
    {"hosts_per_switch", "1", "hosts on a router"},
    kRoutingParam<kRoutings>,
}};
constexpr std::size_t kMaxDims = 16;

struct Shape {
  std::vector<std::uint64_t> s, k, stride, port;
  std::uint64_t routers = 1, t = 1, degree = 0;
  [[nodiscard]] std::uint64_t hosts() const { return routers * t; }
  [[nodiscard]] std::uint64_t at(std::uint64_t r, std::size_t d) const { return r / stride[d] % s[d]; }
  // Router with coordinate c in dimension d.
  [[nodiscard]] std::uint64_t moved(std::uint64_t r, std::size_t d, std::uint64_t c) const {
    return r + (c - at(r, d)) * stride[d];  // wraps around 2^64 and back
  }
  // First of the cables of router r to coordinate c != its own of dimension d.
  [[nodiscard]] std::uint64_t port_to(std::uint64_t r, std::size_t d, std::uint64_t c) const {
    return port[d] + (c < at(r, d) ? c : c - 1) * k[d];
  }
  [[nodiscard]] GridDimension dimension(std::size_t d) const {
    return {stride[d], s[d], routers / (stride[d] * s[d]), t};
  }
  [[nodiscard]] std::uint64_t link(std::uint64_t r, std::uint64_t p) const {
    return hosts() + r * degree + p;
  }
};

class HyperxRouting final : public Routing {
 public:
  HyperxRouting(Shape s, Way way, std::uint64_t seed) : s_(std::move(s)), way_(way), seed_(seed) {}
  RouteScope scope() const override {
    if (way_ == Way::kDimensionOrder) return RouteScope::kPair;
    return way_ == Way::kValiant ? RouteScope::kMessage : RouteScope::kLoad;
  }
  std::string_view name() const override { return text_of(kRoutings, way_); }
  bool route(HostId src, HostId dst, std::vector<LinkId>& out) const override {
    return route_message(src, dst, 0, {}, out);
  }
  bool route_message(HostId src, HostId dst, std::uint64_t message, const LinkLoad& load,
                     std::vector<LinkId>& out) const override {
    if (src == dst) return true;
    const std::uint64_t from = src.index() / s_.t, to = dst.index() / s_.t;
    const std::uint64_t key = message_key(seed_, src, dst, message);
    out.push_back(LinkId(src.index()));
    std::vector<std::uint64_t> seen = {from};
    const std::size_t start = out.size();
    if (scope() == RouteScope::kMessage && from != to) {
      const std::uint64_t middle = mix_hash(key, 0) % s_.routers;
      const auto drawn = [&](std::uint64_t half) {
        return [this, pick = mix_hash(key, half)](std::size_t d) { return pick % s_.k[d]; };
      };
      ordered(from, middle, drawn(1), start, seen, out);
      ordered(middle, to, drawn(2), start, seen, out);
    } else if (scope() == RouteScope::kLoad && !load.empty()) {
      adaptive(from, to, key, load, out);
    } else {
      const auto fixed = [&](std::size_t d) {
        return way_ == Way::kDimensionOrder ? fixed_cable(src, dst, s_.dimension(d), s_.k[d])
                                            : dst.index() % s_.k[d];
      };
      ordered(from, to, fixed, start, seen, out);
    }
    push(out, s_.link(to, dst.index() % s_.t));
    return true;
  }
  std::optional<HopHistogram> hop_histogram() const override {
    if (scope() == RouteScope::kMessage) return std::nullopt;
    std::vector<std::uint64_t> far = {1};
    for (const std::uint64_t n : s_.s) {
      far.push_back(0);
      for (std::size_t i = far.size(); i-- > 0;) far[i] = far[i] + (i > 0 ? far[i - 1] * (n - 1) : 0);
    }
    HopHistogram h;
    for (std::size_t i = 0; i < far.size(); ++i)
      h.add(2 + i, s_.hosts() * (far[i] * s_.t - (i == 0 ? 1 : 0)));
    return h;
  }

 private:
  static void push(std::vector<LinkId>& out, std::uint64_t l) {
    out.push_back(LinkId(static_cast<std::uint32_t>(l)));
  }
  // `cable(d)`: which of those in dimension d. `seen`: routers of the walk whose links begin at `start`; coming back to
  // one drops what lies between.
  template <class Cable>
  void ordered(std::uint64_t at, std::uint64_t to, Cable cable, std::size_t start,
               std::vector<std::uint64_t>& seen, std::vector<LinkId>& out) const {
    for (std::size_t d = 0; d < s_.s.size(); ++d) {
      const std::uint64_t c = s_.at(to, d);
      if (c == s_.at(at, d)) continue;
      push(out, s_.link(at, s_.port_to(at, d, c) + cable(d)));
      at = s_.moved(at, d, c);
      const auto again = std::find(seen.begin(), seen.end(), at);
      if (again == seen.end()) {
        seen.push_back(at);
        continue;
      }
      out.resize(start + static_cast<std::size_t>(again - seen.begin()));
      seen.erase(again + 1, seen.end());
    }
  }
  void adaptive(std::uint64_t at, std::uint64_t to, std::uint64_t key, const LinkLoad& load,
                std::vector<LinkId>& out) const {
    while (at != to) {
      std::uint64_t best = 0, next = 0, tie = 0;
      std::uint32_t least = ~0u;
      for (std::size_t d = 0; d < s_.s.size(); ++d) {
        const std::uint64_t c = s_.at(to, d);
        if (c == s_.at(at, d)) continue;
        for (std::uint64_t i = 0; i < s_.k[d]; ++i) {
          const std::uint64_t l = s_.link(at, s_.port_to(at, d, c) + i), mark = mix_hash(key, l);
          if (load[l] > least || (load[l] == least && mark >= tie)) continue;
          least = load[l];
          tie = mark;
          best = l;
          next = s_.moved(at, d, c);
        }
      }
      push(out, best);
      at = next;
    }
  }
  Shape s_;
  Way way_;
  std::uint64_t seed_;
};

Result<Fabric> build(const Params& params) {
  Shape s;
  constexpr std::int64_t kTop = static_cast<std::int64_t>(kMaxVertices);
  WEFT_ASSIGN(s.s, params.list("dims", 0, kMaxDims, 1, kTop));
  s.k.assign(s.s.size(), 1);
  if (params.has("cables")) {
    WEFT_ASSIGN(s.k, params.list("cables", s.s.size(), kMaxDims, 1, 1 << 16));
  }
  WEFT_ASSIGN(s.t, params.integer_or("hosts_per_switch", 1, kTop, 1));
  WEFT_ASSIGN(const Way routing, params.choice("routing", kRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  s.degree = s.t;
  for (std::size_t d = 0; d < s.s.size(); ++d) {
    s.stride.push_back(s.routers);
    s.port.push_back(s.degree);
    s.routers = saturating_mul(s.routers, s.s[d]);
    s.degree += saturating_mul(s.s[d] - 1, s.k[d]);
  }
  const std::uint64_t hosts = saturating_mul(s.routers, s.t);
  WEFT_TRY(params.placed(check_size(hosts + s.routers, hosts)));
  const std::uint64_t cables = hosts + saturating_mul(s.routers, s.degree - s.t) / 2;
  WEFT_TRY(params.placed(check_size(hosts + s.routers, cables)));
  std::vector<std::string> names = {"host"};
  for (std::size_t d = 0; d < s.s.size(); ++d) names.push_back(fmt::format("dim{}", d + 1));
  const std::vector<std::string_view> classes(names.begin(), names.end());
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(classes));

  FabricBuilder b(hosts, hosts + s.routers, s.routers);
  for (const std::string& name : names) (void)b.add_class(name);
  std::vector<std::uint8_t> dimensions_of(s.s.size());
  std::iota(dimensions_of.begin(), dimensions_of.end(), std::uint8_t{1});
  b.set_group_classes(dimensions_of);
  b.reserve_cables(cables);
  for (std::uint64_t h = 0; h < hosts; ++h) b.cable(h, 0, hosts + h / s.t, h % s.t, 0, values[0]);
  std::vector<ProductDimension> dimensions;
  for (std::size_t d = 0; d < s.s.size(); ++d) {
    for (std::uint64_t r = 0; r < s.routers; ++r)
      for (std::uint64_t c = s.at(r, d) + 1; c < s.s[d]; ++c) {
        const std::uint64_t to = s.moved(r, d, c);
        for (std::uint64_t i = 0; i < s.k[d]; ++i)
          b.cable(hosts + r, s.port_to(r, d, c) + i, hosts + to, s.port_to(to, d, s.at(r, d)) + i,
                  static_cast<std::uint8_t>(d + 1), values[d + 1]);
      }
    dimensions.push_back({s.s[d], s.k[d] * (s.s[d] / 2) * (s.s[d] - s.s[d] / 2)});
  }
  b.set_bisection(product_cut(dimensions, s.t));
  b.set_routing(std::make_shared<HyperxRouting>(s, routing, seed));
  b.set_vertex_names([dims = s.s, stride = s.stride, hosts](VertexId v) {
    if (v.index() < hosts) return fmt::format("node-{}", v.index());
    std::vector<std::uint64_t> c;
    for (std::size_t d = 0; d < dims.size(); ++d) c.push_back((v.index() - hosts) / stride[d] % dims[d]);
    return fmt::format("({})", fmt::join(c, ","));
  });
  return b.build();
}

}  // namespace

Family family() { return {kParams, build, "dims=3x3"}; }

}  // namespace weft::topology::family_hyperx
