// Which predictions are not told apart, against Student's published quantiles and sums by hand.
#include "report/hpl/close_runs.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace weft::report::close_runs_test {
namespace {

RatedRun of_seeds(const std::vector<double>& gflops, std::optional<double> interval = 0.0) {
  RatedRun run{{}, gflops, interval};
  for (std::size_t i = 0; i < gflops.size(); ++i) run.seeds.push_back(i);
  return run;
}

// Two-sided 95 %, from any table of the distribution.
TEST(CloseRuns, StudentsQuantileIsThatOfThePublishedTables) {
  const std::vector<std::pair<std::size_t, double>> table = {
      {1, 12.706}, {2, 4.303},  {4, 2.776},  {9, 2.262},  {19, 2.093}, {20, 2.086},
      {21, 2.080}, {24, 2.064}, {30, 2.042}, {60, 2.000}, {120, 1.980}};
  for (const auto& [freedom, t] : table) EXPECT_NEAR(student_quantile(freedom), t, 6e-4) << freedom;
}

// Differences 1, 2, 3, 4, 5 times a unit about their mean of 3: s = sqrt(2.5), so t s / sqrt(5) = 2.776 x 0.7071 = 1.963 units.
TEST(CloseRuns, SeedsThatAreCommonArePaired) {
  const auto slower_by = [](double shift) {
    std::vector<double> best, other;
    for (int i = 1; i <= 5; ++i) {
      best.push_back(100 + 7.0 * i * i);  // the seeds scatter far more than the difference
      other.push_back(best.back() - (i - 3 + shift));
    }
    const std::vector<RatedRun> runs = {of_seeds(other), of_seeds(best)};
    EXPECT_EQ(fastest_of(runs), 1u);
    return close_runs(runs, 1, true);
  };
  EXPECT_EQ(slower_by(1.97).size(), 0u);
  const auto close = slower_by(1.95);
  ASSERT_EQ(close.size(), 1u);
  EXPECT_EQ(close[0].run, 0u);
  EXPECT_EQ(close[0].why, WhyClose::kWithin);
  EXPECT_NEAR(close[0].slower, 1.95 / (100 + 7.0 * 11), 1e-12);
}

TEST(CloseRuns, OnlySeedsThatBothHaveArePaired) {
  RatedRun best = of_seeds({100, 110, 120}), other = of_seeds({99.9, 119.9});
  other.seeds = {0, 2};
  // Differences of 0.1 and 0.1: no scatter. Unpaired, the means would be 0.1 % apart the other way.
  EXPECT_TRUE(close_runs(std::vector{best, other}, 0, true).empty());
}

TEST(CloseRuns, IntervalsOfSamplesAddUp) {
  const std::vector<RatedRun> runs = {of_seeds({100}, 0.01), of_seeds({98}, 0.0103), of_seeds({98}, 0.01),
                                      of_seeds({97}, std::nullopt), of_seeds({94.9}, std::nullopt)};
  const auto close = close_runs(runs, 0, false);
  ASSERT_EQ(close.size(), 2u);
  // 98 (1 + 0.0103) = 99.009 meets 100 (1 - 0.01) = 99, 98 (1 + 0.01) = 98.98 does not.
  EXPECT_EQ(close[0].run, 1u);
  EXPECT_EQ(close[0].why, WhyClose::kWithin);
  EXPECT_EQ(close[1].run, 3u);
  EXPECT_EQ(close[1].why, WhyClose::kNoInterval);
}

TEST(CloseRuns, WhatIsEqualIsSo_AndOneSeedLeavesChance) {
  const std::vector<RatedRun> runs = {of_seeds({100}), of_seeds({100}), of_seeds({99.5}), of_seeds({98.9})};
  const auto close = close_runs(runs, 0, true);
  ASSERT_EQ(close.size(), 2u);
  EXPECT_EQ(close[0].why, WhyClose::kEqual);
  EXPECT_EQ(close[1].why, WhyClose::kOneSeed);
  EXPECT_EQ(close_runs(runs, 0, false).size(), 1u) << "nothing is drawn";
  std::vector<hpl_gen::HplConfig> configs(4);
  configs[1].bcast = hpl_gen::Bcast::kLong, configs[2].nb = 7;
  std::vector<NamedRun> named;
  for (const auto& c : configs) named.push_back({"", &c});
  EXPECT_EQ(close_runs_text(close, named, 0, 1, "--repeat 5"),
            "As fast: Lng.\nWith one seed: NB 7, 0.5 % slower; --repeat 5 tells that from chance.\n");
  EXPECT_EQ(
      close_runs_json(close, 0).dump(),
      R"({"index":0,"close":[{"index":1,"why":"equal","slower":0.0},{"index":2,"why":"one seed","slower":0.0050000000000000044}]})");
}

}  // namespace
}  // namespace weft::report::close_runs_test
