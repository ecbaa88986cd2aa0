// weft replay and weft compare through the built binary: closed forms, exit codes, files, flags.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/study.hpp"
#include "tests/support/checkout.hpp"

namespace weft::testing::replay_compare_test {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// 1 GB/s and 1 us a link, two links a message.
const std::string kOn = " --on crossbar:n=4,bw=8Gbps,lat=1us,speed=1Gflops ";

// SimGrid's text format: type 6 is a byte. `body` once per rank, "%" stands for the rank.
std::string program(int ranks, const std::string& body) {
  std::string out;
  for (int r = 0; r < ranks; ++r) {
    out += std::to_string(r) + " init 1\n";
    std::string line = std::to_string(r) + " " + body + "\n";
    out += line;
    out += std::to_string(r) + " finalize\n";
  }
  return out;
}

const std::string kPingPong =
    "0 init\n1 init\n"
    "0 send 1 7 1000000 6\n0 recv 1 8 1000000 6\n"
    "1 recv 0 7 1000000 6\n1 send 0 8 1000000 6\n"
    "0 finalize\n1 finalize\n";

ordered_json replay_json(const Workspace& w, const std::string& arguments, int exit_code = 0) {
  const Outcome o = w.weft("replay " + arguments + " --json - --quiet");
  EXPECT_EQ(o.exit_code, exit_code) << arguments << "\n" << o.err;
  return o.out.empty() ? ordered_json{} : ordered_json::parse(o.out);
}

TEST(CliReplay, PingPongEqualsItsClosedForm) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  // Two messages of 2 us + 1 ms; --raw must not take the trace for its value.
  const auto j = replay_json(w, "--raw t.txt" + kOn);
  EXPECT_EQ(j["makespan_s"], 0.002004);
  EXPECT_EQ(j["trace"]["messages"], 2);
  EXPECT_EQ(j["trace"]["bytes"], 2000000);
  EXPECT_EQ(j["network_messages"], 2);
  EXPECT_EQ(j["links"].size(), 4u);
  EXPECT_EQ(j["links"][0]["bytes"], 1000000);
  EXPECT_NEAR(j["links"][0]["utilization"].get<double>(), 1000000 / (1e9 * 0.002004), 1e-12);
  EXPECT_EQ(j["links"][0]["busy_s"], 0.001);
  EXPECT_EQ(j["ranks"][1]["recv_s"], 0.001002);
  // A header of 1 kB takes 1 us more each.
  EXPECT_EQ(replay_json(w, "t.txt --raw --header 1kB" + kOn)["makespan_s"], 0.002006);
  EXPECT_EQ(replay_json(w, "t.txt --raw --set bw=4Gbps" + kOn)["makespan_s"], 0.004004);
}

TEST(CliReplay, AVerifiedReplayIsTheSameAndSaysWhatItChecked) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  const auto plain = replay_json(w, "t.txt" + kOn + "--raw");
  const auto verified = replay_json(w, "t.txt" + kOn + "--raw --verify");
  EXPECT_EQ(verified.at("fingerprint"), plain.at("fingerprint"));
  EXPECT_EQ(verified.at("ranks"), plain.at("ranks"));
  EXPECT_FALSE(plain.contains("verification"));
  const auto& v = verified.at("verification");
  EXPECT_EQ(v.at("conditions"), "max-min certificate");
  EXPECT_EQ(v.at("messages"), 2);
  EXPECT_EQ(v.at("matches"), 2);
  EXPECT_EQ(v.at("rates"), 2) << "each message alone";
  EXPECT_EQ(v.at("links"), plain.at("platform").at("links"));
  EXPECT_EQ(v.at("events"), verified.at("engine").at("events"));
  EXPECT_EQ(v.at("wrong"), 0);
  EXPECT_TRUE(v.at("findings").empty());
  EXPECT_GT(v.at("time_ratio"), 0);
  EXPECT_LT(v.at("worst_bytes_error"), 1e-9);
  const Outcome o = w.weft("replay t.txt" + kOn + "--verify");
  EXPECT_EQ(o.exit_code, 0);
  EXPECT_THAT(o.out, HasSubstr("2 matches, "));
  EXPECT_THAT(o.out, HasSubstr(" in order: all right; it took "));
}

