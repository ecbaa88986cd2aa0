#include "congestion/flow_table.hpp"
#include "core/containers/id_stack.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "core/rng.hpp"
#include "tests/congestion/checks.hpp"

namespace weft::congestion {
namespace {

using problems::base_seed;

constexpr std::uint32_t kLinks = 24;

std::vector<LinkId> random_route(Rng& rng) {
  std::vector<std::uint32_t> all(kLinks);
  std::iota(all.begin(), all.end(), 0u);
  std::vector<LinkId> route(1 + rng.below(12));
  for (std::size_t i = 0; i < route.size(); ++i) {
    std::swap(all[i], all[i + rng.below(kLinks - i)]);
    route[i] = LinkId(all[i]);
  }
  return route;
}

// Against a map of routes: what the table says of each flow and link, and what it says on the way.
TEST(FlowTable, RoutesComeAndGoAsInAMapOfThem) {
  const std::uint64_t seed = base_seed(20261123);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng(seed);
  FlowTable table(kLinks);
  std::map<std::uint32_t, std::vector<LinkId>> flows;
  std::vector<std::uint32_t> count(kLinks);
  std::vector<std::uint32_t> freed;
  for (int step = 0; step < 4000; ++step) {
    // Grows for a while, then shrinks to nothing.
    const bool grow = flows.empty() || rng.below(1000) < (step % 1000 < 500 ? 700u : 250u);
    std::vector<LinkId> heard;
    if (grow) {
      const std::vector<LinkId> route = random_route(rng);
      const std::uint32_t promised = table.next();
      const std::uint32_t expected = freed.empty() ? static_cast<std::uint32_t>(flows.size()) : freed.back();
      if (!freed.empty()) freed.pop_back();
      const std::uint32_t flow =
          table.add(route, 1, 2, [&](std::uint32_t hop, std::uint32_t link, std::uint32_t now) {
            EXPECT_EQ(hop, heard.size());
            EXPECT_EQ(now, ++count[link]);
            EXPECT_EQ(table.flows_on(link).size(), now);
            EXPECT_EQ(table.flows_on(link).back().flow, promised);
            heard.emplace_back(link);
          });
      ASSERT_EQ(flow, promised);
      ASSERT_EQ(flow, expected);
      ASSERT_EQ(heard, route);
      ASSERT_TRUE(flows.emplace(flow, route).second);
    } else {
      const auto gone = std::next(flows.begin(), static_cast<std::ptrdiff_t>(rng.below(flows.size())));
      table.remove(gone->first, [&](std::uint32_t link, std::uint32_t left) {
        EXPECT_EQ(left, --count[link]);
        heard.emplace_back(link);
      });
      ASSERT_EQ(heard, gone->second);
      freed.push_back(gone->first);
      flows.erase(gone);
    }
    ASSERT_EQ(table.active(), flows.size());
    if (step % 16 != 0) continue;
    std::vector<std::vector<std::uint32_t>> on(kLinks);
    for (const auto& [flow, route] : flows) {
      ASSERT_TRUE(table.alive(flow));
      ASSERT_TRUE(std::ranges::equal(table.route(flow), route));
      for (const LinkId link : route) on[link.index()].push_back(flow);
    }
    for (std::uint32_t link = 0; link < kLinks; ++link) {
      std::vector<std::uint32_t> there;
      for (const FlowTable::Entry e : table.flows_on(link)) there.push_back(e.flow);
      std::sort(there.begin(), there.end());
      ASSERT_EQ(there, on[link]) << "link " << link;
    }
  }
  EXPECT_EQ(table.weighted(), 0u);
  EXPECT_EQ(table.limited(), flows.size());
}

TEST(FlowTable, AFreeIdKeepsRoomForTheNextRoute) {
  FlowTable table(3);
  const std::vector<LinkId> route{LinkId(0), LinkId(2)};
  const std::uint32_t flow = table.add(route, 1, 1);
  const LinkId* const where = table.route(flow).data();
  for (int i = 0; i < 100; ++i) {
    table.remove(flow);
    EXPECT_FALSE(table.alive(flow));
    ASSERT_EQ(table.add(std::span(route).first(1 + i % 2), 1, 1), flow);
    EXPECT_EQ(table.route(flow).data(), where);
  }
}

// One that has its links to itself is on them, but is none of the table until its rest has entered.
TEST(FlowTable, AFlowAloneIsOnItsLinksAndNotCounted) {
  const std::vector<double> capacity{10, 20, 30, 40};
  FlowTable table(capacity);
  const std::vector<LinkId> route{LinkId(0), LinkId(1), LinkId(2)};
  const auto nobody = [](std::uint32_t, std::uint32_t) {};
  const std::uint32_t gone = table.take(route.size(), 2, 1);
  table.enter_alone(gone, route, nobody);
  EXPECT_FALSE(table.alive(gone));
  EXPECT_EQ(table.active(), 0u);
  EXPECT_EQ(table.weighted(), 0u);
  for (const LinkId l : route) EXPECT_EQ(table.flows_on(l.index()).front().flow, gone);
  for (const LinkId l : route) table.leave_alone(l);
  table.give_back(gone);
  for (const LinkId l : route) EXPECT_EQ(table.count_on(l.index()), 0u);

  const std::uint32_t first = table.take(route.size(), 2, 1);
  ASSERT_EQ(first, gone);
  std::vector<std::uint32_t> heard;
  table.enter_alone(first, route, [&](std::uint32_t hop, std::uint32_t link) {
    EXPECT_EQ(hop, heard.size());
    heard.push_back(link);
  });
  EXPECT_EQ(heard, (std::vector<std::uint32_t>{0, 1, 2}));
  table.enter_rest(first, route);
  EXPECT_TRUE(table.alive(first));
  EXPECT_EQ(table.active(), 1u);
  EXPECT_EQ(table.weighted(), 1u);
  EXPECT_EQ(table.limited(), 1u);
  EXPECT_TRUE(std::ranges::equal(table.route(first), route));
  const std::uint32_t second = table.add(std::vector<LinkId>{LinkId(3), LinkId(1)}, 1, 1);
  const std::uint32_t third = table.add(std::vector<LinkId>{LinkId(1), LinkId(2)}, 1, 1);
  EXPECT_EQ(table.count_on(1), 3u);
  table.remove(second);
  EXPECT_EQ(table.count_on(1), 2u);
  table.remove(first);
  EXPECT_EQ(table.flows_on(1).front().flow, third);
  EXPECT_EQ(table.flows_on(2).front().flow, third);
  EXPECT_EQ(table.count_on(0) + table.count_on(3), 0u);
  table.remove(third);
  EXPECT_EQ(table.active() + table.weighted() + table.limited(), 0u);
  for (std::uint32_t link = 0; link < 4; ++link) EXPECT_EQ(table.capacity(link), capacity[link]);
}

TEST(IdStack, HoldsWhatWasPushedAcrossGrowth) {
  IdStack stack;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    stack.push_back(i * 7919u);
    expected.push_back(i * 7919u);
    if (i % 5 != 4) continue;
    stack.pop_back();
    expected.pop_back();
  }
  ASSERT_TRUE(std::ranges::equal(stack, expected));
  EXPECT_EQ(stack.front(), expected.front());
  IdStack other;
  other.push_back(1);
  other.assign(expected);
  EXPECT_TRUE(std::ranges::equal(other, expected));
  other.clear();
  EXPECT_TRUE(other.empty());
}

}  // namespace
}  // namespace weft::congestion
