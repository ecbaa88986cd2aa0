// When the pivot exchanges of a panel are replayed as one operation: the cases that need no trial, and both ends of
// one.
#include "predict/hpl_exchanges.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "predict/hpl_prediction.hpp"
#include "tests/predict/support.hpp"
#include "tests/support/seed.hpp"
#include "topology/placement/placement.hpp"

namespace weft::predict {
namespace {

using hpl_gen::HplConfig;
using ::testing::HasSubstr;

constexpr std::int64_t kManyPanels = 1 << 20;

ExchangeChoice choose(const HplConfig& c, const topology::Platform& platform,
                      const PredictOptions& options = {}, std::int64_t planned = kManyPanels) {
  const auto hosts = topology::place_ranks(platform, static_cast<std::uint32_t>(c.ranks()), "block", 0);
  EXPECT_TRUE(hosts);
  auto r = choose_exchanges(c, platform, *hosts, options, planned);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? *r : ExchangeChoice();
}
ExchangeChoice choose(const HplConfig& c, const std::string& spec, const PredictOptions& options = {},
                      std::int64_t planned = kManyPanels) {
  return choose(c, platform_of(spec), options, planned);
}

HplConfig grid(int p, int q) { return {.n = 6000, .nb = 32, .p = p, .q = q, .depth = 1}; }

TEST(DefaultWarmUp, IsWhatTheLookAheadHasUnderWayAndAFew) {
  EXPECT_EQ(default_warm_up({.p = 2, .q = 2, .depth = 0}), 5);
  EXPECT_EQ(default_warm_up({.p = 2, .q = 2, .depth = 2}), 7);
  EXPECT_EQ(default_warm_up({.p = 2, .q = 1, .depth = 2}), 5) << "one column looks at nothing ahead";
}

TEST(ChooseExchanges, WhatIsAskedForIsDone) {
  PredictOptions o;
  o.exchanges = Exchanges::kMessages;
  const auto messages = choose(grid(2, 2), "crossbar:n=4", o);
  EXPECT_FALSE(messages.series);
  EXPECT_EQ(messages.differs_at_most, 0.0);
  o.exchanges = Exchanges::kSeries;
  const auto series = choose(grid(2, 2), "crossbar:n=4", o);
  EXPECT_TRUE(series.series);
  EXPECT_FALSE(series.differs_at_most.has_value()) << "nobody looked";
  EXPECT_EQ(messages.panels_tried + series.panels_tried, 0);
}

TEST(ChooseExchanges, WhereNothingIsSharedTheSeriesIsExactWithoutATrial) {
  const auto exact = [](const ExchangeChoice& c, const char* why) {
    EXPECT_TRUE(c.series) << why;
    EXPECT_EQ(c.differs_at_most, 0.0);
    EXPECT_EQ(c.panels_tried, 0);
    EXPECT_THAT(c.why, HasSubstr(why));
  };
  exact(choose(grid(1, 4), "crossbar:n=4"), "one process row");
  PredictOptions o;
  o.model = "contention-free";
  exact(choose(grid(2, 2), "crossbar:n=4", o), "no contention");
  HplConfig columns = grid(2, 2);
  columns.pmap = hpl_gen::ProcessMap::kColumnMajor;  // ranks 0 and 1 are a column, and a host
  exact(choose(columns, "crossbar:n=2,ranks_per_host=2"), "within hosts");
  // Dahu deals ranks to its two sockets in turn: 0 and 2 are a column, and on one of them.
  exact(choose(grid(1, 4), "dahu"), "one process row");
  exact(choose(grid(2, 2), "dahu"), "within sockets");
}

// The series has the route of each pair; messages take others, of which the model need not know.
TEST(ChooseExchanges, WhereMessagesChooseTheirRoutesTheyAreTried) {
  PredictOptions o;
  o.model = "contention-free";
  for (const char* routing : {"valiant", "ugal-u"}) {
    const std::string spec = std::string("dragonfly:p=1,a=2,h=1,routing=") + routing;
    o.exchanges = Exchanges::kAuto;
    EXPECT_THAT(choose(grid(2, 2), spec, o, 50).why, HasSubstr("so few panels")) << routing;
    EXPECT_GT(choose(grid(2, 2), spec, o).panels_tried, 0) << routing;
    o.exchanges = Exchanges::kSeries;
    const auto series = choose(grid(2, 2), spec, o);
    EXPECT_FALSE(series.differs_at_most.has_value()) << routing;
    EXPECT_THAT(series.why, HasSubstr("left out: routes of single messages")) << routing;
    EXPECT_EQ(choose(grid(1, 4), spec, o).differs_at_most, 0.0) << "nothing to exchange";
  }
  EXPECT_EQ(choose(grid(2, 2), "dragonfly:p=1,a=2,h=1", o).differs_at_most, 0.0);
}

// To the picosecond, whatever kernels cost: also copies of rows, where some processes have no rows left, and where cores
// compute faster the more they have waited, also within a panel.
TEST(ChooseExchanges, ASeriesThatIsExactTakesTheTimeOfItsMessages) {
  std::string kernels;
  for (const char* name : {"dgemm", "dtrsm_left", "dtrsm_right", "dgemv", "dger", "dcopy", "dscal", "idamax",
                           "dlacpy", "dlaswp", "dswap", "daxpy"})
    kernels +=
        std::string(" kernel { name: \"") + name + "\" intercept: \"300ns\" mnk: \"100ps\" mn: \"1ns\" }";
  const topology::Platform platforms[] = {
      crossbar_of(24, kernels),
      crossbar_of(24, kernels + " power { waiting: \"0.4\" headroom: \"1.3\" time: \"1ms\" }")};
  const std::uint64_t seed = support::seed_or(1);
  for (std::uint64_t i = seed; i < seed + 60; ++i) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(i));
    const auto& platform = platforms[i % 2];
    Rng rng(i);
    HplConfig c{.n = static_cast<std::int64_t>(1 + rng.below(500)),
                .nb = static_cast<int>(1 + rng.below(60)),
                .p = static_cast<int>(2 + rng.below(5)),
                .q = static_cast<int>(1 + rng.below(3)),
                .depth = static_cast<int>(rng.below(2))};
    c.pfact = static_cast<hpl_gen::Factor>(rng.below(3));
    c.rfact = static_cast<hpl_gen::Factor>(rng.below(3));
    c.nbmin = static_cast<int>(1 + rng.below(8));
    PredictOptions o;
    o.model = "contention-free";
    o.exchanges = Exchanges::kMessages;
    const auto messages = predict_hpl(c, platform, o);
    o.exchanges = Exchanges::kSeries;
    const auto series = predict_hpl(c, platform, o);
    ASSERT_TRUE(messages && series);
    EXPECT_NEAR(series->time_s, messages->time_s, 1e-11 * messages->time_s)
        << "N " << c.n << " NB " << c.nb << " on " << c.p << " x " << c.q;
    if (::testing::Test::HasFailure()) return;
  }
}

