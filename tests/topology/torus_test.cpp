#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tests/topology/oracles.hpp"

namespace weft::topology::torus_test {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;

struct Row {
  std::string dims;
  std::uint64_t routers, links;
  std::uint32_t diameter;
  double mean_all, mean_distinct;
  std::optional<std::uint64_t> cut;
};
// Published machines and textbook shapes.
const std::vector<Row> kRows = {
    {"3x3x3", 27, 81, 3, 2.0, 2.0769, 26},  // 2 (9 + 3 + 1)
    {"4x4x4", 64, 192, 6, 3.0, 3.0476, 32},
    {"8x8", 64, 128, 8, 4.0, 4.0635, 16},
    {"5x4", 20, 40, 4, 2.2, 2.3158, 10},
    {"4x4x4x4x2", 512, 2304, 9, 4.5, 4.5088, 256},
    {"8x12x16x16x2", 49152, 221184, 27, 13.5, 13.5003, 6144},
    {"16x12x16x16x2", 98304, 442368, 31, 15.5, 15.5002, 12288},
    {"24x23x24x2x3x2", 158976, 794880, 38, 19.4058, 19.4059, 13248},
};

TEST(Torus, CountsDiametersMeansAndCutsEqualTheTable) {
  for (const Row& r : kRows) {
    SCOPED_TRACE(r.dims);
    const Platform p = load("torus:dims=" + r.dims + ",host_links=off");
    const Fabric& f = p.fabric;
    EXPECT_EQ(f.host_count(), r.routers);
    EXPECT_EQ(f.switch_count(), r.routers);
    EXPECT_EQ(f.cable_count(), r.links);
    const Metrics m = measure(f);
    EXPECT_EQ(*m.diameter_hops, r.diameter);
    EXPECT_NEAR(*m.mean_hops, r.mean_distinct, 5e-5);
    const auto n = static_cast<double>(r.routers);
    EXPECT_NEAR(*m.mean_hops * (n - 1) / n, r.mean_all, 5e-5);
    EXPECT_EQ(f.bisection_cables(), r.cut);
    expect_sound(f, 20000);
  }
}

TEST(Torus, GeminiMachinesWithDoubledCablesEqualTheTable) {
  struct Gemini {
    std::string dims;
    std::uint64_t routers, links;
    std::uint32_t diameter;
    double mean_all, mean_distinct;
    std::uint64_t cut;
  };
  for (const Gemini& r : std::vector<Gemini>{{"17x8x24", 3264, 16320, 24, 12.2353, 12.2390, 544},
                                             {"16x12x24", 4608, 23040, 26, 13.0, 13.0028, 768},
                                             {"25x16x24", 9600, 48000, 32, 16.24, 16.2417, 1200}}) {
    SCOPED_TRACE(r.dims);
    const Platform p = load("torus:dims=" + r.dims + ",host_links=off,cables=2x1x2");
    EXPECT_EQ(p.fabric.host_count(), r.routers);
    EXPECT_EQ(p.fabric.cable_count(), r.links);
    const Metrics m = measure(p.fabric);
    EXPECT_EQ(*m.diameter_hops, r.diameter);
    EXPECT_NEAR(*m.mean_hops, r.mean_distinct, 5e-5);
    const auto n = static_cast<double>(r.routers);
    EXPECT_NEAR(*m.mean_hops * (n - 1) / n, r.mean_all, 5e-5);
    EXPECT_EQ(*p.fabric.bisection_cables(), r.cut);
    EXPECT_EQ(verify(p.fabric, 20000).host_degree_min, 10u);
    expect_sound(p.fabric, 20000);
  }
}

TEST(Torus, SequoiaWithTwoCablesInItsShortDimensionHasTenPorts) {
  const Platform p = load("torus:dims=16x12x16x16x2,host_links=off,cables=1x1x1x1x2");
  EXPECT_EQ(p.fabric.cable_count(), 491520u);
  EXPECT_EQ(verify(p.fabric, 1000).host_degree_max, 10u);
}

TEST(Torus, HostLinksAddOneCablePerHostAndTwoHops) {
  const Platform p = load("torus:dims=4x4x4");
  EXPECT_EQ(p.fabric.host_count(), 64u);
  EXPECT_EQ(p.fabric.switch_count(), 64u);
  EXPECT_EQ(p.fabric.cable_count(), 256u);
  const Metrics m = measure(p.fabric);
  EXPECT_EQ(*m.diameter_hops, 8u);
  EXPECT_NEAR(*m.mean_hops, 5.0476, 5e-5);
  EXPECT_NEAR(*m.router_mean_hops, 3.0476, 5e-5);
  EXPECT_EQ(*m.router_diameter_hops, 6u);
  const Platform q = load("torus:dims=17x8x24,hosts_per_switch=2");
  EXPECT_EQ(q.fabric.host_count(), 6528u);
}

std::uint32_t at(const std::vector<std::uint32_t>& dims, const std::vector<std::uint32_t>& c) {
  std::uint32_t v = 0;
  for (std::size_t d = dims.size(); d-- > 0;) v = v * dims[d] + c[d];
  return v;
}

TEST(Torus, GoldenRoutes) {
  const Platform a = load("torus:dims=5x4"), b = load("torus:dims=4x4x4");
  EXPECT_EQ(via(a.fabric, at({5, 4}, {0, 0}), at({5, 4}, {3, 2})),
            (Names{"(0,0)", "(4,0)", "(3,0)", "(3,1)", "(3,2)"}));
  EXPECT_EQ(via(b.fabric, at({4, 4, 4}, {0, 3, 1}), at({4, 4, 4}, {2, 1, 2})),
            (Names{"(0,3,1)", "(1,3,1)", "(2,3,1)", "(2,0,1)", "(2,1,1)", "(2,1,2)"}));
}

TEST(Torus, TieRuleChoosesTheDirectionToTheFarthestPoint) {
  const auto first = [](const std::string& tie, std::uint32_t src) {
    const Platform p = load("torus:dims=4,tie=" + tie);
    return via(p.fabric, src, (src + 2) % 4)[1];
  };
  EXPECT_EQ(first("plus", 0), "(1)");
  EXPECT_EQ(first("minus", 0), "(3)");
  EXPECT_EQ(first("parity", 0), "(1)");
  EXPECT_EQ(first("parity", 1), "(0)");
  // "plus" loads one direction more under all-to-all; "parity" loads both alike.
  const auto loads = [](const std::string& tie) {
    const Platform p = load("torus:dims=8,host_links=off,tie=" + tie);
    std::uint64_t plus = 0, minus = 0;
    for (std::uint32_t s = 0; s < 8; ++s)
      for (std::uint32_t d = 0; d < 8; ++d)
        for (LinkId l : route_of(p.fabric, s, d)) ++(l.index() % 2 == 0 ? plus : minus);
    return std::pair(plus, minus);
  };
  EXPECT_EQ(loads("plus"), (std::pair<std::uint64_t, std::uint64_t>(80, 48)));
  EXPECT_EQ(loads("parity"), (std::pair<std::uint64_t, std::uint64_t>(64, 64)));
}

TEST(Torus, RandomShapesCorrectDimensionsInOrderByShortestRings) {
  const std::uint64_t seed = seed_or(4242);
  Rng rng(seed);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::uint32_t> dims;
    for (std::uint64_t n = 1 + rng.below(4); n > 0; --n)
      dims.push_back(static_cast<std::uint32_t>(1 + rng.below(5)));
    const bool host_links = rng.below(2) == 0;
    const std::uint64_t hps = host_links ? 1 + rng.below(2) : 1;
    std::vector<std::uint64_t> doubled;
    for (std::size_t d = 0; d < dims.size(); ++d) doubled.push_back(1 + rng.below(3) / 2);
    const std::string tie = std::vector<std::string>{"plus", "minus", "parity", "simgrid"}[rng.below(4)];
    const std::string spec =
        fmt::format("torus:dims={},host_links={},hosts_per_switch={},tie={},cables={}", fmt::join(dims, "x"),
                    host_links ? "on" : "off", hps, tie, fmt::join(doubled, "x"));
    SCOPED_TRACE(spec + fmt::format(" seed {}", seed));
    const Platform p = load(spec);
    const Fabric& f = p.fabric;
    if (f.host_count() < 2) continue;
    expect_sound(f);
    expect_closed_form_equals_walks(f);
    expect_routes_are_shortest(f);
    // Closed form of the cables: N per ring dimension, N/2 where k = 2, none where k = 1.
    std::uint64_t routers = 1, cables = 0;
    for (std::uint32_t k : dims) routers *= k;
    for (std::size_t d = 0; d < dims.size(); ++d)
      cables += doubled[d] * (dims[d] > 2 ? routers : dims[d] == 2 ? routers / 2 : 0);
    EXPECT_EQ(f.cable_count(), cables + (host_links ? routers * hps : 0));
    // Dimensions in order, once each: the dimension in which a hop changes never goes down along a route.
    const std::uint32_t base = host_links ? f.host_count() : 0;
    for (std::uint32_t s = 0; s < f.host_count(); ++s)
      for (std::uint32_t d = 0; d < f.host_count(); ++d) {
        std::size_t now = 0;
        for (LinkId l : route_of(f, s, d)) {
          std::uint32_t x = f.links().from[l.index()].index(), y = f.links().to[l.index()].index();
          if (x < base || y < base) continue;
          x -= base;
          y -= base;
          std::size_t dim = 0;
          while (x % dims[dim] == y % dims[dim]) {
            x /= dims[dim];
            y /= dims[dim];
            ++dim;
          }
          ASSERT_GE(dim, now);
          now = dim;
        }
      }
  }
}

TEST(Torus, BadParametersAreNamed) {
  EXPECT_THAT(error_of("torus:"), HasSubstr("key dims is missing"));
  EXPECT_THAT(error_of("torus:dims=4x-1"), HasSubstr("got \"-1\""));
  EXPECT_THAT(error_of("torus:dims=4x4,host_links=maybe"), HasSubstr("expected on or off"));
  EXPECT_THAT(error_of("torus:dims=4,host_links=off,hosts_per_switch=2"), HasSubstr("a router is one host"));
  EXPECT_THAT(error_of("torus:dims=4,tie=up"), HasSubstr("one of plus, minus, parity, simgrid"));
  EXPECT_THAT(error_of("torus:dims=1000000x1000000x1000000x1000000"), HasSubstr("the network is too large"));
  EXPECT_THAT(error_of("torus:dims=2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2"), HasSubstr("has 17 values"));
}

}  // namespace
}  // namespace weft::topology::torus_test
