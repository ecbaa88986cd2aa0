// The machines of the catalogue against published counts and distances. Distances come from closed forms; what walks
// 10^10 pairs is ended by ctest.
#include <algorithm>
#include <cmath>

#include "tests/topology/support.hpp"
#include "topology/metrics.hpp"
#include "topology/placement/locality.hpp"
#include "topology/platform/catalogue.hpp"

namespace weft::topology {
namespace {

struct Machine {
  const char* name;
  std::uint32_t hosts, switches;
  std::uint32_t router_diameter;  // 0: not published; an upper bound where there is no mean
  double router_mean;             // over distinct routers; 0: not published
  std::uint32_t switches_with_hosts, groups;
};

// Distances: closed forms of the tori (sum of the rings' means); counts: the sources in the files.
constexpr Machine kMachines[] = {
    {"frontera", 8008, 182 + 6, 2, 2, 182, 182},
    {"stampede", 6400, 320 + 8, 2, 2, 320, 320},
    {"summit", 4608, 256 + 18, 2, 2, 256, 256},
    {"sierra", 4320, 240 + 9, 2, 2, 240, 240},
    {"selene", 280, 14 + 20, 2, 2, 14, 14},
    {"hpc5", 1820, 91 + 20, 2, 2, 91, 91},
    {"dgx-superpod", 96, 1, 0, 0, 1, 1},
    {"marconi100", 1024, 4 * 32, 3, 0, 64, 4},
    {"trinity", 25 * 384, 25 * 96, 5, 0, 2400, 25},
    {"edison", 15 * 384, 15 * 96, 5, 0, 1440, 15},
    {"piz-daint", 15 * 384, 15 * 96, 5, 0, 1440, 15},
    {"darter", 2 * 384, 2 * 96, 5, 0, 192, 2},
    {"sequoia", 98304, 98304, 31, 15.5002, 98304, 98304},
    {"mira", 49152, 49152, 27, 13.5003, 49152, 49152},
    {"hopper", 6528, 3264, 24, 12.2390, 3264, 0},
    {"titan", 19200, 9600, 32, 16.2417, 9600, 0},
    {"fugaku", 158976, 158976, 38, 19.4059, 158976, 158976},
};

TEST(Machines, HaveTheirPublishedCountsAndDistances) {
  for (const Machine& m : kMachines) {
    SCOPED_TRACE(m.name);
    const Platform p = load(m.name);
    ASSERT_EQ(p.fabric.host_count(), m.hosts);
    EXPECT_EQ(p.fabric.switch_count(), m.switches);
    const Metrics d = measure(p.fabric);
    ASSERT_TRUE(d.mean_hops.has_value());
    EXPECT_EQ(d.hops->unreachable, 0u);
    if (m.router_diameter > 0) {
      EXPECT_LE(*d.router_diameter_hops, m.router_diameter);
    }
    if (m.router_mean > 0) {
      EXPECT_EQ(*d.router_diameter_hops, m.router_diameter);
      EXPECT_NEAR(*d.router_mean_hops, m.router_mean, 5e-5);
    }
    const Locality l = locality_of(p.fabric);
    EXPECT_EQ(l.switches, m.switches_with_hosts);
    if (m.groups > 0) {
      EXPECT_EQ(l.groups, m.groups);
    }
  }
}

TEST(Machines, EveryNetworkFigureHasASourceOrIsMarkedAssumed) {
  for (const Machine& m : kMachines) {
    const auto entries = catalogue();
    const auto e = std::find_if(entries.begin(), entries.end(),
                                [&](const CatalogueEntry& c) { return c.name == m.name; });
    ASSERT_NE(e, entries.end()) << m.name;
    const std::string text(e->text);
    EXPECT_THAT(text, ::testing::HasSubstr("source:")) << m.name;
    for (std::size_t at = text.find("  set: \""); at != std::string::npos;
         at = text.find("  set: \"", at + 1)) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      if (line.find("\"h=2\"") != std::string::npos) continue;
      EXPECT_NE(line.find("# "), std::string::npos) << m.name << ": " << line;
    }
  }
}

}  // namespace
}  // namespace weft::topology
