// DUMPI: which operation each call becomes. Messages, completions, polls, collectives, times, losses; communicators are
// in dumpi_comm_test.cpp, cancelled receives in dumpi_cancel_test.cpp, requests of one number in dumpi_requests_test.cpp.
#include <gmock/gmock.h>

#include "tests/traces/dumpi/dumpi_testing.hpp"
#include "traces/info.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Dumpi, BlockingMessagesHaveTheirKindsPeersAndBytes) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  r[0].send(10, kDumpiInt, 1, 5)
      .send(3, kDumpiDouble, 1, 6, kDumpiWorld, 3)
      .send(2, kDumpiByte, 1, 7, kDumpiWorld, 4);
  r[0].send(1, kDumpiLongLong, 1, 8, kDumpiWorld, 5);
  r[1].recv(20, kDumpiInt, 0, 5, {{40, 0, 5}})
      .recv(3, kDumpiDouble, -1, -1, {{24, 0, 6}})
      .recv(2, kDumpiByte, 0, 7);
  r[1].recv(1, kDumpiLongLong, 0, 8, {{8, 0, 8}});
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(shown_ops(**t, 0), ElementsAre("send peer=1 tag=5 amount=40", "bsend peer=1 tag=6 amount=24",
                                             "ssend peer=1 tag=7 amount=2", "rsend peer=1 tag=8 amount=8"));
  // A match is said where the receive does not say it: a shorter message, wildcards.
  EXPECT_THAT(shown_ops(**t, 1),
              ElementsAre("recv tag=5 amount=80 list=[0,5,40]", "recv peer=-1 tag=-1 amount=24 list=[0,6,24]",
                          "recv tag=7 amount=2", "recv tag=8 amount=8"));
  EXPECT_EQ((*t)->totals().messages, 4u);
  EXPECT_EQ((*t)->totals().bytes, 74u);
  EXPECT_EQ((*t)->header().recorder, "dumpi 0.7.1");
  EXPECT_THAT((*t)->header().hostnames, ElementsAre("node", "node"));
  expect_checked(**t);
}

TEST(Dumpi, NonBlockingReceivesThatGotLessSayWhatTheyGot) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  for (int tag = 1; tag <= 4; ++tag) r[0].send(10, kDumpiInt, 1, tag);
  r[1].irecv(100, kDumpiInt, 0, 1, 5).wait(5, {{40, 0, 1}});
  r[1].irecv(100, kDumpiInt, 0, 2, 5).wait(5);                // no status
  r[1].irecv(100, kDumpiInt, 0, 3, 5).wait(5, {{40, 0, 7}});  // that of another message
  r[1].irecv(10, kDumpiInt, 0, 4, 5).wait(5, {{40, 0, 4}});
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  Strings receives = shown_ops(**t, 1);
  std::erase_if(receives, [](const std::string& s) { return s.starts_with("wait"); });
  EXPECT_THAT(receives, ElementsAre("irecv tag=1 amount=400 request=0 list=[0,1,40]",
                                    "irecv tag=2 amount=400 request=0", "irecv tag=3 amount=400 request=0",
                                    "irecv tag=4 amount=40 request=0"));
  expect_checked(**t);
}

// A status that the program ignored may hold anything: what cannot be is not believed.
TEST(Dumpi, AStatusThatCannotBeIsNotBelieved) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  for (int k = 0; k < 5; ++k) r[0].send(4, kDumpiByte, 1, 5);
  r[1].recv(4, kDumpiByte, -1, 5, {{4, 0, 5, true}});
  r[1].recv(4, kDumpiByte, -1, 5, {{1606419960, 0, 5}}).recv(4, kDumpiByte, -1, 5, {{4, 9, 5}});
  r[1].recv(4, kDumpiByte, -1, 5, {{4, 0, 6}}).recv(4, kDumpiByte, -1, 5, {{4, -7, 5}});
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  const std::string plain = "recv peer=-1 tag=5 amount=4";
  EXPECT_EQ(shown_ops(**t, 1), Strings(5, plain));
}

