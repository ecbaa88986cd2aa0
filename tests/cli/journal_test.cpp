// --journal, --shard and weft merge: studies that are killed, divided or shared give the bytes of one undisturbed run,
// and nothing that was finished is run again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <thread>

#include "core/rng.hpp"
#include "tests/cli/study.hpp"
#include "tests/support/seed.hpp"

namespace weft::testing::journal_test {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

std::uint64_t seed_of_tests() { return support::seed_or(20261122); }

TEST(CliJournal, AStudyThatIsKilledAgainAndAgainGivesTheSameBytesAndRunsNothingTwice) {
  const std::uint64_t seed = seed_of_tests();
  SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
  Rng rng(seed);
  const Workspace w;
  const Output whole = output_of(w, kSweep);
  const auto start = std::chrono::steady_clock::now();
  (void)output_of(w, kSweep);
  const std::chrono::duration<double> takes = std::chrono::steady_clock::now() - start;
  int killed = 0;
  for (int round = 0; round < 8; ++round) {
    const Outcome o = w.interrupted_weft(kSweep + "--journal j --threads " + std::to_string(1 + round % 2),
                                         (0.1 + 0.4 * rng.unit()) * takes.count(), "KILL");
    killed += o.exit_code == 137 ? 1 : 0;
  }
  EXPECT_GT(killed, 0);
  EXPECT_EQ(output_of(w, kSweep + "--journal j"), whole);
  const auto lines = lines_of(w, "j");
  EXPECT_EQ(lines.size(), 12u);
  for (const auto& [point, times] : lines) EXPECT_EQ(times, 1) << point;
  // Nothing is left to run: not even a file is added.
  const auto files = w.list();
  EXPECT_EQ(output_of(w, kSweep + "--journal j --threads 2"), whole);
  EXPECT_EQ(w.list(), files);
}

TEST(CliJournal, AnInterruptTellsWhatIsDoneAndEndsByItsSignal) {
  const Workspace w;
  // The slowest first: some are done after a while, all never are before the signal.
  std::string values;
  for (int i = 1; i <= 400; ++i) values += (i == 1 ? "" : ",") + std::to_string(10 * i) + "Gbps";
  const std::string command = "sweep " + kTrace + " --on torus-16 --set bw=" + values + " --journal j ";
  const Outcome term = w.interrupted_weft(command + "--json part.json", 0.7, "TERM");
  EXPECT_EQ(term.exit_code, 143) << term.err;
  EXPECT_THAT(term.err, HasSubstr("of 400 points: journal j keeps them"));
  const auto j = ordered_json::parse(w.read("part.json"));
  EXPECT_THAT(j["error"].get<std::string>(), HasSubstr("interrupted after"));
  EXPECT_EQ(j["rows"].size(), lines_of(w, "j").size());
  EXPECT_LT(j["rows"].size(), 400u);
  // On a machine that is busy with other things the time may be over before the first point.
  for (double seconds = 0.7; seconds < 6 && lines_of(w, "j").size() <= j["rows"].size(); seconds *= 2) {
    const Outcome interrupt = w.interrupted_weft(command, seconds, "INT");
    EXPECT_EQ(interrupt.exit_code, 130) << interrupt.err;
  }
  EXPECT_GT(lines_of(w, "j").size(), j["rows"].size()) << "it went on where the other one stopped";
  for (const auto& [point, times] : lines_of(w, "j")) EXPECT_EQ(times, 1) << point;
}

TEST(CliJournal, AnInterruptedBisectionTellsTheSweepThatWasDone) {
  const Workspace w;
  // The crossbar is faster with 1 GB/s, the tree with 10; some twenty milliseconds a replay.
  ASSERT_EQ(w.weft("generate ring --ranks 4 --stride 2 --bytes 8MB --iterations 60000 -o r.weft").exit_code,
            0);
  const std::string command =
      "sweep r.weft --on crossbar:n=4,lat=1ms --on xgft:h=2,m=2x2,w=1x1,lat=1us --set bw=1GB/s,10GB/s --raw "
      "--journal j ";
  const Outcome whole = w.weft(command + "--csv whole.csv");
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const Outcome o = w.interrupted_weft(command + "--bisect 60 --json part.json --csv part.csv", 1.0);
  EXPECT_EQ(o.exit_code, 130) << o.err;
  EXPECT_THAT(o.err, HasSubstr("interrupted between two values of bw"));
  EXPECT_THAT(o.out, HasSubstr("flip: crossbar:n=4,lat=1ms is faster with bw=1GB/s"));
  EXPECT_EQ(w.read("part.csv"), w.read("whole.csv"));
  const auto j = ordered_json::parse(w.read("part.json"));
  EXPECT_EQ(j["error"], "interrupted between two values of bw");
  EXPECT_EQ(j["rows"].size(), 4u);
  ASSERT_EQ(j["flips"].size(), 1u);
  EXPECT_FALSE(j["flips"][0]["at"].is_null());
}

TEST(CliJournal, AMergeHasItsFlagsBeforeTheDashesOfItsCommand) {
  const Workspace w;
  const std::string command = "sweep --on crossbar-16 --set bw=1GB/s,2GB/s ";
  const Outcome whole = w.weft(command + "--journal j --json a.json -- " + kTrace);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  const Outcome merged = w.weft("merge j --json b.json");
  ASSERT_EQ(merged.exit_code, 0) << merged.err;
  EXPECT_EQ(w.read("b.json"), w.read("a.json"));
}

TEST(CliJournal, AMergeWritesWhatItIsAskedForAndNothingElse) {
  const Workspace w;
  ASSERT_EQ(
      w.weft("search halo --grid 2x2 --on cs-storm --journal j --svg=p.svg --histogram h.csv").exit_code, 0);
  w.write("p.svg", "mine");
  w.write("h.csv", "mine");
  ASSERT_EQ(w.weft("merge j --json m.json").exit_code, 0);
  EXPECT_EQ(w.read("p.svg"), "mine");
  EXPECT_EQ(w.read("h.csv"), "mine");
  EXPECT_EQ(ordered_json::parse(w.read("m.json"))["command"], "weft search halo --grid 2x2 --on cs-storm");
  const std::string tune = "tune hpl --on crossbar-16 --n 400 --nb 100 --p 2 --q 2 --evaluations 8";
  for (const char* output : {" -o best.dat", " -obest.dat", " --output best.dat", " --output=best.dat"}) {
    ASSERT_EQ(w.weft(tune + " --json t.json --quiet" + output).exit_code, 0) << output;
    EXPECT_EQ(ordered_json::parse(w.read("t.json"))["command"], "weft " + tune) << output;
  }
}

// Names of files are bytes, of any encoding.
TEST(CliJournal, NamesThatAreNoUtf8AreThoseOfTheStudy) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate ring --ranks 4 -o 'r\xe9.weft'").exit_code, 0);
  const std::string sweep = "sweep 'r\xe9.weft' --on crossbar:n=4 --set bw=1GB/s,2GB/s ";
  const Output whole = output_of(w, sweep);
  ASSERT_EQ(w.weft(sweep + "--journal j --shard 1/1").exit_code, 0);
  EXPECT_EQ(output_of(w, "merge j"), whole);
  const std::string predict =
      "predict hpl --on 'L\xe9=crossbar:n=4,bw=10GB/s,lat=1us,speed=20Gflops' --n 400 --nb 50 --p 2 --q 2 ";
  const Output alone = output_of(w, predict);
  EXPECT_THAT(alone.text, HasSubstr("L\\xe9"));
  const Output kept = output_of(w, predict + "--journal k");
  EXPECT_EQ(kept.text, alone.text);
  EXPECT_EQ(without_costs(kept.json), without_costs(alone.json));
}

