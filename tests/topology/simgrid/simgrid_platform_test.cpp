// SimGrid platform files: links, speeds and every route against what SimGrid 3.32 makes of the same files
// (tests/oracle/data/simgrid_platforms), and what is refused.
#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "tests/support/checkout.hpp"
#include "tests/support/files.hpp"
#include "tests/support/unpacked.hpp"
#include "tests/topology/support.hpp"
#include "topology/simgrid/units.hpp"
#include "topology/verify.hpp"

namespace weft::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string simgrid_file(const std::string& name) {
  return support::oracle_dir() + "/simgrid_platforms/" + name;
}

// NAME.txt, or NAME.txt.zst: what SimGrid says.
struct SimgridAnswer {
  struct Link {
    double bytes_per_s = 0, latency_s = 0;
    bool fatpipe = false;
  };
  std::map<std::string, Link> links;
  std::map<std::string, double> speed;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> routes;
};

SimgridAnswer answer_of(const std::string& name) {
  SimgridAnswer out;
  // The large ones are packed.
  const std::string plain = simgrid_file(name + ".txt");
  std::istringstream in(std::filesystem::exists(plain) ? support::slurp(plain)
                                                       : support::unpacked(plain + ".zst"));
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::string kind, first, second;
    fields >> kind >> first;
    if (kind == "L") {
      SimgridAnswer::Link l;
      fields >> l.bytes_per_s >> l.latency_s >> second;
      l.fatpipe = second == "fatpipe";
      // Within a host SimGrid takes a loopback, here the platform's mpi { } says what that costs.
      if (first.find("loopback") == std::string::npos) out.links[first] = l;
    } else if (kind == "H") {
      fields >> out.speed[first];
    } else if (kind == "R") {
      fields >> second;
      auto& route = out.routes[{first, second}];
      for (std::string l; fields >> l;) route.push_back(l);
    }
  }
  return out;
}

class SimgridPlatforms : public ::testing::TestWithParam<std::string> {};

