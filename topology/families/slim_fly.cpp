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

#include "core/check.hpp"
#include "topology/registry.hpp"
#include "topology/routing/graph_routing.hpp"

namespace weft::topology {
namespace {

constexpr std::array<ParamInfo, 3> kParams = {{
    {"q", "required", "size of the field: a prime power of the form 4w - 1, 4w or 4w + 1"},
    {"hosts_per_switch", "half of the router's degree, rounded up", "hosts on a router"},
    {"routing", "shortest", "shortest, ecmp, random, adaptive"},
}};
constexpr std::uint64_t kMaxField = 512;

// The field of p^e elements; element = number whose digits to base p are the coefficients of a polynomial.
class Field {
 public:
  Field(std::uint64_t p, std::uint64_t e) : p_(p), e_(e) {
    q_ = 1;
    for (std::uint64_t i = 0; i < e; ++i) q_ *= p;
    // The first monic polynomial of degree e that makes the powers of some element run through the whole field.
    for (reduction_ = 0; reduction_ < q_; ++reduction_)
      for (primitive_ = e == 1 ? 2 % p : p; primitive_ < q_; ++primitive_)
        if (runs_through()) return;
    primitive_ = 1;  // q = 2
  }
  [[nodiscard]] std::uint64_t size() const { return q_; }
  [[nodiscard]] std::uint64_t primitive() const { return primitive_; }
  [[nodiscard]] std::uint64_t add(std::uint64_t a, std::uint64_t b) const {
    std::uint64_t sum = 0, unit = 1;
    for (std::uint64_t i = 0; i < e_; ++i, unit *= p_, a /= p_, b /= p_) sum += (a % p_ + b % p_) % p_ * unit;
    return sum;
  }
  [[nodiscard]] std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const {
    std::uint64_t product = 0;
    // Horner: from the highest coefficient of b on, shift and add.
    std::uint64_t unit = q_ / p_;
    for (std::uint64_t i = 0; i < e_; ++i, unit /= p_) {
      product = shift(product);
      for (std::uint64_t n = b / unit % p_; n > 0; --n) product = add(product, a);
    }
    return product;
  }

 private:
  // Times the unknown: the coefficient that leaves comes back by the reduction x^e = reduction_.
  [[nodiscard]] std::uint64_t shift(std::uint64_t a) const {
    if (e_ == 1) return 0;
    const std::uint64_t top = a / (q_ / p_);
    std::uint64_t out = a % (q_ / p_) * p_;
    for (std::uint64_t n = 0; n < top; ++n) out = add(out, reduction_);
    return out;
  }
  [[nodiscard]] bool runs_through() const {
    std::vector<bool> seen(q_, false);
    std::uint64_t x = 1;
    for (std::uint64_t i = 0; i + 1 < q_; ++i) {
      if (x == 0 || seen[x]) return false;
      seen[x] = true;
      x = multiply(x, primitive_);
    }
    return x == 1;
  }
  std::uint64_t p_, e_, q_ = 1, reduction_ = 0, primitive_ = 1;
};

// q = p^e, or e = 0.
std::pair<std::uint64_t, std::uint64_t> prime_power(std::uint64_t q) {
  std::uint64_t p = 2;
  while (p * p <= q && q % p != 0) ++p;
  if (p * p > q) return {q, 1};
  std::uint64_t e = 0;
  for (; q % p == 0; q /= p) ++e;
  return {p, q == 1 ? e : 0};
}

std::pair<std::vector<bool>, std::vector<bool>> generators(const Field& f) {
  const std::uint64_t q = f.size();
  std::vector<std::uint64_t> power = {1};
  while (power.size() + 1 < q) power.push_back(f.multiply(power.back(), f.primitive()));
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
  const auto [p, e] = prime_power(q);
  if (e == 0 || q % 4 == 2) {
    std::string near;
    for (std::uint64_t n = q > 8 ? q - 8 : 3; n <= q + 8; ++n)
      if (prime_power(n).second > 0 && n % 4 != 2) near += fmt::format("{}{}", near.empty() ? "" : ", ", n);
    return params.error("q", "no such Slim Fly", fmt::format("a prime power from 3 on, like {}", near));
  }
  const Field field(p, e);
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

Family family_slim_fly() { return {kParams, build, {}, {}}; }

}  // namespace weft::topology
