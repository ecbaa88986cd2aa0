// Extended generalised fat-tree XGFT(h; m_1..m_h; w_1..w_h), with p_1..p_h parallel cables also called PGFT.
//
// Level 0 = hosts, level i switches: (prod_{j<=i} w_j)(prod_{j>i} m_j). A node has h digits; digit i has
// radix w_i if i <= its level, else m_i; digit 1 counts fastest. Nodes of level l and l+1 are joined iff all
// digits but l+1 agree, by p_{l+1} cables: cable c takes the child's up port parent_digit + c w_{l+1} and the
// parent's down port child_digit + c m_{l+1}. Down ports of a switch come first.
//
// Routing d-mod-k: from level l the up port is floor(d / prod_{i<=l} w_i) mod (w_{l+1} p_{l+1}); parent digit
// = port mod w_{l+1}, cable = port / w_{l+1}. Down by the digits of d on the cables the same formula gives:
// one tree per destination. s-mod-k: the same with the source's number. hashed: every up port by a hash of the
// pair; random: drawn for every message; adaptive: the up link with the fewest messages when the message starts (of
// equals a random one). O(h) per route, no tables.
//
// A k-ary n-tree is XGFT(n; k..k; 1,k..k): keys k and n in place of m and w. A host with several network cards (rails)
// has w_1 p_1 > 1; the up port formula deals destinations over them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topology/registry.hpp"
#include "topology/routing/choice.hpp"

namespace weft::topology::family_xgft {
namespace {

enum class Way : std::uint8_t { kDModK, kSModK, kHashed, kRandom, kAdaptive };
constexpr std::array<Word<Way>, 5> kRoutings = {{{"d-mod-k", Way::kDModK},
                                                 {"s-mod-k", Way::kSModK},
                                                 {"hashed", Way::kHashed},
                                                 {"random", Way::kRandom},
                                                 {"adaptive", Way::kAdaptive}}};
constexpr std::array<ParamInfo, 7> kParams = {{
    {"h", "length of m", "levels of switches"},
    {"k", "none", "with n in place of m and w: a k-ary n-tree"},
    {"n", "none", "levels of the k-ary n-tree"},
    kRoutingParam<kRoutings>,
    {"m", "required", "children of a node of each level, level 1 first, joined by x"},
    {"w", "required", "parents of a node below each level"},
    {"p", "1 each", "parallel cables to each parent"},
}};
constexpr std::size_t kMaxLevels = 16;

struct Shape {
  std::size_t h = 0;
  // Index 0 unused in m, w, p. M[i], W[i] = products up to i.
  std::vector<std::uint64_t> m, w, p, M, W;
  std::vector<std::uint64_t> vertex_base, link_base, degree;  // per level 0..h

  [[nodiscard]] std::uint64_t level_size(std::size_t l) const { return W[l] * (M[h] / M[l]); }
  [[nodiscard]] std::uint64_t down_ports(std::size_t l) const { return l == 0 ? 0 : m[l] * p[l]; }
  [[nodiscard]] std::uint64_t up_ports(std::size_t l) const { return l == h ? 0 : w[l + 1] * p[l + 1]; }
};

class XgftRouting final : public Routing {
 public:
  XgftRouting(Shape s, Way way, std::uint64_t seed) : s_(std::move(s)), way_(way), seed_(seed) {}

  bool route(HostId from, HostId to, std::vector<LinkId>& out) const override {
    if (way_ == Way::kDModK || way_ == Way::kSModK) {
      const std::uint64_t x = way_ == Way::kSModK ? from.index() : to.index();
      return walk(from, to, out, [&](std::size_t l, std::uint64_t) { return x / s_.W[l] % s_.up_ports(l); });
    }
    return drawn(from, to, pair_key(seed_, from, to), {}, out);
  }
  RouteScope scope() const override { return scope_of(way_); }
  bool route_message(HostId from, HostId to, std::uint64_t message, const LinkLoad& load,
                     std::vector<LinkId>& out) const override {
    if (scope() == RouteScope::kPair) return route(from, to, out);
    return drawn(from, to, message_key(seed_, from, to, message),
                 scope() == RouteScope::kLoad ? load : LinkLoad(), out);
  }
  std::string_view name() const override { return text_of(kRoutings, way_); }
  std::optional<HopHistogram> hop_histogram() const override {
    HopHistogram h;
    for (std::size_t l = 1; l <= s_.h; ++l) h.add(2 * l, s_.M[s_.h] * (s_.M[l] - s_.M[l - 1]));
    return h;
  }

