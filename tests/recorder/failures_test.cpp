// What record does when something around it goes wrong, and beside other tools.
#include <signal.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/recorder/recorder_testing.hpp"
#include "tests/support/needs.hpp"
#include "traces/request_book.hpp"

namespace weft::recorder::testing {
namespace {

WEFT_UNDER_EACH_MPI(RecordFailures);
WEFT_UNDER_EACH_MPI(RecordBesideTools);
WEFT_UNDER_EACH_MPI(RecordedFacts);
WEFT_UNDER_EACH_MPI(RecordedThreads);

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string spool_folder(const TempDir& folder) {
  for (const auto& e : fs::directory_iterator(folder.path()))
    if (e.path().filename().string().find(".spool.") != std::string::npos) return e.path().string();
  return {};
}

// The command that weft printed for merging later.
std::string merge_command(const std::string& err) {
  const std::size_t at = err.find("weft record --merge ");
  return at == std::string::npos ? "" : err.substr(at + 5, err.find('\n', at) - at - 5);
}

TEST_P(RecordFailures, OutputIsCheckedBeforeTheProgramRuns) {
  const TempDir folder;
  fs::create_directory(folder.path("here"));
  EXPECT_EQ(shell(folder, weft() + " record -o here -- touch ran"), 3);
  EXPECT_THAT(slurp(folder.path("err")), HasSubstr("here: error: cannot write"));
  EXPECT_EQ(shell(folder, weft() + " record -o no/such/t.weft -- touch ran"), 3);
  EXPECT_EQ(shell(folder, weft() + " record -o - -- touch ran"), 2);
  EXPECT_FALSE(fs::exists(folder.path("ran")));
  EXPECT_EQ(spool_folder(folder), "");
}

TEST_P(RecordFailures, RecordingThatCannotBecomeATraceIsKeptAndTheCommandToldMergesIt) {
  const TempDir folder;
  // The program itself puts a folder where the trace should go.
  std::ofstream(folder.path("job.sh")) << mpirun(2) + behaviour("exit 0") + " && mkdir t.weft\n";
  EXPECT_EQ(record(folder, "sh job.sh"), 3);
  const std::string err = slurp(folder.path("err"));
  EXPECT_THAT(err, HasSubstr("the recording is kept in " + spool_folder(folder)));
  ASSERT_NE(merge_command(err), "");
  fs::remove(folder.path("t.weft"));
  fs::rename(folder.path("t.weft.spool.") + spool_folder(folder).substr(spool_folder(folder).rfind('.') + 1),
             folder.path("moved"));
  EXPECT_EQ(shell(folder, weft() + " record --merge moved -o T.weft"), 0) << slurp(folder.path("err"));
  const Recorded r = read_back(folder.path("T.weft"));
  EXPECT_EQ(r.lines.size(), 2u);
  EXPECT_EQ(r.header.command_line, "sh job.sh") << "known from the spool folder";
  EXPECT_TRUE(fs::exists(folder.path("moved"))) << "a merge leaves the spools";
}

TEST_P(RecordFailures, ProgramsOwnExitCodeCountsAlsoWhenTheTraceIsLost) {
  const TempDir folder;
  std::ofstream(folder.path("job.sh")) << mpirun(2) + behaviour("exit 0") + " && mkdir t.weft && exit 9\n";
  EXPECT_EQ(record(folder, "sh job.sh"), 9);
  const std::string err = slurp(folder.path("err"));
  EXPECT_THAT(err, AllOf(HasSubstr("cannot write"), HasSubstr("the recording is kept in ")));
  fs::remove(folder.path("t.weft"));
  EXPECT_EQ(shell(folder, weft() + " " + merge_command(err)), 0) << slurp(folder.path("err"));
  EXPECT_EQ(read_back(folder.path("T.weft")).lines.size(), 2u);
}

TEST_P(RecordFailures, LimitOnFileSizesEndsTheRecordingAndNotTheProgram) {
  const TempDir folder;
  EXPECT_EQ(record(folder, behaviour("limit")), 5) << "and not killed by SIGXFSZ";
  const Recorded r = read_back(folder.path("t.weft"));
  EXPECT_THAT(r.header.warnings, ElementsAre("Rank 0 found the disk full, the end is missing"));
  EXPECT_GT(r.ops.at(0).size(), 50'000u);
  EXPECT_THAT(slurp(folder.path("err")), HasSubstr("warning: Rank 0 found the disk full"));
}

TEST_P(RecordFailures, AFileThatGotTheDescriptorOfTheSpoolIsTheProgramsAlone) {
  const TempDir folder;
  EXPECT_EQ(record(folder, behaviour("descriptors")), 0) << slurp(folder.path("err"));
  EXPECT_EQ(slurp(folder.path("mine")), "mine");
  const Recorded r = read_back(folder.path("t.weft"));
  EXPECT_THAT(r.header.warnings, ElementsAre());
  EXPECT_EQ(inside(r.lines.at(0)).size(), 100'000u);
}

TEST_P(RecordFailures, TraceThatDoesNotFitIsAnErrorOfWriting) {
  const TempDir folder;
  EXPECT_EQ(record(folder, behaviour("exit 0"), "--keep-spool"), 0) << slurp(folder.path("err"));
  const std::string spools = spool_folder(folder);
  EXPECT_EQ(shell(folder, "ulimit -f 0; " + weft() + " record -o u.weft --merge " + spools + " 2>/dev/null"),
            3);
  EXPECT_FALSE(fs::exists(folder.path("u.weft")));
  EXPECT_EQ(shell(folder, weft() + " record -o u.weft --merge " + spools), 0);
}

TEST_P(RecordFailures, TerminatedRecordStillWritesTheTrace) {
  for (const int signal : {SIGTERM, SIGINT}) {
    const TempDir folder;
    // A group of its own; Ctrl-C goes to all of it, kill to weft alone.
    std::ofstream(folder.path("job.sh"))
        << "setsid " + weft() + " record -o t.weft -- " + mpirun(2) + behaviour("hang") +
               " >said 2>told & pid=$!\n"
               "for i in $(seq 300); do grep -q hanging said && break; sleep 0.1; done\n"
               // the shell of a test may start its background jobs with SIGINT ignored: so not by kill -INT
               + (signal == SIGINT ? "python3 -c \"import os,signal;os.killpg($pid,signal.SIGINT)\"\n"
                                   : "kill -TERM $pid\n") +
               "wait $pid\n";
    // The launcher's own code, passed on: 1 of Open MPI, the signal or 0 of MPICH, else as a shell counts. Not a
    // crash of weft.
    EXPECT_THAT(shell(folder, "sh -m job.sh"), ::testing::AnyOf(0, 1, signal, 128 + signal));
    EXPECT_EQ(spool_folder(folder), "") << slurp(folder.path("told"));
    const Recorded r = read_back(folder.path("t.weft"));
    ASSERT_EQ(r.lines.size(), 2u);
    EXPECT_EQ(r.lines[0].back(), "recv 1 4 77 world") << signal;
    EXPECT_TRUE(has_note(r, "ended without MPI_Finalize, inside recv")) << slurp(folder.path("told"));
  }
}

TEST_P(RecordBesideTools, PreloadedToolSeesTheProgramAndTheTraceDoesNotSeeTheTool) {
  const TempDir folder;
  const std::string tool = program("libtool.so");
  ASSERT_EQ(record(folder, mpirun(3) + behaviour("spin")), 0);
  const Recorded alone = read_back(folder.path("t.weft"));
  EXPECT_EQ(slurp(folder.path("out")), "");
  const std::string run = mpirun(3) + behaviour("spin");
  const std::string exporting = current_mpi.abi == "openmpi" ? " -x LD_PRELOAD=" : " -genv LD_PRELOAD ";
  const std::string exported =
      current_mpi.launcher + exporting + tool + run.substr(current_mpi.launcher.size());
  for (const std::string& command : {"LD_PRELOAD=" + tool + " " + weft() + " record -o t.weft -- " + run,
                                     weft() + " record -o t.weft -- " + exported}) {
    ASSERT_EQ(shell(folder, command), 0) << slurp(folder.path("err"));
    EXPECT_EQ(slurp(folder.path("out")), "tool: 2 sends, 0 barriers\n") << command;
    const Recorded beside = read_back(folder.path("t.weft"));
    EXPECT_EQ(beside.lines, alone.lines) << command;
    EXPECT_FALSE(has_note(beside, "inside callbacks")) << command;
  }
}

TEST(RecordUnderOpenMpi, VariablesThatItsOwnListHandsOnArriveBesideTheRecorders) {
  WEFT_USE_MPI("openmpi");
  const TempDir folder;
  const std::string said = "sh -c 'echo \"$GIVEN $BESIDE\"; exec " + behaviour("exit 0") + "'";
  const std::string run = mpirun(2);
  for (const std::string words :
       {" --mca mca_base_env_list 'GIVEN=1;BESIDE=2'",
        " --mca mca_base_env_list GIVEN=1,BESIDE=2 --mca mca_base_env_list_delimiter ,"}) {
    const std::string command = current_mpi.launcher + words + run.substr(current_mpi.launcher.size()) + said;
    // As without a recorder: from Open MPI 5 on there is one delimiter, and the second list one variable.
    ASSERT_EQ(shell(folder, command), 0) << slurp(folder.path("err"));
    const std::string arrived = slurp(folder.path("out"));
    EXPECT_THAT(arrived, ::testing::StartsWith("1"));
    ASSERT_EQ(record(folder, command), 0) << slurp(folder.path("err"));
    EXPECT_EQ(slurp(folder.path("out")), arrived);
    EXPECT_EQ(read_back(folder.path("t.weft")).lines.size(), 2u);
  }
}

TEST_P(RecordBesideTools, LinkedToolSeesTheProgramToo) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(2) + program("linked") + " exit 0"), 0) << slurp(folder.path("err"));
  EXPECT_EQ(slurp(folder.path("out")), "tool: 0 sends, 2 barriers\n");
  const Recorded r = read_back(folder.path("t.weft"));
  EXPECT_THAT(inside(r.lines.at(1)), ElementsAre("barrier - 0 - world"));
  EXPECT_FALSE(has_note(r, "inside callbacks"));
}

TEST_P(RecordBesideTools, WrapperThatReplacesThePreloadIsNamed) {
  const TempDir folder;
  const std::string run = behaviour("exit 0");
  EXPECT_EQ(record(folder, "env LD_PRELOAD=/no/other.so " + run), 3);
  EXPECT_THAT(slurp(folder.path("err")),
              AllOf(HasSubstr("no MPI rank was recorded"),
                    HasSubstr("env started " + program("behaviour") + " with LD_PRELOAD=/no/other.so"),
                    HasSubstr("(LD_PRELOAD=other.so:$LD_PRELOAD)")));
  EXPECT_EQ(record(folder, "sh -c 'unset LD_PRELOAD; exec " + run + "'"), 3);
  EXPECT_THAT(slurp(folder.path("err")),
              HasSubstr("started " + program("behaviour") + " without LD_PRELOAD"));
  EXPECT_EQ(record(folder, "env -u WEFT_RECORD_DIR " + run), 3);
  EXPECT_THAT(slurp(folder.path("err")), HasSubstr("without WEFT_RECORD_DIR"));
  EXPECT_EQ(spool_folder(folder), "");
  // One that keeps it is recorded.
  EXPECT_EQ(record(folder, "sh -c 'LD_PRELOAD=" + program("libtool.so") + ":$LD_PRELOAD " + run + "'"), 0)
      << slurp(folder.path("err"));
}

TEST_P(RecordedFacts, CallsThatFailedAreNoMessages) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(2) + behaviour("errors")), 0) << slurp(folder.path("err"));
  const Recorded r = read_back(folder.path("t.weft"));
  EXPECT_THAT(inside(r.lines.at(0)), ElementsAre("send null 4 1 world", "send 1 400 2 world",
                                                 "send 1 400 3 world", "barrier - 0 - world"));
  // Open MPI says how long the message was that did not fit, MPICH does not.
  const auto told = [](const std::string& line) {
    return HasSubstr(current_mpi.abi == "openmpi" ? line + "400" : line);
  };
  EXPECT_THAT(inside(r.lines.at(1)),
              ElementsAre("send null 4 1 world", told("recv 0 40 2 world [0 2 "),
                          told("irecv - 40 3 world [0 3 "), told("wait 0 "), "barrier - 0 - world"))
      << "the two that were too long were taken all the same";
  EXPECT_THAT(slurp(folder.path("err")),
              AllOf(HasSubstr("12 calls returned an error and did nothing: left out"),
                    HasSubstr("2 calls returned MPI_ERR_TRUNCATE")));
}

