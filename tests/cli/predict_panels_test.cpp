// What `weft predict hpl` says of panels, of what limits a run, and of memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::predict_panels_test {
namespace {

using nlohmann::json;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

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
  // Of several platforms, too.
  const std::string two = here.weft(
                                  "predict hpl --on a=crossbar:n=8,speed=1Gflops,bw=1000000GB/s,lat=0 --on "
                                  "b=crossbar:n=8,speed=1Gflops,bw=1GB/s,lat=0 --n 800 --nb 100 --p 1 --q 8")
                              .out;
  EXPECT_THAT(two, HasSubstr("ranks wait 53.9 ms for panels, at least 53.9 ms of it until others have"));
  // Estimates of parts and of their sum are made apart.
  const std::string sampled = here.weft(
                                      "predict hpl --n 2080 --nb 16 --p 1 --q 3 --depth 2 --bcast 2 --pmap "
                                      "col --on dragonfly-18 --sample 4")
                                  .out;
  EXPECT_THAT(sampled, HasSubstr("time and phases are estimated apart"));
}

// Accelerators that are so fast that ranks wait for the hosts' factorisation, not for them and not for the network.
TEST(PredictHpl, WaitingForPanelsOfHostsIsNotTheirAccelerators) {
  const Workspace here;
  const auto limits_of = [&](const std::string& accelerator, const std::string& host) {
    here.write("p.textproto",
               "topology { family: \"crossbar\" set: \"n=4\" set: \"bw=1000GB/s\" set: \"lat=0\" }\n"
               "host { speed: \"1Tflops\" kernel { name: \"device_dgemm\" rate: \"" +
                   accelerator + "\" } kernel { name: \"dgemm\" rate: \"" + host +
                   "\" } kernel { name: \"*\" rate: \"" + host + "\" bandwidth: \"1000TB/s\" } }\n");
    return here.weft("predict hpl --on p.textproto --program rochpl --n 4000 --nb 200 --p 1 --q 4").out;
  };
  EXPECT_THAT(
      limits_of("1000Tflops", "10Gflops"),
      ContainsRegex(
          "\nWaiting for panels limits it: [0-9.]+ % of the time, of which their messages take at most "
          "[0-9.]+ %; accelerators work [0-9.]+ %, hosts wait for them [0-9.]+ %"));
  EXPECT_THAT(limits_of("1Gflops", "1000Tflops"),
              ContainsRegex("\nAccelerators limit it: they work [0-9.]+ % of the time, hosts wait for them"));
}

// Four hosts with four ranks each.
std::string small_hosts(const Workspace& here) {
  here.write("small.textproto",
             "topology { family: \"crossbar\" set: \"n=4\" set: \"bw=100Gbps\" set: \"lat=1us\" }\n"
             "host { speed: \"1Tflops\" memory: \"64MiB\" ranks: 4 }\n");
  return "--on small.textproto --nb 256 ";
}

// 80 % of 64 MiB hold an order of 2590 where four ranks share a host, twice that where each has its own.
TEST(PredictHpl, TheOrderIsWhatThePlacementHasRoomFor) {
  const Workspace here;
  const std::string on = small_hosts(here);
  for (const auto& [map, n] : {std::pair{"block", 2560}, {"cyclic", 5120}, {"block,hosts=packed", 2560}}) {
    const Outcome o = here.weft("predict hpl " + on + "--p 2 --q 2 --closed-form --json - --map " + map);
    ASSERT_EQ(o.exit_code, 0) << o.err;
    EXPECT_EQ(json::parse(o.out)["runs"][0]["n"], n) << map;
  }
}

TEST(PredictHpl, WhatDoesNotFitIsPredictedWithAWarning) {
  const Workspace here;
  const std::string on = small_hosts(here);
  for (const std::string verb : {"predict hpl ", "predict hpl --closed-form ", "tune hpl --evaluations 8 "}) {
    const std::string run = verb + on + "--p 4 --q 4 --json - --n ";
    const auto warnings = [&](const std::string& n) {
      const Outcome o = here.weft(run + n);
      EXPECT_EQ(o.exit_code, 0) << o.err;
      return json::parse(o.out)["warnings"].dump();
    };
    EXPECT_THAT(warnings("6000"), HasSubstr("N = 6000 on 4 x 4 does not fit: its matrix takes 72 MB of a "
                                            "host that has 67.1 MB"))
        << verb;
    EXPECT_THAT(warnings("5700"), Not(HasSubstr("does not fit"))) << verb;
  }
}

// What a platform does not say is said of closed forms as of replays.
TEST(PredictHpl, ClosedFormsHaveTheWarningsOfAReplay) {
  const Workspace here;
  here.write(
      "p.textproto",
      "topology { family: \"crossbar\" set: \"n=4\" }\nhost { memory: \"4MiB\" kernel { name: \"dgemm\" "
      "rate: \"90Gflops\" } }\n");
  const auto warnings = [&](const std::string& run) {
    const Outcome o = here.weft("predict hpl --json - --nb 40,80 --p 2 --q 2 " + run);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return json::parse(o.out)["warnings"];
  };
  for (const auto& [run, words] :
       {std::pair{"--on crossbar:n=4 --n 800",
                  std::vector{"10 Gflop/s a rank are assumed", "as fast at NB = 40 as at NB = 80"}},
        {"--on crossbar:n=4 --n 800 --program rochpl",
         {"no kernel \"device_dgemm\"", "copies of panels take no time", "are assumed",
          "as fast at NB = 40 as at NB = 80"}},
        {"--on p.textproto --n 2000", {"as fast at NB = 40", "does not fit", "the platform gives no speed"}},
        {"--on crossbar:n=4 --on torus-16 --n 800",
         {"crossbar:n=4: the platform", "crossbar:n=4: what is assumed", "torus-16: the platform"}}}) {
    const json forms = warnings(std::string(run) + " --closed-form");
    EXPECT_EQ(forms, warnings(run)) << run;
    ASSERT_EQ(forms.size(), words.size()) << run << "\n" << forms.dump(1);
    for (std::size_t i = 0; i < words.size(); ++i)
      EXPECT_THAT(forms[i].get<std::string>(), HasSubstr(words[i])) << run;
  }
}

// Grids of other numbers of ranks are placed otherwise.
TEST(TuneHpl, TellsWhatThePlacementsOfAllGridsNote) {
  const Workspace here;
  here.write("hosts", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  const Outcome o = here.weft(
      "tune hpl --on torus-16 --n 500 --nb 50 --p 2,2 --q 2,4 --evaluations 10 --map file:hosts --json -");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const std::string warnings = json::parse(o.out)["warnings"].dump();
  EXPECT_THAT(warnings, HasSubstr("hosts: 6 lines beyond the 4 ranks are not used"));
  EXPECT_THAT(warnings, HasSubstr("hosts: 2 lines beyond the 8 ranks are not used"));
}

}  // namespace
}  // namespace weft::testing::predict_panels_test
