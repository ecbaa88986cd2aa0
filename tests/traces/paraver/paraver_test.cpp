// Paraver traces: every call becomes what Dimemas' own translator makes of it.
#include "tests/traces/paraver/paraver_testing.hpp"
#include "traces/check/check.hpp"

namespace weft::traces::paraver_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A trace as Extrae writes it, and what prv2dim of Dimemas 5.5 makes of it.
constexpr const char* kPrv =
    "#Paraver (01/01/70 at 00:00):258100_ns:2(1,1):1:2(1:1,1:2),1\n"
    "c:1:1:2:1:2\n"
    "2:1:1:1:1:100:50000003:31\n"
    "2:2:1:2:1:100:50000003:31\n"
    "2:1:1:1:1:1100:50000003:0\n"
    "2:1:1:1:1:1100:50000001:4\n"
    "2:2:1:2:1:1100:50000003:0\n"
    "2:2:1:2:1:1100:50000001:2\n"
    "2:1:1:1:1:2100:50000001:0\n"
    "1:1:1:1:1:2100:252100:1\n"
    "2:2:1:2:1:2100:50000001:0\n"
    "2:2:1:2:1:2100:50000001:1\n"
    "3:2:1:2:1:2200:2300:1:1:1:1:1150:254000:512:6\n"
    "2:2:1:2:1:3100:50000001:0\n"
    "2:2:1:2:1:3100:50000001:41\n"
    "3:2:1:2:1:3200:3300:1:1:1:1:254150:255000:100:7\n"
    "2:2:1:2:1:4100:50000001:0\n"
    "2:2:1:2:1:4100:50000002:13:50100001:16:50100002:32:50100003:1:50100004:1\n"
    "2:2:1:2:1:5100:50000002:0\n"
    "2:2:1:2:1:5100:50000002:10:50100001:8:50100002:8:50100004:1\n"
    "2:2:1:2:1:6100:50000002:0\n"
    "2:2:1:2:1:6100:50000003:32\n"
    "2:2:1:2:1:7100:50000003:0\n"
    "2:1:1:1:1:252100:50000001:3\n"
    "3:1:1:1:1:252200:252300:2:1:2:1:1150:2000:65536:5\n"
    "2:1:1:1:1:253100:50000001:0\n"
    "2:1:1:1:1:253100:50000001:5\n"
    "2:1:1:1:1:254100:50000001:0\n"
    "2:1:1:1:1:254100:50000001:41\n"
    "3:1:1:1:1:254200:254300:2:1:2:1:3150:4000:100:7\n"
    "2:1:1:1:1:255100:50000001:0\n"
    "2:1:1:1:1:255100:50000002:13:50100001:16:50100002:0:50100004:1\n"
    "2:1:1:1:1:256100:50000002:0\n"
    "2:1:1:1:1:256100:50000002:10:50100001:8:50100002:8:50100004:1\n"
    "2:1:1:1:1:257100:50000002:0\n"
    "2:1:1:1:1:257100:50000003:32\n"
    "2:1:1:1:1:258100:50000003:0\n";
