#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "tests/topology/oracles.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::topology {
namespace {

// Networks of 100,000 hosts must build in seconds and route without a table of pairs.
TEST(Scale, NetworksOfAHundredThousandHostsBuildAndRoute) {
  struct Row {
    std::string spec;
    std::uint32_t hosts;
    std::optional<std::uint32_t> diameter;
  };
  for (const Row& r : std::vector<Row>{
           {"fat-tree:m=74,n=3", 101306, 6},
           {"xgft:m=48x48x44,w=1x24x24", 101376, 6},
           {"dragonfly:p=16,a=32,h=16,g=196", 100352, 5},
           {"dragonfly:p=13,a=26,h=13", 114582, 5},
           {"torus:dims=48x48x44", 101376, 72},
           {"crossbar:n=100000", 100000, 2},
       }) {
    SCOPED_TRACE(r.spec);
    const Platform p = load(r.spec);
    EXPECT_EQ(p.fabric.host_count(), r.hosts);
    expect_sound(p.fabric, 20000);
    EXPECT_EQ(measure(p.fabric, 0).diameter_hops, r.diameter);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, 2L << 20) << "peak resident memory in KiB";
}

// Small: it starts again many times. On the torus, routes of 2 to 22 links: short ones and long ones.
void expect_routes(const std::string& spec, std::size_t longest) {
  SCOPED_TRACE(spec);
  const Platform p = load(spec);
  RouteCache cache(p.fabric, 500);
  const std::uint64_t seed = seed_or(5);
  Rng rng(seed);
  std::size_t most = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto s = static_cast<std::uint32_t>(rng.below(p.fabric.host_count()));
    const auto d = static_cast<std::uint32_t>(rng.below(p.fabric.host_count()));
    const auto expected = route_of(p.fabric, s, d);
    const RouteCache::Route r = cache.find(HostId(s), HostId(d));
    ASSERT_TRUE(r.reachable);
    ASSERT_LE(cache.size(), 500u);
    ASSERT_TRUE(std::equal(r.links.begin(), r.links.end(), expected.begin(), expected.end()))
        << "seed " << seed;
    most = std::max(most, r.links.size());
    ASSERT_EQ(r.latency, Duration(500'000) * static_cast<int>(expected.size()));
    double narrowest = std::numeric_limits<double>::infinity();
    for (const LinkId l : expected) narrowest = std::min(narrowest, p.fabric.links().capacity[l.index()]);
    ASSERT_EQ(r.narrowest, narrowest);
    // Twice: searched, then remembered.
    for (int again = 0; again < 2; ++again) {
      const RouteCache::RouteId id = cache.id(HostId(s), HostId(d));
      const auto back = static_cast<int>(route_of(p.fabric, d, s).size());
      ASSERT_EQ(cache.latency_back(id, HostId(s), HostId(d)), Duration(500'000) * back);
    }
  }
  EXPECT_EQ(most, longest);
  EXPECT_GT(cache.epoch(), 10u) << "ids become void when it starts again";
}

TEST(Scale, RouteCacheReturnsWhatTheRoutingSays) {
  expect_routes("dragonfly:p=2", 5);
  expect_routes("torus:dims=40", 22);
}

}  // namespace
}  // namespace weft::topology
