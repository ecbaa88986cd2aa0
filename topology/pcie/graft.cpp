#include "topology/pcie/graft.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/suggest.hpp"
#include "topology/connected.hpp"
#include "topology/pcie/tree.hpp"

namespace weft::topology {
namespace {

// A host of the result: number `number` of the shape in a node.
struct NodeEnd {
  std::uint64_t node = 0;
  std::uint32_t number = 0;
};

// Where everything of the grafted fabric is.
struct Layout {
  PcieTreeShape shape;
  std::uint64_t nodes = 0;
  std::uint64_t hosts = 0;         // of the result
  std::uint64_t network_base = 0;  // vertex of the network's vertex 0
  std::uint64_t inner_base = 0;    // first vertex of switches and root complexes
  std::uint64_t vertices = 0;
  std::vector<std::uint32_t> inner;  // numbers in shape.nodes
  std::vector<std::uint32_t> slot;   // by number: index into gpus, memories, nics or inner

  [[nodiscard]] std::uint32_t vertex(std::uint64_t node, std::uint32_t number) const {
    const std::uint64_t gpus = shape.gpus.size(), memories = shape.memories.size();
    std::uint64_t v = 0;
    switch (shape.nodes[number].kind) {
      case PcieKind::kGpu:
        v = node * gpus + slot[number];
        break;
      case PcieKind::kMemory:
        v = nodes * gpus + node * memories + slot[number];
        break;
      case PcieKind::kNic:
        v = network_base + node * shape.nics.size() + slot[number];
        break;
      default:
        v = inner_base + node * inner.size() + slot[number];
    }
    return static_cast<std::uint32_t>(v);
  }
  [[nodiscard]] NodeEnd endpoint(std::uint64_t host) const {
    const std::uint64_t gpus = shape.gpus.size(), memories = shape.memories.size();
    if (host < nodes * gpus) return {host / gpus, shape.gpus[host % gpus]};
    host -= nodes * gpus;
    return {host / memories, shape.memories[host % memories]};
  }
  // Card `nic` of a node as a host of the network.
  [[nodiscard]] HostId card(std::uint64_t node, std::uint32_t nic) const {
    return HostId(static_cast<std::uint32_t>(node * shape.nics.size() + nic));
  }
};

class GraftRouting final : public Routing {
 public:
  GraftRouting(std::shared_ptr<const Layout> layout, std::shared_ptr<const Fabric> network,
               std::shared_ptr<const PcieForest> forest, std::vector<LinkId> link_of)
      : layout_(std::move(layout)),
        network_(std::move(network)),
        forest_(std::move(forest)),
        link_of_(std::move(link_of)),
        name_(fmt::format("{}+{}", network_->routing().name(), kPcieRouting)) {
    if (layout_->shape.nics.size() == 1 || !network_->wiring_known()) return;
    part_ = connected_parts(*network_, [](LinkId) { return true; });
    part_.resize(network_->host_count());
    if (std::ranges::count(part_, part_.front()) == std::ssize(part_)) part_ = {};
  }

  bool route(HostId src, HostId dst, std::vector<LinkId>& out) const override {
    return between(src, dst, out, [&](HostId card, HostId far_card) {
      return network_->routing().route(card, far_card, out);
    });
  }
  RouteScope scope() const override { return network_->routing().scope(); }
  // That of the network between the cards of the route: GPUs behind one card send in turn with each other, and within a node
  // nobody does.
  std::optional<std::uint32_t> counter(HostId src, HostId dst) const override {
    const NodeEnd from = layout_->endpoint(src.index()), to = layout_->endpoint(dst.index());
    if (from.node == to.node) return std::nullopt;
    std::optional<std::uint32_t> own;
    std::vector<LinkId> links;
    (void)by_cards(from, to, [&](HostId card, HostId far_card) {
      own = network_->routing().counter(card, far_card);
      // A network that has no counters has none between other cards, and where there are no others it does not matter.
      if (!own || layout_->shape.nics.size() == 1) return true;
      links.clear();
      return network_->routing().route(card, far_card, links);
    });
    return own;
  }
  bool route_message(HostId src, HostId dst, std::uint64_t message, const LinkLoad& load,
                     std::vector<LinkId>& out) const override {
    // The network knows its links by its own numbers.
    const LinkLoad own = scope() == RouteScope::kLoad ? LinkLoad(load, link_of_, 0) : LinkLoad();
    return between(src, dst, out, [&](HostId card, HostId far_card) {
      return network_->routing().route_message(card, far_card, message, own, out);
    });
  }
  std::string_view name() const override { return name_; }
  // Where the network is in parts, routes may lead to any card of the destination's node.
  std::uint64_t search_steps() const override {
    return (part_.empty() ? 1 : layout_->shape.nics.size()) * network_->routing().search_steps();
  }
  std::optional<HopHistogram> hop_histogram() const override;

