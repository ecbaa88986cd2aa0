// What programs/handles.c does with handles that say less than they seem to, and that it does the same when it is recorded.
#include <algorithm>
#include <map>

#include "tests/recorder/recorder_testing.hpp"
#include "traces/request_book.hpp"

namespace weft::recorder::testing {
namespace {

WEFT_UNDER_EACH_MPI(RecordedHandles);

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

Recorded record_case(const TempDir& folder, const std::string& name) {
  EXPECT_EQ(record(folder, mpirun(4) + program("handles") + " " + name), 0) << slurp(folder.path("err"));
  return read_back(folder.path("t.weft"));
}

TEST_P(RecordedHandles, ACommunicatorOfIdupHasTheMembersOfItsParent) {
  const TempDir folder;
  const Recorded r = record_case(folder, "idup");
  const auto has = [](const Lines& lines, const char* text) {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string& l) { return l.starts_with(text); });
  };
  for (std::size_t rank = 0; rank < 4; ++rank)
    EXPECT_TRUE(has(r.lines[rank], "bcast 3 24")) << rank << ": rank 0 of it is rank 3 of the world";
  EXPECT_TRUE(has(r.lines[3], "send 2 8 7"));
  EXPECT_TRUE(has(r.lines[2], "recv 3 8 7"));
}

// MPI 3.1, 6.4.2: it may return before anybody else has called it.
TEST_P(RecordedHandles, AnIdupThatGoesOnIsNoMeeting) {
  const TempDir folder;
  const Recorded r = record_case(folder, "idup_early");
  EXPECT_THAT(inside(r.lines[0]),
              ElementsAre("comm_split - split1 - world", "comm_create_group - split2 - world",
                          "ibarrier - 0 - world", "recv 1 8 0 world [1 0 8]", "wait - 0 - world",
                          "ibarrier - 0 - world", "recv 1 8 1 world [1 1 8]", "wait - 0 - world",
                          "ibarrier - 0 - split2", "recv 1 8 2 world [1 2 8]", "wait - 0 - split2",
                          "barrier - 0 - split3", "send 3 8 7 split5", "comm_free - 0 - split3",
                          "comm_free - 0 - split4", "comm_free - 0 - split5", "barrier - 0 - world"));
  EXPECT_THAT(warnings_of(r), ElementsAre());
  for (const char* verb : {" check t.weft", " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us"})
    EXPECT_EQ(shell(folder, weft() + verb), 0) << slurp(folder.path("out")) << slurp(folder.path("err"));
}

TEST_P(RecordedHandles, APersistentRequestIsTheSameHoweverOftenItIsStarted) {
  const TempDir folder;
  const Recorded r = record_case(folder, "start");
  std::vector<std::string> sends;
  for (std::size_t i = 0; i < r.ops[0].size(); ++i) {
    const traces::OpKind kind = r.ops[0][i].kind;
    if (kind == traces::OpKind::start)
      sends.push_back("start " + std::to_string(r.ops[0][i].request));
    else if (kind == traces::OpKind::startall)
      sends.emplace_back("startall");
    else if (kind == traces::OpKind::request_free)
      sends.push_back("free " + std::to_string(r.ops[0][i].request));
  }
  EXPECT_THAT(sends, ElementsAre("start 0", "startall", "start 0", "startall", "free 0", "free 1"));
  EXPECT_FALSE(has_note(r, "was not seen"));
  EXPECT_FALSE(has_note(r, "was not recorded"));
}

TEST_P(RecordedHandles, AWaitIsOfTheRequestThatStandsInItsVariable) {
  const TempDir folder;
  const Recorded r = record_case(folder, "moved");
  std::vector<std::uint32_t> waits;
  for (const traces::Op& op : r.ops[0])
    if (op.kind == traces::OpKind::wait) waits.push_back(op.request);
  EXPECT_THAT(waits, ElementsAreArray({1u, 0u}));
}