TEST(CliReplay, CollectivesTakeTheirClosedFormsAndFollowTheOverride) {
  const Workspace w;
  w.write("bcast.txt", program(4, "bcast 1000000 0 6"));
  const std::string raw = " --raw=rendezvous" + kOn;
  // ceil(lg 4) (2 us + 1 ms), and the root sends 3 ms over its own link when it sends all at once.
  EXPECT_EQ(replay_json(w, "bcast.txt --collective bcast=binomial" + raw)["makespan_s"], 0.002004);
  EXPECT_EQ(replay_json(w, "bcast.txt" + raw)["makespan_s"], 0.002004) << "the default for 4 ranks";
  EXPECT_EQ(replay_json(w, "bcast.txt --collective bcast=linear" + raw)["makespan_s"], 0.003002);
  // Scatter: 2 (2 us) + 0.75 ms; ring: 3 (2 us + 0.25 ms).
  EXPECT_EQ(replay_json(w, "bcast.txt --collective bcast=ring" + raw)["makespan_s"], 0.00151);
  w.write("allreduce.txt", program(4, "allreduce 4000000 0 6"));
  const auto ring = replay_json(w, "allreduce.txt --collective allreduce=ring" + raw);
  EXPECT_EQ(ring["makespan_s"], 0.006012) << "2 (p - 1) (2 us + 1 ms)";
  EXPECT_EQ(ring["trace"]["messages"], 0);
  EXPECT_EQ(ring["network_messages"], 24);
  EXPECT_EQ(ring["network_bytes"], 24000000);
  EXPECT_EQ(ring["ranks"][2]["collective_s"], 0.006012);
  EXPECT_EQ(ring["model"]["collectives"]["allreduce"], "ring");
}

TEST(CliReplay, AReplayOfFlopsIsAScheduleInTheTimeOfItsPlatform) {
  const Workspace w;
  w.write("t.txt", program(4, "compute 1234567") + program(4, "bcast 1000 0 6") + kPingPong);
  ASSERT_EQ(w.weft("replay t.txt --raw" + kOn + "--collective bcast=linear --export goal:t.goal").exit_code,
            0);
  const std::string text = w.read("t.goal");
  // 1 Gflop/s; the root's messages go out together.
  EXPECT_THAT(text,
              HasSubstr("rank 0 {\nl1: calc 1234567\nl2: send 1000b to 1 tag 1610612736\nl2 requires l1\n"
                        "l3: send 1000b to 2 tag 1610612736\nl3 requires l1\n"));
  EXPECT_EQ(replay_json(w, "t.goal --raw" + kOn)["makespan_s"],
            replay_json(w, "t.txt --raw --collective bcast=linear" + kOn)["makespan_s"]);
  EXPECT_THAT(w.weft("export t.txt --to goal -o u.goal").err, HasSubstr("GOAL: computation in flops"));
}

// Recorded computation takes what the replay gave it; TI's sleep is recorded time.
TEST(CliReplay, AScheduleHasRecordedComputationAsItWasScaled) {
  const Workspace w;
  w.write("t.txt", program(1, "sleep 1e-3") + program(1, "compute 1e6"));
  ASSERT_EQ(w.weft("replay t.txt --compute-scale 2" + kOn + "--export goal:t.goal").exit_code, 0);
  EXPECT_THAT(w.read("t.goal"), HasSubstr("l1: calc 2000000\nl2: calc 1000000\n"));
  EXPECT_EQ(replay_json(w, "t.goal" + kOn)["makespan_s"],
            replay_json(w, "t.txt --compute-scale 2" + kOn)["makespan_s"]);
}

TEST(CliReplay, AScheduleIsToldToHaveNoPolls) {
  const Workspace w;
  ASSERT_EQ(w.weft("generate hpl --n 300 --nb 64 --p 2 --q 2 -o h.weft").exit_code, 0);
  const std::string warning = " are left out: what follows a hit stands where the recording had it";
  const auto j = replay_json(w, "h.weft --on dahu --export goal:h.goal");
  ASSERT_EQ(j["warnings"].size(), 1u);
  EXPECT_THAT(j["warnings"][0].get<std::string>(), StartsWith("h.goal: "));
  EXPECT_THAT(j["warnings"][0].get<std::string>(), HasSubstr(warning));
  EXPECT_THAT(w.weft("replay h.weft --on dahu --export goal:h.goal").out, HasSubstr("warning: h.goal: "));
  const Outcome piped = w.weft("replay h.weft --on dahu --export goal:-");
  EXPECT_EQ(piped.out, w.read("h.goal"));
  EXPECT_THAT(piped.err, HasSubstr("weft replay: warning: stdout: "));
  EXPECT_THAT(piped.err, HasSubstr(warning));
}

