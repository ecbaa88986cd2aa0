// PcieTree: the shape of one node's PCI Express tree as the keys of the family `pcie` describe it, before it
// becomes vertices of a fabric. Shared by the family (one node alone) and by graft() (one under every host).
//
// Shape: [isl above several] root complexes; under each `switches` switches (0: none) and, if asked for, the
// host memory and network cards; under each switch (or root complex) `cards` cards of `gpus` GPUs, where a
// card of several GPUs has a switch of its own (K80) and a card of one is the GPU itself. The key `tree` writes
// out any other: `rc(switch(2*card(2*gpu) nic@4x8) gpu mem)`, where @GENxWIDTH is the link to the parent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "topology/fabric_builder.hpp"
#include "topology/pcie/forest.hpp"
#include "topology/platform/params.hpp"

namespace weft::topology {

// A link to a parent: up, and what differs on the way down.
struct PcieLinkValues : LinkValues {
  Bandwidth down{0};  // 0: that of up
  Bandwidth both{0};  // of both directions together; 0: each has its own
};

struct PcieTreeNode {
  static constexpr std::uint32_t kNone = 0xffffffffu;
  PcieKind kind = PcieKind::kNone;
  std::uint32_t parent = kNone;  // always a lower number
  std::string name;              // "gpu3", "switch0", "rc1", ...
  std::uint8_t link_class = 0;   // of its link to the parent: index into PcieTreeShape::classes
  PcieLinkValues link;
};

struct PcieTreeShape {
  std::vector<PcieTreeNode> nodes;
  std::vector<std::uint32_t> gpus, memories, nics;  // numbers in nodes
  // By number in nodes: the index into nics of the card that is fewest links away, and to how many endpoints before it that
  // one was dealt. Empty without any.
  std::vector<std::uint32_t> nearest_nic, nic_turn;
  std::vector<std::string> classes;
  double tau = 0;
};

// A network card as an endpoint of its node sees it.
struct NearNic {
  std::uint32_t index = 0;  // into nics
  std::uint32_t links = 0;  // to there
};
// All of them in the order in which the endpoint `number` takes them where earlier ones do not serve: the nearest, then by
// links; equally near ones are dealt in turn to the endpoints that have one nearest. O(cards (depth + log)).
[[nodiscard]] std::vector<NearNic> nics_by_nearness(const PcieTreeShape& shape, std::uint32_t number);

// Of the key `fail` at `where`: what shares a tree is read off the tree as it was built.
[[nodiscard]] Error no_failures_within(std::string where);

inline constexpr std::string_view kPcieRouting = "up-down";

// The keys of the family, besides the common ones.
[[nodiscard]] std::span<const ParamInfo> pcie_params();
// `default_nics`: network cards where the key is not given.
[[nodiscard]] Result<PcieTreeShape> read_pcie_tree(const Params& params, std::uint64_t default_nics);

// Makes `node` vertex `v` of the tree, and its links to `above`, the vertex of its parent (none: a root), of class
// `link_class`. `ports`: of each vertex, taken so far.
void wire_pcie_node(const PcieTreeNode& node, double tau, std::uint32_t v, VertexId above,
                    std::uint8_t link_class, std::vector<std::uint32_t>& ports, PcieForest& forest,
                    FabricBuilder& fabric);

}  // namespace weft::topology
