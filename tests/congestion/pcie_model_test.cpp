// Node and fabric in one solve: hand-made cases, and random trees under random fabrics against the rules that
// the result must obey.
#include "congestion/pcie_model.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "tests/congestion/cases.hpp"

namespace weft::congestion {
namespace {

using testing::base_seed;
constexpr double kNoLimit = std::numeric_limits<double>::infinity();

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

struct Flow {
  std::vector<LinkId> route;
  double weight = 1;
};

std::vector<double> solve(const Machine& m, const std::vector<Flow>& flows, PcieModel::Ways* ways = nullptr,
                          std::vector<bool>* aside = nullptr) {
  PcieModel model(m.capacity, &m.pcie);
  std::vector<FlowId> ids;
  for (const Flow& f : flows) ids.push_back(model.add(f.route, f.weight, kNoLimit));
  (void)model.solve();
  std::vector<double> rate;
  for (const FlowId id : ids) rate.push_back(model.rate(id));
  if (aside != nullptr)
    for (const FlowId id : ids) aside->push_back(model.set_aside(id));
  if (ways != nullptr) {
    ways->max_min += model.ways().max_min;
    ways->factors += model.ways().factors;
    ways->rounds_met += model.ways().rounds_met;
    ways->set_aside_in_order += model.ways().set_aside_in_order;
    ways->rounds += model.ways().rounds;
  }
  return rate;
}

std::vector<double> plain_max_min(const Machine& m, const std::vector<Flow>& flows, bool fabric_only) {
  MaxMin model(m.capacity, MaxMin::Scope::kComponent);
  std::vector<FlowId> ids;
  for (const Flow& f : flows) {
    std::vector<LinkId> route;
    double limit = kNoLimit;
    for (const LinkId l : f.route) {
      if (!fabric_only || m.pcie.pcie_link[l.index()] == PcieNetwork::kFabric) route.push_back(l);
    }
    if (fabric_only && m.pcie.pcie_link[f.route[0].index()] != PcieNetwork::kFabric)
      limit = m.capacity[f.route[0].index()];
    ids.push_back(model.add(route, f.weight, limit));
  }
  (void)model.solve();
  std::vector<double> rate;
  for (const FlowId id : ids) rate.push_back(model.rate(id));
  return rate;
}

// What arbitration alone gives, with flows fixed where `fixed` is above 0.
std::vector<double> arbitrated(const Machine& m, const std::vector<Flow>& flows,
                               const std::vector<double>& fixed) {
  PcieArbiter arbiter(m.pcie.tree);
  std::vector<std::uint32_t> active;
  std::vector<double> out(flows.size(), 0);
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    std::vector<PcieLink> path;
    double first = 0;
    for (const LinkId l : flows[i].route) {
      if (m.pcie.pcie_link[l.index()] == PcieNetwork::kFabric) continue;
      if (path.empty()) first = m.capacity[l.index()];
      path.push_back(m.pcie.pcie_link[l.index()]);
    }
    if (path.empty()) continue;
    active.push_back(arbiter.add(path, fixed[i] > 0 ? fixed[i] : first));
    arbiter.set_fixed(active.back(), fixed[i] > 0);
    which.push_back(i);
  }
  const auto a = arbiter.solve(active);
  for (std::size_t k = 0; k < which.size(); ++k) out[which[k]] = a[k];
  return out;
}

std::vector<double> loads(const Machine& m, const std::vector<Flow>& flows, const std::vector<double>& rate) {
  std::vector<double> load(m.capacity.size(), 0);
  for (std::size_t i = 0; i < flows.size(); ++i)
    for (const LinkId l : flows[i].route) load[l.index()] += rate[i];
  return load;
}

bool close(double a, double b, double tolerance = 1e-9) {
  // What arbitration leaves nothing of gets a trickle: capacities here are about 1.
  return std::abs(a - b) <= std::max(1e-14, tolerance * std::max(std::abs(a), std::abs(b)));
}

TEST(PcieModel, WorkedExampleOfThePaper) {
  Machine m;
  m.storm(12e9, 0.2);
  m.cable(1e12);
  const std::vector<Flow> flows = {
      {m.route(0, 1, 0, 3)}, {m.route(0, 2, 0, 5)}, {m.route(0, 4, 0, 3)}, {m.route(0, 7, 0, 5)}};
  const auto rate = solve(m, flows);
  const double want[] = {0.3, 0.3, 0.7, 0.7};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(rate[i] / 12e9, want[i], 1e-12);
}

// b shares the up link of its card with a, which the network limits.
TEST(PcieModel, WhatTheNetworkLimitsIsSetAsideAndTheRestIsArbitrated) {
  Machine m;
  m.storm(10, 0.2);
  m.storm(10, 0.2);
  m.cable(1);
  m.cable(1);
  const auto rate = solve(m, {{m.route(0, 1, 1, 1)}, {m.route(0, 2, 0, 3)}});
  EXPECT_NEAR(rate[0], 1, 1e-12);
  EXPECT_NEAR(rate[1], 9, 1e-12);
}

// Into GPU 5: a from across the root complex (quota 3/10), b from the card beside; both also wait for nothing
// else. Then b's part of the fabric shrinks, and a takes what it leaves.
TEST(PcieModel, AFlowThatArbitrationLimitsTakesWhatTheNetworkLeavesFree) {
  Machine m;
  m.storm(10, 0.2);
  m.storm(10, 0.2);
  m.cable(100);
  m.cable(100);
  // a: GPU 1 to GPU 5 within node 0; b: from node 1 to GPU 5, by the network card on the root.
  EXPECT_NEAR(solve(m, {{m.route(0, 6, 0, 5)}, {m.route(1, 1, 0, 5)}})[0], 7, 1e-12);
  m.capacity[m.in[0].index()] = 2;
  const auto rate = solve(m, {{m.route(0, 6, 0, 5)}, {m.route(1, 1, 0, 5)}});
  EXPECT_NEAR(rate[0], 8, 1e-12);
  EXPECT_NEAR(rate[1], 2, 1e-12);
}

TEST(PcieModel, NamesTheLinkThatHoldsAFlow) {
  Machine m;
  m.storm(10, 0.2);
  m.storm(10, 0.2);
  m.cable(1);
  m.cable(100);
  PcieModel model(m.capacity, &m.pcie);
  const FlowId a = model.add(m.route(0, 1, 1, 1), 1, kNoLimit);
  const FlowId b = model.add(m.route(0, 2, 0, 3), 1, kNoLimit);
  const FlowId c = model.add(m.route(1, 3, 1, 4), 1, kNoLimit);
  (void)model.solve();
  EXPECT_EQ(model.bottleneck(a), m.out[0]);
  const std::uint32_t card = m.pcie.tree.parent[m.leaves[0][1]];
  EXPECT_EQ(model.bottleneck(b), m.up[card]);
  EXPECT_EQ(model.bottleneck(c), m.up[m.leaves[1][3]]) << "alone: its first link";
}

Machine random_machine(Rng& rng, double pcie_scale, double fabric_scale) {
  Machine m;
  const double tau = rng.below(3) == 0 ? 0.0 : 0.3 * rng.unit();
  const bool equal = rng.below(2) == 0;
  const auto capacity = [&](double scale) { return scale * (equal ? 1.0 : 0.25 + 2 * rng.unit()); };
  const auto nodes = static_cast<std::uint32_t>(1 + rng.below(4));
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
    }
  }
  for (std::uint32_t n = 0; n < nodes; ++n)
    m.cable(fabric_scale * (0.1 + 1.5 * rng.unit()), static_cast<std::uint32_t>(rng.below(groups)));
  for (std::uint32_t a = 0; a < groups; ++a)
    for (std::uint32_t b = 0; b < groups; ++b)
      if (a != b) m.trunk[{a, b}] = m.link(fabric_scale * (0.1 + 2 * rng.unit()), PcieNetwork::kFabric);
  return m;
}