TEST(Dumpi, RequestsGetSlotsAndWaitsNameThem) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  r[0].isend(1, kDumpiInt, 1, 1, 2)
      .isend(1, kDumpiInt, 1, 2, 3, kDumpiWorld, 10)
      .wait(3)
      .isend(1, kDumpiInt, 1, 3, 3);
  r[0].waitall({2, 1, 3});
  r[1].irecv(1, kDumpiInt, 0, 1, 7).irecv(9, kDumpiInt, -1, -1, 8).irecv(1, kDumpiInt, 0, 3, 9);
  r[1].wait(8, {{4, 0, 2}}).waitall({7, 9});
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(shown_ops(**t, 0),
              ElementsAre("isend peer=1 tag=1 amount=4 request=0", "issend peer=1 tag=2 amount=4 request=1",
                          "wait peer=-1 tag=-1 request=1", "isend peer=1 tag=3 amount=4 request=1",
                          "waitall peer=-1 tag=-1 list=[0,1]"));
  // The irecv knows what its wait will find.
  EXPECT_THAT(
      shown_ops(**t, 1),
      ElementsAre("irecv tag=1 amount=4 request=0", "irecv peer=-1 tag=-1 amount=36 request=1 list=[0,2,4]",
                  "irecv tag=3 amount=4 request=2", "wait tag=2 amount=4 request=1",
                  "waitall peer=-1 tag=-1 list=[0,2]"));
  expect_checked(**t);
}

TEST(Dumpi, TheOtherCompletionsNameWhatTheyAskedForAndWhatWasComplete) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  for (int i = 0; i < 9; ++i) r[0].send(1, kDumpiByte, 1, i);
  for (int i = 0; i < 9; ++i) r[1].irecv(1, kDumpiByte, 0, i, 10 + i);
  r[1].waitany({10, 11, 1}, 1);
  r[1].testany({10, 12}, 0, false).testany({10, 12}, 1, true);
  r[1].waitsome({10, 1, 13, 14}, {3, 0});
  r[1].waitsome({13, 15}, {}, {}, 21).waitsome({13, 15}, {0}, {}, 21);
  r[1].testall({15, 16}, false).testall({15, 16}, true);
  r[1].test(17, false).test(17, true, {{1, 0, 7}});
  r[1].waitany({1, 1}, -32766).waitall({}).wait(1);
  r[1].waitall({18});
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  const auto ops = shown_ops(**t, 1);
  EXPECT_THAT(Strings(ops.begin() + 9, ops.end()),
              ElementsAre("waitany peer=-1 tag=-1 list=[2,0,1,1]", "testany peer=-1 tag=-1 list=[2,0,2,2]",
                          "waitsome peer=-1 tag=-1 list=[3,0,3,4,4,0]",
                          "testsome peer=-1 tag=-1 list=[2,3,5,3]", "testall peer=-1 tag=-1 list=[5,6]",
                          "test tag=7 amount=1 request=7", "waitall peer=-1 tag=-1 list=[8]"));
  expect_checked(**t);
}

TEST(Dumpi, PersistentRequestsAreStartedAndKept) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  r[0].isend(4, kDumpiInt, 1, 5, 2, kDumpiWorld, 26).isend(1, kDumpiInt, 1, 6, 3, kDumpiWorld, 28);
  r[1].irecv(4, kDumpiInt, 0, 5, 2, kDumpiWorld, 30).irecv(1, kDumpiInt, 0, 6, 3, kDumpiWorld, 30);
  for (DumpiWriter& w : r) {
    w.start(2).wait(2).wait(2);  // the second one finds it inactive
    w.startall({3, 2}).waitall({2, 3});
    w.request_free(2).request_free(3);
  }
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(
      shown_ops(**t, 0),
      ElementsAre("send_init peer=1 tag=5 amount=16 request=0", "ssend_init peer=1 tag=6 amount=4 request=1",
                  "start request=0", "wait peer=-1 tag=-1 request=0", "startall list=[1,0]",
                  "waitall peer=-1 tag=-1 list=[0,1]", "request_free request=0", "request_free request=1"));
  EXPECT_EQ((*t)->totals().messages, 3u);
  EXPECT_EQ((*t)->totals().bytes, 36u);
  expect_checked(**t);
}