TEST(CliReplay, CollectivesFollowALibrarysRulesAndTheResultSaysWhichAlgorithmEachTook) {
  const Workspace w;
  std::string text;
  for (const char r : {'0', '1', '2', '3'})
    for (const char* op : {"init 1", "bcast 1000000 0 6", "barrier", "finalize"})
      text += std::string(1, r) + ' ' + op + '\n';
  w.write("t.txt", text);
  w.write("bcast.txt", program(4, "bcast 1000000 0 6"));
  const std::string raw = " --raw=rendezvous" + kOn;
  const auto open = replay_json(w, "t.txt --collectives openmpi4" + raw);
  EXPECT_EQ(open["collectives"].dump(), R"([{"name":"barrier","algorithm":"openmpi.linear","calls":1},)"
                                        R"({"name":"bcast","algorithm":"openmpi.basic_linear","calls":1}])");
  EXPECT_EQ(open["model"]["collective_rules"], "openmpi4");
  const auto mpich = replay_json(w, "t.txt --collectives mpich" + raw);
  EXPECT_EQ(mpich["collectives"].dump(),
            R"([{"name":"barrier","algorithm":"mpich.k_dissemination","calls":1},)"
            R"({"name":"bcast","algorithm":"mpich.binomial","calls":1}])");
  EXPECT_EQ(replay_json(w, "t.txt" + raw)["collectives"][1]["algorithm"], "binomial");
  EXPECT_EQ(replay_json(w, "t.txt" + raw)["model"]["collective_rules"], "default");
  EXPECT_EQ(replay_json(w, "t.txt" + raw)["model"]["collective_rules_from"], "default");
  EXPECT_EQ(mpich["model"]["collective_rules_from"], "options");
  // A recording is replayed with the algorithms of its library: Open MPI 4.1.4.
  const std::string sample = support::source_dir() + "/traces/samples/hpl_2x2_1000_64.weft" + raw;
  const auto recorded = replay_json(w, sample);
  EXPECT_EQ(recorded["model"]["collective_rules"], "openmpi4");
  EXPECT_EQ(recorded["model"]["collective_rules_from"], "recording");
  // A choice for one collective wins over the rules; a form that needs nodes sees who shares a host.
  const std::string pairs = " --set ranks_per_host=2" + raw;
  const auto both =
      replay_json(w, "t.txt --collectives openmpi4 --collective bcast=mpich.composition-alpha" + pairs);
  EXPECT_EQ(both["collectives"][0]["algorithm"], "openmpi.linear");
  EXPECT_EQ(both["collectives"][1]["algorithm"], "mpich.composition_alpha");
  // One message between the hosts: 2 us + 1 ms; those within take no time.
  EXPECT_EQ(replay_json(w, "bcast.txt --collectives mpich" + pairs)["makespan_s"], 0.001002);
}

TEST(CliReplay, APlatformCanSayWhoseRulesChooseCollectives) {
  const Workspace w;
  w.write("t.txt", program(4, "bcast 1000000 0 6"));
  w.write("p.textproto",
          "topology { family: \"crossbar\" set: \"n=4\" set: \"bw=1GB/s\" set: \"lat=1us\" }\n"
          "mpi { collectives: \"openmpi4\" }\n");
  EXPECT_EQ(replay_json(w, "t.txt --on p.textproto")["collectives"][0]["algorithm"], "openmpi.basic_linear");
  EXPECT_EQ(replay_json(w, "t.txt --on p.textproto --collectives default")["collectives"][0]["algorithm"],
            "binomial");
  EXPECT_EQ(
      replay_json(w, "t.txt --on p.textproto --set mpi.collectives=mpich")["collectives"][0]["algorithm"],
      "mpich.binomial");
  // What the platform misnames is told with its place there.
  const auto refused = [&](const std::string& mpi, const std::string& flags, const std::string& told,
                           const std::string& of_platform = {}) {
    w.write("bad.textproto", "topology { family: \"crossbar\" set: \"n=4\" }\n" + mpi + "\n");
    const Outcome o = w.weft("replay t.txt --on bad.textproto " + flags + of_platform);
    EXPECT_EQ(o.exit_code, 3) << mpi;
    EXPECT_THAT(o.err, ::testing::StartsWith(told)) << mpi;
    // What no replay takes is not sound.
    const Outcome check = w.weft("platform check bad.textproto " + of_platform);
    EXPECT_EQ(check.exit_code, 1) << mpi;
    EXPECT_THAT(check.out, HasSubstr("bad: not sound\n  " + told)) << mpi;
  };
  refused("mpi { collectives: \"bogus\" }", "",
          "bad.textproto:2:7: error: unknown rules for collectives; got \"bogus\"");
  refused("mpi { collective { collective: \"bcast\" algorithm: \"rings\" } }", "",
          "bad.textproto:2:7: error: unknown");
  refused("mpi { collective { collective: \"cast\" algorithm: \"ring\" } }", "--collectives mpich",
          "bad.textproto:2:7: error: unknown");
  refused("", "", "--set mpi.collectives=bogus: error: unknown rules", "--set mpi.collectives=bogus");
  EXPECT_EQ(w.weft("platform check p.textproto").exit_code, 0);
}

