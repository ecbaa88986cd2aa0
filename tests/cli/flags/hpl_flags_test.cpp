// Flags of HPL's run and its HPL.dat, as the programs on accelerators take them: rocHPL 6.1 refuses what HPL takes
// (HPL_pdinfo.cpp), NVIDIA's program does not read all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::hpl_flags_test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// An HPL.dat of two grids whose lines after RFACT are these.
std::string hpl_dat(const std::string& bcast, const std::string& depths, int swap, int equil) {
  const std::size_t depth_count = depths.size() / 2 + 1;
  return "HPL\nHPL\nHPL.out\n6\n1 sizes\n400 N\n1 NBs\n50 NB\n0 PMAP\n1 grids\n2 P\n2 Q\n16.0\n1\n2 "
         "PFACT\n1\n16 "
         "NBMIN\n1\n2 NDIV\n1\n2 RFACT\n1\n" +
         bcast + " BCAST\n" + std::to_string(depth_count) + "\n" + depths + " DEPTH\n" +
         std::to_string(swap) + " SWAP\n64\n0 L1\n0 U\n" + std::to_string(equil) + " Equilibration\n8\n";
}

TEST(HplFlags, AFileTunedForRocHplIsOneThatItTakes) {
  const Workspace w;
  const std::string rochpl = " hpl --program rochpl --on crossbar-16 ";
  const Outcome tuned =
      w.weft("tune" + rochpl + "--n 400 --nb 50 --p 2 --q 2 --evaluations 8 --quiet -o best.dat");
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_THAT(w.read("best.dat"), HasSubstr("\n1            DEPTH (>= 0)\n1            SWAP"));
  EXPECT_THAT(w.read("best.dat"), HasSubstr("\n0            equilibration"));
  const Outcome o = w.weft("predict" + rochpl + "--dat best.dat");
  EXPECT_EQ(o.exit_code, 0) << o.err;
}

TEST(HplFlags, AFileThatRocHplRefusesIsRefusedWithItsLine) {
  const Workspace w;
  w.write("depth.dat", hpl_dat("1", "0 1", 0, 1));
  w.write("swap.dat", hpl_dat("1", "1", 0, 1));
  w.write("equil.dat", hpl_dat("1", "1", 1, 1));
  w.write("taken.dat", hpl_dat("1", "1", 1, 0));
  for (const std::string verb : {"generate hpl -o x.weft ", "predict hpl --on crossbar-16 ",
                                 "tune hpl --evaluations 8 --on crossbar-16 "}) {
    for (const auto& [file, where] : {std::pair<std::string, std::string>{"depth", "depth.dat:25:1"},
                                      {"swap", "swap.dat:26:1"},
                                      {"equil", "equil.dat:30:1"}}) {
      const Outcome o = w.weft(verb + "--program rochpl --dat " + file + ".dat");
      EXPECT_EQ(o.exit_code, 3) << verb << file;
      EXPECT_THAT(o.err, HasSubstr(where + ": error: rocHPL ")) << verb;
    }
    EXPECT_EQ(w.weft(verb + "--program rochpl --dat taken.dat").exit_code, 0) << verb;
    EXPECT_EQ(w.weft(verb + "--dat depth.dat").exit_code, 0) << verb << "of HPL's own";
  }
}

TEST(HplFlags, WhatIsMoreThanHplTakesIsNamedByItsFlagOrItsLine) {
  const Workspace w;
  std::string wide = hpl_dat("1", "1", 1, 0);
  wide.replace(wide.find("50 NB"), 2, "40000");
  w.write("wide.dat", wide);
  for (const std::string verb :
       {"generate hpl -o x.weft ", "predict hpl --on crossbar-16 ",
        "predict hpl --on crossbar-16 --closed-form ", "tune hpl --evaluations 8 --on crossbar-16 "}) {
    for (const auto& [flag, most] :
         {std::pair<std::string, std::string>{"--nb", "1 to 32768"}, {"--depth", "0 to 64"}}) {
      const std::string last = most.substr(most.find("to ") + 3), more = std::to_string(std::stoi(last) + 1);
      const std::string run = verb + "--n 100 --p 2 --q 2 " + flag + " ";
      EXPECT_EQ(w.weft(run + last).exit_code, 0) << verb << flag;
      const Outcome o = w.weft(run + more);
      EXPECT_EQ(o.exit_code, 2) << verb << flag;
      EXPECT_THAT(o.err, HasSubstr("error: " + flag + ": not a valid number; got \"" + more +
                                   "\"; expected a whole number from " + most));
    }
    const Outcome o = w.weft(verb + "--dat wide.dat");
    EXPECT_EQ(o.exit_code, 3) << verb;
    EXPECT_THAT(o.err, HasSubstr("wide.dat:8:1: error: a value of NB is more than 32768; got \"40000\""));
  }
}