// Whatever completes it, and each time another message.
TEST(Dumpi, TheStartOfAPersistentReceiveSaysWhatItGot) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  for (int tag = 5; tag < 9; ++tag) r[0].send(4, kDumpiByte, 1, tag);
  r[0].irecv(4, kDumpiByte, 1, 1, 2).wait(2, {{4, 1, 1}});
  r[1].irecv(9, kDumpiByte, -1, -1, 2, kDumpiWorld, 30).irecv(4, kDumpiByte, 0, 7, 3, kDumpiWorld, 30);
  r[1].isend(4, kDumpiByte, 0, 1, 4, kDumpiWorld, 26);
  r[1].start(2).waitall({2}, {{4, 0, 5}}).start(2).waitall({2}, {{4, 0, 6}});
  r[1].startall({4, 3, 2}).waitall({2, 3, 4}, {{4, 0, 8}, {4, 0, 7}, {0, 0, 0}});
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(
      shown_ops(**t, 1),
      ElementsAre("recv_init peer=-1 tag=-1 amount=9 request=0", "recv_init tag=7 amount=4 request=1",
                  "send_init tag=1 amount=4 request=2", "start request=0 list=[0,5,4]",
                  "waitall peer=-1 tag=-1 list=[0]", "start request=0 list=[0,6,4]",
                  "waitall peer=-1 tag=-1 list=[0]", "startall list=[1]", "start request=0 list=[0,8,4]",
                  "startall list=[2]", "waitall peer=-1 tag=-1 list=[0,1,2]"));
}

// A Startall of many is many operations, and a block holds only so many.
TEST(Dumpi, AStartallThatABlockHasNoRoomForBeginsTheNext) {
  const TempDir dir;
  auto r = dumpi_ranks(1);
  for (const int receives : {32, 33}) {
    weft::testing::DumpiInts all;
    for (int i = 0; i < receives; ++i) {
      all.push_back(2 + i);
      r[0].irecv(4, kDumpiByte, -1, i, 2 + i, kDumpiWorld, 30);
    }
    for (int k = 0; k < 300; ++k) r[0].startall(all).waitall(all);
    for (const int request : all) r[0].request_free(request);
  }
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  OpBlock block;
  std::size_t starts = 0, startalls = 0;
  for (;;) {
    const auto more = (*t)->next_block(RankId(0), block);
    ASSERT_TRUE(more) << more.error().message();
    if (!*more) break;
    EXPECT_LE(block.ops.size(), kMaxBlockOps);
    for (const Op& op : block.ops) {
      starts += op.kind == OpKind::start ? 1 : 0;
      startalls += op.kind == OpKind::startall ? 1 : 0;
    }
  }
  EXPECT_EQ(starts, 32u * 300);
  EXPECT_EQ(startalls, 300u) << "of 33, which is more than get a start each";
}

TEST(Dumpi, SendrecvIsTwoHalvesAndNoProcessIsKnownByItsStatus) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  for (int me = 0; me < 2; ++me) {
    const int other = 1 - me;
    r[static_cast<std::size_t>(me)].sendrecv(8, other, 1, 16, other, 1, {{8, other, 1}});
    // MPI_Sendrecv_replace 34.
    r[static_cast<std::size_t>(me)]
        .call(34)
        .i32(4)
        .h(kDumpiInt)
        .i32(other)
        .i32(2)
        .i32(-1)
        .i32(-1)
        .h(kDumpiWorld)
        .statuses({{16, other, 2}});
    // MPI_PROC_NULL of MPICH is -1, of Open MPI -2.
    r[static_cast<std::size_t>(me)]
        .sendrecv(8, -1, 1, 8, -1, 1, {{0, -1, -1}})
        .sendrecv(8, -2, 1, 8, -2, 1, {{0, -2, -1}});
    r[static_cast<std::size_t>(me)].irecv(8, kDumpiByte, -1, 3, 2).wait(2, {{0, -1, -1}});
  }
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(
      shown_ops(**t, 0),
      ElementsAre("sendrecv peer=1 tag=1 amount=8", "recv flags=1 peer=1 tag=1 amount=16 list=[1,1,8]",
                  "sendrecv peer=1 tag=2 amount=16", "recv flags=1 peer=-1 tag=-1 amount=16 list=[1,2,16]",
                  "sendrecv peer=-2 tag=1 amount=8", "recv flags=1 peer=-2 tag=1 amount=8",
                  "sendrecv peer=-2 tag=1 amount=8", "recv flags=1 peer=-2 tag=1 amount=8",
                  "irecv peer=-2 tag=3 amount=8 request=0", "wait peer=-1 tag=3 amount=8 request=0"));
  EXPECT_THAT(trace_warnings((*t)->header()), IsEmpty());
  expect_checked(**t);
}