TEST_P(SimgridPlatforms, HaveSimGridsLinksSpeedsAndRoutes) {
  const SimgridAnswer theirs = answer_of(GetParam());
  const Platform p = load(simgrid_file(GetParam() + ".xml"));
  const Fabric& f = p.fabric;
  ASSERT_GT(theirs.routes.size(), 0u);
  ASSERT_EQ(f.host_count(), theirs.speed.size());
  ASSERT_EQ(f.wired_links(), theirs.links.size());
  for (std::uint32_t l = 0; l < f.wired_links(); ++l) {
    const std::string name = f.link_name(LinkId(l));
    SCOPED_TRACE(name);
    ASSERT_TRUE(theirs.links.contains(name));
    const SimgridAnswer::Link& link = theirs.links.at(name);
    EXPECT_DOUBLE_EQ(f.links().capacity[l], link.bytes_per_s);
    EXPECT_EQ(f.links().latency[l], from_seconds(link.latency_s));
    EXPECT_EQ(f.links().is_fatpipe(LinkId(l)), link.fatpipe);
  }
  std::uint64_t compared = 0;
  for (std::uint32_t s = 0; s < f.host_count(); ++s) {
    EXPECT_DOUBLE_EQ(p.speed(HostId(s)).value(), theirs.speed.at(f.host_name(HostId(s))));
    for (std::uint32_t d = 0; d < f.host_count(); ++d) {
      if (s == d) continue;
      std::vector<LinkId> links;
      const auto there = theirs.routes.find({f.host_name(HostId(s)), f.host_name(HostId(d))});
      ASSERT_EQ(f.routing().route(HostId(s), HostId(d), links), there != theirs.routes.end());
      if (there == theirs.routes.end()) continue;
      // Where SimGrid's is no walk (docs/topologies.md): between blades of a group, from its second chassis on; here 2 chassis of 3.
      if (GetParam() == "limited_dragonfly" && s / 6 == d / 6 && s % 6 >= 3 && s % 3 != d % 3) {
        ++compared;
        continue;
      }
      std::vector<std::string> ours;
      for (const LinkId l : links) ours.push_back(f.link_name(l));
      std::vector<std::string> wanted = there->second;
      // SimGrid's Dijkstra turns round the links within each leg, which means nothing to their flows.
      if (GetParam() == "dijkstra") {
        std::ranges::sort(ours);
        std::ranges::sort(wanted);
      }
      ASSERT_EQ(ours, wanted) << f.host_name(HostId(s)) << " to " << f.host_name(HostId(d));
      ++compared;
    }
  }
  EXPECT_EQ(compared, theirs.routes.size());
  const VerifyReport found = verify(f);
  EXPECT_EQ(found.unreachable, std::uint64_t{f.host_count()} * (f.host_count() - 1) - compared);
  EXPECT_THAT(found.findings, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, SimgridPlatforms,
                         ::testing::Values("full", "halves", "floyd", "dijkstra", "star", "flat",
                                           "shared_cluster", "nested", "fat_trees", "limited_fat_tree",
                                           "torus", "limited_torus", "dragonfly", "limited_dragonfly",
                                           "untold"));

TEST(SimgridPlatform, IsRecognisedByItsEndingAndTellsWhatItDoesNotRead) {
  const Platform p = load(simgrid_file("full.xml"));
  EXPECT_EQ(p.family, "simgrid");
  EXPECT_FALSE(p.speed_assumed);
  EXPECT_THAT(p.warnings,
              ::testing::ElementsAre(
                  "the platform sets options of SimGrid, which are not read: network/loopback-lat"));
  EXPECT_EQ(load("simgrid:path=" + simgrid_file("full.xml") + ",speed=7Gflops").speed(HostId(1)).value(),
            7e9);
  const Platform other = load("simgrid:path=" + simgrid_file("flat.xml") + ",bw=1GB/s,lat=3us");
  EXPECT_EQ(other.fabric.links().capacity[0], 1e9);
  EXPECT_EQ(other.fabric.links().latency[0], from_seconds(3e-6));
}

// A host without a told way to the gateway of its netzone may be forgotten as well as meant, so it is named.
TEST(SimgridPlatform, WaysToGatewaysThatAreNotToldAreNamed) {
  const Platform p = load(simgrid_file("untold.xml"));
  EXPECT_THAT(p.warnings,
              ::testing::ElementsAre(
                  "the platform does not tell 7 ways between hosts and the gateways of their netzones: "
                  "no links, as in SimGrid; the first: a1 to A_router"));
  EXPECT_FALSE(p.fabric.wiring_known()) << "hosts and routers would be one place";
  EXPECT_THAT(load(simgrid_file("nested.xml")).warnings, IsEmpty());
  // A bypass tells it as well.
  const TempFile passed(
      "passed.xml",
      "<platform version=\"4.1\"><zone id=\"W\" routing=\"Full\"><zone id=\"A\" routing=\"Full\"><host "
      "id=\"a\" speed=\"1Gf\"/><router id=\"r\"/><link id=\"x\" bandwidth=\"1GBps\"/><bypassRoute src=\"a\" "
      "dst=\"r\"><link_ctn id=\"x\"/></bypassRoute></zone><zone id=\"B\" routing=\"Full\"><host id=\"b\" "
      "speed=\"1Gf\"/></zone><link id=\"y\" bandwidth=\"1GBps\"/><zoneRoute src=\"A\" dst=\"B\" gw_src=\"r\" "
      "gw_dst=\"b\" symmetrical=\"NO\"><link_ctn id=\"y\"/></zoneRoute></zone></platform>");
  const Platform told = load(passed.path());
  EXPECT_THAT(told.warnings, IsEmpty());
  EXPECT_EQ(route_of(told.fabric, 0, 1).size(), 2u);
  // From gateway to gateway it is no way through a netzone.
  const TempFile through(
      "through.xml",
      "<platform version=\"4.1\"><zone id=\"W\" routing=\"Floyd\"><zone id=\"A\" routing=\"Full\"><host "
      "id=\"a\" speed=\"1Gf\"/></zone><zone id=\"T\" routing=\"Full\"><router id=\"t1\"/><router "
      "id=\"t2\"/></zone><zone id=\"B\" routing=\"Full\"><host id=\"b\" speed=\"1Gf\"/></zone><link id=\"x\" "
      "bandwidth=\"1GBps\" latency=\"1us\"/><link id=\"y\" bandwidth=\"1GBps\" latency=\"1us\"/><zoneRoute "
      "src=\"A\" dst=\"T\" gw_src=\"a\" gw_dst=\"t1\"><link_ctn id=\"x\"/></zoneRoute><zoneRoute src=\"T\" "
      "dst=\"B\" gw_src=\"t2\" gw_dst=\"b\"><link_ctn id=\"y\"/></zoneRoute></zone></platform>");
  const Fabric f = load(through.path()).fabric;
  std::vector<LinkId> links;
  EXPECT_FALSE(f.routing().route(HostId(0), HostId(1), links));
}

// What links join is inferred; SimGrid's files do not say it.
TEST(SimgridPlatform, InfersSwitchesAndCables) {
  const Fabric tree = load(simgrid_file("limited_torus.xml")).fabric;
  EXPECT_FALSE(tree.wiring_known()) << "limiters are at both ends of what they limit";
  const Fabric flat = load(simgrid_file("shared_cluster.xml")).fabric;
  EXPECT_TRUE(flat.wiring_known());
  EXPECT_EQ(flat.switch_count(), 1u);
  EXPECT_EQ(flat.cable_count(), 4u) << "one link for both directions is a cable";
  EXPECT_EQ(flat.wired_links(), 4u);
  const Fabric ring = load(simgrid_file("torus.xml")).fabric;
  EXPECT_TRUE(ring.hosts_are_routers());
  EXPECT_EQ(ring.cable_count(), 40u * 3);
  const Fabric groups = load(simgrid_file("dragonfly.xml")).fabric;
  EXPECT_EQ(groups.switch_count(), 12u);
  EXPECT_EQ(groups.cable_count(), 24u + 3 * 6 + 3);
}

// SimGrid goes on from a green link as if it had led to the first chassis; here routes are walks.
TEST(SimgridPlatform, ADragonflyOfSeveralChassisHasSimpleRoutes) {
  const TempFile file("chassis.xml",
                      "<platform version=\"4.1\"><cluster id=\"d\" prefix=\"n\" suffix=\"\" radical=\"0-95\" "
                      "speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" topology=\"DRAGONFLY\" "
                      "topo_parameters=\"4,1;3,2;4,3;2\"/></platform>");
  const Fabric f = load(file.path()).fabric;
  ASSERT_TRUE(f.wiring_known());
  const VerifyReport r = verify(f);
  EXPECT_THAT(r.findings, IsEmpty());
  EXPECT_EQ(r.pairs_walked, 96u * 95);
  EXPECT_EQ(r.unreachable, 0u);
  // From chassis 1, blade 0 to chassis 1, blade 1 of one group: one green link between the routers.
  EXPECT_EQ(route_of(f, 8, 10).size(), 3u);
}

TEST(SimgridPlatform, ARouteThatWouldTakeALinkTwiceIsRefused) {
  const std::string head = "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">";
  const std::string host =
      "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>"
      "<link id=\"l\" bandwidth=\"1GBps\"/>";
  const TempFile in_a_leg("twice.xml", head + host +
                                           "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/><link_ctn "
                                           "id=\"l\"/></route></zone></platform>");
  EXPECT_THAT(error_of(in_a_leg.path()), HasSubstr("not supported: a route that takes link l twice"));
  // Each leg once, the route that Floyd puts together twice.
  const TempFile over_legs(
      "legs.xml",
      "<platform version=\"4.1\"><zone id=\"z\" routing=\"Floyd\">" + host +
          "<host id=\"c\" speed=\"1Gf\"/><route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route><route "
          "src=\"b\" dst=\"c\"><link_ctn id=\"l\"/></route></zone></platform>");
  EXPECT_THAT(error_of(over_legs.path()),
              HasSubstr("legs.xml: error: not supported: the route from a to c, which takes link l twice"));
}

std::string simgrid_error(const std::string& text) {
  const TempFile f("bad.xml", text);
  const std::string message = error_of(f.path());
  const std::size_t at = message.find("bad.xml:");
  return at == std::string::npos ? message : message.substr(at + 8);
}

std::string simgrid_zone(const std::string& what, const std::string& routing = "Full") {
  return "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"" + routing +
         "\">\n<host id=\"a\" speed=\"1Gf\"/>\n<host id=\"b\" speed=\"1Gf\"/>\n<router id=\"r\"/>\n<link "
         "id=\"l\" bandwidth=\"1GBps\"/>\n" +
         what + "\n</zone>\n</platform>\n";
}
std::string simgrid_cluster(const std::string& what) {
  return "<platform version=\"4\">\n<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-7\" speed=\"1Gf\" "
         "bw=\"1GBps\" lat=\"1us\" " +
         what + "/>\n</platform>\n";
}

// As SimGrid 3.32 and 4.0 have it: the links and routes of a cluster that does not say them.
TEST(SimgridPlatform, ABandwidthOf0OfAClusterIsNone) {
  const TempFile plain("plain.xml", simgrid_cluster(""));
  const TempFile zeros("zeros.xml",
                       simgrid_cluster("limiter_link=\"0\" bb_bw=\"0\" bb_lat=\"0\" loopback_bw=\"0Bps\""));
  const Fabric one = load(plain.path()).fabric, other = load(zeros.path()).fabric;
  EXPECT_EQ(other.links().size(), one.links().size());
  EXPECT_EQ(route_of(other, 0, 1), route_of(one, 0, 1));
}

TEST(SimgridPlatform, BadFilesAreNamedWithTheirPlace) {
  EXPECT_THAT(error_of("/nowhere/x.xml"), HasSubstr("/nowhere/x.xml"));
  EXPECT_THAT(error_of("simgrid:"), HasSubstr("key path is missing"));
  EXPECT_THAT(simgrid_error("<platform"), HasSubstr("error: not XML"));
  EXPECT_THAT(simgrid_error("<graphml/>"), HasSubstr("no element <platform> that holds all others"));
  EXPECT_EQ(simgrid_error("<platform version=\"3\"/>"),
            "1:1: error: version of the platform file; got \"3\"; expected 4 or 4.1; simgrid_update_xml of "
            "SimGrid makes one of an older file");
  EXPECT_EQ(simgrid_error("<platform version=\"4.1\"/>"), "1:1: error: the platform has no host");
  EXPECT_EQ(simgrid_error(simgrid_zone("", "Magic")),
            "2:1: error: routing of a netzone; got \"Magic\"; expected Full, Floyd, Dijkstra, DijkstraCache, "
            "Cluster or None");
  EXPECT_EQ(simgrid_error(simgrid_zone("<hots id=\"x\"/>")),
            "7:1: error: unknown element of a SimGrid platform; got \"hots\"; expected host, router, link, "
            "cluster, zone, route, zoneRoute...");
  EXPECT_EQ(simgrid_error(simgrid_zone("<host id=\"a\" speed=\"1Gf\"/>")),
            "7:1: error: two hosts, routers or netzones of one name; got \"a\"; expected each name once");
  EXPECT_EQ(simgrid_error(simgrid_zone("<host id=\"c\" speed=\"1Gx\"/>")),
            "7:1: error: speed; got \"1Gx\"; expected a speed like 1.5Gf");
  EXPECT_EQ(simgrid_error(simgrid_zone("<host id=\"c\" speed=\"1Gf,2Gf\" pstate=\"2\"/>")),
            "7:1: error: pstate; got \"2\"; expected the number of one of 2 speeds");
  EXPECT_EQ(simgrid_error(simgrid_zone("<link id=\"m\" bandwidth=\"0\"/>")),
            "7:1: error: bandwidth; got \"0\"; expected a bandwidth like 125MBps or 1Gbps");
  EXPECT_EQ(simgrid_error(simgrid_zone("<link id=\"m\" bandwidth=\"1YBps\"/>")),
            "7:1: error: bandwidth out of range; got \"1YBps\"; expected 1e-09B/s to 1e+21B/s");
  EXPECT_EQ(simgrid_error(simgrid_zone("<link id=\"m\" bandwidth=\"1GBps\" latency=\"-1us\"/>")),
            "7:1: error: latency; got \"-1us\"; expected a time like 50us or 0");
  EXPECT_EQ(simgrid_error(simgrid_zone("<link id=\"m\" bandwidth=\"1GBps\" sharing_policy=\"FAST\"/>")),
            "7:1: error: sharing_policy; got \"FAST\"; expected SHARED, SPLITDUPLEX or FATPIPE");
  EXPECT_EQ(simgrid_error(simgrid_zone("<route src=\"a\" dst=\"q\"><link_ctn id=\"l\"/></route>")),
            "7:1: error: dst of a <route>; got \"q\"; expected a host, router or netzone of the platform");
  EXPECT_EQ(simgrid_error(simgrid_zone("<route src=\"a\" dst=\"z\"><link_ctn id=\"l\"/></route>")),
            "7:1: error: dst of a <route>; got \"z\"; expected a host or router of netzone z");
  EXPECT_EQ(simgrid_error(simgrid_zone("<route src=\"a\" dst=\"b\"/>")),
            "7:1: error: route without links; expected <link_ctn id=\"...\"/>");
  EXPECT_EQ(simgrid_error(simgrid_zone("<route src=\"a\" dst=\"b\">\n<link_ctn id=\"k\"/></route>")),
            "8:1: error: route over an unknown link; got \"k\"; expected the id of a link of the platform");
  EXPECT_EQ(
      simgrid_error(simgrid_zone("<route src=\"a\" dst=\"b\"><link_ctn id=\"l\" direction=\"UP\"/></route>")),
      "7:24: error: a direction on a link that is not split; got \"l\"; expected a link of "
      "sharing_policy=\"SPLITDUPLEX\"");
  EXPECT_EQ(
      simgrid_error(simgrid_zone("<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>\n<route src=\"b\" "
                                 "dst=\"a\"><link_ctn id=\"l\"/></route>")),
      "8:1: error: a second route between two points; got \"b to a\"; expected one; symmetrical=\"NO\" "
      "where the way back has its own");
  EXPECT_EQ(simgrid_error(simgrid_cluster("topology=\"TORUS\" topo_parameters=\"2,2\"")),
            "2:1: error: topo_parameters for 4 hosts; got \"radical with 8\"; expected as many of them");
  std::string dimensions = "8";
  for (int i = 0; i < 32; ++i) dimensions += ",1";
  EXPECT_EQ(simgrid_error(simgrid_cluster("topology=\"TORUS\" topo_parameters=\"" + dimensions + "\"")),
            "2:1: error: dimensions of a torus; got \"33 of them\"; expected at most 32");
  EXPECT_EQ(simgrid_error(simgrid_cluster("topology=\"FAT_TREE\" topo_parameters=\"2;4,2;1,1\"")),
            "2:1: error: topo_parameters of a fat-tree; got \"2;4,2;1,1\"; expected "
            "LEVELS;DOWN,...;UP,...;CABLES,...");
  EXPECT_EQ(simgrid_error(simgrid_cluster("topology=\"DRAGONFLY\" topo_parameters=\"4,1;1,1;2,1;1\"")),
            "2:1: error: more groups than routers in a chassis; got \"4,1;1,1;2,1;1\"; expected at most 2 "
            "groups");
  EXPECT_EQ(simgrid_error(simgrid_cluster("topology=\"STAR\"")),
            "2:1: error: topology of a cluster; got \"STAR\"; expected FLAT, FAT_TREE, TORUS or DRAGONFLY");
}

// SimGrid refuses each of these; left out in silence they would make another platform.
TEST(SimgridPlatform, WhatTheFormatDoesNotHaveIsRefused) {
  EXPECT_EQ(simgrid_error(simgrid_zone("<link id=\"m\" bandwidth=\"1GBps\" latncy=\"1ms\"/>")),
            "7:1: error: unknown attribute of a <link>; got \"latncy\"; expected one of id, bandwidth, "
            "bandwidth_file, latency, latency_file, state_file, sharing_policy; did you mean latency?");
  EXPECT_EQ(
      simgrid_error(simgrid_zone("<host id=\"c\" speed=\"1Gf\"><link id=\"m\" bandwidth=\"1\"/></host>")),
      "7:26: error: an element that a <host> does not have; got \"link\"; expected one of disk, prop, mount");
  EXPECT_EQ(simgrid_error(simgrid_cluster("") + "<host id=\"c\" speed=\"1Gf\"/>"),
            " error: no element <platform> that holds all others; expected a SimGrid platform: <platform "
            "version=\"4.1\">");
  EXPECT_EQ(simgrid_error(simgrid_zone("<router id=\"c\"><prop id=\"x\" value=\"y\"/></router>")),
            "7:16: error: an element that a <router> does not have; got \"prop\"; expected nothing in it");
  EXPECT_EQ(simgrid_error(simgrid_zone("<link id=\"m\" id=\"n\" bandwidth=\"1GBps\"/>")),
            "7:1: error: not XML: two attributes of one name; got \"id\"; expected each name once");
  EXPECT_EQ(simgrid_error(simgrid_zone("<link id=\"m\" bandwidth=\"1GBps\">1ms</link>")),
            "7:1: error: text in a <link>; got \"1ms\"; expected no text");
  EXPECT_EQ(simgrid_error(simgrid_zone("<host id=\"c\" speed=\"1Gf\" core=\"-3\"/>")),
            "7:1: error: cores of a host; got \"-3\"; expected a whole number from 1 on");
  EXPECT_EQ(simgrid_error(simgrid_zone("<host id=\"c\" speed=\"1Gf,2Gf\" pstate=\"1abc\"/>")),
            "7:1: error: pstate; got \"1abc\"; expected the number of one of 2 speeds");
  EXPECT_THAT(simgrid_error(simgrid_cluster("loopback_bw=\"abc\"")),
              HasSubstr("error: loopback_bw; got \"abc\"; expected a bandwidth like 125MBps or 1Gbps, or 0"));
  EXPECT_THAT(
      simgrid_error(simgrid_cluster("bb_lat=\"1us\"")),
      HasSubstr("error: a backbone that has a latency and no bandwidth; expected a bandwidth in bb_bw"));
  EXPECT_THAT(simgrid_error(simgrid_cluster("bb_bw=\"1GBps\" bb_sharing_policy=\"SPLITDUPLEX\"")),
              HasSubstr("error: bb_sharing_policy; got \"SPLITDUPLEX\"; expected SHARED or FATPIPE"));
  EXPECT_EQ(simgrid_error("<platform version=\"4.1abc\"><zone id=\"z\" routing=\"Full\"/></platform>"),
            "1:1: error: version of the platform file; got \"4.1abc\"; expected 4 or 4.1; simgrid_update_xml "
            "of SimGrid makes one of an older file");
  std::string begin, end;
  for (int i = 0; i < 100000; ++i) {
    begin += fmt::format("<zone id=\"{}/>\" routing=\"Full\">", i);
    end += "</zone>";
  }
  EXPECT_EQ(simgrid_error("<platform version=\"4.1\">\n" + begin + end + "</platform>"),
            "2:3091: error: nested too deeply; expected at most 100 levels");
}

TEST(SimgridPlatform, NamesInLatin1AreReadWhereTheFileSaysSo) {
  const TempFile file(
      "latin1.xml",
      "<?xml version='1.0' encoding='ISO-8859-1'?>\n<platform version=\"4.1\"><cluster id=\"c\" "
      "prefix=\"h\xe9\" suffix=\"\" radical=\"0-1\" speed=\"1Gf\" bw=\"1GBps\" "
      "lat=\"1us\"/></platform>\n");
  EXPECT_EQ(load(file.path()).fabric.host_name(HostId(1)),
            "h\xc3\xa9"
            "1");
}

// More members than those of whom all ways are kept: asked for in turns.
TEST(SimgridPlatform, DijkstraGivesTheSameRoutesHoweverManyMembers) {
  for (const int hosts : {30, 2100}) {
    std::string text =
        "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"Dijkstra\">\n<router id=\"r\"/>\n";
    for (int h = 0; h < hosts; ++h)
      text += fmt::format("<host id=\"h{0}\" speed=\"1Gf\"/><link id=\"l{0}\" bandwidth=\"1GBps\"/>\n", h);
    for (int h = 0; h < hosts; ++h)
      text += fmt::format("<route src=\"h{0}\" dst=\"r\"><link_ctn id=\"l{0}\"/></route>\n", h);
    const TempFile file("star.xml", text + "</zone>\n</platform>\n");
    const Platform p = load(file.path());
    for (const auto& [src, dst] :
         {std::pair(0u, 7u), std::pair(19u, 3u), std::pair(0u, 8u), std::pair(3u, 19u)}) {
      std::vector<std::string> names;
      for (const LinkId l : route_of(p.fabric, src, dst)) names.push_back(p.fabric.link_name(l));
      EXPECT_EQ(names, (std::vector<std::string>{fmt::format("l{}", src), fmt::format("l{}", dst)}));
    }
  }
}

// Small files of networks that no memory holds.
TEST(SimgridPlatform, HugeShapesAreRefusedBeforeTheyAreBuilt) {
  for (const std::string& shape :
       {std::string("topology=\"DRAGONFLY\" topo_parameters=\"1,1;1,1;131072,1;8\""),
        std::string("topology=\"FAT_TREE\" topo_parameters=\"2;1024,1024;1,1048576;1,1048576\""),
        "topology=\"TORUS\" topo_parameters=\"1048576" +
            [] {
              std::string ones;
              for (int i = 0; i < 100; ++i) ones += ",1";
              return ones;
            }() +
            "\""}) {
    const std::string text =
        "<platform version=\"4\">\n<cluster id=\"c\" prefix=\"n\" suffix=\"\" radical=\"0-1048575\" "
        "speed=\"1Gf\" bw=\"1GBps\" lat=\"1us\" " +
        shape + "/>\n</platform>\n";
    EXPECT_THAT(simgrid_error(text), ::testing::StartsWith("2:1: error: ")) << shape;
  }
}

TEST(SimgridPlatform, WhatIsNotReadIsNotSupported) {
  for (const std::string& text :
       {simgrid_zone("<host id=\"c\" speed=\"1Gf\" speed_file=\"f\"/>"),
        simgrid_zone("<link id=\"m\" bandwidth=\"1GBps\" bandwidth_file=\"f\"/>"),
        simgrid_zone("<trace_connect trace=\"t\" element=\"a\"/>"), simgrid_zone("", "Vivaldi"),
        simgrid_zone("<link id=\"m\" bandwidth=\"1GBps\" sharing_policy=\"WIFI\"/>"),
        simgrid_zone("<peer id=\"p\" speed=\"1Gf\" bw_in=\"1GBps\" bw_out=\"1GBps\"/>")})
    EXPECT_THAT(simgrid_error(text), HasSubstr("error: not supported: ")) << text;
  const std::string flat = simgrid_file("flat.xml");
  for (const char* key : {"fail=1", "nics=2", "nic_bw=1GB/s", "switch_lat=1us"})
    EXPECT_THAT(error_of("simgrid:path=" + flat + "," + key), HasSubstr("error: not supported: ")) << key;
  EXPECT_THAT(error_of("simgrid:path=" + flat + ",routing=minimal"),
              HasSubstr("a SimGrid platform fixes this"));
}

TEST(SimgridUnits, AreThoseOfTheFormat) {
  using namespace simgrid;
  const std::map<std::string, double> bandwidths = {
      {"125MBps", 125e6}, {"1Gbps", 125e6},  {"1KiBps", 1024},     {"8Kibps", 1024}, {"2.5e3Bps", 2500},
      {"7", 7},           {"1kBps", 1000.0}, {" 100MBps ", 100e6}, {"1TBps", 1e12}};
  for (const auto& [text, value] : bandwidths)
    EXPECT_DOUBLE_EQ(bytes_per_second(text, "x").value(), value) << text;
  const std::map<std::string, double> times = {{"1w", 604800}, {"2d", 172800}, {"1h", 3600}, {"1m", 60},
                                               {"1ms", 1e-3},  {"5us", 5e-6},  {"0", 0},     {"3ps", 3e-12}};
  for (const auto& [text, value] : times) EXPECT_DOUBLE_EQ(seconds(text, "x").value(), value) << text;
  EXPECT_EQ(flops_per_second("1Gf, 500megaflops,2e9", "x").value(), (std::vector<double>{1e9, 5e8, 2e9}));
  EXPECT_EQ(numbers("3-5,9", 10, "x").value(), (std::vector<std::int64_t>{3, 4, 5, 9}));
  for (const char* bad : {"", "fast", "1KBps", "1 GBps", "1gbps", "inf", "nan", "-1MBps", "0MBps", "1MBpsx"})
    EXPECT_FALSE(bytes_per_second(bad, "x")) << bad;
  for (const char* bad : {"5-3", "a", "1-", "0-10", "1-2-3", "-1"})
    EXPECT_FALSE(numbers(bad, 10, "x")) << bad;
}

}  // namespace
}  // namespace weft::topology
