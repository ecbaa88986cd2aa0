// How the recorder behaves around the program: exit codes, deaths, clocks, polls.
#include <csignal>
#include <numeric>

#include "tests/recorder/recorder_testing.hpp"
#include "traces/conditional_steps.hpp"

namespace weft::recorder::testing {
namespace {

WEFT_UNDER_EACH_MPI(Record);

using traces::Op;
using traces::OpKind;

double computed_seconds(const Recorded& r, std::size_t rank) {
  double s = 0;
  for (const Op& op : r.ops[rank])
    if (op.kind == OpKind::compute_time) s += static_cast<double>(op.amount) * 1e-12;
  return s;
}

TEST_P(Record, ExitCodeIsTheProgramsAndTheTraceIsThereAnyway) {
  const TempDir folder;
  EXPECT_EQ(record(folder, mpirun(2) + behaviour("exit 0")), 0);
  EXPECT_EQ(record(folder, mpirun(2) + behaviour("exit 9")), 9);
  EXPECT_EQ(read_back(folder.path("t.weft")).lines.size(), 2u);
}

TEST_P(Record, ProgramWithoutALauncherIsOneRank) {
  const TempDir folder;
  EXPECT_EQ(record(folder, behaviour("exit 4")), 4);
  EXPECT_THAT(inside(read_back(folder.path("t.weft")).lines.at(0)),
              ::testing::ElementsAre("barrier - 0 - world"));
}

TEST_P(Record, CommandWithoutMpiKeepsItsExitCodeAndIsAnErrorOnlyIfItSucceeded) {
  const TempDir folder;
  EXPECT_EQ(record(folder, behaviour("no-mpi 6")), 6);
  EXPECT_EQ(record(folder, behaviour("no-mpi 0")), 3);
  EXPECT_THAT(slurp(folder.path("err")), ::testing::HasSubstr("no MPI rank was recorded"));
  EXPECT_FALSE(fs::exists(folder.path("t.weft")));
  EXPECT_EQ(record(folder, "sh -c 'kill -9 $$'"), 137);
  EXPECT_EQ(record(folder, "./no-such-program"), 2);
  EXPECT_EQ(shell(folder, weft() + " record -o t.weft"), 2);
  EXPECT_EQ(shell(folder, weft() + " record -o no/such/folder/t.weft -- true"), 3);
}

TEST_P(Record, ArgumentsAndStandardStreamsReachTheProgramUntouched) {
  const TempDir folder;
  EXPECT_EQ(
      shell(
          folder,
          "printf 'one\\ntwo\\n' | " + weft() +
              R"( record -o t.weft -- sh -c 'cat; printf "<%s>" "$@"; echo oops >&2; exit 3' sh '' '[a,b]' '--' -o 'x y')"),
      3);
  EXPECT_EQ(slurp(folder.path("out")), "one\ntwo\n<><[a,b]><--><-o><x y>");
  EXPECT_THAT(slurp(folder.path("err")), ::testing::StartsWith("oops\n"));
}

TEST_P(Record, NoSpoolIsLeftBehindUnlessAskedFor) {
  const TempDir folder;
  const auto spools = [&] {
    std::vector<std::string> found;
    for (const auto& e : fs::directory_iterator(folder.path()))
      if (e.path().filename().string().find(".spool.") != std::string::npos)
        found.push_back(e.path().string());
    return found;
  };
  EXPECT_EQ(record(folder, mpirun(2) + behaviour("exit 0")), 0);
  EXPECT_TRUE(spools().empty());
  EXPECT_EQ(record(folder, mpirun(2) + behaviour("exit 0"), "--keep-spool"), 0);
  ASSERT_EQ(spools().size(), 1u);
  EXPECT_EQ(shell(folder, fmt::format("{} record -o again.weft --merge {}", weft(), spools()[0])), 0)
      << slurp(folder.path("err"));
  EXPECT_EQ(read_back(folder.path("again.weft")).lines, read_back(folder.path("t.weft")).lines);
}

// A log on a full disk, one that was closed, one whose reader has gone.
TEST_P(Record, WhereItsWordsCannotGoTheProgramsCodeCountsAndTheTraceIsThere) {
  for (const std::string log : {"2>/dev/full", "2>&-", "2>&1 >/dev/null | true"})
    for (const int code : {0, 9}) {
      const TempDir folder;
      const std::string command = fmt::format("{} record -o t.weft -- {}", weft(),
                                              mpirun(2) + behaviour("exit " + std::to_string(code)));
      EXPECT_EQ(shell(folder, fmt::format("bash -c '( {}; echo $? >code ) {}'", command, log)), 0);
      EXPECT_EQ(slurp(folder.path("code")), std::to_string(code) + "\n") << log;
      EXPECT_EQ(read_back(folder.path("t.weft")).lines.size(), 2u);
      for (const auto& e : fs::directory_iterator(folder.path()))
        EXPECT_EQ(e.path().filename().string().find(".spool."), std::string::npos) << log;
    }
}

TEST_P(Record, KilledProgramLeavesATraceThatEndsInsideTheCallsItHungIn) {
  const TempDir folder;
  // The launcher's own code, passed on: 128 + SIGKILL of Open MPI, SIGKILL of MPICH.
  EXPECT_THAT(record(folder, mpirun(3) + behaviour("killed")), ::testing::AnyOf(128 + SIGKILL, SIGKILL));
  const Recorded r = read_back(folder.path("t.weft"));
  ASSERT_EQ(r.lines.size(), 3u);
  EXPECT_THAT(r.lines[0], ::testing::ElementsAre("init - 0 - world", "barrier - 0 - world"));
  EXPECT_THAT(r.lines[1],
              ::testing::ElementsAre("init - 0 - world", "barrier - 0 - world", "recv 0 4 77 world"));
  EXPECT_THAT(r.header.warnings, ::testing::ElementsAre("Rank 0 ended without MPI_Finalize",
                                                        "Ranks 1-2 ended without MPI_Finalize, inside recv"));
}

TEST_P(Record, ProgramThatHangsWhereItMakesACommunicatorLeavesATraceThatHangsThere) {
  const TempDir folder;
  EXPECT_NE(record(folder, mpirun(3) + behaviour("made")), 0);
  const Recorded r = read_back(folder.path("t.weft"));
  ASSERT_EQ(r.lines.size(), 3u);
  EXPECT_THAT(r.lines[0], ::testing::ElementsAre("init - 0 - world", "recv 1 4 77 world"));
  for (const std::size_t rank : {1u, 2u})
    EXPECT_THAT(r.lines[rank], ::testing::ElementsAre("init - 0 - world", "comm_dup - none - world"));
  EXPECT_TRUE(has_note(r, "Ranks 1-2 ended without MPI_Finalize, inside comm_dup"));
  EXPECT_NE(shell(folder, weft() + " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us"), 0);
  EXPECT_THAT(slurp(folder.path("out")) + slurp(folder.path("err")),
              ::testing::AllOf(::testing::HasSubstr("comm_dup on world"),
                               ::testing::Not(::testing::HasSubstr("no cycle"))));
}

TEST_P(Record, AbortKeepsItsCodeAndTheTrace) {
  const TempDir folder;
  EXPECT_EQ(record(folder, mpirun(2) + behaviour("abort")), 5);
  EXPECT_THAT(read_back(folder.path("t.weft")).lines.at(1),
              ::testing::ElementsAre("init - 0 - world", "barrier - 0 - world"));
}

TEST_P(Record, ProgramThatMpiEndsForAnArgumentLeavesATraceOfWhatItDidBefore) {
  for (const char* call : {"bcast", "isend", "send", "recv", "sendrecv"}) {
    const TempDir folder;
    EXPECT_NE(record(folder, behaviour("fatal ") + call), 0);
    EXPECT_THAT(read_back(folder.path("t.weft")).lines,
                ::testing::ElementsAre(::testing::ElementsAre("init - 0 - world", "barrier - 0 - world")))
        << call << ": " << slurp(folder.path("err"));
    const std::string half = call == std::string("sendrecv") ? "recv" : call;
    EXPECT_THAT(slurp(folder.path("err")),
                ::testing::HasSubstr("Rank 0 ended without MPI_Finalize, inside " + half));
  }
}

TEST_P(Record, ForkedChildWritesNothing) {
  const TempDir folder;
  EXPECT_EQ(record(folder, mpirun(2) + behaviour("fork")), 0);
  EXPECT_THAT(inside(read_back(folder.path("t.weft")).lines.at(0)),
              ::testing::ElementsAre("barrier - 0 - world"));
}

TEST_P(Record, TwoJobsOfOneCommandAreTwoTraces) {
  const TempDir folder;
  const std::string script =
      "#!/bin/sh\n" + mpirun(2) + behaviour("exit 0") + "\n" + mpirun(3) + behaviour("exit 0") + "\n";
  std::ofstream(folder.path("job.sh")) << script;
  EXPECT_EQ(record(folder, "sh job.sh"), 0) << slurp(folder.path("err"));
  EXPECT_EQ(read_back(folder.path("t.weft")).lines.size(), 2u);
  EXPECT_EQ(read_back(folder.path("t.2.weft")).lines.size(), 3u);
  // Again: the name that was given is written over, a file that nobody named is not.
  std::ofstream(folder.path("t.2.weft")) << "precious";
  EXPECT_EQ(record(folder, "sh job.sh"), 0) << slurp(folder.path("err"));
  EXPECT_EQ(slurp(folder.path("t.2.weft")), "precious");
  EXPECT_EQ(read_back(folder.path("t.3.weft")).lines.size(), 3u);
}

TEST_P(Record, SpinningOnIprobeIsOnePollThatCostsNoComputeTime) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(3) + behaviour("spin")), 0);
  const Recorded r = read_back(folder.path("t.weft"));
  EXPECT_THAT(inside(r.lines.at(1)), ::testing::ElementsAre("iprobe 0 hit 7 world [0 7 4]",
                                                            "recv 0 4 7 world [0 7 4]", "send 2 4 7 world"));
  EXPECT_LT(computed_seconds(r, 1), 0.05) << "the message comes after 0.1 s of polling";
  std::int64_t polls = 0;
  std::size_t places = 0;
  for (const Op& op : r.ops[1])
    if (op.kind == OpKind::iprobe && (op.flags & traces::kHit) == 0) {
      polls += op.amount;
      ++places;
    }
  // Polls that were not joined would be as many places as polls. How many are joined is the machine's affair: a preempted
  // spin begins a new place.
  EXPECT_GT(polls, static_cast<std::int64_t>(places));
}