// -1 is both in a file of MPICH: without a status nobody can tell.
TEST(Dumpi, ASourceThatCanBeAnyOrNoneIsTold) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  r[0].send(1, kDumpiByte, -1, 1).send(1, kDumpiByte, 1, 1);
  r[1].recv(1, kDumpiByte, -1, 1);
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(
      trace_warnings((*t)->header()),
      ElementsAre(
          "1 receive from -1 without a status: DUMPI writes any source and, for MPI libraries such as MPICH, "
          "no process the same way; taken as any source"));
}

TEST(Dumpi, PollsBecomeConditionalSteps) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  r[0].send(4, kDumpiByte, 1, 5).send(4, kDumpiByte, 1, 6);
  DumpiWriter& w = r[1];
  w.iprobe(-1, 5, false);
  w.gap_ns = 1000;  // spins: one place with the one before
  w.iprobe(-1, 5, false).iprobe(-1, 5, false);
  w.gap_ns = 10'000;
  w.iprobe(-1, 5, false).barrier(kDumpiSelf).iprobe(-1, 5, true, {{4, 0, 5}});
  w.recv(4, kDumpiByte, 0, 5).iprobe(0, 9, false).probe(0, -1, {{4, 0, 6}}).recv(4, kDumpiByte, 0, 6);
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  // init, compute, miss, compute, miss, compute, barrier, compute, hit, compute, recv: 6 and 4 to the hit, a body of 2.
  EXPECT_THAT(shown_ops(**t, 1),
              ElementsAre("iprobe peer=-1 tag=5 amount=3 list=[6]", "iprobe peer=-1 tag=5 amount=1 list=[4]",
                          "barrier comm=1 peer=-1", "iprobe flags=2 peer=-1 tag=5 amount=1 list=[0,2,0,5,4]",
                          "recv tag=5 amount=4", "iprobe tag=9 amount=1", "probe tag=-1 list=[0,6,4]",
                          "recv tag=6 amount=4"));
  expect_checked(**t);
}

// Slots are given out again as numbers of requests are: the forward is in that of the send which a body at the first poll
// would overtake the end of.
TEST(Dumpi, ABodyEndsBeforeARequestWhoseSlotIsInUseAtAnEarlierPoll) {
  for (const bool in_use : {false, true}) {
    const TempDir dir;
    auto r = dumpi_ranks(3);
    r[0].send(4, kDumpiByte, 1, 5);
    r[2].recv(4, kDumpiByte, 1, 4).recv(4, kDumpiByte, 1, 6);
    DumpiWriter& w = r[1];
    w.isend(4, kDumpiByte, 2, 4, 7);
    if (!in_use) w.wait(7);
    w.iprobe(0, 5, false);
    if (in_use) w.wait(7);
    w.iprobe(0, 5, true, {{4, 0, 5}}).recv(4, kDumpiByte, 0, 5).isend(4, kDumpiByte, 2, 6, 7).wait(7);
    auto t = open_ranks(dir, r);
    ASSERT_TRUE(t) << t.error().message();
    // Of the compute between each two, and the receive alone or all three.
    EXPECT_THAT(shown_ops(**t, 1), Contains(HasSubstr(in_use ? "list=[0,2,0,5,4]" : "list=[0,6,0,5,4]")));
    expect_checked(**t);
  }
}

