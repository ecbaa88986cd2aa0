// Switches of many ports, deep trees, crowded queues: what arbitration must keep where nobody has measured it.
// Everybody with something to send moves, no link carries more than it has, what could be in use is, and the whole
// takes no more than a stated multiple of the time of the busiest link.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>

#include "core/rng.hpp"
#include "tests/congestion/cases.hpp"
#include "tests/congestion/pcie_testing.hpp"

namespace weft::congestion::pcie_wide_test {
namespace {

using weft::testing::arbiter_tree;
using weft::testing::Fraction;
using weft::testing::PcieReference;
using weft::testing::ReferenceTree;
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

std::uint32_t node(PcieTree& t, std::uint32_t parent, double tau, double capacity = 1) {
  t.parent.push_back(parent);
  t.up_capacity.push_back(capacity);
  t.down_capacity.push_back(capacity);
  t.root_complex.push_back(parent == PcieTree::kNoParent ? 1 : 0);
  t.never_crosses.push_back(0);
  t.tau.push_back(tau);
  return t.nodes() - 1;
}

// A root complex with `switches` switches of `gpus` GPUs each; the GPUs, switch by switch.
std::vector<std::uint32_t> flat(PcieTree& t, int switches, int gpus, double tau) {
  const std::uint32_t rc = node(t, PcieTree::kNoParent, tau);
  std::vector<std::uint32_t> out;
  for (int s = 0; s < switches; ++s) {
    const std::uint32_t sw = node(t, rc, tau);
    for (int g = 0; g < gpus; ++g) out.push_back(node(t, sw, tau));
  }
  return out;
}

std::vector<PcieLink> path(const PcieTree& t, std::uint32_t a, std::uint32_t b) {
  const auto depth = [&](std::uint32_t v) {
    int d = 0;
    for (; t.parent[v] != PcieTree::kNoParent; v = t.parent[v]) ++d;
    return d;
  };
  std::vector<PcieLink> up, down;
  while (a != b) {
    if (depth(a) >= depth(b)) {
      up.push_back(pcie_up(a));
      a = t.parent[a];
    } else {
      down.push_back(pcie_down(b));
      b = t.parent[b];
    }
  }
  up.insert(up.end(), down.rbegin(), down.rend());
  return up;
}

double capacity(const PcieTree& t, PcieLink l) {
  return ((l & 1) != 0 ? t.down_capacity : t.up_capacity)[l / 2];
}

// Whether each contended link is asked by more than two input ports: then nothing that was measured with two holds anybody back.
bool only_wide_ports(const PcieArbiter& arbiter, const std::vector<std::vector<PcieLink>>& paths) {
  return std::ranges::all_of(arbiter.links(), [&](const PcieArbiter::LinkState& s) {
    if ((s.link & 1) == 0 || !s.short_of_capacity) return true;
    std::set<PcieLink> ports;
    for (const auto& p : paths)
      if (const auto at = std::ranges::find(p, s.link); at != p.end())
        ports.insert(at == p.begin() ? PcieArbiter::kNone : *std::prev(at));
    return ports.size() > 2;
  });
}

struct Outcome {
  double ratio = 0;        // time over that of the busiest link
  double slowest = 1e300;  // smallest rate over the link of the source
};

// All messages from the start to the last byte, with every phase checked.
Outcome play(const PcieTree& t, const Pairs& pairs, std::vector<double> left) {
  PcieArbiter arbiter(t);
  std::vector<std::uint32_t> ids;
  std::vector<std::vector<PcieLink>> paths;
  std::vector<double> load(2 * t.nodes(), 0);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    paths.push_back(path(t, pairs[i].first, pairs[i].second));
    ids.push_back(arbiter.add(paths.back(), t.up_capacity[pairs[i].first]));
    for (const PcieLink l : paths.back()) load[l] += left[i] / capacity(t, l);
  }
  const double bound = *std::max_element(load.begin(), load.end());
  Outcome out;
  double now = 0;
  std::vector<std::size_t> active(pairs.size());
  for (std::size_t i = 0; i < active.size(); ++i) active[i] = i;
  while (!active.empty()) {
    std::vector<std::uint32_t> of;
    for (const std::size_t i : active) of.push_back(ids[i]);
    const auto rate = arbiter.solve(of);
    double step = 1e300;
    std::fill(load.begin(), load.end(), 0);
    for (std::size_t k = 0; k < active.size(); ++k) {
      EXPECT_GT(rate[k], 0) << "message " << active[k] << " starves";
      if (!(rate[k] > 0)) return out;
      step = std::min(step, left[active[k]] / rate[k]);
      out.slowest = std::min(out.slowest, rate[k] / t.up_capacity[pairs[active[k]].first]);
      for (const PcieLink l : paths[active[k]]) load[l] += rate[k];
    }
    if (active.size() % 8 == 1) {
      PcieArbiter fresh(t);
      std::vector<std::uint32_t> again;
      for (const std::size_t i : active) again.push_back(fresh.add(paths[i], t.up_capacity[pairs[i].first]));
      EXPECT_TRUE(std::ranges::equal(fresh.solve(again), rate)) << "what was solved before changes the rates";
    }
    std::vector<std::vector<PcieLink>> crossed;
    for (const std::size_t i : active) crossed.push_back(paths[i]);
    const bool wide = only_wide_ports(arbiter, crossed);
    for (std::size_t k = 0; k < active.size(); ++k) {
      const PcieLink l = arbiter.limiter()[k];
      EXPECT_GE(rate[k], arbiter.back_pressure()[k] * (1 - 1e-11))
          << "release took from message " << active[k];
      if (l == PcieArbiter::kNone) {
        EXPECT_NEAR(rate[k] / t.up_capacity[pairs[active[k]].first], 1, 1e-11) << "nothing holds it back";
      } else if (rate[k] > arbiter.offered()[k] * (1 - 1e-13)) {
        EXPECT_EQ(l & 1, 0u) << "has all that it offered, yet a link down holds it back";
      }
      if (l != PcieArbiter::kNone && wide) {
        EXPECT_GE(load[l], capacity(t, l) * (1 - 1e-11)) << "held back by link " << l << ", which has room";
      }
    }
    for (PcieLink l = 0; l < load.size(); ++l)
      if (load[l] > 0) {
        EXPECT_LE(load[l], capacity(t, l) * (1 + 1e-11)) << "link " << l;
      }
    now += step;
    std::vector<std::size_t> still;
    for (std::size_t k = 0; k < active.size(); ++k) {
      left[active[k]] -= rate[k] * step;
      if (left[active[k]] > 1e-9) still.push_back(active[k]);
    }
    active = still;
  }
  out.ratio = now / bound;
  return out;
}

// GPUs 1..k-1 of a switch and one behind the root complex send to GPU 0: of n = k groups one crosses.
TEST(PcieWide, ACrossingPortTakesTheSamePartOfItsTurnsWhateverTheWidth) {
  for (const double tau : {0.0, 21.0 / 121, 0.2, 1.0 / 3, 0.4}) {
    for (int n = 2; n <= 16; ++n) {
      PcieTree t;
      const auto gpus = flat(t, 2, n, tau);
      PcieArbiter arbiter(t);
      std::vector<std::uint32_t> ids = {arbiter.add(gpus[n], gpus[0])};
      for (int g = 1; g < n; ++g) ids.push_back(arbiter.add(gpus[g], gpus[0]));
      const auto rho = arbiter.solve(ids);
      const double p = (1 - 2 * tau) / (1 + 2 * tau);
      EXPECT_NEAR(rho[0], p / (n - 1 + p), 1e-14) << n;
      for (int g = 1; g < n; ++g) EXPECT_NEAR(rho[g], 1 / (n - 1 + p), 1e-14) << n;
      if (n == 2) {
        EXPECT_EQ(rho[0], 0.5 - tau) << "as measured, to the bit";
      }
    }
  }
}

// x crossing groups of n: each side is served evenly, the ratio of the two is that of the measurement.
TEST(PcieWide, SeveralCrossingPortsKeepTheRatioToTheOthers) {
  const double tau = 21.0 / 121;
  for (int sockets = 2; sockets <= 6; ++sockets) {
    PcieTree t;  // root complexes under a node between sockets; GPUs of the others come in by one port each
    const std::uint32_t rc = node(t, PcieTree::kNoParent, tau);
    std::vector<std::uint32_t> direct, crossing;
    const std::uint32_t target = node(t, rc, tau);
    for (int s = 1; s < sockets; ++s) {
      const std::uint32_t sw = node(t, rc, tau);
      crossing.push_back(node(t, sw, tau));
      const std::uint32_t memory = node(t, rc, tau);
      t.never_crosses[memory] = 1;
      direct.push_back(memory);
    }
    PcieArbiter arbiter(t);
    std::vector<std::uint32_t> ids;
    for (const std::uint32_t g : crossing) ids.push_back(arbiter.add(g, target));
    for (const std::uint32_t m : direct) ids.push_back(arbiter.add(m, target));
    const auto rho = arbiter.solve(ids);
    double sum = 0;
    for (std::size_t i = 0; i < crossing.size(); ++i) {
      sum += rho[i] + rho[crossing.size() + i];
      EXPECT_NEAR(rho[i] / rho[crossing.size() + i], (0.5 - tau) / (0.5 + tau), 1e-13);
    }
    EXPECT_NEAR(sum, 1, 1e-13);
  }
}

TEST(PcieWide, QuotasAreContinuousAndFallWithTauOverItsWholeRange) {
  for (int n = 2; n <= 16; n += 7) {
    double before = 1;
    for (int i = 0; i <= 1000; ++i) {
      PcieTree t;
      const auto gpus = flat(t, 2, n, i / 1000.0);
      PcieArbiter arbiter(t);
      std::vector<std::uint32_t> ids = {arbiter.add(gpus[n], gpus[0])};
      for (int g = 1; g < n; ++g) ids.push_back(arbiter.add(gpus[g], gpus[0]));
      const double rho = arbiter.solve(ids)[0];
      EXPECT_GT(rho, 0);
      EXPECT_LE(rho, before);
      EXPECT_LT(before - rho, i > 0 ? 0.0021 : 1);
      before = rho;
    }
  }
}

// Every GPU sends to the first and to the last; the busiest links are those of the two roots.
TEST(PcieWide, GathersBehindWideSwitchesTakeTheTimeOfTheRootsLinks) {
  for (int gpus = 3; gpus <= 16; ++gpus) {
    PcieTree t;
    const auto all = flat(t, 2, gpus, 21.0 / 121);
    Pairs pairs;
    for (const std::uint32_t a : all)
      for (const std::uint32_t b : {all.front(), all.back()})
        if (a != b) pairs.emplace_back(a, b);
    EXPECT_NEAR(play(t, pairs, std::vector<double>(pairs.size(), 1)).ratio, 1, 1e-9) << gpus;
  }
}

// A machine nobody has tuned for: up to four levels of switches, up to 16 ports each.
PcieTree random_tree(Rng& rng, double tau, bool equal, std::vector<std::uint32_t>& leaves) {
  PcieTree t;
  const auto rate = [&] { return equal ? 1.0 : 0.25 * static_cast<double>(1 + rng.below(8)); };
  const std::uint64_t levels = 1 + rng.below(4);
  struct Inner {
    std::uint32_t at;
    std::uint64_t level;
  };
  std::vector<Inner> inner = {{node(t, PcieTree::kNoParent, tau), 0}};
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const Inner v = inner[i];
    const std::uint64_t ports = 2 + rng.below(rng.below(3) == 0 ? 14 : 4);
    for (std::uint64_t k = 0; k < ports; ++k) {
      const bool more = v.level < levels && inner.size() < 24 && rng.below(3) != 0;
      const std::uint32_t child = node(t, v.at, tau, rate());
      if (more)
        inner.push_back({child, v.level + 1});
      else
        leaves.push_back(child);
    }
  }
  return t;
}

