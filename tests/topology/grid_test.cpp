// Mesh, hypercube and the torus machines: closed forms (docs/topologies.md), Boost BFS, channel dependencies.
#include "tests/topology/oracles.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

TEST(Mesh, CountsAndMeansEqualTheClosedForms) {
  struct Row {
    std::string dims;
    std::vector<std::uint64_t> k;
    std::uint64_t cut;
  };
  for (const Row& r : std::vector<Row>{{"4x4x4", {4, 4, 4}, 16},
                                       {"5x4", {5, 4}, 5},
                                       {"7", {7}, 1},
                                       {"2x2", {2, 2}, 2},
                                       {"1x6x3", {1, 6, 3}, 3}}) {
    SCOPED_TRACE(r.dims);
    const Platform p = load("mesh:host_links=off,dims=" + r.dims);
    std::uint64_t n = 1, diameter = 0, cables = 0;
    double mean = 0;
    for (const std::uint64_t k : r.k) n *= k;
    for (const std::uint64_t k : r.k) {
      diameter += k - 1;
      cables += n * (k - 1) / k;
      mean += static_cast<double>(k * k - 1) / (3.0 * static_cast<double>(k));
    }
    EXPECT_EQ(p.fabric.host_count(), n);
    EXPECT_EQ(p.fabric.cable_count(), cables);
    const Metrics m = measure(p.fabric);
    EXPECT_EQ(*m.diameter_hops, diameter);
    EXPECT_NEAR(*m.mean_hops, mean * static_cast<double>(n) / static_cast<double>(n - 1), 1e-12);
    EXPECT_EQ(p.fabric.bisection_cables(), r.cut);
    expect_sound(p.fabric);
    expect_routes_are_shortest(p.fabric);
    expect_closed_form_equals_walks(p.fabric);
  }
}

TEST(Mesh, OfTwosIsTheTorusOfTwos) {
  const Platform a = load("mesh:dims=2x2x2"), b = load("torus:dims=2x2x2"), c = load("hypercube:n=3");
  for (std::uint32_t s = 0; s < 8; ++s)
    for (std::uint32_t d = 0; d < 8; ++d) {
      EXPECT_EQ(via(a.fabric, s, d), via(b.fabric, s, d));
      EXPECT_EQ(via(a.fabric, s, d), via(c.fabric, s, d));
    }
}

TEST(Mesh, GoldenRouteAndParallelCables) {
  const Platform p = load("mesh:dims=3x3,cables=2x1");
  EXPECT_EQ(via(p.fabric, 0, 8), (std::vector<std::string>{"(0,0)", "(1,0)", "(2,0)", "(2,1)", "(2,2)"}));
  EXPECT_EQ(p.fabric.cable_count(), 9u + 12u + 6u);
  // Two neighbours in the second dimension take both cables of the first, on every hop of it.
  const auto cables = [&](std::uint32_t dst) {
    const auto route = route_of(p.fabric, 0, dst);
    return p.fabric.link_name(route[1]) + " " + p.fabric.link_name(route[2]);
  };
  EXPECT_EQ(cables(2), "(0,0)->(1,0)#0 (1,0)->(2,0)#0");
  EXPECT_EQ(cables(5), "(0,0)->(1,0)#1 (1,0)->(2,0)#1");
  EXPECT_EQ(cables(8), "(0,0)->(1,0)#1 (1,0)->(2,0)#1");
}

TEST(Mesh, DimensionOrderHasNoCycleOfChannels) {
  for (const std::string spec : {"mesh:dims=4x3x2", "mesh:dims=5x5,cables=2x1", "hypercube:n=5"}) {
    const Platform p = load(spec);
    EXPECT_TRUE(channels_are_acyclic(p.fabric)) << spec;
  }
  // The rings of a torus do make a cycle: the check can fail.
  EXPECT_FALSE(channels_are_acyclic(load("torus:dims=6").fabric));
}

