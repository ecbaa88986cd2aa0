// weft generate hpl on the command line: an HPL.dat, its lines as flags, three kinds of pivots, faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::generate_hpl_test {
namespace {

using ::testing::HasSubstr;

const std::string kDat =
    "HPLinpack benchmark input file\ngenerated\nHPL.out out\n6 device\n1 Ns\n120 N\n1 NBs\n16 NB\n0 PMAP\n1 "
    "grids\n2 P\n"
    "3 Q\n16.0 threshold\n1 #\n2 PFACT\n1 #\n4 NBMIN\n1 #\n2 NDIV\n1 #\n1 RFACT\n1 #\n1 BCAST\n1 #\n0 "
    "DEPTH\n2 SWAP\n"
    "64 threshold\n0 L1\n0 U\n1 equil\n8 align\n";

TEST(GenerateHpl, ADatFileAndTheSameFlagsGiveTheSameTrace) {
  const Workspace here;
  here.write("HPL.dat", kDat);
  const Outcome a = here.weft("generate hpl --dat HPL.dat -o a.weft --json a.json");
  ASSERT_EQ(a.exit_code, 0) << a.err;
  const Outcome b = here.weft("generate hpl --n 120 --nb 16 --p 2 --q 3 -o b.weft");
  ASSERT_EQ(b.exit_code, 0) << b.err;
  EXPECT_TRUE(here.read("a.weft") == here.read("b.weft"));
  const auto j = nlohmann::json::parse(here.read("a.json"));
  EXPECT_EQ(j["schema"], "weft.generate/1");
  EXPECT_EQ(j["kind"], "hpl");
  EXPECT_EQ(j["ranks"], 6);
  EXPECT_GT(j["messages"].get<int>(), 100);
  const Outcome check = here.weft("check a.weft");
  EXPECT_EQ(check.exit_code, 0) << check.out;
}

TEST(GenerateHpl, NamesAndHplsNumbersMeanTheSame) {
  const Workspace here;
  const std::string base = "generate hpl --n 100 --nb 16 --p 2 --q 2 --depth 1 ";
  ASSERT_EQ(
      here.weft(base +
                "--pmap col --pfact left --rfact crout --bcast 2rM --swap long --l1 no-transposed --u "
                "no-transposed --equil no --nbmin 2 --ndiv 3 --swap-threshold 20 --align 4 --threshold 0 "
                "-o a.weft")
          .exit_code,
      0);
  ASSERT_EQ(
      here.weft(base +
                "--pmap 1 --pfact 0 --rfact 1 --bcast 3 --swap 1 --l1 1 --u 1 --equil 0 --nbmin 2 --ndiv "
                "3 --swap-threshold 20 --align 4 --threshold 0 -o b.weft")
          .exit_code,
      0);
  EXPECT_TRUE(here.read("a.weft") == here.read("b.weft"));
}

TEST(GenerateHpl, AFlagReplacesALineOfTheFile) {
  const Workspace here;
  here.write("HPL.dat", kDat);
  ASSERT_EQ(here.weft("generate hpl --dat HPL.dat --p 1 --q 2 -o a.weft").exit_code, 0);
  EXPECT_THAT(here.weft("info a.weft").out, HasSubstr("2"));
  ASSERT_EQ(here.weft("generate hpl --dat HPL.dat --n 100,120 --depth 0,1 -o many.weft").exit_code, 0);
  EXPECT_EQ(here.weft("check many.weft").exit_code, 0);
}

TEST(GenerateHpl, PivotsOfARecordingMakeTheRunAgain) {
  const Workspace here;
  const std::string run = "generate hpl --n 200 --nb 16 --p 3 --q 2 ";
  ASSERT_EQ(here.weft(run + "--pivots exact --matrix-seed 7 -o exact.weft").exit_code, 0);
  const Outcome o = here.weft(run + "--pivots from:exact.weft -o again.weft");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("pivots of the run recorded in exact.weft"));
  ASSERT_EQ(here.weft("export exact.weft --to text -o exact.txt").exit_code, 0);
  ASSERT_EQ(here.weft("export again.weft --to text -o again.txt").exit_code, 0);
  // The text has no shapes: the copies of the current row's rows are an estimate there, and cost no flops.
  EXPECT_TRUE(here.read("exact.txt") == here.read("again.txt"));
  const Outcome other =
      here.weft("generate hpl --n 201 --nb 16 --p 3 --q 2 --pivots from:exact.weft -o x.weft");
  EXPECT_EQ(other.exit_code, 3);
  EXPECT_THAT(other.err, HasSubstr("the recording is of another run; got \"N = 200, NB = 16, P = 3\""));
}

