#include <algorithm>

#include "tests/topology/oracles.hpp"

namespace weft::topology::dragonfly_test {
namespace {

using ::testing::HasSubstr;

struct Row {
  std::uint64_t p, a, h, groups, routers, hosts, local, global;
  double mean;
  std::vector<std::uint64_t> histogram;  // ordered router pairs by hops, from 1
};
const std::vector<Row> kRows = {
    {1, 2, 1, 3, 6, 6, 3, 3, 1.8000, {12, 12, 6}},
    {2, 4, 2, 9, 36, 72, 54, 36, 2.3714, {180, 432, 648}},
    {3, 6, 3, 19, 114, 342, 285, 171, 2.5929, {912, 3420, 8550}},
    {4, 8, 4, 33, 264, 1056, 924, 528, 2.7034, {2904, 14784, 51744}},
};
std::string spec(const Row& r, const std::string& arrangement = "absolute") {
  return "dragonfly:p=" + std::to_string(r.p) + ",a=" + std::to_string(r.a) + ",h=" + std::to_string(r.h) +
         ",arrangement=" + arrangement;
}
const std::vector<std::string> kAll = {"absolute", "palmtree", "relative", "circulant"};

// Router-to-router histogram by walking: first host of each router, host cables taken off.
std::vector<std::uint64_t> router_histogram(const Fabric& f, std::uint64_t p) {
  std::vector<std::uint64_t> h(4, 0);
  for (std::uint32_t s = 0; s < f.host_count(); s += static_cast<std::uint32_t>(p))
    for (std::uint32_t d = 0; d < f.host_count(); d += static_cast<std::uint32_t>(p))
      if (s != d) ++h.at(route_of(f, s, d).size() - 2);
  return {h.begin() + 1, h.end()};
}

TEST(Dragonfly, CountsMeansDiametersAndHistogramsEqualTheTable) {
  for (const Row& r : kRows)
    for (const std::string& arrangement : kAll) {
      if (arrangement == "circulant" && r.h % 2 != 0) continue;
      SCOPED_TRACE(spec(r, arrangement));
      const Platform platform = load(spec(r, arrangement));
      const Fabric& f = platform.fabric;
      EXPECT_EQ(f.switch_count(), r.routers);
      EXPECT_EQ(f.host_count(), r.hosts);
      const auto classes = summarize_classes(f);
      EXPECT_EQ(classes[1].links / 2, r.local);
      EXPECT_EQ(classes[2].links / 2, r.global);
      const Metrics m = measure(f);
      EXPECT_EQ(*m.router_diameter_hops, 3u);
      EXPECT_NEAR(*m.router_mean_hops, r.mean, 5e-5);
      EXPECT_EQ(router_histogram(f, r.p), r.histogram);
      expect_sound(f, 200000);
    }
}

TEST(Dragonfly, HostMeansEqualTheTable) {
  EXPECT_NEAR(*measure(load(spec(kRows[1])).fabric).mean_hops, 4.3380, 5e-5);
  EXPECT_NEAR(*measure(load(spec(kRows[2])).fabric).mean_hops, 4.5777, 5e-5);
  EXPECT_NEAR(*measure(load(spec(kRows[3])).fabric).mean_hops, 4.6957, 5e-5);
}

TEST(Dragonfly, ClosedFormOfDistancesEqualsTheWalkedOnes) {
  for (const std::string s :
       {"p=2,a=4,h=2", "p=2,a=4,h=2,g=5", "p=1,a=4,h=2,g=2", "p=3,a=4,h=2,g=1", "p=2,a=3,h=3,g=4"})
    expect_closed_form_equals_walks(load("dragonfly:" + s).fabric);
}

TEST(Dragonfly, ClassicShapeIsTheDefaultOfP) {
  const Platform p = load("dragonfly:p=2");
  EXPECT_EQ(p.fabric.switch_count(), 36u);
  EXPECT_EQ(*p.fabric.bisection_cables(), 20u);  // floor(9/2) ceil(9/2)
}

// The router.port that leaves group 0 for each target group, and where it arrives.
struct Gateways {
  std::vector<std::string> near, far;
};
Gateways gateways(const Fabric& f, std::uint32_t p, std::uint32_t a, std::uint32_t g) {
  Gateways out{std::vector<std::string>(g), std::vector<std::string>(g)};
  const std::uint32_t hosts = f.host_count();
  for (std::size_t l = 0; l < f.links().size(); ++l) {
    if (f.links().link_class[l] != 2) continue;
    const VertexId from = f.links().from[l], to = f.links().to[l];
    const std::uint32_t u = (from.index() - hosts) / a, v = (to.index() - hosts) / a;
    const auto label = [&](VertexId at, std::size_t link) {
      return std::to_string((at.index() - hosts) % a) + "." +
             std::to_string(link - f.first_link(at) - p - (a - 1));
    };
    if (u == 0) out.near[v] = label(from, l);
    if (v == 0) out.far[u] = label(from, l);
  }
  return out;
}

TEST(Dragonfly, GatewaysOfGroupZeroAreThePublishedOnes) {
  using V = std::vector<std::string>;
  const auto of = [](const std::string& arrangement) {
    return gateways(load("dragonfly:p=2,a=4,h=2,arrangement=" + arrangement).fabric, 2, 4, 9);
  };
  const V ascending = {"", "0.0", "0.1", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1"};
  const V descending = {"", "3.1", "3.0", "2.1", "2.0", "1.1", "1.0", "0.1", "0.0"};
  EXPECT_EQ(of("absolute").near, ascending);
  EXPECT_EQ(of("consecutive").near, ascending);
  EXPECT_EQ(of("palmtree").near, descending);
  EXPECT_EQ(of("relative").near, ascending);
  EXPECT_EQ(of("relative").far, descending);
  EXPECT_EQ(of("circulant").near, (V{"", "0.0", "1.0", "2.0", "3.0", "3.1", "2.1", "1.1", "0.1"}));
}

// How many more global cables the router of a group with the most has than the one with the fewest, to any one group
// and to all.
std::uint32_t unevenness(const Fabric& f, std::uint32_t a, std::uint32_t g) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> cables;  // by router
  const std::uint32_t hosts = f.host_count();
  for (std::size_t l = 0; l < f.links().size(); ++l) {
    if (f.links().link_class[l] != 2) continue;
    const std::uint32_t from = f.links().from[l].index() - hosts, to = f.links().to[l].index() - hosts;
    for (const std::uint32_t where : {to / a, g}) {
      auto& of = cables[{from / a, where}];
      of.resize(a);
      ++of[from % a];
    }
  }
  std::uint32_t most = 0;
  for (const auto& [groups, of] : cables)
    most = std::max(most, *std::max_element(of.begin(), of.end()) - *std::min_element(of.begin(), of.end()));
  return most;
}

TEST(Dragonfly, GlobalCablesAreDealtEvenly) {
  EXPECT_EQ(unevenness(load("dragonfly:p=1,a=4,h=1,g=4").fabric, 4, 4), 1u);  // one router has none
  EXPECT_EQ(unevenness(load("dragonfly:p=1,a=5,h=3,g=5").fabric, 5, 5), 1u);
  EXPECT_EQ(unevenness(load("dragonfly:p=1,a=4,h=2,g=2").fabric, 4, 2), 0u);
  EXPECT_EQ(unevenness(load("dragonfly:p=1,a=6,h=2,g=4").fabric, 6, 4), 1u);
}

// Port formulas as printed in the sources, written a second time here as (group, router, port) -> far end.
struct End {
  std::uint64_t u, i, k;
  bool operator==(const End&) const = default;
};
End formula(const std::string& name, std::uint64_t a, std::uint64_t h, End e) {
  const auto g = static_cast<std::int64_t>(a * h + 1);
  const auto mod = [g](std::int64_t v) { return static_cast<std::uint64_t>(((v % g) + g) % g); };
  const auto u = static_cast<std::int64_t>(e.u), j = static_cast<std::int64_t>(e.i * h + e.k);
  const auto last = static_cast<std::int64_t>(a * h) - 1 - j;
  if (name == "absolute") {
    const std::int64_t v = j >= u ? j + 1 : j, back = j >= u ? u : u - 1;
    return {mod(v), static_cast<std::uint64_t>(back) / h, static_cast<std::uint64_t>(back) % h};
  }
  if (name == "palmtree") return {mod(u - j - 1), a - 1 - e.i, h - 1 - e.k};
  if (name == "relative")
    return {mod(u + 1 + j), static_cast<std::uint64_t>(last) / h, static_cast<std::uint64_t>(last) % h};
  const auto off = static_cast<std::int64_t>(e.i * (h / 2) + e.k / 2 + 1);
  return {mod(e.k % 2 == 0 ? u + off : u - off), e.i, e.k ^ 1};
}

TEST(Dragonfly, EveryArrangementIsAnInvolutionAndTheFabricIsWiredByIt) {
  for (const auto& [a, h] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{4, 2}, {2, 1}, {6, 3}, {8, 4}, {3, 2}})
    for (const std::string& name : kAll) {
      if (name == "circulant" && h % 2 != 0) continue;
      const std::uint64_t g = a * h + 1;
      const Platform p =
          load("dragonfly:p=1,a=" + std::to_string(a) + ",h=" + std::to_string(h) + ",arrangement=" + name);
      const Fabric& f = p.fabric;
      std::set<std::pair<std::uint64_t, std::uint64_t>> joined;
      for (std::uint64_t u = 0; u < g; ++u)
        for (std::uint64_t i = 0; i < a; ++i)
          for (std::uint64_t k = 0; k < h; ++k) {
            const End far = formula(name, a, h, {u, i, k});
            ASSERT_NE(far.u, u);
            ASSERT_EQ(formula(name, a, h, far), (End{u, i, k})) << name;
            joined.emplace(u, far.u);
            const VertexId v(static_cast<std::uint32_t>(f.host_count() + u * a + i));
            const VertexId w(static_cast<std::uint32_t>(f.host_count() + far.u * a + far.i));
            ASSERT_EQ(f.links().to[f.first_link(v) + 1 + (a - 1) + k], w) << name;
          }
      EXPECT_EQ(joined.size(), g * (g - 1)) << "exactly one cable per pair of groups";
    }
}

TEST(Dragonfly, TwoGlobalCablesCanBeShorterThanMinimalRouting) {
  const std::map<std::string, std::pair<std::uint64_t, double>> expected = {{"absolute", {24, 2.3524}},
                                                                            {"palmtree", {36, 2.3429}},
                                                                            {"relative", {36, 2.3429}},
                                                                            {"circulant", {54, 2.3286}}};
  for (const auto& [name, row] : expected) {
    const Platform p = load("dragonfly:p=2,a=4,h=2,arrangement=" + name);
    std::uint64_t shorter = 0, sum = 0;
    for (std::uint32_t s = 0; s < 36; ++s) {
      const auto d = bfs_from(p.fabric, 72 + s);
      for (std::uint32_t t = 0; t < 36; ++t) {
        if (s == t) continue;
        const auto routed = route_of(p.fabric, 2 * s, 2 * t).size() - 2;
        EXPECT_GE(routed, d[72 + t]);
        shorter += routed > d[72 + t] ? 1 : 0;
        sum += d[72 + t];
      }
    }
    EXPECT_EQ(shorter, row.first) << name;
    EXPECT_NEAR(static_cast<double>(sum) / 1260, row.second, 5e-5) << name;
  }
}

TEST(Dragonfly, FewerGroupsSpreadTheirCablesOverRoutersAndUseAtMostOneGlobalLink) {
  const std::uint64_t seed = seed_or(77);
  Rng rng(seed);
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t a = 1 + rng.below(6), h = 1 + rng.below(4), g = 1 + rng.below(a * h + 1);
    const std::string arrangement = kAll[rng.below(3)];
    const std::string s = "dragonfly:p=2,a=" + std::to_string(a) + ",h=" + std::to_string(h) +
                          ",g=" + std::to_string(g) + ",arrangement=" + arrangement;
    SCOPED_TRACE(s + " seed " + std::to_string(seed));
    const Platform p = load(s);
    const Fabric& f = p.fabric;
    expect_sound(f);
    expect_closed_form_equals_walks(f);
    const std::uint64_t c = g > 1 ? a * h / (g - 1) : 0;
    const auto classes = summarize_classes(f);
    EXPECT_EQ(classes[2].links / 2, c * g * (g - 1) / 2);
    // Global ports differ by at most one between the routers of a group.
    if (g > 1) {
      const VerifyReport v = verify(f, 1);
      EXPECT_LE(v.switch_degree_max - v.switch_degree_min, 1u);
    }
    for (std::uint32_t s0 = 0; s0 < f.host_count(); s0 += 2)
      for (std::uint32_t d = 0; d < f.host_count(); d += 2) {
        int global = 0, local = 0;
        for (LinkId l : route_of(f, s0, d)) {
          global += class_of(f, l) == 2 ? 1 : 0;
          local += class_of(f, l) == 1 ? 1 : 0;
        }
        ASSERT_EQ(global, s0 / (2 * a) == d / (2 * a) ? 0 : 1);
        ASSERT_LE(local, global == 0 ? 1 : 2);
      }
  }
}

TEST(Dragonfly, BadParametersAreNamed) {
  EXPECT_THAT(error_of("dragonfly:a=4"), HasSubstr("key p is missing"));
  EXPECT_THAT(error_of("dragonfly:p=2,a=4,h=2,g=10"),
              HasSubstr("more groups than global ports reach; got \"10\"; expected at most 9"));
  EXPECT_THAT(error_of("dragonfly:p=2,arrangement=random"),
              HasSubstr("one of absolute, consecutive, palmtree, relative, circulant"));
  EXPECT_THAT(error_of("dragonfly:p=3,a=6,h=3,arrangement=circulant"), HasSubstr("even h"));
  EXPECT_THAT(error_of("dragonfly:p=16777216,a=16777216,h=16777216"), HasSubstr("the network is too large"));
  EXPECT_THAT(error_of("dragonfly:p=1,a=4000,h=4000"), HasSubstr("the network is too large"));
  EXPECT_THAT(error_of("dragonfly:p=2,hosts_per_switch=3"), HasSubstr("it is p"));
}

}  // namespace
}  // namespace weft::topology::dragonfly_test
