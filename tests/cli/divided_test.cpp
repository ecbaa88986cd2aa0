// Work that is more than a list of replays, divided over shards and over the processes of a launcher: the bytes are those
// of one process, and no point is run twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/cli/study.hpp"

namespace weft::testing::divided_test {
namespace {

using ::testing::HasSubstr;

// As three processes that a launcher started at once, each told its rank; what the first one wrote.
Output spread(const Workspace& w, const std::string& command) {
  w.write("run.sh",
          "for r in 2 1 0; do OMPI_COMM_WORLD_RANK=$r OMPI_COMM_WORLD_SIZE=3 " + support::binary_dir() +
              "/cli/weft " + command +
              " --spread --json spread.json --csv spread.csv >out.$r 2>err.$r & pids=\"$pids $!\"; done\n"
              "for p in $pids; do wait $p || exit 1; done\n");
  EXPECT_EQ(std::system(("cd '" + w.path() + "' && bash run.sh").c_str()), 0)
      << w.read("err.0") << w.read("err.1") << w.read("err.2");
  for (const char* other : {"out.1", "out.2", "err.0", "err.1", "err.2"})
    EXPECT_EQ(w.read(other), "") << other;
  return {w.read("out.0"), w.read("spread.json"), w.read("spread.csv")};
}

void expect_same(const Output& divided, const Output& whole, const std::string& what) {
  EXPECT_EQ(divided.text, whole.text) << what;
  EXPECT_EQ(divided.csv, whole.csv) << what;
  EXPECT_EQ(without_costs(divided.json), without_costs(whole.json)) << what;
}

void expect_once(const Workspace& w, const std::string& folder, std::size_t least) {
  const auto lines = lines_of(w, folder);
  EXPECT_GE(lines.size(), least) << folder;
  for (const auto& [point, times] : lines) EXPECT_EQ(times, 1) << folder << " " << point;
}

TEST(CliDivided, SearchesInShardsAndSpreadGiveTheBytesOfOne) {
  // Pieces of one exhaustive search; all classes of placements; those that may be better.
  for (const std::string search : {"--grid 2x2x2 --on cs-storm --exhaustive --mode barrier",
                                   "--grid 3x1 --periodic --on cs-storm --place search --exhaustive",
                                   "--grid 3x2 --periodic --on cs-storm --place search"}) {
    const Workspace w;
    const std::string command = "search halo " + search;
    const Output whole = output_of(w, command);
    for (const int shards : {2, 3}) {
      const std::string n = std::to_string(shards), folder = "j" + n;
      for (int i = shards; i >= 1; --i) {
        const Outcome o = w.weft(command + " --journal " + folder + " --threads " + std::to_string(i) +
                                 " --shard " + std::to_string(i) + "/" + n);
        ASSERT_EQ(o.exit_code, 0) << search << "\n" << o.err;
        EXPECT_THAT(o.out, HasSubstr("weft merge " + folder));
        if (i == 1) continue;
        const Outcome early = w.weft("merge " + folder);
        EXPECT_EQ(early.exit_code, 3) << search;
        EXPECT_THAT(early.err, HasSubstr("of shard 1/" + n));
      }
      expect_same(output_of(w, "merge " + folder), whole, search + ", shards: " + n);
      expect_once(w, folder, 2);
      // One process that goes on where shards stopped has nothing left to do.
      const auto files = w.list();
      expect_same(output_of(w, command + " --journal " + folder), whole, search);
      EXPECT_EQ(w.list(), files) << search;
    }
    expect_same(spread(w, command + " --journal k"), whole, search + ", spread");
    expect_once(w, "k", 2);
  }
}

// Each start of the shards takes the search one stage on, until nothing is missing.
TEST(CliDivided, TunesInShardsAndSpreadGiveTheBytesOfOne) {
  const Workspace w;
  const std::string command(kTuning);
  const Output whole = output_of(w, command);
  EXPECT_EQ(w.weft(command + " --journal one").exit_code, 0);
  const auto points = lines_of(w, "one").size();
  for (const int shards : {2, 3}) {
    const std::string n = std::to_string(shards);
    std::string folders;
    for (int i = 1; i <= shards; ++i) folders += " j" + n + std::to_string(i);
    int starts = 0;
    std::size_t before = 0;
    for (; w.weft("merge" + folders).exit_code != 0; ++starts) {
      ASSERT_LT(starts, 30);
      for (int i = 1; i <= shards; ++i) {
        // Its own folder, and what came from the others, as they have it by now.
        std::string journals = " --journal j" + n + std::to_string(i);
        for (int k = 1; k <= shards; ++k)
          if (k != i && (starts > 0 || k < i)) journals += " --journal j" + n + std::to_string(k);
        const Outcome o = w.weft(command + journals + " --shard " + std::to_string(i) + "/" + n);
        ASSERT_EQ(o.exit_code, 0) << o.err;
        if (starts == 0) {
          EXPECT_THAT(o.out, HasSubstr("of other shards: run those, then this again"));
        }
      }
      std::size_t now = 0;
      for (int i = 1; i <= shards; ++i) now += lines_of(w, "j" + n + std::to_string(i)).size();
      ASSERT_GT(now, before) << "no start is in vain";
      before = now;
    }
    EXPECT_GE(starts, 2) << "stages";
    EXPECT_EQ(before, points);
    EXPECT_EQ(output_of(w, "merge" + folders), whole) << n;
  }
  EXPECT_EQ(spread(w, command + " --journal k"), whole);
  expect_once(w, "k", points);
}

// Ranks take windows of one prediction.
TEST(CliDivided, WindowsOfOnePredictionAreSpreadAndGiveTheBytesOfOne) {
  const Workspace w;
  const std::string command =
      "predict hpl --on crossbar:n=4,bw=10GB/s,lat=1us,speed=20Gflops --n 8000 --nb 40 --p 2 --q 2 "
      "--sample 4 --window 4 --threads 2";
  const Output whole = output_of(w, command);
  expect_same(spread(w, command + " --journal k"), whole, "spread");
  expect_once(w, "k", 5);
  // Killed after some windows, another start does the others.
  const auto lines = lines_of(w, "k").size();
  setenv("PMI_RANK", "0", 1);
  setenv("PMI_SIZE", "2", 1);
  for (const double seconds : {0.1, 0.2})
    (void)w.interrupted_weft(command + " --journal j --spread", seconds, "KILL");
  unsetenv("PMI_RANK");
  unsetenv("PMI_SIZE");
  expect_same(spread(w, command + " --journal j"), whole, "spread after a kill");
  expect_once(w, "j", 5);
  EXPECT_EQ(lines_of(w, "j").size(), lines);
  // The prediction is a point too, and stands for its windows.
  const auto files = w.list();
  expect_same(output_of(w, command + " --journal k"), whole, "one process");
  EXPECT_EQ(w.list(), files);
}

}  // namespace
}  // namespace weft::testing::divided_test
