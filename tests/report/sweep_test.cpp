// Order of the rows, slowdowns, and flips of a sweep, from results written by hand.
#include "report/sweep.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/report/hand_made.hpp"

namespace weft::report {
namespace {

using testing::HasSubstr;

// Makespans in us by platform (a, b) and value of "bw" (x, y, z).
struct Grid {
  std::vector<HandMade> runs;
  std::vector<SweepRun> list;
  explicit Grid(const std::vector<std::pair<double, double>>& us) {
    runs.reserve(2 * us.size());
    for (std::size_t v = 0; v < us.size(); ++v)
      for (const double t : {us[v].first, us[v].second}) {
        runs.emplace_back();
        runs.back().result.makespan = HandMade::us(t);
        list.push_back({runs.back().facts(), list.size() % 2 == 0 ? "a" : "b", {v}});
      }
  }
};
const std::vector<SweepAxis> kAxes{{"bw", {"x", "y", "z"}}};

TEST(Sweep, OrdersRowsByValueThenTimeAndMeasuresAgainstTheBestOfAll) {
  const Grid g({{1000, 1500}, {900, 600}, {500, 400}});
  const auto rows = sweep_runs(kAxes, g.list).rows;
  ASSERT_EQ(rows.size(), 6u);
  const char* platforms[] = {"a", "b", "b", "a", "b", "a"};
  const double slowdowns[] = {2.5, 3.75, 1.5, 2.25, 1.0, 1.25};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(rows[i].row.platform, platforms[i]);
    EXPECT_DOUBLE_EQ(*rows[i].row.slowdown, slowdowns[i]);
    EXPECT_EQ(rows[i].set[0].second, kAxes[0].values[i / 2]);
  }
}

TEST(Sweep, FindsTheFlipBetweenNeighbouringValuesOnly) {
  const Grid g({{1000, 1500}, {900, 600}, {500, 400}});
  const auto s = sweep_runs(kAxes, g.list);
  ASSERT_EQ(s.flips.size(), 1u);
  EXPECT_EQ(s.flips[0].from, "x");
  EXPECT_EQ(s.flips[0].to, "y");
  EXPECT_EQ(s.flips[0].faster_before, "a");
  EXPECT_EQ(s.flips[0].faster_after, "b");
  const auto j = nlohmann::ordered_json::parse(sweep_json(s));
  EXPECT_EQ(j["flips"][0]["platforms"].dump(), "[\"a\",\"b\"]");
  EXPECT_EQ(j["flips"][0]["key"], "bw");
  EXPECT_THAT(sweep_text(s), HasSubstr("flip: a is faster with bw=x, b with bw=y (t.weft, map block)\n"));
}

TEST(Sweep, ATieIsNoFlip) {
  const Grid g({{1000, 1500}, {600, 600}, {500, 700}});
  EXPECT_TRUE(sweep_runs(kAxes, g.list).flips.empty());
}

TEST(Sweep, ADeadlockTakesNoPartInFlips) {
  Grid g({{1000, 1500}, {900, 600}, {500, 400}});
  g.runs[3].result.finished = false;
  g.runs[3].result.deadlock.blocked = {{RankId(0), 3, "recv from 1", "t:1", {RankId(1)}}};
  const auto s = sweep_runs(kAxes, g.list);
  EXPECT_TRUE(s.flips.empty());
  EXPECT_FALSE(s.rows[3].row.slowdown);
}

}  // namespace
}  // namespace weft::report
