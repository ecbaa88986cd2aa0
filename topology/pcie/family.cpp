// PCI Express tree of one multi-GPU node: root complexes, switches, cards with on-board switches, GPUs, and on
// demand network cards and host memories. Endpoints are the hosts: GPUs first, then memories, then network
// cards; only GPUs take ranks unless a map says otherwise. Ports: the link to the parent is port 0, children
// follow. Routing climbs to the lowest common ancestor and descends. O(depth) per route.
#include <fmt/format.h>

#include "topology/pcie/forest.hpp"
#include "topology/pcie/tree.hpp"
#include "topology/registry.hpp"

namespace weft::topology::family_pcie {

namespace {

class UpDown final : public Routing {
 public:
  explicit UpDown(std::shared_ptr<const PcieForest> forest) : forest_(std::move(forest)) {}
  bool route(HostId src, HostId dst, std::vector<LinkId>& out) const override {
    forest_->path(VertexId(src.index()), VertexId(dst.index()), out);
    return true;
  }
  std::string_view name() const override { return kPcieRouting; }

 private:
  std::shared_ptr<const PcieForest> forest_;
};

Result<Fabric> build(const Params& params) {
  if (params.has("hosts_per_switch"))
    return params.error("hosts_per_switch", "a PCIe tree has cards and GPUs on its switches",
                        "cards and gpus");
  WEFT_ASSIGN(const PcieTreeShape shape, read_pcie_tree(params, 0));
  // Vertex of each node: endpoints are hosts and come first.
  std::vector<std::uint32_t> vertex(shape.nodes.size(), PcieTreeNode::kNone);
  std::uint32_t next = 0;
  for (const auto* endpoints : {&shape.gpus, &shape.memories, &shape.nics})
    for (const std::uint32_t e : *endpoints) vertex[e] = next++;
  const std::uint32_t hosts = next;
  for (std::uint32_t& v : vertex)
    if (v == PcieTreeNode::kNone) v = next++;

  FabricBuilder b(hosts, next, next - hosts);
  for (const std::string& c : shape.classes) (void)b.add_class(c);
  const auto forest = b.pcie();
  std::vector<std::uint32_t> ports(next, 0);
  std::vector<std::string> names(next);
  for (std::size_t i = 0; i < shape.nodes.size(); ++i) {
    const PcieTreeNode& n = shape.nodes[i];
    const std::uint32_t v = vertex[i];
    names[v] = n.name;
    const VertexId above = n.parent == PcieTreeNode::kNone ? VertexId() : VertexId(vertex[n.parent]);
    wire_pcie_node(n, shape.tau, v, above, n.link_class, ports, *forest, b);
  }
  b.set_rank_hosts(shape.gpus.size());
  b.set_routing(std::make_shared<UpDown>(forest));
  b.set_vertex_names([names](VertexId v) { return names[v.index()]; });
  return b.build();
}

}  // namespace

Family family() { return {pcie_params(), build, "gpus=4"}; }

}  // namespace weft::topology::family_pcie
