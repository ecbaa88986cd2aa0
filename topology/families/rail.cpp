// Rail-optimised fat-tree of GPU nodes: a pod of `nodes` nodes with `rails` GPUs each; GPU i of every node, with its
// own network card, hangs on leaf i of the pod, so GPUs of equal index are one leaf apart. Leaves reach every spine by
// `cables` cables. The GPUs of a node share an NVSwitch (nvlink=on). Host = GPU; number = (pod nodes + node) rails +
// index.
//
// Route: within a node over the NVSwitch; same rail and pod over the leaf; else over a spine. With pxn=on a message to
// another rail first crosses the NVSwitch to the node's GPU of the destination's rail and leaves by that one's card
// (NCCL's PXN), so it stays on one rail: within a pod it needs no spine. Spine and cable: d-mod-k (destination), hashed
// (pair), random (message), adaptive (least used up link when the message starts). GPU ports: card, NVSwitch. Leaf
// ports: nodes, spines. The NVSwitch does not block: it adds only its links' latency.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "topology/registry.hpp"
#include "topology/routing/choice.hpp"

namespace weft::topology::family_rail {
namespace {

// HDR on the rails, A100's NVLink3 (600 GB/s in both directions) inside a node.
constexpr std::string_view kBandwidth = "25GB/sx25GB/sx300GB/s";
constexpr std::string_view kLatency = "500nsx500nsx200ns";
enum class Way : std::uint8_t { kDModK, kHashed, kRandom, kAdaptive };
constexpr std::array<Word<Way>, 4> kRoutings = {{{"d-mod-k", Way::kDModK},
                                                 {"hashed", Way::kHashed},
                                                 {"random", Way::kRandom},
                                                 {"adaptive", Way::kAdaptive}}};
constexpr std::array<ParamInfo, 10> kParams = {{
    {"rails", "8", "GPUs of a node, leaves of a pod"},
    {"nodes", "required", "nodes of a pod: hosts on a leaf"},
    {"pods", "1", "pods"},
    {"spines", "nodes", "spine switches"},
    {"cables", "1", "parallel cables from a leaf to a spine"},
    {"nvlink", "on", "off: no NVSwitch in the nodes"},
    {"pxn", "off", "on: change rails inside the node"},
    kRoutingParam<kRoutings>,
    {"bw", kBandwidth, "host, up1, nvlink (assumed)"},
    {"lat", kLatency, "host, up1, nvlink (assumed)"},
}};

struct Shape {
  std::uint64_t rails = 8, nodes = 1, pods = 1, spines = 1, cables = 1;
  bool nvlink = true, pxn = false;
  [[nodiscard]] std::uint64_t hosts() const { return rails * nodes * pods; }
  [[nodiscard]] std::uint64_t leaves() const { return rails * pods; }
  [[nodiscard]] std::uint64_t hubs() const { return nvlink ? nodes * pods : 0; }
  [[nodiscard]] std::uint64_t ups() const { return spines * cables; }
  [[nodiscard]] std::uint64_t leaf_vertex(std::uint64_t leaf) const { return hosts() + leaf; }
  [[nodiscard]] std::uint64_t spine_vertex(std::uint64_t s) const { return hosts() + leaves() + s; }
  [[nodiscard]] std::uint64_t hub_vertex(std::uint64_t node) const {
    return hosts() + leaves() + spines + node;
  }
  [[nodiscard]] std::uint64_t host_link(std::uint64_t h, std::uint64_t port) const {
    return h * (nvlink ? 2 : 1) + port;
  }
  [[nodiscard]] std::uint64_t leaf_link(std::uint64_t leaf, std::uint64_t port) const {
    return hosts() * (nvlink ? 2 : 1) + leaf * (nodes + ups()) + port;
  }
  [[nodiscard]] std::uint64_t spine_link(std::uint64_t s, std::uint64_t port) const {
    return leaf_link(leaves(), 0) + s * leaves() * cables + port;
  }
  [[nodiscard]] std::uint64_t hub_link(std::uint64_t node, std::uint64_t port) const {
    return spine_link(spines, 0) + node * rails + port;
  }
  [[nodiscard]] std::uint64_t leaf_of(std::uint64_t h) const {
    return h / (rails * nodes) * rails + h % rails;
  }
  [[nodiscard]] std::uint64_t node_of(std::uint64_t h) const { return h / rails; }
};

class RailRouting final : public Routing {
 public:
  RailRouting(Shape s, Way way, std::uint64_t seed) : s_(s), way_(way), seed_(seed) {}
  std::string_view name() const override { return text_of(kRoutings, way_); }
  RouteScope scope() const override { return scope_of(way_); }
  bool route(HostId src, HostId dst, std::vector<LinkId>& out) const override {
    return walk(src, dst, way_ == Way::kDModK ? dst.index() / s_.rails : pair_key(seed_, src, dst), {}, out);
  }
  bool route_message(HostId src, HostId dst, std::uint64_t message, const LinkLoad& load,
                     std::vector<LinkId>& out) const override {
    if (scope() == RouteScope::kPair) return route(src, dst, out);
    return walk(src, dst, message_key(seed_, src, dst, message),
                scope() == RouteScope::kLoad ? load : LinkLoad(), out);
  }
  std::optional<HopHistogram> hop_histogram() const override {
    const std::uint64_t n = s_.hosts(), pod = s_.nodes * s_.rails;
    HopHistogram h;
    const std::uint64_t inside = s_.rails - 1, same_leaf = s_.nodes - 1, other_leaf = inside * (s_.nodes - 1),
                        other_pod_rail = (n - pod) / s_.rails, other_pod = n - pod - other_pod_rail;
    const bool pxn = s_.pxn && s_.nvlink;
    h.add(s_.nvlink ? 2 : 4, n * inside);
    h.add(2, n * same_leaf);
    h.add(4, n * ((pxn ? 0 : other_pod) + other_pod_rail));
    h.add(4, n * other_leaf);  // two over the NVSwitch and two over the leaf, or four over a spine
    h.add(6, n * (pxn ? other_pod : 0));
    return h;
  }

