// Dimemas traces: every record becomes the right operation.
#include <algorithm>
#include <numeric>

#include "tests/traces/dimemas/dimemas_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/info.hpp"

namespace weft::traces::dimemas_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// As Dimemas 5.5's prv2dim writes it: a barrier in MPI_Init, a number of its own for each message, NOOPs, offsets.
constexpr const char* kOfPrv2dim =
    "#DIMEMAS:\"x.dim\":1,1113:2(1,1),1,0,0            \n"
    "d:1:1:2:0:1\n"
    "1:0:0:0.000000000\n20:0:0:0:1\n1:0:0:0.000000100\n20:0:0:0:0\n"
    "20:0:0:50000003:31\n10:0:0:0:1:0:0:0:0:1\n20:0:0:50000003:0\n"
    "1:0:0:0.000250000\n"
    "20:0:0:50000001:3\n2:0:0:1:-1:65536:5:28:2\n20:0:0:50000001:0\n"
    "20:0:0:50000001:4\n3:0:0:1:-1:512:6:31:1\n20:0:0:50000001:0\n"
    "20:0:0:50000001:6\n3:0:0:1:-1:512:6:31:2\n20:0:0:50000001:0\n"
    "20:0:0:50000002:10\n20:0:0:50100001:8\n20:0:0:50100002:8\n20:0:0:50100004:1\n20:0:0:0:1\n"
    "10:0:0:11:1:0:0:8:8:1\n0:0:0\n20:0:0:50000002:0\n"
    "20:0:0:50000003:32\n0:0:0\n20:0:0:50000003:0\n"
    "1:1:0:0.000000000\n"
    "20:1:0:50000003:31\n10:1:0:0:1:0:0:0:0:1\n20:1:0:50000003:0\n"
    "20:1:0:50000001:2\n3:1:0:0:-1:65536:5:28:0\n20:1:0:50000001:0\n"
    "20:1:0:50000001:1\n2:1:0:0:-1:512:6:31:1\n20:1:0:50000001:0\n"
    "20:1:0:50000002:10\n10:1:0:11:1:0:0:8:8:1\n20:1:0:50000002:0\n"
    "20:1:0:50000003:32\n0:1:0\n20:1:0:50000003:0\n"
    "s:0:64\ns:1:700\n";

TEST(Dimemas, AFileOfPrv2dimIsReadAsTheProgramThatItIsOf) {
  const TempDir dir;
  const auto t = opened(dir, kOfPrv2dim);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->header().ranks, 2u);
  EXPECT_EQ(t->header().recorder, "dimemas");
  EXPECT_EQ(t->totals().messages, 2u);
  EXPECT_EQ(t->totals().bytes, 66048u);
  EXPECT_THAT(program(*t, 0), ElementsAre("compute 100000ps", "init", "barrier 0b", "compute 250000000ps",
                                          "isend 1/5 65536b #0", "request_free #0", "irecv 1/6 512b #0",
                                          "wait #0", "allreduce 8b", "finalize"));
  EXPECT_THAT(program(*t, 1), ElementsAre("init", "barrier 0b", "recv 0/5 65536b", "send 0/6 512b",
                                          "allreduce 8b", "finalize"));
  EXPECT_THAT(t->header().warnings, IsEmpty());
  EXPECT_THAT(
      t->header().notes,
      ElementsAre("1 non-blocking send: no record says where the program waits for them; nobody waits, as "
                  "in Dimemas."));
  const auto doctor = check_trace(*t);
  ASSERT_TRUE(doctor);
  EXPECT_TRUE(doctor->findings.empty());
  EXPECT_EQ(t->position(RankId(0), 4), dir.path("t.dim") + ":12");
  EXPECT_EQ(t->position(RankId(1), 2), dir.path("t.dim") + ":36");
}

