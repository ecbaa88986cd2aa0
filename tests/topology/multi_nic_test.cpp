// Several network cards per host.
#include "tests/topology/oracles.hpp"
#include "topology/metrics.hpp"
#include "topology/routing/message_routes.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

TEST(MultiNic, NeighbouringEndpointsBecomeOneHostOnRails) {
  const Platform p = load("dragonfly:p=4,a=4,h=2,nics=4");  // Frontier's way: four cards a node
  const Fabric& f = p.fabric;
  EXPECT_EQ(f.host_count(), 36u);
  EXPECT_EQ(f.switch_count(), 36u);
  EXPECT_EQ(f.cable_count(), load("dragonfly:p=4,a=4,h=2").fabric.cable_count());
  EXPECT_EQ(verify(f).host_degree_min, 4u);
  expect_sound(f);
  std::set<LinkId> first;
  for (std::uint32_t d = 1; d < 36; ++d) first.insert(route_of(f, 0, d)[0]);
  EXPECT_EQ(first.size(), 4u);
}

TEST(MultiNic, MessagesTakeTurnsOrTheLeastUsedCard) {
  const Platform m = load("xgft:m=8x4,w=1x2,nics=4,nic=message"),
                 a = load("xgft:m=8x4,w=1x2,nics=4,nic=adaptive");
  EXPECT_EQ(m.fabric.routing().scope(), RouteScope::kMessage);
  EXPECT_EQ(a.fabric.routing().scope(), RouteScope::kLoad);
  std::vector<std::uint32_t> load(a.fabric.link_count(), 0);
  std::map<LinkId, int> turn, least;
  for (std::uint64_t i = 0; i < 16; ++i) {
    std::vector<LinkId> out;
    ASSERT_TRUE(m.fabric.routing().route_message(HostId(0), HostId(5), i, {}, out));
    ++turn[out[0]];
    out.clear();
    ASSERT_TRUE(a.fabric.routing().route_message(HostId(0), HostId(5), i, load, out));
    ++least[out[0]];
    for (const LinkId l : out) ++load[l.index()];
  }
  for (const auto& [link, n] : turn) EXPECT_EQ(n, 4);
  for (const auto& [link, n] : least) EXPECT_EQ(n, 4);
  EXPECT_EQ(turn.size(), 4u);
  EXPECT_EQ(least.size(), 4u);
  expect_sound(a.fabric);
}

// Whatever others do between them: here each of 8 hosts sends to its neighbour, all in turn, ten times.
TEST(MultiNic, TheMessagesOfAHostTakeTurns) {
  // No message goes by that spine.
  const std::vector<std::string> broken = {"fail=link=switch-1-0->switch-2-3"};
  for (const auto& failures : {std::vector<std::string>(), broken}) {
    const Platform p = load("xgft:m=4x4,w=1x4,nics=2,nic=message", failures);
    MessageRoutes routes(p.fabric);
    std::map<LinkId, int> out_of, into;
    for (int round = 0; round < 10; ++round)
      for (std::uint32_t h = 0; h < 8; ++h) {
        std::vector<LinkId> links;
        ASSERT_TRUE(routes.choose(HostId(h), HostId((h + 1) % 8), links));
        ++out_of[links.front()];
        ++into[links.back()];
      }
    EXPECT_EQ(out_of.size(), 16u);
    EXPECT_EQ(into.size(), 16u);
    for (const auto* cables : {&out_of, &into})
      for (const auto& [link, messages] : *cables) EXPECT_EQ(messages, 5) << p.fabric.link_name(link);
  }
}

// The turns are those of the node's card, not of each GPU; messages within the node take none.
TEST(MultiNic, TheMessagesOfANodeTakeTurnsWhicheverGpuSends) {
  const Platform p = load("xgft:m=4x4,w=1x4,nics=2,nic=message,node=\"pcie:tree=rc(4*gpu nic)\"");
  const Fabric& f = p.fabric;
  ASSERT_EQ(f.rank_hosts(), 32u);
  using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  const auto cables = [&](const Pairs& pairs) {
    MessageRoutes routes(f);
    std::vector<std::string> out;
    for (const auto& [src, dst] : pairs) {
      std::vector<LinkId> links;
      EXPECT_TRUE(routes.choose(HostId(src), HostId(dst), links));
      for (const LinkId l : links)
        if (f.link_name(l).starts_with("node0.nic0->switch")) out.push_back(f.link_name(l));
    }
    return out;
  };
  const std::vector<std::string> in_turn = {"node0.nic0->switch-1-0#0", "node0.nic0->switch-1-0#1",
                                            "node0.nic0->switch-1-0#0", "node0.nic0->switch-1-0#1"};
  EXPECT_EQ(cables({{0, 8}, {1, 9}, {2, 10}, {3, 11}}), in_turn);
  EXPECT_EQ(cables({{0, 1}, {0, 8}, {0, 1}, {0, 9}, {2, 1}, {0, 10}, {0, 1}, {0, 11}}), in_turn);
}

