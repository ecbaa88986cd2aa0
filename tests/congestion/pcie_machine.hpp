// Machines of nodes with PCIe trees under a network, and random traffic on them, for tests of PcieModel.
#pragma once

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "congestion/pcie_model.hpp"
#include "tests/congestion/cases.hpp"

namespace weft::congestion::problems {

// Nodes of PCIe trees joined by a fabric. Links are numbered as they are made.
struct Machine {
  PcieNetwork pcie;
  std::vector<double> capacity;
  std::vector<LinkId> up, down;                    // by tree node
  std::vector<std::vector<std::uint32_t>> leaves;  // by machine node; leaf 0 is the network card
  std::vector<LinkId> out, in;                     // fabric cable of a machine node
  std::vector<std::uint32_t> group;                // machine node -> group; groups are joined by trunks
  std::map<std::pair<std::uint32_t, std::uint32_t>, LinkId> trunk;

  LinkId link(double c, PcieLink p) {
    capacity.push_back(c);
    pcie.pcie_link.push_back(p);
    return LinkId(static_cast<std::uint32_t>(capacity.size() - 1));
  }
  std::uint32_t node(std::uint32_t parent, double c, bool root_complex, double tau) {
    PcieTree& t = pcie.tree;
    const std::uint32_t v = t.nodes();
    t.parent.push_back(parent);
    t.up_capacity.push_back(c);
    t.down_capacity.push_back(c);
    t.root_complex.push_back(root_complex ? 1 : 0);
    t.never_crosses.push_back(0);
    t.gate.push_back(0);
    t.tau.push_back(tau);
    const bool root = parent == PcieTree::kNoParent;
    up.push_back(root ? LinkId() : link(c, pcie_up(v)));
    down.push_back(root ? LinkId() : link(c, pcie_down(v)));
    return v;
  }
  // Root complex, two switches, two cards each, two GPUs each (the paper's); the network card on the root.
  void storm(double b, double tau) {
    const std::uint32_t rc = node(PcieTree::kNoParent, 1, true, tau);
    leaves.push_back({node(rc, b, false, tau)});
    pcie.tree.gate.back() = 1;
    for (int s = 0; s < 2; ++s) {
      const std::uint32_t sw = node(rc, b, false, tau);
      for (int c = 0; c < 2; ++c) {
        const std::uint32_t card = node(sw, b, false, tau);
        for (int g = 0; g < 2; ++g) leaves.back().push_back(node(card, b, false, tau));
      }
    }
  }
  void cable(double c, std::uint32_t in_group = 0) {
    out.push_back(link(c, PcieNetwork::kFabric));
    in.push_back(link(c, PcieNetwork::kFabric));
    group.push_back(in_group);
  }
  void tree_path(std::uint32_t a, std::uint32_t b, std::vector<LinkId>& route) const {
    std::vector<std::uint32_t> above;
    for (std::uint32_t v = a; v != PcieTree::kNoParent; v = pcie.tree.parent[v]) above.push_back(v);
    std::vector<LinkId> descent;
    std::uint32_t v = b;
    while (std::find(above.begin(), above.end(), v) == above.end()) {
      descent.push_back(down[v]);
      v = pcie.tree.parent[v];
    }
    for (std::uint32_t w = a; w != v; w = pcie.tree.parent[w]) route.push_back(up[w]);
    route.insert(route.end(), descent.rbegin(), descent.rend());
  }
  // GPU `a` of node `m` to GPU `b` of node `n`; GPUs count from 1, 0 is the network card.
  [[nodiscard]] std::vector<LinkId> route(std::uint32_t m, std::uint32_t a, std::uint32_t n,
                                          std::uint32_t b) const {
    std::vector<LinkId> r;
    if (m == n) {
      tree_path(leaves[m][a], leaves[m][b], r);
      return r;
    }
    tree_path(leaves[m][a], leaves[m][0], r);
    r.push_back(out[m]);
    if (group[m] != group[n]) r.push_back(trunk.at({group[m], group[n]}));
    r.push_back(in[n]);
    tree_path(leaves[n][0], leaves[n][b], r);
    return r;
  }
};

inline Machine random_machine(Rng& rng, double pcie_scale, double fabric_scale,
                              std::uint64_t most_nodes = 4) {
  Machine m;
  const double tau = rng.below(3) == 0 ? 0.0 : 0.3 * rng.unit();
  const bool equal = rng.below(2) == 0;
  const auto capacity = [&](double scale) { return scale * (equal ? 1.0 : 0.25 + 2 * rng.unit()); };
  const auto nodes = static_cast<std::uint32_t>(1 + rng.below(most_nodes));
  const auto groups = static_cast<std::uint32_t>(1 + rng.below(2));
  for (std::uint32_t n = 0; n < nodes; ++n) {
    if (rng.below(2) == 0) {
      m.storm(capacity(pcie_scale), tau);
    } else {
      // Any tree: inner nodes first, each below an earlier one; then leaves below any of them.
      std::vector<std::uint32_t> inner = {m.node(PcieTree::kNoParent, 1, true, tau)};
      const std::uint64_t more = rng.below(5);
      for (std::uint64_t i = 0; i < more; ++i)
        inner.push_back(m.node(inner[rng.below(inner.size())], capacity(pcie_scale), false, tau));
      m.leaves.emplace_back();
      const std::uint64_t leaves = 3 + rng.below(6);
      for (std::uint64_t i = 0; i < leaves; ++i)
        m.leaves.back().push_back(m.node(inner[rng.below(inner.size())], capacity(pcie_scale), false, tau));
      m.pcie.tree.gate[m.leaves.back()[0]] = 1;
    }
  }
  for (std::uint32_t n = 0; n < nodes; ++n)
    m.cable(fabric_scale * (0.1 + 1.5 * rng.unit()), static_cast<std::uint32_t>(rng.below(groups)));
  for (std::uint32_t a = 0; a < groups; ++a)
    for (std::uint32_t b = 0; b < groups; ++b)
      if (a != b) m.trunk[{a, b}] = m.link(fabric_scale * (0.1 + 2 * rng.unit()), PcieNetwork::kFabric);
  return m;
}

inline std::vector<Flow> random_flows(const Machine& m, Rng& rng, std::uint64_t most) {
  std::vector<Flow> flows;
  const std::uint64_t n = 1 + rng.below(most);
  const bool weighted = rng.below(4) == 0;
  while (flows.size() < n) {
    const auto a = static_cast<std::uint32_t>(rng.below(m.leaves.size()));
    const auto b = static_cast<std::uint32_t>(rng.below(m.leaves.size()));
    const auto i = static_cast<std::uint32_t>(1 + rng.below(m.leaves[a].size() - 1));
    const auto j = static_cast<std::uint32_t>(1 + rng.below(m.leaves[b].size() - 1));
    if (a == b && i == j) continue;
    flows.push_back({m.route(a, i, b, j), weighted ? 0.2 + 3 * rng.unit() : 1.0});
  }
  return flows;
}

}  // namespace weft::congestion::problems
