// Ranks without a recorder beside recorded ones, and calls that go wrong on one rank.
#include <algorithm>

#include "tests/recorder/recorder_testing.hpp"

namespace weft::recorder::testing {
namespace {

WEFT_UNDER_EACH_MPI(RecordMishaps);

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string mishap(const std::string& mode) { return program("mishaps") + " " + mode; }

TEST_P(RecordMishaps, ARankWithoutARecorderGetsNoMessageOfTheRecorder) {
  // That of Debian 13 (PRRTE 3.0.8) ends with a segmentation fault.
  WEFT_NEEDS(shell(TempDir(), mpirun(1) + "true : -n 1 true") == 0,
             "THE LAUNCHER DOES NOT START TWO PROGRAMS: one without a recorder is not tested");
  for (const int unrecorded : {0, 1}) {
    const TempDir folder;
    const std::string run = mishap("bcast");
    const std::string without = "env -u LD_PRELOAD " + run;
    const std::string ranks = unrecorded == 0 ? without + " : -n 1 " + run : run + " : -n 1 " + without;
    EXPECT_EQ(record(folder, "timeout 60 " + mpirun(1) + ranks), 0)
        << slurp(folder.path("out")) << slurp(folder.path("err"));
    const Recorded r = read_back(folder.path("t.weft"));
    ASSERT_EQ(r.lines.size(), 2u);
    EXPECT_THAT(r.lines[static_cast<std::size_t>(unrecorded)], IsEmpty());
    EXPECT_THAT(inside(r.lines[static_cast<std::size_t>(1 - unrecorded)]),
                ElementsAre("bcast 0 8 - world", "barrier - 0 - world"));
    EXPECT_THAT(r.header.warnings, Contains(fmt::format("Rank {} left no record", unrecorded)));
  }
}

TEST_P(RecordMishaps, JobsThatRunAtTheSameTimeAreToldApart) {
  const TempDir folder;
  std::string jobs;
  for (int i = 0; i < 3; ++i) jobs += mpirun(2) + mishap("bcast") + " & ";
  std::ofstream(folder.path("job.sh")) << jobs << "wait\n" << mpirun(2) + mishap("bcast") << "\n";
  EXPECT_EQ(record(folder, "sh job.sh"), 0) << slurp(folder.path("err"));
  for (const char* trace : {"t.weft", "t.2.weft", "t.3.weft", "t.4.weft"}) {
    const Recorded r = read_back(folder.path(trace));
    ASSERT_EQ(r.lines.size(), 2u) << trace;
    EXPECT_THAT(r.header.warnings, IsEmpty()) << trace;
    for (const Lines& lines : r.lines)
      EXPECT_THAT(inside(lines), ElementsAre("bcast 0 8 - world", "barrier - 0 - world")) << trace;
  }
  EXPECT_FALSE(fs::exists(folder.path("t.5.weft")));
}

// A replay of what was recorded goes through.
void expect_replayable(const TempDir& folder) {
  for (const char* verb : {" check t.weft", " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us"})
    EXPECT_EQ(shell(folder, weft() + verb), 0) << slurp(folder.path("out")) << slurp(folder.path("err"));
}

TEST_P(RecordMishaps, ACreationThatOneRankIsRefusedCountsOnNone) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(2) + mishap("creation")), 0) << slurp(folder.path("err"));
  const Recorded r = read_back(folder.path("t.weft"));
  ASSERT_EQ(r.lines.size(), 2u);
  EXPECT_EQ(r.lines[0], r.lines[1]);
  EXPECT_EQ(r.communicators.size(), 3u) << "the world, its copy, and what came after the call that failed";
  EXPECT_TRUE(has_note(r, "1 call returned an error and did nothing"));
  expect_replayable(folder);
}

TEST_P(RecordMishaps, AStartThatFailsLeavesTheRequestAsItWas) {
  for (const std::string mode : {"start", "startall"}) {
    if (mode == "start" && current_mpi.abi == "openmpi") continue;  // Open MPI 4.1 lets that one pass
    const TempDir folder;
    ASSERT_EQ(record(folder, mpirun(2) + mishap(mode)), 0) << slurp(folder.path("err"));
    const Recorded r = read_back(folder.path("t.weft"));
    ASSERT_EQ(r.lines.size(), 2u);
    EXPECT_THAT(
        inside(r.lines[0]),
        ElementsAre("recv_init 1 10 0 world", "send_init 1 7 0 world", "start - 0 - world [1 0 7]",
                    "start - 0 - world", "waitall - 0 - world [0 1]", "startall - 0 - world [0 1]",
                    "waitall - 0 - world [0 1]", "request_free - 0 - world", "request_free - 0 - world"))
        << mode;
    EXPECT_TRUE(has_note(r, "2 calls returned an error and did nothing")) << mode;
    expect_replayable(folder);
  }
}

