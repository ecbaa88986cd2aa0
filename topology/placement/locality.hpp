// Locality: which node, switch and group a host belongs to, for placement and for programs that ask.
//
// The switch of a host is where its first cable leads; a host that is its own router is its own. Groups are what is
// left connected when the links between groups are taken away (Fabric::group_classes): the groups of a dragonfly, the pods
// below the top of a tree, also where PCIe trees stand for the hosts. Where these are all that joins switches, as in a tree
// of two levels or a torus, the switch is the group; a fabric that stays whole is one group.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

struct Locality {
  std::vector<std::uint32_t> switch_of, group_of;  // by host; numbered in the order of their first hosts
  std::uint32_t switches = 0, groups = 0;          // that have hosts
};

// O(links), near enough.
[[nodiscard]] Locality locality_of(const Fabric& fabric);

// What tells the node of a host from others: the root of its PCIe tree, whose GPUs are hosts that share a node's memory, or
// the host itself. O(depth of the tree).
[[nodiscard]] VertexId node_of(const Fabric& fabric, HostId host);

// The node of each rank, numbered in the order of first use. `placement`: a host for each rank. O(ranks log nodes).
[[nodiscard]] std::vector<std::uint32_t> nodes_of(const Fabric& fabric, std::span<const HostId> placement);

}  // namespace weft::topology
