// Order of the rows, slowdowns, and flips of a sweep, from results written by hand.
#include "report/sweep.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/report/hand_made.hpp"

namespace weft::report {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

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
        const std::string name = list.size() % 2 == 0 ? "a" : "b";
        runs.back().platform.name = name;
        list.push_back({runs.back().facts(), name, {v}});
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
  EXPECT_THAT(sweep_text(s, kNoWidth),
              HasSubstr("flip: a is faster with bw=x, b with bw=y (t.weft, map block)\n"));
}

// "x/p.textproto" and "y/p.textproto" have one name unless they say theirs; labels tell them apart.
TEST(Sweep, AFlipNamesPlatformsAsTheUserWroteThemWhereTheirNamesAreTheSame) {
  Grid g({{1000, 1500}, {900, 600}, {500, 400}});
  for (std::size_t i = 0; i < g.list.size(); ++i) {
    g.runs[i].platform.name = "p";
    g.runs[i].platform.label = i % 2 == 0 ? "" : "B";
    g.list[i].platform = i % 2 == 0 ? "x/p.textproto" : "B=y/p.textproto";
  }
  const auto s = sweep_runs(kAxes, g.list);
  for (const SweepRow& row : s.rows) EXPECT_EQ(row.row.platform, "p");
  ASSERT_EQ(s.flips.size(), 1u);
  EXPECT_EQ(s.flips[0].name_before, "x/p.textproto");
  EXPECT_EQ(s.flips[0].name_after, "y/p.textproto");
  EXPECT_THAT(sweep_text(s, kNoWidth), HasSubstr("flip: p is faster with bw=x, B with bw=y"));
}

// On a page no legend follows the sentences, of which every trace has one.
TEST(Sweep, AnswersHaveWholeNames) {
  Grid g({{1000, 1500}, {900, 600}, {500, 400}});
  const std::string a = "torus:dims=2x4,bw=10GB/s,lat=1us,speed=1Gflops",
                    b = "fat-tree:m=4,n=3,bw=10GB/s,lat=1us,speed=1Gflops";
  for (std::size_t i = 0; i < g.list.size(); ++i) g.runs[i].platform.name = i % 2 == 0 ? a : b;
  auto two = g.list;
  for (SweepRun& r : two) r.facts.trace = "u.weft";
  two.insert(two.begin(), g.list.begin(), g.list.end());
  const auto s = sweep_runs(kAxes, two);
  EXPECT_THAT(sweep_answers(s), ElementsAre("t.weft: fastest with bw=z on " + b + ", 400 us",
                                            "u.weft: fastest with bw=z on " + b + ", 400 us"));
  EXPECT_THAT(sweep_text(s, kNoWidth), AllOf(StartsWith("t.weft: fastest with bw=z on P2, 400 us\n"),
                                             EndsWith("\nP1 = " + a + "\nP2 = " + b + "\n")));
}

TEST(Sweep, TheFirstSentenceNamesTheMapWhereThereAreSeveral) {
  Grid g({{1000, 1500}, {900, 600}, {500, 400}});
  EXPECT_THAT(sweep_answers(sweep_runs(kAxes, g.list)),
              ElementsAre("t.weft: fastest with bw=z on b, 400 us"));
  g.list[0].facts.map = "random";
  EXPECT_THAT(sweep_answers(sweep_runs(kAxes, g.list)),
              ElementsAre("t.weft: fastest with bw=z and map block on b, 400 us"));
}

TEST(Sweep, ATieIsNoFlip) {
  const Grid g({{1000, 1500}, {600, 600}, {500, 700}});
  EXPECT_TRUE(sweep_runs(kAxes, g.list).flips.empty());
}

TEST(Sweep, ATieBetweenIsPassedOver) {
  const Grid g({{1000, 1500}, {600, 600}, {500, 400}});
  const auto s = sweep_runs(kAxes, g.list);
  ASSERT_EQ(s.flips.size(), 1u);
  EXPECT_EQ(s.flips[0].from, "x");
  EXPECT_EQ(s.flips[0].to, "z");
  EXPECT_EQ(s.flips[0].faster_before, "a");
}

TEST(Sweep, ADeadlockTakesNoPartInFlips) {
  Grid g({{1000, 1500}, {900, 600}, {500, 400}});
  g.runs[3].result.finished = false;
  g.runs[3].result.deadlock.blocked = {{RankId(0), 3, "recv from 1", "t:1", {RankId(1)}}};
  const auto s = sweep_runs(kAxes, g.list);
  EXPECT_TRUE(s.flips.empty());
  EXPECT_FALSE(s.rows[3].row.slowdown);
  constexpr const char* kAlike = "the ranking of the platforms is the same everywhere";
  EXPECT_THAT(sweep_text(s, kNoWidth), Not(HasSubstr(kAlike))) << "a is faster with x, b with z";
  g.runs[5].result.makespan = g.runs[4].result.makespan + HandMade::us(1);
  EXPECT_THAT(sweep_text(sweep_runs(kAxes, g.list), kNoWidth), HasSubstr(kAlike));
}

TEST(Sweep, AKeyIsIdleOnlyWhereTwoOfItsValuesWereComparedAndNoRunIsMissing) {
  Grid g({{1, 2}, {1, 2}, {1, 2}});
  EXPECT_THAT(sweep_runs(kAxes, g.list).warnings, ElementsAre("bw changes nothing for t.weft"));
  const auto stopped = sweep_runs(kAxes, g.list, false, false);
  EXPECT_TRUE(stopped.warnings.empty());
  EXPECT_FALSE(stopped.ranked_alike);
  // One value on a, another one on b.
  const std::vector<SweepRun> apart{g.list[0], g.list[3]};
  EXPECT_TRUE(sweep_runs(kAxes, apart).warnings.empty());
}

