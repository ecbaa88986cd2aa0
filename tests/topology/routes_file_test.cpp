#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zstd.h>

#include <filesystem>
#include <limits>

#include "tests/support/checkout.hpp"
#include "tests/topology/support.hpp"
#include "topology/bisection.hpp"
#include "topology/graphs/export.hpp"
#include "topology/routing/route_cache.hpp"
#include "topology/verify.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;

// A chain a - s - b, with a link that no route uses.
const std::string kChain =
    "# comment\n"
    "L 0 up0 1e9 1e-6 shared\n"
    "L 2 down1 2e9 2e-6 shared\n"
    "L 1 spare 3e9 0\n"
    "L 3 up1 4e9 1e-6\n"
    "R 0 1 0 2\n";

std::vector<std::string> names(const Fabric& f, const std::vector<LinkId>& links) {
  std::vector<std::string> out;
  for (LinkId l : links) out.push_back(f.link_name(l));
  return out;
}

TEST(RoutesFile, LinksKeepTheirNamesAndValuesAndRoutesTheirOrder) {
  const TempFile f("chain", kChain);
  const Platform p = load("routes:path=" + f.path());
  const Fabric& g = p.fabric;
  EXPECT_EQ(g.host_count(), 2u);
  EXPECT_EQ(g.link_count(), 4u);
  const auto r = route_of(g, 0, 1);
  EXPECT_EQ(names(g, r), (std::vector<std::string>{"up0", "down1"}));
  EXPECT_EQ(g.links().capacity[r[1].index()], 2e9);
  EXPECT_EQ(g.links().latency[r[1].index()], Duration(2'000'000));
  EXPECT_TRUE(route_of(g, 1, 1).empty());
}

TEST(RoutesFile, LinksThatNoRouteUsesAreNoVertexAndNoCut) {
  const TempFile f("spare", kChain);
  const Platform p = load("routes:path=" + f.path());
  EXPECT_EQ(p.fabric.vertex_count(), 3u);
  EXPECT_EQ(best_bisection(p.fabric), std::nullopt);
  for (const std::string& finding : verify(p.fabric).findings)
    EXPECT_THAT(finding, ::testing::Not(HasSubstr("not connected")));
}

TEST(RoutesFile, PairWithoutALineIsUnreachable) {
  const TempFile f("oneway", kChain);
  const Platform p = load("routes:path=" + f.path());
  std::vector<LinkId> out;
  EXPECT_FALSE(p.fabric.routing().route(HostId(1), HostId(0), out));
  EXPECT_TRUE(out.empty());
}

TEST(RoutesFile, ValuesBesideThePathReplaceTheFiles) {
  const TempFile f("over", kChain);
  const Platform p = load("routes:path=" + f.path() + ",lat=0,bw=8Gbps,speed=3Gflops");
  EXPECT_THAT(p.fabric.links().latency, ::testing::Each(Duration(0)));
  EXPECT_THAT(p.fabric.links().capacity, ::testing::Each(1e9));
  EXPECT_EQ(p.speed(HostId(0)).value(), 3e9);
}

// What SimGrid's dump has behind the latency of a link: FATPIPE ones are a class of their own, all others are shared.
TEST(RoutesFile, FatpipesAreAClass) {
  const auto with = [](const std::string& field) {
    std::string text = kChain;
    return text.replace(text.find("shared"), 6, field);
  };
  for (const char* field : {"", "SHARED", "splitduplex 2", "other fatpipe"}) {
    const TempFile f("shared", with(field));
    const Fabric g = load("routes:path=" + f.path()).fabric;
    EXPECT_THAT(g.links().class_names, ::testing::ElementsAre("link")) << field;
    EXPECT_EQ(g.shared_capacity().data(), g.links().capacity.data()) << field;
  }
  for (const char* field : {"fatpipe", "FATPIPE 3"}) {
    const TempFile f("fatpipe", with(field));
    const Fabric g = load("routes:path=" + f.path()).fabric;
    EXPECT_THAT(g.links().class_names, ::testing::ElementsAre("link", "fatpipe")) << field;
    const auto r = route_of(g, 0, 1);
    EXPECT_TRUE(g.links().is_fatpipe(r[0]));
    EXPECT_FALSE(g.links().is_fatpipe(r[1]));
    EXPECT_EQ(g.links().capacity[r[0].index()], 1e9);
    EXPECT_GT(g.shared_capacity()[r[0].index()], 1e18);
    EXPECT_EQ(g.shared_capacity()[r[1].index()], 2e9);
  }
}

