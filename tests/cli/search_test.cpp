// weft search through the built binary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::search_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json search_json(const Workspace& w, const std::string& arguments, int exit_code = 0) {
  const Outcome o = w.weft("search halo " + arguments + " --json - --quiet");
  EXPECT_EQ(o.exit_code, exit_code) << arguments << "\n" << o.err;
  return o.out.empty() ? json() : json::parse(o.out);
}

TEST(SearchVerb, TheHaloOfThePaperIsProvenOptimalWithAllItsStatistics) {
  const Workspace w;
  for (const bool barrier : {true, false}) {
    const json j =
        search_json(w, std::string("--grid 4x2 --on cs-storm --mode ") + (barrier ? "barrier" : "async"));
    EXPECT_EQ(j["schema"], "weft.search/1");
    EXPECT_EQ(j["schedules_total"], 20736);
    EXPECT_EQ(j["schedules_evaluated"], 20736);
    EXPECT_EQ(j["proved_optimal"], true);
    const double t = 300.0 / (11.6 * 1024);  // 300 MiB at 11.6 GiB/s
    EXPECT_NEAR(j["best_s"].get<double>() / t, 4, 1e-9);
    EXPECT_EQ(j["best_count"], barrier ? 6 : 4);
    EXPECT_EQ(j["distinct_times"], barrier ? 352 : 3561);
    EXPECT_NEAR(j["worst_s"].get<double>() / t, barrier ? 1595441.0 / 132030 : 4850642.0 / 527305, 1e-9);
    ASSERT_EQ(j["best"].size(), 8u);
    EXPECT_EQ(j["best"][1]["sends"].size(), 3u);
    ASSERT_EQ(j["steps"].size(), 3u);
    EXPECT_EQ(j["steps"][0]["start_s"], 0.0);
    EXPECT_EQ(j["steps"][2]["finish_s"], j["best_s"]);
    EXPECT_EQ(j["steps"][0]["messages"].size(), j["steps"][0]["factors"].size());
    std::uint64_t count = 0;
    for (const auto& bar : j["histogram"]) count += bar["count"].get<std::uint64_t>();
    EXPECT_EQ(count, 20736u);
  }
}

TEST(SearchVerb, AnswersAreTheSameWithAnyNumberOfThreads) {
  const Workspace w;
  json one = search_json(w, "--grid 4x2 --on cs-storm --place search --threads 1");
  json three = search_json(w, "--grid 4x2 --on cs-storm --place search --threads 3");
  one.erase("wall_s");
  three.erase("wall_s");
  EXPECT_EQ(one, three);
  EXPECT_EQ(one["placement"]["proved_optimal"], true);
  EXPECT_NEAR(one["best_s"].get<double>() / one["message_time_s"].get<double>(), 3, 1e-9);
}

TEST(SearchVerb, WritesTheScheduleTheDistributionAndThePicture) {
  const Workspace w;
  const Outcome o =
      w.weft("search halo --grid 2x2 --on cs-storm --mode barrier --csv s.csv --histogram h.csv --svg p.svg");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("proven optimal"));
  const std::string csv = w.read("s.csv");
  EXPECT_THAT(csv, HasSubstr("rank,position,dst,bytes_B,start_s,finish_s,factor"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 9);
  EXPECT_THAT(w.read("h.csv"), HasSubstr("time_s,schedules\n"));
  EXPECT_THAT(w.read("p.svg"), HasSubstr("<svg "));
  EXPECT_THAT(w.read("p.svg"), HasSubstr("step 2"));
}

TEST(SearchVerb, AnyPatternOnAnyNetwork) {
  const Workspace w;
  w.write("p.csv", "src,dst,bytes\n0,1,1MB\n0,2,2MB\n1,2,1MB\n");
  const json j = search_json(w, "--pattern p.csv --on crossbar:n=4,bw=8Gbps,lat=0");
  EXPECT_EQ(j["proved_optimal"], true);
  EXPECT_NEAR(j["best_s"].get<double>(), 3e-3, 1e-12);  // 3 MB out of rank 0 and into rank 2
  EXPECT_EQ(w.weft("search halo --pattern p.csv --on crossbar:n=4,bw=8Gbps,lat=0 --svg x.svg").exit_code, 2);
}

TEST(SearchVerb, NodeAndFabricAreOnePlatform) {
  const Workspace w;
  const json j =
      search_json(w, "--grid 4x2 --bytes 1MiB --on 'crossbar:n=2,bw=100Gbps,lat=0,node=gpu-server-4'");
  EXPECT_EQ(j["proved_optimal"], true);
  EXPECT_EQ(j["model"], "pcie");
  EXPECT_GE(j["best_s"].get<double>(), j["link_bound_s"].get<double>() * (1 - 1e-9));
}

TEST(SearchVerb, ItsHostFileIsReadToTheEnd) {
  const Workspace w;
  w.write("hosts", "0\n1\n2\n3\n4\n5\n");
  const Outcome o = w.weft("search halo --grid 2x2 --on cs-storm --map file:hosts --json s.json");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("\nwarning: hosts: 2 lines beyond the 4 ranks are not used\n"));
  EXPECT_EQ(json::parse(w.read("s.json"))["warnings"],
            json{"hosts: 2 lines beyond the 4 ranks are not used"});
}