TEST(HplFlags, WhatAProgramTakesForALineOfTheFileIsAWarningOfPredictionsToo) {
  const Workspace w;
  w.write("bcast.dat", hpl_dat("9", "1", 1, 0));
  w.write("depths.dat", hpl_dat("1", "0 1", 0, 1));
  for (const auto& [program, dat, says] :
       {std::tuple<std::string, std::string, std::string>{
            "netlib", "bcast", "23: BCAST 9 is unknown to HPL, which takes 1 (1rM)"},
        {"rochpl", "bcast", "23: BCAST 9 is unknown to rocHPL, which takes 5 (LnM)"},
        {"nvidia", "depths", "25: DEPTH 0 1 makes one run"}}) {
    const std::string run = "--program " + program + " --dat " + dat + ".dat ";
    const std::string on = "--on crossbar-16 --json - --quiet ";
    for (const std::string verb :
         {"predict hpl ", "predict hpl --closed-form ", "tune hpl --evaluations 8 --bcast 0,1 "}) {
      const Outcome o = w.weft(verb + run + on);
      ASSERT_EQ(o.exit_code, 0) << o.err;
      const json j = json::parse(o.out);
      EXPECT_THAT(j["warnings"].get<std::vector<std::string>>(), Contains(HasSubstr(dat + ".dat:" + says)));
    }
    const Outcome o = w.weft("predict hpl " + run + on);
    EXPECT_FALSE(json::parse(o.out).contains("runs")) << "one run, and it is the document";
  }
}

// The one of a run's JSON that tells how its grid lies on nodes.
std::string node_grid(const json& of) {
  return of.contains("local_p") ? of["local_p"].dump() + " x " + of["local_q"].dump() : "none";
}

TEST(HplFlags, RocHplLaysItsGridOnNodesByTheRanksThatTheseHave) {
  const Workspace w;
  const std::string on = " --on crossbar:n=4,ranks_per_host=4,bw=1GB/s --n 800 --nb 50 --quiet --json - ";
  const auto predict = [&](const std::string& flags) {
    const Outcome o = w.weft("predict hpl" + on + flags);
    EXPECT_EQ(o.exit_code, 0) << flags << ": " << o.err;
    return o.exit_code == 0 ? json::parse(o.out) : json();
  };
  const json none = predict("--program rochpl --p 4 --q 4");
  EXPECT_EQ(node_grid(none["config"]), "1 x 4");
  for (const char* same : {"--local-p 1", "--local-q 4", "--local-p 1 --local-q 4"}) {
    const json j = predict("--program rochpl --p 4 --q 4 " + std::string(same));
    EXPECT_EQ(j["time_s"], none["time_s"]) << same;
    EXPECT_EQ(j["config"], none["config"]) << same;
  }
  const json squares = predict("--program rochpl --p 4 --q 4 --local-p 2");
  EXPECT_EQ(node_grid(squares["config"]), "2 x 2");
  EXPECT_NE(squares["time_s"], none["time_s"]);
  EXPECT_EQ(node_grid(predict("--program rochpl")["config"]), "1 x 4") << "of an open grid, 4 x 4";
  EXPECT_EQ(node_grid(predict("--program rochpl --p 2 --q 2")["config"]), "2 x 2") << "on one node";
  EXPECT_EQ(node_grid(predict("--program nvidia --p 4 --q 4")["config"]), "none");
  EXPECT_EQ(node_grid(predict("--program nvidia --p 4 --q 4 --local-p 2")["config"]), "2 x 4");
  EXPECT_EQ(node_grid(predict("--p 4 --q 4")["config"]), "none");
  for (const int again : {0, 1}) {
    const json kept = predict("--program rochpl --p 4 --q 4 --journal kept");
    EXPECT_EQ(node_grid(kept["config"]), "1 x 4") << (again == 1 ? "as the journal has it" : "");
  }
  for (const auto& [flags, says] : {std::pair<std::string, std::string>{
                                        "--local-p 2 --local-q 1", "are not its processes; got \"2 x 1\""},
                                    {"--local-p 3", "P is no multiple of the process rows"},
                                    {"--map random", "nodes have different numbers of processes"}}) {
    const Outcome o = w.weft("predict hpl --program rochpl --p 4 --q 2 --quiet" + on + flags);
    EXPECT_EQ(o.exit_code, 3) << flags;
    EXPECT_THAT(o.err, HasSubstr(says));
  }
}