// Open MPI gives sends that it has completed at once one handle: the program's variable tells them apart.
TEST_P(RecordMishaps, ManySendsWithOneHandleAreAwaitedEachByItsVariable) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(2) + mishap("shared")), 0) << slurp(folder.path("err"));
  const Recorded r = read_back(folder.path("t.weft"));
  std::vector<std::uint32_t> sent;
  std::vector<std::uint32_t> awaited;
  for (const traces::Op& op : r.ops.at(0)) {
    if (op.kind == traces::OpKind::isend) sent.push_back(op.request);
    if (op.kind == traces::OpKind::wait) awaited.push_back(op.request);
  }
  ASSERT_EQ(sent.size(), 100u);
  std::rotate(sent.begin(), sent.end() - 1, sent.end());
  EXPECT_EQ(awaited, sent);
}

TEST_P(RecordMishaps, ATestallThatFailsCompletesWhatMpiCompleted) {
  const TempDir folder;
  ASSERT_EQ(record(folder, mpirun(2) + mishap("testall")), 0) << slurp(folder.path("err"));
  const Recorded r = read_back(folder.path("t.weft"));
  std::vector<std::int64_t> completed;
  for (std::size_t i = 0; i < r.ops.at(0).size(); ++i) {
    const traces::Op& op = r.ops[0][i];
    if (op.kind == traces::OpKind::testall)
      completed.insert(completed.end(), r.lists[0][i].begin(), r.lists[0][i].end());
    if (op.kind == traces::OpKind::wait) completed.push_back(op.request);
  }
  EXPECT_THAT(completed, ::testing::UnorderedElementsAre(0, 1, 2));
  EXPECT_THAT(r.header.warnings, IsEmpty());
  static_cast<void>(shell(folder, weft() + " check t.weft"));  // tells of the message that was too long
  EXPECT_THAT(slurp(folder.path("out")) + slurp(folder.path("err")), Not(HasSubstr("never completed")));
}

// The program alone is the witness.
TEST_P(RecordMishaps, WithoutStatusesARequestThatFailsBesideAPersistentOneIsAnsweredAsWithoutARecorder) {
  const TempDir folder;
  ASSERT_EQ(shell(folder, mpirun(2) + mishap("without_statuses")), 0) << slurp(folder.path("err"));
  const std::string alone = slurp(folder.path("out"));
  EXPECT_EQ(std::count(alone.begin(), alone.end(), '\n'), 2);
  ASSERT_EQ(record(folder, mpirun(2) + mishap("without_statuses")), 0) << slurp(folder.path("err"));
  EXPECT_EQ(slurp(folder.path("out")), alone);
  const Recorded r = read_back(folder.path("t.weft"));
  std::size_t completed = 0;
  for (std::size_t i = 0; i < r.ops.at(0).size(); ++i) {
    const traces::OpKind kind = r.ops[0][i].kind;
    if (kind == traces::OpKind::waitall || kind == traces::OpKind::testall) completed += r.lists[0][i].size();
    if (kind == traces::OpKind::wait) ++completed;
  }
  EXPECT_EQ(completed, 2u) << "each start of the send once";
}

// The program alone is the witness here, too.
TEST_P(RecordMishaps, NullsThatMpiAnswersWithAnErrorAreAnsweredSo) {
  const TempDir folder;
  ASSERT_EQ(shell(folder, mishap("null_arguments")), 0) << slurp(folder.path("err"));
  const std::string alone = slurp(folder.path("out"));
  EXPECT_THAT(alone, HasSubstr(" ")) << "the errors";
  ASSERT_EQ(record(folder, mishap("null_arguments")), 0) << slurp(folder.path("err"));
  EXPECT_EQ(slurp(folder.path("out")), alone);
  const Recorded r = read_back(folder.path("t.weft"));
  EXPECT_THAT(inside(r.lines.at(0)), ElementsAre("barrier - 0 - world"));
  EXPECT_THAT(r.header.warnings, IsEmpty());
  EXPECT_THAT(warnings_of(r), IsEmpty());
}

}  // namespace
}  // namespace weft::recorder::testing