// The program alone is the witness.
TEST_P(RecordedFacts, CallsThatFailedAnswerWhatTheyDoWithoutARecorder) {
  const TempDir folder;
  ASSERT_EQ(shell(folder, mpirun(2) + behaviour("codes")), 0) << slurp(folder.path("err"));
  const std::string alone = slurp(folder.path("out"));
  EXPECT_EQ(std::count(alone.begin(), alone.end(), '\n'), 8);
  ASSERT_EQ(record(folder, mpirun(2) + behaviour("codes")), 0) << slurp(folder.path("err"));
  EXPECT_EQ(slurp(folder.path("out")), alone);
}

TEST_P(RecordedFacts, WhatComesAfterACallThatAnErrorHandlerLeftIsRecorded) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(2) + behaviour("left")), 0) << slurp(folder.path("err"));
  const Recorded r = read_back(folder.path("t.weft"));
  EXPECT_THAT(inside(r.lines.at(0)), ElementsAre("send null 4 1 world", "send 1 4 2 world",
                                                 "send null 4 3 world", "barrier - 0 - world"));
  EXPECT_THAT(inside(r.lines.at(1)), ElementsAre("send null 4 1 world", "recv 0 4 2 world [0 2 4]",
                                                 "send null 4 3 world", "barrier - 0 - world"));
  EXPECT_THAT(warnings_of(r),
              ElementsAre(::testing::StartsWith("6 calls of communication inside callbacks")));
  EXPECT_THAT(slurp(folder.path("err")), HasSubstr("6 calls left by an exception or a jump"));
  EXPECT_EQ(shell(folder, weft() + " check t.weft"), 1) << "the barriers of the error handler are missing";
}

