// HyperX, Slim Fly, Jellyfish, rail-optimised fat-tree, NVSwitch: counts, distances and cuts (docs/topologies.md).
#include "tests/topology/oracles.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

void expect_simple_messages(const Fabric& f, std::uint32_t pairs) {
  Rng rng(seed_or(3));
  std::vector<std::uint32_t> load(f.link_count());
  for (auto& x : load) x = static_cast<std::uint32_t>(rng.below(5));
  std::vector<LinkId> out;
  for (std::uint32_t i = 0; i < pairs; ++i) {
    const auto s = static_cast<std::uint32_t>(rng.below(f.host_count())),
               d = static_cast<std::uint32_t>(rng.below(f.host_count()));
    out.clear();
    ASSERT_TRUE(f.routing().route_message(HostId(s), HostId(d), i, load, out));
    std::uint32_t at = s;
    std::set<std::uint32_t> seen = {s};
    for (const LinkId l : out) {
      ASSERT_EQ(f.links().from[l.index()].index(), at);
      at = f.links().to[l.index()].index();
      ASSERT_TRUE(seen.insert(at).second);
    }
    ASSERT_EQ(at, d);
  }
}

TEST(HyperX, CountsMeansAndCutsEqualTheTable) {
  struct Row {
    std::string spec;
    std::uint64_t routers, links;
    double mean;
    std::uint64_t cut;
  };
  for (const Row& r :
       std::vector<Row>{{"hyperx:dims=4x4,hosts_per_switch=4", 16, 48, 1.6, 16},
                        {"hyperx:dims=8x8x8,hosts_per_switch=8", 512, 5376, 2.6301, 1024},
                        {"hyperx:dims=16x6,cables=1x3,hosts_per_switch=4", 96, 1440, 1.7895, 384}}) {
    SCOPED_TRACE(r.spec);
    const Platform p = load(r.spec);
    EXPECT_EQ(p.fabric.switch_count(), r.routers);
    EXPECT_EQ(p.fabric.cable_count() - p.fabric.host_count(), r.links);
    EXPECT_NEAR(*measure(p.fabric).router_mean_hops, r.mean, 5e-5);
    EXPECT_EQ(*p.fabric.bisection_cables(), r.cut);
    const VerifyReport v = verify(p.fabric, 20000);
    EXPECT_EQ(v.switch_degree_min, v.switch_degree_max);
    EXPECT_THAT(v.findings, ::testing::IsEmpty());
  }
}

TEST(HyperX, RoutesAreShortestInDimensionOrderAndWithoutCycles) {
  for (const std::string spec : {"hyperx:dims=4x3,hosts_per_switch=2", "hyperx:dims=2x3x2,cables=1x2x3"}) {
    const Platform p = load(spec), a = load(spec + ",routing=adaptive"), v = load(spec + ",routing=valiant");
    expect_sound(p.fabric);
    expect_routes_are_shortest(p.fabric);
    expect_closed_form_equals_walks(p.fabric);
    EXPECT_TRUE(channels_are_acyclic(p.fabric));
    expect_sound(a.fabric);
    expect_simple_messages(a.fabric, 3000);
    expect_sound(v.fabric);
    expect_simple_messages(v.fabric, 3000);
    std::vector<std::uint32_t> load(a.fabric.link_count(), 0);
    for (std::uint32_t d = 1; d < a.fabric.host_count(); ++d) {
      std::vector<LinkId> out;
      ASSERT_TRUE(a.fabric.routing().route_message(HostId(0), HostId(d), d, load, out));
      EXPECT_EQ(out.size(), bfs_from(a.fabric, 0)[d]);
    }
  }
}

TEST(HyperX, AllPairsUseParallelCablesAlike) {
  for (const std::string spec : {"hyperx:dims=4x4,cables=2x2", "hyperx:dims=4x4,cables=4x4",
                                 "hyperx:dims=4x4,cables=2x2,hosts_per_switch=2"})
    expect_even_bundles(load(spec).fabric, 1);
  expect_even_bundles(load("hyperx:dims=16x6,cables=1x3,hosts_per_switch=4").fabric, 1.1);
  expect_even_bundles(load("hyperx:dims=7x5x6,cables=2x3x2").fabric, 1.5);
}