TEST_P(RecordedHandles, ACommunicatorThatCouldNotBeFreedIsStillThere) {
  const TempDir folder;
  const Recorded r = record_case(folder, "freed");
  EXPECT_THAT(inside(r.lines[0]), ElementsAre("send 1 8 1 world", "barrier - 0 - world"));
  EXPECT_THAT(inside(r.lines[1]), ElementsAre("recv 0 8 1 world [0 1 8]", "barrier - 0 - world"));
}

TEST_P(RecordedHandles, ACommunicatorThatACallbackFreesIsGone) {
  const TempDir folder;
  const Recorded r = record_case(folder, "attribute");
  for (std::size_t rank = 0; rank < 4; ++rank)
    EXPECT_THAT(
        inside(r.lines[rank]),
        ElementsAre("comm_dup - split1 - world", "comm_dup - split2 - world", "comm_dup - split3 - world",
                    ::testing::StartsWith("comm_split - "), ::testing::StartsWith("barrier - 0 - "),
                    "comm_free - 0 - split1", "comm_dup - split5 - split2", "barrier - 0 - world"))
        << rank;
  EXPECT_TRUE(has_note(r, "8 calls of communication on communicators whose creation was not seen"));
  EXPECT_TRUE(has_note(r, "8 calls inside callbacks")) << "a comm_dup and a comm_free of each rank";
}

TEST_P(RecordedHandles, WhatAProbeHasTakenIsNoOthers) {
  const TempDir folder;
  const Recorded r = record_case(folder, "taken");
  EXPECT_THAT(inside(r.lines[1]),
              ElementsAre("mprobe 0 0 1 world [0 1 8]", "irecv 0 8 1 world", "recv 0 64 1 world [0 1 16]",
                          "wait 0 8 1 world", "barrier - 0 - world"));
  EXPECT_EQ(shell(folder, weft() + " check t.weft"), 0) << slurp(folder.path("out"));
}

TEST_P(RecordedHandles, WhatIsHeardOfARequestIsWaitedForOnce) {
  const TempDir folder;
  const Recorded r = record_case(folder, "heard");
  EXPECT_THAT(inside(r.lines[1]),
              ElementsAre("irecv - 8 1 world [0 1 8]", "recv_init 0 8 2 world", "start - 0 - world",
                          "test 0 8 1 world", "test 0 8 2 world", "send 0 8 3 world",
                          "request_free - 0 - world", "barrier - 0 - world"));
  EXPECT_EQ(shell(folder, weft() + " check t.weft"), 0) << slurp(folder.path("out"));
}

TEST_P(RecordedHandles, WhatIsHeardOfSeveralRequestsIsWaitedForOnceAndAFlushIsNoOperation) {
  const TempDir folder;
  const int code = record(folder, mpirun(4) + program("handles") + " heard_of_several");
  if (code == 77) GTEST_SKIP() << "THIS MPI IS OLDER THAN 4.1, which has the calls";
  ASSERT_EQ(code, 0) << slurp(folder.path("err"));
  const Recorded r = read_back(folder.path("t.weft"));
  using ::testing::StartsWith;
  EXPECT_THAT(inside(r.lines[0]),
              ElementsAre(StartsWith("bsend 1 8 1 world"), StartsWith("bsend 1 8 2 world"),
                          StartsWith("bsend 1 8 3 world"), StartsWith("bsend 1 8 4 world"),
                          StartsWith("bsend 1 8 5 world"), StartsWith("barrier ")));
  EXPECT_THAT(inside(r.lines[1]),
              ElementsAre("irecv - 8 1 world [0 1 8]", "recv_init 0 8 2 world", "start - 0 - world",
                          StartsWith("testall "), "request_free - 0 - world", "irecv 0 8 3 world",
                          StartsWith("testany "), "irecv 0 8 4 world", StartsWith("testsome "),
                          StartsWith("recv 0 8 5 world"), "barrier - 0 - world"));
  EXPECT_FALSE(has_note(r, "completion of requests whose start was not seen"));
  EXPECT_EQ(shell(folder, weft() + " check t.weft"), 0) << slurp(folder.path("out"));
}