// LAPACK starts a thread for each core as it is loaded: only who factors the matrix pays for it.
TEST(GenerateHpl, LapackIsLoadedForExactPivotsOnly) {
  const Workspace here;
  const auto loads = [&](const std::string& pivots) {
    EXPECT_EQ(::setenv("LD_DEBUG", "libs", 1), 0);
    const Outcome o = here.weft("generate hpl --n 200 --nb 16 --p 2 --q 2 -o x.weft --pivots " + pivots);
    ::unsetenv("LD_DEBUG");
    EXPECT_EQ(o.exit_code, 0) << o.err;
    EXPECT_THAT(o.err, HasSubstr("find library=libc.so"));
    return o.err.find("find library=" WEFT_LAPACK) != std::string::npos;
  };
  EXPECT_FALSE(loads("random"));
  EXPECT_TRUE(loads("exact"));
}

TEST(GenerateHpl, ExactPivotsWithoutLapackAreNotSupported) {
  const Workspace here;
  here.write(WEFT_LAPACK, "no library");
  ASSERT_EQ(::setenv("LD_LIBRARY_PATH", here.path().c_str(), 1), 0);
  const Outcome o = here.weft("generate hpl --n 200 --nb 16 --p 2 --q 2 -o x.weft --pivots exact");
  ::unsetenv("LD_LIBRARY_PATH");
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_THAT(
      o.err, HasSubstr("not supported: exact pivots without LAPACK; got \"" + here.path() + "/" WEFT_LAPACK));
  EXPECT_THAT(o.err, HasSubstr("expected the library " WEFT_LAPACK));
  EXPECT_EQ(here.list(), std::vector<std::string>{WEFT_LAPACK});
}

TEST(GenerateHpl, SeedsDrawOtherPivots) {
  const Workspace here;
  const std::string run = "generate hpl --n 200 --nb 16 --p 3 --q 2 --swap 0 ";
  for (const char* seed : {"1", "2"})
    ASSERT_EQ(here.weft(run + "--seed " + seed + " -o s" + seed + ".weft").exit_code, 0);
  ASSERT_EQ(here.weft(run + "--seed 1 -o again.weft").exit_code, 0);
  EXPECT_TRUE(here.read("s1.weft") == here.read("again.weft"));
  EXPECT_TRUE(here.read("s1.weft") != here.read("s2.weft"));
}