TEST(Hypercube, HasNBitsOfDistance) {
  const Platform p = load("hypercube:n=8,host_links=off");  // Eagle 2020: an 8-D cube
  EXPECT_EQ(p.fabric.host_count(), 256u);
  EXPECT_EQ(p.fabric.cable_count(), 1024u);
  EXPECT_EQ(*p.fabric.bisection_cables(), 128u);
  for (std::uint32_t s = 0; s < 256; s += 7)
    for (std::uint32_t d = 0; d < 256; ++d)
      EXPECT_EQ(route_of(p.fabric, s, d).size(), static_cast<std::size_t>(__builtin_popcount(s ^ d)));
  EXPECT_NEAR(*measure(p.fabric).mean_hops, 4.0 * 256 / 255, 1e-12);
}

TEST(Gemini, HopperHasItsPublishedCountsAndLatencies) {
  const Platform p = load("gemini:dims=17x8x24");
  EXPECT_EQ(p.fabric.host_count(), 6528u);
  EXPECT_EQ(p.fabric.switch_count(), 3264u);
  EXPECT_EQ(p.fabric.cable_count(), 6528u + 16320u);
  const Metrics m = measure(p.fabric);
  EXPECT_EQ(*m.router_diameter_hops, 24u);
  EXPECT_NEAR(*m.router_mean_hops, 12.2390, 5e-5);
  EXPECT_EQ(*p.fabric.bisection_cables(), 544u);
  expect_sound(p.fabric, 20000);
  // 1.27 us within a router; 3.88 us over 24 hops.
  EXPECT_NEAR(latency_s(p.fabric, 0, 1), 1.27e-6, 1e-12);
  const std::uint32_t far = 2 * (8 + 17 * (4 + 8 * 12));
  EXPECT_EQ(route_of(p.fabric, 0, far).size(), 26u);
  EXPECT_NEAR(latency_s(p.fabric, 0, far), 3.88e-6, 1e-12);
}

TEST(Gemini, TitanHasDimensionsOfDifferentBandwidth) {
  const Platform p = load("gemini:dims=25x16x24,bw=6GB/sx5.87GB/sx3.47GB/sx5.87GB/s");
  EXPECT_EQ(p.fabric.host_count(), 19200u);
  EXPECT_EQ(p.fabric.cable_count(), 19200u + 48000u);
  for (const ClassSummary& c : summarize_classes(p.fabric)) {
    if (c.name == "y") {
      EXPECT_EQ(*c.bandwidth_Bps, 3.47e9);
    } else if (c.name != "host") {
      EXPECT_EQ(*c.bandwidth_Bps, 5.87e9);
    }
  }
}

TEST(BlueGeneQ, LatencyIsThePublishedFormulaOfHops) {
  const Platform p = load("bgq:dims=4x4x4x4x2");
  EXPECT_EQ(p.fabric.host_count(), 512u);
  EXPECT_EQ(p.fabric.cable_count(), 512u + 2304u + 256u);  // E doubled: ten ports
  const VerifyReport r = verify(p.fabric);
  EXPECT_EQ(r.switch_degree_min, 11u);
  EXPECT_EQ(r.switch_degree_max, 11u);
  std::size_t longest = 0;
  for (std::uint32_t s = 0; s < 512; s += 37)
    for (std::uint32_t d = 0; d < 512; ++d) {
      if (s == d) continue;
      const std::size_t hops = route_of(p.fabric, s, d).size() - 2;
      EXPECT_NEAR(latency_s(p.fabric, s, d), (718.0 - 40.0 + 40.0 * static_cast<double>(hops)) * 1e-9, 1e-15);
      longest = std::max(longest, hops);
    }
  EXPECT_EQ(longest, 9u);
  // 1264 ns, the published maximum, is 14.65 hops: not a distance of this machine's 31-hop torus.
  const Platform sequoia = load("bgq:dims=16x12x16x16x2");
  EXPECT_EQ(sequoia.fabric.host_count(), 98304u);
  EXPECT_EQ(sequoia.fabric.cable_count(), 98304u + 491520u);
  EXPECT_EQ(*measure(sequoia.fabric).router_diameter_hops, 31u);
  EXPECT_NEAR(*measure(sequoia.fabric).router_mean_hops, 15.5002, 5e-5);
  const Platform mira = load("bgq:dims=8x12x16x16x2,cables=1x1x1x1x1");
  EXPECT_EQ(mira.fabric.cable_count(), 49152u + 221184u);
  EXPECT_EQ(*mira.fabric.bisection_cables(), 6144u);
}