TEST_P(RecordedHandles, ARequestWhoseStartWasNotSeenCountsWhereItCompletes) {
  const TempDir folder;
  const Recorded r = record_case(folder, "generalized");
  EXPECT_THAT(
      warnings_of(r),
      ElementsAre(::testing::StartsWith("4 calls of completion of requests whose start was not seen")))
      << "one of each rank";
}

TEST_P(RecordedHandles, MoreBytesThanThereAreNumbersAreTheMost) {
  const TempDir folder;
  const Recorded r = record_case(folder, "huge");
  EXPECT_THAT(inside(r.lines[0]),
              ElementsAre("recv null 4611686018427387904 1 world [-2 -1 0]", "barrier - 0 - world"));
}

TEST_P(RecordedHandles, AReceiveFromNobodyMatchesNobody) {
  const TempDir folder;
  const Recorded r = record_case(folder, "nobody");
  EXPECT_THAT(inside(r.lines[0]),
              ElementsAre("irecv null 8 1 world [-2 -1 0]", "wait null 0 - world", "recv_init null 8 2 world",
                          "start - 0 - world [-2 -1 0]", "wait null 0 - world", "request_free - 0 - world",
                          "mprobe null 0 3 world [-2 -1 0]", "irecv null 0 - world [-2 -1 0]",
                          "wait null 0 - world", "barrier - 0 - world"));
}

TEST_P(RecordedHandles, OfReceivesThatStartTogetherOnlyTheCancelledOneGoes) {
  const TempDir folder;
  const Recorded r = record_case(folder, "cancelled");
  std::vector<std::size_t> together;
  for (std::size_t i = 0; i < r.ops[1].size(); ++i)
    if (r.ops[1][i].kind == traces::OpKind::startall || r.ops[1][i].kind == traces::OpKind::waitall)
      together.push_back(r.lists[1][i].size());
  EXPECT_THAT(together, ElementsAre(1u, 1u));
  EXPECT_EQ(shell(folder, weft() + " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us"), 0)
      << slurp(folder.path("err"));
}

// Calls that end some of n requests list up to 64 of them: more would be n^2 slots where each ends one.
TEST_P(RecordedHandles, OfManyRequestsThoseAreListedThatComplete) {
  const TempDir folder;
  const Recorded r = record_case(folder, "many");
  std::map<traces::OpKind, std::vector<std::size_t>> sizes;
  std::map<traces::OpKind, std::size_t> completed;
  for (std::size_t i = 0; i < r.ops[0].size(); ++i) {
    const traces::OpKind kind = r.ops[0][i].kind;
    if (!traces::completes_some(kind)) continue;
    const std::vector<std::int64_t>& list = r.lists[0][i];
    sizes[kind].push_back(list.size());
    completed[kind] += list.size() - 1 - static_cast<std::size_t>(list[0]);
  }
  std::vector<std::size_t> one_by_one;
  for (std::size_t asked = 200; asked > 0; --asked) one_by_one.push_back(asked > 64 ? 3 : asked + 2);
  using enum traces::OpKind;
  for (const traces::OpKind kind : {waitany, testany}) EXPECT_EQ(sizes[kind], one_by_one);
  for (const traces::OpKind kind : {waitsome, testsome})
    EXPECT_THAT(sizes[kind], ElementsAre(129u, 129u, 129u, 17u)) << "64 at a time";
  for (const auto& [kind, n] : completed) EXPECT_EQ(n, 200u) << traces::op_name(kind);
  for (const char* verb : {" check t.weft", " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us"})
    EXPECT_EQ(shell(folder, weft() + verb), 0) << slurp(folder.path("out"));
}

}  // namespace
}  // namespace weft::recorder::testing