// Links of 1 and 2 GB/s, either of them a fatpipe: flows need a limit where the narrow one is.
TEST(RoutesFile, RoutesKnowWhetherAFatpipeLimitsFlows) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const TempFile f("limits",
                   "L 0 narrow 1e9 0 fatpipe\nL 1 wide 2e9 0\nL 2 thin 1e9 0\nL 3 broad 2e9 0 fatpipe\n"
                   "R 0 1 0 1\nR 0 2 2 3\nR 0 3 1 2\n");
  const Fabric g = load("routes:path=" + f.path()).fabric;
  RouteCache routes(g);
  for (const std::uint32_t to : {1u, 2u, 3u}) {
    const RouteCache::Route r = routes.find(HostId(0), HostId(to));
    EXPECT_EQ(r.narrowest, 1e9);
    EXPECT_EQ(r.limit(kNone), to == 1 ? 1e9 : kNone);
    EXPECT_EQ(r.limit(5e8), 5e8);
    EXPECT_EQ(fatpipe_limit(g.links(), r.links), to == 1 ? 1e9 : to == 2 ? 2e9 : kNone);
  }
}

// Written as a routes file, DOT and GraphML and read again; in what is left when a link has failed.
TEST(RoutesFile, FatpipesStayWhatTheyAre) {
  const TempFile f("kinds",
                   "L 0 up0 1e9 0\nL 1 down0 1e9 0\nL 2 up1 1e9 0 fatpipe\nL 3 down1 1e9 0\nL 4 up2 1e9 0\n"
                   "L 5 down2 1e9 0\nR 0 1 0 3\nR 0 2 0 5\nR 1 0 2 1\nR 1 2 2 5\nR 2 0 4 1\nR 2 1 4 3\n");
  const Fabric a = load("routes:path=" + f.path()).fabric;
  const auto fatpipes = [](const Fabric& g) {
    std::vector<std::string> out;
    for (std::uint32_t l = 0; l < g.link_count(); ++l)
      if (g.links().is_fatpipe(LinkId(l))) out.push_back(g.vertex_name(g.links().from[l]));
    return out;
  };
  EXPECT_THAT(fatpipes(a), ::testing::ElementsAre("node-1"));
  const TempFile routes("kinds.routes", *to_routes(a)), dot("kinds.dot", to_dot(a)),
      xml("kinds.graphml", to_graphml(a));
  EXPECT_THAT(fatpipes(load("routes:path=" + routes.path()).fabric), ::testing::ElementsAre("node-1"));
  EXPECT_THAT(fatpipes(load("file:path=" + dot.path()).fabric), ::testing::ElementsAre("node-1"));
  EXPECT_THAT(fatpipes(load("file:path=" + xml.path()).fabric), ::testing::ElementsAre("node-1"));
  EXPECT_THAT(fatpipes(load("routes:path=" + routes.path() + ",fail=link=up2").fabric),
              ::testing::ElementsAre("node-1"));
}

// Ports that carry less to several peers are links that flows share.
TEST(RoutesFile, PortsThatAreFatpipesCarryNoLessToSeveralPeers) {
  const TempFile f("ports", "L 0 up 1e9 0 fatpipe\nL 1 down 1e9 0\nR 0 1 0 1\n");
  Fabric g = load("routes:path=" + f.path()).fabric;
  const auto shared = g.share_ports({{2, 0.5}});
  ASSERT_FALSE(shared);
  EXPECT_THAT(shared.error().message(), HasSubstr("on fatpipe links"));
}

TEST(RoutesFile, ZstdReadsLikePlainText) {
  std::string packed(ZSTD_compressBound(kChain.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), kChain.data(), kChain.size(), 3));
  const TempFile f("packed.zst", packed);
  EXPECT_EQ(load("routes:path=" + f.path()).fabric.link_count(), 4u);
  // Two frames, as programs that append leave them.
  const std::size_t half = kChain.find("L 3");
  std::string frames;
  for (const std::string& part : {kChain.substr(0, half), kChain.substr(half)}) {
    std::string frame(ZSTD_compressBound(part.size()), '\0');
    frame.resize(ZSTD_compress(frame.data(), frame.size(), part.data(), part.size(), 3));
    frames += frame;
  }
  const TempFile two("two.zst", frames);
  EXPECT_EQ(load("routes:path=" + two.path()).fabric.link_count(), 4u);
  const TempFile cut("cut.zst", packed.substr(0, packed.size() - 5));
  EXPECT_THAT(error_of("routes:path=" + cut.path()), HasSubstr("zstd data is cut off"));
  std::string flipped = packed;
  flipped[6] = static_cast<char>(flipped[6] ^ 0x7f);
  const TempFile bad("flip.zst", flipped);
  EXPECT_FALSE(error_of("routes:path=" + bad.path()).empty());
}

