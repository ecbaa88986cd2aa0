// Aries, Dragonfly+ and the routings of networks of groups: counts (docs/topologies.md), hop bounds, channels.
#include <set>

#include "tests/topology/oracles.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

std::uint32_t count_class(const Fabric& f, std::span<const LinkId> route, const std::string& name) {
  std::uint32_t n = 0;
  for (const LinkId l : route) n += f.links().class_names[f.links().link_class[l.index()]] == name ? 1 : 0;
  return n;
}
bool is_simple(const Fabric& f, std::uint32_t src, std::uint32_t dst, std::span<const LinkId> route) {
  std::set<std::uint32_t> seen = {src};
  std::uint32_t at = src;
  for (const LinkId l : route) {
    if (f.links().from[l.index()].index() != at) return false;
    at = f.links().to[l.index()].index();
    if (!seen.insert(at).second) return false;
  }
  return at == dst;
}

TEST(Aries, FullSizeHasItsPublishedCounts) {
  const Platform p = load("aries:groups=241");
  const Fabric& f = p.fabric;
  EXPECT_EQ(f.host_count(), 92544u);
  EXPECT_EQ(f.switch_count(), 23136u);
  EXPECT_EQ(cables_by_class(f),
            (std::map<std::string, std::uint64_t>{
                {"host", 92544}, {"green", 241 * 720}, {"black", 241 * 720}, {"blue", 115680}}));
  const VerifyReport r = verify(f, 20000);
  EXPECT_THAT(r.findings, ::testing::IsEmpty());
  EXPECT_EQ(r.switch_degree_min, 44u);  // 15 + 15 + 10 + 4 nodes
  EXPECT_EQ(r.switch_degree_max, 44u);
  const Metrics m = measure(f);
  EXPECT_EQ(*m.router_diameter_hops, 5u);
  // Four cables per pair of groups to choose from: fewer hops than the 4.54 of one uniform gateway.
  EXPECT_LT(*m.router_mean_hops, 4.54);
  EXPECT_GT(*m.router_mean_hops, 3.0);
}

TEST(Aries, OneGroupIsAHyperXOfTwoDimensions) {
  const Platform p = load("aries:groups=1");
  EXPECT_EQ(p.fabric.cable_count(), 384u + 1440u);
  const Metrics m = measure(p.fabric);
  EXPECT_EQ(*m.router_diameter_hops, 2u);
  EXPECT_NEAR(*m.router_mean_hops, 170.0 / 95.0, 1e-12);
  EXPECT_EQ(*p.fabric.bisection_cables(), 384u);  // halves of every chassis: 6 x 8 x 8
  expect_sound(p.fabric);
  expect_routes_are_shortest(p.fabric);
  expect_closed_form_equals_walks(p.fabric);
}

TEST(Aries, UniformGatewaysGiveThePublishedMeanBetweenGroups) {
  // One blue cable per pair and 97 groups: every router of a group is gateway to one other group.
  const Platform p = load("aries:groups=97,blue=1");
  const auto h = *p.fabric.routing().hop_histogram();
  double sum = 0, pairs = 0;
  for (std::size_t k = 3; k < h.pairs.size(); ++k) {
    sum += static_cast<double>(h.pairs[k]) * static_cast<double>(k - 2);
    pairs += static_cast<double>(h.pairs[k]);
  }
  const double r = 96, local = r * 95 * 97 * 16, local_sum = local * 170 / 95;
  EXPECT_NEAR((sum - local_sum) / (pairs - local), 2.0 * 170 / 96 + 1, 1e-9);  // 4.54
}

TEST(Aries, SmallSystemsSpreadBlueCablesOverAllRouters) {
  for (const int groups : {2, 4, 14, 15, 25, 97}) {
    const Platform p = load("aries:groups=" + std::to_string(groups));
    const Fabric& f = p.fabric;
    std::vector<std::uint32_t> blue(f.vertex_count(), 0);
    for (std::size_t l = 0; l < f.links().size(); ++l)
      if (f.links().class_names[f.links().link_class[l]] == "blue") ++blue[f.links().from[l].index()];
    const auto [low, high] = std::minmax_element(blue.begin() + f.host_count(), blue.end());
    EXPECT_LE(*high - *low, 1u) << groups;
    EXPECT_GE(*low, 9u) << groups;
    EXPECT_LE(*high, 10u) << groups;
    expect_sound(f, 5000);
  }
}

