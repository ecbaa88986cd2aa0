#include "report/search_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "topology/pcie/forest.hpp"
#include "topology/platform/platform.hpp"

namespace weft::report {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// Two messages of 1 MB out of gpu0 and one into it, on the node of the PCIe paper; rank r on `host[r]`.
struct Searched {
  topology::Platform platform;
  schedule::Workload workload;
  schedule::SearchResult result;
  SearchFacts facts;

  explicit Searched(schedule::Mode mode, const std::string& spec = "cs-storm",
                    const std::string& model = "pcie", const std::vector<schedule::Message>& messages = {},
                    const std::vector<HostId>& host = {HostId(0), HostId(1), HostId(2)}) {
    auto p = topology::load_platform(spec);
    EXPECT_TRUE(p);
    platform = std::move(*p);
    const Bytes mb(1000000);
    const auto e = schedule::make_exchange(
        static_cast<std::uint32_t>(host.size()),
        messages.empty() ? std::vector<schedule::Message>{{0, 1, mb}, {0, 2, mb}, {2, 0, mb}} : messages);
    facts.host = host;
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

// Both directions of a GPU's link together carry 12 GB/s, each alone 10.
TEST(SearchReport, TheLinkBoundNamesBothDirectionsWhereTheyBoundTogether) {
  const Bytes mb(1'000'000);
  for (const char* both : {",both_bw=12GB/s", ""}) {
    const bool shared = both[0] != '\0';
    const Searched s(schedule::Mode::kAsync, std::string("pcie:tree=rc(3*gpu),bw=10GB/s") + both, "max-min",
                     {{0, 1, mb}, {1, 0, mb}, {1, 2, mb}});
    // Out of gpu1 go two messages, into it one.
    EXPECT_THAT(search_text(s.facts),
                HasSubstr(shared ? "= 2.5 T: rc0->gpu1 with the way back carries 3 messages; T"
                                 : "= 2 T: gpu1->rc0 carries 2 messages; T"));
    const auto j = nlohmann::json::parse(search_json(s.facts));
    EXPECT_EQ(j["link_bound_link"], shared ? "rc0->gpu1 with the way back" : "gpu1->rc0");
    EXPECT_NEAR(j["link_bound_s"], shared ? 2.5e-4 : 2e-4, 1e-12);
    // While gpu0 and gpu1 send to each other, neither way is full by itself.
    const auto full = congested_links(s.workload, schedule::Phase{1, 0, 1, {0, 1}, {6e9, 6e9}});
    EXPECT_EQ(full.size(), shared ? 4u : 0u);
    EXPECT_TRUE(congested_links(s.workload, schedule::Phase{1, 0, 1, {0}, {10e9}}).empty());
  }
}

TEST(SearchReport, MoreSchedulesThanADoubleHoldsAreNull) {
  Searched s(schedule::Mode::kAsync);
  s.result.schedules = s.result.symmetries = std::numeric_limits<double>::infinity();
  const auto j = nlohmann::json::parse(search_json(s.facts));
  EXPECT_TRUE(j["schedules_total"].is_null());
  EXPECT_TRUE(j["symmetries"].is_null());
  EXPECT_EQ(j["schedules_evaluated"], 2);
  EXPECT_THAT(search_text(s.facts), HasSubstr("3 messages, over 10^308 schedules, async"));
}

// The result is that of the best placement, whose own bound says nothing of others.
TEST(SearchReport, TheLowerBoundIsThatOfAllPlacementsWhereTheyWereSearched) {
  Searched s(schedule::Mode::kAsync);
  const double alone = s.result.lower_s;
  EXPECT_EQ(nlohmann::json::parse(search_json(s.facts))["lower_bound_s"], alone);
  schedule::PlacementResult placement;
  placement.lower_s = alone / 2;
  s.facts.placement = &placement;
  const auto j = nlohmann::json::parse(search_json(s.facts));
  EXPECT_EQ(j["lower_bound_s"], alone / 2);
  EXPECT_EQ(j["link_bound_s"], s.result.link.seconds);
  EXPECT_EQ(j["proved_optimal"], false);
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

// What the Gantt over links draws: a message moves its bytes, over each of its links, and no link carries more than it can.
TEST(SearchReport, TransfersMoveTheirBytesWithinWhatLinksCarry) {
  // Two into one host, one of which has less to move: the other is faster once it is alone.
  const std::vector<schedule::Message> uneven{{0, 2, Bytes(1000000)}, {1, 2, Bytes(400000)}};
  bool changes = false;
  for (const auto mode : {schedule::Mode::kAsync, schedule::Mode::kBarrier}) {
    for (const char* spec : {"cs-storm", "crossbar:n=4,bw=8Gbps,lat=0"}) {
      const Searched s(mode, spec, std::string_view(spec) == "cs-storm" ? "pcie" : "max-min", uneven);
      const auto j = nlohmann::json::parse(search_json(s.facts));
      ASSERT_EQ(j["transfers"].size(), uneven.size());
      std::vector<double> moments;
      for (const auto& t : j["transfers"]) {
        double moved = 0;
        double before = t["start_s"];
        changes = changes || t["rates"].size() > 1;
        for (const auto& r : t["rates"]) {
          EXPECT_EQ(r[0], before);
          moved += (r[1].get<double>() - r[0].get<double>()) * r[2].get<double>();
          moments.push_back((r[0].get<double>() + r[1].get<double>()) / 2);
          before = r[1];
        }
        EXPECT_EQ(t["finish_s"], before);
        EXPECT_NEAR(moved, t["bytes"], 1);
        // The route that the fabric itself tells.
        std::vector<LinkId> route;
        s.platform.fabric.routing().route(HostId(t["src"].get<std::uint32_t>()),
                                          HostId(t["dst"].get<std::uint32_t>()), route);
        ASSERT_EQ(t["links"].size(), route.size());
        for (std::size_t i = 0; i < route.size(); ++i) {
          const auto& link = j["links"][t["links"][i].get<std::size_t>()];
          EXPECT_EQ(link["id"], route[i].index());
          EXPECT_EQ(link["name"], s.platform.fabric.link_name(route[i]));
        }
      }
      for (const double at : moments) {
        std::vector<double> load(j["links"].size(), 0);
        for (const auto& t : j["transfers"])
          for (const auto& r : t["rates"])
            if (r[0] <= at && at < r[1])
              for (const auto& l : t["links"]) load[l.get<std::size_t>()] += r[2].get<double>();
        for (std::size_t l = 0; l < load.size(); ++l)
          EXPECT_LE(load[l], j["links"][l]["bandwidth_Bps"].get<double>() * (1 + 1e-9)) << spec;
      }
    }
  }
  EXPECT_TRUE(changes);
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

// Three into gpu3, 8 MB each of two from one switch and 1 MB: while there are three, the way up from the switch is not full. From
// 3 MB's time on it is, to the end at 17.
TEST(SearchReport, AStepIsAllOfItsTime) {
  const Bytes mb(1'000'000);
  const std::vector<HostId> host{HostId(0), HostId(1), HostId(2), HostId(3)};
  const Searched s(schedule::Mode::kBarrier, "pcie:tree=rc(switch(2*gpu) 2*gpu),bw=1GB/s", "max-min",
                   {{0, 3, Bytes(8'000'000)}, {1, 3, Bytes(8'000'000)}, {2, 3, mb}}, host);
  const auto j = nlohmann::json::parse(search_json(s.facts));
  ASSERT_EQ(j["steps"].size(), 1u);
  const auto& step = j["steps"][0];
  EXPECT_NEAR(step["finish_s"], 17e-3, 1e-12);
  ASSERT_EQ(step["factors"].size(), 3u);
  EXPECT_NEAR(step["factors"][0], 8.0 / 17, 1e-9);
  EXPECT_NEAR(step["factors"][1], 8.0 / 17, 1e-9);
  EXPECT_NEAR(step["factors"][2], 1.0 / 3, 1e-9);
  const std::set<std::string> congested(step["congested"].begin(), step["congested"].end());
  EXPECT_EQ(congested, (std::set<std::string>{"switch0->rc0", "rc0->gpu3"}));
  EXPECT_THAT(search_text(s.facts), HasSubstr("0>3 0.471  1>3 0.471  2>3 0.333"));
  const auto picture = search_svg(s.facts);
  ASSERT_TRUE(picture);
  EXPECT_THAT(*picture, ContainsRegex("stroke=\"#c8102e\" stroke-width=\"3.4\"><title>switch0-&gt;rc0 94 %"));
  EXPECT_THAT(*picture, HasSubstr("<title>gpu2-&gt;rc0 6 %"));
  // Without barriers every phase is one.
  const Searched async(schedule::Mode::kAsync, "pcie:tree=rc(switch(2*gpu) 2*gpu),bw=1GB/s", "max-min",
                       {{0, 3, Bytes(8'000'000)}, {1, 3, Bytes(8'000'000)}, {2, 3, mb}}, host);
  EXPECT_EQ(nlohmann::json::parse(search_json(async.facts))["steps"].size(), 2u);
}

// What a picture shows of links is all that messages cross within trees, up to the network cards.
TEST(SearchReport, ThePictureHasTheNetworkCardsThatMessagesCross) {
  const Searched s(schedule::Mode::kAsync, "crossbar:n=2,bw=100Gbps,lat=0,node=gpu-server-4", "pcie", {},
                   {HostId(0), HostId(1), HostId(4)});
  const auto picture = search_svg(s.facts);
  ASSERT_TRUE(picture);
  const auto& fabric = s.platform.fabric;
  int cards = 0;
  for (const LinkId l : s.workload.link) {
    const VertexId from = fabric.links().from[l.index()], to = fabric.links().to[l.index()];
    const auto& forest = *fabric.pcie();
    if (forest.up[from.index()] != l && forest.down[to.index()] != l) continue;
    std::string name = fabric.link_name(l);
    name.replace(name.find('>'), 1, "&gt;");
    EXPECT_THAT(*picture, HasSubstr("<title>" + name + " "));
    cards += forest.kind[to.index()] == topology::PcieKind::kNic ? 1 : 0;
  }
  EXPECT_GT(cards, 0);
}

TEST(SearchReport, APlatformWithoutTreesHasNoPicture) {
  const Searched s(schedule::Mode::kAsync, "crossbar:n=4,bw=8Gbps,lat=0", "max-min");
  const auto picture = search_svg(s.facts);
  ASSERT_FALSE(picture);
  EXPECT_EQ(picture.error().code, ErrorCode::kNotSupported);
}

}  // namespace
}  // namespace weft::report