// What is said of rankings holds of runs that there are.
TEST(CliCompare, EqualRunsAndSinglePlatformsAreNoRanking) {
  const Workspace w;
  w.write("one.txt", "0 init\n0 compute 1e9\n0 finalize\n");
  w.write("dead.txt", "0 init\n0 recv 1 0 10\n0 finalize\n1 init\n1 recv 0 0 10\n1 finalize\n");
  const std::string two = " --on a=crossbar:n=4,speed=1Gflops --on b=torus:dims=2x2,speed=1Gflops";
  EXPECT_THAT(w.weft("compare one.txt" + two).out,
              ::testing::StartsWith("one.txt: as long in all 2 runs, 1 s\n"));
  const std::string swept = w.weft("sweep one.txt" + two + " --set bw=1GB/s,2GB/s").out;
  EXPECT_THAT(swept, ::testing::StartsWith("one.txt: as long in all 4 runs, 1 s\n"));
  EXPECT_THAT(swept, HasSubstr("the ranking of the platforms is the same everywhere"));
  EXPECT_THAT(w.weft("sweep one.txt --on torus-16 --set bw=1GB/s,2GB/s").out, Not(HasSubstr("the ranking")));
  EXPECT_THAT(w.weft("sweep dead.txt" + two + " --set bw=1GB/s,2GB/s").out, Not(HasSubstr("the ranking")));
}

TEST(CliReplay, FivePartsOfEveryRankAddUpToItsFinish) {
  const Workspace w;
  w.write("t.txt",
          "0 init\n1 init\n0 compute 1000000\n0 send 1 7 300000 6\n1 irecv 0 7 300000 6\n1 compute 50000\n"
          "1 wait 0 1 7\n0 barrier\n1 barrier\n0 finalize\n1 finalize\n");
  for (const auto* mode : {"", "--raw", "--raw=detached", "--raw=rendezvous"}) {
    const auto j = replay_json(w, std::string("t.txt ") + mode + kOn);
    ASSERT_FALSE(j["ranks"].empty());
    for (const auto& r : j["ranks"]) {
      double sum = 0;
      for (const auto* part : {"compute_s", "send_s", "recv_s", "wait_s", "collective_s"})
        sum += r[part].get<double>();
      EXPECT_NEAR(sum, r["finish_s"].get<double>(), 1e-13) << mode;
      EXPECT_GT(sum, 0.001);
    }
  }
}

TEST(CliReplay, TwoRunsAreByteIdenticalExceptForTheEngine) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  auto a = replay_json(w, "t.txt --map random --seed 5" + kOn);
  auto b = replay_json(w, "t.txt --map random --seed 5" + kOn);
  a.erase("engine");
  b.erase("engine");
  EXPECT_EQ(a.dump(), b.dump());
}

TEST(CliReplay, ADeadlockExitsWithOneWritesTheJsonAndNamesTheCycle) {
  const Workspace w;
  w.write("t.txt", "0 init\n1 init\n0 recv 1 7 8 6\n1 recv 0 7 8 6\n0 send 1 7 8 6\n1 send 0 7 8 6\n");
  const Outcome o = w.weft("replay t.txt --json out.json --csv out.csv" + kOn);
  EXPECT_EQ(o.exit_code, 1);
  EXPECT_THAT(o.out,
              HasSubstr("2 ranks wait forever; each of these waits for the next, the last for the first:\n"
                        "  rank 0 in recv from 1 tag 7 on world"));
  EXPECT_THAT(o.err, HasSubstr("error: deadlock: 2 ranks"));
  const auto j = ordered_json::parse(w.read("out.json"));
  EXPECT_EQ(j["error"]["cycle"].dump(), "[0,1]");
  EXPECT_THAT(w.read("out.csv"), StartsWith("rank,finish_s"));
}

