// Hashed, random and adaptive up paths of trees; several cards per host; k-ary n-trees.
#include "tests/topology/oracles.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

TEST(TreeRouting, DrawnRoutesAreShortestSimpleAndUpThenDown) {
  for (const std::string tree :
       {"fat-tree:m=4,n=3", "fat-tree:m=6,n=2", "xgft:m=3x2x4,w=1x2x3,p=1x2x1", "xgft:m=4x4,w=2x3"})
    for (const std::string routing : {"hashed", "random", "adaptive"}) {
      SCOPED_TRACE(tree + " " + routing);
      const Platform p = load(tree + ",routing=" + routing);
      expect_sound(p.fabric);
      expect_routes_are_shortest(p.fabric);
      expect_closed_form_equals_walks(p.fabric);
      EXPECT_TRUE(channels_are_acyclic(p.fabric));
    }
}

TEST(TreeRouting, FormulasHaveNoCycleOfChannels) {
  for (const std::string spec :
       {"fat-tree:m=4,n=3", "fat-tree:m=4,n=3,routing=d-mod-k", "fat-tree:m=4,n=3,routing=s-mod-k",
        "xgft:m=3x2x4,w=1x2x3,p=1x2x1", "xgft:m=4x4,w=2x3,routing=s-mod-k"})
    EXPECT_TRUE(channels_are_acyclic(load(spec).fabric)) << spec;
}

TEST(TreeRouting, RandomSpreadsMessagesOfOnePairAndHashedKeepsThem) {
  for (const std::string tree : {"fat-tree:m=8,n=2", "xgft:m=4x8,w=1x4"}) {
    const Platform r = load(tree + ",routing=random"), h = load(tree + ",routing=hashed"),
                   s = load(tree + ",routing=random,seed=9");
    EXPECT_EQ(r.fabric.routing().scope(), RouteScope::kMessage);
    EXPECT_EQ(h.fabric.routing().scope(), RouteScope::kPair);
    std::map<LinkId, int> up;
    int differ = 0;
    std::vector<LinkId> a, b;
    for (std::uint64_t m = 0; m < 4000; ++m) {
      a.clear();
      b.clear();
      ASSERT_TRUE(r.fabric.routing().route_message(HostId(0), HostId(30), m, {}, a));
      ASSERT_TRUE(s.fabric.routing().route_message(HostId(0), HostId(30), m, {}, b));
      ++up[a[1]];
      differ += a != b ? 1 : 0;
    }
    ASSERT_EQ(up.size(), 4u);
    for (const auto& [link, n] : up) EXPECT_NEAR(n, 1000, 150);  // 5 standard deviations
    EXPECT_NEAR(differ, 3000, 150);
    std::set<LinkId> pairs;
    for (std::uint32_t d = 4; d < 32; ++d) pairs.insert(route_of(h.fabric, 0, d)[1]);
    EXPECT_EQ(pairs.size(), 4u);
  }
}

TEST(TreeRouting, AdaptiveDealsEqualMessagesEvenly) {
  for (const std::string tree : {"fat-tree:m=8,n=2", "xgft:m=4x8,w=1x2,p=1x2"}) {
    const Platform p = load(tree + ",routing=adaptive");
    std::vector<std::uint32_t> load(p.fabric.link_count(), 0);
    std::uint32_t worst = 0;
    std::vector<LinkId> out;
    for (std::uint64_t m = 0; m < 16; ++m) {
      out.clear();
      ASSERT_TRUE(p.fabric.routing().route_message(HostId(m % 4), HostId(static_cast<std::uint32_t>(8 + m)),
                                                   m, load, out));
      for (const LinkId l : out) ++load[l.index()];
      worst = std::max(worst, load[out[1].index()]);
    }
    EXPECT_EQ(worst, 4u) << tree;  // sixteen messages over four up links
  }
}

TEST(TreeRouting, AHostWithTwoCardsDealsDestinationsOverThem) {
  // Two rails: every host has a cable to two leaves of its group.
  const Platform p = load("xgft:m=4x4,w=2x2");
  EXPECT_EQ(p.fabric.host_count(), 16u);
  EXPECT_EQ(verify(p.fabric).host_degree_max, 2u);
  std::set<LinkId> cards;
  for (std::uint32_t d = 1; d < 16; ++d) cards.insert(route_of(p.fabric, 0, d)[0]);
  EXPECT_EQ(cards.size(), 2u);
}

TEST(TreeRouting, AKaryNTreeIsItsXgft) {
  const Platform a = load("xgft:k=4,n=3"), b = load("xgft:h=3,m=4x4x4,w=1x4x4");
  EXPECT_EQ(a.fabric.host_count(), 64u);
  EXPECT_EQ(a.fabric.switch_count(), 48u);
  for (std::uint32_t s = 0; s < 64; s += 5)
    for (std::uint32_t d = 0; d < 64; ++d) EXPECT_EQ(route_of(a.fabric, s, d), route_of(b.fabric, s, d));
  EXPECT_THAT(error_of("xgft:k=4,n=3,m=2x2"), HasSubstr("one or the other"));
  EXPECT_THAT(error_of("xgft:k=4"), HasSubstr("key n is missing"));
}

TEST(TreeRouting, TaperIsWeighedBySpeed) {
  // Frontera: 44 hosts of 100 Gb/s share 18 up cables of 200 Gb/s: 1.222, not 2.44.
  const Platform p = load("xgft:m=44x182,w=1x6,p=1x3,bw=100Gbpsx200Gbps");
  double host = 0, up = 0;
  for (const ClassSummary& c : summarize_classes(p.fabric))
    (c.name == "host" ? host : up) = *c.bandwidth_Bps * static_cast<double>(c.links) / 2;
  EXPECT_NEAR(host / up, 1.2222, 1e-4);
  EXPECT_NEAR(up / 2, 40.95e12, 1e6);  // at bisection, per direction: half of the leaves' up cables
}

}  // namespace
}  // namespace weft::topology
