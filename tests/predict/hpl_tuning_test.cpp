// What tuning tries, and that it stops when it is told to.
#include "predict/hpl_tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "tests/predict/support.hpp"

namespace weft::predict {
namespace {

using hpl_gen::Grid;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TuningSpace, HasWhatIsListedAndWhatIsUsualForTheRest) {
  hpl_gen::HplDat dat;
  dat.n = {4000, 5000};
  dat.nb = {100, 128};
  dat.grids = {{16, 1}};
  dat.bcast = {hpl_gen::Bcast::kLong};
  dat.depth = {2};
  dat.swap = hpl_gen::Swap::kMix;
  const auto listed = tuning_space(dat, {});
  EXPECT_EQ(listed.n, dat.n);
  EXPECT_EQ(listed.nb, dat.nb);
  EXPECT_EQ(listed.grids, dat.grids);
  EXPECT_EQ(listed.bcast, dat.bcast);
  EXPECT_EQ(listed.depth, dat.depth);
  EXPECT_THAT(listed.swap, ElementsAre(hpl_gen::Swap::kMix));
  EXPECT_THAT(listed.pmap, ElementsAre(dat.pmap));

  const auto all =
      tuning_space(dat, {.nb = true, .grid = true, .bcast = true, .depth = true, .swap = true, .pmap = true});
  EXPECT_EQ(all.n, dat.n);
  EXPECT_THAT(all.nb, ElementsAre(100, 128, 64, 96, 192, 256, 384));
  // 1 x 16 is too wide, 8 x 2 too high; 16 x 1 was asked for.
  EXPECT_THAT(all.grids, ElementsAre(Grid{16, 1}, Grid{2, 8}, Grid{4, 4}));
  EXPECT_EQ(all.bcast.size(), 6u);
  EXPECT_THAT(all.depth, ElementsAre(2, 0, 1));
  EXPECT_EQ(all.swap.size(), 3u);
  EXPECT_EQ(all.pmap.size(), 2u);
}

TEST(TuningSpace, HasNoGridThatTheRowsAndColumnsOnANodeDoNotDivide) {
  hpl_gen::HplDat dat;
  dat.grids = {{2, 4}};
  for (const auto program : {hpl_gen::Program::kRocHpl, hpl_gen::Program::kNvidia}) {
    dat.program = program;
    dat.rochpl = {};
    EXPECT_THAT(tuning_space(dat, {.grid = true}).grids, ElementsAre(Grid{2, 4}, Grid{1, 8}, Grid{4, 2}));
    dat.rochpl.local_p = 2, dat.rochpl.local_q = 2;
    EXPECT_THAT(tuning_space(dat, {.grid = true}).grids, ElementsAre(Grid{2, 4}, Grid{4, 2}));
    dat.rochpl.local_p = 2, dat.rochpl.local_q = 4;
    EXPECT_THAT(tuning_space(dat, {.grid = true}).grids, ElementsAre(Grid{2, 4}));
  }
}

TEST(TuningSpace, HasNoGridThatRocHplDoesNotLayOnTheNodes) {
  hpl_gen::HplDat dat;
  dat.grids = {{3, 4}};
  dat.program = hpl_gen::Program::kRocHpl;
  EXPECT_THAT(tuning_space(dat, {.grid = true}).grids, ElementsAre(Grid{3, 4}, Grid{2, 6}, Grid{4, 3}));
  EXPECT_THAT(tuning_space(dat, {.grid = true}, 4).grids, ElementsAre(Grid{3, 4}));
  EXPECT_THAT(tuning_space(dat, {.grid = true}, 2).grids, ElementsAre(Grid{3, 4}, Grid{2, 6}));
  dat.rochpl.local_p = 4;
  EXPECT_THAT(tuning_space(dat, {.grid = true}, 4).grids, ElementsAre(Grid{3, 4}, Grid{4, 3}));
}

// Four panels and four blocks of rows of U take 4 NB (9600 / P + 9600 / Q) 8 B and a little: 22.4 MB with 96 on 2 x 4, 29.9 with 128, 44.7 with
// 192, and 44.6 with 128 on 1 x 8.
TEST(TuningSpace, HasNoBlockAndNoGridThatTheAcceleratorsMemoryIsTooSmallFor) {
  hpl_gen::HplDat dat;
  dat.n = {9600}, dat.nb = {96}, dat.grids = {{2, 4}};
  dat.program = hpl_gen::Program::kNvidia;
  dat.rochpl.device_memory = 30'000'000;
  const auto space = tuning_space(dat, {.nb = true, .grid = true});
  EXPECT_THAT(space.nb, ElementsAre(96, 64, 128));
  EXPECT_THAT(space.grids, ElementsAre(Grid{2, 4}, Grid{4, 2}));
}

class Tuning : public ::testing::Test {
 protected:
  Result<hpl_gen::SearchResult> tune(int evaluations, std::uint64_t stop_after) {
    hpl_gen::HplDat dat;
    dat.n = {1200};
    dat.nb = {32};
    dat.grids = {{2, 2}};
    PredictOptions options;
    options.stop = &stop_;
    stop_ = stop_after == 0;
    WEFT_ASSIGN(auto tuning, tune_hpl(dat.runs().front(), tuning_space(dat, {.nb = true, .bcast = true}),
                                      platform_of("crossbar:n=4,bw=10Gbps"), options, evaluations,
                                      [&](std::uint64_t done) {
                                        EXPECT_GE(done, told_);
                                        told_ = done;
                                        if (done >= stop_after) stop_ = true;
                                      }));
    return std::move(tuning.search);
  }
  std::atomic<bool> stop_{false};
  std::uint64_t told_ = 0;
};

TEST_F(Tuning, SpendsAtMostWhatItMayAndNoneIsWorseThanWhereItStarted) {
  const auto r = tune(9, 1000);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_TRUE(r->complete);
  EXPECT_LE(r->evaluations, 9);
  EXPECT_EQ(told_, static_cast<std::uint64_t>(r->evaluations));
  EXPECT_GE(r->best.gflops, r->base.gflops);
}

TEST_F(Tuning, StoppedBeforeTheFirstPredictionItHasNothing) {
  const auto r = tune(9, 0);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_FALSE(r->complete);
  EXPECT_THAT(r->ranking, IsEmpty());
  EXPECT_EQ(told_, 0u);
}

TEST_F(Tuning, StoppedUnderWayItEndsWithWhatItHas) {
  const auto r = tune(20, 3);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_FALSE(r->complete);
  EXPECT_EQ(told_, 3u);
  EXPECT_EQ(r->ranking.size(), 3u);
}

}  // namespace
}  // namespace weft::predict
