// Flags that have nothing to do beside others, or for what they are given: refused, and told what they need. Each of them
// alone: flags_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/run_weft.hpp"

namespace weft::testing::idle_flags_test {
namespace {

using ::testing::HasSubstr;

struct Idle {
  std::string line;
  std::string says;
};

void expect_refused(const Workspace& w, const std::vector<Idle>& all) {
  for (const auto& [line, says] : all) {
    const Outcome o = w.weft(line);
    EXPECT_EQ(o.exit_code, 2) << line;
    EXPECT_THAT(o.err, HasSubstr(says)) << line;
    EXPECT_EQ(o.out, "") << line;
  }
}

void expect_taken(const Workspace& w, const std::vector<std::string>& all) {
  for (const auto& line : all) EXPECT_EQ(w.weft(line).exit_code, 0) << line;
}

TEST(IdleFlags, OfAReplayShowInItsJsonOrItsTables) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate ring --ranks 4 -o t.weft").exit_code, 0);
  const std::string replay = "replay t.weft --on torus-16 ";
  expect_refused(
      w, {{replay + "--per-rank", "replay without --json has no use for --per-rank; expected --json FILE"},
          {replay + "--per-rank --csv r.csv", "no use for --per-rank"},
          {replay + "--explain --all-links", "replay --explain without --json has no use for --all-links"},
          {replay + "--explain --rank-links waited",
           "no use for --rank-links; got \"waited\"; expected --json"}});
  expect_taken(w, {replay + "--per-rank --json r.json", replay + "--all-links --rank-links waited",
                   replay + "--explain --all-links --rank-links waited --json r.json"});
}

// So many flows have no phases in the table.
TEST(IdleFlags, OfFlowsAreThePhasesThatNothingShows) {
  const Workspace w;
  std::string flows = "src,dst,bytes,start\n";
  for (int i = 0; i < 40; ++i) flows += "0,1,1MiB,0\n";
  w.write("few.csv", flows);
  w.write("many.csv", flows + "0,1,1MiB,0\n");
  expect_refused(w, {{"flows many.csv --on crossbar-16 --no-phases",
                      "a table of 41 flows has no use for --no-phases; expected --json FILE, or at most 40 "
                      "flows"}});
  expect_taken(w, {"flows few.csv --on crossbar-16 --no-phases",
                   "flows many.csv --on crossbar-16 --no-phases --json f.json"});
}

TEST(IdleFlags, OfASearchAreThoseOfTheOtherKindOfSearchOrExchange) {
  const Workspace w;
  w.write("p.csv", "src,dst,bytes\n0,1,1MiB\n1,0,1MiB\n");
  const std::string grid = "search halo --grid 2x2 --on cs-storm ",
                    pattern = "search halo --pattern p.csv --on cs-storm ";
  expect_refused(
      w, {{grid + "--exhaustive --evaluations 5", "search --exhaustive has no use for --evaluations"},
          {grid + "--place search --exhaustive --nodes 5", "search --exhaustive has no use for --nodes"},
          {grid + "--nodes 5", "search of few enough schedules to try all has no use for --nodes; got \"5\""},
          {grid + "--place search --evaluations 5", "has no use for --evaluations"},
          {pattern + "--bytes 1KiB", "which says who sends what to whom, has no use for --bytes"},
          {pattern + "--edge-bytes 1KiB", "no use for --edge-bytes"},
          {pattern + "--corner-bytes 1KiB", "no use for --corner-bytes"},
          {pattern + "--periodic", "no use for --periodic; expected either --grid with its flags"}});
  expect_taken(w, {grid + "--exhaustive", pattern + "--exhaustive",
                   "search halo --grid 4x3 --on cs-storm-16 --evaluations 20 --nodes 100"});
}

TEST(IdleFlags, OfASweepThatNoRankingFlipsIn) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate ring --ranks 4 -o t.weft").exit_code, 0);
  const std::string sweep = "sweep t.weft --on torus-16 ";
  expect_refused(w,
                 {{sweep + "--on crossbar-16 --set lat=1us --bisect 3",
                   "sweep of one value has no use for --bisect; got \"3\"; expected --set KEY=VALUE,VALUE"},
                  {sweep + "--set lat=1us,2us --bisect 3", "sweep on one platform has no use for --bisect"}});
  expect_taken(w,
               {sweep + "--set lat=1us --bisect 0", sweep + "--on crossbar-16 --set lat=1us,2us --bisect 3"});
}