// Which ranks are a process column is for the program to say, and between sockets that a link joins messages share that.
TEST(ChooseExchanges, ColumnsThatCrossALinkAreTried) {
  HplConfig c = grid(4, 4);
  c.pmap = hpl_gen::ProcessMap::kColumnMajor;
  c.program = hpl_gen::Program::kRocHpl;
  const auto why = [&](int local_p, int local_q) {
    c.rochpl.local_p = local_p;
    c.rochpl.local_q = local_q;
    return choose(c, "crossbar:n=4,ranks_per_host=4", {}, 50).why;
  };
  EXPECT_THAT(why(0, 0), HasSubstr("within hosts"));
  EXPECT_THAT(why(4, 1), HasSubstr("within hosts"));
  EXPECT_THAT(why(2, 2), HasSubstr("so few panels")) << "a column is on two hosts";
  EXPECT_THAT(choose(grid(32, 1), "dahu", {}, 50).why, HasSubstr("so few panels")) << "one host, two sockets";
}

TEST(ChooseExchanges, AFewPanelsAreNotWorthATrial) {
  const auto c = choose(grid(2, 2), "crossbar:n=4", {}, 50);
  EXPECT_FALSE(c.series);
  EXPECT_EQ(c.panels_tried, 0);
  EXPECT_THAT(c.why, HasSubstr("so few panels"));
}

TEST(ChooseExchanges, ATrialTakesTheSeriesWhereItIsTheSame) {
  const auto c = choose(grid(2, 2), "crossbar:n=4,bw=100Gbps,lat=0.5us,speed=5Gflops");
  EXPECT_TRUE(c.series) << c.why;
  EXPECT_GT(c.panels_tried, 0);
  ASSERT_TRUE(c.differs_at_most.has_value());
  EXPECT_LE(*c.differs_at_most, kSeriesTolerance);
}