TEST(HplFlags, TunedRowsSayHowRocHplLaysThemOnNodes) {
  const Workspace w;
  const Outcome o = w.weft(
      "tune hpl --program rochpl --on crossbar:n=2,ranks_per_host=4 --n 400 --nb 50 --bcast 0 --evaluations "
      "8 "
      "--quiet --json -");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  for (const json& row : json::parse(o.out)["rows"]) {
    const int p = row["p"], q = row["q"], local_p = row["local_p"], local_q = row["local_q"];
    EXPECT_EQ(local_p * local_q, 4) << row;
    EXPECT_EQ(local_q, std::min(q, 4)) << row;
    EXPECT_EQ(p % local_p + q % local_q, 0) << row;
  }
}

TEST(HplFlags, OneSideOfTheGridIsKeptAndTheOtherTakesAllRanks) {
  const Workspace w;
  const std::string on = " hpl --on crossbar-16 --n 400 --nb 50 --quiet --json - ";
  const json tuned = json::parse(w.weft("tune" + on + "--q 8 --bcast 0,1 --evaluations 8").out);
  EXPECT_GT(tuned["rows"].size(), 1u);
  for (const json& row : tuned["rows"]) EXPECT_EQ(row["p"].dump() + " x " + row["q"].dump(), "2 x 8");
  const json predicted = json::parse(w.weft("predict" + on + "--p 4,8").out);
  ASSERT_EQ(predicted["runs"].size(), 2u);
  EXPECT_EQ(predicted["runs"][0]["q"], 4);
  EXPECT_EQ(predicted["runs"][1]["q"], 2);
  EXPECT_THAT(w.weft("predict hpl --on crossbar-16 --n 400 --nb 50 --q 8").out,
              HasSubstr("P = 2 (all 16 ranks)"));
  for (const std::string verb : {"tune", "predict"})
    for (const std::string side : {"--p", "--q"}) {
      const Outcome o = w.weft(verb + on + side + " 3");
      EXPECT_EQ(o.exit_code, 2);
      EXPECT_THAT(o.err, HasSubstr(side + " does not divide the ranks of the platform; got \"3\"; expected a "
                                          "divisor of 16, or both --p and --q"));
    }
}

TEST(HplFlags, AGridWithinNodesThatPmapRowMakesVoidIsAWarning) {
  const Workspace w;
  const std::string says = "--local-p and --local-q: with PMAP row rochpl fills the grid row by row";
  const std::string run = "--program rochpl --n 400 --nb 50 --p 2 --q 2 --quiet ";
  for (const std::string verb : {"predict hpl --json - --on crossbar:n=1,ranks_per_host=4 ",
                                 "tune hpl --json - --evaluations 8 --on crossbar:n=1,ranks_per_host=4 "}) {
    EXPECT_THAT(w.weft(verb + run + "--pmap row --local-p 2 --local-q 2").out, HasSubstr(says));
    EXPECT_THAT(w.weft(verb + run + "--pmap col --local-p 2 --local-q 2").out, Not(HasSubstr(says)));
    EXPECT_THAT(w.weft(verb + run + "--pmap row").out, Not(HasSubstr(says)));
  }
  EXPECT_THAT(w.weft("generate hpl -o t.weft --json - --pmap row --local-p 2 --local-q 2 " + run).out,
              HasSubstr(says));
}

}  // namespace
}  // namespace weft::testing::hpl_flags_test