TEST(CliJournal, AnOutputIsNoFileOfTheJournal) {
  const Workspace w;
  const std::string sweep = "sweep " + kTrace + " --on crossbar-16 --set bw=1GB/s,2GB/s ";
  ASSERT_EQ(w.weft(sweep + "--journal j").exit_code, 0);
  std::string points;
  for (const std::string& name : w.list())
    if (name.starts_with("j/points-")) points = name;
  const std::string before = w.read(points);
  ASSERT_EQ(std::system(("ln -s " + points + " " + w.path() + "/link").c_str()), 0);
  for (const std::string& output :
       {"--csv " + points, std::string("--json j/claims"), std::string("--json ./j/../j/points-mine.jsonl"),
        std::string("--csv link")})
    for (const std::string& command : {sweep + "--journal j ", std::string("merge j ")}) {
      const Outcome o = w.weft(command + output);
      EXPECT_EQ(o.exit_code, 2) << command << output << o.err;
      EXPECT_THAT(o.err, HasSubstr(" would replace a file of the journal")) << command << output;
    }
  EXPECT_EQ(w.read(points), before);
  EXPECT_EQ(w.weft("merge j --csv j/rows.csv").exit_code, 0);
}

// A placement that comes through a pipe is there once: for the key of the point and for each of its replays.
TEST(CliJournal, APipedPlacementIsPartOfAPoint) {
  const Workspace w;
  w.write("one", "0\n1\n2\n3\n");
  w.write("two", "0\n5\n10\n15\n");
  const std::string command = "search halo --grid 2x2 --on dragonfly-18 --map file:";
  const auto mean = [&](const std::string& rest) {
    const Outcome o = w.weft(command + rest + " --json s.json");
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return ordered_json::parse(w.read("s.json"))["mean_s"].get<double>();
  };
  const double one = mean("one"), two = mean("two");
  EXPECT_NE(one, two);
  EXPECT_EQ(mean("- --journal j <one"), one);
  EXPECT_EQ(mean("- --journal j <two"), two);
  const std::string compare =
      "compare " + support::source_dir() +
      "/traces/samples/hpl_2x2_1000_64.weft --on dragonfly-18 --json c.json --map file:";
  const auto makespan = [&](const std::string& rest) {
    const Outcome o = w.weft(compare + rest);
    EXPECT_EQ(o.exit_code, 0) << o.err;
    return ordered_json::parse(w.read("c.json"))["rows"][0]["makespan_s"].get<double>();
  };
  EXPECT_EQ(makespan("/dev/stdin <two"), makespan("two"));
}

