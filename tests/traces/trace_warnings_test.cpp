// What a header makes us say: each fact its sentence, and nothing where there is nothing to say.
#include "traces/trace_warnings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::traces {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kSecond = 1'000'000'000'000;

TraceHeader recorded(std::uint32_t ranks) {
  TraceHeader h;
  h.ranks = ranks;
  h.recorder = "weft record";
  h.recording.thread_level = 4;  // granted is not used
  h.recording.threads = 1;
  h.recording.clock = ComputeClock::kCpu;
  h.recording.cpu_ps.assign(ranks, kSecond);
  h.recording.wall_ps.assign(ranks, kSecond + kSecond / 100);
  return h;
}

TEST(TraceWarnings, AProgramThatTheTraceHoldsWhollyHasNone) {
  EXPECT_THAT(trace_warnings(TraceHeader{}), IsEmpty());
  EXPECT_THAT(trace_warnings(recorded(3)), IsEmpty());
}

TEST(TraceWarnings, CallsWithoutAnOperationAreAddedUpByGroupWithTheMostFrequentNames) {
  TraceHeader h = recorded(2);
  h.recording.not_recorded = {
      {"one-sided communication", "MPI_Put", 20},       {"file I/O", "MPI_File_open", 1},
      {"one-sided communication", "MPI_Win_fence", 40}, {"file I/O", "MPI_File_sync", 0},
      {"one-sided communication", "MPI_Win_free", 2},   {"one-sided communication", "MPI_Get", 3},
      {"one-sided communication", "MPI_Win_create", 2}, {"dynamic processes", "", 5}};
  EXPECT_THAT(
      trace_warnings(h),
      ElementsAre(HasSubstr("67 calls of one-sided communication (MPI_Win_fence 40, MPI_Put 20, MPI_Get 3, "
                            "MPI_Win_free 2 and 1 more) are not in the trace"),
                  HasSubstr("1 call of file I/O (MPI_File_open 1) is not in the trace"),
                  HasSubstr("5 calls of dynamic processes are not in the trace")));
}

TEST(TraceWarnings, SeveralThreadsInsideMpiAreToldWithWhatFollows) {
  TraceHeader h = recorded(2);
  h.recording.threads = 3;
  h.recording.concurrent_calls = 17;
  EXPECT_THAT(trace_warnings(h),
              ElementsAre(::testing::AllOf(HasSubstr("up to 3 threads of a rank"),
                                           HasSubstr("17 calls while another thread"),
                                           HasSubstr("deadlock that the program does not have"))));
}

TEST(TraceWarnings, ClocksThatDisagreeNameTheWorstRankAndTheOtherClock) {
  TraceHeader h = recorded(3);
  h.recording.wall_ps = {kSecond + kSecond / 10, 3 * kSecond, 2 * kSecond};
  EXPECT_THAT(trace_warnings(h), ElementsAre(::testing::AllOf(HasSubstr("rank 1 used 1 s of CPU time in 3 s"),
                                                              HasSubstr("--clock wall"))));
  h.recording.clock = ComputeClock::kWall;
  EXPECT_THAT(trace_warnings(h), ElementsAre(HasSubstr("--clock cpu")));
  // A large share of next to nothing, or next to nothing of a large share.
  h.recording.cpu_ps = {0, 0, 0};
  h.recording.wall_ps = {kSecond / 100, 0, 1};
  EXPECT_THAT(trace_warnings(h), IsEmpty());
}

TEST(TraceWarnings, WordsOfTheHeaderComeFirst) {
  TraceHeader h;
  h.warnings = {"rank 3 left no record"};
  h.recording.concurrent_calls = 1;
  EXPECT_THAT(trace_warnings(h),
              ElementsAre("rank 3 left no record", HasSubstr("several threads of a rank, 1 call")));
}

}  // namespace
}  // namespace weft::traces
