// Ports that carry less to several hosts, from a platform file to times, and what --verify makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "network/flow_audit.hpp"
#include "network/flow_run.hpp"
#include "network/network.hpp"
#include "network/sharing.hpp"
#include "tests/topology/support.hpp"
#include "topology/platform/platform.hpp"

namespace weft::network::several_peers_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Result<topology::Platform> platform(const std::string& topology, const std::string& host) {
  const topology::TempFile file("ports.textproto",
                                "topology { " + topology + " }\nhost {\n" + host + "\n}\n");
  return topology::load_platform(file.path());
}

const char* const kStar = "family: \"crossbar\" set: \"n=4\" set: \"bw=10GB/s\" set: \"lat=0\"";
const char* const kPorts = "port { peers: 2 factor: \"0.8\" } port { peers: 3 factor: \"0.5\" }";

std::vector<LinkId> route(const topology::Fabric& fabric, std::uint32_t a, std::uint32_t b) {
  std::vector<LinkId> out;
  EXPECT_TRUE(fabric.routing().route(HostId(a), HostId(b), out));
  return out;
}

// 8 GB from 0 to 1, 4 GB from 2 to 0 from 0.4 s on: 4 GB in 0.4 s, then 8 GB/s each way for 0.5 s: both end at 0.9 s.
TEST(SeveralPeers, AFlowIsSlowedAsLongAsTheOtherPeerIsThere) {
  const auto p = platform(kStar, kPorts);
  ASSERT_TRUE(p) << p.error().message();
  for (const bool later : {false, true}) {
    auto run = std::move(FlowRun::create("max-min", p->fabric)).value();
    run.add(route(p->fabric, 0, 1), Bytes(8'000'000'000), kTimeZero, Duration(0));
    // Ends at 0.6 s: 4 + 1.6 GB are there, the rest goes at 10 GB/s.
    run.add(route(p->fabric, 2, 0), Bytes(later ? 4'000'000'000 : 1'600'000'000),
            kTimeZero + from_seconds(0.4), Duration(0));
    ASSERT_TRUE(run.run(false));
    EXPECT_NEAR(to_seconds(run.finish(0)), later ? 0.9 : 0.84, 1e-9);
    EXPECT_NEAR(to_seconds(run.finish(1)), later ? 0.9 : 0.6, 1e-9);
  }
}

TEST(SeveralPeers, VerifyCountsPeersByItself) {
  const auto rules = platform(kStar, kPorts), other = platform(kStar, "port { peers: 2 factor: \"0.9\" }");
  ASSERT_TRUE(rules && other);
  for (const topology::Platform* at : {&*rules, &*other}) {
    Network net(at->fabric.links().capacity, std::move(make_model("max-min", at->fabric)).value());
    FlowAudit audit("max-min", rules->fabric, 0);
    net.audit(&audit);
    std::uint64_t sequence = 0;
    Instant now;
    std::uint32_t owner = 0;
    for (const auto& [a, b] : {std::pair(0, 1), std::pair(2, 0), std::pair(0, 3), std::pair(1, 0)}) {
      const auto way = route(at->fabric, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
      net.start(way, 1, std::numeric_limits<double>::infinity(), net.narrowest(way), 1'000'000 * (owner + 1),
                owner, now, sequence);
      ++owner;
      net.settle(now, sequence);
    }
    while (!net.idle()) {
      now = net.next_completion().time;
      (void)net.finish_top(now);
      if (net.dirty()) net.settle(now, sequence);
    }
    const auto& told = audit.close(net.link_use(now)).told;
    if (at == &*rules)
      EXPECT_THAT(told, IsEmpty());
    else
      EXPECT_THAT(told, Contains(HasSubstr("carries")));
  }
}

TEST(SeveralPeers, WhatNoPortCanBeIsRefusedAtItsPlace) {
  const auto fails = [](const std::string& topology, const std::string& host, const char* says) {
    const auto p = platform(topology, host);
    ASSERT_FALSE(p) << host;
    EXPECT_THAT(p.error().message(), HasSubstr(says));
  };
  fails(kStar, "port { peers: 1 factor: \"0.8\" }",
        ":3:8: error: peers of a port; got \"1\"; expected 2 or more");
  fails(kStar, "port { peers: 4 factor: \"0.8\" }\nport { peers: 4 factor: \"0.7\" }",
        ":4:8: error: peers of a port; got \"4\"; expected 5 or more, ascending");
  fails(kStar, "port { factor: \"0.8\" }", ":3:1: error: peers of a port");
  fails(kStar, "port { peers: 2 factor: \"1.5\" }", ":3:17: error: what a port carries to several peers");
  fails(kStar, "port { peers: 2 factor: \"0\" }", ":3:17: error: what a port carries");
  fails(kStar, "port { peers: 2 factor: \"1e-300\" }", ":3:17: error: what a port carries");
  fails("family: \"torus\" set: \"dims=3x3\" set: \"host_links=off\"", kPorts, "links between hosts");
  fails("family: \"pcie\" set: \"gpus=2\"", kPorts, "PCIe trees");
}

}  // namespace
}  // namespace weft::network::several_peers_test
