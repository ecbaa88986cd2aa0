// Slim Fly (Besta and Hoefler, SC 2014): the graphs of McKay, Miller and Siran of diameter 2 over the field of q
// elements, q = p^e = 4w + d with d in {-1, 0, 1}: 2 q^2 routers of degree (3q - d) / 2. Routers (0, x, y) and (1, m,
// c), x, y, m, c in the field:
//   (0,x,y) - (0,x,y')  iff y - y' in X       (1,m,c) - (1,m,c')  iff c - c' in X'
//   (0,x,y) - (1,m,c)   iff y = m x + c
// With a primitive element r: d = 1: X = even powers, X' = odd powers. d = 0 the same (every element is its own
// negative). d = -1: X = {1, r^2, .., r^(2w-2), r^(2w-1), r^(2w+1), .., r^(4w-3)}, X' = r X. Both are closed under
// negation. Router number: (0,x,y) = x q + y, (1,m,c) = q^2 + m q + c. ceil(degree / 2) hosts per router by default.
// Shortest-path routings (graph_routing.hpp).
#include <fmt/format.h>

#include <algorithm>

#include "topology/families/galois_field.hpp"
#include "topology/registry.hpp"
#include "topology/routing/graph_routing.hpp"

namespace weft::topology::family_slim_fly {
namespace {

constexpr std::array<ParamInfo, 3> kParams = {{
    {"q", "required", "size of the field: a prime power of the form 4w - 1, 4w or 4w + 1"},
    {"hosts_per_switch", "half of the router's degree, rounded up", "hosts on a router"},
    kRoutingParam<kGraphRoutings>,
}};
constexpr std::uint64_t kMaxField = 512;

bool has_slim_fly(std::uint64_t q) { return is_prime_power(q) && q % 4 != 2; }

std::pair<std::vector<bool>, std::vector<bool>> generators(const GaloisField& f) {
  const std::uint64_t q = f.size();
  const std::vector<std::uint64_t>& power = f.powers();
  std::vector<bool> x(q, false), y(q, false);
  if (q % 4 == 3) {
    const std::uint64_t w = (q + 1) / 4;
    for (std::uint64_t i = 0; i < w; ++i) {
      for (const std::uint64_t exponent : {2 * i, 2 * w - 1 + 2 * i}) {
        x[power[exponent % (q - 1)]] = true;
        y[power[(exponent + 1) % (q - 1)]] = true;
      }
    }
  } else {
    for (std::uint64_t i = 0; i < q - 1; ++i) (i % 2 == 0 ? x : y)[power[i]] = true;
    // q even: q - 1 powers are an odd number; X and X' share the element 1 as r^0 = r^(q-1).
    if (q % 2 == 0) y[1] = true;
  }
  return {x, y};
}

Result<Fabric> build(const Params& params) {
  WEFT_ASSIGN(const std::uint64_t q, params.integer("q", 3, static_cast<std::int64_t>(kMaxField)));
  if (!has_slim_fly(q))
    return params.error("q", "no such Slim Fly",
                        "a prime power from 3 on, " + field_sizes_near(q, has_slim_fly));
  const GaloisField field = *GaloisField::of(q);
  const auto [x_set, y_set] = generators(field);
  const auto degree = q + static_cast<std::uint64_t>(std::count(x_set.begin(), x_set.end(), true));
  constexpr std::int64_t kTop = static_cast<std::int64_t>(kMaxVertices);
  WEFT_ASSIGN(const std::uint64_t per_router,
              params.integer_or("hosts_per_switch", 1, kTop, (degree + 1) / 2));
  WEFT_ASSIGN(const GraphWay routing, params.choice("routing", kGraphRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  const std::uint64_t routers = 2 * q * q, hosts = saturating_mul(routers, per_router);
  WEFT_TRY(params.placed(check_size(hosts + routers, hosts + routers * degree / 2)));
  constexpr std::array<std::string_view, 2> classes = {"host", "network"};
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(classes));

  FabricBuilder b(hosts, hosts + routers, routers);
  for (const std::string_view c : classes) (void)b.add_class(std::string(c));
  b.reserve_cables(hosts + routers * degree / 2);
  for (std::uint64_t h = 0; h < hosts; ++h) b.join(h, hosts + h / per_router, 0, values[0]);
  for (std::uint64_t line = 0; line < q; ++line)
    for (std::uint64_t a = 0; a < q; ++a)
      for (std::uint64_t step = 1; step < q; ++step) {
        const std::uint64_t to = field.add(a, step);
        if (a > to) continue;  // the sets are closed under negation: every cable shows up from both ends
        if (x_set[step]) b.join(hosts + line * q + a, hosts + line * q + to, 1, values[1]);
        if (y_set[step]) b.join(hosts + q * q + line * q + a, hosts + q * q + line * q + to, 1, values[1]);
      }
  for (std::uint64_t x = 0; x < q; ++x)
    for (std::uint64_t m = 0; m < q; ++m) {
      const std::uint64_t slope = field.multiply(m, x);
      for (std::uint64_t c = 0; c < q; ++c)
        b.join(hosts + x * q + field.add(slope, c), hosts + q * q + m * q + c, 1, values[1]);
    }
  b.set_graph_routing(routing, seed);
  b.set_vertex_names([hosts, q](VertexId v) {
    if (v.index() < hosts) return fmt::format("node-{}", v.index());
    const std::uint64_t r = v.index() - hosts;
    return fmt::format("({},{},{})", r / (q * q), r / q % q, r % q);
  });
  return b.build();
}

}  // namespace

Family family() { return {kParams, build, "q=3"}; }

}  // namespace weft::topology::family_slim_fly
