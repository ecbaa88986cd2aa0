// m-port n-tree FT(m, n) of Lin, Chung and Huang (IPDPS 2004), k = m/2: 2k^n hosts, (2n-1)k^(n-1) switches of
// m ports.
//
// Labels. Host P(p0 p1 ... p_{n-1}): p0 < m, other digits < k; its number is the mixed-radix value, p0 first.
// Switch SW<w0 ... w_{n-2}, l>: level 0 = root (all digits < k) ... n-1 = leaf (w0 < m, others < k).
// Ports: down 0..k-1 (root: 0..m-1), up k..m-1. Down port q of <w, l> leads to <w0..w_{l-1}, q, w_l..w_{n-3};
// l+1>, arriving at port w_{n-2}+k; down port q of a leaf leads to host (w, q).
//
// Routing goes up from the source's leaf to the level of the longest common prefix, then down by the
// destination's digits. The up port at level l is the digit floor(x / k^(n-1-l)) mod k of a number x:
//   mlid     x = DLID - 1 = PID(dst) k^(n-1) + rank of src in its group: one source per up link (InfiniBand
//   LMC)
//   d-mod-k  x = PID(dst): one destination per down link
//   s-mod-k  x = PID(src)
// or, without such a number: hashed, every digit by a hash of the pair; random, drawn for every message; adaptive, the
// up link with the fewest messages when the message starts (of equals a random one).
// A route is computed in O(n) without tables: with every switch using all m ports, link numbers are closed
// forms.
#include <fmt/format.h>

#include <array>

#include "topology/registry.hpp"
#include "topology/routing/choice.hpp"

namespace weft::topology::family_fat_tree {
namespace {

enum class Way : std::uint8_t { kMlid, kDModK, kSModK, kHashed, kRandom, kAdaptive };
constexpr std::array<Word<Way>, 6> kRoutings = {{{"mlid", Way::kMlid},
                                                 {"d-mod-k", Way::kDModK},
                                                 {"s-mod-k", Way::kSModK},
                                                 {"hashed", Way::kHashed},
                                                 {"random", Way::kRandom},
                                                 {"adaptive", Way::kAdaptive}}};
constexpr std::array<ParamInfo, 3> kParams = {{
    kRoutingParam<kRoutings>,
    {"m", "required", "ports of a switch, even"},
    {"n", "required", "levels of switches"},
}};

// Shape and numbering. Vertices: hosts by number, then switches level by level from the root; links by port.
struct Tree {
  std::uint64_t m = 2, n = 1, k = 1;
  std::vector<std::uint64_t> power;  // k^0 .. k^n

  [[nodiscard]] std::uint64_t hosts() const { return 2 * power[n]; }
  [[nodiscard]] std::uint64_t switches() const { return (2 * n - 1) * power[n - 1]; }
  [[nodiscard]] std::uint64_t level_size(std::uint64_t l) const {
    return l == 0 ? power[n - 1] : 2 * power[n - 1];
  }
  [[nodiscard]] std::uint64_t level_base(std::uint64_t l) const {
    return l == 0 ? 0 : power[n - 1] + (l - 1) * 2 * power[n - 1];
  }
  // First link out of switch `index` of level l. Hosts have one link each, numbered first.
  [[nodiscard]] std::uint64_t link(std::uint64_t l, std::uint64_t index, std::uint64_t port) const {
    return hosts() + (level_base(l) + index) * m + port;
  }
};

class FatTreeRouting final : public Routing {
 public:
  FatTreeRouting(Tree t, Way way, std::uint64_t seed) : t_(std::move(t)), way_(way), seed_(seed) {}