TEST(GenerateHpl, RocHplIsAProgramOfItsOwnWithItsOwnDefaults) {
  const Workspace here;
  const std::string base = "generate hpl --n 600 --p 2 --q 2 ";
  ASSERT_EQ(here.weft(base + "-o a.weft").exit_code, 0);
  ASSERT_EQ(here.weft(base + "--program netlib -o b.weft").exit_code, 0);
  EXPECT_TRUE(here.read("a.weft") == here.read("b.weft"));
  ASSERT_EQ(here.weft(base + "--program rochpl -o c.weft").exit_code, 0);
  ASSERT_EQ(here.weft(base + "--program rochpl --nb 384 --bcast 1rg --nbmin 16 --rfact right --pmap col "
                             "--l1 no-transposed --split 0.6 --local-p 2 --local-q 2 -o d.weft")
                .exit_code,
            0);
  ASSERT_EQ(here.weft("export c.weft --to text -o c.txt").exit_code, 0);
  ASSERT_EQ(here.weft("export d.weft --to text -o d.txt").exit_code, 0);
  EXPECT_TRUE(here.read("c.txt") == here.read("d.txt"));
  EXPECT_THAT(here.read("c.txt"), HasSubstr(" launch "));
  EXPECT_EQ(here.weft("check c.weft").exit_code, 0);
  for (const auto& [flags, code, what] : std::vector<std::tuple<std::string, int, std::string>>{
           {"--program hpl-ai", 2,
            "--program: unknown value; got \"hpl-ai\"; expected one of: netlib, rochpl, nvidia"},
           {"--split 0.5", 2, "--split needs --program rochpl or nvidia"},
           {"--program rochpl --depth 3", 2, "--depth is not read by --program rochpl; got \"3\""},
           {"--program nvidia --swap long", 2, "--swap is not read by --program nvidia; got \"long\""},
           {"--local-q 2", 2, "--local-q needs --program rochpl or nvidia"},
           {"--program rochpl --split 1.01", 2, "--split: not a share; got \"1.01\""},
           {"--program rochpl --split nan", 2, "--split: not a share"},
           {"--program rochpl --local-p 0", 2, "--local-p: not a valid number"},
           {"--program rochpl --local-p 3 --local-q 1", 3,
            "P is no multiple of the process rows on a node; got \"3\""},
           {"--program rochpl --local-q 2", 2, "--local-q alone: the other is what it leaves of a node's"},
           {"--program nvidia --local-p 3", 3, "P is no multiple of the process rows on a node; got \"3\""},
           {"--program rochpl --pivots from:a.weft", 2, "pivots of a recorded run for rochpl"},
           {"--program rochpl --device-memory 1GB", 2, "--device-memory needs --program nvidia; got \"1GB\""},
           {"--program nvidia --device-memory much", 2, "--device-memory: not a positive size; got \"much\""},
           {"--program nvidia --device-memory 0", 2, "--device-memory: not a positive size; got \"0\""},
           {"--program nvidia --device-memory 1B", 3, "too small for its panels and rows of U; got \"1B\""},
           {"--program nvidia --pivots from:a.weft", 2, "pivots of a recorded run for nvidia"}}) {
    const Outcome o = here.weft(base + flags + " -o x.weft");
    EXPECT_EQ(o.exit_code, code) << flags << ": " << o.err;
    EXPECT_THAT(o.err, HasSubstr(what));
    EXPECT_FALSE(std::filesystem::exists(here.path() + "/x.weft"));
  }
  for (const char* verb :
       {"generate hpl -o x.weft", "predict hpl --on crossbar:n=4", "tune hpl --on crossbar:n=4"}) {
    const Outcome idle = here.weft(std::string(verb) + " --n 600 --p 1 --q 4 --program rochpl --split 0.5");
    EXPECT_EQ(idle.exit_code, 2) << verb;
    EXPECT_THAT(idle.err, HasSubstr("--split has nothing to do with one process row")) << verb;
  }
}

TEST(GenerateHpl, FaultsAreNamedAndLeaveNothing) {
  const Workspace here;
  here.write("bad.dat", "a\nb\nc\n6\nmany\n");
  struct Fault {
    const char* arguments;
    int exit_code;
    const char* message;
  };
  const Fault faults[] = {
      {"generate", 2, "which kind of trace?; expected one of hpl"},
      {"generate nothing", 2, "got \"nothing\""},
      {"generate hpl", 2, "--output"},
      {"generate hpl --dat bad.dat -o x.weft", 3,
       "bad.dat:5:1: error: the number of problem sizes is not a number"},
      {"generate hpl --dat missing.dat -o x.weft", 3, "missing.dat: error: cannot open: No such file"},
      {"generate hpl --bcast ring -o x.weft", 2, "0|1rg, 1|1rM, 2|2rg, 3|2rM, 4|Lng, 5|LnM"},
      {"generate hpl --n 10k -o x.weft", 2, "--n: not a valid number; got \"10k\""},
      {"generate hpl --p 2,4 -o x.weft", 2, "--p and --q must have as many values"},
      {"generate hpl --p 100000 --q 100000 -o x.weft", 2, "the process grid is too large"},
      {"generate hpl --nb 0 -o x.weft", 2, "--nb"},
      {"generate hpl --pivots some -o x.weft", 2, "one of: random, exact, from:TRACE"},
      {"generate hpl --n 50000 --pivots exact -o x.weft", 2, "exact pivots of N = 50000"},
      {"generate hpl --pivots from:bad.dat -o x.weft", 3, "bad.dat"},
  };
  const auto before = here.list();
  for (const Fault& f : faults) {
    const Outcome o = here.weft(f.arguments);
    EXPECT_EQ(o.exit_code, f.exit_code) << f.arguments << "\n" << o.err;
    EXPECT_THAT(o.err, HasSubstr(f.message)) << f.arguments;
    EXPECT_EQ(here.list(), before) << f.arguments;
  }
}

}  // namespace
}  // namespace weft::testing::generate_hpl_test