TEST(CliReplay, TextSaysTheAnswerFirstAndQuietSaysNothing) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  EXPECT_THAT(
      w.weft("replay t.txt --raw" + kOn).out,
      StartsWith("t.txt: 2 ranks take 2 ms on crossbar:n=4,bw=8Gbps,lat=1us,speed=1Gflops; 100 % receive\n"));
  EXPECT_EQ(w.weft("replay t.txt --raw --quiet" + kOn).out, "");
}

TEST(CliReplay, RefusesWhatItDoesNotKnow) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  const auto refused = [&](const std::string& flags, const std::string& message) {
    const Outcome o = w.weft("replay t.txt " + flags + kOn + " --json out.json");
    EXPECT_EQ(o.exit_code, 2) << flags << o.err;
    EXPECT_THAT(o.err, HasSubstr(message));
    EXPECT_EQ(w.list(), std::vector<std::string>{"t.txt"});
  };
  refused("--collective bcast=rings",
          "got \"rings\"; expected binomial, linear, pipeline, ring, recursive_doubling");
  refused("--collective broadcast=ring", "got \"broadcast\"; expected barrier, bcast");
  refused("--collective bcast", "expected KIND=ALGORITHM");
  refused("--collectives openmpi3",
          "unknown rules for collectives; got \"openmpi3\"; expected default, openmpi4");
  refused("--collective barrier=openmpi.three_proc", "openmpi.two_proc");
  refused("--compute-scale -1", "got \"-1\"; expected 0 or more");
  refused("--raw-switch 64", "got \"64\"; expected a number with a unit");
  refused("--model pci", "unknown network model");
}

TEST(CliCompare, RanksByTimeAndSaysWhyWhateverTheThreads) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  const std::string arguments =
      "compare t.txt --raw --on crossbar:n=4,bw=4Gbps,lat=1us --on crossbar:n=4,bw=8Gbps,lat=1us "
      "--on crossbar:n=4,bw=8Gbps,lat=500us --map block --map random --seed 3 ";
  const Outcome one = w.weft(arguments + "--json one.json --csv one.csv");
  EXPECT_EQ(one.exit_code, 0) << one.err;
  EXPECT_EQ(w.weft(arguments + "--json four.json --threads 4").out, one.out);
  EXPECT_EQ(w.read("one.json"), w.read("four.json"));
  const auto rows = ordered_json::parse(w.read("one.json"))["rows"];
  ASSERT_EQ(rows.size(), 6u);
  EXPECT_EQ(rows[0]["platform"], "crossbar:n=4,bw=8Gbps,lat=1us");
  EXPECT_EQ(rows[0]["makespan_s"], 0.002004);
  EXPECT_EQ(rows[0]["slowdown"], 1.0);
  EXPECT_EQ(rows[0]["map"], "block");
  EXPECT_EQ(rows[1]["map"], "random");
  EXPECT_EQ(rows[1]["why"], "as fast as the best");
  EXPECT_EQ(rows[2]["platform"], "crossbar:n=4,bw=8Gbps,lat=500us");
  EXPECT_EQ(rows[2]["makespan_s"], 0.004);
  EXPECT_THAT(rows[2]["why"].get<std::string>(),
              StartsWith("2 ms slower: latency takes 998 us more per rank"));
  EXPECT_EQ(rows[4]["makespan_s"], 0.004004);
  EXPECT_THAT(
      rows[4]["why"].get<std::string>(),
      StartsWith(
          "2 ms slower: moving the data takes 1 ms more per rank (narrowest link used: 500 MB/s instead "
          "of 1 GB/s)"));
  EXPECT_EQ(rows[0]["hosts"], 4);
  EXPECT_EQ(rows[0]["mean_hops"], 2.0);
  EXPECT_THAT(one.out,
              StartsWith("t.txt: fastest on crossbar:n=4,bw=8Gbps,lat=1us with map block, 2 ms; slowest on"));
}