// Numbers after one blank each are read by a loop of their own, everything else field by field.
TEST(RoutesFile, BlanksTabsAndLeadingZerosChangeNothing) {
  const std::string links = kChain.substr(0, kChain.find("R 0"));
  const TempFile plain("plain", links + "R 0 1 0 2\nR 1 0 3\n");
  const Platform a = load("routes:path=" + plain.path());
  for (const std::string routes :
       {"R 1 0 3\nR 0 1 0 2\n", "R\t0\t1 0 2\n  R 1 0 3\n", "R 0 1  0 2 \r\nR 1 0 0003\r\n",
        "R 0 1 0 0000000000002\nR 1 0 3", "R 0 1 0 2\nR 0 0\nR 1 0 3\n"}) {
    const TempFile f("spaced", links + routes);
    const Platform b = load("routes:path=" + f.path());
    for (const auto& [src, dst] : {std::pair{0, 1}, std::pair{1, 0}, std::pair{0, 0}})
      EXPECT_EQ(names(b.fabric, route_of(b.fabric, src, dst)), names(a.fabric, route_of(a.fabric, src, dst)))
          << routes;
  }
}

// Numbers of up to three digits are read at once, others digit by digit, what a tab stands before field by field.
TEST(RoutesFile, NumbersOfAllLengthsAreReadAlikeEitherWay) {
  for (std::uint64_t seed = seed_or(1), i = 0; i < 5; ++i, ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    const std::uint32_t links = 10'100, hosts = 1'200;
    std::string text, tabs;
    for (std::uint32_t l = 0; l < links; ++l) text += fmt::format("L {} l{} 1e9 0\n", l, l);
    tabs = text;
    std::vector<std::vector<std::uint32_t>> want;
    for (std::uint32_t h = 0; h < hosts; ++h) {
      std::vector<std::uint32_t> route(1 + rng.below(6));
      for (auto& l : route) l = static_cast<std::uint32_t>(rng.below(rng.below(3) == 0 ? links : 1000));
      std::ranges::sort(route);
      route.erase(std::unique(route.begin(), route.end()), route.end());
      const std::uint32_t to = (h + 1) % hosts;
      text += fmt::format("R {} {} {}\n", h, to, fmt::join(route, " "));
      tabs += fmt::format("R\t{}\t{}\t{}\n", h, to, fmt::join(route, "\t"));
      want.push_back(route);
    }
    const TempFile blank("blanks", text), tabbed("tabs", tabs);
    const Platform a = load("routes:path=" + blank.path()), b = load("routes:path=" + tabbed.path());
    for (std::uint32_t h = 0; h < hosts; ++h) {
      std::vector<std::string> named;
      for (const std::uint32_t l : want[h]) named.push_back(fmt::format("l{}", l));
      ASSERT_EQ(names(a.fabric, route_of(a.fabric, h, (h + 1) % hosts)), named);
      ASSERT_EQ(names(b.fabric, route_of(b.fabric, h, (h + 1) % hosts)), named);
    }
  }
}

TEST(RoutesFile, WiringIsInferredFromTheRoutes) {
  // A ring of three hosts that pass messages on: host = router, one link each way.
  const TempFile ring(
      "ring",
      "L 0 a 1 0\nL 1 b 1 0\nL 2 c 1 0\nR 0 1 0\nR 0 2 0 1\nR 1 2 1\nR 1 0 1 2\nR 2 0 2\nR 2 1 2 0\n");
  const Platform p = load("routes:path=" + ring.path());
  EXPECT_EQ(p.fabric.vertex_count(), 3u);
  EXPECT_TRUE(p.fabric.hosts_are_routers());
  EXPECT_EQ(via(p.fabric, 2, 1), (std::vector<std::string>{"node-0"}));
}