TEST(CliJournal, ShardsMergeIntoTheOutputOfOneRun) {
  const Workspace w;
  const Output whole = output_of(w, kSweep);
  for (const int shards : {1, 3, 5, 20}) {
    const std::string n = std::to_string(shards);
    std::string folders;
    for (int i = 1; i <= shards; ++i) {
      // In one folder, or one each.
      const std::string folder = "j" + n + (shards == 3 ? "-" + std::to_string(i) : "");
      if (folders.find(folder) == std::string::npos) folders += " " + folder;
      if (i == shards && shards == 3) {
        const Outcome early = w.weft("merge" + folders + " --json out.json");
        EXPECT_EQ(early.exit_code, 3) << "the folder of the last shard is not there";
        const Outcome missing = w.weft("merge j3-1 j3-2 --json out.json");
        EXPECT_EQ(missing.exit_code, 3);
        EXPECT_THAT(missing.err, HasSubstr("4 of 12 points are missing: 4 of the 4 of shard 3/3"));
        EXPECT_THAT(missing.err, HasSubstr("map "));
        EXPECT_EQ(missing.out, "");
      }
      const Outcome o = w.weft(kSweep + "--journal " + folder + " --shard " + std::to_string(i % shards) +
                               "/" + n + " --threads " + std::to_string(1 + i % 3));
      ASSERT_EQ(o.exit_code, 0) << o.err;
      EXPECT_THAT(o.out, HasSubstr("weft merge"));
    }
    EXPECT_EQ(output_of(w, "merge" + folders), whole) << shards << " shards";
    if (shards == 3) continue;
    EXPECT_EQ(lines_of(w, "j" + n).size(), 12u);
    for (const auto& [point, times] : lines_of(w, "j" + n)) EXPECT_EQ(times, 1) << point;
  }
}

TEST(CliJournal, ASlurmTaskTakesItsPart) {
  const Workspace w;
  const std::string command = "sweep " + kTrace + " --on torus-16 --set lat=1us,2us,3us,4us --journal j";
  const Output whole = output_of(w, "sweep " + kTrace + " --on torus-16 --set lat=1us,2us,3us,4us");
  const auto task = [&](const std::string& variables) {
    // The workspace runs "weft ARGUMENTS" in a shell; the variables stand before it.
    return std::system(("cd '" + w.path() + "' && " + variables + " " + support::binary_dir() + "/cli/weft " +
                        command + " --shard slurm >/dev/null 2>&1")
                           .c_str());
  };
  EXPECT_NE(task("env -u SLURM_ARRAY_TASK_ID"), 0) << "no job array";
  for (int id = 3; id <= 7; id += 2)
    EXPECT_EQ(task("SLURM_ARRAY_TASK_ID=" + std::to_string(id) +
                   " SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_STEP=2"),
              0);
  EXPECT_EQ(output_of(w, "merge j"), whole);
  EXPECT_NE(
      task("SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_STEP=2"),
      0);
}