TEST(CliCompare, VerifiedRunsAreTheSameAndEachRowSaysWhatWasChecked) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  const std::string on = "t.txt --raw --on crossbar:n=4,bw=4Gbps,lat=1us --on crossbar:n=4,lat=1us";
  for (const std::string& line : {"compare " + on, "sweep " + on + " --set bw=8Gbps,9Gbps --bisect 2"}) {
    const Outcome plain = w.weft(line + " --json plain.json");
    const Outcome verified = w.weft(line + " --verify --json verified.json --journal j --threads 2");
    ASSERT_EQ(verified.exit_code, 0) << verified.err;
    EXPECT_THAT(verified.out, HasSubstr(" matches, "));
    EXPECT_THAT(verified.out, HasSubstr(" in order: all right\n"));
    EXPECT_THAT(plain.out, Not(HasSubstr("verified")));
    auto rows = ordered_json::parse(w.read("verified.json"))["rows"];
    for (auto& row : rows) {
      EXPECT_EQ(row.at("verification").at("messages"), 2);
      EXPECT_EQ(row["verification"]["wrong"], 0);
      EXPECT_GT(row["verification"]["events"], 0);
      EXPECT_EQ(row["verification"]["time_ratio"], 0);
      row.erase("verification");
    }
    EXPECT_EQ(rows, ordered_json::parse(w.read("plain.json"))["rows"]);
    // What a journal holds of runs that were not checked does not stand for those that are, nor the other way round.
    EXPECT_EQ(w.weft(line + " --json again.json --journal j").out, plain.out);
    EXPECT_EQ(w.read("again.json"), w.read("plain.json"));
    const Outcome again = w.weft(line + " --verify --json again.json --journal j");
    EXPECT_EQ(again.out, verified.out);
    EXPECT_EQ(w.read("again.json"), w.read("verified.json"));
  }
}

TEST(CliCompare, FindsTooSmallPlatformsBeforeItRuns) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  const Outcome o = w.weft("compare t.txt --on crossbar:n=1,bw=8Gbps,lat=1us");
  EXPECT_EQ(o.exit_code, 3);
  EXPECT_THAT(o.err, HasSubstr("too few hosts"));
}

TEST(CliReplay, HostsAreFreeOfOtherJobsOnlyWhereThereAreSome) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  const Outcome one = w.weft("replay t.txt --on crossbar:n=1,bw=8Gbps,lat=1us");
  EXPECT_EQ(one.exit_code, 3);
  EXPECT_THAT(one.err, HasSubstr("too few hosts; got \"2 ranks on 1 host with room for 1 each\""));
  const Outcome two = w.weft("replay t.txt --with t.txt --on crossbar:n=3,bw=8Gbps,lat=1us");
  EXPECT_EQ(two.exit_code, 3);
  EXPECT_THAT(two.err, HasSubstr("too few free hosts; got \"2 ranks on 1 host with room for 1 each\""));
}

TEST(CliCompare, ADeadlockIsARowAndExitCodeOne) {
  const Workspace w;
  w.write("dead.txt", "0 init\n1 init\n0 recv 1 7 8 6\n1 recv 0 7 8 6\n0 send 1 7 8 6\n1 send 0 7 8 6\n");
  w.write("t.txt", kPingPong);
  const Outcome o = w.weft("compare dead.txt t.txt --json out.json" + kOn);
  EXPECT_EQ(o.exit_code, 1);
  const auto rows = ordered_json::parse(w.read("out.json"))["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[0]["error"].get<std::string>(), HasSubstr("deadlock"));
  EXPECT_TRUE(rows[0]["slowdown"].is_null());
  EXPECT_EQ(rows[1]["slowdown"], 1.0);
}

TEST(CliSweep, TriesEveryValueAndSaysWhereTheRankingFlips) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  // Two messages of 1 MB: over two links of 3 us each on the crossbar, three of 1 us on the torus.
  const std::string arguments =
      "sweep t.txt --raw --on crossbar:n=4,lat=3us,bw=1GB/s --on torus:dims=4,lat=1us,bw=1GB/s ";
  const Outcome o = w.weft(arguments + "--set bw=1GB/s,2GB/s --json out.json --threads 3");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const auto j = ordered_json::parse(w.read("out.json"));
  EXPECT_EQ(j["schema"], "weft.sweep/1");
  ASSERT_EQ(j["rows"].size(), 4u);
  EXPECT_EQ(j["flips"].size(), 0u);
  EXPECT_EQ(j["rows"][0]["set"].dump(), "{\"bw\":\"1GB/s\"}");
  EXPECT_EQ(j["rows"][0]["platform"], "torus:dims=4,lat=1us,bw=1GB/s");
  EXPECT_EQ(j["rows"][0]["makespan_s"], 0.002006);
  EXPECT_EQ(j["rows"][1]["makespan_s"], 0.002012);
  EXPECT_EQ(j["rows"][2]["set"]["bw"], "2GB/s");
  EXPECT_EQ(j["rows"][2]["makespan_s"], 0.001006);
  EXPECT_EQ(j["rows"][2]["slowdown"], 1.0);
  EXPECT_THAT(o.out, StartsWith("t.txt: fastest with bw=2GB/s on torus:dims=4,lat=1us,bw=1GB/s, 1.01 ms\n"));
  EXPECT_THAT(o.out, HasSubstr("the ranking of the platforms is the same everywhere\n"));
}