constexpr const char* kDimOfPrv2dim =
    "#DIMEMAS:\"ex.dim\":1,1686:2(1,1),1,0,0           \n"
    "d:1:1:2:0:1\n"
    "1:0:0:0.000000000\n"
    "20:0:0:0:1\n"
    "1:0:0:0.000000100\n"
    "20:0:0:0:0\n"
    "20:0:0:50000003:31\n"
    "10:0:0:0:1:0:0:0:0:1\n"
    "20:0:0:50000003:0\n"
    "20:0:0:50000001:4\n"
    "3:0:0:1:-1:512:6:10:1\n"
    "20:0:0:50000001:0\n"
    "1:0:0:0.000250000\n"
    "20:0:0:50000001:3\n"
    "20:0:0:0:1\n"
    "2:0:0:1:-1:65536:5:22:2\n"
    "20:0:0:0:0\n"
    "20:0:0:0:1\n"
    "20:0:0:0:0\n"
    "20:0:0:0:1\n"
    "20:0:0:50000001:0\n"
    "20:0:0:0:0\n"
    "20:0:0:50000001:5\n"
    "20:0:0:0:1\n"
    "3:0:0:1:-1:512:6:10:2\n"
    "20:0:0:0:0\n"
    "20:0:0:0:1\n"
    "20:0:0:50000001:0\n"
    "20:0:0:0:0\n"
    "20:0:0:50000001:41\n"
    "20:0:0:0:1\n"
    "3:0:0:1:-1:100:7:13:1\n"
    "20:0:0:0:0\n"
    "20:0:0:0:1\n"
    "2:0:0:1:-1:100:7:27:0\n"
    "20:0:0:0:0\n"
    "20:0:0:0:1\n"
    "20:0:0:0:0\n"
    "20:0:0:0:1\n"
    "3:0:0:1:-1:100:7:13:2\n"
    "20:0:0:0:0\n"
    "20:0:0:0:1\n"
    "20:0:0:50000001:0\n"
    "20:0:0:0:0\n"
    "20:0:0:50000002:13\n"
    "20:0:0:50100001:16\n"
    "20:0:0:50100002:0\n"
    "20:0:0:50100004:1\n"
    "20:0:0:0:1\n"
    "10:0:0:2:1:0:0:16:0:1\n"
    "0:0:0\n"
    "20:0:0:50000002:0\n"
    "20:0:0:0:0\n"
    "20:0:0:50000002:10\n"
    "20:0:0:50100001:8\n"
    "20:0:0:50100002:8\n"
    "20:0:0:50100004:1\n"
    "20:0:0:0:1\n"
    "10:0:0:11:1:0:0:8:8:1\n"
    "0:0:0\n"
    "20:0:0:50000002:0\n"
    "20:0:0:0:0\n"
    "20:0:0:50000003:32\n"
    "20:0:0:0:1\n"
    "0:0:0\n"
    "20:0:0:50000003:0\n"
    "20:0:0:0:0\n"
    "1:1:0:0.000000000\n"
    "20:1:0:0:1\n"
    "1:1:0:0.000000100\n"
    "20:1:0:0:0\n"
    "20:1:0:50000003:31\n"
    "10:1:0:0:1:0:0:0:0:1\n"
    "20:1:0:50000003:0\n"
    "20:1:0:50000001:2\n"
    "3:1:0:0:-1:65536:5:22:0\n"
    "20:1:0:50000001:0\n"
    "20:1:0:50000001:1\n"
    "2:1:0:0:-1:512:6:10:1\n"
    "20:1:0:50000001:0\n"
    "20:1:0:50000001:41\n"
    "3:1:0:0:-1:100:7:27:1\n"
    "2:1:0:0:-1:100:7:13:0\n"
    "3:1:0:0:-1:100:7:27:2\n"
    "20:1:0:50000001:0\n"
    "20:1:0:50000002:13\n"
    "20:1:0:50100001:16\n"
    "20:1:0:50100002:32\n"
    "20:1:0:50100003:1\n"
    "20:1:0:50100004:1\n"
    "10:1:0:2:1:1:0:16:32:1\n"
    "0:1:0\n"
    "20:1:0:50000002:0\n"
    "20:1:0:50000002:10\n"
    "20:1:0:50100001:8\n"
    "20:1:0:50100002:8\n"
    "20:1:0:50100004:1\n"
    "10:1:0:11:1:0:0:8:8:1\n"
    "0:1:0\n"
    "20:1:0:50000002:0\n"
    "20:1:0:50000003:32\n"
    "0:1:0\n"
    "20:1:0:50000003:0\n"
    "s:0:66\n"
    "s:1:1047\n";

TEST(Paraver, AFileIsReadAsTheDimThatPrv2dimMakesOfIt) {
  const TempDir dir;
  const auto prv = opened(dir, kPrv), dim = opened(dir, kDimOfPrv2dim);
  ASSERT_NE(prv, nullptr);
  ASSERT_NE(dim, nullptr);
  EXPECT_EQ(prv->header().recorder, "paraver");
  EXPECT_EQ(prv->totals().messages, dim->totals().messages);
  EXPECT_EQ(prv->totals().bytes, dim->totals().bytes);
  for (std::uint32_t r = 0; r < 2; ++r) EXPECT_EQ(program(*prv, r), program(*dim, r));
  EXPECT_THAT(program(*prv, 1), ElementsAre("compute 100000ps", "init", "barrier 0b", "recv 0/5 65536b",
                                            "send 0/6 512b", "irecv 0/7 100b #0", "send 0/7 100b", "wait #0",
                                            "gather 16b root 1", "allreduce 8b", "finalize"));
  EXPECT_THAT(prv->header().warnings, IsEmpty());
  const auto doctor = check_trace(*prv);
  ASSERT_TRUE(doctor);
  EXPECT_TRUE(doctor->findings.empty());
  EXPECT_EQ(prv->position(RankId(1), 3), dir.path("t.prv") + ":25");
}

