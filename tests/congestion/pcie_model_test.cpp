// Node and fabric in one solve: hand-made cases, and random trees under random fabrics against the rules that
// the result must obey.
#include "congestion/pcie_model.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "tests/congestion/pcie_machine.hpp"

namespace weft::congestion {
namespace {

using problems::base_seed;
using problems::kNoLimit;
using problems::Machine;
using problems::random_flows;
using problems::random_machine;
using Flow = problems::Flow;

std::vector<double> solve(const Machine& m, const std::vector<Flow>& flows, PcieModel::Ways* ways = nullptr,
                          std::vector<LinkId>* held_by = nullptr) {
  PcieModel model(m.capacity, &m.pcie);
  std::vector<FlowId> ids;
  for (const Flow& f : flows) ids.push_back(model.add(f.route, f.weight, kNoLimit));
  (void)model.solve();
  std::vector<double> rate;
  for (const FlowId id : ids) {
    rate.push_back(model.rate(id));
    if (held_by != nullptr) held_by->push_back(model.bottleneck(id));
  }
  if (ways != nullptr) {
    ways->max_min += model.ways().max_min;
    ways->factors += model.ways().factors;
    ways->rounds_met += model.ways().rounds_met;
    ways->filled_up += model.ways().filled_up;
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

// The network's max-min shares under a limit per flow; flows that do not touch it have their limits.
std::vector<double> network_shares(const Machine& m, const std::vector<Flow>& flows,
                                   const std::vector<double>& limit) {
  MaxMin model(m.capacity, MaxMin::Scope::kComponent);
  std::vector<double> rate = limit;
  std::vector<std::pair<std::size_t, FlowId>> on;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    std::vector<LinkId> route;
    for (const LinkId l : flows[i].route)
      if (m.pcie.pcie_link[l.index()] == PcieNetwork::kFabric) route.push_back(l);
    if (!route.empty()) on.emplace_back(i, model.add(route, flows[i].weight, limit[i]));
  }
  (void)model.solve();
  for (const auto& [i, id] : on) rate[i] = model.rate(id);
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
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
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

// Flows linked by shared links, directly or through others: each is a problem of its own.
std::vector<std::vector<Flow>> components(const std::vector<Flow>& flows) {
  std::vector<std::vector<Flow>> out;
  std::vector<bool> taken(flows.size(), false);
  for (std::size_t first = 0; first < flows.size(); ++first) {
    if (taken[first]) continue;
    std::vector<Flow> part;
    std::set<LinkId> links;
    for (bool more = true; more;) {
      more = false;
      for (std::size_t i = first; i < flows.size(); ++i) {
        const auto& route = flows[i].route;
        if (taken[i] || (i != first && std::none_of(route.begin(), route.end(),
                                                    [&](LinkId l) { return links.contains(l); })))
          continue;
        taken[i] = more = true;
        links.insert(route.begin(), route.end());
        part.push_back(flows[i]);
      }
    }
    out.push_back(part);
  }
  return out;
}

std::string describe(std::uint64_t seed, const std::vector<Flow>& flows) {
  return "WEFT_SEED=" + std::to_string(seed) + ", " + std::to_string(flows.size()) + " flows";
}

constexpr std::uint64_t kCases = 3000;

TEST(PcieModel, NoLinkIsOverCapacityAndEveryFlowIsHeldBySomething) {
  PcieModel::Ways ways;
  const std::uint64_t base = base_seed(1);
  std::uint64_t fixed_points = 0, circles = 0;
  for (std::uint64_t seed = base; seed < base + kCases; ++seed) {
    Rng rng(seed);
    const Machine m = random_machine(rng, 1, 1);
    const auto whole = random_flows(m, rng, 24);
    SCOPED_TRACE(describe(seed, whole));
    for (const auto& flows : components(whole)) {
      PcieModel::Ways mine;
      std::vector<LinkId> held_by;
      const auto rate = solve(m, flows, &mine, &held_by);
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
      // Who is named: a link of the network is full and nobody is faster there; where rates were filled up, no link of the
      // route is fuller.
      const auto fullness = [&](LinkId l) { return load[l.index()] / m.capacity[l.index()]; };
      for (std::size_t i = 0; i < flows.size(); ++i) {
        const LinkId by = held_by[i];
        ASSERT_TRUE(by.valid()) << "flow " << i;
        const auto& route = flows[i].route;
        if (m.pcie.pcie_link[by.index()] == PcieNetwork::kFabric || mine.filled_up > 0) {
          ASSERT_TRUE(std::ranges::find(route, by) != route.end()) << "flow " << i;
        }
        if (mine.filled_up > 0) {
          for (const LinkId l : route) ASSERT_GE(fullness(by), fullness(l) * (1 - 1e-9)) << "flow " << i;
        } else if (m.pcie.pcie_link[by.index()] == PcieNetwork::kFabric) {
          ASSERT_GE(fullness(by), 1 - 1e-9) << "flow " << i;
          ASSERT_GE(rate[i] / flows[i].weight, highest[by.index()] * (1 - 1e-9)) << "flow " << i;
        }
      }
      // All others: what arbitration gives over what those leave.
      const auto a = arbitrated(m, flows, held);
      const bool filled = mine.filled_up > 0;
      fixed_points += filled ? 0 : 1;
      circles += filled && mine.rounds < 16 ? 1 : 0;
      for (std::size_t i = 0; i < flows.size() && !filled; ++i) {
        if (held[i] > 0) continue;
        ASSERT_TRUE(close(rate[i], a[i]))
            << "flow " << i << ": " << rate[i] << ", arbitration gives " << a[i];
      }
      // Filled up: nobody has less than the network's shares of what arbitration alone allows, or could have more.
      const auto least = network_shares(m, flows, arbitrated(m, flows, std::vector<double>(flows.size(), 0)));
      for (std::size_t i = 0; i < flows.size() && filled; ++i) {
        ASSERT_TRUE(at_full[i]) << "flow " << i;
        ASSERT_GE(rate[i], least[i] * (1 - 1e-9)) << "flow " << i;
      }
      ways.max_min += mine.max_min;
      ways.factors += mine.factors;
      ways.rounds_met += mine.rounds_met;
      ways.filled_up += mine.filled_up;
      ways.rounds += mine.rounds;
    }
  }
  std::printf("components: %llu max-min, %llu factors, %llu met, %llu filled up; %llu rounds\n",
              static_cast<unsigned long long>(ways.max_min), static_cast<unsigned long long>(ways.factors),
              static_cast<unsigned long long>(ways.rounds_met),
              static_cast<unsigned long long>(ways.filled_up), static_cast<unsigned long long>(ways.rounds));
  EXPECT_GT(ways.max_min, 0u);
  EXPECT_GT(ways.factors, 0u);
  EXPECT_GT(ways.rounds_met, 0u);
  EXPECT_LE(ways.filled_up * 20, fixed_points) << "arbitration and network seldom fail to meet";
  EXPECT_GT(circles * 2, ways.filled_up) << "rounds that go in circles are seen to";
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

// With an accuracy every rate is within it of the exact one whatever came before, what is told is what is in force, and
// fewer rates change.
TEST(PcieModel, WithAnAccuracyEveryRateIsWithinItOfTheExactOne) {
  const std::uint64_t base = base_seed(1);
  double off = 0;
  std::size_t told_exact = 0, told_near = 0;
  for (std::uint64_t seed = base; seed < base + kCases / 4; ++seed) {
    Rng rng(seed);
    const double accuracy = seed % 2 == 0 ? 0.1 : 0.01;
    const Machine m = random_machine(rng, 1, 1);
    const auto flows = random_flows(m, rng, 30);
    SCOPED_TRACE(describe(seed, flows));
    PcieModel exact(m.capacity, &m.pcie), near(m.capacity, &m.pcie);
    ASSERT_TRUE(near.set_accuracy(accuracy));
    std::vector<std::size_t> on;  // flows by place; both models give the same ids
    std::vector<FlowId> ids;
    std::map<FlowId, double> told;
    std::map<FlowId, LinkId> held_by;
    for (int step = 0; step < 60; ++step) {
      if (on.empty() || rng.below(3) != 0) {
        const Flow& f = flows[rng.below(flows.size())];
        ids.push_back(exact.add(f.route, f.weight, kNoLimit));
        ASSERT_EQ(near.add(f.route, f.weight, kNoLimit), ids.back());
        on.push_back(ids.size() - 1);
      } else {
        std::swap(on[rng.below(on.size())], on.back());
        exact.remove(ids[on.back()]);
        near.remove(ids[on.back()]);
        told.erase(ids[on.back()]);
        on.pop_back();
      }
      told_exact += exact.solve().size();
      for (const FlowId f : near.solve()) {
        told[f] = near.rate(f);
        held_by[f] = near.bottleneck(f);
        ++told_near;
      }
      for (const FlowId f : near.moved()) held_by[f] = near.bottleneck(f);
      std::vector<double> load(m.capacity.size(), 0);
      for (const std::size_t i : on) {
        const double want = exact.rate(ids[i]), rate = near.rate(ids[i]);
        ASSERT_LE(std::abs(rate - want), accuracy * want * (1 + 1e-9)) << "step " << step;
        ASSERT_EQ(told.at(ids[i]), rate) << "a change was not reported";
        ASSERT_EQ(near.bottleneck(ids[i]), exact.bottleneck(ids[i]));
        ASSERT_EQ(held_by.at(ids[i]), near.bottleneck(ids[i])) << "a move was not reported";
        off = std::max(off, std::abs(rate - want) / want / accuracy);
        for (const LinkId l : near.route(ids[i])) load[l.index()] += rate;
      }
      for (std::size_t l = 0; l < load.size(); ++l)
        ASSERT_LE(load[l], m.capacity[l] * (1 + accuracy + 1e-9)) << "link " << l;
    }
  }
  EXPECT_GT(off, 0.5);  // it is not exact
  EXPECT_LT(told_near, told_exact);
}

// Messages over nodes and network from the start to the last byte: nobody has rate 0 at any time, and the whole takes
// at most kFactor (1 + 2 tau)/(1 - 2 tau) times the time of the busiest link.
TEST(PcieModel, NobodyStarvesAndTheWholeStaysNearTheLinkBound) {
  constexpr double kFactor = 4;
  const std::uint64_t base = base_seed(1);
  double worst = 0;
  double sum = 0;
  for (std::uint64_t seed = base; seed < base + 2000; ++seed) {
    Rng rng(seed);
    const Machine m = random_machine(rng, 1, 1);
    const auto flows = random_flows(m, rng, 24);
    SCOPED_TRACE(describe(seed, flows));
    PcieModel model(m.capacity, &m.pcie);
    std::vector<double> left(flows.size());
    for (double& l : left) l = 0.1 + rng.unit();
    const auto load = loads(m, flows, left);
    double bound = 0;
    for (std::size_t l = 0; l < load.size(); ++l) bound = std::max(bound, load[l] / m.capacity[l]);
    std::map<FlowId, std::size_t> active;
    for (std::size_t i = 0; i < flows.size(); ++i)
      active[model.add(flows[i].route, flows[i].weight, kNoLimit)] = i;
    double now = 0;
    while (!active.empty()) {
      (void)model.solve();
      double step = kNoLimit;
      for (const auto& [id, i] : active) {
        ASSERT_GT(model.rate(id), 0) << "flow " << i;
        step = std::min(step, left[i] / model.rate(id));
      }
      now += step;
      for (auto it = active.begin(); it != active.end();) {
        left[it->second] -= step * model.rate(it->first);
        if (left[it->second] > 1e-9) {
          ++it;
          continue;
        }
        model.remove(it->first);
        it = active.erase(it);
      }
    }
    const double tau = m.pcie.tree.tau[0];
    const double ratio = now / bound;
    EXPECT_LE(ratio, kFactor * (1 + 2 * tau) / (1 - 2 * tau));
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  std::printf("time over that of the busiest link: %.3f on average, at most %.3f\n", sum / 2000, worst);
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