  bool route(HostId from, HostId to, std::vector<LinkId>& out) const override {
    const std::uint64_t key = pair_key(seed_, from, to);
    return way_ == Way::kHashed || scope() != RouteScope::kPair
               ? walk(from, to, out, [&](std::uint64_t l, std::uint64_t up) { return drawn(key, l, up, {}); })
               : formula(from, to, out);
  }
  RouteScope scope() const override { return scope_of(way_); }
  bool route_message(HostId from, HostId to, std::uint64_t message, const LinkLoad& load,
                     std::vector<LinkId>& out) const override {
    if (scope() == RouteScope::kPair) return route(from, to, out);
    const std::uint64_t key = message_key(seed_, from, to, message);
    const LinkLoad seen = scope() == RouteScope::kLoad ? load : LinkLoad();
    return walk(from, to, out, [&](std::uint64_t l, std::uint64_t up) { return drawn(key, l, up, seen); });
  }
  std::string_view name() const override { return text_of(kRoutings, way_); }
  std::optional<HopHistogram> hop_histogram() const override {
    HopHistogram h;
    const std::uint64_t n = t_.n, hosts = t_.hosts();
    h.add(2 * n, hosts * (hosts - t_.power[n - 1]));
    for (std::uint64_t a = 1; a < n; ++a) h.add(2 * (n - a), hosts * (t_.k - 1) * t_.power[n - 1 - a]);
    return h;
  }