// Dimemas has one number for all sends that wait for their receive: the call of MPI that one is in says which it is.
TEST(Dimemas, ASendIsWhatItsCallSaysElseWhatItsRecordDoes) {
  const TempDir dir;
  const auto sends = [&](int call, int how) {
    std::string text = head(2);
    if (call > 0) text += fmt::format("20:0:0:50000001:{}\n", call);
    text += fmt::format("2:0:0:1:-1:10:3:1:{}\n3:1:0:0:-1:10:3:1:0\n", how);
    return program(dir, text).front();
  };
  EXPECT_EQ(sends(0, 0), "send 1/3 10b");
  EXPECT_EQ(sends(0, 1), "send 1/3 10b");
  EXPECT_EQ(sends(0, 2), "isend 1/3 10b #0");
  EXPECT_EQ(sends(0, 3), "isend 1/3 10b #0");
  EXPECT_EQ(sends(1, 1), "send 1/3 10b");
  EXPECT_EQ(sends(34, 1), "ssend 1/3 10b");
  EXPECT_EQ(sends(35, 1), "rsend 1/3 10b");
  EXPECT_EQ(sends(33, 2), "bsend 1/3 10b");
  EXPECT_EQ(sends(37, 2), "issend 1/3 10b #0");
  EXPECT_EQ(sends(38, 3), "irsend 1/3 10b #0");
  // Prv2dim writes those of persistent requests as if MPI_Start waited.
  EXPECT_EQ(sends(123, 1), "isend 1/3 10b #0");
  EXPECT_EQ(sends(41, 0), "send 1/3 10b");
}

TEST(Dimemas, BurstsThatFollowEachOtherAreOneComputation) {
  const TempDir dir;
  EXPECT_THAT(program(dir, head(1) + "1:0:0:0.5\n20:0:0:60000019:4\n1:0:0:1e-3\n1:0:0:0\n10:0:0:0:1:0:0:0:0\n"
                                     "1:0:0:0.000000000\n10:0:0:0:1:0:0:0:0\n1:0:0:9.000000001\n"),
              ElementsAre("compute 501000000000ps", "barrier 0b", "barrier 0b", "compute 9000000001000ps"));
}

TEST(Dimemas, AWaitTakesTheOldestOfItsSourceTagAndCommunicator) {
  const TempDir dir;
  const std::string sends = "2:1:0:0:1:7:1:2\n2:1:0:0:2:7:1:2\n2:1:0:0:3:8:1:2\n";
  EXPECT_THAT(program(dir, head(2) +
                               "3:0:0:1:1:7:1:1\n3:0:0:1:2:7:1:1\n3:0:0:1:3:8:1:1\n"
                               "3:0:0:1:3:8:1:2\n1:0:0:1e-6\n3:0:0:1:1:7:1:2\n3:0:0:1:2:7:1:2\n" +
                               sends),
              ElementsAre("irecv 1/7 1b #0", "irecv 1/7 2b #1", "irecv 1/8 3b #2", "wait #2",
                          "compute 1000000ps", "wait #0", "wait #1"));
  // All of one MPI_Waitall are one operation; what is left over is waited for at the end.
  const std::string text =
      head(2) +
      "3:0:0:1:1:7:1:1\n3:0:0:1:2:7:1:1\n3:0:0:1:3:8:1:1\n20:0:0:50000001:6\n3:0:0:1:3:8:1:2\n"
      "3:0:0:1:1:7:1:2\n20:0:0:50000001:0\n1:0:0:1e-6\n" +
      sends;
  const auto t = opened(dir, text);
  ASSERT_NE(t, nullptr);
  EXPECT_THAT(program(*t, 0), ElementsAre("irecv 1/7 1b #0", "irecv 1/7 2b #1", "irecv 1/8 3b #2",
                                          "waitall [2 0]", "compute 1000000ps", "wait #1"));
  EXPECT_THAT(t->header().warnings,
              ElementsAre("1 request that no wait names: waited for at the end of the task"));
}

TEST(Dimemas, WhatIsLeftIsWaitedForBeforeTheEnd) {
  const TempDir dir;
  EXPECT_THAT(
      program(dir, head(2) + "3:0:0:1:1:7:1:1\n1:0:0:1e-6\n20:0:0:50000003:32\n0:0:0\n20:0:0:50000003:0\n"
                             "2:1:0:0:1:7:1:2\n"),
      ElementsAre("irecv 1/7 1b #0", "compute 1000000ps", "wait #0", "finalize"));
}

// As Dimemas does, which finds the message whether or not a receive was posted.
TEST(Dimemas, AWaitForWhatWasNotPostedReceivesIt) {
  const TempDir dir;
  const auto t = opened(dir, head(2) + "3:0:0:1:100:7:1:2\n2:1:0:0:100:7:1:1\n");
  ASSERT_NE(t, nullptr);
  EXPECT_THAT(program(*t, 0), ElementsAre("recv 1/7 100b"));
  EXPECT_THAT(t->header().warnings,
              ElementsAre("1 wait for a message that no receive was posted for: receives"));
}

