// weft selftest, and the critical path of weft replay, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::selftest_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Selftest, EveryCaseIsRightWhateverIsDrawn) {
  const Workspace here;
  for (const char* seed : {"0", "7", "123456789"}) {
    const Outcome o = here.weft(std::string("selftest --json - --seed ") + seed);
    ASSERT_EQ(o.exit_code, 0) << o.out << o.err;
    const json j = json::parse(o.out);
    EXPECT_EQ(j["schema"], "weft.selftest/1");
    EXPECT_TRUE(j["ok"].get<bool>());
    EXPECT_GE(j["cases"].size(), 10u);
    for (const json& c : j["cases"]) EXPECT_TRUE(c["passed"].get<bool>()) << c.dump();
  }
  EXPECT_THAT(here.weft("selftest").out, HasSubstr("max-min certificate"));
}

// The answer is that of the replay without the flag, and the parts and the efficiencies fit together, with one thread or
// two.
TEST(CriticalPath, AddsUpAndChangesNothing) {
  const Workspace here;
  ASSERT_EQ(here.weft("generate hpl --n 1000 --nb 50 --p 2 --q 2 -o T.weft").exit_code, 0);
  const std::string replay = "replay T.weft --on \"torus:dims=2x2,bw=1GB/s,lat=2us,speed=5Gflops\" --json - ";
  json plain = json::parse(here.weft(replay).out);
  const Outcome one = here.weft(replay + "--critical-path"),
                two = here.weft(replay + "--critical-path --threads 2");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  json j = json::parse(one.out), k = json::parse(two.out);
  for (json* each : {&plain, &j, &k}) {
    each->erase("engine");
    each->erase("command");
  }
  EXPECT_EQ(j, k);
  double sum = 0, own = 0;
  for (const auto& [name, s] : j["critical_path"]["parts"].items()) sum += s.get<double>();
  EXPECT_NEAR(sum, j["makespan_s"].get<double>(), 1e-13);
  EXPECT_EQ(j["critical_path"]["parts"]["other_s"], 0.0);
  for (const auto& r : j["critical_path"]["by_region"])
    own += r["own_s"].get<double>() + r["messages_s"].get<double>();
  EXPECT_NEAR(own, sum, 1e-13);
  const json& e = j["efficiency"];
  EXPECT_NEAR(
      e["parallel"].get<double>(),
      e["load_balance"].get<double>() * e["serialisation"].get<double>() * e["transfer"].get<double>(),
      1e-12);
  ASSERT_FALSE(e["by_region"].empty());
  for (const json& g : e["by_region"]) {
    EXPECT_NEAR(
        g["parallel"].get<double>(),
        g["load_balance"].get<double>() * g["serialisation"].get<double>() * g["transfer"].get<double>(),
        1e-12);
    EXPECT_LE(g["communication"].get<double>(), 1 + 1e-12);
  }
  EXPECT_LE(e["ideal_network_s"].get<double>(), j["makespan_s"].get<double>());
  // What takes three replays more is left to those flags that ask for detail.
  for (const char* const key : {"by_kernel", "by_messages", "by_nobody_s"})
    EXPECT_FALSE(j["critical_path"].contains(key)) << key;
  EXPECT_FALSE(e.contains("transfer_split"));
  for (const char* key : {"critical_path", "sensitivity", "efficiency"}) j.erase(key);
  EXPECT_EQ(j, plain);
  EXPECT_THAT(here.weft("replay T.weft --on crossbar-16").out, Not(HasSubstr("critical path")));
  EXPECT_THAT(here.weft("replay T.weft --on crossbar-16 --critical-path").out, HasSubstr("critical path: "));
}

// In detail: computation by kernel, contention by whose messages, transfer by what it is lost to; all of --critical-path
// besides, with one thread or two.
TEST(CriticalPath, InDetailAddsUp) {
  const Workspace here;
  ASSERT_EQ(here.weft("generate hpl --n 1000 --nb 50 --p 2 --q 2 -o T.weft").exit_code, 0);
  const std::string replay = "replay T.weft --on \"torus:dims=2x2,bw=1GB/s,lat=2us,speed=5Gflops\" --json - ";
  const json short_form = json::parse(here.weft(replay + "--critical-path").out);
  json j = json::parse(here.weft(replay + "--explain --threads 1").out),
       k = json::parse(here.weft(replay + "--explain --threads 2").out);
  EXPECT_EQ(j["critical_path"], k["critical_path"]);
  EXPECT_EQ(j["efficiency"], k["efficiency"]);
  json& path = j["critical_path"];
  double kernels = 0, rivals = path["by_nobody_s"].get<double>();
  for (const auto& kernel : path["by_kernel"]) kernels += kernel["compute_s"].get<double>();
  for (const auto& pair : path["by_messages"]) rivals += pair["contention_s"].get<double>();
  EXPECT_NEAR(kernels, path["parts"]["compute_s"].get<double>(), 1e-13);
  EXPECT_NEAR(rivals, path["parts"]["contention_s"].get<double>(), 1e-13);
  for (const auto& [key, value] : short_form["critical_path"].items()) EXPECT_EQ(path[key], value) << key;
  const json& e = j["efficiency"];
  double product = 1;
  for (const json& part : e["transfer_split"]) product *= part["efficiency"].get<double>();
  EXPECT_NEAR(product, e["transfer"].get<double>(), 1e-12);
  ASSERT_EQ(e["transfer_split"].size(), 3u);
  EXPECT_EQ(e["transfer_split"][0]["without"], "contention");
  EXPECT_EQ(e["transfer_split"][2]["makespan_s"], e["ideal_network_s"]);
  for (const auto& [key, value] : short_form["efficiency"].items()) EXPECT_EQ(e[key], value) << key;
  const std::string text =
      here.weft("replay T.weft --on \"torus:dims=2x2,bw=1GB/s,lat=2us,speed=5Gflops\" --explain").out;
  EXPECT_THAT(text,
              HasSubstr("Most of its computation is " + path["by_kernel"][0]["name"].get<std::string>()));
}

}  // namespace
}  // namespace weft::testing::selftest_test