 private:
  // Of the endpoints of a node, those behind one of its cards: how many are how many links from it. Nothing: the cards differ.
  [[nodiscard]] std::optional<HopHistogram> behind_a_card() const;
  // Between endpoints of one node, and between its cards over the network.
  [[nodiscard]] HopHistogram within_a_node() const;
  [[nodiscard]] HopHistogram between_cards_of_nodes() const;
  [[nodiscard]] std::vector<std::uint32_t> endpoints() const {
    std::vector<std::uint32_t> all = layout_->shape.gpus;
    all.insert(all.end(), layout_->shape.memories.begin(), layout_->shape.memories.end());
    return all;
  }
  // Links between two numbers of a node.
  [[nodiscard]] std::size_t steps(std::uint32_t a, std::uint32_t b) const {
    std::vector<LinkId> links;
    forest_->path(VertexId(layout_->vertex(0, a)), VertexId(layout_->vertex(0, b)), links);
    return links.size();
  }
  // Tries pairs of cards of two nodes until one `reaches(card, far card)`: the nearest ones, then the others, fewest PCI Express
  // links first. Of pairs with as many, that in which the node of the lower number has the nearer card: the same both ways.
  template <class Reaches>
  bool by_cards(const NodeEnd& from, const NodeEnd& to, Reaches reaches) const {
    const PcieTreeShape& s = layout_->shape;
    const auto tried = [&](std::uint32_t nic, std::uint32_t far_nic) {
      const HostId card = layout_->card(from.node, nic), far_card = layout_->card(to.node, far_nic);
      return (part_.empty() || part_[card.index()] == part_[far_card.index()]) && reaches(card, far_card);
    };
    if (tried(s.nearest_nic[from.number], s.nearest_nic[to.number])) return true;
    if (s.nics.size() == 1) return false;
    const bool turned = to.node < from.node;
    const std::vector<NearNic> low = nics_by_nearness(s, (turned ? to : from).number);
    const std::vector<NearNic> high = nics_by_nearness(s, (turned ? from : to).number);
    const std::uint32_t most = low.back().links + high.back().links;
    for (std::uint32_t links = low.front().links + high.front().links; links <= most; ++links)
      for (const NearNic& a : low)
        for (const NearNic& b : high)
          if (a.links + b.links == links && (turned ? tried(b.index, a.index) : tried(a.index, b.index)))
            return true;
    return false;
  }
  // `cross(card, far card)` appends the network's own links between two cards.
  template <class Cross>
  bool between(HostId src, HostId dst, std::vector<LinkId>& out, Cross cross) const {
    const VertexId from(src.index()), to(dst.index());
    const NodeEnd a = layout_->endpoint(src.index()), b = layout_->endpoint(dst.index());
    if (a.node == b.node) {
      forest_->path(from, to, out);
      return true;
    }
    const auto vertex = [&](HostId card) {
      return VertexId(static_cast<std::uint32_t>(layout_->network_base + card.index()));
    };
    const std::size_t before = out.size();
    return by_cards(a, b, [&](HostId card, HostId far_card) {
      forest_->path(from, vertex(card), out);
      const std::size_t begin = out.size();
      if (!cross(card, far_card)) {
        out.resize(before);
        return false;
      }
      for (std::size_t i = begin; i < out.size(); ++i) out[i] = link_of_[out[i].index()];
      forest_->path(vertex(far_card), to, out);
      return true;
    });
  }
  std::shared_ptr<const Layout> layout_;
  std::shared_ptr<const Fabric> network_;
  std::shared_ptr<const PcieForest> forest_;
  std::vector<LinkId> link_of_;      // of the result, by link of the network
  std::vector<std::uint32_t> part_;  // of the network, by card; empty: it is in one, or there is no choice
  std::string name_;
};

std::optional<HopHistogram> GraftRouting::behind_a_card() const {
  const PcieTreeShape& s = layout_->shape;
  std::vector<HopHistogram> behind(s.nics.size());
  for (const std::uint32_t e : endpoints()) {
    const std::uint32_t card = s.nearest_nic[e];
    behind[card].add(steps(e, s.nics[card]), 1);
  }
  for (const HopHistogram& b : behind)
    if (b.pairs != behind.front().pairs) return std::nullopt;
  return behind.front();
}

HopHistogram GraftRouting::within_a_node() const {
  HopHistogram h;
  const std::vector<std::uint32_t> all = endpoints();
  for (const std::uint32_t a : all)
    for (const std::uint32_t b : all)
      if (a != b) h.add(steps(a, b), layout_->nodes);
  return h;
}

HopHistogram GraftRouting::between_cards_of_nodes() const {
  HopHistogram h;
  const std::uint64_t cards = layout_->shape.nics.size();
  std::vector<LinkId> links;
  for (std::uint64_t a = 0; a < layout_->nodes * cards; ++a)
    for (std::uint64_t b = a / cards * cards; b < (a / cards + 1) * cards; ++b) {
      if (a == b) continue;
      links.clear();
      if (network_->routing().route(HostId(static_cast<std::uint32_t>(a)),
                                    HostId(static_cast<std::uint32_t>(b)), links))
        h.add(links.size(), 1);
      else
        ++h.unreachable;
    }
  return h;
}

// Between two nodes every way from an endpoint to its card goes with every route between two cards and every way from there, if
// there are as many behind each card.
std::optional<HopHistogram> GraftRouting::hop_histogram() const {
  constexpr std::uint64_t kMostPairs = 1ULL << 27;  // that are walked: within a node, between cards of one
  const std::uint64_t held = layout_->shape.gpus.size() + layout_->shape.memories.size(),
                      cards = layout_->shape.nics.size();
  if (saturating_mul(held, held) > kMostPairs || saturating_mul(layout_->nodes, cards * cards) > kMostPairs)
    return std::nullopt;
  const auto network = network_->routing().hop_histogram();
  // Where two cards have no route other cards of their nodes may.
  if (!network || (network->unreachable > 0 && cards > 1)) return std::nullopt;
  const auto behind = behind_a_card();
  if (!behind) return std::nullopt;
  HopHistogram h = within_a_node();
  const HopHistogram same = between_cards_of_nodes();
  const std::uint64_t held_by_card = held / cards;
  h.unreachable += (network->unreachable - same.unreachable) * held_by_card * held_by_card;
  for (std::size_t n = 0; n < network->pairs.size(); ++n) {
    const std::uint64_t routes = network->pairs[n] - (n < same.pairs.size() ? same.pairs[n] : 0);
    for (std::size_t up = 0; up < behind->pairs.size(); ++up)
      for (std::size_t down = 0; down < behind->pairs.size(); ++down)
        h.add(up + n + down, behind->pairs[up] * routes * behind->pairs[down]);
  }
  return h;
}

// Of the keys of every family a node has `speed` alone, that of its GPUs: the others are about a fabric, and that of a
// node is the network's.
Result<void> check_keys(const Params& node) {
  std::vector<std::string_view> known{"speed"};
  for (const ParamInfo& p : pcie_params()) known.push_back(p.name);
  for (const Params::Entry& e : node.entries()) {
    if (std::ranges::find(known, e.key) != known.end()) continue;
    if (e.key == "fail") return no_failures_within(e.where);
    if (std::ranges::find(common_params(), e.key, &ParamInfo::name) != common_params().end())
      return bad_input(e.where, "a key of the network, not of its nodes", e.key,
                       fmt::format("{}={} beside node", e.key, e.value));
    return bad_input(e.where, "a node has no such key", e.key, one_of(e.key, known));
  }
  return {};
}

Result<Layout> lay_out(const Fabric& network, const Params& node) {
  WEFT_TRY(check_keys(node));
  Layout l;
  WEFT_ASSIGN(l.shape, read_pcie_tree(node, 1));
  const std::uint64_t cards = l.shape.nics.size();
  if (cards == 0)
    return node.error("nics", "a node without a network card is not on the network", "1 and more");
  if (network.host_count() % cards != 0)
    return node.error(
        "nics",
        fmt::format("the {} hosts of the network are no whole number of nodes of {} network cards",
                    network.host_count(), cards),
        fmt::format("a divisor of {}", network.host_count()));
  l.nodes = network.host_count() / cards;
  l.slot.assign(l.shape.nodes.size(), 0);
  for (const auto* list : {&l.shape.gpus, &l.shape.memories, &l.shape.nics})
    for (std::uint32_t i = 0; i < list->size(); ++i) l.slot[(*list)[i]] = i;
  for (std::uint32_t i = 0; i < l.shape.nodes.size(); ++i) {
    const PcieKind kind = l.shape.nodes[i].kind;
    if (kind == PcieKind::kGpu || kind == PcieKind::kMemory || kind == PcieKind::kNic) continue;
    l.slot[i] = static_cast<std::uint32_t>(l.inner.size());
    l.inner.push_back(i);
  }
  l.hosts = saturating_mul(l.nodes, l.shape.gpus.size() + l.shape.memories.size());
  l.network_base = l.hosts;
  l.inner_base = l.network_base + network.vertex_count();
  l.vertices = l.inner_base + saturating_mul(l.nodes, l.inner.size());
  WEFT_TRY(node.placed(
      check_size(l.vertices, network.cable_count() + saturating_mul(l.nodes, l.shape.nodes.size()))));
  return l;
}

std::string name_in_node(const PcieTreeShape& s, std::uint64_t node, std::uint32_t number) {
  return fmt::format("node{}.{}", node, s.nodes[number].name);
}

std::string card_name(const PcieTreeShape& s, std::uint64_t card) {
  return name_in_node(s, card / s.nics.size(), s.nics[card % s.nics.size()]);
}

std::string name_of(const Layout& l, const Fabric& network, VertexId v) {
  std::uint64_t i = v.index();
  if (i < l.hosts) {
    const auto [node, number] = l.endpoint(i);
    return name_in_node(l.shape, node, number);
  }
  i -= l.network_base;
  if (i < l.nodes * l.shape.nics.size()) return card_name(l.shape, i);
  if (i < network.vertex_count()) return network.vertex_name(VertexId(static_cast<std::uint32_t>(i)));
  i -= network.vertex_count();
  return name_in_node(l.shape, i / l.inner.size(), l.inner[i % l.inner.size()]);
}

}  // namespace

Result<HostNames> card_names(const Params& node) {
  WEFT_ASSIGN(PcieTreeShape shape, read_pcie_tree(node, 1));
  if (shape.nics.empty()) return HostNames();
  return HostNames([shape = std::move(shape)](HostId card) { return card_name(shape, card.index()); });
}

Result<Fabric> graft(Fabric base, const Params& node) {
  if (base.pcie() != nullptr || base.routing().name() == "table") {
    Error e = not_supported("PCIe trees under a network of this family",
                            "a network that Weft builds itself: xgft, fat-tree, dragonfly, torus, crossbar");
    e.where = node.where();
    return e;
  }
  const auto network = std::make_shared<const Fabric>(std::move(base));
  WEFT_ASSIGN(Layout made, lay_out(*network, node));
  const auto layout = std::make_shared<const Layout>(std::move(made));
  const PcieTreeShape& s = layout->shape;

  FabricBuilder b(layout->hosts, layout->vertices, layout->vertices - layout->hosts);
  const LinkTable& t = network->links();
  for (const std::string& c : t.class_names) (void)b.add_class(c);
  const auto first_class = t.class_names.size();
  for (const std::string& c : s.classes) (void)b.add_class(c);
  b.reserve_cables(network->cable_count() + layout->nodes * s.nodes.size());
  // The network as it is, each vertex further on by network_base, its ports unchanged.
  std::vector<std::uint32_t> ports(layout->vertices, 0);
  for (std::uint32_t l = 0; l < network->link_count(); ++l) {
    const std::uint64_t from = layout->network_base + t.from[l].index();
    b.link(from, l - network->first_link(t.from[l]), layout->network_base + t.to[l].index(), t.link_class[l],
           {Bandwidth(t.capacity[l]), t.latency[l]});
    ++ports[from];
  }
  const auto forest = b.pcie();
  for (std::uint64_t n = 0; n < layout->nodes; ++n)
    for (std::uint32_t i = 0; i < s.nodes.size(); ++i) {
      const PcieTreeNode& of = s.nodes[i];
      const std::uint32_t v = layout->vertex(n, i);
      const VertexId above =
          of.parent == PcieTreeNode::kNone ? VertexId() : VertexId(layout->vertex(n, of.parent));
      wire_pcie_node(of, s.tau, v, above, static_cast<std::uint8_t>(first_class + of.link_class), ports,
                     *forest, b);
    }
  // Links are numbered vertex by vertex.
  std::vector<LinkId> link_of(network->link_count());
  std::uint32_t before = 0;
  for (std::uint64_t v = 0; v < layout->network_base; ++v) before += ports[v];
  for (std::uint32_t v = 0; v < network->vertex_count(); ++v) {
    const std::uint32_t degree = network->degree(VertexId(v));
    for (std::uint32_t p = 0; p < degree; ++p)
      link_of[network->first_link(VertexId(v)) + p] = LinkId(before + p);
    before += ports[layout->network_base + v];
  }
  b.take_over_links(*network, link_of);
  b.set_group_classes(network->group_classes());
  b.set_rank_hosts(layout->nodes * s.gpus.size());
  b.set_routing(std::make_shared<GraftRouting>(layout, network, forest, std::move(link_of)));
  b.set_vertex_names([layout, network](VertexId v) { return name_of(*layout, *network, v); });
  // Halves of the network's hosts are halves of the GPUs, where a host is not left over.
  if (s.nics.size() == 1 && network->host_count() % 2 == 0) b.set_bisection(network->bisection_cables());
  return b.build();
}

}  // namespace weft::topology
