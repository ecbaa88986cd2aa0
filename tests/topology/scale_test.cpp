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

// Who asks for which routes: patterns of n ranks, each on a host of its own.
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Pairs steps_apart(std::uint32_t n, const std::vector<std::uint32_t>& steps) {
  Pairs out;
  for (std::uint32_t r = 0; r < n; ++r)
    for (const std::uint32_t s : steps) out.emplace_back(r, (r + s) % n);
  return out;
}

Pairs dissemination(std::uint32_t n) {
  std::vector<std::uint32_t> steps;
  for (std::uint32_t s = 1; s < n; s *= 2) steps.push_back(s);
  return steps_apart(n, steps);
}

Pairs all_to_all(std::uint32_t n) {
  std::vector<std::uint32_t> steps;
  for (std::uint32_t s = 1; s < n; ++s) steps.push_back(s);
  return steps_apart(n, steps);
}

Pairs gather(std::uint32_t n) {
  Pairs out;
  for (std::uint32_t r = 1; r < n; ++r) out.emplace_back(r, 0);
  return out;
}

TEST(Scale, ARouteThatIsKnownIsFoundAfterAFewSlots) {
  const Platform p = load("crossbar:n=10000");
  const std::vector<std::pair<std::string, Pairs>> patterns = {
      {"ring", steps_apart(10'000, {1, 9'999})}, {"halo", steps_apart(10'000, {1, 9'999, 100, 9'900})},
      {"dissemination", dissemination(8'008)},   {"gather", gather(10'000)},
      {"all pairs of 200", all_to_all(200)},     {"all pairs of 362", all_to_all(362)}};
  for (const auto& [name, pairs] : patterns) {
    RouteCache cache(p.fabric);
    for (const auto& [s, d] : pairs) (void)cache.id(HostId(s), HostId(d));
    const std::uint64_t before = cache.steps();
    for (const auto& [s, d] : pairs) (void)cache.id(HostId(s), HostId(d));
    EXPECT_EQ(cache.size(), pairs.size()) << name;
    EXPECT_LT(cache.steps() - before, pairs.size()) << name << ": two slots on the mean";
  }
}

}  // namespace
}  // namespace weft::topology