// Both ways from the first setting to the last lead over a tie.
TEST(Sweep, ARankingThatTurnsOverTiesOfTwoKeysIsNotTheSameEverywhere) {
  Grid g({{1, 2}, {2, 2}, {2, 2}, {2, 1}});
  for (std::size_t i = 0; i < g.list.size(); ++i) g.list[i].choice = {i / 4, i / 2 % 2};
  const std::vector<SweepAxis> two{{"bw", {"x", "y"}}, {"lat", {"x", "y"}}};
  const auto s = sweep_runs(two, g.list);
  EXPECT_TRUE(s.flips.empty());
  EXPECT_THAT(sweep_text(s, kNoWidth), Not(HasSubstr("the same everywhere")));
}

// Times with a closed form: a = 100 + 800 / GB/s, b = 200 + 400 / GB/s microseconds, equal at 4 GB/s.
double time_of(const std::string& platform, double gb_per_s) {
  return platform == "a" ? 100 + 800 / gb_per_s : 200 + 400 / gb_per_s;
}

TEST(Sweep, TheFlipIsInterpolatedInWhatTimeIsLinearIn) {
  const Grid g({{time_of("a", 2), time_of("b", 2)}, {time_of("a", 10), time_of("b", 10)}, {1, 2}});
  const auto s = sweep_runs({{"bw", {"16Gbps", "10GB/s", "100GB/s"}}}, g.list);
  ASSERT_EQ(s.flips.size(), 1u);
  ASSERT_TRUE(s.flips[0].at.has_value());
  EXPECT_NEAR(s.flips[0].at->value, 4e9, 1);
  const auto j = nlohmann::ordered_json::parse(sweep_json(s));
  EXPECT_NEAR(j["flips"][0]["at"].get<double>(), 4e9, 1);
  EXPECT_EQ(j["flips"][0]["how"], "interpolated");
  EXPECT_THAT(sweep_text(s, kNoWidth), HasSubstr("equal at about 4 GB/s"));
}

TEST(Sweep, AValueThatIsNoNumberHasNoPlaceBetween) {
  const Grid g({{1000, 1500}, {900, 600}, {500, 400}});
  EXPECT_FALSE(sweep_runs({{"routing", {"d-mod-k", "s-mod-k", "random"}}}, g.list).flips[0].at.has_value());
  EXPECT_FALSE(sweep_runs({{"n", {"3", "4", "5"}}}, g.list).flips[0].at.has_value())
      << "nothing between 3 and 4";
  EXPECT_FALSE(sweep_runs({{"bw", {"8Gbpsx9Gbps", "9Gbpsx9Gbps", "1Gbps"}}}, g.list).flips[0].at.has_value());
}

TEST(Sweep, BisectionFindsAFlipThatInterpolationMisses) {
  Flip f;
  f.faster_before = "a";
  f.faster_after = "b";
  f.to = "100us";
  // Not linear: a is 50 us plus the square of the latency, equal to b = 114 us at 8 us.
  const auto time = [](const std::string& platform, double us) {
    return platform == "a" ? 50 + us * us : 114.0;
  };
  f.gap_from = time("a", 0) - time("b", 0);
  f.gap_to = time("a", 100) - time("b", 100);
  f.from = "0";
  const auto ends = parse_axis_interval(f.from, f.to);
  ASSERT_TRUE(ends.has_value()) << "a bare 0 is a latency too";
  f.at = crossing(ends->first, f.gap_from, ends->second, f.gap_to);
  ASSERT_TRUE(f.at.has_value());
  EXPECT_LT(f.at->value, 2e-6) << "the straight line is far off";
  int calls = 0;
  ASSERT_TRUE(refine_flip(f, 20, [&](const std::string& platform, const std::string& value) {
                ++calls;
                return Result<std::optional<double>>(time(platform, parse_axis_value(value)->value * 1e6));
              }).has_value());
  EXPECT_NEAR(f.at->value, 8e-6, 1e-9);
  EXPECT_EQ(calls, 40);
  EXPECT_EQ(f.replays, 20u);
}

TEST(Sweep, BisectionOfWholeNumbersEndsAtTheFirstValueOfTheOther) {
  Flip f;
  f.faster_before = "a";
  f.faster_after = "b";
  f.from = "1";
  f.to = "16";
  f.gap_from = -1;
  f.gap_to = 1;
  f.at = crossing(*parse_axis_value("1"), -1, *parse_axis_value("16"), 1);
  ASSERT_TRUE(f.at.has_value());
  const auto time = [](const std::string& platform, const std::string& value) {
    return Result<std::optional<double>>(platform == "a" && std::stoi(value) >= 11 ? 2.0
                                         : platform == "a"                         ? 0.0
                                                                                   : 1.0);
  };
  ASSERT_TRUE(refine_flip(f, 60, time).has_value());
  EXPECT_EQ(axis_text(*f.at), "11");
}

TEST(Sweep, ValuesOfAnAxisReadBackAsTheyArePrinted) {
  for (const char* text : {"25Gbps", "12.5GB/s", "1.5us", "64KiB", "10Gflops", "0.25", "16"}) {
    const auto v = parse_axis_value(text);
    ASSERT_TRUE(v.has_value()) << text;
    const auto again = parse_axis_value(axis_text(*v));
    ASSERT_TRUE(again.has_value()) << axis_text(*v);
    EXPECT_EQ(again->kind, v->kind) << text;
    EXPECT_EQ(again->value, v->value) << text;
    EXPECT_EQ(axis_at(v->kind, axis_coordinate(*v)).value, v->value);
  }
}

}  // namespace
}  // namespace weft::report
