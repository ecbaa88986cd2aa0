// Trees of PCIe tests: the node of the paper, once as the arbiter takes it and once as the reference does.
#pragma once

#include <vector>

#include "congestion/pcie_arbiter.hpp"
#include "tests/congestion/pcie_reference.hpp"

namespace weft::testing {

// `sockets` root complexes (joined by one node above if two), two switches each, two cards each, two GPUs each.
// GPUs are the nodes 0, 1, ...
inline ReferenceTree storm(int sockets, Fraction tau) {
  ReferenceTree t;
  const int gpus = 8 * sockets;
  const int cards = gpus;
  const int switches = cards + 4 * sockets;
  const int roots = switches + 2 * sockets;
  const int nodes = roots + sockets + (sockets > 1 ? 1 : 0);
  t.parent.assign(nodes, -1);
  for (int g = 0; g < gpus; ++g) t.parent[g] = cards + g / 2;
  for (int c = 0; c < 4 * sockets; ++c) t.parent[cards + c] = switches + c / 2;
  for (int s = 0; s < 2 * sockets; ++s) t.parent[switches + s] = roots + s / 2;
  for (int r = 0; r < sockets && sockets > 1; ++r) t.parent[roots + r] = nodes - 1;
  t.up.assign(nodes, Fraction(1));
  t.down.assign(nodes, Fraction(1));
  t.root_complex.assign(nodes, false);
  for (int v = roots; v < nodes; ++v) t.root_complex[v] = true;
  t.tau = tau;
  return t;
}

inline congestion::PcieTree arbiter_tree(const ReferenceTree& t) {
  congestion::PcieTree tree;
  for (std::size_t v = 0; v < t.parent.size(); ++v) {
    tree.parent.push_back(t.parent[v] < 0 ? congestion::PcieTree::kNoParent
                                          : static_cast<std::uint32_t>(t.parent[v]));
    tree.up_capacity.push_back(t.up[v].value());
    tree.down_capacity.push_back(t.down[v].value());
    tree.root_complex.push_back(t.root_complex[v] ? 1 : 0);
    tree.never_crosses.push_back(0);
    tree.tau.push_back(t.tau.value());
  }
  return tree;
}

// Neighbours of a grid by rank = x + X y + X Y z, not periodic: low x, high x, low y, ...
inline std::vector<std::vector<int>> grid_neighbours(int x, int y, int z) {
  std::vector<std::vector<int>> n(static_cast<std::size_t>(x * y * z));
  const int size[3] = {x, y, z};
  const int stride[3] = {1, x, x * y};
  for (int r = 0; r < x * y * z; ++r) {
    for (int d = 0; d < 3; ++d) {
      const int at = r / stride[d] % size[d];
      if (at > 0) n[r].push_back(r - stride[d]);
      if (at + 1 < size[d]) n[r].push_back(r + stride[d]);
    }
  }
  return n;
}

}  // namespace weft::testing
