// weft predict hpl with lists and --repeat: several runs, with several seeds, some at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::predict_seeds_test {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

json without_engine(json j) {
  j.erase("engine");
  return j;
}

// A run of each seed is the run with that --seed; mean and spread are theirs.
TEST(PredictHpl, RepeatsARunWithSeveralSeeds) {
  const Workspace here;
  const std::string run =
      "predict hpl --on dahu --noise --map random --n 1500,2000 --nb 64 --p 2 --q 2 --seed ";
  const Outcome o = here.weft(run + "7 --repeat 3 --json j.json --csv c.csv --journal kept");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("2 runs, 3 seeds each on dahu; fastest: N 2000"));
  const json j = json::parse(here.read("j.json"));
  ASSERT_EQ(j["runs"].size(), 6u);
  ASSERT_EQ(j["seed_spread"].size(), 2u);
  for (int seed = 7; seed < 10; ++seed) {
    const json alone = json::parse(here.weft(run + std::to_string(seed) + " --json -").out);
    for (int n : {0, 1}) {
      json row = j["runs"][3 * n + seed - 7];
      EXPECT_EQ(row["config"]["seed"], seed);
      EXPECT_EQ(without_engine(row), without_engine(alone["runs"][n]));
    }
  }
  for (int n : {0, 1}) {
    const json& spread = j["seed_spread"][n];
    EXPECT_EQ(spread["n"], n == 0 ? 1500 : 2000);
    EXPECT_EQ(spread["seeds"], 3);
    for (const char* key : {"gflops", "time_s"}) {
      std::array<double, 3> x{};
      for (int i = 0; i < 3; ++i) x[i] = j["runs"][3 * n + i][key];
      const double mean = (x[0] + x[1] + x[2]) / 3;
      const double squares = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - 3 * mean * mean;
      EXPECT_NEAR(spread[key]["mean"].get<double>(), mean, 1e-12 * mean);
      EXPECT_NEAR(spread[key]["stddev"].get<double>(), std::sqrt(squares / 2), 1e-6 * mean);
      EXPECT_EQ(spread[key]["least"], *std::min_element(x.begin(), x.end()));
      EXPECT_EQ(spread[key]["most"], *std::max_element(x.begin(), x.end()));
      EXPECT_GT(spread[key]["stddev"].get<double>(), 0);
    }
  }
  // Any number of runs at once, sampled or not.
  for (const char* more : {"--repeat 3", "--repeat 2 --sample 3 --window 4"}) {
    const auto with = [&](const char* threads) {
      json all = without_engine(json::parse(here.weft(run + "7 " + more + threads + " --json -").out));
      for (json& r : all["runs"]) r = without_engine(r);
      all.erase("command");
      return all;
    };
    const json one = with("");
    EXPECT_EQ(with(" --threads 2"), one);
    EXPECT_EQ(with(" --threads 13"), one);
  }
  // More seeds later: those that are done are not run again.
  ASSERT_EQ(here.weft(run + "7 --repeat 4 --json more.json --journal kept").exit_code, 0);
  const json more = json::parse(here.read("more.json"));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(more["runs"][i]["engine"]["wall_s"], j["runs"][i]["engine"]["wall_s"]);
  EXPECT_EQ(more["seed_spread"][0]["seeds"], 4);
  // One seed is what it was.
  EXPECT_FALSE(json::parse(here.weft(run + "7 --repeat 1 --json -").out).contains("seed_spread"));
  const Outcome formula = here.weft("predict hpl --on dahu --n 2000 --repeat 2 --closed-form");
  EXPECT_EQ(formula.exit_code, 2);
  EXPECT_THAT(formula.err, HasSubstr("not supported: closed forms with several seeds"));
}

