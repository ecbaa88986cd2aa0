// weft predict hpl and weft tune hpl on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/run_weft.hpp"

namespace weft::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const std::string kOn = " --on \"crossbar:n=16,bw=10GB/s,lat=1us,speed=20Gflops\" ";

json predict(const Workspace& here, const std::string& flags) {
  const Outcome o = here.weft("predict hpl" + kOn + flags + " --json -");
  EXPECT_EQ(o.exit_code, 0) << o.err;
  return o.exit_code == 0 ? json::parse(o.out) : json();
}

json without_engine(json j) {
  j.erase("engine");
  return j;
}

TEST(PredictHpl, SaysTimeRateAndPartsUnderTheContractsKeys) {
  const Workspace here;
  const json j = predict(here, "--n 3000 --nb 64 --p 4 --q 4 --depth 1");
  EXPECT_EQ(j["schema"], "weft.predict/1");
  EXPECT_EQ(j["n"], 3000);
  EXPECT_EQ(j["nb"], 64);
  EXPECT_EQ(j["p"], 4);
  EXPECT_EQ(j["q"], 4);
  const double t = j["time_s"], n = 3000;
  EXPECT_NEAR(j["gflops"].get<double>(), n * n * (2 * n / 3 + 1.5) / t * 1e-9,
              1e-9 * j["gflops"].get<double>());
  EXPECT_NEAR(j["efficiency"].get<double>(), j["gflops"].get<double>() / (16 * 20), 1e-12);
  double sum = 0;
  for (const char* part : {"pfact_s", "bcast_s", "swap_s", "update_s", "solve_s"}) {
    EXPECT_GT(j["phases"][part].get<double>(), 0) << part;
    sum += j["phases"][part].get<double>();
  }
  EXPECT_LE(sum, t * (1 + 1e-9));
  EXPECT_GT(sum, 0.9 * t);
  EXPECT_EQ(j["panels_total"], 47);
  EXPECT_EQ(j["panels_simulated"], 47);
  EXPECT_EQ(j["error_estimate"], 0.0);
  for (const char* form : {"hpl_gflops", "mcl_gflops", "roofline_gflops"})
    EXPECT_GT(j["closed_form"][form].get<double>(), 0) << form;
  EXPECT_LE(j["gflops"].get<double>(), j["closed_form"]["roofline_gflops"].get<double>());
  EXPECT_TRUE(j["engine"].contains("wall_s"));
}

// On one process nothing is sent: the time is the sum of its kernels at the host's speed.
TEST(PredictHpl, OneProcessTakesItsFlopsOverItsSpeed) {
  const Workspace here;
  const json j = predict(here, "--n 1000 --nb 50 --p 1 --q 1");
  const double flops = 1000.0 * 1000.0 * (2.0 / 3.0 * 1000 + 1.5);
  EXPECT_NEAR(j["time_s"].get<double>(), flops / 20e9, 0.02 * flops / 20e9);
}

TEST(PredictHpl, TheSameTwiceAndWithAnyNumberOfThreads) {
  const Workspace here;
  const std::string flags = "--n 12000 --nb 64 --p 4 --q 4 --depth 1 --sample 6 --window 8";
  const json one = predict(here, flags), again = predict(here, flags),
             four = predict(here, flags + " --threads 4");
  EXPECT_EQ(without_engine(one), without_engine(again));
  EXPECT_EQ(without_engine(one), without_engine(four));
}

TEST(PredictHpl, ASampleOfPanelsIsWithinItsEstimateOfAllPanels) {
  const Workspace here;
  for (const std::string shape : {"--n 12000 --nb 64 --p 4 --q 4 --depth 1 --bcast 2ring --swap 0",
                                  "--n 12000 --nb 64 --p 2 --q 8 --depth 0 --bcast 1rM --swap 1"}) {
    SCOPED_TRACE(shape);
    std::string flags = shape;
    if (const auto at = flags.find("2ring"); at != std::string::npos) flags.replace(at, 5, "2rg");
    const json all = predict(here, flags), some = predict(here, flags + " --sample 6 --window 8");
    EXPECT_LT(some["panels_simulated"].get<int>(), all["panels_total"].get<int>() / 2);
    const double error = some["time_s"].get<double>() / all["time_s"].get<double>() - 1;
    EXPECT_LT(std::fabs(error), 0.01);
    EXPECT_LT(std::fabs(error), std::max(0.002, 2 * some["error_estimate"].get<double>()));
  }
}

