// PolarFly (Lakhotia, Besta, Monroe, Isham, Iff, Hoefler and Petrini, SC 2022): the polarity graph of Erdos and Renyi over
// the field of q elements, q any prime power: q^2 + q + 1 routers of q + 1 ports to others, diameter 2. No graph of that
// degree and diameter comes closer to Moore's bound of q^2 + 2 q + 2 for all of these q.
//
// Routers are the points of the projective plane: lines through 0 of the 3-dimensional space over the field, written with 1
// as their first coordinate that is not 0: (1, x, y) is router x q + y, (0, 1, x) is q^2 + x, (0, 0, 1) is q^2 + q. Two
// routers are joined iff their dot product is 0. The q + 1 points that are orthogonal to themselves ("quadrics") have one
// port less. Two routers that are not joined have exactly one neighbour in common.
//
// ceil((q + 1) / 2) hosts on a router by default. Shortest-path routings (graph_routing.hpp).
#include <fmt/format.h>

#include <array>

#include "topology/families/galois_field.hpp"
#include "topology/registry.hpp"
#include "topology/routing/graph_routing.hpp"

namespace weft::topology::family_polarfly {
namespace {

constexpr std::array<ParamInfo, 3> kParams = {{
    {"q", "required", "size of the field: a prime power"},
    {"hosts_per_switch", "half of the router's degree, rounded up", "hosts on a router"},
    kRoutingParam<kGraphRoutings>,
}};
constexpr std::int64_t kMaxField = 512;

// The point of router v.
std::array<std::uint64_t, 3> point(std::uint64_t v, std::uint64_t q) {
  if (v < q * q) return {1, v / q, v % q};
  if (v < q * q + q) return {0, 1, v - q * q};
  return {0, 0, 1};
}

class Plane {
 public:
  explicit Plane(const GaloisField& field) : f_(field), q_(field.size()) {}
  [[nodiscard]] std::uint64_t points() const { return q_ * q_ + q_ + 1; }

  // The points w with v . w = 0, v itself included where it is a quadric.
  template <class Use>
  void for_each_orthogonal(std::uint64_t v, Use&& use) const {
    const auto [a, b, c] = point(v, q_);
    if (c != 0) {
      const std::uint64_t by = f_.inverse(f_.negate(c));
      for (std::uint64_t x = 0; x < q_; ++x)  // (1, x, y): a + b x + c y = 0
        use(x * q_ + f_.multiply(f_.add(a, f_.multiply(b, x)), by));
      use(q_ * q_ + f_.multiply(b, by));  // (0, 1, x): b + c x = 0
    } else if (b != 0) {
      const std::uint64_t x = f_.multiply(a, f_.inverse(f_.negate(b)));
      for (std::uint64_t y = 0; y < q_; ++y) use(x * q_ + y);
      use(q_ * q_ + q_);
    } else {
      for (std::uint64_t x = 0; x <= q_; ++x) use(q_ * q_ + x);
    }
  }

 private:
  const GaloisField& f_;
  std::uint64_t q_;
};

Result<Fabric> build(const Params& params) {
  WEFT_ASSIGN(const std::uint64_t q, params.integer("q", 2, kMaxField));
  const auto field = GaloisField::of(q);
  if (!field)
    return params.error("q", "no such PolarFly", "a prime power, " + field_sizes_near(q, is_prime_power));
  const Plane plane(*field);
  constexpr std::int64_t kTop = static_cast<std::int64_t>(kMaxVertices);
  WEFT_ASSIGN(const std::uint64_t per_router, params.integer_or("hosts_per_switch", 1, kTop, (q + 2) / 2));
  WEFT_ASSIGN(const GraphWay routing, params.choice("routing", kGraphRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  const std::uint64_t routers = plane.points(), hosts = saturating_mul(routers, per_router),
                      cables = q * (q + 1) * (q + 1) / 2;
  WEFT_TRY(params.placed(check_size(hosts + routers, hosts + cables)));
  constexpr std::array<std::string_view, 2> classes = {"host", "network"};
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(classes));

  FabricBuilder b(hosts, hosts + routers, routers);
  for (const std::string_view c : classes) (void)b.add_class(std::string(c));
  b.reserve_cables(hosts + cables);
  for (std::uint64_t h = 0; h < hosts; ++h) b.join(h, hosts + h / per_router, 0, values[0]);
  for (std::uint64_t v = 0; v < routers; ++v)
    plane.for_each_orthogonal(v, [&](std::uint64_t w) {
      if (v < w) b.join(hosts + v, hosts + w, 1, values[1]);
    });
  b.set_graph_routing(routing, seed);
  b.set_vertex_names([hosts, q](VertexId v) {
    if (v.index() < hosts) return fmt::format("node-{}", v.index());
    const auto [x, y, z] = point(v.index() - hosts, q);
    return fmt::format("({},{},{})", x, y, z);
  });
  return b.build();
}

}  // namespace

Family family() { return {kParams, build, "q=3"}; }

}  // namespace weft::topology::family_polarfly