TEST(Paraver, ComputationIsWhatLiesBetweenCallsInTheUnitOfTheFile) {
  const TempDir dir;
  // States are not asked, and the last event ends the computation behind the last call.
  const std::string calls = "1:1:1:1:1:0:9:3\n" + call(1, 10, 20, 2, 8, ":50100004:1") +
                            "2:1:1:1:1:25:60000019:4\n" + call(1, 50, 50, 2, 8, ":50100004:1") +
                            "2:1:1:1:1:57:42000050:7:42000059:8\n";
  EXPECT_THAT(of_task(dir, head(1) + calls), ElementsAre("compute 10000ps", "barrier 0b", "compute 30000ps",
                                                         "barrier 0b", "compute 7000ps"));
  for (const char* microseconds : {"", "_us"})
    EXPECT_THAT(of_task(dir, head(1, microseconds) + calls),
                ElementsAre("compute 10000000ps", "barrier 0b", "compute 30000000ps", "barrier 0b",
                            "compute 7000000ps"));
  EXPECT_THAT(of_task(dir, head(1, "_ms") + calls),
              ElementsAre("compute 10000000000ps", "barrier 0b", "compute 30000000000ps", "barrier 0b",
                          "compute 7000000000ps"));
}

// Calls without time between them, or none themselves: each has its own messages.
TEST(Paraver, EndsOfMessagesAtOneInstantAreSharedOutInTheOrderOfTheCalls) {
  const TempDir dir;
  const std::string text = head(2) + call(1, 10, 10, 1, 1) + call(1, 10, 10, 1, 34) + call(1, 10, 20, 1, 3) +
                           call(1, 20, 30, 1, 2) + message(1, 10, 2, 10, 11, 1, 1) +
                           message(1, 10, 2, 11, 12, 2, 1) + message(1, 10, 2, 12, 13, 3, 1) +
                           message(2, 14, 1, 20, 30, 4, 1) + call(2, 10, 11, 1, 2) + call(2, 11, 12, 1, 2) +
                           call(2, 12, 13, 1, 2) + call(2, 14, 15, 1, 1);
  const auto t = opened(dir, text);
  ASSERT_NE(t, nullptr);
  EXPECT_THAT(program(*t, 0), ElementsAre("compute 10000ps", "send 1/1 1b", "ssend 1/1 2b", "isend 1/1 3b #0",
                                          "request_free #0", "recv 1/1 4b"));
  EXPECT_THAT(t->header().warnings, IsEmpty());
}

// MPI_Irecv ends where MPI_Recv begins: the message that is received within the latter is its, in whatever order the file has them.
TEST(Paraver, OfReceivesPostedAtOneInstantTheOneThatBlocksHasTheMessageReceivedSoonest) {
  const TempDir dir;
  const std::string calls = call(1, 10, 11, 1, 4) + call(1, 11, 20, 1, 2) + call(1, 90, 95, 1, 5) +
                            call(2, 10, 12, 1, 1) + call(3, 60, 70, 1, 1);
  const std::string soon = message(2, 10, 1, 11, 20, 100, 5), late = message(3, 60, 1, 11, 95, 200, 6);
  for (const std::string& messages : {soon + late, late + soon})
    EXPECT_THAT(
        of_task(dir, head(3) + calls + messages),
        ElementsAre("compute 10000ps", "irecv 2/6 200b #0", "recv 1/5 100b", "compute 70000ps", "wait #0"));
  // MPI_Sendrecv, behind one without time of its own.
  const std::string exchange = call(1, 10, 11, 1, 4) + call(1, 11, 11, 1, 2) + call(1, 11, 20, 1, 41) +
                               call(1, 90, 95, 1, 5) + call(2, 1, 2, 1, 1) + call(2, 10, 12, 1, 1) +
                               call(3, 60, 70, 1, 1);
  EXPECT_THAT(of_task(dir, head(3) + exchange + soon + late + message(2, 1, 1, 11, 11, 300, 5) +
                               message(1, 11, 2, 99, 99, 8, 7)),
              ElementsAre("compute 10000ps", "irecv 2/6 200b #0", "recv 1/5 300b", "irecv 1/5 100b #1",
                          "send 1/7 8b", "wait #1", "compute 70000ps", "wait #0"));
}