TEST(RoutesFile, EveryMalformedLineIsRefusedWithItsPosition) {
  struct Case {
    std::string text, expected;
  };
  const std::string links = "L 0 a 1e9 0\nL 1 b 1e9 0\n";
  for (const Case& c : std::vector<Case>{
           {"", ":1:1: error: file has no routes"},
           {links, ":3:1: error: file has no routes"},
           {"X 1\n", ":1:1: error: unknown line; got \"X\"; expected L or R"},
           {"L x a 1 0\n", ":1:3: error: link index; got \"x\""},
           {"L -1 a 1 0\n", ":1:3: error: link index; got \"-1\""},
           {"L 0\n", ":1:4: error: link without a name"},
           {"L 0 a\n", ":1:6: error: bandwidth of a link"},
           {"L 0 a 0 0\n", ":1:7: error: bandwidth out of range; got \"0\"; expected 1e-09B/s to 1e+21B/s"},
           {"L 0 a 1e-300 0\n", ":1:7: error: bandwidth out of range; got \"1e-300\""},
           {"L 0 a 1e22 0\n", ":1:7: error: bandwidth out of range; got \"1e22\""},
           {"L 0 a 1e999 0\n", ":1:7: error: bandwidth of a link; got \"1e999\""},
           {"L 0 a -5 0\n", "got \"-5\""},
           {"L 0 a nan 0\n", "got \"nan\""},
           {"L 0 a 1e9\n", ":1:10: error: latency of a link"},
           {"L 0 a 1e9 -1\n", ":1:11: error: latency of a link; got \"-1\""},
           {"L 0 a 1e9 0\nL 0 b 1e9 0\n", ":2:3: error: link defined twice; got \"0\""},
           {"L 0 a 1e9 0\nL 2 b 1e9 0\nR 0 1 0\n", "link is not defined; got \"1\""},
           {"L 20000000 a 1e9 0\nR 0 1 20000000\n", ":1:3: error: link index leaves a gap"},
           {links + "R 0\n", ":3:4: error: host index; got \"\""},
           {links + "R 0 1 2\n",
            ":3:7: error: route over an unknown link; got \"2\"; expected a link from 0 to 1"},
           {links + "R 0 1 0 1z\n", ":3:9: error: link index; got \"1z\""},
           {links + "R 0 1 0 0\n", ":3:9: error: route uses a link twice; got \"0\""},
           {links + "R 0 1 0\nR 0 1 1\n", ":4:1: error: second route of a pair; got \"R 0 1\""},
           {links + "R 0 0 1\n", "route of a host to itself"},
           {links + "R 0 1\n", "route without links"},
           {links + "R 0 4000000000 1\n", ":3:5: error: host index; got \"4000000000\""},
           {links + "R 0 1 0\nR 4194303 0 1\n",
            ":4:1: error: host index leaves gaps; got \"4194303 with 2 routes\"; expected hosts 0, 1, 2"},
       }) {
    const TempFile f("badroutes", c.text);
    const std::string got = error_of("routes:path=" + f.path());
    std::string expected = c.expected;
    if (const auto at = expected.find("; got \"\""); at != std::string::npos) expected.resize(at);
    EXPECT_THAT(got, HasSubstr(expected)) << c.text;
    EXPECT_THAT(got, HasSubstr(f.path())) << c.text;
  }
  EXPECT_THAT(error_of("routes:path=/nonexistent"), HasSubstr("cannot open"));
  EXPECT_THAT(error_of("routes:bw=1Gbps"), HasSubstr("key path is missing"));
  EXPECT_THAT(error_of("routes:path=/tmp"), HasSubstr("directory"));
}

// Each link may have the latency of all simulated time; a route of several has no more.
TEST(RoutesFile, LatenciesBeyondTheEndOfTimeAddUpToIt) {
  const TempFile f("slowroutes", "L 0 a 1e9 8e6\nL 1 b 1e9 8e6\nR 0 1 0 1\nR 1 0 1\n");
  const auto p = load_platform("routes:path=" + f.path());
  ASSERT_TRUE(p.has_value());
  RouteCache routes(p->fabric);
  EXPECT_EQ(routes.find(HostId(0), HostId(1)).latency, Duration::max());
  EXPECT_EQ(routes.find(HostId(1), HostId(0)).latency, from_seconds(8e6));
}

TEST(RoutesFile, SimGridsDumpsOf256HostsLoadWhole) {
  const std::string dir = support::oracle_dir() + "/routes/";
  struct Case {
    std::string name;
    std::uint32_t links, vertices;
  };
  for (const Case& c : std::vector<Case>{{"crossbar", 512, 257},
                                         {"torus", 1536, 256},
                                         {"fattree", 1024, 288},
                                         {"fattree_taper", 640, 276},
                                         {"dragonfly", 908, 257}}) {
    const Platform p = load("routes:path=" + dir + c.name + ".txt.zst");
    EXPECT_EQ(p.fabric.host_count(), 256u) << c.name;
    EXPECT_EQ(p.fabric.link_count(), c.links) << c.name;
    EXPECT_EQ(p.fabric.vertex_count(), c.vertices) << c.name;
    EXPECT_EQ(p.fabric.routing().hop_histogram()->unreachable, 0u) << c.name;
  }
}

// Links used both ways: their ends are not told, so that nothing can be changed at hosts or switches.
TEST(RoutesFile, WhereWiringIsNotToldHostsAndSwitchesHaveNoLinks) {
  const TempFile f("bus.routes", "L 0 bus 1e9 1e-6\nR 0 1 0\nR 1 0 0\n");
  EXPECT_FALSE(load("routes:path=" + f.path()).fabric.wiring_known());
  EXPECT_THAT(verify(load("routes:path=" + f.path()).fabric).findings, ::testing::IsEmpty());
  for (const char* key : {"nic_bw=1MB/s", "switch_lat=1us", "nics=2"})
    EXPECT_THAT(error_of("routes:path=" + f.path() + "," + key),
                HasSubstr("what links join is not told here"))
        << key;
}

}  // namespace
}  // namespace weft::topology
