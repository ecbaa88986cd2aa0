#include "tests/topology/oracles.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

TEST(Xgft, CountsOfRealTwoLevelSystems) {
  struct Row {
    std::string spec;
    std::uint64_t hosts, switches, up;
    double oversubscription;
  };
  for (const Row& r : std::vector<Row>{
           {"h=2,m=44x182,w=1x6,p=1x3,bw=100Gbpsx200Gbps", 8008, 188, 3276, 1.2222222},
           {"h=2,m=18x556,w=1x18", 10008, 574, 10008, 1.0},
           {"h=2,m=20x320,w=1x8,p=1x2", 6400, 328, 5120, 1.25},
       }) {
    const Platform p = load("xgft:" + r.spec);
    const Fabric& f = p.fabric;
    EXPECT_EQ(f.host_count(), r.hosts);
    EXPECT_EQ(f.switch_count(), r.switches);
    const auto classes = summarize_classes(f);
    EXPECT_EQ(classes[0].links / 2, r.hosts);
    EXPECT_EQ(classes[1].links / 2, r.up);
    EXPECT_NEAR(static_cast<double>(r.hosts) * *classes[0].bandwidth_Bps /
                    (static_cast<double>(r.up) * *classes[1].bandwidth_Bps),
                r.oversubscription, 1e-6);
    expect_sound(f, 20000);
  }
}

TEST(Xgft, FronteraUpPortsFollowDModK) {
  const Platform p = load("xgft:h=2,m=44x182,w=1x6,p=1x3,bw=100Gbpsx200Gbps");
  const Fabric& f = p.fabric;
  // destination -> core, cable; from a source in another leaf.
  const auto up_link = [&](std::uint32_t dst) { return f.link_name(route_of(f, 4000, dst)[1]); };
  EXPECT_EQ(up_link(5), "switch-1-90->switch-2-5#0");
  EXPECT_EQ(up_link(17), "switch-1-90->switch-2-5#2");
  EXPECT_EQ(up_link(18), "switch-1-90->switch-2-0#0");
  const auto far = route_of(f, 0, 8007);
  EXPECT_EQ(f.link_name(far[1]), "switch-1-0->switch-2-3#2");
  EXPECT_EQ(f.link_name(far[2]), "switch-2-3->switch-1-181#2");
  EXPECT_EQ(f.vertex_name(f.links().from[far[3].index()]), "switch-1-181");
  // 44 = 2 x 18 + 8 destinations of a leaf: two or three on each of its 18 cables.
  std::map<std::uint32_t, int> load;
  for (std::uint32_t d = 0; d < 44; ++d) ++load[route_of(f, 4000, d)[2].index()];
  EXPECT_EQ(load.size(), 18u);
  for (const auto& [link, n] : load) EXPECT_TRUE(n == 2 || n == 3);
  // 40.95 TB/s per direction at bisection.
  EXPECT_DOUBLE_EQ(static_cast<double>(*f.bisection_cables()) * 25e9, 40.95e12);
}

TEST(Xgft, DModKOnFullBisectionTreesHasOneDestinationPerDownCableAndShiftLoadOne) {
  for (const std::string spec : {"m=2x2x4,w=1x2x2", "m=4x8,w=1x4", "m=4x6,w=1x2,p=1x2", "m=3x3x4,w=1x3x3"}) {
    const Platform p = load("xgft:" + spec);
    const Fabric& f = p.fabric;
    std::map<std::uint32_t, std::set<std::uint32_t>> destinations;
    for (std::uint32_t s = 0; s < f.host_count(); ++s)
      for (std::uint32_t d = 0; d < f.host_count(); ++d) {
        const auto r = route_of(f, s, d);
        for (std::size_t i = r.size() / 2; i < r.size(); ++i) destinations[r[i].index()].insert(d);
      }
    for (const auto& [link, set] : destinations) EXPECT_EQ(set.size(), 1u) << spec;
    for (std::uint32_t shift = 1; shift < f.host_count(); ++shift)
      ASSERT_EQ(worst_shift_load(f, shift), 1u) << spec;
  }
}