TEST(Aries, LatencyPointsAreThePublishedOnes) {
  const Platform p = load("aries:groups=25");
  const Fabric& f = p.fabric;
  Rng rng(seed_or(1));
  double longest = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto s = static_cast<std::uint32_t>(rng.below(f.host_count()));
    const auto d = static_cast<std::uint32_t>(rng.below(f.host_count()));
    if (s == d) continue;
    const double hops = static_cast<double>(route_of(f, s, d).size() - 2);
    EXPECT_NEAR(latency_s(f, s, d), 0.8e-6 + hops * 100e-9, 1e-15);  // 100 ns a router
    longest = std::max(longest, latency_s(f, s, d));
  }
  EXPECT_LE(longest, 1.3e-6 + 1e-15);  // 8 bytes of MPI: 1.3 us; any pair < 2 us
  EXPECT_NEAR(load("aries:groups=241").fabric.links().capacity[0], 10.2e9, 1);
  EXPECT_NEAR(64.0 * 800e6 / 5, 10.24e9, 1);  // what the published 10.2 GB/s comes from
}

TEST(Aries, AllPairsOfMinimalUseBlueCablesAlike) {
  const Platform p = load("aries:groups=2,blue=240"), q = load("aries:groups=2,blue=240,seed=7");
  const Fabric& f = p.fabric;
  const auto blue = [&](LinkId l) { return f.links().class_names[class_of(f, l)] == "blue"; };
  std::map<LinkId, double> load;
  for (std::uint32_t s = 0; s < 384; ++s)
    for (std::uint32_t d = 384; d < 768; ++d) {
      const auto route = route_of(f, s, d);
      const auto global = std::ranges::find_if(route, blue);
      ASSERT_NE(global, route.end());
      ++load[*global];
      if (d % 50 != 0) continue;
      // A seed draws ways within groups only.
      EXPECT_EQ(std::ranges::count(route_of(q.fabric, s, d), *global), 1);
    }
  EXPECT_EQ(load.size(), 240u);
  for (const auto& [cable, pairs] : load) EXPECT_LE(pairs, 1.3 * 384 * 384 / 240) << f.link_name(cable);
}

TEST(Aries, HopBoundsOfMinimalAndValiant) {
  for (const std::string routing : {"minimal", "valiant"}) {
    const Platform p = load("aries:groups=40,blue=1,routing=" + routing);
    const Fabric& f = p.fabric;
    const bool minimal = routing == "minimal";
    Rng rng(seed_or(2));
    std::vector<LinkId> out;
    std::set<std::size_t> seen;
    for (std::uint64_t m = 0; m < 20000; ++m) {
      const auto s = static_cast<std::uint32_t>(rng.below(f.host_count()));
      const auto d = static_cast<std::uint32_t>(rng.below(f.host_count()));
      if (s == d) continue;
      out.clear();
      ASSERT_TRUE(f.routing().route_message(HostId(s), HostId(d), m, {}, out));
      ASSERT_TRUE(is_simple(f, s, d, out));
      const bool same = s / 384 == d / 384;
      const std::uint32_t blue = count_class(f, out, "blue");
      EXPECT_EQ(blue, same ? 0u : (minimal ? 1u : 2u));
      EXPECT_LE(out.size() - 2, same ? (minimal ? 2u : 4u) : (minimal ? 5u : 14u));
      seen.insert(out.size() - 2);
    }
    EXPECT_EQ(*seen.rbegin(), minimal ? 5u : 8u);
  }
}

