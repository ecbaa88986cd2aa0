// Bisections against every equal cut of small networks, cuts known by hand, and the definition recounted.
#include <fmt/format.h>

#include <bit>
#include <numeric>

#include "tests/topology/support.hpp"
#include "topology/bisection.hpp"

namespace weft::topology {
namespace {

// Cables of the best cut where each router stays whole, over all ways to halve the routers. One host a router.
std::uint64_t brute_force(const Fabric& f) {
  const std::uint32_t n = f.host_count();
  std::uint64_t best = ~std::uint64_t{0};
  for (std::uint32_t s = 0; s < (1u << (n - 1)); ++s) {
    if (static_cast<std::uint32_t>(std::popcount(s)) != n / 2) {
      if (n % 2 == 0 || static_cast<std::uint32_t>(std::popcount(s)) != n / 2 + 1) continue;
    }
    std::uint64_t links = 0;
    for (std::uint32_t l = 0; l < f.link_count(); ++l)
      links += ((s >> f.links().from[l].index()) ^ (s >> f.links().to[l].index())) & 1u;
    best = std::min(best, links / 2);
  }
  return best;
}

// What find_bisection() promises of its answer, counted again.
void expect_is_a_bisection(const Fabric& f, const Bisection& b) {
  ASSERT_EQ(b.side.size(), f.vertex_count());
  std::int64_t excess = 0;
  for (std::uint32_t h = 0; h < f.rank_hosts(); ++h) excess += b.side[h] == 0 ? 1 : -1;
  EXPECT_LE(std::abs(excess), 1);
  std::uint64_t links = 0;
  for (std::uint32_t l = 0; l < f.link_count(); ++l)
    links += b.side[f.links().from[l].index()] != b.side[f.links().to[l].index()] ? 1 : 0;
  EXPECT_EQ(b.cables, (links + 1) / 2);
}

TEST(Bisection, OfSmallNetworksIsTheBestOfAllEqualCuts) {
  for (const std::string spec :
       {"mesh:dims=5x3,host_links=off", "mesh:dims=7x2,host_links=off", "mesh:dims=3x3x2,host_links=off",
        "torus:dims=5x3,host_links=off", "torus:dims=7x2,host_links=off", "torus:dims=9x2,host_links=off",
        "torus:dims=3x3,host_links=off", "torus:dims=5,host_links=off", "mesh:dims=17,host_links=off",
        "torus:dims=4x4,host_links=off,cables=2x1", "torus:dims=5x3,host_links=off,cables=1x3"}) {
    SCOPED_TRACE(spec);
    const Platform p = load(spec);
    const std::uint64_t exact = brute_force(p.fabric);
    const auto found = find_bisection(p.fabric);
    ASSERT_TRUE(found);
    expect_is_a_bisection(p.fabric, *found);
    EXPECT_EQ(found->cables, exact);
    EXPECT_GE(*p.fabric.bisection_cables(), exact);
    EXPECT_EQ(best_bisection(p.fabric), exact);
  }
}

// Random graphs of routers as files: no closed form helps.
TEST(Bisection, OfRandomGraphsIsTheBestOfAllEqualCuts) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const std::uint32_t n = 4 + static_cast<std::uint32_t>(rng.below(11));
    std::string dot = "graph g {\n";
    for (std::uint32_t v = 0; v < n; ++v) dot += fmt::format("h{} [kind=host];\n", v);
    for (std::uint32_t v = 1; v < n; ++v) dot += fmt::format("h{} -- h{};\n", v, rng.below(v));
    for (std::uint32_t e = 0; e < n; ++e) {
      const std::uint64_t a = rng.below(n), b = rng.below(n);
      if (a != b) dot += fmt::format("h{} -- h{};\n", a, b);
    }
    const TempFile file("random.dot", dot + "}\n");
    const Platform p = load("file:path=" + file.path());
    const auto found = find_bisection(p.fabric);
    ASSERT_TRUE(found);
    expect_is_a_bisection(p.fabric, *found);
    EXPECT_EQ(found->cables, brute_force(p.fabric));
  }
}

// The fewest hosts that have to leave their switch, and with them the fewest cables, over all ways to part `n` switches;
// hosts[s] hang on switch s by a cable each.
std::uint64_t best_of_switches(const std::vector<std::int64_t>& hosts,
                               const std::vector<std::pair<std::uint32_t, std::uint32_t>>& cables) {
  const std::int64_t all = std::accumulate(hosts.begin(), hosts.end(), std::int64_t{0});
  std::pair<std::int64_t, std::int64_t> best{1LL << 40, 0};
  for (std::uint32_t set = 0; set < (1u << (hosts.size() - 1)); ++set) {
    std::int64_t here = 0, cut = 0;
    for (std::size_t s = 0; s < hosts.size(); ++s) here += (set >> s & 1) != 0 ? hosts[s] : 0;
    for (const auto& [a, b] : cables) cut += ((set >> a) ^ (set >> b)) & 1u;
    const std::int64_t parted = (std::abs(all - 2 * here) - all % 2) / 2;
    best = std::min(best, {parted, cut + parted});
  }
  return static_cast<std::uint64_t>(best.second);
}

