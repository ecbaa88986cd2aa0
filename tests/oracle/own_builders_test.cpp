// The same traces over Weft's own builders of the shapes that SimGrid built: where the routes are the same,
// so are the times; where SimGrid's routes are not what the topology is (dragonfly: one gateway router a
// group), they are not.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/oracle/compare.hpp"
#include "tests/support/checkout.hpp"

namespace weft::testing::own_builders_test {
namespace {

const std::string kData = support::source_dir() + "/tests/oracle/data";

struct Builder {
  const char* platform;
  const char* spec;
  bool same_routes;
};

class OwnBuilders : public ::testing::TestWithParam<Builder> {};

TEST_P(OwnBuilders, GiveSimGridsTimesWhereTheRoutesAreTheSame) {
  auto oracle = SimgridOracle::open(kData, kData);
  ASSERT_TRUE(oracle) << oracle.error().message();
  ASSERT_TRUE(oracle->use_builder(GetParam().platform, GetParam().spec));
  double worst = 0;
  std::size_t count = 0;
  for (const char* trace : {"2x2_500_64", "4x4_2000_64"}) {
    for (const auto& c : oracle->cases(trace)) {
      if (c.platform != GetParam().platform) continue;
      const auto row = oracle->run(c);
      ASSERT_TRUE(row) << c.name() << ": " << row.error().message();
      EXPECT_FALSE(row->deadlock);
      if (GetParam().same_routes) {
        EXPECT_LT(row->worst, kTolerance) << c.name() << ", rank " << row->rank;
      }
      worst = std::max(worst, row->worst);
      ++count;
    }
  }
  EXPECT_EQ(count, 24u);
  if (!GetParam().same_routes) {
    EXPECT_GT(worst, 1e-4) << "the routes differ, so must the times";
  }
  std::printf("ORACLE own builder %s: %zu replays, worst relative difference from SimGrid %.2g\n",
              GetParam().spec, count, worst);
}

INSTANTIATE_TEST_SUITE_P(Shape, OwnBuilders,
                         ::testing::Values(Builder{"crossbar", "crossbar:n=256", true},
                                           Builder{"fattree", "xgft:h=2,m=16x16,w=1x16,p=1x1", true},
                                           Builder{"fattree_taper", "xgft:h=2,m=16x16,w=1x4,p=1x1", true},
                                           Builder{"torus", "torus:dims=8x8x4,host_links=off,tie=simgrid",
                                                   true},
                                           Builder{"dragonfly", "dragonfly:p=4,a=16,h=1,g=4", false}),
                         [](const auto& p) { return std::string(p.param.platform); });

}  // namespace
}  // namespace weft::testing::own_builders_test