TEST(HyperX, AnAriesGroupIsOne) {
  const Platform a = load("aries:groups=1"), h = load("hyperx:dims=16x6,cables=1x3,hosts_per_switch=4");
  EXPECT_EQ(a.fabric.routing().hop_histogram()->pairs, h.fabric.routing().hop_histogram()->pairs);
}

// Any two routers that are not joined have exactly one neighbour in common; two that are have at most one, or none where
// the graph has no triangles.
void expect_common_neighbours(const Fabric& f, bool no_triangles) {
  const std::uint32_t hosts = f.host_count(), end = hosts + f.switch_count();
  std::vector<std::set<std::uint32_t>> of(end);
  for (std::uint32_t v = hosts; v < end; ++v)
    for (std::uint32_t l = f.first_link(VertexId(v)); l < f.first_link(VertexId(v)) + f.degree(VertexId(v));
         ++l)
      if (const std::uint32_t to = f.links().to[l].index(); to >= hosts) of[v].insert(to);
  for (std::uint32_t a = hosts; a < end; ++a)
    for (std::uint32_t b = hosts; b < end; ++b) {
      if (a == b) continue;
      const auto common = std::ranges::count_if(of[b], [&](std::uint32_t to) { return of[a].contains(to); });
      if (!of[a].contains(b))
        ASSERT_EQ(common, 1) << a << " and " << b;
      else
        ASSERT_LE(common, no_triangles ? 0 : 1) << a << " and " << b;
    }
}

TEST(SlimFly, FiveGivesThePublishedGraph) {
  const Platform p = load("slim-fly:q=5");
  EXPECT_EQ(p.fabric.switch_count(), 50u);
  EXPECT_EQ(p.fabric.host_count(), 200u);
  EXPECT_EQ(p.fabric.cable_count() - 200, 175u);
  const Metrics m = measure(p.fabric);
  EXPECT_EQ(*m.router_diameter_hops, 2u);
  EXPECT_NEAR(*m.router_mean_hops, 1.857143, 1e-6);
  // Hoffman-Singleton: any two routers that are not joined have exactly one neighbour in common.
  expect_common_neighbours(p.fabric, true);
}

TEST(SlimFly, EveryPrimePowerGivesDiameterTwoAndItsDegree) {
  for (const std::uint64_t q : {3u, 4u, 5u, 7u, 8u, 9u, 11u, 13u, 16u, 17u, 19u, 23u, 25u, 27u}) {
    SCOPED_TRACE(q);
    const Platform p = load("slim-fly:hosts_per_switch=1,q=" + std::to_string(q));
    const std::uint64_t degree = q % 4 == 3 ? (3 * q + 1) / 2 : (q % 4 == 1 ? (3 * q - 1) / 2 : 3 * q / 2);
    EXPECT_EQ(p.fabric.switch_count(), 2 * q * q);
    EXPECT_EQ(p.fabric.cable_count(), 2 * q * q + q * q * degree);
    const VerifyReport v = verify(p.fabric, 2000);
    EXPECT_EQ(v.switch_degree_min, degree + 1);
    EXPECT_EQ(v.switch_degree_max, degree + 1);
    EXPECT_THAT(v.findings, ::testing::IsEmpty());
    EXPECT_EQ(*measure(p.fabric).router_diameter_hops, 2u);
  }
  EXPECT_THAT(error_of("slim-fly:q=6"), HasSubstr("like 3, 4, 5, 7, 8, 9, 11, 13"));
  EXPECT_THAT(error_of("slim-fly:q=12"), HasSubstr("no such Slim Fly"));
}