TEST_P(RecordedFacts, ACallOnAHandleOfNothingFailedAndIsNoneThatWasNotSeen) {
  const TempDir folder;
  ASSERT_EQ(record(folder, behaviour("nulls")), 0) << slurp(folder.path("err"));
  const Recorded r = read_back(folder.path("t.weft"));
  EXPECT_THAT(inside(r.lines.at(0)), ElementsAre("barrier - 0 - world"));
  EXPECT_THAT(r.header.warnings, ElementsAre());
  EXPECT_TRUE(has_note(r, "7 calls returned an error and did nothing"));
}

TEST_P(RecordedFacts, FunctionsThatATraceCannotHoldAreCountedByName) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(4) + program("calls") + " unrecorded"), 0);
  const Recorded r = read_back(folder.path("t.weft"));
  std::uint64_t rma = 0;
  std::uint64_t opens = 0;
  for (const traces::NotRecorded& n : r.header.recording.not_recorded) {
    if (n.group == "one-sided communication") rma += n.count;
    if (n.call == "MPI_File_open") opens = n.count;
  }
  EXPECT_EQ(rma, 20u);
  EXPECT_EQ(opens, 4u);
  EXPECT_THAT(slurp(folder.path("err")), HasSubstr("MPI_Put 4"));
}

TEST_P(RecordedFacts, WarningsAreInTheJson) {
  const TempDir folder;
  const auto warnings = [&](const std::string& file) {
    return nlohmann::json::parse(slurp(folder.path(file))).at("warnings").get<std::vector<std::string>>();
  };
  ASSERT_EQ(record(folder, mpirun(4) + program("calls") + " unrecorded", "--json j.json"), 0);
  ASSERT_EQ(shell(folder, weft() + " info t.weft --json i.json"), 0) << slurp(folder.path("err"));
  EXPECT_THAT(warnings("j.json"), ::testing::Contains(HasSubstr("MPI_Put 4")));
  EXPECT_EQ(warnings("j.json"), warnings("i.json"));
  // Of several traces each says which.
  const std::string twice = mpirun(4) + program("calls") + " unrecorded";
  ASSERT_EQ(record(folder, "sh -c '" + twice + " && " + twice + "'", "--json j.json"), 0);
  EXPECT_THAT(warnings("j.json"),
              ::testing::IsSupersetOf({AllOf(StartsWith("t.weft: "), HasSubstr("MPI_Put 4")),
                                       AllOf(StartsWith("t.2.weft: "), HasSubstr("MPI_Put 4"))}));
}

