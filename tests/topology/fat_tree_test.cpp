#include "tests/topology/oracles.hpp"

namespace weft::topology::fat_tree_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

// Counts and means of Lin, Chung and Huang's trees, computed by hand from the closed forms of the paper.
struct Row {
  std::uint64_t m, n, hosts, switches, inter_switch;
  double mean;
};
const std::vector<Row> kRows = {
    {4, 2, 8, 6, 8, 3.714286},       {4, 3, 16, 20, 32, 5.466667},   {4, 4, 32, 56, 96, 7.290323},
    {8, 2, 32, 12, 32, 3.806452},    {8, 3, 128, 80, 256, 5.716535}, {16, 2, 128, 24, 128, 3.889764},
    {36, 2, 648, 54, 648, 3.947450},
};
std::string spec(const Row& r, const std::string& routing = "mlid") {
  return "fat-tree:m=" + std::to_string(r.m) + ",n=" + std::to_string(r.n) + ",routing=" + routing;
}

TEST(FatTree, CountsMeansAndDiametersEqualThePublishedTable) {
  for (const Row& r : kRows) {
    const Platform p = load(spec(r));
    const Fabric& f = p.fabric;
    EXPECT_EQ(f.host_count(), r.hosts);
    EXPECT_EQ(f.switch_count(), r.switches);
    EXPECT_EQ(f.cable_count(), r.hosts + r.inter_switch);
    std::uint64_t between = 0;
    for (const ClassSummary& c : summarize_classes(f)) between += c.name == "host" ? 0 : c.links / 2;
    EXPECT_EQ(between, r.inter_switch);
    const Metrics m = measure(f);
    EXPECT_NEAR(*m.mean_hops, r.mean, 5e-7) << spec(r);
    EXPECT_EQ(*m.diameter_hops, 2 * r.n);
    EXPECT_EQ(*f.bisection_cables(), r.hosts / 2);
  }
}

TEST(FatTree, EveryRouteIsAShortestWalkUnderAllThreeRoutings) {
  for (const Row& r : kRows) {
    if (r.hosts > 200) continue;
    for (const std::string routing : {"mlid", "d-mod-k", "s-mod-k"}) {
      const Platform p = load(spec(r, routing));
      expect_sound(p.fabric);
      expect_routes_are_shortest(p.fabric);
      expect_closed_form_equals_walks(p.fabric);
    }
  }
}

TEST(FatTree, EverySwitchUsesAllItsPortsAndEveryHostOne) {
  for (const Row& r : kRows) {
    const VerifyReport v = verify(load(spec(r)).fabric, 1000);
    EXPECT_EQ(v.switch_degree_min, r.m);
    EXPECT_EQ(v.switch_degree_max, r.m);
    EXPECT_EQ(v.host_degree_max, 1u);
  }
}

// Number of the host with these digits, p0 first.
std::uint32_t host(std::uint32_t k, const std::vector<std::uint32_t>& digits) {
  std::uint32_t v = 0;
  for (std::uint32_t d : digits) v = v * k + d;
  return v;
}

TEST(FatTree, MlidGoldenRoutes) {
  const Platform a = load("fat-tree:m=4,n=3");
  const auto r4 = [&](std::vector<std::uint32_t> s, std::vector<std::uint32_t> d) {
    return via(a.fabric, host(2, s), host(2, d));
  };
  EXPECT_EQ(r4({0, 0, 0}, {3, 1, 1}), (Names{"<00,2>", "<00,1>", "<00,0>", "<30,1>", "<31,2>"}));
  EXPECT_EQ(r4({0, 0, 1}, {3, 1, 1}), (Names{"<00,2>", "<01,1>", "<10,0>", "<31,1>", "<31,2>"}));
  EXPECT_EQ(r4({0, 1, 0}, {0, 0, 1}), (Names{"<01,2>", "<00,1>", "<00,2>"}));
  EXPECT_EQ(r4({1, 0, 1}, {1, 0, 0}), (Names{"<10,2>"}));
  const Platform b = load("fat-tree:m=8,n=2");
  EXPECT_EQ(via(b.fabric, host(4, {0, 2}), host(4, {7, 3})), (Names{"<0,1>", "<2,0>", "<7,1>"}));
  const Platform c = load("fat-tree:m=8,n=3");
  EXPECT_EQ(via(c.fabric, host(4, {5, 1, 3}), host(4, {2, 0, 2})),
            (Names{"<51,2>", "<53,1>", "<31,0>", "<23,1>", "<20,2>"}));
}