TEST(Dumpi, CollectivesHaveTheirRootsBytesAndLists) {
  const TempDir dir;
  auto r = dumpi_ranks(3);
  for (int me = 0; me < 3; ++me) {
    DumpiWriter& w = r[static_cast<std::size_t>(me)];
    w.barrier().bcast(4, kDumpiInt, 2).gather(me, 5, kDumpiByte, 1).scatter(me, 6, kDumpiByte, 0);
    w.gatherv(me, 3, me + 1, kDumpiInt, 0, {1, 2, 3}).scatterv(me, 3, me + 1, kDumpiInt, 2, {1, 2, 3});
    w.allgather(7, kDumpiByte).allgatherv(me + 1, {1, 2, 3}, kDumpiByte).alltoall(2, kDumpiDouble);
    DumpiInts sent, received;
    for (int other = 0; other < 3; ++other) {
      sent.push_back(10 * me + other);
      received.push_back(10 * other + me);
    }
    w.alltoallv(sent, received, kDumpiByte).alltoallw(sent, received, {kDumpiByte, kDumpiByte, kDumpiByte});
    w.reduce(3, kDumpiDouble, 1).allreduce(4, kDumpiDouble).reduce_scatter({1, 2, 3}, kDumpiInt);
    w.allreduce(5, kDumpiByte, kDumpiWorld, 67).allreduce(6, kDumpiByte, kDumpiWorld, 156);
    w.alltoallv({}, {4, 4, 4}, kDumpiByte);  // MPI_IN_PLACE
  }
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(shown_ops(**t, 0),
              ElementsAre("barrier peer=-1", "bcast peer=2 amount=16", "gather peer=1 amount=5",
                          "scatter amount=6", "gatherv amount=4 list=[4,8,12]", "scatterv peer=2 amount=4",
                          "allgather peer=-1 amount=7", "allgatherv peer=-1 amount=1 list=[1,2,3]",
                          "alltoall peer=-1 amount=16", "alltoallv peer=-1 amount=3 list=[3,0,1,2,0,10,20]",
                          "alltoallw peer=-1 amount=3 list=[3,0,1,2,0,10,20]", "reduce peer=1 amount=24",
                          "allreduce peer=-1 amount=32", "reduce_scatter peer=-1 amount=24 list=[4,8,12]",
                          "scan peer=-1 amount=5", "exscan peer=-1 amount=6",
                          "alltoallv peer=-1 amount=12 list=[3,4,4,4,4,4,4]"));
  const auto last = shown_ops(**t, 2);
  EXPECT_THAT(
      Strings(last.begin() + 4, last.begin() + 10),
      ElementsAre("gatherv amount=12", "scatterv peer=2 amount=12 list=[4,8,12]",
                  "allgather peer=-1 amount=7", "allgatherv peer=-1 amount=3 list=[1,2,3]",
                  "alltoall peer=-1 amount=16", "alltoallv peer=-1 amount=63 list=[3,20,21,22,2,12,22]"));
  expect_checked(**t);
}

TEST(Dumpi, SizesOfDatatypesComeFromTheFileAndFromConstructors) {
  const TempDir dir;
  auto r = dumpi_ranks(1);
  DumpiWriter& w = r[0];
  w.type_sizes.resize(40, 0);
  w.type_sizes[30] = 24;
  const auto send = [&w](int type) { w.send(2, type, -2, 0); };
  send(30);                     // said by the file
  w.type_contiguous(5, 9, 31);  // 20
  send(31);
  w.type_contiguous(2, 31, 31);  // the number given out again: 40
  send(31);
  w.call(36).i32(3).i32(2).i32(9).h(kDumpiDouble).h(32);  // Type_vector: 48
  send(32);
  w.call(38).i32(3).ints({1, 2, 3}).ints({0, 5, 9}).h(kDumpiInt).h(33);  // Type_indexed: 24
  send(33);
  w.call(40).i32(2).ints({2, 1}).ints({0, 64}).halves({31, kDumpiByte}).h(34);  // Type_struct: 81
  send(34);
  w.call(223).i32(2).ints({9, 9}).ints({3, 4}).ints({0, 0}).u8(1).h(kDumpiInt).h(
      35);  // Type_create_subarray: 48
  send(35);
  w.call(221).h(35).i32(0).i32(512).h(36);  // Type_create_resized
  send(36);
  send(kDumpiLongLong);  // 0 in the file: 8
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  std::vector<std::int64_t> bytes;
  for (const PlainOp& p : ops_of_rank(**t, 0))
    if (p.op.kind == OpKind::send) bytes.push_back(p.op.amount / 2);
  EXPECT_THAT(bytes, ElementsAre(24, 20, 40, 48, 24, 81, 48, 48, 8));
}

