// What verify() walks where walking all would take too long: how much, and that hosts cut off are still found.
#include "topology/verify.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/support.hpp"

namespace weft::topology {
namespace {

using ::testing::IsEmpty;

// A line of n routers with a host each: two hosts at distance d have d + 2 links between them, (n + 1) / 3 + 2 on average.
TEST(Verify, LongRoutesBoundTheNumberOfPairs) {
  const Platform p = load("mesh:dims=400");
  const VerifyReport r = verify(p.fabric, 1ULL << 22, 1ULL << 18);
  EXPECT_THAT(r.findings, IsEmpty());
  EXPECT_EQ(r.pairs_total, 400u * 399u);
  EXPECT_EQ(r.destinations_walked, 400u);
  const double mean = 401 / 3.0 + 2;
  EXPECT_NEAR(static_cast<double>(r.pairs_walked) * mean, 1 << 18, 0.2 * (1 << 18));
  const VerifyReport all = verify(p.fabric);
  EXPECT_EQ(all.pairs_walked, all.pairs_total);
}

// A ring of 200 switches has 200 hosts and 800 links: with 400 vertices 1,200 steps for one search.
TEST(Verify, SearchesBoundTheNumberOfDestinations) {
  const Platform p = load("jellyfish:n=200,r=2,hosts_per_switch=1");
  const VerifyReport r = verify(p.fabric, 1ULL << 22, 1ULL << 32, 60'000);
  EXPECT_THAT(r.findings, IsEmpty());
  EXPECT_EQ(r.destinations_walked, 50u);
  EXPECT_EQ(r.pairs_walked, 50u * 199u);
  EXPECT_EQ(verify(p.fabric).destinations_walked, 200u);
}

// Every pair is walked once where all are: the hosts that no route leads to, or from, make known numbers of pairs.
TEST(Verify, FindsTheHostThatNoRouteLeadsTo) {
  std::string line = "digraph g {\n  s0 [kind=switch];\n";
  for (int i = 0; i < 600; ++i) {
    line += fmt::format("  s{0} [kind=switch]; h{0} [kind=host]; h{0} -> s{0};\n", i);
    if (i != 123) line += fmt::format("  s{0} -> h{0};\n", i);
    if (i > 0) line += fmt::format("  s{0} -> s{1}; s{1} -> s{0};\n", i - 1, i);
  }
  const TempFile file("line.dot", line + "}\n");
  const Platform p = load("file:path=" + file.path() + ",bw=100Gbps");
  const VerifyReport all = verify(p.fabric);
  EXPECT_EQ(all.pairs_walked, 600u * 599u);
  EXPECT_EQ(all.unreachable, 599u);
  const VerifyReport few = verify(p.fabric, 1ULL << 22, 1ULL << 18);
  EXPECT_LT(few.pairs_walked, 2000u);
  EXPECT_GE(few.unreachable, 1u);
}

}  // namespace
}  // namespace weft::topology