// mpi2dim has the wildcards of its MPI, -1 of Open MPI's sources and -2 of MPICH's, and in the wait what came.
TEST(Dimemas, AWaitNamesWhatAReceiveFromAnyOrOfAnyTagGot) {
  const TempDir dir;
  const auto told = [&](int source, int tag) {
    const auto t = opened(dir, head(3) + fmt::format("3:0:0:{}:100:{}:1:1\n", source, tag) +
                                   "3:0:0:2:50:7:1:1\n3:0:0:1:100:7:1:2\n3:0:0:2:50:7:1:2\n"
                                   "2:1:0:0:100:7:1:1\n2:2:0:0:50:7:1:1\n");
    if (t == nullptr) return std::vector<std::string>();
    EXPECT_THAT(t->header().warnings, IsEmpty());
    return program(*t, 0);
  };
  for (const int any : {-1, -2}) {
    EXPECT_THAT(told(any, 7), ElementsAre("irecv -1/7 100b #0", "irecv 2/7 50b #1", "wait #0", "wait #1"));
    EXPECT_THAT(told(any, -1), ElementsAre("irecv -1/-1 100b #0", "irecv 2/7 50b #1", "wait #0", "wait #1"));
  }
  EXPECT_THAT(told(1, -1), ElementsAre("irecv 1/-1 100b #0", "irecv 2/7 50b #1", "wait #0", "wait #1"));
  // What another order of numbers means, nobody knows then.
  EXPECT_THAT(program(dir, head(2) + "3:0:0:1:1:-1:9:0\n3:0:0:1:20:4:52:0\n3:0:0:1:10:4:51:0\n"
                                     "2:1:0:0:1:7:9:1\n2:1:0:0:10:4:51:1\n2:1:0:0:20:4:52:1\n"),
              ElementsAre("recv 1/-1 1b", "recv 1/4 20b", "recv 1/4 10b"));
}

// Numbers in place of communicators, one for each message, in another order where the two are received.
TEST(Dimemas, MessagesThatDoNotMatchInTheirOrderHaveTagsOfTheirOwn) {
  const TempDir dir;
  const std::string other = "2:2:0:0:9:4:71:1\n2:2:0:0:9:4:72:1\n3:0:0:2:9:4:71:0\n3:0:0:2:9:4:72:0\n";
  const auto t = opened(dir, head(3) +
                                 "3:0:0:1:20:4:52:0\n3:0:0:1:10:4:51:0\n3:0:0:2:9:4:71:0\n"
                                 "2:1:0:0:10:4:51:1\n2:1:0:0:20:4:52:1\n2:2:0:0:9:4:71:1\n");
  ASSERT_NE(t, nullptr);
  EXPECT_THAT(program(*t, 0), ElementsAre("recv 1/1073741824 20b", "recv 1/1073741825 10b", "recv 2/4 9b"));
  EXPECT_THAT(program(*t, 1), ElementsAre("send 0/1073741825 10b", "send 0/1073741824 20b"));
  EXPECT_THAT(program(*t, 2), ElementsAre("send 0/4 9b"));
  EXPECT_THAT(
      t->header().notes,
      ElementsAre("1 channel of a source, destination and tag match otherwise than in their order: they have "
                  "tags of their own."));
  const auto doctor = check_trace(*t);
  ASSERT_TRUE(doctor);
  EXPECT_TRUE(doctor->findings.empty());
}

// As mpi2dim has them: MPI's own number of the communicator in sends of MPI_Sendrecv, in others and in receives its own, of the world
// or of none.
TEST(Dimemas, MessagesWhoseNumbersHaveNothingInCommonMatchInTheirOrder) {
  const TempDir dir;
  for (const auto& [own, other] :
       {std::pair("1", "1140850689"), std::pair("9", "1140850689"), std::pair("1", "1")}) {
    const auto task = [&](int t, int sends, int receives) {
      return fmt::format(
          "3:{0}:0:{1}:{3}:7:{4}:1\n2:{0}:0:{1}:{2}:7:1140850688:1\n3:{0}:0:{1}:{3}:7:{4}:2\n"
          "2:{0}:0:{1}:5:7:{5}:1\n3:{0}:0:{1}:5:7:{4}:0\n",
          t, 1 - t, sends, receives, own, other);
    };
    const auto t = opened(dir, head(2) + task(0, 200, 100) + task(1, 100, 200));
    ASSERT_NE(t, nullptr);
    EXPECT_THAT(program(*t, 0),
                ElementsAre("irecv 1/7 100b #0", "send 1/7 200b", "wait #0", "send 1/7 5b", "recv 1/7 5b"));
    EXPECT_THAT(t->header().notes, IsEmpty());
    const auto doctor = check_trace(*t);
    ASSERT_TRUE(doctor);
    EXPECT_TRUE(doctor->findings.empty());
  }
}