TEST(TofuD, FugakuHasItsCountsAndTenPortsPerNode) {
  const Platform p = load("tofud:dims=24x23x24");
  EXPECT_EQ(p.fabric.host_count(), 158976u);
  EXPECT_EQ(p.fabric.cable_count(), 158976u + 794880u);
  const Metrics m = measure(p.fabric);
  EXPECT_EQ(*m.router_diameter_hops, 38u);
  EXPECT_EQ(*p.fabric.bisection_cables(), 13248u);
  const VerifyReport r = verify(p.fabric, 2000);
  EXPECT_EQ(r.switch_degree_max, 11u);  // ten ports and the host
  EXPECT_EQ(r.switch_degree_min, 11u);
  EXPECT_THAT(r.findings, ::testing::IsEmpty());
  EXPECT_NEAR(latency_s(p.fabric, 0, 1), 0.49e-6, 1e-15);
  expect_routes_are_shortest(load("tofud:dims=2x3x2,wrap=off").fabric);
}

TEST(Grid, AllPairsUseParallelCablesAlike) {
  for (const std::string spec :
       {"bgq:dims=4x4x4x4x2", "torus:dims=8x8x8,cables=2x3x2", "torus:dims=6x6x6,cables=2x2x2,host_links=off",
        "torus:dims=5x5,cables=2x2,hosts_per_switch=3", "mesh:dims=6x6x6,cables=2x2x2",
        "hypercube:n=8,cables=2", "gemini:dims=6x6x6,hosts_per_switch=1"}) {
    SCOPED_TRACE(spec);
    expect_even_bundles(load(spec).fabric, 1.1);
  }
}

// As of a communicator whose ranks are some apart.
TEST(Grid, EveryOtherHostUsesBothCables) {
  const Platform p = load("bgq:dims=4x4x4x4x2");
  const Fabric& f = p.fabric;
  for (const std::uint32_t apart : {2u, 4u, 16u}) {
    std::set<char> used;
    for (std::uint32_t s = 0; s < 256; s += apart) {
      const auto route = route_of(f, s, 256);
      used.insert(f.link_name(route[route.size() - 2]).back());
    }
    EXPECT_EQ(used, (std::set<char>{'0', '1'})) << apart;
  }
}

TEST(Grid, TheCableOfAPairIsAnotherInEachDimensionAndNotDrawn) {
  const std::string spec = "torus:dims=6x6x6,cables=2x2x2";
  const Platform p = load(spec), q = load(spec, {"seed=7"});
  const Fabric& f = p.fabric;
  std::map<std::string, double> taken;  // cables of pairs one hop apart in each dimension, like "011"
  double all = 0;
  for (std::uint32_t s = 0; s < f.host_count(); ++s)
    for (std::uint32_t d = 0; d < f.host_count(); ++d) {
      const auto route = route_of(f, s, d);
      EXPECT_EQ(route, route_of(q.fabric, s, d));
      const bool crosses_all = s % 6 != d % 6 && s / 6 % 6 != d / 6 % 6 && s / 36 != d / 36;
      if (!crosses_all || route.size() != 5) continue;
      std::string cables;
      for (std::size_t i = 1; i < 4; ++i) cables += f.link_name(route[i]).back();
      ++taken[cables];
      ++all;
    }
  EXPECT_EQ(taken.size(), 8u);
  for (const auto& [cables, times] : taken) EXPECT_NEAR(times / all, 1.0 / 8, 0.02) << cables;
}

// Two nodes a router and two cables: half of what a bundle carries to each router is for its first node.
TEST(Gemini, CablesAreDealtByTheDestination) {
  const Platform p = load("gemini:dims=4x3x5");
  const Fabric& f = p.fabric;
  for (std::uint32_t s = 0; s < f.host_count(); ++s)
    for (std::uint32_t d = 0; d < f.host_count(); ++d)
      for (const LinkId l : route_of(f, s, d)) {
        const std::string name = f.link_name(l), place = name.substr(name.find_last_of('>'));
        const std::size_t cable = place.find('#');
        if (cable == std::string::npos) continue;
        ASSERT_EQ(place.substr(cable + 1), std::to_string(d % 2)) << s << " to " << d;
      }
  expect_even_bundles(f, 1);
}