TEST_P(Record, SpinningOnWhatIsNotRecordedCostsNoComputeTimeEither) {
  for (const std::string what : {"window", "part", "communicator"}) {
    const TempDir folder;
    ASSERT_EQ(record(folder, mpirun(2) + behaviour("unseen-polls " + what)), 0) << slurp(folder.path("err"));
    const Recorded r = read_back(folder.path("t.weft"));
    const double outside = static_cast<double>(r.header.recording.cpu_ps.at(1)) * 1e-12;
    if (what == "part" && outside < 0.002) continue;  // an MPI before 4: no such polls
    EXPECT_LT(computed_seconds(r, 1), outside / 2) << what << ": nearly all of it lies between polls";
  }
}

// The poll of rank 1 that hits.
std::size_t hit_of(const Recorded& r) {
  std::size_t hit = 0;
  for (std::size_t i = 0; i < r.ops.at(1).size(); ++i)
    if (r.ops[1][i].kind == OpKind::iprobe && (r.ops[1][i].flags & traces::kHit) != 0) hit = i;
  return hit;
}

TEST_P(Record, PollsWithWorkBetweenArePlacesOfOneConditionalStep) {
  const TempDir folder;
  Recorded r;
  std::size_t hit = 0;
  std::int64_t body = 0;
  // A body ends where more than kBodyComputePs pass between its operations: on a busy machine an interrupt can do that.
  for (int attempt = 0; attempt < 5 && body < 2; ++attempt) {
    ASSERT_EQ(record(folder, mpirun(4) + behaviour("poll")), 0);
    r = read_back(folder.path("t.weft"));
    hit = hit_of(r);
    body = r.lists[1][hit].at(1);
    const Op& next = r.ops[1][hit + static_cast<std::size_t>(body) + 1];
    if (body < 2) {
      EXPECT_TRUE(next.kind == OpKind::compute_time && next.amount > traces::kBodyComputePs);
    }
  }
  const auto& ops = r.ops.at(1);
  std::vector<std::size_t> misses;
  for (std::size_t i = 0; i < hit; ++i)
    if (ops[i].kind == OpKind::iprobe) misses.push_back(i);
  ASSERT_GE(misses.size(), 3u);
  for (const std::size_t m : misses)
    EXPECT_EQ(r.lists[1][m], std::vector<std::int64_t>{static_cast<std::int64_t>(hit - m)});
  // 300 us of work before the second and the third poll
  EXPECT_EQ(ops[misses[1] - 1].kind, OpKind::compute_time);
  EXPECT_GT(ops[misses[1] - 1].amount, 290'000'000);
  // the body: the receive and the forward in `row`, not the message in `column`
  ASSERT_GE(body, 2);
  const Op& last = ops[hit + static_cast<std::size_t>(body)];
  EXPECT_EQ(last.kind, OpKind::send);
  EXPECT_EQ(last.peer, 2);
  EXPECT_EQ(r.communicators[last.comm.index()].name, "split1");
}