TEST_P(RecordedFacts, BothClocksAreInTheHeaderAndSleepIsToldOfWithItsFlag) {
  const TempDir folder;
  for (const char* clock : {"cpu", "wall"}) {  // 20 ms of work and 200 ms of sleep
    ASSERT_EQ(record(folder, mpirun(2) + behaviour("clock"), std::string("--clock ") + clock), 0);
    const traces::RecordingFacts facts = read_back(folder.path("t.weft")).header.recording;
    ASSERT_EQ(facts.cpu_ps.size(), 2u);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_GT(facts.cpu_ps[rank], 19'900'000'000) << clock;
      EXPECT_LT(facts.cpu_ps[rank], 60'000'000'000) << clock;
      EXPECT_GT(facts.wall_ps[rank], 219'900'000'000) << clock;
    }
    EXPECT_THAT(slurp(folder.path("err")),
                HasSubstr(clock == std::string("cpu") ? "--clock wall" : "--clock cpu"));
  }
}

// The program's own run is the witness: it ended, so a replay that keeps the order of its calls must end too.
TEST_P(RecordedThreads, ThatAreInsideMpiAtOnceAreWarnedOfAndReplayWithoutADeadlock) {
  const TempDir folder;
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(record(folder, mpirun(3) + program("threads")), 0) << slurp(folder.path("err"));
    WEFT_NEEDS(slurp(folder.path("out")).empty(), "THIS MPI HAS NO MPI_THREAD_MULTIPLE");
    EXPECT_THAT(slurp(folder.path("err")), HasSubstr("warning: MPI was called by up to 4 threads of a rank"));
    const Recorded r = read_back(folder.path("t.weft"));
    EXPECT_EQ(r.header.recording.thread_level, 4u);
    EXPECT_EQ(r.header.recording.threads, 4u) << "main and three";
    EXPECT_GT(r.header.recording.concurrent_calls, 0u);
    // 3 threads, 60 rounds, one of six in turn is two collectives: five others send one message each
    EXPECT_EQ(std::count_if(r.ops[0].begin(), r.ops[0].end(),
                            [](const traces::Op& op) { return traces::is_send(op.kind); }),
              150);
    EXPECT_EQ(shell(folder, weft() + " check t.weft"), 0) << slurp(folder.path("out"));
    EXPECT_EQ(shell(folder, weft() + " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us"), 0)
        << slurp(folder.path("out"));
  }
}

// What one rank's threads do decides how all of them write a collective: all or none with a start and a wait.
TEST_P(RecordedThreads, OnlyACallThatAnotherFellIntoIsWrittenAsItsStartAndItsWait) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(3) + program("threads") + " one"), 0) << slurp(folder.path("err"));
  WEFT_NEEDS(slurp(folder.path("out")).empty(), "THIS MPI HAS NO MPI_THREAD_MULTIPLE");
  const Recorded r = read_back(folder.path("t.weft"));
  const char* const bcast = "bcast 0 4 - world";
  const char* const ibarrier = "ibarrier - 0 - world";
  EXPECT_THAT(inside(r.lines[0]),
              ElementsAre(bcast, ibarrier, "recv 1 4 7 world [1 7 4]", StartsWith("waitall"), bcast));
  EXPECT_THAT(inside(r.lines[1]),
              ElementsAre(bcast, ibarrier, StartsWith("waitall"), "send 0 4 7 world", bcast));
  EXPECT_THAT(inside(r.lines[2]), ElementsAre(bcast, ibarrier, StartsWith("waitall"), bcast));
  for (const char* verb : {" check t.weft", " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us"})
    EXPECT_EQ(shell(folder, weft() + verb), 0) << slurp(folder.path("out"));
}