// Calls without time of their own, as in microseconds: what MPI_Sendrecv receives is no other call's.
TEST(Paraver, AnMpiSendrecvWaitsForItsOwnMessage) {
  const TempDir dir;
  const std::string calls = call(1, 1, 2, 1, 4) + call(1, 9, 15, 1, 6) + call(1, 15, 15, 1, 41) +
                            call(1, 15, 18, 1, 2) + call(2, 0, 1, 1, 1) + call(2, 1, 2, 1, 1) +
                            call(2, 3, 4, 1, 1) + call(2, 8, 9, 1, 2);
  const std::string early = message(2, 0, 1, 2, 15, 10, 4), own = message(2, 1, 1, 15, 15, 20, 5),
                    late = message(2, 3, 1, 15, 18, 30, 6), sent = message(1, 15, 2, 8, 9, 8, 7);
  for (const std::string& messages : {early + own + late, late + own + early, own + late + early})
    EXPECT_THAT(of_task(dir, head(2) + calls + messages + sent),
                ElementsAre("compute 1000ps", "irecv 1/4 10b #0", "compute 7000ps", "wait #0",
                            "irecv 1/5 20b #0", "send 1/7 8b", "wait #0", "recv 1/6 30b"));
}

TEST(Paraver, AWaitHasThePhysicalReceivesThatLieInIt) {
  const TempDir dir;
  const std::string sends = call(2, 0, 9, 1, 3) + call(2, 9, 10, 1, 3) + call(2, 10, 11, 1, 3);
  const std::string posts = call(1, 0, 1, 1, 4) + call(1, 1, 2, 1, 4) + call(1, 2, 3, 1, 4);
  EXPECT_THAT(of_task(dir, head(2) + posts + call(1, 20, 30, 1, 6) + call(1, 30, 40, 1, 5) +
                               message(2, 0, 1, 0, 30, 1, 7) + message(2, 9, 1, 1, 40, 2, 7) +
                               message(2, 10, 1, 2, 30, 3, 8) + sends),
              ElementsAre("irecv 1/7 1b #0", "irecv 1/7 2b #1", "irecv 1/8 3b #2", "compute 17000ps",
                          "waitall [0 2]", "wait #1"));
  // A test that completed it, too; one that did not leaves nothing.
  EXPECT_THAT(of_task(dir, head(2) + call(1, 0, 1, 1, 4) + call(1, 5, 6, 3, 39) + call(1, 6, 7, 3, 39) +
                               message(2, 0, 1, 0, 7, 1, 7) + call(2, 0, 9, 1, 3)),
              ElementsAre("irecv 1/7 1b #0", "compute 4000ps", "wait #0"));
}

// As Dimemas and other simulators write it: when the data are there, which may be before the receive.
TEST(Paraver, AMessageThatIsThereBeforeItsWaitIsOfTheNextWait) {
  const TempDir dir;
  const std::string sends = call(2, 0, 1, 1, 3) + call(2, 1, 2, 1, 3) + call(2, 2, 3, 1, 3);
  EXPECT_THAT(of_task(dir, head(2) + call(1, 10, 11, 1, 4) + call(1, 11, 12, 1, 4) + call(1, 12, 13, 1, 4) +
                               call(1, 20, 30, 1, 5) + call(1, 30, 40, 1, 6) + call(1, 40, 41, 3, 32) +
                               message(2, 0, 1, 10, 5, 1, 7) + message(2, 1, 1, 11, 35, 2, 7) +
                               message(2, 2, 1, 12, 15, 3, 8) + sends),
              ElementsAre("compute 10000ps", "irecv 1/7 1b #0", "irecv 1/7 2b #1", "irecv 1/8 3b #2",
                          "compute 7000ps", "wait #0", "waitall [1 2]", "finalize"));
}