// Three hosts at once, each with a name and a network of its own, in which nothing is up, not even a loop: all that shards need of
// each other is the folder.
TEST(CliJournal, ShardsOnHostsWithoutANetworkGiveTheBytesOfOneRun) {
  if (std::system("unshare -rnu hostname host1 2>/dev/null") != 0)
    GTEST_SKIP() << "NO NAMESPACES HERE: unshare -rnu is refused, hosts without a network are not tested";
  const Workspace w;
  const Output whole = output_of(w, kSweep);
  std::string hosts;
  for (int i = 1; i <= 3; ++i) {
    const std::string n = std::to_string(i);
    hosts += "unshare -rnu sh -c 'hostname host" + n +
             "; ip link show up 2>/dev/null | grep . && exit 9; exec " + support::binary_dir() +
             "/cli/weft " + kSweep + "--journal j --shard " + n + "/3 --quiet' & p" + n + "=$!; ";
  }
  const std::string command =
      "cd '" + w.path() + "' && { " + hosts + "wait $p1 && wait $p2 && wait $p3; } 2>err >out";
  ASSERT_EQ(std::system(command.c_str()), 0) << w.read("err") << w.read("out");
  std::set<std::string> files;
  for (const std::string& name : w.list())
    if (name.starts_with("j/points-")) files.insert(name.substr(0, name.find('-', 9)));
  EXPECT_THAT(files, ::testing::ElementsAre("j/points-host1", "j/points-host2", "j/points-host3"));
  for (const auto& [point, times] : lines_of(w, "j")) EXPECT_EQ(times, 1) << point;
  EXPECT_EQ(output_of(w, "merge j"), whole);
}

TEST(CliJournal, TwoProcessesOnOneJournalShareTheWork) {
  const Workspace w;
  const Output whole = output_of(w, kSweep);
  Outcome other;
  const std::string elsewhere = " '" + w.path() + "/j'";
  std::thread second([&] {
    const Workspace mine;
    other = mine.weft(kSweep + "--journal" + elsewhere + " --json - --quiet");
  });
  const Output mine = output_of(w, kSweep + "--journal j");
  second.join();
  EXPECT_EQ(mine, whole);
  EXPECT_EQ(other.out, whole.json) << other.err;
  EXPECT_EQ(lines_of(w, "j").size(), 12u);
  for (const auto& [point, times] : lines_of(w, "j")) EXPECT_EQ(times, 1) << point;
}