// Lists of NBMIN and NDIV are in every output.
TEST(PredictHpl, RunsThatDifferInHowAPanelIsFactoredAreToldApart) {
  const Workspace here;
  const std::string run = "predict hpl --on dahu --n 1000 --nb 64 --p 1 --q 4 ";
  const Outcome o = here.weft(run + "--nbmin 2,16 --ndiv 2,4 --repeat 2 --json lists.json --csv lists.csv");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, ContainsRegex("fastest: N 1000 [^:]*, nbmin (2|16) ndiv [24]: "));
  EXPECT_THAT(o.out, ContainsRegex("pfact +nbmin +rfact +ndiv +bcast"));

  std::istringstream csv(here.read("lists.csv"));
  std::set<std::vector<std::string>> parameters;
  std::vector<std::string> head;
  int rows = 0;
  for (std::string line; std::getline(csv, line); ++rows) {
    std::vector<std::string> key;
    std::istringstream cells(line);
    std::size_t column = 0;
    for (std::string cell; std::getline(cells, cell, ','); ++column) {
      if (rows == 0) head.push_back(cell);
      for (const char* name : {"nbmin", "ndiv", "seed"})
        if (rows > 0 && head.at(column) == name) key.push_back(cell);
    }
    if (rows > 0) parameters.insert(key);
  }
  EXPECT_EQ(rows, 1 + 8);
  EXPECT_EQ(parameters.size(), 8u);

  std::set<std::pair<int, int>> groups;
  const json j = json::parse(here.read("lists.json"));
  for (const json& s : j["seed_spread"]) groups.emplace(s["nbmin"], s["ndiv"]);
  EXPECT_EQ(groups.size(), 4u);

  // What does not vary is not told.
  const Outcome plain = here.weft(run + "--depth 0,1");
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_THAT(plain.out, Not(AnyOf(HasSubstr("nbmin"), HasSubstr("ndiv"))));
}

// Two platforms of one name, which only their labels tell apart, and what does not change a closed form.
TEST(PredictHpl, RowsHaveTheLabelOfTheirPlatformAndEveryLineThatVaries) {
  const Workspace here;
  const std::string platform = "topology { family: \"crossbar\" set: \"n=4\" }\n";
  here.write("x/p.textproto", platform + "host { speed: \"1Gflops\" }\n");
  here.write("y/p.textproto", platform + "host { speed: \"2Gflops\" }\n");
  const std::string on =
      " --on a=x/p.textproto --on b=y/p.textproto --n 400 --nb 50 --p 2 --q 2 --depth 0,1 ";
  const Outcome o = here.weft("predict hpl" + on + "--csv c.csv");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  std::istringstream csv(here.read("c.csv"));
  std::vector<std::string> labels;
  for (std::string line; std::getline(csv, line);) labels.push_back(line.substr(line.rfind(',') + 1));
  EXPECT_EQ(labels, (std::vector<std::string>{"label", "a", "a", "b", "b"}));

  const Outcome forms = here.weft("predict hpl" + on + "--bcast 0,4 --nbmin 4,8 --closed-form --json j.json");
  ASSERT_EQ(forms.exit_code, 0) << forms.err;
  EXPECT_THAT(forms.out, ContainsRegex("NB +P +Q +nbmin +bcast +depth +netlib"));
  std::set<std::string> told;
  const json j = json::parse(here.read("j.json"));
  for (const json& row : j["runs"])
    told.insert(row["label"].dump() + row["config"]["depth"].dump() + row["config"]["bcast"].dump() +
                row["config"]["nbmin"].dump());
  EXPECT_EQ(told.size(), 16u);
  const Outcome one = here.weft("predict hpl --on x/p.textproto --n 400 --nb 50 --closed-form --json j.json");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_FALSE(json::parse(here.read("j.json"))["runs"][0].contains("label"));
  EXPECT_THAT(one.out, Not(HasSubstr("depth")));

  const Outcome tuned =
      here.weft("tune hpl --on a=x/p.textproto --n 400 --nb 50 --p 2 --q 2 --evaluations 8 --json -");
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_EQ(json::parse(tuned.out)["label"], "a");
}