TEST(Xgft, SpecialCasesHaveTheCountsOfTheirFamilies) {
  // FT(m, n) = XGFT(n; k..k,2k; 1,k..k).
  const Platform ft = load("fat-tree:m=8,n=3,routing=d-mod-k"), x = load("xgft:h=3,m=4x4x8,w=1x4x4");
  EXPECT_EQ(ft.fabric.host_count(), x.fabric.host_count());
  EXPECT_EQ(ft.fabric.switch_count(), x.fabric.switch_count());
  EXPECT_EQ(ft.fabric.cable_count(), x.fabric.cable_count());
  EXPECT_EQ(ft.fabric.routing().hop_histogram()->pairs, x.fabric.routing().hop_histogram()->pairs);
  EXPECT_EQ(ft.fabric.bisection_cables(), x.fabric.bisection_cables());
  // 4-ary 3-tree: 64 hosts, 48 switches, 64 links per level.
  const Platform t = load("xgft:h=3,m=4x4x4,w=1x4x4");
  EXPECT_EQ(t.fabric.host_count(), 64u);
  EXPECT_EQ(t.fabric.switch_count(), 48u);
  for (const ClassSummary& c : summarize_classes(t.fabric)) EXPECT_EQ(c.links / 2, 64u);
}

TEST(Xgft, SameShapeAsAnMPortTreeGivesTheSameLinkLoads) {
  // Two independent implementations: the multiset of link loads of all-pairs D-mod-K must agree.
  const Platform a = load("fat-tree:m=8,n=3,routing=d-mod-k"), b = load("xgft:h=3,m=4x4x8,w=1x4x4");
  const auto loads = [](const Fabric& f) {
    std::vector<std::uint32_t> load(f.link_count(), 0);
    for (std::uint32_t s = 0; s < f.host_count(); ++s)
      for (std::uint32_t d = 0; d < f.host_count(); ++d)
        for (LinkId l : route_of(f, s, d)) ++load[l.index()];
    std::sort(load.begin(), load.end());
    return load;
  };
  EXPECT_EQ(loads(a.fabric), loads(b.fabric));
}

TEST(Xgft, RandomShapesAreSoundShortestAndNeverGoUpAfterDown) {
  const std::uint64_t seed = seed_or(20260);
  Rng rng(seed);
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t h = 1 + rng.below(3);
    std::string m, w, p;
    for (std::uint64_t i = 0; i < h; ++i) {
      const std::string sep = i == 0 ? "" : "x";
      m += sep + std::to_string(1 + rng.below(4));
      w += sep + std::to_string(1 + rng.below(3));
      p += sep + std::to_string(1 + rng.below(3));
    }
    const std::string spec =
        "xgft:m=" + m + ",w=" + w + ",p=" + p + (rng.below(2) == 0 ? ",routing=s-mod-k" : "");
    SCOPED_TRACE(spec + " seed " + std::to_string(seed));
    const Platform platform = load(spec);
    const Fabric& f = platform.fabric;
    if (f.host_count() < 2) continue;
    expect_sound(f);
    expect_routes_are_shortest(f);
    expect_closed_form_equals_walks(f);
  }
}

TEST(Xgft, BadParametersAreNamed) {
  EXPECT_THAT(error_of("xgft:h=2,m=4x4x4,w=1x4"),
              HasSubstr("m has 3 values; got \"4x4x4\"; expected 2 numbers"));
  EXPECT_THAT(error_of("xgft:h=2,m=4x4,w=1"), HasSubstr("w has 1 values"));
  EXPECT_THAT(error_of("xgft:h=2,m=4x,w=1x1"), HasSubstr("m lacks a number beside an x; got \"4x\""));
  EXPECT_THAT(error_of("xgft:m=100000x100000x100000,w=1x1x1"), HasSubstr("the network is too large"));
  EXPECT_THAT(error_of("xgft:m=2x2,w=16777216x16777216,p=16777216x16777216"),
              HasSubstr("the network is too large"));
  EXPECT_THAT(error_of("xgft:h=17,m=2,w=1"), HasSubstr("from 1 to 16"));
  EXPECT_THAT(error_of("xgft:m=0x4,w=1x1"), HasSubstr("from 1 to"));
}

}  // namespace
}  // namespace weft::topology