std::vector<Flow> random_flows(const Machine& m, Rng& rng, std::uint64_t most) {
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

std::string describe(std::uint64_t seed, const std::vector<Flow>& flows) {
  return "WEFT_SEED=" + std::to_string(seed) + ", " + std::to_string(flows.size()) + " flows";
}

constexpr std::uint64_t kCases = 3000;

TEST(PcieModel, NoLinkIsOverCapacityAndEveryFlowIsHeldBySomething) {
  PcieModel::Ways ways;
  const std::uint64_t base = base_seed(1);
  std::uint64_t fixed_points = 0;
  for (std::uint64_t seed = base; seed < base + kCases; ++seed) {
    Rng rng(seed);
    const Machine m = random_machine(rng, 1, 1);
    const auto flows = random_flows(m, rng, 24);
    SCOPED_TRACE(describe(seed, flows));
    PcieModel::Ways mine;
    std::vector<bool> aside;
    const auto rate = solve(m, flows, &mine, &aside);
    const auto load = loads(m, flows, rate);
    for (std::size_t l = 0; l < load.size(); ++l)
      ASSERT_LE(load[l], m.capacity[l] * (1 + 1e-11)) << "link " << l;

    // Held by the fabric: a full fabric link where no flow has a higher rate/weight.
    std::vector<double> held(flows.size(), 0);
    std::vector<bool> at_full(flows.size(), false);
    std::vector<double> highest(m.capacity.size(), 0);
    for (std::size_t i = 0; i < flows.size(); ++i)
      for (const LinkId l : flows[i].route)
        highest[l.index()] = std::max(highest[l.index()], rate[i] / flows[i].weight);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      ASSERT_GT(rate[i], 0);
      for (const LinkId l : flows[i].route) {
        if (load[l.index()] < m.capacity[l.index()] * (1 - 1e-9)) continue;
        at_full[i] = true;
        if (m.pcie.pcie_link[l.index()] == PcieNetwork::kFabric &&
            rate[i] / flows[i].weight >= highest[l.index()] * (1 - 1e-9))
          held[i] = rate[i];
      }
    }
    // All others: what arbitration gives over what those leave.
    const auto a = arbitrated(m, flows, held);
    const bool in_order = mine.set_aside_in_order > 0;
    fixed_points += in_order ? 0 : 1;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      if (held[i] > 0) continue;
      if (!in_order) {
        ASSERT_TRUE(close(rate[i], a[i]))
            << "flow " << i << ": " << rate[i] << ", arbitration gives " << a[i];
        continue;
      }
      // Set aside in order: the network holds it, or else arbitration did.
      ASSERT_TRUE(at_full[i] || !aside[i]) << "flow " << i;
    }
    ways.max_min += mine.max_min;
    ways.factors += mine.factors;
    ways.rounds_met += mine.rounds_met;
    ways.set_aside_in_order += mine.set_aside_in_order;
    ways.rounds += mine.rounds;
  }
  std::printf("components: %llu max-min, %llu factors, %llu met, %llu set aside in order; %llu rounds\n",
              static_cast<unsigned long long>(ways.max_min), static_cast<unsigned long long>(ways.factors),
              static_cast<unsigned long long>(ways.rounds_met),
              static_cast<unsigned long long>(ways.set_aside_in_order),
              static_cast<unsigned long long>(ways.rounds));
  EXPECT_GT(ways.max_min, 0u);
  EXPECT_GT(ways.factors, 0u);
  EXPECT_GT(ways.rounds_met, 0u);
  EXPECT_GE(fixed_points * 100, kCases * 90) << "arbitration and network seldom fail to meet";
}

