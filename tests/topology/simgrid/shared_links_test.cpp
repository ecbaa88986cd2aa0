// Links for both directions (SHARED), which no other network has: whatever is asked of hosts and cables is what it is of the same
// network of a link each way (SPLITDUPLEX), in whichever order the file has hosts and routers.
#include <fmt/format.h>

#include "tests/support/checkout.hpp"
#include "tests/topology/support.hpp"
#include "topology/bisection.hpp"
#include "topology/metrics.hpp"
#include "topology/placement/locality.hpp"
#include "topology/verify.hpp"

namespace weft::topology {
namespace {

using ::testing::IsEmpty;

using Cables = std::vector<std::pair<std::string, std::string>>;

struct TwinFile {
  std::uint32_t hosts = 0, routers = 0;  // h0.., r0..
  Cables cables;
  std::string more;  // elements of the netzone
  bool routers_first = false;
  [[nodiscard]] std::string text(bool shared) const {
    std::string all_hosts, all_routers, links, routes;
    for (std::uint32_t h = 0; h < hosts; ++h)
      all_hosts += fmt::format("<host id=\"h{}\" speed=\"1Gf\"/>\n", h);
    for (std::uint32_t r = 0; r < routers; ++r) all_routers += fmt::format("<router id=\"r{}\"/>\n", r);
    for (const auto& [a, b] : cables) {
      links +=
          fmt::format("<link id=\"{0}-{1}\" bandwidth=\"1Gbps\" latency=\"1us\" sharing_policy=\"{2}\"/>\n",
                      a, b, shared ? "SHARED" : "SPLITDUPLEX");
      routes += fmt::format("<route src=\"{0}\" dst=\"{1}\"><link_ctn id=\"{0}-{1}\"{2}/></route>\n", a, b,
                            shared ? "" : " direction=\"UP\"");
    }
    return "<platform version=\"4.1\"><zone id=\"z\" routing=\"" +
           std::string(routers == 0 ? "Full" : "Floyd") + "\">\n" +
           (routers_first ? all_routers + all_hosts : all_hosts + all_routers) + links + routes + more +
           "</zone></platform>\n";
  }
  [[nodiscard]] Platform platform(bool shared) const {
    const TempFile file(shared ? "shared.xml" : "split.xml", text(shared));
    return load(file.path());
  }
};

TwinFile two_switches(bool routers_first) {
  TwinFile out{8, 2, {{"r0", "r1"}}, {}, routers_first};
  for (int h = 0; h < 8; ++h) out.cables.emplace_back(fmt::format("h{}", h), h < 4 ? "r0" : "r1");
  return out;
}

TwinFile complete(std::uint32_t hosts) {
  TwinFile out{hosts, 0, {}, {}, false};
  for (std::uint32_t a = 0; a < hosts; ++a)
    for (std::uint32_t b = a + 1; b < hosts; ++b)
      out.cables.emplace_back(fmt::format("h{}", a), fmt::format("h{}", b));
  return out;
}

TEST(SharedLinks, AreThoseOfTheirHostInWhateverOrderOfTheFile) {
  for (const bool routers_first : {false, true})
    for (const bool shared : {false, true}) {
      SCOPED_TRACE(
          fmt::format("{} first, {}", routers_first ? "routers" : "hosts", shared ? "SHARED" : "split"));
      const Fabric f = two_switches(routers_first).platform(shared).fabric;
      const Locality at = locality_of(f);
      EXPECT_EQ(at.switches, 2u);
      EXPECT_EQ(at.switch_of, (std::vector<std::uint32_t>{0, 0, 0, 0, 1, 1, 1, 1}));
      const Metrics m = measure(f);
      EXPECT_EQ(m.router_diameter_hops, 1u);
      EXPECT_EQ(m.router_mean_hops, 1.0);
      const VerifyReport r = verify(f);
      EXPECT_THAT(r.findings, IsEmpty());
      EXPECT_EQ(r.host_degree_min, 1u);
      EXPECT_EQ(r.host_degree_max, 1u);
      EXPECT_EQ(r.switch_degree_min, 5u);
      EXPECT_EQ(r.switch_degree_max, 5u);
      EXPECT_EQ(f.cable_count(), 9u);
      EXPECT_EQ(best_bisection(f), 1u);
    }
}

// The halves of a complete graph have floor(n / 2) * ceil(n / 2) cables between them, those of a ring two.
TEST(SharedLinks, ACutCountsEachAsACable) {
  for (const bool shared : {false, true}) {
    for (std::uint32_t n = 2; n <= 8; ++n) {
      const Fabric f = complete(n).platform(shared).fabric;
      EXPECT_EQ(best_bisection(f), n / 2 * ((n + 1) / 2)) << n << " hosts, " << shared;
    }
    for (const std::uint32_t n : {8u, 24u, 30u}) {  // from 21 switches on cuts are searched, not all tried
      TwinFile ring{n, n, {}, {}, true};
      for (std::uint32_t v = 0; v < n; ++v) {
        ring.cables.emplace_back(fmt::format("r{}", v), fmt::format("r{}", (v + 1) % n));
        ring.cables.emplace_back(fmt::format("r{}", v), fmt::format("h{}", v));
      }
      EXPECT_EQ(best_bisection(ring.platform(shared).fabric), 2u) << n << " in a ring, " << shared;
    }
  }
}

// Hosts that leave the switch that all are at are those with the fewest cables.
TEST(SharedLinks, ACutPartsHostsOfFewCables) {
  for (const bool shared : {false, true}) {
    TwinFile star{4, 1, {}, {}, false};
    for (int h = 0; h < 4; ++h) star.cables.emplace_back("r0", fmt::format("h{}", h));
    EXPECT_EQ(best_bisection(star.platform(shared).fabric), 2u) << shared;
  }
}

// Each of them, whether it is known what it joins or not, whether a route takes it or not.
TEST(SharedLinks, AreACableEach) {
  TwinFile spare = two_switches(false);
  spare.more = "<link id=\"spare\" bandwidth=\"1Gbps\"/>";
  for (const bool shared : {false, true}) {
    const Fabric f = spare.platform(shared).fabric;
    EXPECT_TRUE(f.wiring_known());
    EXPECT_EQ(f.cable_count(), 10u) << shared;
  }
  TwinFile bus{3, 0, {{"h0", "h1"}}, {}, false};
  bus.more =
      "<link id=\"air\" bandwidth=\"1Gbps\" sharing_policy=\"FATPIPE\"/><link id=\"spare\" "
      "bandwidth=\"1Gbps\"/>"
      "<route src=\"h1\" dst=\"h2\"><link_ctn id=\"h0-h1\"/><link_ctn id=\"air\"/></route>"
      "<route src=\"h0\" dst=\"h2\"><link_ctn id=\"h0-h1\"/></route>";
  const Fabric f = bus.platform(true).fabric;
  EXPECT_FALSE(f.wiring_known());
  EXPECT_EQ(f.cable_count(), 3u);
  std::map<std::string, std::uint64_t> by_class;
  for (const ClassSummary& c : summarize_classes(f)) by_class[c.name] = c.cables;
  EXPECT_EQ(by_class, (std::map<std::string, std::uint64_t>{{"link", 2}, {"fatpipe", 1}}));
}

// A node with a PCIe tree in the place of each host: the network's links are what they were.
TEST(SharedLinks, AreTheSameUnderNodes) {
  for (const char* name : {"shared_cluster", "limited_torus", "star", "halves"}) {
    SCOPED_TRACE(name);
    const std::string path = support::oracle_dir() + "/simgrid_platforms/" + name + ".xml";
    const Fabric network = load(path).fabric;
    const Fabric f = load("simgrid:path=" + path + ",node=cs-storm").fabric;
    EXPECT_THAT(verify(f).findings, IsEmpty());
    EXPECT_EQ(f.wiring_known(), network.wiring_known());
    std::map<std::string, LinkId> named;
    for (std::uint32_t l = 0; l < f.wired_links(); ++l)
      EXPECT_TRUE(named.emplace(f.link_name(LinkId(l)), LinkId(l)).second) << f.link_name(LinkId(l));
    for (std::uint32_t l = 0; l < network.wired_links(); ++l) {
      const auto there = named.find(network.link_name(LinkId(l)));
      ASSERT_NE(there, named.end()) << network.link_name(LinkId(l));
      EXPECT_EQ(f.is_two_way(there->second), network.is_two_way(LinkId(l)));
      EXPECT_EQ(f.links().capacity[there->second.index()], network.links().capacity[l]);
    }
    EXPECT_EQ(f.cable_count() - network.cable_count(), (f.wired_links() - network.wired_links()) / 2);
    const std::uint32_t gpus = f.rank_hosts() / network.host_count();
    for (std::uint32_t a = 0; a < network.host_count(); ++a)
      for (std::uint32_t b = 0; b < network.host_count(); ++b) {
        if (a == b) continue;
        std::vector<std::string> through, ours;
        for (const LinkId l : route_of(network, a, b)) through.push_back(network.link_name(l));
        for (const LinkId l : route_of(f, a * gpus, b * gpus))
          if (std::string link = f.link_name(l); link.find("->") == std::string::npos)
            ours.push_back(std::move(link));
        EXPECT_EQ(ours, through) << a << " to " << b;
      }
  }
}

}  // namespace
}  // namespace weft::topology