// Two tasks of three have a communicator, in the order that the file says.
TEST(Dimemas, MessagesOfADefinedCommunicatorAreOnIt) {
  const TempDir dir;
  const auto t = opened(dir, head(3, 2) +
                                 "d:1:7:2:2:0\n2:0:0:2:-1:5:1:7:1\n2:0:0:1:-1:6:1:7:1\n10:0:0:1:7:0:0:0:8\n"
                                 "3:1:0:0:-1:6:1:7:0\n3:2:0:0:-1:5:1:7:0\n10:2:0:1:7:1:0:8:0\n");
  ASSERT_NE(t, nullptr);
  ASSERT_EQ(t->communicators().size(), 2u);
  EXPECT_EQ(t->communicators()[1].name, "comm7");
  EXPECT_THAT(t->communicators()[1].members, ElementsAre(2, 0));
  // Task 1 is none of it: that number is not meant as one.
  EXPECT_THAT(program(*t, 0), ElementsAre("send 2/1 5b comm 1", "send 1/1 6b", "bcast 8b root 2 comm 1"));
  EXPECT_THAT(program(*t, 1), ElementsAre("recv 0/1 6b"));
  EXPECT_THAT(program(*t, 2), ElementsAre("recv 0/1 5b comm 1", "bcast 8b root 2 comm 1"));
}

std::string collectives(const std::vector<std::string>& of_tasks) {
  std::string out;
  for (std::size_t t = 0; t < of_tasks.size(); ++t) out += fmt::format("10:{}:0:{}\n", t, of_tasks[t]);
  return out;
}

// Prv2dim has 1 on the root and 0 elsewhere, but for a reduce the task that is the root; mpi2dim always the root.
TEST(Dimemas, TheRootIsFoundInAllThatTranslatorsHaveMadeOfIt) {
  const TempDir dir;
  const auto told_by = [&](const std::vector<std::string>& records) {
    return program(dir, head(3) + collectives(records)).front();
  };
  EXPECT_EQ(told_by({"1:1:0:0:0:64:1", "1:1:0:0:0:64:1", "1:1:1:0:64:0:1"}), "bcast 64b root 2");
  EXPECT_EQ(told_by({"10:1:2:0:32:0:3", "10:1:2:0:32:0:3", "10:1:2:0:0:32:3"}), "reduce 32b root 2");
  EXPECT_EQ(told_by({"10:1:1:0:32:0", "10:1:1:0:0:32", "10:1:1:0:32:0"}), "reduce 32b root 1");
  // Nothing is sent: what was said counts.
  EXPECT_EQ(told_by({"1:1:2:0:0:0", "1:1:2:0:0:0", "1:1:2:0:0:0"}), "bcast 0b root 2");
  EXPECT_EQ(told_by({"1:1:0:0:0:0", "1:1:1:0:0:0", "1:1:0:0:0:0"}), "bcast 0b root 1");
  // Sizes say more than a root that prv2dim 5.5 takes from another call.
  EXPECT_EQ(told_by({"10:1:0:0:32:0:3", "10:1:0:0:32:0:3", "10:1:0:0:0:32:3"}), "reduce 32b root 2");
  EXPECT_THAT(
      error_of(dir, head(3) + collectives({"1:1:0:0:0:0:1", "1:1:1:0:0:0:1", "1:1:1:0:0:0:1"})),
      "t.dim:3: error: no task is the root of this bcast, or several are; expected 1 on the root and 0 "
      "elsewhere, or the task that is the root");
}

