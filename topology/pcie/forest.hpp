// PcieForest: the PCI Express trees of a fabric, as columns over its vertices. A tree has one root (a root
// complex, or the inter-socket node above several); every other node owns a pair of simplex links to its
// parent. Filled in by the pcie family and by graft(); read by routing and by the sharing model "pcie".
//
// Invariants: a path between two nodes of a tree climbs to their lowest common ancestor and descends, so there
// is exactly one; links that are not up or down of a node belong to the fabric around the trees.
#pragma once

#include <cstdint>
#include <vector>

#include "core/id.hpp"

namespace weft::topology {

enum class PcieKind : std::uint8_t {
  kNone,  // in no PCIe tree
  kInterSocket,
  kRootComplex,
  kSwitch,  // on the board or on a card
  kGpu,
  kNic,
  kMemory,
};

struct PcieForest {
  std::vector<PcieKind> kind;
  std::vector<VertexId> parent;  // none: a root, or in no tree
  std::vector<LinkId> up, down;  // to the parent and from it; none where parent is
  std::vector<double> tau;       // quota that crossing the root complex costs at the ports down from here
  std::vector<double> both;      // part of the sum of up and down that both carry together; 1: all of it
  std::vector<std::uint32_t> up_port, down_port;  // of up at the node, of down at its parent

  void resize(std::size_t vertices) {
    kind.resize(vertices, PcieKind::kNone);
    parent.resize(vertices);
    up.resize(vertices);
    down.resize(vertices);
    tau.resize(vertices, 0.0);
    both.resize(vertices, 1.0);
    up_port.resize(vertices, 0);
    down_port.resize(vertices, 0);
  }
  // Of the tree that `v` is in; `v` itself where it is in none. O(depth).
  [[nodiscard]] VertexId root(VertexId v) const;
  // Appends the links from `a` to `b`, both in one tree. O(depth).
  void path(VertexId a, VertexId b, std::vector<LinkId>& out) const;
};

}  // namespace weft::topology
