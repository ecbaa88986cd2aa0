// One program, two MPI libraries, one trace: every line of every rank, and every communicator.
#include <map>

#include "tests/recorder/recorder_testing.hpp"

namespace weft::recorder::testing {
namespace {

using ::testing::HasSubstr;

Recorded record_under(const char* mpi, const TempDir& folder, const std::string& name) {
  current_mpi = mpi_named(mpi);
  const std::string word = name.substr(0, name.find(' '));
  EXPECT_EQ(record(folder, mpirun(4) + program(word) + name.substr(word.size())), 0)
      << slurp(folder.path("err"));
  return read_back(folder.path("t.weft"));
}

class RecordedTwins : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedTwins, AreTheSameButForHeaderAndTimes) {
  WEFT_USE_MPI("openmpi");
  WEFT_USE_MPI("mpich");
  const TempDir folder;
  const Recorded open_mpi = record_under("openmpi", folder, GetParam());
  const Recorded mpich = record_under("mpich", folder, GetParam());
  EXPECT_THAT(open_mpi.header.mpi_version, ::testing::StartsWith("Open MPI v"));
  EXPECT_THAT(mpich.header.mpi_version, HasSubstr("MPICH Version:"));
  ASSERT_EQ(open_mpi.lines.size(), 4u);
  std::size_t lines = 0;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(open_mpi.lines[rank], mpich.lines.at(rank)) << "rank " << rank;
    lines += open_mpi.lines[rank].size();
  }
  EXPECT_GT(lines, 2 * 4u) << "more than init and finalize";
  ASSERT_EQ(open_mpi.communicators.size(), mpich.communicators.size());
  for (std::size_t i = 0; i < mpich.communicators.size(); ++i)
    EXPECT_EQ(open_mpi.communicators[i].members, mpich.communicators[i].members)
        << mpich.communicators[i].name;
  EXPECT_EQ(open_mpi.header.warnings, mpich.header.warnings);
}

INSTANTIATE_TEST_SUITE_P(Programs, RecordedTwins,
                         ::testing::Values("calls p2p", "calls persistent", "calls completion", "calls probe",
                                           "calls collectives", "calls icollectives",
                                           "calls persistent_collectives", "calls persistent_mixed",
                                           "calls persistent_order", "calls neighbours",
                                           "calls communicators", "calls intercomm", "calls types",
                                           "calls shared_handles", "calls unrecorded", "behaviour exit 0"),
                         [](const auto& name) {
                           std::string text = name.param;
                           for (char& c : text)
                             if (c == ' ') c = '_';
                           return text;
                         });

// MPI 4 has a second form of every call with counts. Of the first, calls_test.cpp and the twins above know what is recorded.
class RecordedLargeCounts : public ::testing::TestWithParam<const char*> {};

