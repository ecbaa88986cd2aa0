// Several network cards per host.
#include "tests/topology/oracles.hpp"

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

TEST(MultiNic, BadNumbersAreNamedAndFailuresStillApply) {
  EXPECT_THAT(error_of("crossbar:n=6,nics=4"), HasSubstr("6 endpoints do not make whole hosts"));
  EXPECT_THAT(error_of("torus:dims=4,host_links=off,nics=2"), HasSubstr("no cable of their own"));
  EXPECT_THAT(error_of("crossbar:n=6,nic=first"), HasSubstr("one of pair, message, adaptive"));
  const Platform p = load("xgft:m=4x4,w=1x2,nics=2", {"fail=link=node-0->switch-1-0#1"});
  expect_sound(p.fabric);  // the other card is still there
  EXPECT_EQ(verify(p.fabric).host_degree_min, 1u);
}

}  // namespace
}  // namespace weft::topology