TEST(Paraver, PersistentRequestsAreStartedAndWaitedFor) {
  const TempDir dir;
  EXPECT_THAT(
      of_task(dir, head(2) + call(1, 0, 9, 3, 124) + call(1, 9, 20, 1, 6) + message(1, 0, 2, 0, 5, 1, 7) +
                       message(2, 1, 1, 0, 20, 2, 8) + call(2, 0, 1, 1, 2) + call(2, 1, 2, 1, 1)),
      ElementsAre("irecv 1/8 2b #0", "isend 1/7 1b #1", "request_free #1", "wait #0"));
}

TEST(Paraver, CollectivesHaveWhatIsSaidWithThem) {
  const TempDir dir;
  const auto all = [](int type, int value, const std::string& root, const std::string& others) {
    return head(2) + call(1, 0, 5, type, value, root) + call(2, 0, 5, type, value, others);
  };
  EXPECT_THAT(of_task(dir, all(2, 7, ":50100001:8:50100002:0:50100003:1:50100004:1",
                               ":50100001:0:50100002:8:50100004:1")),
              ElementsAre("bcast 8b root 0"));
  EXPECT_THAT(of_task(dir, all(2, 9, ":50100001:8:50100002:0:50100004:1",
                               ":50100001:0:50100002:8:50100003:1:50100004:1")),
              ElementsAre("reduce 8b root 1"));
  EXPECT_THAT(of_task(dir, all(2, 14, ":50100001:8:50100002:24:50100003:1:50100004:1",
                               ":50100001:16:50100002:0:50100004:1")),
              ElementsAre("gatherv 8b root 0 [8 16]"));
  // Prv2dim does not know the first one; one that does not block is over in an MPI_Wait that has no message.
  EXPECT_THAT(
      of_task(dir, all(2, 214, ":50100001:8:50100002:8:50100004:1", ":50100001:8:50100002:8:50100004:1")),
      ElementsAre("exscan 8b"));
  EXPECT_THAT(
      of_task(dir, all(2, 155, ":50100001:8:50100002:8:50100004:1", ":50100001:8:50100002:8:50100004:1") +
                       call(1, 7, 9, 1, 5)),
      ElementsAre("iallreduce 8b #0", "compute 2000ps", "wait #0"));
}

// As Dimemas' prv2dim has it: what began before the trace was cut out of another is none of a call.
// Of accelerators, or of OpenMP.
TEST(Paraver, ThreadsThatCallNothingArePassedOver) {
  const TempDir dir;
  const std::string text = "#Paraver (22/03/26 at 10:11):9000_ns:2(3,1):1:2(3:1,1:2),1\nc:1:1:2:1:2\n" +
                           call(1, 5, 10, 2, 8, ":50100004:1") +
                           "1:2:1:1:2:0:90:1\n2:2:1:1:2:70:60000119:3:42000050:7\n2:3:1:1:3:80:60000119:0\n" +
                           call(2, 10, 20, 2, 8, ":50100004:1");
  EXPECT_THAT(of_task(dir, text), ElementsAre("compute 5000ps", "barrier 0b"));
}

// What one call of MPI_Waitsome ended ended together.
TEST(Paraver, WaitsForSomeAreOneForAllThatTheyEnded) {
  const TempDir dir;
  const std::string text = head(2) + call(1, 0, 10, 1, 4) + call(1, 10, 20, 1, 4) + call(2, 0, 10, 1, 1) +
                           call(2, 10, 20, 1, 1) + message(2, 5, 1, 5, 35, 8, 1) +
                           message(2, 15, 1, 15, 35, 8, 2) + call(1, 30, 40, 1, 60);
  EXPECT_THAT(of_task(dir, text),
              ElementsAre("irecv 1/1 8b #0", "irecv 1/2 8b #1", "compute 10000ps", "waitall [0 1]"));
}

