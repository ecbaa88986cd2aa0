#include "congestion/pcie_arbiter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "core/rng.hpp"
#include "tests/congestion/cases.hpp"
#include "tests/congestion/pcie_testing.hpp"

namespace weft::congestion::pcie_arbiter_test {
namespace {

using weft::testing::arbiter_tree;
using weft::testing::Fraction;
using weft::testing::PcieReference;
using weft::testing::ReferenceTree;
using weft::testing::storm;
using Pairs = std::vector<std::pair<int, int>>;
using Fractions = std::vector<Fraction>;

void expect_near(std::span<const double> got, const Fractions& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], want[i].value(), 1e-12) << what << ", " << i;
}

std::vector<std::uint32_t> declare(PcieArbiter& arbiter, const Pairs& pairs) {
  std::vector<std::uint32_t> ids;
  for (auto [s, d] : pairs)
    ids.push_back(arbiter.add(static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(d)));
  return ids;
}

TEST(PcieArbiter, WorkedExampleHasTheFractionsOfEveryStep) {
  const Pairs pairs = {{0, 2}, {1, 4}, {3, 2}, {6, 4}};
  const ReferenceTree tree = storm(1, Fraction(1, 5));
  const auto exact = PcieReference(tree, pairs).solve();
  const Fractions a = {Fraction(1, 2), Fraction(1, 2), Fraction(1), Fraction(1)};
  const Fractions b = {Fraction(1, 2), Fraction(3, 10), Fraction(1, 2), Fraction(7, 10)};
  const Fractions c = {Fraction(3, 10), Fraction(3, 10), Fraction(1, 2), Fraction(7, 10)};
  const Fractions d = {Fraction(3, 10), Fraction(3, 10), Fraction(7, 10), Fraction(7, 10)};
  EXPECT_EQ(exact.offered, a);
  EXPECT_EQ(exact.downstream, b);
  EXPECT_EQ(exact.back_pressure, c);
  EXPECT_EQ(exact.rho, d);

  PcieArbiter arbiter(arbiter_tree(tree));
  const auto ids = declare(arbiter, pairs);
  expect_near(arbiter.solve(ids), d, "D");
  expect_near(arbiter.offered(), a, "A");
  expect_near(arbiter.downstream(), b, "B");
  expect_near(arbiter.back_pressure(), c, "C");
  // a and b wait for switch 1's port to card (4,5), c and d for what these leave at their last ports.
  const PcieLink to_card2 = pcie_down(10);
  const PcieLink to_gpu2 = pcie_down(2);
  EXPECT_EQ(std::vector<PcieLink>(arbiter.limiter().begin(), arbiter.limiter().end()),
            (std::vector<PcieLink>{to_card2, to_card2, to_gpu2, to_card2}));
  for (const auto& link : arbiter.links()) {
    const bool expected = link.link == pcie_up(8) || link.link == to_card2 || link.link == to_gpu2;
    EXPECT_EQ(link.short_of_capacity, expected) << link.link;
  }
  // Phase 2: c and d have finished.
  const std::vector<std::uint32_t> rest = {ids[0], ids[1]};
  expect_near(arbiter.solve(rest), {Fraction(1, 2), Fraction(1, 2)}, "phase 2");
}

TEST(PcieArbiter, AnswersThePublishedTestVectors) {
  struct Case {
    Pairs pairs;
    Fractions rho;
  };
  const Fraction half(1, 2);
  const Fraction third(1, 3);
  const Fraction quarter(1, 4);
  const Fraction low(3, 10);
  const Fraction high(7, 10);
  const Fraction tiny(9, 170);
  const std::vector<Case> cases = {
      {{{0, 1}}, {Fraction(1)}},
      {{{0, 2}, {1, 2}}, {half, half}},
      {{{0, 2}, {1, 3}}, {half, half}},
      {{{0, 2}, {3, 2}}, {half, half}},
      {{{0, 4}, {5, 4}}, {low, high}},
      {{{0, 4}, {1, 5}}, {half, half}},
      {{{0, 4}, {2, 5}}, {half, half}},
      {{{0, 1}, {0, 2}, {0, 4}}, {third, third, third}},
      {{{0, 4}, {1, 2}, {3, 2}}, {half, half, half}},
      {{{0, 2}, {1, 4}, {3, 2}, {6, 4}}, {low, low, high, high}},
      {{{0, 7}, {1, 4}, {6, 7}}, {low, low, high}},
      {{{0, 4}, {1, 5}, {2, 6}, {3, 7}}, {quarter, quarter, quarter, quarter}},
      {{{0, 1}, {1, 2}, {2, 6}, {3, 2}, {4, 0}, {5, 6}, {6, 2}, {7, 3}},
       {Fraction(1), Fraction(21, 85), Fraction(161, 170), high, tiny, tiny, tiny, tiny}},
  };
  const ReferenceTree tree = storm(1, Fraction(1, 5));
  PcieArbiter arbiter(arbiter_tree(tree));
  for (const Case& c : cases) {
    EXPECT_EQ(PcieReference(tree, c.pairs).solve().rho, c.rho);
    const auto ids = declare(arbiter, c.pairs);
    expect_near(arbiter.solve(ids), c.rho, std::to_string(c.pairs.size()) + " communications");
  }
}