// The flag would win, and the rows of a sweep would name values that no run had.
TEST(IdleFlags, OfAPlatformWhatIsSetThereToo) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate ring --ranks 4 -o t.weft").exit_code, 0);
  const std::string on = " --on torus-16 ";
  expect_refused(w, {{"sweep t.weft" + on + "--set fail=0,2 --fail 1",
                      "error: --set fail beside --fail, which says the same; got \"fail=0\""},
                     {"replay t.weft" + on + "--set topology.fail=1 --fail 1", "--set fail beside --fail"},
                     {"compare t.weft" + on + "--set fail=1 --fail 1", "--set fail beside --fail"},
                     {"compare t.weft" + on + "--set routing=hashed --routing dimension-order",
                      "--set routing beside --routing"},
                     {"predict hpl --n 100 --p 2 --q 2" + on + "--set fail=1 --fail 1", "--set fail beside"},
                     {"route 0 1" + on + "--set routing=hashed --routing hashed", "--set routing beside"},
                     {"replay t.weft" + on + "--set mpi.collectives=mpich --collectives openmpi4",
                      "--set mpi.collectives beside --collectives"},
                     {"sweep t.weft" + on + "--set mpi.collectives=mpich,openmpi4 --collectives openmpi5",
                      "--set mpi.collectives beside --collectives"}});
  expect_taken(w, {"replay t.weft" + on + "--set routing=hashed --fail 1 --collectives mpich",
                   "replay t.weft" + on + "--set mpi.collectives=mpich --collective bcast=ring",
                   "compare t.weft --on torus-16 --set seed=3 --seed 4 --fail 1"});
}

TEST(IdleFlags, OfTracesThatAreWritten) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate collective --ranks 4 --op bcast --root 2 -o t.weft").exit_code, 0);
  for (const std::string to : {"weft", "text", "ti", "csv"})
    expect_refused(w, {{"export t.weft --to " + to + " -o o --collectives openmpi4",
                        "export --to " + to +
                            ", which keeps collectives, has no use for --collectives; got "
                            "\"openmpi4\"; expected --to goal or goal-binary"},
                       {"export t.weft --to " + to + " -o o --collective bcast=linear", "--collective;"}});
  for (const std::string to : {"weft", "text", "csv"})
    expect_refused(w, {{"export t.weft --to " + to + " -o o --recorded-matches",
                        "export --to " + to +
                            ", which keeps what receives ask for and what they took, has no use for "
                            "--recorded-matches; expected --to ti, goal, goal-binary or otf2"}});
  expect_refused(w,
                 {{"generate halo --dims 2x2 --width 2 -o o", "--width is of a box of cells"},
                  {"generate halo --dims 2x2 --cell-bytes 4 -o o", "--cell-bytes is of a box of cells"},
                  {"generate collective --ranks 4 --root 1 -o o", "--root of a collective without a root"},
                  {"generate collective --ranks 4 --op barrier --bytes 8B -o o", "--bytes of a barrier"},
                  {"record --merge none --clock wall -o o", "record --merge has no use for --clock"},
                  {"record --merge none --keep-spool -o o", "record --merge has no use for --keep-spool"}});
  expect_taken(w, {"export t.weft --to goal -o o.goal --collective bcast=linear",
                   "generate halo --dims 2x2 --cells 4x4 --width 2 --cell-bytes 4 -o o.weft"});
}

TEST(IdleFlags, OfAFitAreThoseOfOtherMeasurements) {
  const Workspace w;
  w.write("calls.csv", "m,n,k,seconds\n16,16,32,2e-6\n32,32,64,14e-6\n64,64,128,106e-6\n");
  w.write("regressions.csv", "node,cpu,intercept,mnk\n1,0,1e-6,1e-10\n1,0,2e-6,2e-10\n");
  w.write("local.csv", "size,duration\n1,1e-6\n1024,2e-6\n65536,1e-5\n");
  expect_refused(w,
                 {{"fit dgemm calls.csv --mean", "fit dgemm of calls has no use for --mean; expected regr"},
                  {"fit dgemm regressions.csv --model rate", "fit dgemm of regressions has no use for --mod"},
                  {"fit dgemm regressions.csv --for-k 64", "fit dgemm of regressions has no use for --for-k"},
                  {"fit network local.csv --poll-interval 1us", "fit network without --loaded has no use"}});
  for (const std::string line : {"fit dgemm calls.csv --cluster a", "fit network local.csv --cluster a"}) {
    const Outcome o = w.weft(line);
    EXPECT_EQ(o.exit_code, 3) << line;
    EXPECT_THAT(o.err, HasSubstr("rows have no cluster to choose by")) << line;
  }
  expect_taken(
      w, {"fit dgemm calls.csv --model rate", "fit dgemm regressions.csv --mean", "fit network local.csv"});
}

TEST(IdleFlags, OfAPredictionAreOfReplaysAndOfPolls) {
  const Workspace w;
  const std::string run = "predict hpl --on crossbar-16 --n 400 --nb 50 --p 2 --q 2 ";
  expect_refused(w,
                 {{run + "--closed-form --model max-min", "--model with --closed-form"},
                  {run + "--closed-form --csv c.csv", "--csv with --closed-form"},
                  {run + "--pieces 3", "runs that do not poll within an update has no use for --pieces"},
                  {run + "--program rochpl --pieces 3", "no use for --pieces; got \"3\"; expected netlib"}});
  expect_taken(w, {run + "--closed-form", run + "--depth 0,1 --pieces 3", run + "--pieces 0"});
}

}  // namespace
}  // namespace weft::testing::idle_flags_test