TEST(Paraver, ATaskThatCallsNothingComputesUpToItsLastEvent) {
  const TempDir dir;
  const std::string text =
      head(2) + call(1, 0, 10, 2, 8, ":50100004:1") + "2:1:1:2:1:0:40000001:1\n2:1:1:2:1:70:40000001:0\n";
  EXPECT_THAT(of_task(dir, text, 1), ElementsAre("compute 70000ps"));
}

TEST(Paraver, ATraceThatWasCutOutBeginsInTheMiddleOfACall) {
  const TempDir dir;
  const auto t =
      opened(dir, head(2) + "2:1:1:1:1:5:50000001:0\n" + call(1, 10, 20, 1, 5) +
                      message(2, 1, 1, 0, 20, 8, 3) + call(2, 1, 2, 1, 3) + "2:2:1:2:1:9:50000001:2\n");
  ASSERT_NE(t, nullptr);
  EXPECT_THAT(program(*t, 0), ElementsAre("compute 10000ps", "recv 1/3 8b"));
  EXPECT_THAT(program(*t, 1),
              ElementsAre("compute 1000ps", "isend 0/3 8b #0", "request_free #0", "compute 7000ps"));
  EXPECT_THAT(
      t->header().warnings,
      ElementsAre(
          "1 call without a record of a message (MPI_Recv 1): to or from MPI_PROC_NULL, or not matched "
          "when the trace was made; left out",
          "1 end of messages in no call that sends or receives them: left out",
          "1 wait for a message that no receive was posted for: receives"));
}

TEST(Paraver, ASendrecvThatATraceWasCutOffInHasSent) {
  const TempDir dir;
  const std::string cut = head(2) + "2:1:1:1:1:10:50000001:41\n2:1:1:1:1:80:60000019:3\n" +
                          message(1, 10, 2, 10, 20, 8, 5) + call(2, 10, 20, 1, 2);
  EXPECT_THAT(of_task(dir, cut), ElementsAre("compute 10000ps", "send 1/5 8b"));
  EXPECT_THAT(of_task(dir, cut, 1), ElementsAre("compute 10000ps", "recv 0/5 8b"));
  EXPECT_THAT(of_task(dir, cut + message(2, 30, 1, 10, 99, 4, 6) + call(2, 30, 31, 1, 1)),
              ElementsAre("compute 10000ps", "irecv 1/6 4b #0", "send 1/5 8b", "wait #0"));
}

TEST(Paraver, WhatIsLostIsToldByName) {
  const TempDir dir;
  const auto t = opened(
      dir, "#Paraver (22/03/26 at 10:11):9_ns:0:2:2(1:1,1:1):1(3:1),1\n#20:CUTTER:x\nc:1:1:1:2\nc:2:1:1:1\n" +
               call(1, 0, 1, 2, 8) + call(1, 1, 2, 3, 22) + call(1, 2, 3, 4, 65) + call(1, 3, 4, 2, 999) +
               "2:1:2:1:3:5:7:8:9:10\n3:1:2:1:1:1:1:1:2:1:2:1:1:5:5\n2:1:1:1:1:5:60000019:4\n");
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->header().ranks, 2u);
  ASSERT_EQ(t->communicators().size(), 2u);
  EXPECT_THAT(t->communicators()[1].members, ElementsAre(1));
  const std::vector<NotRecorded> lost = {
      {"collectives", "MPI_Barrier", 1}, {"collectives", "unknown", 1}, {"one-sided communication", "", 1}};
  EXPECT_EQ(t->header().recording.not_recorded, lost);
  EXPECT_THAT(
      t->header().warnings,
      ElementsAre(
          "1 call that made communicators, without a record: their messages and all waiting in them are "
          "gone",
          "3 records of other applications than the first: left out", "1 task without a record"));
  EXPECT_THAT(t->header().notes,
              ElementsAre("1 event of no call of MPI (user functions, counters): passed over."));
}

// Extrae prints unsigned numbers of 64 bits; some tools signed ones.
TEST(Paraver, ValuesOfEventsHave64Bits) {
  const TempDir dir;
  for (const char* value : {"18446744073709551615", "9223372036854775808", "-9223372036854775808"}) {
    const std::string barrier = call(1, 5, 9, 2, 8, fmt::format(":42000050:{}:50100004:1", value));
    EXPECT_THAT(of_task(dir, head(1) + barrier), ElementsAre("compute 5000ps", "barrier 0b")) << value;
    // An unknown call.
    EXPECT_THAT(of_task(dir, head(1) + fmt::format("2:1:1:1:1:2:50000002:{}\n", value) + barrier),
                ElementsAre("compute 2000ps", "barrier 0b"))
        << value;
  }
}

