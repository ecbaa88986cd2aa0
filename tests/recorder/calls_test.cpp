// Every family of calls, compared with the operations that programs/calls.c makes, written down by hand.
#include <algorithm>

#include "tests/recorder/recorder_testing.hpp"

namespace weft::recorder::testing {
namespace {

WEFT_UNDER_ONE_MPI(RecordedCalls);

using ::testing::ElementsAreArray;

Recorded record_family(const TempDir& folder, const std::string& family) {
  const int code = record(folder, mpirun(4) + program("calls") + " " + family);
  EXPECT_EQ(code, 0) << slurp(folder.path("err"));
  Recorded r = read_back(folder.path("t.weft"));
  EXPECT_EQ(r.ops.size(), 4u);
  r.ops.resize(4);
  r.lists.resize(4);
  r.lines.resize(4);
  return r;
}

TEST_P(RecordedCalls, BlockingMessagesKeepTheirModeAndWhatTheyMatched) {
  const TempDir folder;
  const Recorded r = record_family(folder, "p2p");
  EXPECT_THAT(inside(r.lines[2]),
              ElementsAreArray({"send 3 8 1 world", "ssend 3 16 2 world", "bsend 3 24 3 world",
                                "rsend 3 32 4 world", "sendrecv 3 20 5 world", "recv+ 1 24 5 world [1 5 20]",
                                "sendrecv 3 7 6 world", "recv+ - 7 6 world [1 6 7]", "send null 8 7 world",
                                "recv null 8 7 world [-2 -1 0]"}));
  EXPECT_THAT(
      inside(r.lines[3]),
      ElementsAreArray({"recv 2 8 1 world [2 1 8]", "recv 2 512 2 world [2 2 16]",
                        "recv - 512 3 world [2 3 24]", "recv - 512 - world [2 4 32]", "sendrecv 0 20 5 world",
                        "recv+ 2 24 5 world [2 5 20]", "sendrecv 0 7 6 world", "recv+ - 7 6 world [2 6 7]",
                        "send null 8 7 world", "recv null 8 7 world [-2 -1 0]"}));
}

TEST_P(RecordedCalls, PersistentRequestsKeepTheirSlotUntilFreed) {
  const TempDir folder;
  const Recorded r = record_family(folder, "persistent");
  EXPECT_THAT(inside(r.lines[0]),
              ElementsAreArray(
                  {"recv_init 3 8 1 world", "send_init 1 8 1 world", "start - 0 - world", "start - 0 - world",
                   "waitall - 0 - world [0 1]", "start - 0 - world", "start - 0 - world",
                   "waitall - 0 - world [0 1]", "startall - 0 - world [0 1]", "wait 3 8 1 world",
                   "wait - 0 - world", "ssend_init null 16 2 world", "bsend_init null 24 3 world",
                   "rsend_init null 32 4 world", "request_free - 0 - world", "request_free - 0 - world",
                   "request_free - 0 - world", "request_free - 0 - world", "request_free - 0 - world"}));
  std::vector<std::uint32_t> freed;
  for (const traces::Op& op : r.ops[0])
    if (op.kind == traces::OpKind::request_free) freed.push_back(op.request);
  EXPECT_THAT(freed, ElementsAreArray({0u, 1u, 2u, 3u, 4u}));
}

TEST_P(RecordedCalls, CompletionsNameTheirRequestsAndWhatArrived) {
  const TempDir folder;
  const Recorded r = record_family(folder, "completion");
  EXPECT_THAT(inside(r.lines[1]),
              ElementsAreArray(
                  {"irecv 0 64 1 world [0 1 8]", "isend 2 8 1 world",      "wait - 0 - world",
                   "wait 0 8 1 world",           "irecv 0 8 2 world",      "irecv - 8 3 world [0 3 8]",
                   "issend 2 8 2 world",         "issend 2 8 3 world",     "waitall - 0 - world [0 1 2 3]",
                   "irecv 0 8 4 world",          "send 2 8 4 world",       "waitany - 0 - world [1 3 3]",
                   "irecv 0 8 5 world",          "send 2 8 5 world",       "waitsome - 0 - world [1 3 3]",
                   "irecv 0 8 6 world",          "send 2 8 6 world",       "test 0 8 6 world",
                   "irecv 0 8 7 world",          "isend 2 8 7 world",      "testall - 0 - world [3 2]",
                   "irecv 0 8 8 world",          "send 2 8 8 world",       "testany - 0 - world [1 2 2]",
                   "irecv 0 8 9 world",          "send 2 8 9 world",       "testsome - 0 - world [1 2 2]",
                   "ibsend null 8 10 world",     "irsend null 8 11 world", "waitall - 0 - world [2 3]"}));
}

TEST_P(RecordedCalls, CancelledReceivesAreLeftOutAndCounted) {
  const TempDir folder;
  const Recorded r = record_family(folder, "completion");
  EXPECT_TRUE(has_note(r, "4 receives cancelled"));
  for (const Lines& lines : r.lines)
    for (const std::string& line : lines) EXPECT_EQ(line.find(" 99 "), std::string::npos) << line;
}

TEST_P(RecordedCalls, ProbesTellWhatTheyFoundAndMatchedReceivesFollow) {
  const TempDir folder;
  const Recorded r = record_family(folder, "probe");
  EXPECT_THAT(
      inside(r.lines[1]),
      ElementsAreArray({"probe 0 0 1 world [0 1 8]", "recv 0 512 1 world [0 1 8]",
                        "iprobe - hit 2 world [0 2 16]", "recv 0 512 2 world [0 2 16]",
                        "mprobe 0 0 3 world [0 3 24]", "irecv 0 24 3 world", "wait 0 24 3 world",
                        "improbe 0 hit - world [0 4 32]", "irecv 0 32 4 world", "wait 0 32 4 world"}));
}

// What rank 1 contributes to each collective of programs/calls.c (blocking names).
const Lines kCollectives = {"barrier - 0 - world",
                            "bcast 2 24 - world",
                            "gather 1 16 - world",
                            "gatherv 1 16 - world [8 16 24 32]",
                            "scatter 3 16 - world",
                            "scatterv 3 16 - world",
                            "allgather - 16 - world",
                            "allgatherv - 16 - world [8 16 24 32]",
                            "alltoall - 8 - world",
                            "alltoallv - 32 - world [4 8 8 8 8 8 8 8 8]",
                            "alltoallw - 32 - world [4 8 8 8 8 8 8 8 8]",
                            "reduce 0 40 - world",
                            "allreduce - 48 - world",
                            "reduce_scatter - 80 - world [8 16 24 32]",
                            "reduce_scatter_block - 16 - world",
                            "scan - 56 - world",
                            "exscan - 64 - world"};

TEST_P(RecordedCalls, CollectivesCarryRootBytesAndPerRankCounts) {
  const TempDir folder;
  const Recorded r = record_family(folder, "collectives");
  EXPECT_THAT(inside(r.lines[1]), ElementsAreArray(kCollectives));
  EXPECT_THAT(r.lines[3], ::testing::Contains("scatterv 3 32 - world [8 16 24 32]"));
  EXPECT_THAT(r.lines[0], ::testing::Contains("gatherv 1 8 - world"));
}

TEST_P(RecordedCalls, NonBlockingCollectivesAreTheSameWithARequest) {
  const TempDir folder;
  const Recorded r = record_family(folder, "icollectives");
  Lines expected;
  for (const std::string& line : kCollectives) {
    expected.push_back("i" + line);
    expected.push_back("wait - 0 - world");
  }
  EXPECT_THAT(inside(r.lines[1]), ElementsAreArray(expected));
  for (const traces::Op& op : r.ops[1]) {
    if (traces::is_nonblocking_collective(op.kind) || op.kind == traces::OpKind::wait) {
      EXPECT_EQ(op.request, 0u);
    }
  }
}

TEST_P(RecordedCalls, PersistentCollectivesAreTheNonBlockingOnesAtEachStart) {
  const TempDir folder;
  const int rounds = current_mpi.abi == "openmpi" ? 2 : 1;  // calls.c says why
  const Recorded r = record_family(folder, fmt::format("persistent_collectives {}", rounds));
  Lines expected;
  int made = 0;
  for (std::string line : kCollectives) {
    const std::string own = fmt::format("persistent{}", ++made);
    line.replace(line.find("world"), 5, own);
    for (int round = 0; round < rounds; ++round) {
      expected.push_back("i" + line);
      expected.push_back("wait - 0 - " + own);
    }
  }
  EXPECT_THAT(inside(r.lines[1]), ElementsAreArray(expected));
  EXPECT_EQ(r.header.warnings, record_family(folder, "icollectives").header.warnings);
}

TEST_P(RecordedCalls, MessagesAndCollectivesStartTogether) {
  const TempDir folder;
  const Recorded r = record_family(folder, "persistent_mixed");
  Lines expected{"recv_init 3 8 1 world", "send_init 1 8 1 world"};
  const Lines round{"startall - 0 - world [0 2]", "iallreduce - 16 - persistent1",
                    "ibcast 1 24 - persistent2", "ibarrier - 0 - persistent3",
                    "waitall - 0 - world [0 1 2 3 4]"};
  for (int i = 0; i < 2; ++i) expected.insert(expected.end(), round.begin(), round.end());
  for (const char* line : {"ibarrier - 0 - persistent3", "wait - 0 - persistent3", "request_free - 0 - world",
                           "request_free - 0 - world"})
    expected.push_back(line);
  EXPECT_THAT(inside(r.lines[0]), ElementsAreArray(expected));
}

// MPI 4.0, 6.13: those of one request match each other only, whatever is started before or between.
TEST_P(RecordedCalls, PersistentCollectivesStartInAnyOrder) {
  const TempDir folder;
  const Recorded r = record_family(folder, "persistent_order");
  const std::string allreduce = "iallreduce - 16 - persistent1", bcast = "ibcast 1 24 - persistent2";
  const std::string barrier = "ibarrier - 0 - world", wait = "waitall - 0 - world [0 1 2]";
  EXPECT_THAT(inside(r.lines[0]),
              ElementsAreArray({allreduce, barrier, bcast, wait, allreduce, barrier, bcast, wait}));
  EXPECT_THAT(inside(r.lines[1]),
              ElementsAreArray({bcast, allreduce, barrier, wait, bcast, allreduce, barrier, wait}));
  for (const char* verb : {" check t.weft", " replay t.weft --on crossbar:n=4,bw=10Gbps,lat=1us"})
    EXPECT_EQ(shell(folder, weft() + verb), 0) << slurp(folder.path("out"));
}

TEST_P(RecordedCalls, NeighbourCollectivesListTheNeighboursThatExist) {
  const TempDir folder;
  const Recorded r = record_family(folder, "neighbours");
  EXPECT_THAT(inside(r.lines[1]),
              ElementsAreArray(
                  {"cart_create - split1 - world", "neighbor_allgather - 16 - split1 [2 0 2 2 0 2]",
                   "neighbor_allgatherv - 8 - split1 [2 0 2 2 0 2 8 8 8 8]",
                   "neighbor_alltoall - 24 - split1 [2 0 2 2 0 2]",
                   "neighbor_alltoallv - 16 - split1 [2 0 2 2 0 2 8 8 8 8]",
                   "neighbor_alltoallw - 16 - split1 [2 0 2 2 0 2 8 8 8 8]",
                   "ineighbor_alltoall - 24 - split1 [2 0 2 2 0 2]", "wait - 0 - split1",
                   "ineighbor_alltoallv - 16 - persistent1 [2 0 2 2 0 2 8 8 8 8]", "wait - 0 - persistent1",
                   "comm_create - split2 - world", "neighbor_alltoallv - 24 - split2 [2 0 1 2 2 1 8 16 8 16]",
                   "comm_free - 0 - split2", "comm_free - 0 - split1"}));
  // The end of the line has one neighbour; the place of the other one carries nothing.
  EXPECT_EQ(inside(r.lines[3])[3], "neighbor_alltoall - 24 - split1 [1 2 1 2]");
  EXPECT_EQ(inside(r.lines[3])[4], "neighbor_alltoallv - 8 - split1 [1 2 1 2 8 8]");
}

TEST_P(RecordedCalls, CommunicatorsAreTheSameOnAllTheirMembers) {
  const TempDir folder;
  const Recorded r = record_family(folder, "communicators");
  const auto members = [&](std::int64_t id) {
    return r.communicators.at(static_cast<std::size_t>(id)).members;
  };
  std::vector<std::vector<std::int64_t>> made(4);
  const auto idup = std::ranges::find(r.communicators, "split3", &traces::Communicator::name);
  for (std::size_t rank = 0; rank < 4; ++rank)
    for (const traces::Op& op : r.ops[rank]) {
      if (traces::is_comm_create(op.kind)) made[rank].push_back(op.amount);
      if (op.kind == traces::OpKind::ibarrier) made[rank].push_back(idup - r.communicators.begin());
    }
  // rank 2 is left out of the first split; even ranks make no create_group
  ASSERT_EQ(made[1].size(), 12u);
  ASSERT_EQ(made[0].size(), 10u);
  EXPECT_EQ(made[2][0], -1);
  EXPECT_EQ(members(made[1][0]), (std::vector<std::int32_t>{3, 1, 0}));
  EXPECT_EQ(made[0][0], made[3][0]);
  EXPECT_EQ(made[0][3], -1);
  EXPECT_EQ(members(made[1][3]), (std::vector<std::int32_t>{3, 1}));
  EXPECT_EQ(made[1][4], made[3][4]);
  EXPECT_NE(made[1][4], made[1][5]) << "two calls with the same group and tag make two communicators";
  EXPECT_EQ(made[1][5], made[3][5]);
  EXPECT_EQ(members(made[1][7]), (std::vector<std::int32_t>{0, 1})) << "row of the 2 x 2 grid";
  EXPECT_EQ(members(made[3][7]), (std::vector<std::int32_t>{2, 3}));
  EXPECT_NE(made[1][7], made[3][7]);
  for (const std::size_t i : {1u, 2u, 6u, 8u, 9u, 10u}) {
    EXPECT_EQ(made[1][i], made[3][i]) << i;
    EXPECT_EQ(members(made[1][i]).size(), 4u) << i;
  }
  EXPECT_EQ(made[1][11], made[3][11]);
  EXPECT_NE(made[0][9], made[2][9]) << "rank 2 duplicated MPI_COMM_SELF, the others the first split";
  EXPECT_EQ(members(made[2][9]), std::vector<std::int32_t>{2});
  // messages go between world ranks: from the first to the last member
  EXPECT_THAT(r.lines[3], ::testing::Contains("send 0 8 0 split1"));
  EXPECT_THAT(r.lines[0], ::testing::Contains("recv 3 8 0 split1 [3 0 8]"));
  EXPECT_THAT(r.lines[3], ::testing::Contains("recv 0 8 2 split3 [0 2 8]"));
  EXPECT_THAT(r.lines[1], ::testing::Contains("recv 3 8 4 split5 [3 4 8]"));
}

TEST_P(RecordedCalls, InterCommunicatorMessagesAreKeptAndTheirCollectivesCounted) {
  const TempDir folder;
  const Recorded r = record_family(folder, "intercomm");
  EXPECT_THAT(
      inside(r.lines[0]),
      ElementsAreArray({"comm_split - split1 - world", "comm_create_group - split2 - world",
                        "send 3 8 3 split2", "comm_create - split3 - split2", "barrier - 0 - split3",
                        "comm_free - 0 - split3", "comm_free - 0 - split2", "comm_free - 0 - split1"}));
  EXPECT_EQ(inside(r.lines[3])[2], "recv 0 8 3 split2 [0 3 8]");
  EXPECT_TRUE(has_note(r, "4 calls of communication on inter-communicators")) << slurp(folder.path("err"));
  EXPECT_EQ(shell(folder, weft() + " check t.weft"), 1) << "a replay does not wait in them";
}

TEST_P(RecordedCalls, DerivedDatatypesCountTheirBytesWithoutHoles) {
  const TempDir folder;
  const Recorded r = record_family(folder, "types");
  EXPECT_THAT(inside(r.lines[0]),
              ElementsAreArray({"send 1 160 1 world", "send 1 60 2 world", "send 1 26 3 world",
                                "send 1 0 4 world", "bcast 0 160 - world"}));
  EXPECT_THAT(
      inside(r.lines[1]),
      ElementsAreArray({"recv 0 160 1 world [0 1 160]", "recv 0 60 2 world [0 2 60]",
                        "recv 0 26 3 world [0 3 26]", "recv 0 80 4 world [0 4 0]", "bcast 0 160 - world"}));
}

TEST_P(RecordedCalls, RequestsThatShareAHandleAreToldApart) {
  const TempDir folder;
  const Recorded r = record_family(folder, "shared_handles");
  std::vector<std::uint32_t> posted;
  std::vector<std::uint32_t> waited;
  for (const traces::Op& op : r.ops[2]) {
    if (op.kind == traces::OpKind::isend) posted.push_back(op.request);
    if (op.kind == traces::OpKind::wait) waited.insert(waited.begin(), op.request);
  }
  EXPECT_EQ(posted.size(), 6u);
  EXPECT_EQ(posted, waited) << "waited for in the opposite order";
}

TEST_P(RecordedCalls, WhatATraceCannotHoldIsCountedInTheHeader) {
  const TempDir folder;
  const Recorded r = record_family(folder, "unrecorded");
  EXPECT_THAT(inside(r.lines[0]), ElementsAreArray({"barrier - 0 - world"}));
  EXPECT_TRUE(has_note(r, "20 calls of one-sided")) << slurp(folder.path("err"));
  EXPECT_TRUE(has_note(r, "24 calls of file I/O"));
  EXPECT_THAT(slurp(folder.path("err")), ::testing::HasSubstr("20 calls of one-sided"));
}

TEST_P(RecordedCalls, TwoRecordingsOfOneProgramAreTheSameButForTimes) {
  for (const char* family : {"p2p", "completion", "communicators", "probe"}) {
    const TempDir folder;
    const Recorded first = record_family(folder, family);
    fs::remove(folder.path("t.weft"));
    const Recorded second = record_family(folder, family);
    EXPECT_EQ(first.lines, second.lines) << family;
  }
}

}  // namespace
}  // namespace weft::recorder::testing