TEST(CliJournal, AFullDiskKeepsWhatIsFinishedAndSaysSo) {
  const Workspace w;
  const Output whole = output_of(w, kSweep);
  // Files of at most 8 KiB: write() fails as on a full disk, no signal ends the program.
  const std::string shell = "cd '" + w.path() + "' && (ulimit -f 8; " + support::binary_dir() + "/cli/weft " +
                            kSweep + "--journal j >out.txt 2>err.txt)";
  const int status = std::system(shell.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_THAT(w.read("err.txt"), HasSubstr("cannot write the journal"));
  EXPECT_EQ(w.read("out.txt"), "");
  const auto before = lines_of(w, "j").size();
  EXPECT_GT(before, 0u);
  EXPECT_LT(before, 12u);
  EXPECT_EQ(output_of(w, kSweep + "--journal j"), whole);
  EXPECT_EQ(lines_of(w, "j").size(), 12u);
}

TEST(CliJournal, CompareKeepsDeadlocksAndUnmatchedMessagesToo) {
  const Workspace w;
  w.write("dead.txt", "0 init\n1 init\n0 recv 1 8 100 6\n1 recv 0 8 100 6\n0 finalize\n1 finalize\n");
  w.write("lost.txt", "0 init\n1 init\n0 isend 1 8 100 6\n0 finalize\n1 finalize\n");
  w.write("fine.txt", "0 init\n1 init\n0 send 1 8 100 6\n1 recv 0 8 100 6\n0 finalize\n1 finalize\n");
  const std::string command = "compare dead.txt lost.txt fine.txt --on torus-16 --on crossbar-16 --raw=eager";
  const Outcome plain = w.weft(command + " --json a.json");
  EXPECT_EQ(plain.exit_code, 1);
  const Outcome first = w.weft(command + " --json b.json --journal j");
  const Outcome second = w.weft(command + " --json c.json --journal j");
  for (const Outcome* o : {&first, &second}) {
    EXPECT_EQ(o->exit_code, 1);
    EXPECT_EQ(o->out, plain.out);
    EXPECT_EQ(o->err, plain.err);
  }
  EXPECT_EQ(w.read("b.json"), w.read("a.json"));
  EXPECT_EQ(w.read("c.json"), w.read("a.json"));
  EXPECT_EQ(lines_of(w, "j").size(), 6u);
  // Another content under the name of a trace is another point.
  w.write("fine.txt", "0 init\n1 init\n0 send 1 8 101 6\n1 recv 0 8 101 6\n0 finalize\n1 finalize\n");
  EXPECT_EQ(w.weft(command + " --journal j").exit_code, 1);
  EXPECT_EQ(lines_of(w, "j").size(), 8u);
}

TEST(CliJournal, PredictionsOfAListAndTheirShards) {
  const Workspace w;
  const std::string command =
      "predict hpl --on crossbar:n=16,bw=10GB/s,lat=1us,speed=20Gflops --n 1000,1500,2000 --nb 50,100 --p 4 "
      "--q 4 "
      "--sample 2";
  const Output whole = output_of(w, command);
  const auto same = [&](const Output& o) {
    EXPECT_EQ(o.text, whole.text);
    EXPECT_EQ(o.csv, whole.csv);
    EXPECT_EQ(without_costs(o.json), without_costs(whole.json));
  };
  same(output_of(w, command + " --journal j"));
  const Output again = output_of(w, command + " --journal j");
  same(again);
  const auto lines = lines_of(w, "j");
  EXPECT_EQ(lines.size(), 6u);
  for (const auto& [point, times] : lines) EXPECT_EQ(times, 1) << point;
  for (const char* shard : {"1/2", "2/2"})
    EXPECT_EQ(w.weft(command + " --journal k --shard " + shard).exit_code, 0);
  same(output_of(w, "merge k"));
  // One prediction keeps its panels.
  const std::string one =
      "predict hpl --on crossbar:n=16,bw=10GB/s,lat=1us,speed=20Gflops --n 1000 --nb 50 --p 4 --q 4";
  const Output alone = output_of(w, one);
  (void)output_of(w, one + " --journal j");
  EXPECT_EQ(output_of(w, one + " --journal j").csv, alone.csv);
}

TEST(CliJournal, ATuneThatIsKilledGoesOn) {
  const Workspace w;
  const std::string command(kTuning);
  const Output whole = output_of(w, command);
  for (const double seconds : {0.1, 0.2, 0.3})
    (void)w.interrupted_weft(command + " --journal j", seconds, "KILL");
  EXPECT_EQ(output_of(w, command + " --journal j"), whole);
  for (const auto& [point, times] : lines_of(w, "j")) EXPECT_EQ(times, 1) << point;
}

// As mpirun and srun start them: each process finds its rank in its environment.
TEST(CliJournal, ProcessesOfALauncherShareThePointsAndTheFirstTellsTheResult) {
  const Workspace w;
  const Output whole = output_of(w, kSweep);
  const std::string weft = support::binary_dir() + "/cli/weft ";
  for (const auto& [rank, size] :
       {std::pair("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), std::pair("PMI_RANK", "PMI_SIZE"),
        std::pair("SLURM_PROCID", "SLURM_NTASKS")}) {
    const std::string journal = std::string("j-") + rank;
    std::string script = "for r in 0 1 2 3; do " + std::string(rank) + "=$r " + size + "=4 " + weft + kSweep +
                         "--journal " + journal +
                         " --spread --json spread.json --csv spread.csv >out.$r 2>err.$r & "
                         "pids=\"$pids $!\"; done\nfor p in $pids; do wait $p || exit 1; done\n";
    w.write("run.sh", script);
    ASSERT_EQ(std::system(("cd '" + w.path() + "' && bash run.sh").c_str()), 0)
        << w.read("err.0") << w.read("err.1");
    EXPECT_EQ((Output{w.read("out.0"), w.read("spread.json"), w.read("spread.csv")}), whole) << rank;
    for (const char* other : {"out.1", "out.2", "out.3", "err.1"}) EXPECT_EQ(w.read(other), "") << other;
    const auto lines = lines_of(w, journal);
    EXPECT_EQ(lines.size(), 12u);
    for (const auto& [point, times] : lines) EXPECT_EQ(times, 1) << point;
    for (const std::string& name : w.list()) EXPECT_THAT(name, Not(HasSubstr(".tmp")));
  }
}

// The scripts with stand-ins for the schedulers, which start their tasks as those do.
TEST(CliJournal, TheScriptsInExamplesGiveTheBytesOfOneRun) {
  const Workspace w;
  std::filesystem::create_directory_symlink(support::source_dir() + "/traces", w.path() + "/traces");
  w.write("bin/sbatch", R"(#!/bin/bash
for a; do
  case $a in
    --array=1-*) n=${a#--array=1-} ;;
    --wrap=*) bash -c "${a#--wrap=}" ;;
    *.sh) cp "$a" job; for i in $(seq $n); do
        SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=$n SLURM_ARRAY_TASK_MIN=1 bash ./job >>log || exit 1; done ;;
  esac
done
echo 7
)");
  w.write("bin/hq", R"(#!/bin/bash
n=${4#1-}
while [ "$1" != -- ]; do shift; done
shift
for i in $(seq $n); do HQ_TASK_ID=$i "$@" >>log || exit 1; done
)");
  w.write("bin/parallel", R"(#!/bin/bash
while [ "$1" != --quote ]; do shift; done
shift
while read i; do "${@//"{}"/$i}" >>log || exit 1; done
)");
  const auto sh = [&](const std::string& line) {
    w.write("run.sh", "chmod +x bin/*\nexport PATH=$PWD/bin:" + support::binary_dir() +
                          "/cli:$PATH SHARDS=3\n" + line + "\n");
    return std::system(("cd '" + w.path() + "' && bash -e run.sh").c_str());
  };
  const std::string examples = support::source_dir() + "/examples/";
  ASSERT_EQ(sh(". " + examples + "study.sh\nweft \"${study[@]}\" --json one.json --quiet"), 0);
  for (const char* script : {"slurm-array.sh", "gnu-parallel.sh", "hyperqueue.sh"}) {
    EXPECT_EQ(sh("rm -rf study.* log\n" + examples + script + " >out.txt 2>err.txt"), 0)
        << script << w.read("err.txt");
    EXPECT_EQ(w.read("study.json"), w.read("one.json")) << script;
    EXPECT_THAT(w.read("log"), HasSubstr("shard 3/3: 8 of 8 points done")) << script;
  }
}

TEST(CliJournal, ASearchThatIsKilledGoesOnWithThePiecesThatItHas) {
  const std::uint64_t seed = seed_of_tests();
  SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
  Rng rng(seed);
  const Workspace w;
  // One exhaustive search in pieces; one search a class of placements; one that is a single piece.
  for (const std::string search :
       {"--grid 2x2x2 --on cs-storm --exhaustive", "--grid 3x2 --on cs-storm --place search --exhaustive",
        "--grid 4x4 --on torus-16"}) {
    const std::string command = "search halo " + search, folder = "j" + std::to_string(search.size());
    const Output whole = output_of(w, command);
    for (int round = 0; round < 4; ++round)
      (void)w.interrupted_weft(
          command + " --journal " + folder + " --threads " + std::to_string(1 + round % 2),
          0.05 + 0.4 * rng.unit(), "KILL");
    const Output resumed = output_of(w, command + " --journal " + folder);
    EXPECT_EQ(resumed.text, whole.text) << search;
    EXPECT_EQ(resumed.csv, whole.csv) << search;
    EXPECT_EQ(without_costs(resumed.json), without_costs(whole.json)) << search;
    const auto lines = lines_of(w, folder);
    EXPECT_GE(lines.size(), 1u);
    for (const auto& [point, times] : lines) EXPECT_EQ(times, 1) << search;
  }
  const Outcome o =
      w.interrupted_weft("search halo --grid 6x2 --on torus-16 --exhaustive --journal k", 0.8, "TERM");
  EXPECT_EQ(o.exit_code, 143) << o.err;
  EXPECT_THAT(o.err, HasSubstr("for the same command"));
}

TEST(CliJournal, MissingPointsAndRowsCallAPlatformByItsName) {
  const Workspace w;
  w.write("p.textproto",
          "name: \"edr\"\n"
          "topology { family: \"crossbar\" set: \"n=16\" set: \"bw=10GB/s\" set: \"lat=1us\" }\n"
          "host { speed: \"10Gflops\" }\n");
  const Outcome shard =
      w.weft("predict hpl --on p.textproto --n 400,500 --nb 50 --p 2 --q 2 --journal j --shard 1/2");
  ASSERT_EQ(shard.exit_code, 0) << shard.err;
  EXPECT_THAT(w.weft("merge j").err, HasSubstr("NB 50 2 x 2 on edr\""));
  const Outcome swept = w.weft("sweep " + kTrace + " --on p.textproto --set bw=1GB/s,2GB/s --json s.json");
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  for (const auto& row : ordered_json::parse(w.read("s.json"))["rows"]) EXPECT_EQ(row["platform"], "edr");
}

TEST(CliJournal, FlagsThatDoNotGoTogetherAreToldBeforeAnythingRuns) {
  const Workspace w;
  const std::string sweep = "sweep " + kTrace + " --on torus-16 --set lat=1us,2us ";
  for (const auto& [line, says] : std::map<std::string, std::string>{
           {sweep + "--shard 1/2", "--shard without --journal"},
           {sweep + "--shard 3/2 --journal j", "no part of a study"},
           {sweep + "--shard 1/2 --journal j --json x", "some of the points only"},
           {sweep + "--on crossbar-16 --shard 1/2 --journal j --bisect 3",
            "not supported: --bisect in shards, as it needs the points of all of them; expected --journal "
            "without --shard"},
           {sweep + "--shard slurm --journal j", "outside a Slurm job array"},
           {sweep + "--spread", "--spread without --journal"},
           {sweep + "--spread --journal j", "--spread without a launcher"},
           {sweep + "--spread --journal j --shard 1/2", "one of them"},
           {"search halo --grid 4x4 --on torus-16 --journal j --shard 1/2", "not supported"},
           {"search halo --grid 4x4 --on torus-16 --journal j --spread", "not supported"},
           {"search halo --grid 2x2 --on cs-storm --journal j --shard 1/2 --svg x",
            "some of the points only"},
           {"search halo --grid 2x2 --on torus-16 --shard 1/2", "--shard without --journal"},
           {"compare " + kTrace + " --on torus-16 --journal j --report x.html", "not supported"},
           {"predict hpl --on torus-16 --n 1000 --closed-form --journal j", "not supported"}}) {
    const Outcome o = w.weft(line);
    EXPECT_EQ(o.exit_code, 2) << line;
    EXPECT_THAT(o.err, HasSubstr(says)) << line;
    EXPECT_EQ(o.out, "") << line;
  }
  EXPECT_TRUE(w.list().empty()) << w.list().front();
  for (const auto& [line, says] : std::map<std::string, std::string>{
           {"merge none", "cannot read the journal"}, {"merge .", "no journal is there"}}) {
    const Outcome o = w.weft(line);
    EXPECT_EQ(o.exit_code, 3) << line;
    EXPECT_THAT(o.err, HasSubstr(says)) << line;
  }
  ASSERT_EQ(w.weft(sweep + "--journal j --quiet").exit_code, 0);
  EXPECT_EQ(w.weft("merge j").exit_code, 0) << "one whole run merges as well";
  ASSERT_EQ(w.weft("compare " + kTrace + " --on torus-16 --journal j --quiet").exit_code, 0);
  const Outcome two = w.weft("merge j");
  EXPECT_EQ(two.exit_code, 3);
  EXPECT_THAT(two.err, HasSubstr("journals of several commands"));
}

}  // namespace
}  // namespace weft::testing::journal_test