TEST(Paraver, InterCommunicatorsArePassedOver) {
  const TempDir dir;
  const auto t = opened(dir,
                        "#Paraver (x):9_ns:1(2):1:2(1:1,1:1),4\nc:1:1:2:1:2\nc:1:2:1:1\ni:1:7:1:0:2:0\n"
                        "I:1:8:1:0:2:0\n" +
                            call(1, 0, 1, 2, 8, ":50100004:2"));
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->communicators().size(), 2u);
  EXPECT_THAT(program(*t, 0), ElementsAre("barrier 0b comm 1"));
  EXPECT_THAT(t->header().warnings, ElementsAre("1 task without a record"));
}

TEST(Paraver, ApplicationsArePartedByACommaOrAColon) {
  const TempDir dir;
  for (const char* lists : {"2(1:1,1:1),1(1:1),1", "2(1:1,1:1):1(1:1),1", "2(1:1,1:1),1:1(1:1),1"}) {
    const auto t = opened(dir, fmt::format("#Paraver (x):9_ns:1(3):2:{}\nc:1:1:2:1:2\nc:2:1:1:1\n", lists) +
                                   call(1, 0, 1, 2, 8, ":50100004:1"));
    ASSERT_NE(t, nullptr) << lists;
    EXPECT_EQ(t->header().ranks, 2u);
    EXPECT_THAT(program(*t, 0), ElementsAre("barrier 0b"));
  }
}

// Two messages of one tag cross, as those of two communicators may.
TEST(Paraver, MessagesMatchAsTheFileSaysInWhateverOrder) {
  const TempDir dir;
  const auto t =
      opened(dir, head(2) + call(1, 0, 1, 1, 1) + call(1, 1, 2, 1, 1) + call(2, 0, 5, 1, 2) +
                      call(2, 5, 9, 1, 2) + message(1, 0, 2, 5, 9, 10, 4) + message(1, 1, 2, 0, 5, 20, 4));
  ASSERT_NE(t, nullptr);
  EXPECT_THAT(program(*t, 0), ElementsAre("send 1/1073741824 10b", "send 1/1073741825 20b"));
  EXPECT_THAT(program(*t, 1), ElementsAre("recv 0/1073741825 20b", "recv 0/1073741824 10b"));
  const auto doctor = check_trace(*t);
  ASSERT_TRUE(doctor);
  EXPECT_TRUE(doctor->findings.empty());
}

struct Wrong {
  std::string text, message;
};

