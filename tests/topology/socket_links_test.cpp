// Links between the sockets of a host: which there are, that the network does not count them, and what ranks take them.
#include "tests/topology/oracles.hpp"
#include "topology/bisection.hpp"
#include "topology/graphs/export.hpp"
#include "topology/metrics.hpp"
#include "topology/placement/locality.hpp"
#include "topology/routing/route_cache.hpp"
#include "topology/routing/socket_routes.hpp"
#include "topology/verify.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

TempFile platform_file(const std::string& host) {
  return TempFile("sockets.textproto",
                  "topology { family: \"fat-tree\" set: \"m=4\" set: \"n=2\" }\n" + host + "\n");
}
Platform with_host(const std::string& host) { return load(platform_file(host).path()); }

TEST(SocketLinks, EveryOrderedPairOfSocketsOfAHostHasOne) {
  for (const std::uint32_t sockets : {2u, 3u, 5u}) {
    const Platform p =
        with_host("host { ranks: 6 sockets: " + std::to_string(sockets) + " socket_bandwidth: \"7GB/s\" }");
    const Fabric& f = p.fabric;
    ASSERT_TRUE(f.sockets_joined());
    EXPECT_EQ(f.link_count() - f.wired_links(), f.host_count() * sockets * (sockets - 1));
    std::set<LinkId> seen;
    for (std::uint32_t h = 0; h < f.host_count(); ++h)
      for (std::uint32_t a = 0; a < sockets; ++a)
        for (std::uint32_t b = 0; b < sockets; ++b) {
          if (a == b) continue;
          const LinkId l = f.socket_link(HostId(h), a, b);
          ASSERT_GE(l.index(), f.wired_links());
          ASSERT_LT(l.index(), f.link_count());
          EXPECT_TRUE(seen.insert(l).second) << "twice";
          EXPECT_EQ(f.links().capacity[l.index()], 7e9);
          EXPECT_EQ(f.links().latency[l.index()], Duration(0));
          EXPECT_EQ(f.links().from[l.index()], VertexId(h));
          EXPECT_EQ(f.links().to[l.index()], VertexId(h));
          EXPECT_EQ(f.links().class_names[f.links().link_class[l.index()]], "socket");
          EXPECT_EQ(f.link_name(l),
                    f.host_name(HostId(h)) + ": socket " + std::to_string(a) + " -> " + std::to_string(b));
        }
    EXPECT_EQ(seen.size(), f.link_count() - f.wired_links());
  }
}

TEST(SocketLinks, TheNetworkIsWhatItIsWithoutThem) {
  for (const char* const family : {"fat-tree:m=4,n=2", "torus:dims=3x3", "dragonfly:p=2,a=4,h=2"}) {
    SCOPED_TRACE(family);
    const Platform without = load(family);
    Platform with = load(family);
    ASSERT_TRUE(with.fabric.join_sockets({2, true}, 2, Bandwidth(1e9)));
    const Fabric &a = without.fabric, &b = with.fabric;
    EXPECT_EQ(a.link_count(), b.wired_links());
    EXPECT_EQ(a.cable_count(), b.cable_count());
    EXPECT_EQ(best_bisection(a), best_bisection(b));
    EXPECT_EQ(measure(a).mean_hops, measure(b).mean_hops);
    EXPECT_EQ(summarize_classes(a).size(), summarize_classes(b).size());
    EXPECT_EQ(to_dot(a), to_dot(b));
    EXPECT_EQ(to_graphml(a), to_graphml(b));
    EXPECT_EQ(*to_routes(a, 10'000), *to_routes(b, 10'000));
    EXPECT_EQ(locality_of(a).group_of, locality_of(b).group_of);
    EXPECT_EQ(locality_of(a).switch_of, locality_of(b).switch_of);
    for (std::uint32_t l = 0; l < a.link_count(); ++l)
      EXPECT_EQ(a.link_name(LinkId(l)), b.link_name(LinkId(l)));
    expect_sound(b);
  }
}