// Block-cyclic work is equal, so the slowest host decides, wherever it stands in the platform; and no form is above the peak.
TEST(PredictHpl, ClosedFormsAreOfTheSlowestHost) {
  const Workspace here;
  const auto forms = [&](const std::string& speeds) {
    here.write("p.textproto",
               "topology { family: \"crossbar\" set: \"n=4\" set: \"bw=100GB/s\" }\n" + speeds);
    const Outcome o =
        here.weft("predict hpl --on p.textproto --n 20000 --nb 100 --p 2 --q 2 --closed-form --json -");
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return json::parse(o.out)["runs"][0]["closed_form"];
  };
  const auto with_slow = [](const std::string& host) {
    return "host { speed: \"10Gflops\" group { hosts: \"" + host + "\" speed: \"5Gflops\" } }\n";
  };
  const json first = forms(with_slow("0")), last = forms(with_slow("3")),
             all = forms("host { speed: \"5Gflops\" }\n");
  for (const char* form : {"hpl_gflops", "mcl_gflops", "phases_gflops"}) {
    EXPECT_EQ(first[form], last[form]) << form;
    EXPECT_EQ(all[form], last[form]) << form;
    EXPECT_LE(last[form].get<double>(), last["roofline_gflops"].get<double>()) << form;
  }
}

// Of samples whose intervals meet nobody is the fastest; runs of all panels have no interval.
TEST(PredictHpl, RunsThatSamplesDoNotTellApartAreNamed) {
  const Workspace here;
  const std::string on =
      "predict hpl --on a=crossbar:n=4,bw=1GB/s,speed=10Gflops --on "
      "b=crossbar:n=4,bw=1.001GB/s,speed=10Gflops "
      "--on c=crossbar:n=4,bw=1MB/s,speed=10Gflops --n 12000 --nb 60 --p 2 --q 2 ";
  EXPECT_THAT(here.weft(on + "--sample 4").out,
              ContainsRegex("\nAs fast within \\+-: a, 0\\.[0-9]+ % slower\\.\n"));
  EXPECT_THAT(here.weft(on + "--exchanges").out, Not(HasSubstr("As fast within")));
  // Too few windows for an interval.
  const Outcome few = here.weft(on + "--sample 3 --json j.json");
  EXPECT_THAT(
      few.out,
      ContainsRegex("\nWithout an interval not told apart \\(up to 5 %\\): a, 0\\.[0-9]+ % slower\\.\n"));
  const json fastest = json::parse(here.read("j.json"))["fastest"];
  EXPECT_EQ(fastest["index"], 1);
  ASSERT_EQ(fastest["close"].size(), 1u);
  EXPECT_EQ(fastest["close"][0]["index"], 0);
  EXPECT_EQ(fastest["close"][0]["why"], "no interval");
}

// What a broadcast, a map or a swap changes on one rank is nothing; what another seed changes is chance.
TEST(PredictHpl, EqualRatesAndALeadOfOneSeedAreToldAsSuch) {
  const Workspace here;
  const std::string one = "predict hpl --on crossbar:n=4,speed=10Gflops --n 500 --nb 50 --p 1 --q 1 ";
  EXPECT_THAT(here.weft(one + "--bcast 1,3").out, HasSubstr("; all as fast, as N 500"));
  EXPECT_THAT(
      here.weft("predict hpl --on crossbar:n=4,speed=10Gflops --n 400,500 --nb 50 --p 1 --q 1 --bcast 1,3")
          .out,
      ContainsRegex("; fastest: N 500 NB [0-9]+ .*\n.*\nAs fast: (1rM|2rM)\\.\n"));
  const std::string two =
      "predict hpl --on a=crossbar:n=4,speed=10Gflops --on b=crossbar:n=4,bw=99Gbps,speed=10Gflops --n 1000 "
      "--nb 50 --p 4 --q 1 ";
  EXPECT_THAT(
      here.weft(two).out,
      ContainsRegex("\nWith one seed: b, 0\\.[0-9]+ % slower; --repeat 5 tells that from chance\\.\n"));
  EXPECT_THAT(here.weft(two + "--pivots exact").out, Not(HasSubstr("With one seed")))
      << "another seed changes nothing";
  const Outcome tuned = here.weft(
      "tune hpl --on crossbar:n=4,speed=10Gflops --n 500 --nb 50 --p 1 --q 1 --evaluations 8 --json j.json");
  EXPECT_THAT(tuned.out, HasSubstr("\nAs fast: "));
  EXPECT_EQ(json::parse(here.read("j.json"))["fastest"]["close"][0]["why"], "equal");
}

}  // namespace
}  // namespace weft::testing::predict_seeds_test