TEST(SearchVerb, GivenLimitsHoldForLargeExchangesAndLoweredOnesAreTold) {
  const Workspace w;
  const std::string exchange = "search halo --grid 7x7 --on torus:dims=7x7 --json s.json ";
  const std::string lowered =
      "a large exchange (168 messages, 49 ranks): branch and bound at most 155,490 nodes, not 2,000,000, "
      "so that the search takes minutes; --nodes asks for more";
  const Outcome o = w.weft(exchange + "--evaluations 100");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("\nwarning: " + lowered + "\n"));
  json j = json::parse(w.read("s.json"));
  EXPECT_EQ(j["schedules_evaluated"], 112 + 155490);
  EXPECT_EQ(j["warnings"], json{lowered});
  ASSERT_EQ(w.weft(exchange + "--evaluations 100 --nodes 160000").exit_code, 0);
  j = json::parse(w.read("s.json"));
  EXPECT_EQ(j["schedules_evaluated"], 112 + 160000);
  EXPECT_EQ(j["warnings"], json::array());
}

TEST(SearchVerb, AnInterruptedSearchSaysSoInItsJson) {
  const Workspace w;
  const Outcome o =
      w.interrupted_weft("search halo --grid 6x2 --on torus-16 --exhaustive --json s.json", 0.8);
  EXPECT_EQ(o.exit_code, 130) << o.err;
  EXPECT_THAT(o.out, HasSubstr("not proven optimal"));
  EXPECT_THAT(o.err, HasSubstr("the best schedule so far is not the answer"));
  const json orders = json::parse(w.read("s.json"));
  EXPECT_EQ(orders["interrupted"], true);
  EXPECT_EQ(orders["proved_optimal"], false);
  EXPECT_EQ(orders["error"], "interrupted: the best schedule so far is not the answer");
  EXPECT_EQ(w.interrupted_weft("search halo --grid 6x2 --on torus-16 --exhaustive", 0.8, "TERM").exit_code,
            143);
  // Every class is wanted: the first one meets what its ports need, which is a proof whatever the others have.
  const Outcome p = w.interrupted_weft(
      "search halo --grid 4x2 --on cs-storm --place search --exhaustive --threads 1 --journal j --json "
      "s.json",
      0.8);
  EXPECT_EQ(p.exit_code, 130) << p.err;
  const json classes = json::parse(w.read("s.json"));
  EXPECT_EQ(classes["interrupted"], true);
  EXPECT_EQ(classes["proved_optimal"], true);
  EXPECT_THAT(classes["error"].get<std::string>(), HasSubstr("interrupted after the proof"));
  std::size_t searched = 0;
  for (const json& c : classes["placement"]["classes"]) searched += c["searched"] == true ? 1 : 0;
  EXPECT_GT(searched, 1u) << "those that the journal keeps";
  EXPECT_LT(searched, classes["placement"]["classes"].size());
}

TEST(SearchVerb, MistakesAreAnswered) {
  const Workspace w;
  const auto fails = [&](const std::string& arguments, int code, const std::string& text) {
    const Outcome o = w.weft("search " + arguments);
    EXPECT_EQ(o.exit_code, code) << arguments << o.err;
    EXPECT_THAT(o.err, HasSubstr(text));
  };
  fails("foo --on cs-storm", 2, "one of: halo");
  fails("halo --on cs-storm", 2, "--grid XxY[xZ] or --pattern FILE.csv");
  fails("halo --grid 4x --on cs-storm", 2, "no grid");
  fails("halo --grid 4x4 --on cs-storm", 3, "16");
  fails("halo --grid 4x4 --on cs-storm --place search", 2, "more ranks than hosts");
  fails("halo --grid 3 --on crossbar:n=3,ranks_per_host=2 --place search", 2,
        "--place search with 2 ranks on a host");
  EXPECT_EQ(
      w.weft("search halo --grid 3 --on crossbar:n=3,ranks_per_host=2 --set host.ranks=1 --place search")
          .exit_code,
      0);
  for (const char* place : {"given", "search"})
    fails(std::string("halo --grid 2x2 --bytes 9e18B --on crossbar:n=4,bw=1e-9B/s --place ") + place, 3,
          "the shortest schedule would end beyond the range of simulated time");
  fails("halo --grid 2x2 --bytes 10MB --on crossbar:n=4,bw=2B/s", 3,
        "expected messages that arrive within 106 days");
  fails("halo --grid 4x2 --bytes 1MiBx2MiBx3MiB --on cs-storm", 2, "more sizes than dimensions");
  fails("halo --grid 4x2 --on cs-storm --model foo", 2, "unknown network model");
  for (const char* nic : {"message", "adaptive"}) {
    const std::string refused = std::string("a search under nic=") + nic + "; expected nic=pair";
    fails(std::string("halo --grid 4x1 --on fat-tree:m=4,n=2,nics=2,nic=") + nic, 2, refused);
    fails(std::string("halo --grid 4x1 --on fat-tree:m=4,n=2,nics=2 --set nic=") + nic, 2, refused);
    fails(std::string("halo --grid 4x1 --on 'fat-tree:m=4,n=2,nics=2,node=\"pcie:tree=rc(4*gpu nic)\",nic=") +
              nic + "'",
          2, refused);
    fails(std::string("halo --grid 4x1 --on fat-tree:m=4,n=2,nics=2,routing=random,nic=") + nic, 2,
          "a search under routing random; expected a routing");
  }
  fails("halo --grid 4x1 --on fat-tree:m=4,n=2,routing=adaptive", 2, "a search under routing adaptive");
  fails("halo --grid 4x4x4 --exhaustive --on torus:dims=4x4x4", 2, "enumeration of");
  fails("halo --grid 4x2 --exhaustive --place search --on cs-storm-16", 2,
        "every class of 5.19e+08 placements");
}

}  // namespace
}  // namespace weft::testing::search_test