 private:
  bool drawn(HostId from, HostId to, std::uint64_t key, const LinkLoad& load,
             std::vector<LinkId>& out) const {
    return walk(from, to, out, [&](std::size_t l, std::uint64_t first_up) {
      return least_loaded(load, first_up, s_.up_ports(l), mix_hash(key, l) % s_.up_ports(l));
    });
  }
  // `choose(level, first up link)`: the up port to take.
  template <class Choose>
  bool walk(HostId from, HostId to, std::vector<LinkId>& out, Choose choose) const {
    if (from == to) return true;
    const std::uint64_t src = from.index(), dst = to.index();
    std::size_t top = 1;  // level of the lowest common ancestors
    while (src / s_.M[top] != dst / s_.M[top]) ++top;
    // A node of level l on the way has digits 1..l = the parents taken (their value: up[l]), the rest the
    // source's or, going down, the destination's.
    std::array<std::uint64_t, kMaxLevels + 1> up{};
    std::array<std::uint64_t, kMaxLevels + 1> cable{};
    for (std::size_t l = 0; l < top; ++l) {
      const std::uint64_t node = up[l] + s_.W[l] * (src / s_.M[l]);
      const std::uint64_t port = choose(l, s_.link_base[l] + node * s_.degree[l] + s_.down_ports(l));
      push(out, l, node, s_.down_ports(l) + port);
      up[l + 1] = up[l] + s_.W[l] * (port % s_.w[l + 1]);
      cable[l + 1] = port / s_.w[l + 1];
    }
    for (std::size_t l = top; l > 0; --l) {
      const std::uint64_t child = dst / s_.M[l - 1] % s_.m[l];
      push(out, l, up[l] + s_.W[l] * (dst / s_.M[l]), child + cable[l] * s_.m[l]);
    }
    return true;
  }
  void push(std::vector<LinkId>& out, std::size_t l, std::uint64_t index, std::uint64_t port) const {
    out.push_back(LinkId(static_cast<std::uint32_t>(s_.link_base[l] + index * s_.degree[l] + port)));
  }
  Shape s_;
  Way way_;
  std::uint64_t seed_;
};

Result<Shape> read_shape(const Params& params) {
  Shape s;
  WEFT_ASSIGN(const std::uint64_t h, params.integer_or("h", 1, kMaxLevels, 0));
  constexpr std::int64_t kTop = 1 << 24;
  if (params.has("k") || params.has("n")) {
    for (const std::string_view key : {"m", "w", "h"})
      if (params.has(key))
        return params.error(key, fmt::format("{} and a k-ary n-tree's k, n", key), "one or the other");
    WEFT_ASSIGN(const std::uint64_t k, params.integer("k", 1, kTop));
    WEFT_ASSIGN(const std::uint64_t n, params.integer("n", 1, kMaxLevels));
    s.m.assign(n, k);
    s.w.assign(n, k);
    s.w[0] = 1;
  } else {
    WEFT_ASSIGN(s.m, params.list("m", h, kMaxLevels, 1, kTop));
    WEFT_ASSIGN(s.w, params.list("w", s.m.size(), kMaxLevels, 1, kTop));
  }
  s.h = s.m.size();
  s.p.assign(s.h, 1);
  if (params.has("p")) {
    WEFT_ASSIGN(s.p, params.list("p", s.h, kMaxLevels, 1, kTop));
  }
  WEFT_ASSIGN(const std::uint64_t per_switch, params.integer_or("hosts_per_switch", 1, kTop, s.m[0]));
  if (per_switch != s.m[0])
    return params.error("hosts_per_switch", "it is the first value of m", fmt::format("{}", s.m[0]));
  for (auto* list : {&s.m, &s.w, &s.p}) list->insert(list->begin(), 0);
  s.M = s.W = {1};
  for (std::size_t i = 1; i <= s.h; ++i) {
    s.M.push_back(saturating_mul(s.M.back(), s.m[i]));
    s.W.push_back(saturating_mul(s.W.back(), s.w[i]));
  }
  std::uint64_t vertices = 0, cables = 0, links = 0;
  for (std::size_t l = 0; l <= s.h; ++l) {
    std::uint64_t above = 1;  // prod of m over the levels above l; M may have saturated, so not M[h] / M[l]
    for (std::size_t i = l + 1; i <= s.h; ++i) above = saturating_mul(above, s.m[i]);
    const std::uint64_t size = saturating_mul(s.W[l], above);
    s.vertex_base.push_back(vertices);
    s.link_base.push_back(links);
    const std::uint64_t ups = l == s.h ? 0 : saturating_mul(s.w[l + 1], s.p[l + 1]);
    const std::uint64_t downs = l == 0 ? 0 : saturating_mul(s.m[l], s.p[l]);
    s.degree.push_back(ups + downs);
    vertices += size;
    cables += saturating_mul(size, ups);
    links += saturating_mul(size, ups + downs);
    WEFT_TRY(params.placed(check_size(vertices, cables)));
  }
  return s;
}

Result<Fabric> build(const Params& params) {
  WEFT_ASSIGN(const Shape s, read_shape(params));
  WEFT_ASSIGN(const Way routing, params.choice("routing", kRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  std::vector<std::string> class_names = {"host"};
  for (std::size_t l = 1; l < s.h; ++l) class_names.push_back(fmt::format("up{}", l));
  const std::vector<std::string_view> views(class_names.begin(), class_names.end());
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(views));

  const std::uint64_t hosts = s.M[s.h];
  const std::uint64_t vertices = s.vertex_base[s.h] + s.level_size(s.h);
  FabricBuilder b(hosts, vertices, vertices - hosts);
  for (const std::string& name : class_names) (void)b.add_class(name);
  std::uint64_t cables = 0;
  for (std::size_t l = 0; l < s.h; ++l) cables += s.level_size(l) * s.up_ports(l);
  b.reserve_cables(cables);
  std::optional<std::uint64_t> bisection;
  for (std::size_t l = 0; l < s.h; ++l) {
    const std::uint64_t w = s.w[l + 1], m = s.m[l + 1], p = s.p[l + 1];
    for (std::uint64_t i = 0; i < s.level_size(l); ++i) {
      const std::uint64_t low = i % s.W[l], digit = i / s.W[l] % m, high = i / s.W[l] / m;
      for (std::uint64_t parent_digit = 0; parent_digit < w; ++parent_digit) {
        const std::uint64_t parent = low + s.W[l] * (parent_digit + w * high);
        for (std::uint64_t c = 0; c < p; ++c)
          b.cable(s.vertex_base[l] + i, s.down_ports(l) + parent_digit + c * w, s.vertex_base[l + 1] + parent,
                  digit + c * m, static_cast<std::uint8_t>(l), values[l]);
      }
    }
    // Half of the subtrees below level l+1 cut off from everything above them. Hosts stay with their switch while that
    // is one of several.
    const bool parts_switches = l > 0 || s.w[1] > 1 || s.M[s.h] == s.M[1];
    if (parts_switches && s.M[s.h] / s.M[l] % 2 == 0) {
      const std::uint64_t cut = s.level_size(l) * w * p / 2;
      bisection = std::min(bisection.value_or(cut), cut);
    }
  }
  b.set_routing(std::make_shared<XgftRouting>(s, routing, seed));
  b.set_vertex_names([s](VertexId v) {
    std::size_t l = s.h;
    while (v.index() < s.vertex_base[l]) --l;
    if (l == 0) return fmt::format("node-{}", v.index());
    return fmt::format("switch-{}-{}", l, v.index() - s.vertex_base[l]);
  });
  b.set_bisection(bisection);
  return b.build();
}

}  // namespace

Family family() { return {kParams, build, "m=4x4,w=1x2"}; }

}  // namespace weft::topology::family_xgft