TEST(Dumpi, ComputationIsTheTimeBetweenCallsWithThatOfLocalOnes) {
  const TempDir dir;
  auto r = dumpi_ranks(1);
  DumpiWriter& w = r[0];
  w.barrier();                  // 10 us
  w.comm_rank(2, 0).call(122);  // local: 10 + 5 + 10 + 5
  w.barrier();                  // + 10 = 40 us
  w.gap_ns = 150;
  w.barrier();  // too short
  w.barrier();  // 300 ns
  w.gap_ns = 1500;
  w.isend(1, kDumpiByte, 0, 0, 2).irecv(1, kDumpiByte, 0, 0, 3);  // 1.5 us each
  w.test(2, false);                                               // spins: its 1.5 us count for nothing
  w.gap_ns = 3000;
  w.test(2, false);             // worked: 3 us
  w.test(2, true);              // + 3
  w.wait(3);                    // 3
  w.pause(70'000'000'000'000);  // seconds wrap at 65536; the clock is said in less
  w.gap_ns = 0;
  w.barrier();
  w.pause(40'000'000'000'000);
  w.barrier();
  w.pause(30'000'000'000'000);  // over the end: 8928 s stand after 44464 s
  w.barrier();
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  std::vector<std::int64_t> ns;
  for (const PlainOp& p : ops_of_rank(**t, 0))
    if (p.op.kind == OpKind::compute_time) ns.push_back(p.op.amount / 1000);
  // What is longer than a wrap loses whole ones: 70000 s are 4464 s and 65536 s that nothing tells.
  EXPECT_THAT(ns, ElementsAre(10'000, 40'000, 300, 1500, 1500, 6000, 3000, 4'464'000'000'000,
                              40'000'000'000'000, 30'000'000'000'000));
  EXPECT_EQ((*t)->header().recording.clock, ComputeClock::kWall);
}