TEST(Torus, HashedAndAdaptiveChooseAmongParallelCables) {
  const Platform h = load("torus:dims=5,cables=3,routing=hashed");
  EXPECT_EQ(h.fabric.routing().scope(), RouteScope::kMessage);
  std::vector<LinkId> out;
  std::set<std::string> used;
  for (std::uint64_t m = 0; m < 20; ++m) {
    out.clear();
    ASSERT_TRUE(h.fabric.routing().route_message(HostId(0), HostId(1), m, {}, out));
    used.insert(h.fabric.link_name(out[1]));
  }
  EXPECT_EQ(used.size(), 3u);
  const Platform a = load("torus:dims=5,cables=3,routing=adaptive");
  EXPECT_EQ(a.fabric.routing().scope(), RouteScope::kLoad);
  std::vector<std::uint32_t> load(a.fabric.link_count(), 0);
  std::uint32_t worst = 0;
  for (std::uint64_t m = 0; m < 9; ++m) {
    out.clear();
    ASSERT_TRUE(a.fabric.routing().route_message(HostId(0), HostId(2), m, load, out));
    for (const LinkId l : out)
      if (!leaves_host(a.fabric, l) && a.fabric.links().to[l.index()].index() >= 5)
        worst = std::max(worst, ++load[l.index()]);
  }
  EXPECT_EQ(worst, 3u);  // nine messages over three cables
  EXPECT_EQ(weft::topology::load("torus:dims=5,routing=adaptive").fabric.routing().scope(),
            RouteScope::kPair);
}

// Messages of a shift are numbered in the order of their sources, and so are their destinations.
TEST(Torus, HashedUsesBothCablesForAShift) {
  const Platform p = load("torus:dims=32x16,cables=2x2,routing=hashed");
  const std::uint32_t hosts = p.fabric.host_count();
  for (const std::uint32_t shift : {1u, 2u, 32u, 33u, 256u}) {
    SCOPED_TRACE(shift);
    std::uint32_t used[2] = {0, 0};
    for (std::uint32_t src = 0; src < hosts; ++src) {
      std::vector<LinkId> out;
      ASSERT_TRUE(p.fabric.routing().route_message(HostId(src), HostId((src + shift) % hosts), src, {}, out));
      for (std::size_t i = 1; i + 1 < out.size(); ++i) {
        const std::uint32_t l = out[i].index();
        const bool second = p.fabric.links().from[l] == p.fabric.links().from[l - 1] &&
                            p.fabric.links().to[l] == p.fabric.links().to[l - 1];
        ++used[second ? 1 : 0];
      }
    }
    const double all = used[0] + used[1];
    EXPECT_NEAR(used[0] / all, 0.5, 0.1);
  }
}

TEST(Torus, BandwidthMayDifferByDimension) {
  const Platform p = load("torus:dims=4x4,bw=10Gbpsx20Gbpsx30Gbps");
  std::map<std::string, double> bw;
  for (const ClassSummary& c : summarize_classes(p.fabric)) bw[c.name] = *c.bandwidth_Bps;
  EXPECT_EQ(bw, (std::map<std::string, double>{{"host", 1.25e9}, {"torus1", 2.5e9}, {"torus2", 3.75e9}}));
}

TEST(Grid, BadParametersAreNamed) {
  EXPECT_THAT(error_of("mesh:dims=0x4"), HasSubstr("from 1 to"));
  EXPECT_THAT(error_of("mesh:dims=4x4,tie=plus"), HasSubstr("no such key"));
  EXPECT_THAT(error_of("hypercube:n=24"), HasSubstr("from 1 to 23"));
  EXPECT_THAT(error_of("hypercube:n=23"), HasSubstr("the network is too large"));
  EXPECT_THAT(error_of("gemini:dims=4x4"), HasSubstr("dims has 2 values"));
  EXPECT_THAT(error_of("bgq:dims=4x4x4"), HasSubstr("dims has 3 values"));
  EXPECT_THAT(error_of("tofud:dims=4x4"), HasSubstr("dims has 2 values"));
  EXPECT_THAT(error_of("torus:dims=4,routing=random"), HasSubstr("one of dimension-order, hashed, adaptive"));
}

}  // namespace
}  // namespace weft::topology