TEST_P(RecordedThreads, ThatEndedLeaveTheirNumbersToLaterOnes) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(2) + program("threads") + " many"), 0) << slurp(folder.path("err"));
  WEFT_NEEDS(slurp(folder.path("out")).empty(), "THIS MPI HAS NO MPI_THREAD_MULTIPLE");
  const Recorded r = read_back(folder.path("t.weft"));
  EXPECT_EQ(r.header.recording.threads, 65'601u) << "main and the others; who starts them calls no MPI";
  const std::string nobody = "send null 4 8 world";
  EXPECT_EQ(std::count(r.lines[0].begin(), r.lines[0].end(), nobody), 65'599);
  Lines rest;
  std::remove_copy(r.lines[0].begin(), r.lines[0].end(), std::back_inserter(rest), nobody);
  EXPECT_THAT(inside(rest),
              ElementsAre("irecv 1 4 9 world [1 9 4]", "send 1 4 8 world", "waitall - 0 - world [1]"));
  for (const char* verb : {" check t.weft", " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us"})
    EXPECT_EQ(shell(folder, weft() + verb), 0) << slurp(folder.path("out"));
}

TEST_P(RecordedThreads, ThatEndedLeaveNoMemoryBehind) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(1) + program("threads") + " memory"), 0) << slurp(folder.path("err"));
  const std::string grown = slurp(folder.path("out"));
  WEFT_NEEDS(grown != "no thread support\n", "THIS MPI HAS NO MPI_THREAD_MULTIPLE");
  EXPECT_LT(std::stol(grown), 10'000) << "100 threads, 400 kB of each";
}