 private:
  static void push(std::vector<LinkId>& out, std::uint64_t l) {
    out.push_back(LinkId(static_cast<std::uint32_t>(l)));
  }
  bool walk(HostId src, HostId dst, std::uint64_t pick, const LinkLoad& load,
            std::vector<LinkId>& out) const {
    if (src == dst) return true;
    std::uint64_t from = src.index();
    const std::uint64_t to = dst.index(), rail = to % s_.rails;
    const bool same_node = s_.node_of(from) == s_.node_of(to);
    if (s_.nvlink && (same_node || (s_.pxn && from % s_.rails != rail))) {
      push(out, s_.host_link(from, 1));
      push(out, s_.hub_link(s_.node_of(from), rail));
      if (same_node) return true;
      from = s_.node_of(from) * s_.rails + rail;
    }
    push(out, s_.host_link(from, 0));
    const std::uint64_t here = s_.leaf_of(from), there = s_.leaf_of(to);
    if (here != there) {
      const std::uint64_t first = s_.leaf_link(here, s_.nodes);
      const std::uint64_t port = least_loaded(load, first, s_.ups(), pick % s_.ups());
      push(out, first + port);
      push(out, s_.spine_link(port % s_.spines, there * s_.cables + port / s_.spines));
    }
    push(out, s_.leaf_link(there, s_.node_of(to) % s_.nodes));
    return true;
  }
  Shape s_;
  Way way_;
  std::uint64_t seed_;
};

Result<Fabric> build(const Params& params) {
  Shape s;
  constexpr std::int64_t kTop = 1 << 20;
  WEFT_ASSIGN(s.rails, params.integer_or("rails", 1, kTop, 8));
  const std::string_view key =
      params.has("nodes") || !params.has("hosts_per_switch") ? "nodes" : "hosts_per_switch";
  WEFT_ASSIGN(s.nodes, params.integer(key, 1, kTop));
  WEFT_ASSIGN(const std::uint64_t per_switch, params.integer_or("hosts_per_switch", 1, kTop, s.nodes));
  if (per_switch != s.nodes)
    return params.error("hosts_per_switch", "it is nodes", fmt::format("{}", s.nodes));
  WEFT_ASSIGN(s.pods, params.integer_or("pods", 1, kTop, 1));
  WEFT_ASSIGN(s.spines, params.integer_or("spines", 1, kTop, s.nodes));
  WEFT_ASSIGN(s.cables, params.integer_or("cables", 1, 1 << 16, 1));
  WEFT_ASSIGN(s.nvlink, params.on_off("nvlink", true));
  WEFT_ASSIGN(s.pxn, params.on_off("pxn", false));
  if (s.pxn && !s.nvlink) return params.error("pxn", "rails are changed over the NVSwitch", "nvlink=on");
  WEFT_ASSIGN(const std::uint64_t nics, params.integer_or("nics", 1, kTop, 1));
  if (s.nvlink && s.rails % nics != 0)
    return params.error("nics", "the GPUs of a host would be in two nodes, on two NVSwitches",
                        fmt::format("a divisor of {} (rails), or nvlink=off", s.rails));
  WEFT_ASSIGN(const Way routing, params.choice("routing", kRoutings));
  WEFT_ASSIGN(const std::uint64_t seed, params.seed());
  const std::uint64_t hosts = saturating_mul(saturating_mul(s.rails, s.nodes), s.pods);
  WEFT_TRY(params.placed(check_size(hosts, hosts)));
  const std::uint64_t vertices = hosts + s.leaves() + s.spines + s.hubs();
  const std::uint64_t cables =
      hosts * (s.nvlink ? 2 : 1) + saturating_mul(s.leaves(), saturating_mul(s.spines, s.cables));
  WEFT_TRY(params.placed(check_size(vertices, cables)));
  constexpr std::array<std::string_view, 3> classes = {"host", "up1", "nvlink"};
  WEFT_ASSIGN(const std::vector<LinkValues> values, params.link_values(classes, kBandwidth, kLatency));

  FabricBuilder b(hosts, vertices, vertices - hosts);
  for (const std::string_view c : classes) (void)b.add_class(std::string(c));
  b.set_group_classes(std::array<std::uint8_t, 1>{1});  // pods; without NVSwitches that join them leaves
  b.set_class_in_hosts(2);
  b.reserve_cables(cables);
  for (std::uint64_t h = 0; h < hosts; ++h) {
    b.cable(h, 0, s.leaf_vertex(s.leaf_of(h)), s.node_of(h) % s.nodes, 0, values[0]);
    if (s.nvlink) b.cable(h, 1, s.hub_vertex(s.node_of(h)), h % s.rails, 2, values[2]);
  }
  for (std::uint64_t leaf = 0; leaf < s.leaves(); ++leaf)
    for (std::uint64_t port = 0; port < s.ups(); ++port)
      b.cable(s.leaf_vertex(leaf), s.nodes + port, s.spine_vertex(port % s.spines),
              leaf * s.cables + port / s.spines, 1, values[1]);
  b.set_routing(std::make_shared<RailRouting>(s, routing, seed));
  b.set_vertex_names([s](VertexId vertex) {
    const std::uint64_t v = vertex.index();
    if (v < s.hosts()) return fmt::format("node-{}-gpu-{}", v / s.rails, v % s.rails);
    if (v < s.spine_vertex(0))
      return fmt::format("pod-{}-leaf-{}", (v - s.hosts()) / s.rails, (v - s.hosts()) % s.rails);
    if (v < s.hub_vertex(0)) return fmt::format("spine-{}", v - s.spine_vertex(0));
    return fmt::format("node-{}-nvswitch", v - s.hub_vertex(0));
  });
  return b.build();
}

}  // namespace

Family family() { return {kParams, build, "nodes=2"}; }

}  // namespace weft::topology::family_rail
