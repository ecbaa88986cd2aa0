// Links that share a capacity: closed forms, and random problems against filling in exact fractions.
#include "congestion/link_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "congestion/models.hpp"
#include "congestion/pcie_model.hpp"
#include "tests/congestion/cases.hpp"
#include "tests/congestion/fraction.hpp"

namespace weft::congestion::link_groups_test {
namespace {

using problems::kNoLimit;
using problems::links;
using weft::testing::Fraction;

constexpr double kUp = 12.3e9, kDown = 11.4e9, kBoth = 19.8e9;  // A100 over PCIe 3 (docs/validation-a100.md)

// A root complex with its memory and `gpus` ports: links 2 i up from node i and 2 i + 1 down to it, node 0 the memory.
struct Node {
  std::vector<double> capacity;
  PcieNetwork pcie;
  LinkGroups groups;

  Node(std::uint32_t gpus, double both, double memory, double memory_both) {
    PcieTree& t = pcie.tree;
    for (std::uint32_t v = 0; v < gpus + 2; ++v) {  // the root is the last
      const bool root = v == gpus + 1, mem = v == 0;
      t.parent.push_back(root ? PcieTree::kNoParent : gpus + 1);
      t.up_capacity.push_back(mem ? memory : kUp);
      t.down_capacity.push_back(mem ? memory : kDown);
      t.root_complex.push_back(root ? 1 : 0);
      t.never_crosses.push_back(mem ? 1 : 0);
      t.tau.push_back(21.0 / 121);
      if (root) continue;
      for (const bool down : {false, true}) {
        capacity.push_back(down ? t.down_capacity[v] : t.up_capacity[v]);
        pcie.pcie_link.push_back(down ? pcie_down(v) : pcie_up(v));
        groups.of_link.push_back(v);
      }
      groups.capacity.push_back(mem ? memory_both : both);
    }
  }
  [[nodiscard]] std::unique_ptr<SharingModel> model(std::string_view name) const {
    return std::move(make_grouped_model(name, capacity, &pcie, groups)).value();
  }
};
const std::vector<LinkId> kToDevice = links({0, 3}), kToHost = links({2, 1});

std::vector<double> rates(SharingModel& m, const std::vector<std::vector<LinkId>>& routes) {
  std::vector<FlowId> ids;
  for (const auto& r : routes) ids.push_back(m.add(r, 1, kNoLimit));
  (void)m.solve();
  std::vector<double> out;
  for (const FlowId f : ids) out.push_back(m.rate(f) / 1e9);
  return out;
}

constexpr std::string_view kModels[] = {"max-min", "max-min-component", "pcie"};

void expect_rates(const Node& node, const std::vector<std::vector<LinkId>>& routes,
                  const std::vector<double>& want) {
  for (const std::string_view name : kModels) {
    const auto got = rates(*node.model(name), routes);
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(got[i], want[i], 1e-9) << name << ", flow " << i;
  }
}

TEST(LinkGroups, TwoOppositeCopiesHaveHalfOfWhatBothDirectionsCarry) {
  const Node node(1, kBoth, 64e9, 128e9);
  expect_rates(node, {kToDevice}, {11.4});
  expect_rates(node, {kToHost}, {12.3});
  expect_rates(node, {kToDevice, kToHost}, {9.9, 9.9});
}

// Two that go one way have its rate between them if that is less than two thirds of the sum; the third has the rest.
TEST(LinkGroups, ThreeCopiesShareTheSumAsFarAsTheirOwnDirectionGoes) {
  const Node node(1, kBoth, 64e9, 128e9);
  expect_rates(node, {kToDevice, kToDevice, kToHost}, {5.7, 5.7, 8.4});
  expect_rates(node, {kToHost, kToHost, kToDevice}, {6.15, 6.15, 7.5});
  const Node narrow(1, 13e9, 64e9, 128e9);
  expect_rates(narrow, {kToHost, kToHost, kToDevice}, {13.0 / 3, 13.0 / 3, 13.0 / 3});
}

// Each copy reads or writes the memory once.
TEST(LinkGroups, FourCopiesOnFourPortsShareTheMemory) {
  const Node node(4, kBoth, 30e9, 36e9);
  const std::vector<std::vector<LinkId>> routes{links({0, 3}), links({0, 5}), links({6, 1}), links({8, 1})};
  expect_rates(node, routes, {9, 9, 9, 9});
  // Both ways on one port, one each on two others: 2 * 9.9 + 11.4 + 12.3 is more than 40.
  const Node wide(4, kBoth, 30e9, 40e9);
  expect_rates(wide, {links({0, 3}), links({2, 1}), links({0, 5}), links({6, 1})}, {9.9, 9.9, 10.1, 10.1});
}

TEST(LinkGroups, RoutesAndBottlenecksNameLinks) {
  const Node node(1, kBoth, 64e9, 128e9);
  for (const std::string_view name : kModels) {
    const auto m = node.model(name);
    const FlowId in = m->add(kToDevice, 1, kNoLimit);
    const FlowId out = m->add(kToHost, 1, kNoLimit);
    EXPECT_EQ(m->solve().size(), 2u);
    EXPECT_EQ(m->bottleneck(in), LinkId(3)) << name;
    EXPECT_EQ(m->bottleneck(out), LinkId(2)) << name;
    EXPECT_EQ(m->bottlenecks()[in.index()], LinkId(3));
    EXPECT_TRUE(std::ranges::equal(m->route(in), kToDevice));
    EXPECT_EQ(m->flows_on(LinkId(3)), 1u);
    m->remove(out);
    ASSERT_EQ(m->solve().size(), 1u);
    EXPECT_DOUBLE_EQ(m->rate(in), kDown);
    EXPECT_EQ(m->bottleneck(in), LinkId(3));
  }
}

TEST(LinkGroups, WithoutGroupsItIsTheModelItself) {
  const std::vector<double> capacity{1e9};
  const auto m = std::move(make_grouped_model("max-min", capacity, nullptr, {})).value();
  EXPECT_EQ(rates(*m, {links({0}), links({0})}), (std::vector<double>{0.5, 0.5}));
  EXPECT_FALSE(make_grouped_model("no-such-model", capacity, nullptr, {{0}, {1e9}}));
}

// Progressive filling from the definition: raise everybody until a link is full, or the links of a group carry together
// what it has; stop who crosses that. Groups are sums over links here, not links.
std::vector<Fraction> filled(const std::vector<std::int64_t>& capacity,
                             const std::vector<std::uint32_t>& group, const std::vector<std::int64_t>& room,
                             const std::vector<std::vector<LinkId>>& routes) {
  std::vector<Fraction> rate(routes.size());
  std::vector<bool> stopped(routes.size());
  const auto on = [&](std::size_t f, std::size_t l) {
    return std::find(routes[f].begin(), routes[f].end(), LinkId(static_cast<std::uint32_t>(l))) !=
           routes[f].end();
  };
  for (std::size_t left = routes.size(); left > 0;) {
    // For each limit: load of the stopped, and how many times it is crossed by those that rise.
    const std::size_t limits = capacity.size() + room.size();
    std::vector<Fraction> load(limits);
    std::vector<std::int64_t> rising(limits);
    for (std::size_t l = 0; l < capacity.size(); ++l)
      for (std::size_t f = 0; f < routes.size(); ++f) {
        if (!on(f, l)) continue;
        std::vector<std::size_t> crossed{l};
        if (group[l] != LinkGroups::kNone) crossed.push_back(capacity.size() + group[l]);
        for (const std::size_t at : crossed) {
          if (stopped[f])
            load[at] += rate[f];
          else
            ++rising[at];
        }
      }
    Fraction level(std::numeric_limits<std::int32_t>::max());
    const auto level_of = [&](std::size_t at) {
      const std::int64_t has = at < capacity.size() ? capacity[at] : room[at - capacity.size()];
      return (Fraction(has) - load[at]) / Fraction(rising[at]);
    };
    for (std::size_t at = 0; at < limits; ++at)
      if (rising[at] > 0) level = std::min(level, level_of(at));
    std::vector<bool> full(limits);
    for (std::size_t at = 0; at < limits; ++at) full[at] = rising[at] > 0 && level_of(at) == level;
    for (std::size_t f = 0; f < routes.size(); ++f) {
      if (stopped[f]) continue;
      rate[f] = level;
      for (std::size_t l = 0; l < capacity.size(); ++l)
        if (on(f, l) && (full[l] || (group[l] != LinkGroups::kNone && full[capacity.size() + group[l]])))
          stopped[f] = true;
      if (stopped[f]) --left;
    }
  }
  return rate;
}

TEST(LinkGroups, RandomProblemsAreFilledExactly) {
  const std::uint64_t base = problems::base_seed(20261123);
  int bound_by_a_group = 0;
  for (std::uint64_t seed = base; seed < base + 400; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const auto n = static_cast<std::uint32_t>(2 + rng.below(8));
    std::vector<std::int64_t> capacity, room;
    LinkGroups groups;
    std::vector<double> links_have;
    for (std::uint32_t l = 0; l < n; ++l) {
      capacity.push_back(static_cast<std::int64_t>(1 + rng.below(12)));
      links_have.push_back(static_cast<double>(capacity.back()));
    }
    groups.of_link.assign(n, LinkGroups::kNone);
    for (std::uint32_t l = 0; l + 1 < n; l += 2) {  // pairs, as directions are
      if (rng.below(4) == 0) continue;
      groups.of_link[l] = groups.of_link[l + 1] = static_cast<std::uint32_t>(room.size());
      room.push_back(static_cast<std::int64_t>(
          1 + rng.below(static_cast<std::uint64_t>(capacity[l] + capacity[l + 1]))));
      groups.capacity.push_back(static_cast<double>(room.back()));
    }
    std::vector<std::vector<LinkId>> routes;
    for (std::uint64_t f = 1 + rng.below(7); f > 0; --f) {
      std::vector<LinkId> route;
      for (std::uint32_t l = 0; l < n; l += 2) {  // at most one of a pair
        const std::uint64_t which = rng.below(3);
        if (which < 2 && l + which < n) route.emplace_back(l + static_cast<std::uint32_t>(which));
      }
      if (route.empty()) route.emplace_back(0);
      routes.push_back(route);
    }
    const auto want = filled(capacity, groups.of_link, room, routes);
    for (const std::string_view name : {"max-min", "max-min-component"}) {
      const auto m = std::move(make_grouped_model(name, links_have, nullptr, groups)).value();
      // In two steps, so that something is solved again; and one that leaves.
      const FlowId gone = m->add(routes.front(), 1, kNoLimit);
      (void)m->solve();
      std::vector<FlowId> ids;
      for (const auto& r : routes) ids.push_back(m->add(r, 1, kNoLimit));
      (void)m->solve();
      m->remove(gone);
      (void)m->solve();
      for (std::size_t f = 0; f < routes.size(); ++f) {
        EXPECT_NEAR(m->rate(ids[f]) / want[f].value(), 1, 1e-12) << name << ", flow " << f;
        const LinkId held = m->bottleneck(ids[f]);
        ASSERT_TRUE(held.valid());
        EXPECT_NE(std::find(routes[f].begin(), routes[f].end(), held), routes[f].end());
      }
    }
    const auto without = filled(capacity, std::vector<std::uint32_t>(n, LinkGroups::kNone), {}, routes);
    bound_by_a_group += without != want ? 1 : 0;
  }
  EXPECT_GT(bound_by_a_group, 100);
}

// PCIe arbitration with groups: nobody over a capacity, nobody without a rate, and order does not matter.
TEST(LinkGroups, ArbitratedPortsKeepToTheirSums) {
  const std::uint64_t base = problems::base_seed(20261124);
  for (std::uint64_t seed = base; seed < base + 300; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const auto gpus = static_cast<std::uint32_t>(1 + rng.below(4));
    const Node node(gpus, kUp + (kUp + kDown - kUp) * 0.9 * rng.unit(), 20e9 + 20e9 * rng.unit(),
                    20e9 + 40e9 * rng.unit());
    std::vector<std::vector<LinkId>> routes;
    for (std::uint64_t f = 1 + rng.below(8); f > 0; --f) {
      const auto a = static_cast<std::uint32_t>(rng.below(gpus + 1));
      const auto b = static_cast<std::uint32_t>(rng.below(gpus + 1));
      if (a != b) routes.push_back(links({2 * a, 2 * b + 1}));
    }
    const auto got = rates(*node.model("pcie"), routes);
    std::vector<double> load(node.capacity.size()), sum(node.groups.capacity.size());
    for (std::size_t f = 0; f < routes.size(); ++f) {
      EXPECT_GT(got[f], 0);
      for (const LinkId l : routes[f]) {
        load[l.index()] += got[f] * 1e9;
        sum[node.groups.of_link[l.index()]] += got[f] * 1e9;
      }
    }
    for (std::size_t l = 0; l < load.size(); ++l) EXPECT_LE(load[l], node.capacity[l] * (1 + 1e-9));
    for (std::size_t g = 0; g < sum.size(); ++g) EXPECT_LE(sum[g], node.groups.capacity[g] * (1 + 1e-9));
    std::vector<std::vector<LinkId>> backwards(routes.rbegin(), routes.rend());
    auto again = rates(*node.model("pcie"), backwards);
    std::ranges::reverse(again);
    for (std::size_t f = 0; f < routes.size(); ++f) EXPECT_NEAR(again[f], got[f], 1e-9);
  }
}

}  // namespace
}  // namespace weft::congestion::link_groups_test