// Every set of active communications of a halo exchange, one send per GPU at a time.
std::uint64_t compare_all_sets(const std::vector<std::vector<int>>& neighbours, Fraction tau, double* worst) {
  const ReferenceTree tree = storm(1, tau);
  PcieArbiter arbiter(arbiter_tree(tree));
  std::map<std::pair<int, int>, std::uint32_t> id;
  for (int s = 0; s < 8; ++s) {
    for (int d : neighbours[s])
      id[{s, d}] = arbiter.add(static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(d));
  }
  std::vector<std::size_t> choice(8, 0);
  std::uint64_t sets = 0;
  while (true) {
    std::size_t g = 0;
    while (g < 8 && ++choice[g] > neighbours[g].size()) choice[g++] = 0;
    if (g == 8) return sets;
    Pairs pairs;
    std::vector<std::uint32_t> active;
    for (int s = 0; s < 8; ++s) {
      if (choice[s] == 0) continue;
      pairs.emplace_back(s, neighbours[s][choice[s] - 1]);
      active.push_back(id[pairs.back()]);
    }
    const auto exact = PcieReference(tree, pairs).solve_published().rho;
    const auto fast = arbiter.solve(active);
    std::map<std::pair<int, bool>, double> load;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      *worst = std::max(*worst, std::abs(fast[i] - exact[i].value()));
      EXPECT_GT(fast[i], 0);
    }
    if (++sets % 64 != 0) continue;
    for (const auto& link : arbiter.links()) {
      double sum = 0;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const std::uint32_t node = link.link / 2;
        auto below = [&](int v) {
          for (; v >= 0; v = tree.parent[v]) {
            if (static_cast<std::uint32_t>(v) == node) return true;
          }
          return false;
        };
        const bool from = below(pairs[i].first);
        const bool to = below(pairs[i].second);
        if (from != to && to == ((link.link & 1) != 0)) sum += fast[i];
      }
      EXPECT_LE(sum, 1 + 1e-12);
    }
  }
}

TEST(PcieArbiter, EqualsTheRationalReferenceOnAllSetsOfThe4x2Exchange) {
  double worst = 0;
  EXPECT_EQ(compare_all_sets(weft::testing::grid_neighbours(4, 2, 1), Fraction(21, 121), &worst), 20735u);
  EXPECT_LT(worst, 1e-12);
  std::printf("largest difference %.2g\n", worst);
}

TEST(PcieArbiter, EqualsTheRationalReferenceOnAllSetsOfThe2x2x2Exchange) {
  double worst = 0;
  EXPECT_EQ(compare_all_sets(weft::testing::grid_neighbours(2, 2, 2), Fraction(21, 121), &worst), 65535u);
  EXPECT_LT(worst, 1e-12);
  std::printf("largest difference %.2g\n", worst);
}