TEST(PcieModel, EqualsMaxMinWhereNoPcieLinkIsContended) {
  const std::uint64_t base = base_seed(1);
  std::uint64_t checked = 0;
  for (std::uint64_t seed = base; seed < base + kCases; ++seed) {
    Rng rng(seed);
    const Machine m = random_machine(rng, seed % 2 == 0 ? 100 : 2, 1);
    const auto flows = random_flows(m, rng, 24);
    SCOPED_TRACE(describe(seed, flows));
    const auto fabric = plain_max_min(m, flows, true);
    const auto load = loads(m, flows, fabric);
    bool contended = false;
    for (std::size_t l = 0; l < load.size(); ++l) contended |= load[l] > m.capacity[l] * (1 + 1e-9);
    if (contended) continue;
    ++checked;
    const auto rate = solve(m, flows);
    const auto all = plain_max_min(m, flows, false);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      ASSERT_TRUE(close(rate[i], fabric[i], 1e-12));
      ASSERT_TRUE(close(rate[i], all[i], 1e-9));
    }
  }
  EXPECT_GT(checked, kCases / 8);
}

TEST(PcieModel, EqualsTheFactorsWhereNoFabricLinkIsContended) {
  const std::uint64_t base = base_seed(1);
  std::uint64_t checked = 0;
  for (std::uint64_t seed = base; seed < base + kCases; ++seed) {
    Rng rng(seed);
    const Machine m = random_machine(rng, 1, seed % 2 == 0 ? 100 : 3);
    const auto flows = random_flows(m, rng, 24);
    SCOPED_TRACE(describe(seed, flows));
    const auto rate = solve(m, flows);
    const auto load = loads(m, flows, rate);
    bool full = false;
    for (std::size_t l = 0; l < load.size(); ++l)
      full |= m.pcie.pcie_link[l] == PcieNetwork::kFabric && load[l] >= m.capacity[l] * (1 - 1e-9);
    if (full) continue;
    ++checked;
    const auto a = arbitrated(m, flows, std::vector<double>(flows.size(), 0));
    for (std::size_t i = 0; i < flows.size(); ++i) ASSERT_TRUE(close(rate[i], a[i], 1e-12));
  }
  EXPECT_GT(checked, kCases / 4);
}