// --on LABEL=PLATFORM: rows and flips have the platform as it was written, rows the label beside it, as
// compare has; the text says the label.
TEST(CliSweep, CallsPlatformsByTheirLabels) {
  const Workspace w;
  const std::string t = "crossbar:n=16,bw=1GB/s,lat=1us", s = "torus:dims=4x4,bw=1Gbps,lat=1ns";
  const Outcome o = w.weft("sweep " + kTrace + " --on T=" + t + " --on S=" + s +
                           " --set "
                           "bw=100Mbps,10Gbps --bisect 3 --json s.json");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("flip: T is faster with bw=100Mbps, S with bw=10Gbps"));
  const auto j = ordered_json::parse(w.read("s.json"));
  ASSERT_EQ(j["flips"].size(), 1u);
  EXPECT_EQ(j["flips"][0]["platforms"], (ordered_json{t, s}));
  EXPECT_EQ(j["flips"][0]["how"], "bisected");
  for (const auto& row : j["rows"]) EXPECT_EQ(row["platform"], row["label"] == "T" ? t : s);
}

TEST(CliSweep, RefusesSetsItCannotTry) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  for (const auto* set :
       {"", "--set bw", "--set bw=", "--set bw=1GB/s,,2GB/s", "--set bw=1GB/s --set bw=2GB/s"}) {
    const Outcome o = w.weft(std::string("sweep t.txt --raw --on crossbar:n=4,bw=1GB/s,lat=0 ") + set);
    EXPECT_EQ(o.exit_code, 2) << set;
    EXPECT_THAT(o.err, HasSubstr("expected ")) << set;
  }
}

// 0 is a value of every kind.
TEST(CliSweep, FindsAValueTwiceAmongThousandsAtOnce) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  std::string values = "0us";
  for (int i = 1; i <= 12000; ++i) values += "," + std::to_string(i) + "ns";
  for (const char* twice : {"12us", "0", "0ms"}) {
    const auto start = std::chrono::steady_clock::now();
    const Outcome o = w.weft("sweep t.txt --on crossbar:n=4 --set lat=" + values + "," + twice);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(o.exit_code, 2);
    EXPECT_THAT(o.err, HasSubstr(std::string("expected ") + twice + " once"));
    EXPECT_LT(took.count(), 5) << "each compared with all others";
  }
  EXPECT_THAT(w.weft("sweep t.txt --on crossbar:n=4 --set x=1,1.5,1.50").err,
              HasSubstr("expected 1.50 once"));
}

// A comma within quotes is part of the value, and the quotes go.
TEST(CliSweep, TakesAQuotedValueWithACommaAsOne) {
  const Workspace w;
  w.write("t.txt", kPingPong);
  w.write("s.dot",
          "graph g { node [kind=host]; n0; n1; n2; n3; node [kind=switch]; \"s,1\"; s2; n0 -- \"s,1\"; n0 -- "
          "s2; n1 -- \"s,1\"; n1 -- s2; n2 -- s2; n3 -- s2; \"s,1\" -- s2 }");
  const Outcome o = w.weft(
      "sweep t.txt --raw --on file:path=s.dot,bw=1GB/s,lat=1us --set 'fail=\"switch=s,1\",1' --json s.json");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const auto j = ordered_json::parse(w.read("s.json"));
  ASSERT_EQ(j["rows"].size(), 2u);
  EXPECT_EQ(j["rows"][0]["set"]["fail"], "switch=s,1");
}

// Of no time at all only what takes none is a multiple.
TEST(CliCompare, WhatIsSlowerThanNoTimeHasNoSlowdown) {
  const Workspace w;
  w.write("t.txt", "0 init\n1 init\n0 send 1 0 0 6\n1 recv 0 0 0 6\n0 finalize\n1 finalize\n");
  const Outcome o = w.weft(
      "compare t.txt --raw --on crossbar:n=2,lat=0 --on crossbar:n=4,lat=0 --on crossbar:n=2,lat=1us --json "
      "c.json --csv c.csv");
  ASSERT_EQ(o.exit_code, 0) << o.err;
  const auto rows = ordered_json::parse(w.read("c.json"))["rows"];
  EXPECT_EQ(rows[0]["slowdown"], 1.0);
  EXPECT_EQ(rows[1]["slowdown"], 1.0);
  EXPECT_EQ(rows[2]["makespan_s"], 2e-6);
  EXPECT_TRUE(rows[2]["slowdown"].is_null());
  EXPECT_THAT(w.read("c.csv"), HasSubstr(",2e-06,,2,1,"));
  EXPECT_THAT(o.out, HasSubstr("; slowest on crossbar:n=2,lat=1us, 2 us\n"));
  EXPECT_THAT(o.out, Not(HasSubstr("deadlock")));
  const Outcome s = w.weft("sweep t.txt --raw --on crossbar:n=2 --set lat=0,1us");
  EXPECT_THAT(s.out, HasSubstr("2 us         - "));
  EXPECT_THAT(s.out, Not(HasSubstr("deadlock")));
}