// Random trees: any radix, capacities that differ, sockets, many communications at once.
TEST(PcieArbiter, EqualsTheRationalReferenceOnRandomTrees) {
  const std::uint64_t seed = problems::base_seed(20161113);
  int solved = 0;
  for (std::uint64_t round = 0; round < 4000; ++round) {
    Rng rng(seed + round);
    ReferenceTree t;
    const int nodes = static_cast<int>(3 + rng.below(14));
    t.tau = Fraction(static_cast<std::int64_t>(rng.below(5)), 12);
    for (int v = 0; v < nodes; ++v) {
      t.parent.push_back(v == 0 ? -1
                                : static_cast<int>(rng.below(static_cast<std::uint64_t>(std::min(v, 6)))));
      t.up.emplace_back(1 + static_cast<std::int64_t>(rng.below(4)), 2);
      t.down.emplace_back(1 + static_cast<std::int64_t>(rng.below(4)), 2);
      t.root_complex.push_back(v == 0 || rng.below(5) == 0);
    }
    std::vector<int> leaves;
    for (int v = 1; v < nodes; ++v) {
      if (std::count(t.parent.begin(), t.parent.end(), v) == 0) leaves.push_back(v);
    }
    if (leaves.size() < 2) continue;
    Pairs pairs;
    for (std::uint64_t i = 1 + rng.below(rng.below(2) == 0 ? 7 : 20); i > 0; --i) {
      const int s = leaves[rng.below(leaves.size())];
      const int d = leaves[rng.below(leaves.size())];
      if (s != d) pairs.emplace_back(s, d);
    }
    Fractions exact;
    try {
      exact = PcieReference(t, pairs).solve().rho;
    } catch (const std::overflow_error&) {
      continue;
    }
    PcieArbiter arbiter(arbiter_tree(t));
    const auto ids = declare(arbiter, pairs);
    // What was solved before, these the other way round, leaves nothing behind.
    (void)arbiter.solve(std::vector<std::uint32_t>(ids.rbegin(), ids.rend()));
    const auto fast = arbiter.solve(ids);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_NEAR(fast[i], exact[i].value(), 1e-12)
          << "WEFT_SEED=" << seed + round << ", communication " << i;
    }
    ++solved;
  }
  EXPECT_GT(solved, 3000);
}

// A bundle that is slowed on one socket says nothing about communications that share no link with it.
TEST(PcieArbiter, ReleaseDoesNotReachBeyondSharedLinks) {
  const ReferenceTree tree = storm(2, Fraction(21, 121));
  const Pairs near = {{5, 9}, {7, 3}, {8, 9}, {12, 8}, {3, 7}, {6, 7}};
  Pairs both = near;
  both.insert(both.end(), {{9, 13}, {10, 14}, {15, 14}});
  PcieArbiter arbiter(arbiter_tree(tree));
  const auto span = arbiter.solve(declare(arbiter, near));
  const std::vector<double> alone(span.begin(), span.end());
  const auto together = arbiter.solve(declare(arbiter, both));
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(alone[i], together[i], 1e-12) << i;
  const auto exact = PcieReference(tree, both).solve().rho;
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_NEAR(together[i], exact[i].value(), 1e-12) << i;
}

TEST(PcieArbiter, SymmetricImagesHaveEqualFactors) {
  PcieArbiter arbiter(arbiter_tree(storm(1, Fraction(21, 121))));
  const std::uint64_t seed = problems::base_seed(7);
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    Pairs pairs;
    Pairs image;
    const int flip = static_cast<int>(1 + rng.below(7));  // any mask of 1 (GPUs), 2 (cards), 4 (switches)
    for (int s = 0; s < 8; ++s) {
      const int d = static_cast<int>(rng.below(8));
      if (d == s) continue;
      pairs.emplace_back(s, d);
      image.emplace_back(s ^ flip, d ^ flip);
    }
    const auto span = arbiter.solve(declare(arbiter, pairs));
    const std::vector<double> first(span.begin(), span.end());
    const auto second = arbiter.solve(declare(arbiter, image));
    for (std::size_t i = 0; i < first.size(); ++i)
      EXPECT_NEAR(first[i], second[i], 1e-12) << "WEFT_SEED=" << seed;
  }
}

