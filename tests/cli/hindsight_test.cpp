// What the verbs tell of a replay's past: wait states, sensitivity, differences by critical paths. Numbers of one output fit
// together, threads change nothing, and without the flags nothing is there.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::hindsight_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using json = nlohmann::json;

constexpr const char* kTorus = " --on \"torus:dims=2x2,bw=1GB/s,lat=2us,speed=5Gflops\" ";

json without_engine(const Outcome& o) {
  EXPECT_EQ(o.exit_code, 0) << o.err;
  json j = json::parse(o.out);
  j.erase("engine");
  j.erase("command");
  return j;
}
double sum(const json& object) {
  double all = 0;
  for (const auto& [name, s] : object.items()) all += s.get<double>();
  return all;
}

class Hindsight : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(here_.weft("generate hpl --n 1000 --nb 50 --p 2 --q 2 -o T.weft").exit_code, 0);
  }
  const Workspace here_;
};

TEST_F(Hindsight, WaitStatesAddUpAndChangeNothing) {
  const std::string replay = std::string("replay T.weft") + kTorus + "--json - ";
  const json plain = without_engine(here_.weft(replay));
  json j = without_engine(here_.weft(replay + "--wait-states"));
  const json waits = j["wait_states"];
  const double total = waits["total_s"].get<double>();
  ASSERT_GT(total, 0);
  EXPECT_GT(waits["waits"].get<int>(), 0);
  EXPECT_NEAR(waits["caused_direct_s"].get<double>() + waits["caused_propagated_s"].get<double>(), total,
              1e-13);
  double kinds = 0;
  for (const char* const kind : {"late_sender_s", "late_receiver_s", "wait_at_barrier_s", "wait_at_nxn_s",
                                 "late_broadcast_s", "early_reduce_s", "early_scan_s"})
    kinds += waits[kind].get<double>();
  EXPECT_NEAR(kinds, total, 1e-13);
  for (const char* const list : {"by_rank", "by_region"}) {
    double all = 0;
    for (const json& t : waits[list]) all += t["total_s"].get<double>();
    EXPECT_NEAR(all, total, 1e-13) << list;
  }
  EXPECT_EQ(waits["by_rank"].size(), 4u);
  double costs = 0;
  for (const json& d : waits["delays"])
    costs += d["direct_s"].get<double>() + d["propagated_s"].get<double>();
  EXPECT_NEAR(costs, total, 1e-13);
  EXPECT_EQ(waits["delays_total"].get<std::size_t>(), waits["delays"].size());
  j.erase("wait_states");
  EXPECT_EQ(j, plain);
  EXPECT_THAT(here_.weft(std::string("replay T.weft") + kTorus).out, Not(HasSubstr("wait states")));
  EXPECT_THAT(here_.weft(std::string("replay T.weft --wait-states") + kTorus).out,
              HasSubstr("wait states: "));
}

TEST_F(Hindsight, SensitivityIsWhatReplaysSay) {
  const std::string replay = std::string("replay T.weft --sensitivity --json -") + kTorus;
  const json j = without_engine(here_.weft(replay + "--threads 1")),
             k = without_engine(here_.weft(replay + "--threads 3"));
  EXPECT_EQ(j, k);
  const json& s = j["sensitivity"];
  double last = 0;
  ASSERT_EQ(s["latency_tolerance"].size(), 3u);
  for (const json& t : s["latency_tolerance"]) {
    EXPECT_GT(t["latency_s"].get<double>(), last);
    last = t["latency_s"].get<double>();
  }
  ASSERT_EQ(s["slopes"].size(), 3u);
  for (const json& slope : s["slopes"])
    EXPECT_NEAR(slope["one_percent_more_s"].get<double>() - slope["told_s"].get<double>(),
                slope["difference_s"].get<double>(), 1e-15);
  ASSERT_FALSE(s["twice_as_fast"].empty());
  for (const json& c : s["twice_as_fast"])
    EXPECT_NEAR(j["makespan_s"].get<double>() - c["makespan_s"].get<double>(), c["gain_s"].get<double>(),
                1e-15);
  EXPECT_TRUE(j.contains("critical_path"));
  const std::string text = here_.weft(std::string("replay T.weft --sensitivity") + kTorus).out;
  EXPECT_THAT(text, HasSubstr("latency tolerance"));
  EXPECT_THAT(text, HasSubstr("links twice as fast"));
}

TEST_F(Hindsight, DifferencesOfComparedRunsAddUp) {
  const std::string compare =
      std::string("compare T.weft --json - --on \"crossbar:n=4,bw=10GB/s,lat=1us,speed=5Gflops\"") + kTorus;
  const json plain = without_engine(here_.weft(compare));
  json j = without_engine(here_.weft(compare + "--critical-path"));
  ASSERT_EQ(j["rows"].size(), 2u);
  const json first = j["rows"][0], second = j["rows"][1];
  EXPECT_FALSE(first["critical_path"].contains("difference"));
  EXPECT_NEAR(sum(first["critical_path"]["parts"]), first["makespan_s"].get<double>(), 1e-13);
  EXPECT_NEAR(sum(second["critical_path"]["parts"]), second["makespan_s"].get<double>(), 1e-13);
  EXPECT_NEAR(sum(second["critical_path"]["difference"]),
              second["makespan_s"].get<double>() - first["makespan_s"].get<double>(), 1e-13);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NE(j["rows"][i]["why"], plain["rows"][i]["why"]);
    j["rows"][i].erase("critical_path");
    j["rows"][i]["why"] = plain["rows"][i]["why"];
  }
  EXPECT_EQ(j, plain);
  const json sweep = without_engine(
      here_.weft(std::string("sweep T.weft --set bw=1GB/s,2GB/s --critical-path --json -") + kTorus));
  const auto& rows = sweep["rows"];
  EXPECT_NEAR(sum(rows[1]["critical_path"]["difference"]),
              rows[1]["makespan_s"].get<double>() - rows[0]["makespan_s"].get<double>(), 1e-13);
}

// Its sentences say the numbers of the JSON beside them.
TEST_F(Hindsight, ExplainSaysItInSentences) {
  const std::string replay = std::string("replay T.weft --explain --wait-states --sensitivity") + kTorus;
  const std::string text = here_.weft(replay).out;
  EXPECT_THAT(text, Not(HasSubstr("busiest links")));
  const json j = without_engine(here_.weft(replay + "--json -"));
  const double computed =
      j["critical_path"]["parts"]["compute_s"].get<double>() / j["makespan_s"].get<double>();
  EXPECT_THAT(text, HasSubstr(fmt::format("The critical path is {:.1f} % computation", 100 * computed)));
  EXPECT_THAT(text, HasSubstr(fmt::format("On average ranks compute during {:.1f} % of the makespan",
                                          100 * j["efficiency"]["parallel"].get<double>())));
  EXPECT_THAT(text, HasSubstr("latency a message"));
  EXPECT_THAT(text, HasSubstr("Ranks waited"));
  EXPECT_THAT(text, HasSubstr("It is 1 % longer with"));
}

}  // namespace
}  // namespace weft::testing::hindsight_test