// The polarity graph by its definition: routers by their names, joined iff the dot product is 0 modulo a prime q.
TEST(PolarFly, RoutersAreJoinedWhereTheirPointsAreOrthogonal) {
  for (const std::uint32_t q : {2u, 3u, 5u, 7u, 11u}) {
    SCOPED_TRACE(q);
    const Platform p = load("polarfly:hosts_per_switch=1,q=" + std::to_string(q));
    const Fabric& f = p.fabric;
    const std::uint32_t n = q * q + q + 1;
    ASSERT_EQ(f.switch_count(), n);
    EXPECT_EQ(f.cable_count(), n + q * (q + 1) * (q + 1) / 2);
    const auto point = [&](std::uint32_t v) {
      std::array<std::uint32_t, 3> x{};
      EXPECT_EQ(std::sscanf(f.vertex_name(VertexId(v)).c_str(), "(%u,%u,%u)", &x[0], &x[1], &x[2]), 3);
      return x;
    };
    std::uint32_t quadrics = 0;
    for (std::uint32_t a = n; a < 2 * n; ++a) {
      std::set<std::uint32_t> joined, orthogonal;
      for (std::uint32_t l = f.first_link(VertexId(a)); l < f.first_link(VertexId(a)) + f.degree(VertexId(a));
           ++l)
        if (const std::uint32_t to = f.links().to[l].index(); to >= n) joined.insert(to);
      const auto x = point(a);
      for (std::uint32_t b = n; b < 2 * n; ++b) {
        const auto y = point(b);
        if ((x[0] * y[0] + x[1] * y[1] + x[2] * y[2]) % q != 0) continue;
        if (a == b)
          ++quadrics;
        else
          orthogonal.insert(b);
      }
      EXPECT_EQ(joined, orthogonal) << f.vertex_name(VertexId(a));
    }
    EXPECT_EQ(quadrics, q + 1);
  }
}

// Erdos, Renyi and Sos: any two routers that are not joined have one neighbour in common, so that the diameter is 2; two that
// are joined have one or none.
TEST(PolarFly, EveryPrimePowerGivesDiameterTwoAndItsDegrees) {
  for (const std::uint64_t q : {2u, 3u, 4u, 5u, 7u, 8u, 9u, 11u, 13u, 16u, 25u, 27u}) {
    SCOPED_TRACE(q);
    const Platform p = load("polarfly:hosts_per_switch=1,q=" + std::to_string(q));
    const std::uint64_t n = q * q + q + 1;
    const VerifyReport v = verify(p.fabric, 2000);
    EXPECT_EQ(v.switch_degree_min, q + 1);  // q and a host: a quadric
    EXPECT_EQ(v.switch_degree_max, q + 2);
    EXPECT_THAT(v.findings, ::testing::IsEmpty());
    const Metrics m = measure(p.fabric);
    EXPECT_EQ(*m.router_diameter_hops, 2u);
    const auto pairs = static_cast<double>(n * (n - 1)), joined = static_cast<double>(q * (q + 1) * (q + 1));
    EXPECT_NEAR(*m.router_mean_hops, 2 - joined / pairs, 1e-12);
    if (q < 10) expect_common_neighbours(p.fabric, false);
  }
  EXPECT_EQ(load("polarfly:q=31").fabric.host_count(), 993u * 16u);
  EXPECT_THAT(error_of("polarfly:q=6"), HasSubstr("like 3, 4, 5, 7, 8, 9, 11, 13"));
}

TEST(Jellyfish, IsRegularConnectedSimpleAndSeeded) {
  const std::uint64_t seed = seed_or(100);
  for (const auto& [n, r] : std::vector<std::pair<int, int>>{
           {2, 1}, {4, 3}, {10, 3}, {12, 2}, {20, 5}, {200, 3}, {64, 62}, {9, 8}, {500, 2}}) {
    const std::string spec = "jellyfish:hosts_per_switch=2,n=" + std::to_string(n) +
                             ",r=" + std::to_string(r) + ",seed=" + std::to_string(seed);
    SCOPED_TRACE(spec);
    const Platform p = load(spec), again = load(spec);
    const Fabric& f = p.fabric;
    EXPECT_EQ(f.cable_count(), static_cast<std::uint32_t>(2 * n + n * r / 2));
    const VerifyReport v = verify(f, 20000);
    EXPECT_THAT(v.findings, ::testing::IsEmpty());
    EXPECT_EQ(v.switch_degree_min, static_cast<std::uint32_t>(r + 2));
    EXPECT_EQ(v.switch_degree_max, static_cast<std::uint32_t>(r + 2));
    for (std::uint32_t l = 0; l < f.link_count(); ++l) {
      EXPECT_EQ(f.link_name(LinkId(l)).find('#'), std::string::npos);  // no parallel cables
      EXPECT_EQ(f.links().to[l], again.fabric.links().to[l]);
    }
    if (f.host_count() <= 400) expect_routes_are_shortest(f);
  }
  const Platform a = load("jellyfish:n=20,r=5,hosts_per_switch=1,seed=1"),
                 b = load("jellyfish:n=20,r=5,hosts_per_switch=1,seed=2");
  bool differ = false;
  for (std::uint32_t l = 0; l < a.fabric.link_count(); ++l)
    differ = differ || a.fabric.links().to[l] != b.fabric.links().to[l];
  EXPECT_TRUE(differ);
  EXPECT_THAT(error_of("jellyfish:n=5,r=3,hosts_per_switch=1"), HasSubstr("n r even"));
  EXPECT_THAT(error_of("jellyfish:n=5,r=5,hosts_per_switch=1"), HasSubstr("from 1 to 4"));
}