// The forwarding tables of the paper, hop by hop on labels: nothing shared with the closed form of the
// router.
Names mlid_by_forwarding(std::uint64_t m, std::uint64_t n, std::uint64_t src, std::uint64_t dst) {
  const std::uint64_t k = m / 2;
  const auto digits = [&](std::uint64_t pid) {
    std::vector<std::uint64_t> p(n);
    for (std::uint64_t i = n; i-- > 0;) {
      p[i] = i == 0 ? pid : pid % k;
      pid /= k;
    }
    return p;
  };
  const auto power = [&](std::uint64_t e) {
    std::uint64_t v = 1;
    while (e-- > 0) v *= k;
    return v;
  };
  const auto s = digits(src), d = digits(dst);
  std::uint64_t alpha = 0, rank = 0;
  while (s[alpha] == d[alpha]) ++alpha;
  for (std::uint64_t i = alpha + 1; i < n; ++i) rank += s[i] * power(n - 1 - i);
  const std::uint64_t lid = dst * power(n - 1) + 1 + rank;
  std::vector<std::uint64_t> w(s.begin(), s.end() - 1);
  std::uint64_t l = n - 1;
  Names out;
  while (true) {
    std::string name = "<";
    for (std::uint64_t digit : w) name += std::to_string(digit);
    out.push_back(name + "," + std::to_string(l) + ">");
    if (std::equal(w.begin(), w.begin() + static_cast<long>(l), d.begin())) {
      if (l == n - 1) return out;
      w.insert(w.begin() + static_cast<long>(l), d[l]);  // down port d_l
      w.pop_back();
      ++l;
    } else {
      w.push_back((lid - 1) / power(n - 1 - l) % k);  // up port
      w.erase(w.begin() + static_cast<long>(l) - 1);
      --l;
    }
  }
}

TEST(FatTree, MlidEqualsThePapersForwardingTablesOnEveryPair) {
  for (const Row& r : kRows) {
    if (r.m > 10) continue;
    const Platform p = load(spec(r));
    for (std::uint32_t s = 0; s < r.hosts; ++s)
      for (std::uint32_t d = 0; d < r.hosts; ++d) {
        if (s == d) continue;
        ASSERT_EQ(via(p.fabric, s, d), mlid_by_forwarding(r.m, r.n, s, d)) << spec(r) << s << " " << d;
      }
  }
}

TEST(FatTree, MlidGivesEachUpLinkOneSourceAndDModKEachDownLinkOneDestination) {
  for (const Row& r : kRows) {
    if (r.hosts > 200) continue;
    const Platform mlid = load(spec(r)), dmodk = load(spec(r, "d-mod-k"));
    std::map<std::uint32_t, std::set<std::uint32_t>> sources, destinations;
    for (std::uint32_t s = 0; s < r.hosts; ++s)
      for (std::uint32_t d = 0; d < r.hosts; ++d) {
        if (s == d) continue;
        const auto up = route_of(mlid.fabric, s, d), down = route_of(dmodk.fabric, s, d);
        for (std::size_t i = 0; i < up.size() / 2; ++i) sources[up[i].index()].insert(s);
        for (std::size_t i = down.size() / 2; i < down.size(); ++i) destinations[down[i].index()].insert(d);
      }
    for (const auto& [link, set] : sources) EXPECT_EQ(set.size(), 1u) << mlid.fabric.link_name(LinkId(link));
    for (const auto& [link, set] : destinations) EXPECT_EQ(set.size(), 1u);
    EXPECT_EQ(sources.size(), r.hosts * r.n);  // every up link is used
  }
}

TEST(FatTree, DModKGivesEveryCyclicShiftLoadOne) {
  for (const Row& r : kRows) {
    if (r.hosts > 200) continue;
    const Platform p = load(spec(r, "d-mod-k"));
    for (std::uint32_t shift = 1; shift < r.hosts; ++shift) ASSERT_EQ(worst_shift_load(p.fabric, shift), 1u);
  }
}

TEST(FatTree, OneLevelIsOneSwitch) {
  const Platform p = load("fat-tree:m=6,n=1");
  EXPECT_EQ(p.fabric.host_count(), 6u);
  EXPECT_EQ(p.fabric.switch_count(), 1u);
  expect_sound(p.fabric);
  expect_closed_form_equals_walks(p.fabric);
}

TEST(FatTree, BandwidthMayDifferPerLevel) {
  const Platform p = load("fat-tree:m=4,n=2,bw=100Gbpsx200Gbps,lat=1usx2us");
  const auto classes = summarize_classes(p.fabric);
  EXPECT_EQ(classes[0].name, "host");
  EXPECT_EQ(*classes[0].bandwidth_Bps, 12.5e9);
  EXPECT_EQ(classes[1].name, "up1");
  EXPECT_EQ(*classes[1].bandwidth_Bps, 25e9);
  EXPECT_EQ(*classes[1].latency_s, 2e-6);
}

TEST(FatTree, BadParametersAreNamed) {
  EXPECT_THAT(error_of("fat-tree:m=5,n=2"), HasSubstr("m must be even; got \"5\""));
  EXPECT_THAT(error_of("fat-tree:m=4"), HasSubstr("key n is missing"));
  EXPECT_THAT(error_of("fat-tree:m=4,n=0"), HasSubstr("from 1 to 32"));
  EXPECT_THAT(error_of("fat-tree:m=1000,n=20"), HasSubstr("the network is too large"));
  EXPECT_THAT(error_of("fat-tree:m=4,n=2,routing=dmodk"), HasSubstr("one of mlid, d-mod-k, s-mod-k"));
  EXPECT_THAT(error_of("fat-tree:m=4,n=2,bw=1Gbpsx1Gbpsx1Gbps"), HasSubstr("1 value, or 2 (host, up1)"));
  EXPECT_THAT(error_of("fat-tree:m=4,n=2,hosts_per_switch=3"), HasSubstr("expected 2"));
}

}  // namespace
}  // namespace weft::topology::fat_tree_test