// Anything between anybody, into one or two hot ends, or all to all.
Pairs random_messages(Rng& rng, const std::vector<std::uint32_t>& leaves) {
  Pairs pairs;
  const auto any = [&] { return leaves[rng.below(leaves.size())]; };
  const std::uint64_t style = rng.below(4);
  if (style == 3 && leaves.size() <= 12) {
    for (const std::uint32_t a : leaves)
      for (const std::uint32_t b : leaves)
        if (a != b) pairs.emplace_back(a, b);
    return pairs;
  }
  const std::uint32_t hot[2] = {any(), any()};
  const std::uint64_t n = 1 + rng.below(rng.below(4) == 0 ? 150 : 40);
  while (pairs.size() < n) {
    const std::uint32_t a = any();
    const std::uint32_t b = style == 0 || (style == 2 && rng.below(2) == 0) ? any() : hot[rng.below(2)];
    if (a != b) pairs.emplace_back(a, b);
    if (leaves.size() == 1 || (a == b && hot[0] == hot[1] && leaves.size() < 3)) break;
  }
  return pairs;
}

// docs/pcie.md, "Wide switches": where all links are alike, 4 times the time of the busiest link; where they are
// not, 3 times (1 + 2 tau)/(1 - 2 tau).
TEST(PcieWide, NobodyStarvesOnRandomTreesAndTheWholeStaysNearTheLinkBound) {
  const std::uint64_t base = problems::base_seed(1);
  constexpr std::uint64_t kTrees = 4000;
  double worst[2] = {0, 0};
  double worst_scaled = 0;
  double slowest = 1;
  double sum = 0;
  std::uint64_t trees = 0;
  for (std::uint64_t seed = base; seed < base + kTrees; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const double tau = rng.below(3) == 0 ? 21.0 / 121 : 0.45 * rng.unit();
    const bool equal = rng.below(2) == 0;
    std::vector<std::uint32_t> leaves;
    const PcieTree t = random_tree(rng, tau, equal, leaves);
    const Pairs pairs = random_messages(rng, leaves);
    if (pairs.empty()) continue;
    std::vector<double> size(pairs.size(), 1);
    if (rng.below(2) == 0)
      for (double& s : size) s = 0.1 + rng.unit();
    const Outcome r = play(t, pairs, size);
    ASSERT_FALSE(HasFailure());
    const double turns = (1 + 2 * tau) / (1 - 2 * tau);
    EXPECT_LE(r.ratio, equal ? 4 : 3 * turns);
    worst[equal ? 0 : 1] = std::max(worst[equal ? 0 : 1], r.ratio);
    if (!equal) worst_scaled = std::max(worst_scaled, r.ratio / turns);
    slowest = std::min(slowest, r.slowest);
    sum += r.ratio;
    ++trees;
  }
  EXPECT_GE(trees, kTrees * 9 / 10);
  std::printf(
      "%llu trees: time over that of the busiest link %.3f on average, at most %.3f (equal links), "
      "%.3f (unequal; %.3f over the ratio of turns); slowest rate %.2g\n",
      static_cast<unsigned long long>(trees), sum / static_cast<double>(trees), worst[0], worst[1],
      worst_scaled, slowest);
}