// Of the cables between two groups Valiant leaves by one that is the fewest steps away, counted in the grid of 6 chassis of 16.
TEST(Aries, ValiantLeavesByTheNearestOfSeveralCables) {
  const Platform p = load("aries:groups=4,blue=3,routing=valiant");
  const Fabric& f = p.fabric;
  const auto router = [&](VertexId v) { return v.index() - f.host_count(); };
  const auto steps = [](std::uint32_t i, std::uint32_t j) {
    return (i % 16 != j % 16 ? 1u : 0u) + (i / 16 != j / 16 ? 1u : 0u);
  };
  const auto is_blue = [&](LinkId l) { return f.links().class_names[class_of(f, l)] == "blue"; };
  const auto nearest = [&](std::uint32_t from, std::uint32_t group) {
    std::uint32_t least = 3;
    for (std::uint32_t l = 0; l < f.link_count(); ++l) {
      const std::uint32_t at = router(f.links().from[l]);
      if (is_blue(LinkId(l)) && at / 96 == from / 96 && router(f.links().to[l]) / 96 == group)
        least = std::min(least, steps(from % 96, at % 96));
    }
    return least;
  };
  Rng rng(seed_or(4));
  std::set<std::uint32_t> seen;
  std::vector<LinkId> out;
  for (std::uint64_t m = 0; m < 500; ++m) {
    const auto s = static_cast<std::uint32_t>(rng.below(f.host_count()));
    const auto d = static_cast<std::uint32_t>(rng.below(f.host_count()));
    if (s / 384 == d / 384) continue;
    out.clear();
    ASSERT_TRUE(f.routing().route_message(HostId(s), HostId(d), m, {}, out));
    const auto global = std::ranges::find_if(out, is_blue);
    ASSERT_NE(global, out.end());
    const auto local = static_cast<std::uint32_t>(global - out.begin() - 1);  // the first link is the host's
    EXPECT_EQ(local, nearest(s / 4, router(f.links().to[global->index()]) / 96)) << s << " to " << d;
    seen.insert(local);
  }
  EXPECT_EQ(seen.size(), 3u);
}

// Idle, ugal-u takes of the blue cables with the fewest steps the one by the destination's number.
TEST(Aries, UgalDealsTheBestOfSeveralCablesByDestination) {
  const Platform p = load("aries:groups=2,blue=40,routing=ugal");
  const Fabric& f = p.fabric;
  const auto router = [&](VertexId v) { return v.index() - f.host_count(); };
  const auto steps = [](std::uint32_t i, std::uint32_t j) {
    return (i % 16 != j % 16 ? 1u : 0u) + (i / 16 != j / 16 ? 1u : 0u);
  };
  const auto is_blue = [&](LinkId l) { return f.links().class_names[class_of(f, l)] == "blue"; };
  const std::vector<std::uint32_t> idle(f.link_count(), 0);
  for (std::uint32_t to = 0; to < 96; ++to) {
    std::uint32_t least = 5, equal = 0;
    for (std::uint32_t l = 0; l < f.link_count(); ++l) {
      if (!is_blue(LinkId(l)) || router(f.links().from[l]) >= 96) continue;
      const std::uint32_t x = steps(0, router(f.links().from[l])) + steps(router(f.links().to[l]) % 96, to);
      equal = x < least ? 1 : equal + (x == least ? 1 : 0);
      least = std::min(least, x);
    }
    std::set<LinkId> used;
    for (std::uint32_t node = 0; node < 4; ++node) {
      std::vector<LinkId> out;
      ASSERT_TRUE(f.routing().route_message(HostId(0), HostId(384 + to * 4 + node), 0, idle, out));
      EXPECT_EQ(out.size(), least + 3) << to;
      used.insert(*std::ranges::find_if(out, is_blue));
    }
    EXPECT_EQ(used.size(), std::min(equal, 4u)) << to;
  }
}

// Between two routers of a chassis whose green cables all have 4 messages; black cables have 3 and four times the bandwidth. What
// counts is messages per bandwidth: by messages the direct cable is always best.
TEST(Aries, UgalWeighsUseByBandwidth) {
  const Platform p = load("aries:groups=1,bw=10GB/sx1GB/sx4GB/sx4GB/s,routing=ugal");
  const Fabric& f = p.fabric;
  std::vector<std::uint32_t> load(f.link_count(), 0);
  for (std::uint32_t l = 0; l < f.link_count(); ++l) {
    const std::string& name = f.links().class_names[class_of(f, LinkId(l))];
    const bool first_chassis = (f.links().from[l].index() - f.host_count()) / 16 == 0;
    load[l] = name == "black" ? 3 : (name == "green" && first_chassis ? 4 : 0);
  }
  std::uint32_t black = 0;
  for (std::uint64_t m = 0; m < 200; ++m) {
    std::vector<LinkId> out;
    ASSERT_TRUE(f.routing().route_message(HostId(0), HostId(5), m, load, out));  // routers 0 and 1
    // The direct cable: 4 messages on 1 GB/s, one hop. By black cables: 3 on 4 GB/s, three or four hops, which is less.
    if (out.size() != 3) {
      ++black;
      EXPECT_GE(count_class(f, out, "black"), 2u);
    }
  }
  EXPECT_GT(black, 20u);
}

