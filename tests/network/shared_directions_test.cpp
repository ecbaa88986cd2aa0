// What both directions of a PCIe link share, from the keys of a platform to rates, and what --verify makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "network/flow_audit.hpp"
#include "network/network.hpp"
#include "network/sharing.hpp"
#include "topology/platform/platform.hpp"

namespace weft::network::shared_directions_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kBytes = 1'188'000'000;

topology::Platform node(const std::string& more) {
  auto p = topology::load_platform(
      "pcie:switches=0,cards=1,gpus=1,mem=on,lat=0,bw=12.3GB/s,down_bw=11.4GB/s" + more);
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  return std::move(p).value();
}

// A copy each way at once, with the links of `at` and a model of `rules`. Seconds until both are over.
double both_ways(const topology::Platform& at, const topology::Platform& rules, std::string_view model,
                 FlowFindings& found) {
  Network net(at.fabric.links().capacity, std::move(make_model(model, rules.fabric)).value());
  FlowAudit audit(model, at.fabric, 0);
  net.audit(&audit);
  std::uint64_t sequence = 0;
  Instant now;
  std::uint32_t owner = 0;
  for (const auto& [from, to] : {std::pair(HostId(0), HostId(1)), std::pair(HostId(1), HostId(0))}) {
    std::vector<LinkId> route;
    EXPECT_TRUE(at.fabric.routing().route(from, to, route));
    net.start(route, 1, std::numeric_limits<double>::infinity(), net.narrowest(route), kBytes, owner++, now,
              sequence);
  }
  net.settle(now, sequence);
  while (!net.idle()) {
    now = net.next_completion().time;
    (void)net.finish_top(now);
    if (net.dirty()) net.settle(now, sequence);
  }
  found = audit.close(net.link_use(now));
  return (now - Instant()).seconds();
}

TEST(SharedDirections, ACopyEachWayTakesTheSum) {
  const auto shared = node(",both_bw=19.8GB/s"), plain = node("");
  for (const char* const model : {"max-min", "pcie"}) {
    FlowFindings found;
    EXPECT_NEAR(both_ways(shared, shared, model, found), 1.188 / 9.9, 1e-9) << model;
    EXPECT_THAT(found.told, IsEmpty()) << model;
    EXPECT_NEAR(both_ways(plain, plain, model, found), 1.188 / 11.4, 1e-9) << model;
    EXPECT_THAT(found.told, IsEmpty()) << model;
  }
  FlowFindings found;
  EXPECT_NEAR(both_ways(shared, shared, "contention-free", found), 1.188 / 11.4, 1e-9);
  EXPECT_THAT(found.told, IsEmpty());
}

TEST(SharedDirections, MemoryIsSharedByReadsAndWrites) {
  const auto shared = node(",mem_bw=12GB/s,mem_both_bw=14GB/s");
  FlowFindings found;
  EXPECT_NEAR(both_ways(shared, shared, "", found), 1.188 / 7, 1e-9);
  EXPECT_THAT(found.told, IsEmpty());
}

// Rates of a model that does not know what directions share.
TEST(SharedDirections, VerificationChecksTheSums) {
  const auto shared = node(",both_bw=19.8GB/s"), plain = node("");
  for (const char* const model : {"max-min", "pcie"}) {
    FlowFindings found;
    (void)both_ways(shared, plain, model, found);
    EXPECT_THAT(found.told, Contains(HasSubstr("with the way back carries"))) << model;
  }
}

}  // namespace
}  // namespace weft::network::shared_directions_test