// MPI's rule: a request is in use from its start to its one completion.
TEST_P(RecordedThreads, RequestsThatShareAHandleAreEachCompletedByOneThread) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(2) + program("threads") + " shared"), 0) << slurp(folder.path("err"));
  WEFT_NEEDS(slurp(folder.path("out")).empty(), "THIS MPI HAS NO MPI_THREAD_MULTIPLE");
  const Recorded r = read_back(folder.path("t.weft"));
  std::set<std::int64_t> active;
  int started = 0;
  for (std::size_t i = 0; i < r.ops[0].size(); ++i) {
    const traces::Op& op = r.ops[0][i];
    std::int64_t one = 0;
    if (traces::makes_request(op.kind)) {
      ++started;
      EXPECT_TRUE(active.insert(op.request).second) << "operation " << i;
    } else if (traces::is_completion(op.kind)) {
      for (const std::int64_t slot : traces::completed_requests(op, r.lists[0][i], one))
        EXPECT_EQ(active.erase(slot), 1u) << "slot " << slot << " at operation " << i;
    }
  }
  EXPECT_EQ(started, 15) << "3 rounds of a receive and four sends; the one that was cancelled is none";
  EXPECT_THAT(active, ::testing::IsEmpty());
  EXPECT_TRUE(has_note(r, "1 receive cancelled"));
  EXPECT_FALSE(has_note(r, "was not seen"));
  for (const char* verb : {" check t.weft", " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us"})
    EXPECT_EQ(shell(folder, weft() + verb), 0) << slurp(folder.path("out"));
}

}  // namespace
}  // namespace weft::recorder::testing