// Four trees: a root complex, a network card and three switches on it, two GPUs on each. All capacities are 1. However
// the nodes are numbered, a path takes the links of its own tree first, then those of the tree that it comes to.
TEST(PcieArbiter, TreesAreTakenInTheOrderInWhichPathsCrossThem) {
  for (const bool reversed : {true, false}) {
    PcieTree t;
    const auto node = [&](std::uint32_t parent, bool card) {
      t.parent.push_back(parent);
      t.up_capacity.push_back(1);
      t.down_capacity.push_back(1);
      t.root_complex.push_back(parent == PcieTree::kNoParent ? 1 : 0);
      t.never_crosses.push_back(0);
      t.gate.push_back(card ? 1 : 0);
      t.tau.push_back(0);
      return t.nodes() - 1;
    };
    struct Tree {
      std::uint32_t card = 0;
      std::vector<std::uint32_t> gpu;  // two on each switch in turn
    };
    std::vector<Tree> trees(4);
    for (std::size_t k = 0; k < trees.size(); ++k) {
      Tree& tree = trees[reversed ? trees.size() - 1 - k : k];
      const std::uint32_t rc = node(PcieTree::kNoParent, false);
      tree.card = node(rc, true);
      for (int s = 0; s < 3; ++s) {
        const std::uint32_t bridge = node(rc, false);
        for (int g = 0; g < 2; ++g) tree.gpu.push_back(node(bridge, false));
      }
    }
    PcieArbiter arbiter(t);
    const auto far = [&](std::size_t a, std::size_t i, std::size_t b, std::size_t j) {
      const auto up = [&](std::uint32_t v) { return std::vector{pcie_up(v), pcie_up(t.parent[v])}; };
      std::vector<PcieLink> path = up(trees[a].gpu[i]);
      path.insert(path.end(), {pcie_down(trees[a].card), pcie_up(trees[b].card)});
      path.insert(path.end(), {pcie_down(t.parent[trees[b].gpu[j]]), pcie_down(trees[b].gpu[j])});
      return arbiter.add(path);
    };
    // A: the first two share their switch, 1/2 each; then the first meets the third at the card of tree 1 as one that
    // asks for 1/2, so they have 1/3 and 2/3; the second waits in one queue with the first.
    const std::vector<std::uint32_t> up = {far(0, 0, 1, 0), far(0, 1, 2, 0), far(3, 0, 1, 2)};
    expect_near(arbiter.solve(up), {Fraction(1, 3), Fraction(1, 3), Fraction(2, 3)}, "A");
    // B: three ports of tree 0 share the way down to its card, 1/3 each; where the first meets a fourth from within
    // tree 1, that one has the rest.
    const std::vector<std::uint32_t> down = {far(0, 0, 1, 0), far(0, 2, 2, 0), far(0, 4, 3, 0),
                                             arbiter.add(trees[1].gpu[2], trees[1].gpu[1])};
    expect_near(arbiter.solve(down), {Fraction(1, 3), Fraction(1, 3), Fraction(1, 3), Fraction(2, 3)}, "B");
  }
}

TEST(PcieArbiter, ACeilingIsKeptAndWhatItLeavesGoesToTheOthers) {
  PcieArbiter arbiter(arbiter_tree(storm(1, Fraction(1, 5))));
  const auto a = arbiter.add(0, 2, 0.25);
  const auto b = arbiter.add(3, 2);
  EXPECT_EQ(arbiter.solve(std::vector{a, b})[0], 0.25);
  EXPECT_EQ(arbiter.solve(std::vector{a, b})[1], 0.75);
  EXPECT_EQ(arbiter.limiter()[0], PcieArbiter::kNone);
  arbiter.set_ceiling(a, 1);
  EXPECT_EQ(arbiter.solve(std::vector{a, b})[0], 0.5);
}

TEST(PcieArbiter, HostMemoryNeverCrosses) {
  auto tree = arbiter_tree(storm(1, Fraction(1, 5)));
  const auto memory = tree.nodes();
  tree.parent.push_back(14);  // the root complex
  tree.up_capacity.push_back(1);
  tree.down_capacity.push_back(1);
  tree.root_complex.push_back(0);
  tree.never_crosses.push_back(1);
  tree.tau.push_back(0.2);
  PcieArbiter arbiter(tree);
  const std::vector<std::uint32_t> active = {arbiter.add(memory, 4), arbiter.add(5, 4)};
  EXPECT_EQ(arbiter.solve(active)[0], 0.5);
  EXPECT_EQ(arbiter.solve(active)[1], 0.5);
}

TEST(PcieArbiter, PathsByLinkEqualPathsByNodesAndIdsAreReused) {
  PcieArbiter arbiter(arbiter_tree(storm(1, Fraction(1, 5))));
  const std::vector<PcieLink> path = {pcie_up(0),    pcie_up(8),    pcie_up(12),
                                      pcie_down(13), pcie_down(10), pcie_down(4)};
  const auto a = arbiter.add(path);
  const auto b = arbiter.add(5, 4);
  EXPECT_NEAR(arbiter.solve(std::vector{a, b})[0], 0.3, 1e-15);
  EXPECT_NEAR(arbiter.solve(std::vector{b, a})[0], 0.7, 1e-15);
  arbiter.remove(a);
  EXPECT_EQ(arbiter.add(1, 0), a);
  EXPECT_EQ(arbiter.solve(std::vector{b})[0], 1);
}

}  // namespace
}  // namespace weft::congestion::pcie_arbiter_test