// 24 panels differ by 0.3 % of the time at most, the run by 1.06 %: what its exchanges wait for says it, over all columns.
TEST(ChooseExchanges, ATrialKeepsToMessagesWhereExchangesThemselvesTakeLonger) {
  HplConfig c{.n = 8864, .nb = 32, .p = 4, .q = 6, .pfact = hpl_gen::Factor::kLeft, .depth = 1};
  c.bcast = hpl_gen::Bcast::k1RingM, c.swap = hpl_gen::Swap::kBinaryExchange;
  const auto platform = platform_of("xgft:h=2,m=4x6,w=1x4,bw=3.809Gbps,lat=1.03us,speed=9.848749765Gflops");
  const auto hosts = topology::place_ranks(platform, 24, "cyclic", 1);
  ASSERT_TRUE(hosts);
  const auto choice = choose_exchanges(c, platform, *hosts, {}, kManyPanels);
  ASSERT_TRUE(choice);
  EXPECT_FALSE(choice->series) << choice->why;
  EXPECT_EQ(choice->phases_at_most.s[hpl_gen::PanelSeconds::kPfact], 0.0);
}

// When a panel ends is a matter of the last rank: panels' times, compared one by one, scatter more than what is to be seen.
TEST(ChooseExchanges, ATrialComparesWhatRanksSpendNotWhenPanelsEnd) {
  HplConfig c{.n = 6830, .nb = 24, .p = 4, .q = 2, .pfact = hpl_gen::Factor::kCrout, .depth = 1};
  c.bcast = hpl_gen::Bcast::k2RingM, c.swap = hpl_gen::Swap::kSpreadRoll;
  const auto choice = choose(c, "torus:dims=4x2,bw=2.698Gbps,lat=0.6184us,speed=2.01040277Gflops");
  EXPECT_TRUE(choice.series) << choice.why;
  ASSERT_TRUE(choice.differs_at_most.has_value());
  EXPECT_LT(*choice.differs_at_most, 0.005);
  EXPECT_GT(choice.phases_at_most.s[hpl_gen::PanelSeconds::kPfact], 0.0);
  EXPECT_LT(choice.phases_at_most.s[hpl_gen::PanelSeconds::kPfact], *choice.differs_at_most / 6)
      << "three times over both columns";
}

// 45 panels differ by 0.95 % at most, most of that chance, 68 by 0.70 %; the run by 0.35 %.
TEST(ChooseExchanges, WhereOnlyChanceSaysNoTheTrialGoesOnWhileItPays) {
  HplConfig c{.n = 3807, .nb = 16, .p = 2, .q = 4, .pfact = hpl_gen::Factor::kCrout, .depth = 2};
  c.rfact = hpl_gen::Factor::kCrout, c.bcast = hpl_gen::Bcast::k1Ring, c.swap = hpl_gen::Swap::kSpreadRoll;
  const auto platform = platform_of("xgft:m=4x2,w=1x1,bw=21.47Gbps,lat=2.518us,speed=47.85327505Gflops");
  PredictOptions o;
  o.pivots.seed = 1;
  const auto few = choose(c, platform, o, 150);
  EXPECT_FALSE(few.series) << few.why;
  EXPECT_EQ(few.panels_tried, 45) << few.why;
  const auto many = choose(c, platform, o, 3 * 68);
  EXPECT_TRUE(many.series) << many.why;
  EXPECT_EQ(many.panels_tried, 68);
  ASSERT_TRUE(many.differs_at_most.has_value());
  EXPECT_GT(*many.differs_at_most, 0.0035);
}

TEST(ChooseExchanges, ATrialKeepsToMessagesWhereTheNetworkTakesMostOfTheTime) {
  const auto c = choose(grid(2, 2), "crossbar:n=4,bw=1Gbps,lat=5us,speed=100Gflops");
  EXPECT_FALSE(c.series);
  EXPECT_GT(c.panels_tried, 0);
  EXPECT_EQ(c.differs_at_most, 0.0);
  EXPECT_THAT(c.why, HasSubstr("network takes most"));
}

TEST(ChooseExchanges, ProgressSaysWhatTheTrialAdds) {
  PredictOptions o;
  std::int64_t done = 0, planned = 0;
  o.on_panels = [&](std::int64_t d, std::int64_t p) {
    done += d;
    planned += p;
  };
  const auto c = choose(grid(2, 2), "crossbar:n=4", o);
  EXPECT_GT(c.panels_tried, 0);
  EXPECT_EQ(done, planned);
}

}  // namespace
}  // namespace weft::predict