TEST(PcieModel, TheOrderOfFlowsAndTheirHistoryDoNotMatter) {
  const std::uint64_t base = base_seed(1);
  for (std::uint64_t seed = base; seed < base + kCases / 2; ++seed) {
    Rng rng(seed);
    const Machine m = random_machine(rng, 1, 1);
    const auto flows = random_flows(m, rng, 20);
    SCOPED_TRACE(describe(seed, flows));
    const auto want = solve(m, flows);
    std::vector<std::size_t> order(flows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    rng.shuffle(std::span<std::size_t>(order));
    // In another order, one by one with a solve after each, among others that come and go.
    PcieModel model(m.capacity, &m.pcie);
    std::vector<FlowId> ids(flows.size());
    std::map<FlowId, double> told;
    const auto take = [&] {
      for (const FlowId f : model.solve()) told[f] = model.rate(f);
    };
    for (const std::size_t i : order) {
      std::optional<FlowId> guest;
      if (rng.below(2) == 0) guest = model.add(flows[rng.below(flows.size())].route, 1, kNoLimit);
      ids[i] = model.add(flows[i].route, flows[i].weight, kNoLimit);
      take();
      if (!guest) continue;
      model.remove(*guest);
      told.erase(*guest);
      take();
    }
    for (std::size_t i = 0; i < flows.size(); ++i) {
      ASSERT_TRUE(close(model.rate(ids[i]), want[i])) << "flow " << i;
      ASSERT_EQ(told.at(ids[i]), model.rate(ids[i])) << "a change was not reported";
    }
  }
}

TEST(PcieModel, ScalingEveryCapacityScalesEveryRate) {
  const std::uint64_t base = base_seed(1);
  for (std::uint64_t seed = base; seed < base + 500; ++seed) {
    Rng rng(seed);
    Machine m = random_machine(rng, 1, 1);
    const auto flows = random_flows(m, rng, 20);
    SCOPED_TRACE(describe(seed, flows));
    const auto want = solve(m, flows);
    for (double& c : m.capacity) c *= 1e10;
    for (double& c : m.pcie.tree.up_capacity) c *= 1e10;
    for (double& c : m.pcie.tree.down_capacity) c *= 1e10;
    const auto rate = solve(m, flows);
    for (std::size_t i = 0; i < flows.size(); ++i) ASSERT_TRUE(close(rate[i] * 1e-10, want[i]));
  }
}

}  // namespace
}  // namespace weft::congestion