// Extrae flags the task whose number is the rank of the root, which is another one on a part of the tasks.
TEST(Dimemas, SizesOfGathersAndScattersSayMoreThanAFlag) {
  const TempDir dir;
  const auto told_by = [&](const std::string& operation, const std::string& of_1, const std::string& of_2) {
    return program(dir,
                   head(3, 2) + "d:1:2:2:1:2\n" +
                       fmt::format("10:1:0:{0}:2:1:0:{1}:1\n10:2:0:{0}:2:0:0:{2}:1\n", operation, of_1, of_2),
                   1)
        .front();
  };
  EXPECT_EQ(told_by("2", "10:0", "10:20"), "gather 10b root 2 comm 1");
  EXPECT_EQ(told_by("3", "10:0", "10:20"), "gatherv 10b root 2 comm 1");
  EXPECT_EQ(told_by("4", "0:10", "20:10"), "scatter 10b root 2 comm 1");
  EXPECT_EQ(told_by("5", "0:10", "20:10"), "scatterv 10b root 2 comm 1");
  // Nothing is sent, or it is no such call.
  EXPECT_EQ(told_by("2", "0:0", "0:0"), "gather 0b root 1 comm 1");
  EXPECT_EQ(told_by("1", "0:10", "10:0"), "bcast 10b root 1 comm 1");
  EXPECT_EQ(told_by("10", "10:0", "0:10"), "reduce 10b root 1 comm 1");
}

// Extrae has what a rank sends to one, and what it receives from all.
TEST(Dimemas, SizesOfCollectivesAreThoseOfOneRank) {
  const TempDir dir;
  const auto told_by = [&](const std::vector<std::string>& records, std::uint32_t rank = 0) {
    return program(dir, head(3) + collectives(records), rank).front();
  };
  const auto all = [](const std::string& s) { return std::vector<std::string>(3, s); };
  EXPECT_EQ(told_by(all("8:1:0:0:10:30:1")), "alltoall 10b");
  EXPECT_EQ(told_by(all("6:1:0:0:10:30:1")), "allgather 10b");
  EXPECT_EQ(told_by(all("6:1:0:0:0:30:1")), "allgather 10b");  // in place
  EXPECT_EQ(told_by(all("11:1:0:0:16:16:1")), "allreduce 16b");
  EXPECT_EQ(told_by(all("14:1:0:0:16:16:1")), "scan 16b");
  EXPECT_EQ(told_by(all("13:1:0:0:30:10:1")), "reduce_scatter_block 10b");
  const std::vector<std::string> gather = {"2:1:0:0:10:0:1", "2:1:1:0:0:30:1", "2:1:0:0:10:0:1"};
  EXPECT_EQ(told_by(gather), "gather 10b root 1");
  EXPECT_EQ(told_by(gather, 1), "gather 10b root 1");
  EXPECT_EQ(told_by({"4:1:0:0:0:10:1", "4:1:0:0:0:10:1", "4:1:1:0:30:10:1"}, 2), "scatter 10b root 2");
  // One number has had two meanings; the call of MPI says which.
  EXPECT_EQ(told_by(all("13:1:0:0:16:16")), "scan 16b");
  EXPECT_EQ(told_by(all("14:1:0:0:30:30")), "reduce_scatter_block 10b");
  EXPECT_EQ(program(dir, head(1) + "20:0:0:50000002:30\n10:0:0:13:1:0:0:16:16:1\n").front(), "scan 16b");
}

TEST(Dimemas, SizesOfEachRankAreThoseOfAllTasksTogether) {
  const TempDir dir;
  const auto told_by = [&](const std::vector<std::string>& records) {
    const auto t = opened(dir, head(3) + collectives(records));
    std::vector<std::string> out;
    for (std::uint32_t r = 0; t != nullptr && r < 3; ++r) out.push_back(program(*t, r).front());
    return out;
  };
  EXPECT_THAT(told_by({"3:1:0:0:10:0:1", "3:1:1:0:20:60:1", "3:1:0:0:30:0:1"}),
              ElementsAre("gatherv 10b root 1", "gatherv 20b root 1 [10 20 30]", "gatherv 30b root 1"));
  EXPECT_THAT(told_by({"3:1:0:0:10:0:1", "3:1:1:0:0:60:1", "3:1:0:0:30:0:1"}),  // in place
              ElementsAre("gatherv 10b root 1", "gatherv 20b root 1 [10 20 30]", "gatherv 30b root 1"));
  EXPECT_THAT(told_by({"5:1:1:0:60:10:1", "5:1:0:0:0:20:1", "5:1:0:0:0:30:1"}),
              ElementsAre("scatterv 10b root 0 [10 20 30]", "scatterv 20b root 0", "scatterv 30b root 0"));
  EXPECT_THAT(
      told_by({"7:1:0:0:10:60:1", "7:1:0:0:20:60:1", "7:1:0:0:30:60:1"}),
      ElementsAre("allgatherv 10b [10 20 30]", "allgatherv 20b [10 20 30]", "allgatherv 30b [10 20 30]"));
  EXPECT_THAT(told_by({"12:1:0:0:60:10:1", "12:1:0:0:60:20:1", "12:1:0:0:60:30:1"}),
              ElementsAre("reduce_scatter 60b [10 20 30]", "reduce_scatter 60b [10 20 30]",
                          "reduce_scatter 60b [10 20 30]"));
  EXPECT_EQ(
      error_of(dir, head(3) + collectives({"7:1:0:0:10:60:1", "7:1:0:0:20:60:1"})),
      "t.dim:3: error: 2 of the 3 tasks of the communicator call this allgatherv, which has a size of each; "
      "expected a record of each");
}

