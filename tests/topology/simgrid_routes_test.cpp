// SimGrid 3.32's own routes of five 256-host networks (tests/oracle/data/routes) against ours of the same shape.
#include "tests/support/checkout.hpp"
#include "tests/topology/oracles.hpp"

namespace weft::topology {
namespace {

Platform recorded(const std::string& name) {
  return load("routes:path=" + support::oracle_dir() + "/routes/" + name + ".txt.zst");
}

struct Agreement {
  std::uint64_t same_length = 0;
  std::uint64_t same_links = 0;  // under one renaming of links for all routes
};

// Links are matched by use: link a of theirs is link b of ours if the set of pairs that cross it is (nearly)
// the same; the majority over all routes of equal length decides, one to one.
Agreement compare(const Fabric& theirs, const Fabric& ours) {
  Agreement r;
  std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> votes;
  const std::uint32_t hosts = theirs.host_count();
  const auto each = [&](auto&& f) {
    for (std::uint32_t s = 0; s < hosts; ++s)
      for (std::uint32_t d = 0; d < hosts; ++d)
        if (s != d) f(route_of(theirs, s, d), route_of(ours, s, d));
  };
  each([&](const auto& x, const auto& y) {
    if (x.size() != y.size()) return;
    ++r.same_length;
    for (std::size_t i = 0; i < x.size(); ++i) ++votes[x[i].index()][y[i].index()];
  });
  std::vector<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>> ranked;  // votes, theirs, ours
  for (const auto& [link, counts] : votes)
    for (const auto& [other, n] : counts) ranked.emplace_back(n, link, other);
  std::sort(ranked.rbegin(), ranked.rend());
  std::map<std::uint32_t, std::uint32_t> name;
  std::set<std::uint32_t> taken;
  for (const auto& [n, link, other] : ranked)
    if (!name.contains(link) && taken.insert(other).second) name[link] = other;
  each([&](const auto& x, const auto& y) {
    bool same = x.size() == y.size();
    for (std::size_t i = 0; same && i < x.size(); ++i) {
      const auto it = name.find(x[i].index());
      same = it != name.end() && it->second == y[i].index();
    }
    r.same_links += same ? 1 : 0;
  });
  return r;
}

void expect_agreement(const std::string& dump, const std::string& spec, std::uint64_t length,
                      std::uint64_t links) {
  const Platform theirs = recorded(dump);
  const Platform ours = load(spec);
  const Agreement a = compare(theirs.fabric, ours.fabric);
  EXPECT_EQ(a.same_length, length) << spec;
  EXPECT_EQ(a.same_links, links) << spec;
}

constexpr std::uint64_t kPairs = 256 * 255;

TEST(SimGridRoutes, CrossbarIsTheSame) { expect_agreement("crossbar", "crossbar:n=256", kPairs, kPairs); }

TEST(SimGridRoutes, FatTreeUnderDModKIsTheSame) {
  expect_agreement("fattree", "xgft:m=16x16,w=1x16", kPairs, kPairs);
}

TEST(SimGridRoutes, TaperedFatTreeUnderDModKIsTheSame) {
  expect_agreement("fattree_taper", "xgft:m=16x16,w=1x4", kPairs, kPairs);
}

TEST(SimGridRoutes, TorusDiffersOnlyInTiesFromHalfWayToZero) {
  // Pairs with coordinate k/2 -> 0 in some dimension: 65,536 (1 - (63/64)^2 (15/16)) = 6,001.
  expect_agreement("torus", "torus:dims=8x8x4,host_links=off", kPairs, kPairs - 6001);
}

TEST(SimGridRoutes, TorusWithSimGridsTieRuleIsTheSame) {
  expect_agreement("torus", "torus:dims=8x8x4,host_links=off,tie=simgrid", kPairs, kPairs);
}

TEST(SimGridRoutes, DragonflyHasAnotherShape) {
  // Its group is a grid of chassis and blades with one gateway router, ours a clique whose routers are all
  // gateways.
  const Platform theirs = recorded("dragonfly");
  const Platform ours = load("dragonfly:p=4,a=16,h=1,g=4");
  const Metrics a = measure(theirs.fabric), b = measure(ours.fabric);
  EXPECT_EQ(*a.diameter_hops, 7u);
  EXPECT_EQ(*b.diameter_hops, 5u);
  EXPECT_NEAR(*a.mean_hops, 5.3882, 5e-5);
  EXPECT_NEAR(*b.mean_hops, 4.0824, 5e-5);
}

TEST(SimGridRoutes, ItsSoundDumpsWalkOnTheInferredWiring) {
  for (const std::string name : {"crossbar", "fattree", "fattree_taper", "torus"}) {
    SCOPED_TRACE(name);
    expect_sound(recorded(name).fabric);
  }
}

}  // namespace
}  // namespace weft::topology