// Pivot exchanges as one operation a panel, against message by message: these share links with row swaps and with each
// other's next round, which a series leaves out; 0.30 % here, less for larger matrices.
TEST(PredictHpl, ExchangesTogetherAndOneByOneAgree) {
  const Workspace here;
  const std::string flags = "--n 3000 --nb 64 --p 4 --q 4 --depth 1";
  const double together = predict(here, flags)["time_s"],
               single = predict(here, flags + " --exchanges")["time_s"];
  EXPECT_NEAR(together / single, 1, 0.005);
}

TEST(PredictHpl, ListsOfValuesMakeATableOfRuns) {
  const Workspace here;
  const json j = predict(here, "--n 1000,2000 --nb 32,64 --p 2 --q 2");
  ASSERT_EQ(j["runs"].size(), 4u);
  EXPECT_LT(j["runs"][0]["gflops"].get<double>(), j["runs"][3]["gflops"].get<double>());
}

TEST(PredictHpl, WhatCannotBePredictedIsAnError) {
  const Workspace here;
  EXPECT_EQ(here.weft("predict hpl" + kOn + "--n auto").exit_code, 2);
  EXPECT_THAT(here.weft("predict hpl" + kOn + "--n auto").err, HasSubstr("memory"));
  EXPECT_EQ(here.weft("predict hpl" + kOn + "--n 0").exit_code, 2);
  EXPECT_EQ(here.weft("predict hpl" + kOn + "--n 100 --bcast star").exit_code, 2);
  EXPECT_EQ(here.weft("predict hpl" + kOn + "--n 100 --sample many").exit_code, 2);
  EXPECT_NE(here.weft("predict hpl" + kOn + "--n 100 --p 5 --q 5").exit_code, 0);
  EXPECT_EQ(here.weft("predict hpl --n 100").exit_code, 2);
  EXPECT_EQ(here.weft("predict").exit_code, 2);
  EXPECT_EQ(here.weft("predict linpack").exit_code, 2);
}

TEST(PredictHpl, TheOrderFillsEightyPercentOfTheMemory) {
  const Workspace here;
  here.write("p.textproto",
             "topology { family: \"crossbar\" set: \"n=4\" set: \"bw=10GB/s\" set: \"lat=1us\" }\n"
             "host { speed: \"10Gflops\" memory: \"10MB\" }\n");
  const Outcome o = here.weft("predict hpl --on p.textproto --nb 32 --json -");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const json j = json::parse(o.out);
  EXPECT_EQ(j["p"], 2);
  EXPECT_EQ(j["q"], 2);
  EXPECT_EQ(j["n"], 2000 / 32 * 32);  // sqrt(0.8 x 4 x 10 MB / 8 B) = 2000
}

TEST(TuneHpl, WritesAnHplDatThatIsNoSlowerThanTheBase) {
  const Workspace here;
  const std::string line =
      "tune hpl" + kOn + "--n 1500 --nb 32 --p 4 --q 4 --evaluations 14 -o best.dat --json ";
  const Outcome o = here.weft(line + "a.json");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const json j = json::parse(here.read("a.json"));
  EXPECT_EQ(j["schema"], "weft.tune/1");
  EXPECT_GE(j["gain"].get<double>(), 0);
  EXPECT_LE(j["evaluations"].get<int>(), 14);
  const Outcome again = here.weft("predict hpl" + kOn + "--dat best.dat --json b.json");
  EXPECT_EQ(again.exit_code, 0) << again.err;
  ASSERT_EQ(here.weft(line + "c.json").exit_code, 0);
  EXPECT_EQ(here.read("a.json"), here.read("c.json"));
}

}  // namespace
}  // namespace weft::testing