TEST(Rail, GpusOfOneIndexShareALeaf) {
  const Platform p = load("rail:rails=4,nodes=3,pods=2,spines=2,cables=2");
  const Fabric& f = p.fabric;
  EXPECT_EQ(f.host_count(), 24u);
  EXPECT_EQ(f.switch_count(), 8u + 2u + 6u);
  EXPECT_EQ(cables_by_class(f),
            (std::map<std::string, std::uint64_t>{{"host", 24}, {"up1", 8 * 4}, {"nvlink", 24}}));
  const auto gpu = [](std::uint32_t pod, std::uint32_t node, std::uint32_t i) {
    return (pod * 3 + node) * 4 + i;
  };
  EXPECT_EQ(via(f, gpu(0, 0, 1), gpu(0, 2, 1)), (std::vector<std::string>{"pod-0-leaf-1"}));
  EXPECT_EQ(via(f, gpu(0, 0, 1), gpu(0, 0, 3)), (std::vector<std::string>{"node-0-nvswitch"}));
  const auto cross = via(f, gpu(0, 0, 1), gpu(0, 1, 2));
  ASSERT_EQ(cross.size(), 3u);
  EXPECT_EQ(cross[0], "pod-0-leaf-1");
  EXPECT_EQ(cross[2], "pod-0-leaf-2");
  const Platform q = load("rail:rails=4,nodes=3,pods=2,spines=2,cables=2,pxn=on");
  EXPECT_EQ(via(q.fabric, gpu(0, 0, 1), gpu(0, 1, 2)),
            (std::vector<std::string>{"node-0-nvswitch", "node-0-gpu-2", "pod-0-leaf-2"}));
  for (const std::string more :
       {"", ",pxn=on", ",nvlink=off", ",routing=hashed", ",routing=random", ",routing=adaptive,pxn=on"}) {
    SCOPED_TRACE(more);
    const Platform x = load("rail:rails=4,nodes=3,pods=2,spines=2,cables=2" + more);
    expect_sound(x.fabric);
    expect_closed_form_equals_walks(x.fabric);
    expect_simple_messages(x.fabric, 500);
  }
  EXPECT_TRUE(channels_are_acyclic(f));
  // A network card's bandwidth is none of the NVSwitch's.
  const Platform slow = load("rail:rails=4,nodes=3,pods=2,spines=2,cables=2,nic_bw=1GB/s");
  for (std::uint32_t h = 0; h < 24; ++h) {
    const std::uint32_t card = slow.fabric.first_link(VertexId(h));
    EXPECT_EQ(slow.fabric.links().capacity[card], 1e9);
    EXPECT_EQ(slow.fabric.links().capacity[card + 1], 300e9);
  }
  EXPECT_THAT(error_of("rail:nodes=4,pxn=on,nvlink=off"), HasSubstr("over the NVSwitch"));
}

TEST(NvSwitch, IsAStarWithTheGenerationsBandwidth) {
  const Platform a100 = load("nvswitch:"), dgx2 = load("nvswitch:n=16,gen=2");
  EXPECT_EQ(a100.fabric.host_count(), 8u);
  EXPECT_EQ(a100.fabric.links().capacity[0], 300e9);
  EXPECT_EQ(dgx2.fabric.host_count(), 16u);
  EXPECT_EQ(dgx2.fabric.links().capacity[0], 150e9);
  expect_sound(dgx2.fabric);
  expect_routes_are_shortest(dgx2.fabric);
}

}  // namespace
}  // namespace weft::topology