TEST(DragonflyPlus, CountsAndMinimalRoutes) {
  const Platform p = load("dragonfly-plus:k=8");  // p = leaves = spines = h = 4, 17 groups
  const Fabric& f = p.fabric;
  EXPECT_EQ(f.host_count(), 17u * 16u);
  EXPECT_EQ(f.switch_count(), 17u * 8u);
  EXPECT_EQ(cables_by_class(f), (std::map<std::string, std::uint64_t>{
                                    {"host", 272}, {"local", 17 * 16}, {"global", 17 * 16 / 2}}));
  const VerifyReport r = verify(f);
  EXPECT_EQ(r.switch_degree_min, 8u);
  EXPECT_EQ(r.switch_degree_max, 8u);
  EXPECT_EQ(*measure(f).router_diameter_hops, 3u);
  expect_sound(f);
  expect_routes_are_shortest(f);  // here two global cables are never shorter
  expect_closed_form_equals_walks(f);
  // Spine x meets spine S - 1 - x.
  for (std::size_t l = 0; l < f.links().size(); ++l) {
    if (f.links().class_names[f.links().link_class[l]] != "global") continue;
    const std::uint32_t a = (f.links().from[l].index() - 272) % 8 - 4,
                        b = (f.links().to[l].index() - 272) % 8 - 4;
    EXPECT_EQ(a + b, 3u);
  }
}

TEST(DragonflyPlus, FewerGroupsSpreadTheirCables) {
  // JUPITER's shape: 27 groups of 15 leaves and 16 spines, 240 nodes; global ports are not published.
  const Platform p = load("dragonfly-plus:p=16,leaves=15,spines=16,h=13,g=27");
  EXPECT_EQ(p.fabric.host_count(), 27u * 240u);
  EXPECT_EQ(cables_by_class(p.fabric).at("global"), 27u * 26u / 2 * 8);
  expect_sound(p.fabric, 20000);
  expect_closed_form_equals_walks(load("dragonfly-plus:p=2,leaves=3,spines=2,h=3,g=3").fabric);
}

TEST(DragonflyPlus, ValiantRoutesCrossNoSwitchTwice) {
  for (const char* spec : {"dragonfly-plus:k=4,routing=valiant",
                           "dragonfly-plus:p=2,leaves=3,spines=2,h=3,g=3,routing=valiant"}) {
    const Platform p = load(spec);
    const Fabric& f = p.fabric;
    std::size_t longest = 0;
    for (std::uint32_t s = 0; s < f.host_count(); ++s)
      for (std::uint32_t d = 0; d < f.host_count(); ++d)
        for (std::uint64_t m = 0; m < 8 && s != d; ++m) {
          std::vector<LinkId> out;
          ASSERT_TRUE(f.routing().route_message(HostId(s), HostId(d), m, {}, out));
          ASSERT_TRUE(is_simple(f, s, d, out)) << s << " to " << d << " on " << spec;
          longest = std::max(longest, out.size());
        }
    EXPECT_GT(longest, 5u);
  }
}

TEST(Dragonfly, ValiantGoesOverAThirdGroupAndIsSeeded) {
  const Platform p = load("dragonfly:p=2,routing=valiant"), q = load("dragonfly:p=2,routing=valiant,seed=7");
  const Fabric& f = p.fabric;
  EXPECT_EQ(f.routing().scope(), RouteScope::kMessage);
  std::vector<LinkId> out, again, other;
  std::size_t differ = 0;
  std::set<std::string> middle;
  for (std::uint64_t m = 0; m < 500; ++m) {
    out.clear();
    again.clear();
    other.clear();
    ASSERT_TRUE(f.routing().route_message(HostId(0), HostId(70), m, {}, out));
    ASSERT_TRUE(f.routing().route_message(HostId(0), HostId(70), m, {}, again));
    ASSERT_TRUE(q.fabric.routing().route_message(HostId(0), HostId(70), m, {}, other));
    EXPECT_EQ(out, again);
    differ += out != other ? 1 : 0;
    EXPECT_TRUE(is_simple(f, 0, 70, out));
    EXPECT_EQ(count_class(f, out, "global"), 2u);
    EXPECT_LE(count_class(f, out, "local"), 3u);
    for (std::size_t i = 0; i + 1 < out.size(); ++i) {
      const std::uint32_t v = f.links().to[out[i].index()].index();
      middle.insert(std::to_string((v - 72) / 4));
    }
  }
  EXPECT_GT(differ, 300u);
  EXPECT_EQ(middle.size(), 9u);  // every group is drawn
}