TEST_P(RecordedLargeCounts, AreRecordedAsSmallOnes) {
  WEFT_USE_MPI("mpich");
  WEFT_NEEDS(fs::exists(program("large")), "THE MPICH OF THIS MACHINE IS OLDER THAN MPI 4");
  const TempDir folder;
  const Recorded small = record_under("mpich", folder, std::string("calls ") + GetParam());
  const Recorded large = record_under("mpich", folder, std::string("large ") + GetParam());
  EXPECT_EQ(small.lines, large.lines);
  EXPECT_EQ(small.header.warnings, large.header.warnings);
  ASSERT_EQ(small.header.recording.not_recorded.size(), large.header.recording.not_recorded.size());
  for (std::size_t i = 0; i < small.header.recording.not_recorded.size(); ++i) {
    EXPECT_EQ(small.header.recording.not_recorded[i].call, large.header.recording.not_recorded[i].call);
    EXPECT_EQ(small.header.recording.not_recorded[i].count, large.header.recording.not_recorded[i].count);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, RecordedLargeCounts,
                         ::testing::Values("p2p", "persistent", "completion", "probe", "collectives",
                                           "icollectives", "persistent_collectives", "neighbours",
                                           "unrecorded"),
                         [](const auto& name) { return std::string(name.param); });

TEST(RecordedMpi4, AProgramOfSessionsAloneIsToldThatTheyAreNotSupported) {
  WEFT_USE_MPI("mpich");
  WEFT_NEEDS(fs::exists(program("large")), "THE MPICH OF THIS MACHINE IS OLDER THAN MPI 4");
  const TempDir folder;
  EXPECT_EQ(record(folder, mpirun(2) + program("sessions")), 3);
  EXPECT_THAT(slurp(folder.path("err")),
              ::testing::AllOf(HasSubstr("sessions of MPI 4 are not supported"),
                               HasSubstr(program("sessions") + " calls MPI_Session_init"),
                               HasSubstr("expected a program that calls MPI_Init")));
  for (const auto& left : fs::directory_iterator(folder.path()))
    EXPECT_THAT(left.path().filename().string(), ::testing::AnyOf("out", "err"));
}

TEST(RecordedMpi4, CallsWithoutAPlaceInATraceAreCountedByName) {
  WEFT_USE_MPI("mpich");
  WEFT_NEEDS(fs::exists(program("large")), "THE MPICH OF THIS MACHINE IS OLDER THAN MPI 4");
  const TempDir folder;
  const Recorded r = record_under("mpich", folder, "calls mpi4");
  EXPECT_THAT(
      inside(r.lines.at(0)),
      ::testing::ElementsAre("comm_split - split1 - world", "comm_create_group - split2 - world",
                             "comm_free - 0 - split2", "comm_free - 0 - split1", "barrier - 0 - world"));
  std::map<std::string, std::uint64_t> counts;
  for (const traces::NotRecorded& n : r.header.recording.not_recorded) counts[n.call] = n.count;
  for (const char* once :
       {"Isendrecv", "Psend_init", "Precv_init", "Pready", "Pready_list", "Session_init", "Session_finalize"})
    EXPECT_EQ(counts["MPI_" + std::string(once)], 4u) << once;
  EXPECT_GE(counts["MPI_Parrived"], 4u);
  EXPECT_THAT(slurp(folder.path("err")),
              HasSubstr("of sessions, partitioned messages and Isendrecv of MPI 4"));
  EXPECT_TRUE(
      has_note(r, "16 calls of start of requests whose making was not recorded (partitioned messages)"));
  EXPECT_TRUE(has_note(r, "4 calls of communication on inter-communicators"));
}

// Replay takes the rules of the library that made the recording.
TEST(RecordedTwins, AreReplayedWithTheCollectivesOfTheirOwnLibrary) {
  for (const char* mpi : {"openmpi", "mpich"}) {
    WEFT_USE_MPI(mpi);
    const TempDir folder;
    ASSERT_EQ(record(folder, mpirun(4) + program("calls") + " collectives"), 0) << slurp(folder.path("err"));
    ASSERT_EQ(shell(folder, weft() + " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us --json r.json"), 0)
        << slurp(folder.path("err"));
    EXPECT_THAT(slurp(folder.path("r.json")),
                HasSubstr(std::string("\"collective_rules_from\": \"recording\"")));
    EXPECT_THAT(slurp(folder.path("r.json")), HasSubstr(std::string("\"collective_rules\": \"") + mpi));
  }
}

// A script hides the program from weft: the library inside it finds out.
TEST(RecordedChoice, ProgramBehindAScriptIsRecordedByTheRightLibrary) {
  for (const char* mpi : {"mpich", "openmpi"}) {
    WEFT_USE_MPI(mpi);
    const TempDir folder;
    std::ofstream(folder.path("job.sh")) << mpirun(2) + program("behaviour") + " exit 7\n";
    EXPECT_EQ(record(folder, "sh job.sh"), 7) << slurp(folder.path("err"));
    const Recorded r = read_back(folder.path("t.weft"));
    ASSERT_EQ(r.lines.size(), 2u);
    EXPECT_THAT(inside(r.lines[1]), ::testing::ElementsAre("barrier - 0 - world"));
    EXPECT_THAT(r.header.mpi_version, HasSubstr(mpi == std::string("mpich") ? "MPICH" : "Open MPI"));
  }
}

// An interpreter that loads MPI later than at its start: here a program that was linked without it, in the hands of the
// other launcher.
TEST(RecordedChoice, MpiThatIsLoadedTooLateForTheRightRecorderIsNamed) {
  WEFT_USE_MPI("openmpi");
  const Mpi launcher = current_mpi;
  WEFT_USE_MPI("mpich");
  const TempDir folder;
  const std::string command = launcher.launcher + " --oversubscribe -n 1 " + program("late");
  EXPECT_EQ(record(folder, command), 3);
  EXPECT_THAT(slurp(folder.path("out")), HasSubstr("1 rank"))
      << "the program runs as it would without the recorder";
  EXPECT_THAT(slurp(folder.path("err")),
              ::testing::AllOf(HasSubstr("loads another MPI than its launcher's"), HasSubstr("/late loads "),
                               HasSubstr("libmpich.so.12, for which there is no recorder here")));
  EXPECT_EQ(record(folder, mpirun(2) + program("late")), 0) << slurp(folder.path("err"));
  EXPECT_EQ(read_back(folder.path("t.weft")).lines.size(), 2u);
  EXPECT_EQ(record(folder, mpirun(2) + program("late") + " handle"), 3) << "past the recorder";
  EXPECT_THAT(slurp(folder.path("err")), ::testing::AllOf(HasSubstr("no MPI rank was recorded"),
                                                          HasSubstr("looks up in the library itself")));
}

// Two jobs of one script, each with its MPI.
TEST(RecordedChoice, OneScriptMayRunProgramsOfBoth) {
  const TempDir folder;
  std::string script;
  for (const char* mpi : {"mpich", "openmpi"}) {
    WEFT_USE_MPI(mpi);
    script += mpirun(2) + program("behaviour") + " exit 0\n";
  }
  std::ofstream(folder.path("job.sh")) << script;
  EXPECT_EQ(record(folder, "sh job.sh"), 0) << slurp(folder.path("err"));
  EXPECT_THAT(read_back(folder.path("t.weft")).header.mpi_version, HasSubstr("MPICH"));
  EXPECT_THAT(read_back(folder.path("t.2.weft")).header.mpi_version, HasSubstr("Open MPI"));
}

}  // namespace
}  // namespace weft::recorder::testing