TEST(ReplayVerb, RecordedTimeScalesInTheTraceAndInItsTiText) {
  const Workspace w;
  w.write("t.txt", program(2, "sleep 0.001"));
  ASSERT_EQ(w.weft("import t.txt -o t.weft --quiet").exit_code, 0);
  ASSERT_EQ(w.weft("export t.weft --to ti -o again.txt --quiet").exit_code, 0);
  for (const std::string trace : {"t.txt", "t.weft", "again.txt"}) {
    const auto compute = [&](const std::string& flags) {
      const Outcome o = w.weft("replay " + trace + " --on crossbar:n=2,bw=1GB/s --json r.json" + flags);
      EXPECT_EQ(o.exit_code, 0) << o.err;
      return ordered_json::parse(w.read("r.json"))["makespan_s"].get<double>();
    };
    EXPECT_NEAR(compute(" --compute-scale 3") - compute(""), 2 * 0.001, 1e-12) << trace;
  }
}

TEST(SweepVerb, AKeyThatChangesNothingIsToldAndSpeedSaysWhy) {
  const Workspace w;
  w.write("t.txt", program(2, "sleep 0.001"));  // recorded seconds
  w.write("f.txt", program(2, "compute 1e9"));  // flops
  const std::string speeds = " --on crossbar:n=2,bw=1GB/s --set speed=1Gflops,10Gflops --json s.json";
  const Outcome idle = w.weft("sweep t.txt" + speeds);
  ASSERT_EQ(idle.exit_code, 0) << idle.err;
  EXPECT_THAT(
      idle.out,
      HasSubstr("warning: speed changes nothing for t.txt: none of its computations is a number of flops"));
  auto j = ordered_json::parse(w.read("s.json"));
  ASSERT_EQ(j["warnings"].size(), 1u);
  EXPECT_EQ(j["rows"][0]["makespan_s"], j["rows"][1]["makespan_s"]);
  const Outcome busy = w.weft("sweep f.txt" + speeds);
  ASSERT_EQ(busy.exit_code, 0) << busy.err;
  EXPECT_THAT(busy.out, Not(HasSubstr("changes nothing")));
  EXPECT_TRUE(ordered_json::parse(w.read("s.json"))["warnings"].empty());
  const Outcome both = w.weft("sweep t.txt f.txt" + speeds);
  EXPECT_THAT(both.out, HasSubstr("speed changes nothing for t.txt"));
  EXPECT_THAT(both.out, Not(HasSubstr("changes nothing for f.txt")));
  EXPECT_THAT(w.weft("sweep f.txt --on crossbar:n=2,bw=1GB/s --set bw=1GB/s,2GB/s").out,
              HasSubstr("warning: bw changes nothing for f.txt\n"));
}

TEST(ReplayAndCompare, ShowTheirProgressWhereItIsAskedFor) {
  const Workspace w;
  const std::string sample =
      support::source_dir() + "/traces/samples/hpl_2x2_1000_64.weft --on crossbar:n=4,bw=10GB/s,lat=1us";
  EXPECT_THAT(w.weft("replay " + sample + " --progress on").err,
              ::testing::ContainsRegex("replay: [0-9,]+ ops of [0-9,]+ \\([0-9]+ %\\)"));
  EXPECT_THAT(w.weft("compare " + sample + " --progress on").err,
              ::testing::ContainsRegex("compare: [0-9,]+ ops of [0-9,]+"));
  const Outcome asked = w.weft("replay " + sample + " --sensitivity --progress on");
  EXPECT_THAT(asked.err, HasSubstr("replay with changes: 1 replays"));
  for (const char* quiet : {"", " --sensitivity", " --progress off"})
    EXPECT_EQ(w.weft("replay " + sample + quiet).err, "") << quiet;
}

}  // namespace
}  // namespace weft::testing::replay_compare_test
