// Flows that crowd one route go as a bundle (network/bundles.hpp): nobody outside may see it.
#include "network/network.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace weft::network {
namespace {

// 200 equal flows of one route, started together: all end at once, in the order in which they were started, each counted.
TEST(Network, FlowsOfABundleEndInTheOrderOfTheirStart) {
  constexpr std::uint32_t kFlows = 200;
  static_assert(kFlows > Bundles::kCrowded + 50);
  const std::vector<double> capacity{1e9};
  const LinkId route[] = {LinkId(0)};
  auto model = congestion::make_sharing_model("max-min", capacity);
  ASSERT_TRUE(model);
  Network net(capacity, std::move(*model));
  const Instant start;
  std::uint64_t sequence = 0;
  for (std::uint32_t i = 0; i < kFlows; ++i)
    net.start(route, 1, std::numeric_limits<double>::infinity(), 1e9, 1'000'000, i, start, sequence);
  EXPECT_EQ(net.flows_started(), kFlows);
  std::vector<std::uint32_t> bundled;  // owners of the flows beyond those that came before the crowd
  net.settle(start, sequence);
  unsigned instants = 0;
  while (!net.idle()) {
    const Instant now = net.next_completion().time;
    EXPECT_EQ(now.rounded(), SimTime(Duration(200'000'000'000)));  // 200 MB over 1 GB/s
    while (!net.idle() && net.next_completion().time == now) {
      const std::uint32_t owner = net.finish_top(now);
      if (owner >= Bundles::kCrowdedLink) bundled.push_back(owner);
    }
    if (net.dirty()) net.settle(now, sequence);
    ++instants;
  }
  EXPECT_EQ(instants, 1u);  // all members that end now do so before the network is solved again
  std::vector<std::uint32_t> in_order;
  for (std::uint32_t i = Bundles::kCrowdedLink; i < kFlows; ++i) in_order.push_back(i);
  EXPECT_EQ(bundled, in_order);
}

// A link that still carries a flow when the run ends was busy until then.
TEST(Network, ALinkIsBusyWhileItsFlowIsUnderWay) {
  const std::vector<double> capacity{1e9, 1e9};
  const LinkId route[] = {LinkId(0)};
  auto model = congestion::make_sharing_model("max-min", capacity);
  ASSERT_TRUE(model);
  Network net(capacity, std::move(*model));
  const Instant start = Instant() + Elapsed(Duration(3'000'000));
  std::uint64_t sequence = 0;
  net.start(route, 1, std::numeric_limits<double>::infinity(), 1e9, 1'000'000, 0, start, sequence);
  EXPECT_FALSE(net.dirty());  // it has its link to itself: its end is known
  EXPECT_EQ(net.next_time(), start + Elapsed(Duration(1'000'000'000)));
  const auto use = net.link_use(start + Elapsed(Duration(5'000'000)));
  EXPECT_EQ(use[0].busy, Duration(5'000'000));
  EXPECT_EQ(use[0].bytes, 1'000'000u);
  EXPECT_EQ(use[0].peak_flows, 1u);
  EXPECT_EQ(use[1].busy, Duration(0));
}

}  // namespace
}  // namespace weft::network