// Switches that hold unequally many hosts, some none: whole switches halve the hosts where a search easily parts one.
TEST(Bisection, OfUnevenSwitchesIsTheBestOfAllEqualCuts) {
  const std::uint64_t first = seed_or(1);
  for (std::uint64_t seed = first; seed < first + 150; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Rng rng(seed);
    const std::uint32_t n = 3 + static_cast<std::uint32_t>(rng.below(10));
    std::vector<std::int64_t> hosts(n);
    std::vector<std::pair<std::uint32_t, std::uint32_t>> cables;
    std::string dot = "graph g {\n";
    std::uint32_t next = 0;
    for (std::uint32_t s = 0; s < n; ++s) {
      dot += fmt::format("s{} [kind=switch];\n", s);
      hosts[s] = static_cast<std::int64_t>(s < 2 ? 1 + rng.below(3) : rng.below(5));
      for (std::int64_t h = 0; h < hosts[s]; ++h, ++next)
        dot += fmt::format("h{} [kind=host]; h{} -- s{};\n", next, next, s);
    }
    const auto join = [&](std::uint32_t a, std::uint32_t b, std::uint64_t count) {
      dot += fmt::format("s{} -- s{} [cables={}];\n", a, b, count);
      cables.insert(cables.end(), count, {a, b});
    };
    for (std::uint32_t s = 1; s < n; ++s) join(s, static_cast<std::uint32_t>(rng.below(s)), 1 + rng.below(3));
    for (std::uint64_t more = rng.below(2 * n); more > 0; --more) {
      const auto a = static_cast<std::uint32_t>(rng.below(n)), b = static_cast<std::uint32_t>(rng.below(n));
      if (a != b) join(a, b, 1);
    }
    const TempFile file("uneven.dot", dot + "}\n");
    const Platform p = load("file:path=" + file.path());
    const auto found = find_bisection(p.fabric);
    ASSERT_TRUE(found);
    expect_is_a_bisection(p.fabric, *found);
    EXPECT_EQ(found->cables, best_of_switches(hosts, cables)) << dot;
  }
}

TEST(Bisection, OfOddDimensionsHalvesTheMiddleSlice) {
  struct Row {
    std::string spec;
    std::uint64_t most;  // halves in the order of the coordinates, counted by hand
  };
  for (const Row& r : std::vector<Row>{{"mesh:dims=31x2", 3},
                                       {"mesh:dims=9x4", 5},
                                       {"mesh:dims=7x3x2", 9},
                                       {"torus:dims=7x4", 10},
                                       {"torus:dims=33x4", 10},
                                       {"torus:dims=9x4x2", 20},
                                       {"hyperx:dims=6x3", 27},
                                       {"hyperx:dims=5x4,hosts_per_switch=2", 20}}) {
    SCOPED_TRACE(r.spec);
    const Platform p = load(r.spec);
    EXPECT_LE(*p.fabric.bisection_cables(), r.most);
    const auto found = find_bisection(p.fabric);
    ASSERT_TRUE(found);
    expect_is_a_bisection(p.fabric, *found);
    EXPECT_LE(found->cables, r.most);
  }
}

TEST(Bisection, SearchReachesPublishedCuts) {
  struct Row {
    std::string spec;
    std::uint64_t cut;
  };
  for (const Row& r : std::vector<Row>{{"fat-tree:m=4,n=3", 8},
                                       {"fat-tree:m=8,n=2", 16},
                                       {"crossbar:n=9", 4},
                                       {"torus:dims=4x4x4", 32},
                                       {"torus:dims=8x8", 16},
                                       {"hypercube:n=6", 32},
                                       {"hyperx:dims=4x4,hosts_per_switch=4", 16},
                                       {"dragonfly:p=2,a=4,h=2", 20}}) {
    SCOPED_TRACE(r.spec);
    const Platform p = load(r.spec);
    const auto found = find_bisection(p.fabric);
    ASSERT_TRUE(found);
    expect_is_a_bisection(p.fabric, *found);
    EXPECT_LE(found->cables, r.cut);
  }
}

TEST(Bisection, OfOneHostIsUnknown) {
  EXPECT_FALSE(find_bisection(load("crossbar:n=1").fabric));
  EXPECT_FALSE(find_bisection(load("torus:dims=8x8x8").fabric, 100));
}

}  // namespace
}  // namespace weft::topology