// Thread 1 calls before the clock wraps and within the call of thread 0, which is after the wrap when it is over.
TEST(Dumpi, ATimeJustBeforeTheWrapIsNoComputation) {
  const TempDir dir;
  auto r = dumpi_ranks(1);
  DumpiWriter& w = r[0];
  w.gap_ns = 0;
  w.call_ns = 200'000'000;
  w.pause(65'530'000'000'000);
  w.barrier();
  w.pause(5'650'000'000);
  w.barrier();  // until 65536.05 s
  w.thread = 1;
  w.pause(-250'000'000);
  w.barrier();  // from 65535.8 s
  w.thread = 0;
  w.pause(1'000'000'000);
  w.barrier();
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  std::vector<std::int64_t> ms;
  for (const PlainOp& p : ops_of_rank(**t, 0))
    if (p.op.kind == OpKind::compute_time) ms.push_back(p.op.amount / 1'000'000'000);
  // 1 s behind the call of thread 1, which ended 50 ms before that of thread 0.
  EXPECT_THAT(ms, ElementsAre(65'530'000, 5'650, 950));
}

TEST(Dumpi, TheCpuClockIsTakenWhereThereIsNoOther) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  for (DumpiWriter& w : r) w = DumpiWriter();
  r[0].mask = 4 | 64;
  r[1].mask = 64;
  for (DumpiWriter& w : r) w.init().barrier().barrier();
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ((*t)->header().recording.clock, ComputeClock::kCpu);
  EXPECT_THAT(trace_warnings((*t)->header()),
              ElementsAre("1 rank without times: their computation is not in the trace"));
  const auto info = scan_trace(**t);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->compute, Duration(30'000'000));
}

TEST(Dumpi, ThreadsAndOverlapsAreTold) {
  const TempDir dir;
  auto r = dumpi_ranks(1);
  DumpiWriter& w = r[0];
  w.barrier();
  w.thread = 1;
  w.pause(-12'000);  // inside the call of thread 0
  w.barrier();
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_EQ((*t)->header().recording.threads, 2u);
  EXPECT_EQ((*t)->header().recording.concurrent_calls, 1u);
  EXPECT_THAT(trace_warnings((*t)->header()),
              ElementsAre(HasSubstr("MPI was called by up to 2 threads of a rank")));
}

TEST(Dumpi, CallsThatNoOperationStandsForAreCountedByName) {
  const TempDir dir;
  auto r = dumpi_ranks(1);
  DumpiWriter& w = r[0];
  w.call(145).i32(64).i32(1).h(0).h(kDumpiWorld).h(1);     // Win_create
  w.call(143).i32(1).h(9).i32(0).i32(0).i32(1).h(9).h(1);  // Put
  w.call(146).u8(0).h(1).call(146).u8(0).h(1);             // Win_fence
  w.call(230).h(kDumpiWorld).text("f").u8(1).h(0).h(1);    // File_open
  w.call(253).h(1).i32(4).h(9).i32(2);                     // File_iwrite makes request 2
  w.wait(2);
  w.call(91).h(kDumpiSelf).i32(0).h(kDumpiWorld).i32(0).i32(1).h(4);  // Intercomm_create
  w.send(1, kDumpiByte, 0, 0, 4).isend(1, kDumpiByte, 0, 0, 5, 4).wait(5).barrier(4);
  w.send(1, kDumpiByte, 0, 0, 9);  // a communicator that nothing made
  w.wait(77);                      // a request that nothing started
  w.counter_names = {"PAPI_TOT_CYC"};
  w.mask |= 128;
  w.counters = 1;
  w.called[8] = 7;  // MPI_Isend, of which 1 is recorded
  w.barrier();
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(shown_ops(**t, 0), ElementsAre("barrier peer=-1"));
  const auto& lost = (*t)->header().recording.not_recorded;
  ASSERT_EQ(lost.size(), 10u);
  EXPECT_EQ(lost[0], (NotRecorded{"one-sided communication", "MPI_Put", 1}));
  EXPECT_THAT(
      trace_warnings((*t)->header()),
      ElementsAre(
          "6 calls (MPI_Isend 6 of them) made while DUMPI did not record: they are not in the trace",
          "1 completion of requests whose start is not in the trace: left out",
          "4 calls of one-sided communication (MPI_Win_fence 2, MPI_Put 1, MPI_Win_create 1) are not in the "
          "trace: a "
          "replay leaves out their time and all waiting for them",
          "2 calls of file I/O (MPI_File_open 1, MPI_File_iwrite 1) are not in the trace: a replay leaves "
          "out their time "
          "and all waiting for them",
          "4 calls of communication on inter-communicators (MPI_Send 1, MPI_Isend 1, MPI_Barrier 1, "
          "MPI_Intercomm_create "
          "1) are not in the trace: a replay leaves out their time and all waiting for them",
          "1 call of communication on communicators that nothing in the trace makes (MPI_Send 1) is not in "
          "the trace: a "
          "replay leaves out their time and all waiting for them"));
  EXPECT_THAT((*t)->header().notes,
              Contains("2 calls with performance counters (PAPI_TOT_CYC): not used, computation "
                       "is the time between calls."));
}

// Blocks end at their limits and go on with all that the rank knows; ranks are read in any order.
TEST(Dumpi, BlocksAreTheSameHoweverTheyAreRead) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  Rng rng(seed_or(3));
  for (int i = 0; i < 30'000; ++i) {
    const int bytes = static_cast<int>(rng.below(1000));
    r[0].isend(bytes, kDumpiByte, 1, 1, 2 + i % 5);
    r[1].irecv(1000, kDumpiByte, -1, 1, 2 + i % 5);
    if (i % 5 != 4) continue;
    r[0].waitall({2, 3, 4, 5, 6});
    r[1].waitall({6, 5, 4, 3, 2}, {{bytes, 0, 1}, {5, 0, 1}, {5, 0, 1}, {5, 0, 1}, {5, 0, 1}});
  }
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  std::vector<std::vector<PlainOp>> apart;
  for (const std::uint32_t rank : {1u, 0u}) {
    auto ops = read_rank(**t, rank);
    ASSERT_TRUE(ops) << ops.error().message();
    EXPECT_EQ(ops->size(), (*t)->ops_of(RankId(rank)));
    apart.insert(apart.begin(), *ops);
  }
  (*t)->rewind();
  std::vector<std::vector<PlainOp>> together(2);
  OpBlock b;
  for (bool more = true; more;) {
    more = false;
    for (const std::uint32_t rank : {0u, 1u}) {
      const auto got = (*t)->next_block(RankId(rank), b);
      ASSERT_TRUE(got) << got.error().message();
      if (!*got) continue;
      more = true;
      EXPECT_LE(b.ops.size(), kMaxBlockOps);
      for (auto& p : plain(b)) together[rank].push_back(std::move(p));
    }
  }
  EXPECT_TRUE(apart == together);
  // Operation 2 + 2k is the k-th isend before the first wait: with its record, from the start.
  EXPECT_THAT((*t)->position(RankId(0), 4), HasSubstr("(record 2, rank 0)"));
  expect_checked(**t);
}

}  // namespace
}  // namespace weft::traces
