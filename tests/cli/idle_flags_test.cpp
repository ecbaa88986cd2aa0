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

}  // namespace
}  // namespace weft::testing::idle_flags_test