TEST_P(Record, PollsGivenUpBeforeAReceiveBelongToNoHit) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(2) + behaviour("missed")), 0);
  const Recorded r = read_back(folder.path("t.weft"));
  for (std::size_t i = 0; i < r.ops.at(1).size(); ++i)
    if (r.ops[1][i].kind == OpKind::iprobe) {
      EXPECT_EQ(r.ops[1][i].flags & traces::kHit, 0) << "the first poll comes first";
      EXPECT_TRUE(r.lists[1][i].empty());
      break;
    }
}

TEST_P(Record, CpuClockCountsWorkAndNotSleepWallClockCountsBoth) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(2) + behaviour("clock")), 0);
  const Recorded cpu = read_back(folder.path("t.weft"));
  EXPECT_GT(computed_seconds(cpu, 0), 0.0199);
  EXPECT_LT(computed_seconds(cpu, 0), 0.1);
  ASSERT_EQ(record(folder, mpirun(2) + behaviour("clock"), "--clock wall"), 0);
  EXPECT_GT(computed_seconds(read_back(folder.path("t.weft")), 0), 0.2199);
}

// One is written over while the program runs, one lies where the spools are merged, one comes after the run.
TEST_P(Record, TheHplDatIsTheOneThatTheRunBeganWith) {
  const TempDir folder;
  const auto write = [&](const char* name, const char* text) { std::ofstream(folder.path(name)) << text; };
  const auto merged = [&](const std::string& where) {
    EXPECT_EQ(shell(folder,
                    fmt::format("cd {} && rm -f again.weft && {} record -o again.weft --merge '{}'/*.spool.*",
                                where, weft(), folder.path())),
              0)
        << slurp(folder.path("err"));
    return read_back(folder.path(where + "/again.weft")).header.hpl_dat;
  };
  write("job.sh", (mpirun(2) + behaviour("exit 0") + " && echo later >HPL.dat\n").c_str());
  write("HPL.dat", "of the run\n");
  fs::create_directory(folder.path("other"));
  write("other/HPL.dat", "of another\n");
  ASSERT_EQ(record(folder, "sh job.sh"), 0);
  EXPECT_EQ(read_back(folder.path("t.weft")).header.hpl_dat, "of the run\n");
  for (const auto& e : fs::directory_iterator(folder.path()))
    EXPECT_EQ(e.path().filename().string().find(".spool."), std::string::npos) << "a copy is left behind";
  write("HPL.dat", "of the run\n");
  ASSERT_EQ(record(folder, "sh job.sh", "--keep-spool"), 0);
  EXPECT_EQ(merged("."), "of the run\n");
  EXPECT_EQ(merged("other"), "of the run\n");
  shell(folder, "rm -r HPL.dat *.spool.*");
  ASSERT_EQ(record(folder, "sh job.sh", "--keep-spool"), 0);
  EXPECT_EQ(read_back(folder.path("t.weft")).header.hpl_dat, "") << "there was none";
  EXPECT_EQ(merged("other"), "");
}

TEST_P(Record, HeaderTellsWhereTheTraceComesFrom) {
  const TempDir folder;
  std::ofstream(folder.path("HPL.dat")) << "HPLinpack benchmark input file\n";
  ASSERT_EQ(record(folder, mpirun(2) + behaviour("exit 0")), 0);
  const traces::TraceHeader h = read_back(folder.path("t.weft")).header;
  EXPECT_EQ(h.ranks, 2u);
  EXPECT_EQ(h.hpl_dat, "HPLinpack benchmark input file\n");
  EXPECT_THAT(h.command_line, ::testing::HasSubstr("behaviour exit 0"));
  EXPECT_THAT(h.recorder, ::testing::StartsWith("weft record "));
  EXPECT_FALSE(h.mpi_version.empty());
  EXPECT_EQ(h.hostnames.size(), 2u);
  EXPECT_GT(h.clock_resolution_ps, 0);
}

}  // namespace
}  // namespace weft::recorder::testing