// Of two cards of a node one is left: its turns are those of all GPUs, wherever they would have gone by.
TEST(MultiNic, TheTurnsAreThoseOfTheCardThatIsLeft) {
  const Platform p = load("xgft:m=8x4,w=1x4,nics=2,nic=message,node=\"pcie:tree=rc(4*gpu 2*nic)\"",
                          {"fail=link=node0.nic0->switch-1-0#0;link=node0.nic0->switch-1-0#1"});
  const Fabric& f = p.fabric;
  MessageRoutes routes(f);
  for (std::uint32_t i = 0; i < 12; ++i) {
    std::vector<LinkId> links;
    ASSERT_TRUE(routes.choose(HostId(i % 4), HostId(8 + i), links));
    EXPECT_EQ(f.link_name(links[2]), fmt::format("node0.nic1->switch-1-0#{}", i % 2)) << i;
  }
}

// Cards with a cable to each of two leaves, and with two cables to one: messages on any of them count.
TEST(MultiNic, TheLeastUsedCardIsThatOfAllItsCables) {
  for (const char* tree : {"w=2x2", "w=1x2,p=2x1", "w=2x2,p=2x1"}) {
    const Platform p = load(std::string("xgft:m=4x4,nics=2,nic=adaptive,") + tree);
    const Fabric& f = p.fabric;
    for (std::uint32_t to = 1; to < 8; ++to) {
      MessageRoutes routes(f);
      std::map<bool, int> by_card;  // links of card 1 come behind those of card 0
      for (int i = 0; i < 4; ++i) {
        std::vector<LinkId> links;
        ASSERT_TRUE(routes.choose(HostId(0), HostId(to), links));
        ++by_card[links.front().index() - f.first_link(VertexId(0)) >= f.degree(VertexId(0)) / 2];
      }
      EXPECT_EQ(by_card[false], 2) << tree << " to " << to;
    }
  }
}

TEST(MultiNic, BadNumbersAreNamedAndFailuresStillApply) {
  EXPECT_THAT(error_of("crossbar:n=6,nics=4"), HasSubstr("6 endpoints do not make whole hosts"));
  EXPECT_THAT(error_of("torus:dims=4,host_links=off,nics=2"), HasSubstr("no cable of their own"));
  EXPECT_THAT(error_of("crossbar:n=6,nic=first"), HasSubstr("one of pair, message, adaptive"));
  EXPECT_THAT(error_of("rail:nodes=2,rails=3,nics=2"), HasSubstr("in two nodes"));
  expect_sound(load("rail:nodes=2,rails=3,nics=2,nvlink=off").fabric);
  expect_sound(load("rail:nodes=2,rails=4,nics=2,pxn=on").fabric);
  const Platform p = load("xgft:m=4x4,w=1x2,nics=2", {"fail=link=node-0->switch-1-0#1"});
  expect_sound(p.fabric);  // the other card is still there
  EXPECT_EQ(verify(p.fabric).host_degree_min, 1u);
}

// There is no formula for them: all routes are walked, if they have few enough links together.
TEST(MultiNic, DistancesAreWalked) {
  const Platform p = load("crossbar:n=12,nics=2");
  constexpr std::uint64_t kPairs = 6 * 5;
  EXPECT_EQ(measure(p.fabric, kPairs, 12 * kPairs).mean_hops, 2.0);
  EXPECT_FALSE(measure(p.fabric, kPairs, kPairs).mean_hops);
  EXPECT_FALSE(measure(p.fabric, kPairs - 1).mean_hops);
}

}  // namespace
}  // namespace weft::topology