// Release: 1>7 twice loses at the port into its second switch, 0>10 has what that leaves of the port before.
// Nothing that touches these is slowed by a queue, others elsewhere are: whether those are there does not matter.
TEST(PcieWide, WhatAQueueLosesFurtherDownIsReleasedWhoeverElseIsThere) {
  // rc(gpu gpu switch(gpu switch(card(gpu gpu) card(gpu gpu gpu) gpu) switch(switch(gpu gpu gpu) gpu) gpu))
  ReferenceTree t;
  t.parent = {-1, 0, 0, 0, 3, 3, 5, 6, 6, 5, 9, 9, 9, 5, 3, 14, 15, 15, 15, 14, 3};
  t.up.assign(t.parent.size(), Fraction(1));
  t.down = t.up;
  t.root_complex.assign(t.parent.size(), false);
  t.root_complex[0] = true;
  t.tau = Fraction(1, 5);
  const int gpu[] = {1, 2, 4, 7, 8, 10, 11, 12, 13, 16, 17, 19, 20};
  const std::vector<std::pair<int, int>> here = {{0, 10}, {11, 7}, {12, 6}, {1, 7}, {1, 7}};
  const std::vector<std::pair<int, int>> elsewhere = {{5, 0}, {5, 8}, {3, 8}, {6, 8}};
  for (const bool all : {false, true}) {
    std::vector<std::pair<int, int>> pairs;
    for (auto [a, b] : here) pairs.emplace_back(gpu[a], gpu[b]);
    for (auto [a, b] : elsewhere)
      if (all) pairs.emplace_back(gpu[a], gpu[b]);
    PcieArbiter arbiter(arbiter_tree(t));
    std::vector<std::uint32_t> ids;
    for (auto [a, b] : pairs)
      ids.push_back(arbiter.add(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)));
    const auto rho = arbiter.solve(ids);
    const auto exact = PcieReference(t, pairs).solve().rho;
    // 1>7 crosses at a port of three: p/(2 + p) with p = 3/7.
    EXPECT_EQ(exact[0], Fraction(14, 17));
    EXPECT_EQ(exact[3] + exact[4], Fraction(3, 17));
    for (std::size_t i = 0; i < pairs.size(); ++i) EXPECT_NEAR(rho[i], exact[i].value(), 1e-12) << i;
  }
}

}  // namespace
}  // namespace weft::congestion::pcie_wide_test