 private:
  // Level of the lowest common ancestor: length of the common prefix of the two labels.
  [[nodiscard]] std::uint64_t common_level(std::uint64_t src, std::uint64_t dst) const {
    std::uint64_t lca = t_.n - 1;
    while (lca > 0 && src / t_.power[t_.n - lca] != dst / t_.power[t_.n - lca]) --lca;
    return lca;
  }
  [[nodiscard]] std::uint64_t drawn(std::uint64_t key, std::uint64_t l, std::uint64_t first_up,
                                    const LinkLoad& load) const {
    return least_loaded(load, first_up, t_.k, mix_hash(key, l) % t_.k);
  }
  bool formula(HostId from, HostId to, std::vector<LinkId>& out) const {
    const std::uint64_t src = from.index(), dst = to.index(), n = t_.n;
    std::uint64_t x = dst;
    if (way_ == Way::kMlid)
      x = src % t_.power[n - 1 - common_level(src, dst)];  // PID(dst) k^(n-1) falls out of every digit used
    if (way_ == Way::kSModK) x = src;
    return walk(from, to, out,
                [&](std::uint64_t l, std::uint64_t) { return x / t_.power[n - 1 - l] % t_.k; });
  }
  // `choose(level, first up link)`: the digit of the up port to take.
  template <class Choose>
  bool walk(HostId from, HostId to, std::vector<LinkId>& out, Choose choose) const {
    if (from == to) return true;
    const std::uint64_t src = from.index(), dst = to.index(), n = t_.n, k = t_.k;
    const std::uint64_t lca = common_level(src, dst);
    // At level l a switch on the way up is (prefix of src, digits taken so far); `taken` holds those digits.
    out.push_back(LinkId(static_cast<std::uint32_t>(src)));
    std::uint64_t taken = 0;
    for (std::uint64_t l = n - 1; l > lca; --l) {
      const std::uint64_t node = src / t_.power[n - l] * t_.power[n - 1 - l] + taken;
      const std::uint64_t digit = choose(l, t_.link(l, node, k));
      push(out, l, node, digit + k);
      taken = taken * k + digit;
    }
    for (std::uint64_t l = lca; l < n; ++l) {
      const std::uint64_t below = dst / t_.power[n - 1 - l];  // prefix of dst with one digit more
      const std::uint64_t port = l == 0 ? below : below % k;
      push(out, l, dst / t_.power[n - l] * t_.power[n - 1 - l] * (l == 0 ? 0 : 1) + taken, port);
      taken /= k;
    }
    return true;
  }
  void push(std::vector<LinkId>& out, std::uint64_t l, std::uint64_t index, std::uint64_t port) const {
    out.push_back(LinkId(static_cast<std::uint32_t>(t_.link(l, index, port))));
  }
  Tree t_;
  Way way_;
  std::uint64_t seed_;
};

// Label of a switch as in the paper: digits, then level.
std::string switch_name(const Tree& t, std::uint64_t l, std::uint64_t index) {
  std::string digits;
  for (std::uint64_t i = 0; i + 1 < t.n; ++i) {
    const std::uint64_t value = index / t.power[t.n - 2 - i];
    if (i > 0 && t.m > 10) digits += '.';
    digits += fmt::format("{}", i == 0 ? value : value % t.k);
  }
  return fmt::format("<{},{}>", digits, l);
}

Result<Fabric> build(const Params& params) {
  Tree t;
  WEFT_ASSIGN(t.m, params.integer("m", 2, 1 << 20));
  WEFT_ASSIGN(t.n, params.integer("n", 1, 32));
  if (t.m % 2 != 0) return params.error("m", "m must be even", "half of the ports up, half down");
  t.k = t.m / 2;
  WEFT_ASSIGN(const std::uint64_t per_switch,
              params.integer_or("hosts_per_switch", 1, 1 << 20, t.n == 1 ? t.m : t.k));
  if (per_switch != (t.n == 1 ? t.m : t.k))
    return params.error("hosts_per_switch", "an m-port n-tree fixes it; xgft does not",
                        fmt::format("{}", t.k));
  WEFT_ASSIGN(const Way routing, params.choice("routing", kRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  t.power.push_back(1);
  for (std::uint64_t i = 0; i < t.n; ++i) t.power.push_back(saturating_mul(t.power.back(), t.k));
  const std::uint64_t hosts = saturating_mul(2, t.power[t.n]);
  WEFT_TRY(params.placed(
      check_size(hosts + saturating_mul(2 * t.n - 1, t.power[t.n - 1]), saturating_mul(hosts, t.n))));

  std::vector<std::string> class_names = {"host"};
  for (std::uint64_t i = 1; i < t.n; ++i) class_names.push_back(fmt::format("up{}", i));
  const std::vector<std::string_view> views(class_names.begin(), class_names.end());
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(views));

  FabricBuilder b(hosts, hosts + t.switches(), t.switches());
  b.reserve_cables(hosts * t.n);
  for (const std::string& name : class_names) (void)b.add_class(name);
  const auto vertex = [&](std::uint64_t l, std::uint64_t index) { return hosts + t.level_base(l) + index; };
  for (std::uint64_t h = 0; h < hosts; ++h) {
    const std::uint64_t leaf = t.n == 1 ? 0 : h / t.k;
    b.cable(h, 0, vertex(t.n - 1, leaf), t.n == 1 ? h : h % t.k, 0, values[0]);
  }
  for (std::uint64_t l = 0; l + 1 < t.n; ++l) {
    const std::uint64_t link_class = t.n - 1 - l;       // up1 = leaves to the level above them
    const std::uint64_t suffix = t.power[t.n - 1 - l];  // number of values of w_l..w_{n-2}
    for (std::uint64_t i = 0; i < t.level_size(l); ++i)
      for (std::uint64_t q = 0; q < (l == 0 ? t.m : t.k); ++q) {
        const std::uint64_t prefix = i / suffix, rest = i % suffix;
        const std::uint64_t child = (prefix * (l == 0 ? t.m : t.k) + q) * (suffix / t.k) + rest / t.k;
        b.cable(vertex(l, i), q, vertex(l + 1, child), rest % t.k + t.k,
                static_cast<std::uint8_t>(link_class), values[link_class]);
      }
  }
  b.set_routing(std::make_shared<FatTreeRouting>(t, routing, seed));
  b.set_vertex_names([t, hosts](VertexId v) {
    if (v.index() < hosts) return fmt::format("node-{}", v.index());
    std::uint64_t s = v.index() - hosts, l = 0;
    while (s >= t.level_size(l)) s -= t.level_size(l++);
    return switch_name(t, l, s);
  });
  b.set_bisection(t.power[t.n]);
  return b.build();
}

}  // namespace

Family family() { return {kParams, build, "m=4,n=2"}; }

}  // namespace weft::topology::family_fat_tree