// The trace has sums. What one rank sends another is what that receives from it, and all of it is sent.
TEST(Dimemas, SumsOfAnAlltoallvAreSharedOutSoThatBothSidesAgree) {
  const TempDir dir;
  const std::vector<std::int64_t> sent = {7, 100, 0, 13, 1}, received = {50, 1, 33, 30, 7};
  std::string text = head(5);
  for (std::size_t t = 0; t < 5; ++t)
    text += fmt::format("10:{}:0:9:1:0:0:{}:{}:1\n", t, sent[t], received[t]);
  const auto trace = opened(dir, text);
  ASSERT_NE(trace, nullptr);
  std::vector<std::vector<std::int64_t>> to(5), from(5);
  for (std::uint32_t r = 0; r < 5; ++r) {
    const auto ops = read_rank(*trace, r);
    ASSERT_TRUE(ops);
    const auto& list = ops->front().list;
    ASSERT_EQ(list.size(), 11u);
    EXPECT_EQ(list[0], 5);
    to[r].assign(list.begin() + 1, list.begin() + 6);
    from[r].assign(list.begin() + 6, list.end());
    EXPECT_EQ(ops->front().op.amount, sent[r]);
    EXPECT_EQ(std::accumulate(to[r].begin(), to[r].end(), std::int64_t{0}), sent[r]);
  }
  for (std::size_t a = 0; a < 5; ++a)
    for (std::size_t b = 0; b < 5; ++b) {
      EXPECT_EQ(to[a][b], from[b][a]);
      // In proportion, to the next whole number.
      EXPECT_NEAR(static_cast<double>(to[a][b]), static_cast<double>(sent[a] * received[b]) / 121, 1);
    }
  EXPECT_THAT(
      trace->header().warnings,
      ElementsAre("1 alltoallv of which the trace has sums only: shared out in proportion to what each task "
                  "receives"));
}

TEST(Dimemas, CollectivesThatDoNotBlockAreWaitedForByTheirNumber) {
  const TempDir dir;
  EXPECT_THAT(program(dir, head(1) + "10:0:0:27:1:0:0:8:8:0\n10:0:0:16:1:0:0:0:0:0\n1:0:0:1e-6\n"
                                     "10:0:0:16:1:0:0:0:0:2\n10:0:0:27:1:0:0:8:8:2\n"),
              ElementsAre("iallreduce 8b #0", "ibarrier 0b #1", "compute 1000000ps", "wait #1", "wait #0"));
  const auto t = opened(dir, head(1) +
                                 "20:0:0:50000002:156\n10:0:0:14:1:0:0:0:0:0\n20:0:0:50000002:0\n"
                                 "10:0:0:27:1:0:0:8:8:2\n");
  ASSERT_NE(t, nullptr);
  EXPECT_THAT(program(*t, 0), ElementsAre("ibarrier 0b #0", "wait #0"));
  EXPECT_THAT(t->header().warnings,
              ElementsAre("1 completion of requests whose start is not in the trace: left out",
                          "1 request that no wait names: waited for at the end of the task"));
}