TEST(ParaverHostile, EveryWrongLineHasItsMessage) {
  const TempDir dir;
  const std::string two = head(2);
  const Wrong cases[] = {
      {"#Paraver 1\n",
       "t.prv:1:1: error: not a Paraver trace; got \"#Paraver 1\"; expected #Paraver (DATE):..."},
      {"#Paraver (x):y:0:1:1(1:1)\n",
       "t.prv:1:14: error: the end of the trace is not a time; got \"y\"; expected microseconds, or with "
       "_ns, _us or _ms what that says"},
      {"#Paraver (x):5:0:0:1(1:1)\n",
       "t.prv:1:18: error: number of applications is out of range; got \"0\"; expected 1 to 2147483647"},
      {"#Paraver (x):5:0:1:0()\n",
       "t.prv:1:20: error: the number of tasks cannot be; got \"0()\"; expected 1 to 16777216"},
      {"#Paraver (x):5:0:1:2(1:1)\n",
       "t.prv:1:22: error: 2 tasks have 1 numbers of threads; got \"1\"; expected THREADS:NODE of each task"},
      {"#Paraver (x):5:0:1:1(1:1),1(1:1),1\n",
       "t.prv:1:26: error: the number of communicators cannot be; got \",1(1\"; expected a number"},
      {two + "c:1:1:2:1:2\n",
       "t.prv:3:5: error: a communicator is defined twice; got \"1\"; expected one definition of "
       "each number"},
      {two + "c:1:2:2:1:3\n",
       "t.prv:3:11: error: task of the communicator is out of range; got \"3\"; expected 1 to 2"},
      {two + "x\n", "t.prv:3:1: error: not a record of a Paraver trace; got \"x\"; expected 1, 2 or 3"},
      {two + "2:1:1:3:1:5:6:7\n", "t.prv:3:7: error: task is out of range; got \"3\"; expected 1 to 2"},
      {two + "2:1:1:2:2:5:6:7\n", "t.prv:3:9: error: thread is out of range; got \"2\"; expected 1 to 1"},
      {two + "2:1:1:2:1:-5:6:7\n",
       "t.prv:3:11: error: time is out of range; got \"-5\"; expected 0 to 9223372036854775"},
      {two + "2:1:1:2:1:5\n",
       "t.prv:3:12: error: an event without a type; got \"end of line\"; expected TYPE:VALUE"},
      {two + "2:1:1:2:1:5:6\n", "t.prv:3:14: error: missing value; got \"end of line\"; expected a number"},
      {two + "2:1:1:2:1:5:6:18446744073709551616\n",
       "t.prv:3:15: error: value is out of range; got \"18446744073709551616\"; expected "
       "-9223372036854775808 to 9223372036854775807"},
      {two + "3:1:1:1:1:0:0:1:1:2:1:0:0:-8:1\n",
       "t.prv:3:27: error: size is out of range; got \"-8\"; expected 0 to 4611686018427387904"},
      {two + "3:1:1:1:1:0:0:1:1:2:1:0:0:8:1:2\n",
       "t.prv:3:31: error: the record has too many fields; got \"2\"; expected the end of the line"},
      {two, "t.prv: error: the trace holds no call of MPI; expected events 50000001 to 50000003"},
      {two + call(1, 0, 1, 1, 2),
       "t.prv: error: no call of MPI in the trace has a message, and none is a collective; expected messages "
       "whose ends lie in the calls that they are of"},
      {two + call(1, 0, 1, 2, 8, ":50100004:9"),
       "t.prv:3: error: a communicator that is not defined; expected one of those above"},
      {two + call(1, 0, 1, 2, 7, ":50100004:1") + call(2, 0, 1, 2, 9, ":50100004:1"),
       "t.prv:5: error: tasks call different collectives at this place of the communicator; expected the "
       "calls of the "
       "tasks before"},
      {"#Paraver (x):5:0:1:2(0:1,1:1)\n",
       "t.prv:1:22: error: the threads of a task cannot be; got \"0\"; expected THREADS:NODE of each "
       "task"},
      {"#Paraver (x):5:0:1:2(4:1,1:1)\n2:1:1:1:2:5:6:7:50000001:2\n",
       "t.prv:2:17: error: not supported: a call of MPI of another thread of a task than the first in a "
       "Paraver "
       "trace; expected calls of thread 1"},
      {"#Paraver (x):5:0:1:2(4:1,1:1)\n3:1:1:1:1:0:0:1:1:1:4:0:0:8:1\n",
       "t.prv:2:21: error: not supported: a message between threads (CUDA, OpenCL) of a Paraver trace; "
       "expected "
       "messages of thread 1"},
      {two + call(1, 0, 1, 2, 178, ":50100001:8:50100002:8:50100004:1"),
       "t.prv:3: error: not supported: neighbor_alltoall of a Paraver trace, which does not say who the "
       "neighbours are; "
       "expected collectives of all tasks of a communicator"},
  };
  for (const Wrong& c : cases) {
    const std::string path = dir.write("t.prv", c.text);
    const auto t = open_trace({path}, "paraver");
    ASSERT_FALSE(t) << c.text;
    const std::string got = t.error().message();
    EXPECT_EQ(got.starts_with(path) ? "t.prv" + got.substr(path.size()) : got, c.message) << c.text;
  }
  const auto pair = open_trace({dir.path("t.prv"), dir.path("t.prv")}, "paraver");
  ASSERT_FALSE(pair);
  EXPECT_EQ(pair.error().message(),
            "error: a Paraver trace is one .prv file; got \"2 paths\"; expected one path");
}

}  // namespace
}  // namespace weft::traces::paraver_test
