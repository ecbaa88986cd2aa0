#include "report/search_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "topology/platform/platform.hpp"

namespace weft::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Two messages of 1 MB out of gpu0 and one into it, on the node of the PCIe paper.
struct Searched {
  topology::Platform platform;
  schedule::Workload workload;
  schedule::SearchResult result;
  SearchFacts facts;

  explicit Searched(schedule::Mode mode, const std::string& spec = "cs-storm",
                    const std::string& model = "pcie") {
    auto p = topology::load_platform(spec);
    EXPECT_TRUE(p);
    platform = std::move(*p);
    const Bytes mb(1000000);
    const auto e = schedule::make_exchange(3, {{0, 1, mb}, {0, 2, mb}, {2, 0, mb}});
    facts.host = {HostId(0), HostId(1), HostId(2)};
    auto w = schedule::place_exchange(e, platform.fabric, facts.host);
    EXPECT_TRUE(w);
    workload = std::move(*w);
    const auto oracle = schedule::make_rate_oracle(model, workload, platform.fabric);
    EXPECT_TRUE(oracle);
    schedule::SearchOptions o;
    o.mode = mode;
    result = schedule::search_schedule(workload, **oracle, o, {});
    facts.pattern = "three messages";
    facts.model = model;
    facts.mode = mode;
    facts.platform = &platform;
    facts.workload = &workload;
    facts.result = &result;
    schedule::Evaluator evaluator(workload, **oracle);
    facts.best = evaluator.timeline(result.best, mode);
  }
};

TEST(SearchReport, TextSaysTheAnswerInOneLine) {
  const Searched s(schedule::Mode::kBarrier);
  const std::string text = search_text(s.facts);
  EXPECT_THAT(
      text,
      HasSubstr("three messages on cs-storm: 3 ranks, 3 messages, 2 schedules, barrier after each step"));
  EXPECT_THAT(text,
              HasSubstr("= 2 T, proven optimal: all schedules were looked at, and it meets the link bound"));
  EXPECT_THAT(text, HasSubstr("0>1 1"));
}

TEST(SearchReport, JsonAndCsvAgreeOnTheSchedule) {
  const Searched s(schedule::Mode::kAsync);
  const auto j = nlohmann::json::parse(search_json(s.facts));
  EXPECT_EQ(j["schema"], "weft.search/1");
  EXPECT_EQ(j["best"][0]["sends"].size(), 2u);
  EXPECT_EQ(j["best"][1]["sends"].size(), 0u);
  EXPECT_EQ(j["proof"], "exhaustion");
  EXPECT_EQ(j["worst"].size(), 3u);
  const std::string csv = search_csv(s.facts);
  EXPECT_THAT(csv, HasSubstr("0,1," + std::to_string(j["best"][0]["sends"][0].get<int>()) + ",1000000,0,"));
  const std::string histogram = histogram_csv(s.facts);
  EXPECT_EQ(histogram.substr(0, 17), "time_s,schedules\n");
  EXPECT_EQ(histogram.back(), '\n');
}

TEST(SearchReport, ThePictureNamesCongestedLinksOnlyWhereTwoMessagesFillOne) {
  const Searched s(schedule::Mode::kBarrier);
  const auto picture = search_svg(s.facts);
  ASSERT_TRUE(picture);
  EXPECT_THAT(*picture, Not(HasSubstr("#c8102e")));
  const auto& w = s.workload;
  schedule::Phase both;
  both.messages = {0, 1};
  const double half = w.capacity[0] / 2;
  both.rate_Bps = {half, half};
  ASSERT_EQ(congested_links(w, both).size(), 1u);  // gpu0's link up
  both.rate_Bps = {half, half * 0.9};
  EXPECT_TRUE(congested_links(w, both).empty());
}

TEST(SearchReport, APlatformWithoutTreesHasNoPicture) {
  const Searched s(schedule::Mode::kAsync, "crossbar:n=4,bw=8Gbps,lat=0", "max-min");
  const auto picture = search_svg(s.facts);
  ASSERT_FALSE(picture);
  EXPECT_EQ(picture.error().code, ErrorCode::kNotSupported);
}

}  // namespace
}  // namespace weft::report