TEST(SocketLinks, RanksAreOnTheSocketsOnWhichTheirKernelsAre) {
  // Six ranks a host, the second host full, the first with three of its own.
  const std::vector<HostId> placement{HostId(1), HostId(0), HostId(1), HostId(1), HostId(0),
                                      HostId(1), HostId(1), HostId(0), HostId(1)};
  const std::uint32_t local[] = {0, 0, 1, 2, 1, 3, 4, 2, 5};
  for (const bool cyclic : {false, true}) {
    const Platform p = with_host(std::string("host { ranks: 6 sockets: 3 socket_bandwidth: \"7GB/s\"") +
                                 (cyclic ? " socket_order: \"cyclic\"" : "") + " }");
    const SocketRoutes routes(p.fabric, placement);
    RouteCache cache(p.fabric);
    const auto socket = [&](std::uint32_t r) { return cyclic ? local[r] % 3 : local[r] / 2; };
    for (std::uint32_t a = 0; a < placement.size(); ++a)
      for (std::uint32_t b = 0; b < placement.size(); ++b) {
        SCOPED_TRACE(::testing::Message() << a << " to " << b << (cyclic ? " cyclic" : " in blocks"));
        std::vector<LinkId> out, expected;
        ASSERT_TRUE(routes.route(a, b, out));
        const bool one_host = placement[a] == placement[b], crosses = one_host && socket(a) != socket(b);
        if (crosses)
          expected = {p.fabric.socket_link(placement[a], socket(a), socket(b))};
        else
          ASSERT_TRUE(p.fabric.routing().route(placement[a], placement[b], expected));
        EXPECT_EQ(out, expected);
        EXPECT_EQ(routes.link(a, b), crosses ? expected[0] : LinkId());
        EXPECT_EQ(routes.is_copy(a, b), one_host && !crosses);
        const RouteCache::Route cached = cache.at(routes.id(cache, a, b));
        EXPECT_EQ(std::vector<LinkId>(cached.links.begin(), cached.links.end()), expected);
        EXPECT_EQ(cached.in_host(), crosses);
        if (crosses) {
          EXPECT_EQ(cached.narrowest, 7e9);
        }
      }
  }
}

TEST(SocketLinks, WithoutThemEveryMessageOfAHostIsACopy) {
  const Platform p = with_host("host { ranks: 4 sockets: 2 socket_order: \"cyclic\" }");
  EXPECT_FALSE(p.fabric.sockets_joined());
  EXPECT_EQ(p.fabric.link_count(), p.fabric.wired_links());
  const std::vector<HostId> placement{HostId(0), HostId(0), HostId(1)};
  const SocketRoutes routes(p.fabric, placement);
  EXPECT_TRUE(routes.is_copy(0, 1));
  EXPECT_FALSE(routes.link(0, 1).valid());
  EXPECT_FALSE(routes.is_copy(0, 2));
}

TEST(SocketLinks, CachedRoutesOfBothKindsComeBackWhenTheCacheStartsAgain) {
  const Platform p = with_host("host { ranks: 2 sockets: 2 socket_bandwidth: \"7GB/s\" }");
  const Fabric& f = p.fabric;
  RouteCache cache(f, 5);
  for (int round = 0; round < 3; ++round)
    for (std::uint32_t h = 0; h < f.host_count(); ++h) {
      const LinkId own = f.socket_link(HostId(h), 1, 0);
      const auto inside = cache.at(cache.id(own));
      ASSERT_EQ(inside.links.size(), 1u);
      EXPECT_EQ(inside.links[0], own);
      EXPECT_TRUE(inside.in_host());
      const HostId other((h + 1) % f.host_count());
      const auto outside = cache.find(HostId(h), other);
      EXPECT_FALSE(outside.in_host());
      EXPECT_EQ(std::vector<LinkId>(outside.links.begin(), outside.links.end()),
                route_of(f, h, other.index()));
    }
  EXPECT_GT(cache.epoch(), 0u);
}

TEST(SocketLinks, WhatCannotBeIsRefusedAtItsPlace) {
  const auto refused = [](const std::string& host) { return error_of(platform_file(host).path()); };
  EXPECT_THAT(
      refused("host { ranks: 2 socket_bandwidth: \"7GB/s\" }"),
      HasSubstr(":2:17: error: a link between sockets of a host that has one; got \"7GB/s\"; expected "
                "host { sockets: 2 } or more"));
  for (const char* const bad : {"0GB/s", "-1GB/s", "7GB", "fast", "inf"})
    EXPECT_THAT(refused(std::string("host { ranks: 2 sockets: 2 socket_bandwidth: \"") + bad + "\" }"),
                ::testing::AllOf(HasSubstr(":2:28: error: "), HasSubstr(std::string("got \"") + bad + "\""),
                                 HasSubstr("; expected ")))
        << bad;
  EXPECT_THAT(
      error_of(platform_file("host { ranks: 2 sockets: 1024 socket_bandwidth: \"7GB/s\" }").path(), {"m=32"}),
      HasSubstr("the network is too large"));
  const auto tree = load_platform("pcie:switches=1,cards=2,gpus=1",
                                  {.set = {"host.sockets=2", "host.socket_bandwidth=7GB/s"}});
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, ErrorCode::kNotSupported);
  EXPECT_THAT(tree.error().message(), HasSubstr("links between sockets where hosts are PCIe trees"));
}

}  // namespace
}  // namespace weft::topology