TEST(Dragonfly, UgalUIsMinimalWhenIdleAndLeavesABusyCable) {
  const Platform p = load("dragonfly:p=2,routing=ugal"), min = load("dragonfly:p=2");
  const Fabric& f = p.fabric;
  EXPECT_EQ(f.routing().name(), "ugal-u");
  EXPECT_EQ(f.routing().scope(), RouteScope::kLoad);
  std::vector<std::uint32_t> load(f.link_count(), 0);
  for (std::uint32_t d = 1; d < 72; ++d) {
    std::vector<LinkId> out;
    ASSERT_TRUE(f.routing().route_message(HostId(0), HostId(d), d, load, out));
    EXPECT_EQ(out, route_of(min.fabric, 0, d));
  }
  // All of group 0 sends to group 1: one minimal cable, which fills, then detours.
  std::uint32_t direct = 0, detour = 0;
  for (std::uint64_t m = 0; m < 64; ++m) {
    std::vector<LinkId> out;
    ASSERT_TRUE(f.routing().route_message(HostId(static_cast<std::uint32_t>(m % 8)),
                                          HostId(static_cast<std::uint32_t>(8 + m % 8)), m, load, out));
    (count_class(f, out, "global") == 1 ? direct : detour) += 1;
    for (const LinkId l : out) ++load[l.index()];
  }
  EXPECT_GT(direct, 4u);
  EXPECT_GT(detour, 32u);
}

TEST(Dragonfly, MinimalAndValiantHaveNoCycleOfVirtualChannels) {
  // One channel more after each global cable and each router of an intermediate group, as Kim et al. count them.
  struct Row {
    std::string spec;
    std::uint32_t channels;
  };
  for (const Row& r : std::vector<Row>{{"dragonfly:p=1,a=4,h=2", 2},
                                       {"dragonfly:p=1,a=4,h=2,g=5", 2},
                                       {"dragonfly:p=2,arrangement=palmtree", 2},
                                       {"dragonfly-plus:k=4", 2},
                                       {"dragonfly:p=1,a=4,h=2,routing=valiant", 3}}) {
    const Platform p = load(r.spec);
    const Fabric& f = p.fabric;
    const auto vc = [&](std::span<const LinkId> before) { return count_class(f, before, "global"); };
    if (r.channels == 2) {
      EXPECT_TRUE(channels_are_acyclic(f, 2, vc)) << r.spec;
    } else {
      // Within a group Valiant takes two local steps: they need a channel each.
      EXPECT_TRUE(channels_are_acyclic(f, 6, [&](std::span<const LinkId> before) {
        return static_cast<std::uint32_t>(before.empty() ? 0 : before.size() - 1);
      })) << r.spec;
    }
  }
  EXPECT_FALSE(channels_are_acyclic(load("dragonfly:p=1,a=4,h=2").fabric));  // one channel is not enough
}

TEST(Groups, BadParametersAreNamed) {
  EXPECT_THAT(error_of("aries:groups=962"), HasSubstr("961"));
  EXPECT_THAT(error_of("aries:groups=241,blue=5"), HasSubstr("from 1 to 4"));
  EXPECT_THAT(error_of("aries:"), HasSubstr("key groups is missing"));
  EXPECT_THAT(error_of("aries:groups=2,routing=min"), HasSubstr("one of minimal, valiant, ugal-u"));
  EXPECT_THAT(error_of("dragonfly-plus:k=7"), HasSubstr("even"));
  EXPECT_THAT(error_of("dragonfly-plus:p=4"), HasSubstr("key leaves is missing"));
  EXPECT_THAT(error_of("dragonfly-plus:k=4,g=6"), HasSubstr("from 1 to 5"));
  EXPECT_THAT(error_of("dragonfly-plus:k=1048576"), HasSubstr("the network is too large"));
}

}  // namespace
}  // namespace weft::topology