TEST(Dimemas, WhatHasNoOperationIsToldByName) {
  const TempDir dir;
  const auto t = opened(
      dir,
      "#DIMEMAS:name:1,000000000000000000:2(1,1),3\nd:1:1:2:0:1\nd:2:4:file\n20:0:0:50000002:7\n0:0:0\n"
      "20:0:0:50000002:0\n20:0:0:50000002:214\n20:0:0:50000002:0\n20:0:0:50000001:1\n0:0:0\n20:0:0:50000001:"
      "0\n"
      "20:0:0:50000003:23\n0:0:0\n20:0:0:50000003:0\n20:0:0:50000004:65\n20:0:0:50000004:0\n"
      "20:0:0:60000019:18446744073709551615\n20:0:0:60000019:0\n1:0:0:1\n\n");
  ASSERT_NE(t, nullptr);
  const std::vector<NotRecorded> lost = {
      {"collectives", "MPI_Bcast", 1}, {"collectives", "MPI_Exscan", 1}, {"one-sided communication", "", 1}};
  EXPECT_EQ(t->header().recording.not_recorded, lost);
  EXPECT_THAT(
      t->header().warnings,
      ElementsAre(
          "1 call without a record of a message (MPI_Send 1): to or from MPI_PROC_NULL, or not matched when "
          "the trace was made; left out",
          "1 call that made communicators, without a record: their messages and all waiting in them are "
          "gone",
          "1 task without a record",
          "the offsets that the header promises are not at the end: the file was cut off, or edited",
          "the header has 3 communicators, the file defines 1"));
  EXPECT_THAT(t->header().notes,
              ElementsAre("2 events of no call of MPI (user functions, counters): passed over."));
  EXPECT_THAT(program(*t, 1), IsEmpty());
}

// Tasks in any order, without offsets or with those of another file.
TEST(Dimemas, OffsetsAreNotBelieved) {
  const TempDir dir;
  std::string text = kOfPrv2dim;
  const std::size_t second = text.find("1:1:0:0.0"), offsets = text.find("s:0:");
  const std::size_t first = text.find("1:0:0:0.0");
  const std::string turned =
      text.substr(0, first) + text.substr(second, offsets - second) + text.substr(first, second - first);
  const auto want = opened(dir, text);
  ASSERT_NE(want, nullptr);
  const auto of_0 = program(*want, 0), of_1 = program(*want, 1);
  for (const std::string& other :
       {turned, turned + "s:0:99999\ns:1:-4\n", "\xef\xbb\xbf" + text, text.substr(0, offsets)}) {
    const auto t = opened(dir, other);
    ASSERT_NE(t, nullptr);
    EXPECT_EQ(program(*t, 0), of_0);
    EXPECT_EQ(program(*t, 1), of_1);
  }
  std::string dos;
  for (const char c : text) dos += c == '\n' ? std::string("\r\n") : std::string(1, c);
  const auto t = opened(dir, dos);
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(program(*t, 0), of_0);
}

// Blocks of both tasks by turns, from a file of many buffers.
TEST(Dimemas, TasksAreReadByTurnsAsOneAfterTheOther) {
  const TempDir dir;
  std::string text = head(2);
  constexpr int kMessages = 20000;
  for (int i = 0; i < kMessages; ++i)
    text += fmt::format("1:0:0:{}e-9\n2:0:0:1:-1:{}:{}:{}:2\n", i, i, i % 7, 100 + i);
  for (int i = 0; i < kMessages; ++i) text += fmt::format("3:1:0:0:-1:{}:{}:{}:0\n", i, i % 7, 100 + i);
  const auto t = opened(dir, text);
  ASSERT_NE(t, nullptr);
  std::vector<PlainOp> by_turns[2];
  for (bool more = true; more;) {
    more = false;
    for (std::uint32_t r = 0; r < 2; ++r) {
      OpBlock b;
      const auto got = t->next_block(RankId(r), b);
      ASSERT_TRUE(got);
      more |= *got;
      for (auto& p : testing::plain(b)) by_turns[r].push_back(std::move(p));
    }
  }
  t->rewind();
  for (std::uint32_t r = 0; r < 2; ++r) EXPECT_TRUE(*read_rank(*t, r) == by_turns[r]);
  EXPECT_EQ(by_turns[0].size(), 3u * kMessages - 1);
  EXPECT_EQ(by_turns[1].size(), 1u * kMessages);
  EXPECT_EQ(t->totals().messages, 1u * kMessages);
  EXPECT_EQ(t->position(RankId(1), 12345), dir.path("t.dim") + fmt::format(":{}", 3 + 2 * kMessages + 12345));
}

}  // namespace
}  // namespace weft::traces::dimemas_test
