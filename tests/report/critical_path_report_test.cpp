// What is told of a critical path, from a result written by hand: shares that add up, rankings, efficiencies.
#include <gmock/gmock.h>

#include "predict/sensitivity.hpp"
#include "report/replay_json.hpp"
#include "report/replay_text.hpp"
#include "report/why/critical_path.hpp"
#include "tests/report/hand_made.hpp"

namespace weft::report::critical_path_report_test {
namespace {

using nlohmann::ordered_json;
using replay::PathPart;
using replay::PathSegment;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kMicro = 1'000'000;

// Rank 0 computes 1,000 us, a message of 600 us (250 of them contention on link 5) to rank 2, which takes 400 us in region 0.
HandMade with_path() {
  HandMade h;
  auto& path = h.result.path;
  path.known = true;
  const auto add = [&](std::int64_t us, std::uint32_t rank) -> PathSegment& {
    PathSegment s;
    s.from = path.segments.empty() ? SimTime{} : path.segments.back().to;
    s.to = s.from + Duration(us * kMicro);
    s.rank = RankId(rank);
    path.segments.push_back(s);
    return path.segments.back();
  };
  const auto part = [&](PathSegment& s, PathPart p, std::int64_t us) {
    s.parts[static_cast<std::size_t>(p)] += Duration(us * kMicro);
    path.parts[static_cast<std::size_t>(p)] += Duration(us * kMicro);
  };
  part(add(1000, 0), PathPart::kCompute, 1000);
  PathSegment& m = add(600, 0);
  m.receiver = RankId(2);
  m.bytes = 4096;
  m.held_by = LinkId(5);
  part(m, PathPart::kTransfer, 350);
  part(m, PathPart::kContention, 250);
  PathSegment& own = add(400, 2);
  own.region = RegionId(0);
  part(own, PathPart::kCompute, 390);
  path.slept = Duration(90 * kMicro);
  part(own, PathPart::kRecvOverhead, 10);
  path.messages = 1;
  path.bytes = 4096;
  path.trips = 3;
  path.link_latencies = 7.5;
  return h;
}

TEST(CriticalPathReport, TellsPartsRegionsLinksAndSegments) {
  const HandMade h = with_path();
  const auto j = ordered_json::parse(replay_json(h.facts(), {}));
  const auto& path = j["critical_path"];
  double sum = 0;
  for (const auto& [name, s] : path["parts"].items()) sum += s.get<double>();
  EXPECT_NEAR(sum, j["makespan_s"].get<double>(), 1e-15);
  EXPECT_EQ(
      path["by_link"].dump(),
      ordered_json::array(
          {{{"name", h.platform.fabric.link_name(LinkId(5))}, {"contention_s", 250e-6}, {"messages", 1}}})
          .dump());
  ASSERT_EQ(path["by_region"].size(), 2u);
  EXPECT_TRUE(path["by_region"][0]["name"].is_null());
  EXPECT_EQ(path["by_region"][0]["own_s"], 1e-3);
  EXPECT_EQ(path["by_region"][0]["messages_s"], 600e-6);
  EXPECT_EQ(path["by_region"][1]["name"], h.result.regions[0].name);
  EXPECT_EQ(path["by_rank"][0]["rank"], 0);
  EXPECT_EQ(path["by_rank"][1]["own_s"], 400e-6);
  ASSERT_EQ(path["segments"].size(), 3u);
  EXPECT_EQ(path["segments"][1]["what"], "message");
  EXPECT_EQ(path["segments"][1]["mostly"], "transfer");
  EXPECT_EQ(path["segments"][1]["receiver"], 2);
  EXPECT_EQ(j["sensitivity"]["dT_dL"], 3);
  EXPECT_EQ(j["sensitivity"]["dT_dL_link"], 7.5);
  EXPECT_EQ(j["sensitivity"]["dT_dG"], 4096);
  EXPECT_NEAR(j["sensitivity"]["dT_dbandwidth_s"].get<double>(), -600e-6, 1e-18);
  EXPECT_NEAR(j["sensitivity"]["dT_dcompute_s"].get<double>(), 1300e-6, 1e-18) << "sleep is not made shorter";
  EXPECT_FALSE(j.contains("efficiency")) << "nothing is known of an ideal network";
  const std::string text = replay_text(h.facts(), {});
  EXPECT_THAT(text, HasSubstr("2 stretches of 2 ranks and 1 message"));
  EXPECT_THAT(text, HasSubstr("contention: waiting for a share"));
  EXPECT_THAT(text, HasSubstr(h.platform.fabric.link_name(LinkId(5))));
  EXPECT_THAT(replay_text(HandMade().facts(), {}), Not(HasSubstr("critical path")));
}

// Who waited for whom in a series of exchanges is not known, nor what a change of anything would do there.
TEST(CriticalPathReport, APathThroughASeriesHasNoSlopes) {
  HandMade h = with_path();
  h.result.path.series = 1;
  predict::Sensitivity s;
  s.slopes.push_back({"latency", {}, Duration(20 * kMicro), Duration(10 * kMicro)});
  auto facts = h.facts();
  facts.sensitivity = &s;
  const auto j = ordered_json::parse(replay_json(facts, {}))["sensitivity"];
  for (const char* key : {"dT_dL", "dT_dL_link", "dT_dG", "dT_dcompute_s", "dT_dbandwidth_s"})
    EXPECT_TRUE(j[key].is_null()) << key;
  EXPECT_TRUE(j["slopes"][0]["told_s"].is_null());
  EXPECT_TRUE(j["slopes"][0]["difference_s"].is_null());
  EXPECT_EQ(j["slopes"][0]["one_percent_more_s"], 20e-6);
  const std::string text = replay_text(facts, {});
  EXPECT_THAT(text, HasSubstr("what a change is worth is not known"));
  EXPECT_THAT(text, Not(HasSubstr("1 us more latency a message")));
}

// What a probe waited for is the request of a message, a segment beside that of its data.
TEST(CriticalPathReport, RequestsAndCopiesAreNoStretchesOfARank) {
  HandMade h = with_path();
  auto& segments = h.result.path.segments;
  segments.insert(segments.begin() + 1, segments[1]);
  PathSegment copy = segments.front();
  copy.receiver = copy.rank;
  copy.copy = true;
  segments.insert(segments.begin(), copy);
  h.result.path.copies = 1;
  const auto j = ordered_json::parse(replay_json(h.facts(), {}))["critical_path"];
  EXPECT_EQ(j["segments_total"], 5);
  EXPECT_EQ(j["segments_own"], 2);
  EXPECT_THAT(replay_text(h.facts(), {}),
              HasSubstr("2 stretches of 2 ranks and 1 message of 4.1 kB, 1 copy over"));
}

TEST(CriticalPathReport, NothingHasNoSign) {
  HandMade h;
  h.result.path.known = true;
  predict::Sensitivity s;
  s.slopes.push_back({"bandwidth", Duration(0), Duration(0), Duration(0)});
  s.classes.push_back({"up", 2, h.result.makespan + Duration(1)});
  auto facts = h.facts();
  facts.sensitivity = &s;
  const auto j = ordered_json::parse(replay_json(facts, {}))["sensitivity"];
  EXPECT_EQ(j["dT_dbandwidth_s"].dump(), "0.0");
  EXPECT_EQ(j["slopes"][0]["one_percent_less_s"].dump(), "0.0");
  const std::string text = replay_text(facts, {});
  EXPECT_THAT(text, HasSubstr(" 0.00 %"));
  EXPECT_THAT(text, Not(HasSubstr("-0.00")));
}

TEST(CriticalPathReport, OfManySegmentsTheLongestAreListedInOrder) {
  HandMade h = with_path();
  PathSegment s = h.result.path.segments.front();
  s.to = s.from + Duration(1);
  h.result.path.segments.insert(h.result.path.segments.begin(), 20'000, s);
  const auto j = ordered_json::parse(replay_json(h.facts(), {}))["critical_path"];
  EXPECT_EQ(j["segments_total"], 20'003);
  ASSERT_EQ(j["segments"].size(), 10'000u);
  EXPECT_EQ(j["segments"][9'998]["what"], "message");
}

// Four ranks that compute for 10^18.8 ps, 73 days, are more than a Duration together.
TEST(CriticalPathReport, EfficiencyOfLongRuns) {
  HandMade h = with_path();
  h.result.makespan = Duration(6'400'000'000'000'000'000);
  for (auto& r : h.result.ranks) r.compute = h.result.makespan;
  auto facts = h.facts();
  facts.ideal = h.result.makespan;
  const auto e = efficiency(facts);
  ASSERT_TRUE(e);
  EXPECT_EQ(e->parallel, 1);
  EXPECT_EQ(e->load_balance, 1);
}

TEST(CriticalPathReport, EfficienciesMultiply) {
  HandMade h = with_path();
  auto facts = h.facts();
  facts.ideal = h.result.makespan * 3 / 4;
  const auto e = efficiency(facts);
  ASSERT_TRUE(e);
  EXPECT_NEAR(e->parallel, e->load_balance * e->communication, 1e-12);
  EXPECT_NEAR(e->communication, e->serialisation * e->transfer, 1e-12);
  EXPECT_NEAR(e->transfer, 0.75, 1e-12);
  double sum = 0;
  for (const auto& r : h.result.ranks) sum += to_seconds(r.compute);
  EXPECT_NEAR(e->parallel, sum / 4 / to_seconds(h.result.makespan), 1e-12);
  EXPECT_EQ(ordered_json::parse(replay_json(facts, {}))["efficiency"]["transfer"], e->transfer);
  EXPECT_THAT(replay_text(facts, {}), HasSubstr("efficiency "));
  // A region by the same rules: 4 ranks compute 40 us there, one of them 30, and are in it for 50 us, ideally for 30.
  auto& g = h.result.regions.at(0);
  EXPECT_FALSE(efficiency(facts, RegionId(0)));
  facts.ideal_regions.assign(h.result.regions.size(), HandMade::us(30));
  g.by_rank = true;
  g.computed = HandMade::us(40);
  g.most_computed = HandMade::us(30);
  g.longest = HandMade::us(50);
  const auto in_region = efficiency(facts, RegionId(0));
  ASSERT_TRUE(in_region);
  EXPECT_NEAR(in_region->parallel, 0.2, 1e-12);
  EXPECT_NEAR(in_region->load_balance, 1.0 / 3, 1e-12);
  EXPECT_NEAR(in_region->serialisation, 1, 1e-12);
  EXPECT_NEAR(in_region->transfer, 0.6, 1e-12);
  EXPECT_EQ(ordered_json::parse(replay_json(facts, {}))["efficiency"]["by_region"][0]["transfer"],
            in_region->transfer);
  for (auto& r : h.result.ranks) r.compute = Duration(0);
  EXPECT_FALSE(efficiency(facts)) << "nobody computes";
}

}  // namespace
}  // namespace weft::report::critical_path_report_test
