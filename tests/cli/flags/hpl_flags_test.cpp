// Flags of HPL's run and its HPL.dat, as the programs on accelerators take them: rocHPL 6.1 refuses what HPL takes
// (HPL_pdinfo.cpp), NVIDIA's program does not read all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::hpl_flags_test {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace weft::testing::hpl_flags_test
