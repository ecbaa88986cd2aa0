// What `weft predict hpl` says of panels and of what limits a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::predict_panels_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json predict_json(const Workspace& here, const std::string& flags) {
  const Outcome o =
      here.weft("predict hpl --on crossbar:n=16,bw=10GB/s,lat=1us,speed=20Gflops --json - --quiet" + flags);
  EXPECT_EQ(o.exit_code, 0) << o.err;
  return json::parse(o.out);
}

// Whatever look-ahead moves to later panels, no stretch is faster than the machine; all flops are in one of them.
TEST(PredictHpl, NoPanelIsFasterThanTheMachine) {
  const Workspace here;
  for (const char* depth : {"0", "1", "2"}) {
    const json j = predict_json(here, std::string(" --n 2000 --nb 25 --p 4 --q 4 --depth ") + depth);
    double flops = 0, before = 0;
    for (const auto& point : j["panel_curve"]) {
      const double rate = point["gflops"], until = point["time_s"];
      EXPECT_LE(rate, j["peak_gflops"].get<double>()) << depth;
      flops += rate * 1e9 * (until - before);
      before = until;
    }
    EXPECT_NEAR(flops, 2.0 / 3 * std::pow(2000, 3), 1e-6 * flops) << depth;
  }
}

// On a network that takes no time broadcasts limit nothing: ranks wait for others to factor.
TEST(PredictHpl, WaitingForPanelsIsNotTheNetwork) {
  const Workspace here;
  const std::string ideal =
      here.weft(
              "predict hpl --on crossbar:n=8,speed=1Gflops,bw=1000000GB/s,lat=0 --n 800 --nb 100 --p 1 --q 8")
          .out;
  EXPECT_THAT(
      ideal,
      HasSubstr("Waiting for panels limits it: 55.4 % of the time, of which their messages take at most"));
  EXPECT_THAT(
      ideal,
      HasSubstr(
          "ranks wait 53.9 ms for panels, at least 53.9 ms of it until others have factored and sent them"));
  const std::string slow =
      here.weft("predict hpl --on crossbar:n=8,speed=1Tflops,bw=100MB/s,lat=0 --n 800 --nb 100 --p 1 --q 8")
          .out;
  EXPECT_THAT(slow, HasSubstr("bcast limits it: "));
  // Estimates of parts and of their sum are made apart.
  const std::string sampled = here.weft(
                                      "predict hpl --n 2080 --nb 16 --p 1 --q 3 --depth 2 --bcast 2 --pmap "
                                      "col --on dragonfly-18 --sample 4")
                                  .out;
  EXPECT_THAT(sampled, HasSubstr("time and phases are estimated apart"));
}

}  // namespace
}  // namespace weft::testing::predict_panels_test
