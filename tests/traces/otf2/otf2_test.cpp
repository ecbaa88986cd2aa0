// OTF2 archives -> operations: what each kind of event becomes (docs/otf2.md), by archives written event by event.
#include <gmock/gmock.h>

#include "tests/traces/otf2/otf2_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/formats/otf2/mpi_calls.hpp"
#include "traces/formats/otf2/sums.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Otf2, BlockingCallsHaveTheModeOfTheirRegion) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 2);
    for (const char* mode : {"MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend"}) {
      w[0].enter(mode).send(1, 7, 100).leave();
      w[1].enter("MPI_Recv").recv(0, 7, 100).leave();
    }
    w[0].send(1, 8, 5);  // outside of any region: a plain send
    w[1].enter("MPI_Mrecv").recv(0, 8, 5).leave();
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 0),
              ElementsAre("send peer=1 tag=7 amount=100", "ssend peer=1 tag=7 amount=100",
                          "bsend peer=1 tag=7 amount=100", "rsend peer=1 tag=7 amount=100",
                          "send peer=1 tag=8 amount=5"));
  EXPECT_THAT(shown_program(*t, 1), Contains("recv tag=8 amount=5"));
  EXPECT_EQ(t->totals().messages, 5u);
  EXPECT_EQ(t->totals().bytes, 405u);
  EXPECT_THAT(t->header().hostnames, ElementsAre("node7", "node7"));
  EXPECT_TRUE(check_trace(*t)->ok());
}

TEST(Otf2, ASendrecvIsBothHalvesAndOneWithoutAPartnerIsTheOther) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 2);
    w[0].enter("MPI_Sendrecv").send(1, 1, 10).recv(1, 2, 20).leave();
    w[1].enter("MPI_Sendrecv_replace").send(0, 2, 20).recv(0, 1, 10).leave();
    w[0].enter("MPI_Sendrecv").send(1, 3, 30).leave();  // received from MPI_PROC_NULL
    w[1].enter("MPI_Sendrecv").recv(0, 3, 30).leave();
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 0),
              ElementsAre("sendrecv peer=1 tag=1 amount=10", "recv flags=1 peer=1 tag=2 amount=20",
                          "send peer=1 tag=3 amount=30"));
  EXPECT_THAT(shown_program(*t, 1), ElementsAre("sendrecv tag=2 amount=20", "recv flags=1 tag=1 amount=10",
                                                "recv tag=3 amount=30"));
  EXPECT_TRUE(check_trace(*t)->ok());
}

TEST(Otf2, AReceiveStandsWhereItWasPostedAndSaysWhatCame) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 2);
    w[0].enter("MPI_Irecv").irecv(70).leave();
    w[0].enter("MPI_Isend").isend(1, 4, 44, 71).leave();
    w[0].enter("MPI_Issend").isend(1, 5, 55, 72).leave();
    w[0].enter("MPI_Waitall").sent(71).received(1, 9, 99, 70).sent(72).leave();
    w[1].enter("MPI_Irecv").irecv(1).leave();
    w[1].enter("MPI_Irecv").irecv(2).leave();
    w[1].enter("MPI_Wait").received(0, 5, 55, 2).leave();
    w[1].enter("MPI_Test").tested(1).leave();  // said no: nothing
    w[1].enter("MPI_Test").received(0, 4, 44, 1).leave();
    w[1].enter("MPI_Irsend").isend(0, 9, 99, 1).leave();
    w[1].enter("MPI_Wait").sent(1).leave();
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 0),
              ElementsAre("irecv peer=1 tag=9 amount=99 request=0", "isend peer=1 tag=4 amount=44 request=1",
                          "issend peer=1 tag=5 amount=55 request=2", "waitall peer=-1 tag=-1 list=[1,0,2]"));
  EXPECT_THAT(shown_program(*t, 1),
              ElementsAre("irecv tag=4 amount=44 request=0", "irecv tag=5 amount=55 request=1",
                          "wait tag=5 amount=55 request=1", "test tag=4 amount=44 request=0",
                          "irsend tag=9 amount=99 request=0", "wait peer=-1 tag=-1 request=0"));
  EXPECT_TRUE(check_trace(*t)->ok());
}

TEST(Otf2, WaitsForSomeNameThoseThatWereAskedForWhereTestsTellThem) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 2);
    for (const int r : {1, 2, 3})
      w[0].enter("MPI_Isend").isend(1, 0, 8, static_cast<std::uint64_t>(r)).leave();
    w[0].enter("MPI_Waitany").tested(1).sent(2).tested(3).leave();
    w[0].enter("MPI_Testsome").tested(1).tested(3).leave();  // none
    w[0].enter("MPI_Waitsome").sent(1).sent(3).leave();
    for (int i = 0; i < 3; ++i) w[1].enter("MPI_Recv").recv(0, 0, 8).leave();
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  const auto ops = shown_program(*t, 0);
  ASSERT_EQ(ops.size(), 5u);
  EXPECT_EQ(ops[3], "waitany peer=-1 tag=-1 list=[3,0,1,2,1]");
  EXPECT_EQ(ops[4], "waitsome peer=-1 tag=-1 list=[2,0,2,0,2]");
  EXPECT_TRUE(check_trace(*t)->ok());
}

TEST(Otf2, WhatWasCancelledOrNeverCompletedIsLeftOut) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 2);
    w[0].enter("MPI_Irecv").irecv(1).leave();
    w[0].enter("MPI_Irecv").irecv(2).leave();
    w[0].enter("MPI_Isend").isend(1, 0, 8, 3).leave();
    w[0].enter("MPI_Wait").cancelled(1).leave();
    w[0].enter("MPI_Wait").sent(99).leave();
    w[1].enter("MPI_Recv").recv(0, 0, 8).leave();
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 0), ElementsAre("isend peer=1 amount=8 request=1", "request_free request=1"));
  EXPECT_THAT(t->header().warnings,
              ElementsAre("1 receive that nothing completed: left out",
                          "1 send that nothing completed: taken as freed",
                          "1 completion of requests whose start is not in the trace: left out"));
  EXPECT_THAT(t->header().notes, Contains("1 request cancelled: left out, with MPI_Cancel."));
  EXPECT_TRUE(check_trace(*t)->ok());
}

// Score-P's rule (SCOREP_Mpi_Coll), written down a second time: sizes are sums over the communicator.
struct Recorded {
  std::uint64_t sent, received;
};
Recorded score_p(OpKind k, std::uint64_t n, std::uint64_t me, bool root, std::uint64_t b, bool in_place) {
  const std::uint64_t others = in_place ? n - 1 : n;
  switch (k) {
    case OpKind::bcast:
      return {root ? n * b : 0, b};
    case OpKind::gather:
    case OpKind::reduce:
      return {root && in_place ? 0 : b, root ? others * b : 0};
    case OpKind::scatter:
      return {root ? others * b : 0, root && in_place ? 0 : b};
    case OpKind::allgather:
    case OpKind::alltoall:
    case OpKind::allreduce:
    case OpKind::reduce_scatter_block:
      return {others * b, others * b};
    case OpKind::scan:
      return {(n - me - (in_place ? 1 : 0)) * b, (me + (in_place ? 0 : 1)) * b};
    case OpKind::exscan:
      return {(n - me - 1) * b, me * b};
    default:
      return {0, 0};
  }
}

TEST(Otf2Sums, EverySizeComesBackFromTheSumsOfItsCommunicator) {
  for (const OpKind k :
       {OpKind::barrier, OpKind::bcast, OpKind::gather, OpKind::reduce, OpKind::scatter, OpKind::allgather,
        OpKind::alltoall, OpKind::allreduce, OpKind::reduce_scatter_block, OpKind::scan, OpKind::exscan})
    for (std::uint64_t n = 1; n <= 40; ++n)
      for (std::uint64_t me = 0; me < n; ++me)
        for (const std::uint64_t bytes : {0u, 1u, 7u, 8u, 4096u, 1'000'003u})
          for (const bool in_place : {false, true})
            for (const std::uint64_t root : {std::uint64_t{0}, n - 1}) {
              const auto [sent, received] = score_p(k, n, me, me == root, bytes, in_place);
              const otf2::Part p =
                  otf2::part_of(k, {static_cast<std::int64_t>(n), static_cast<std::int64_t>(me), me == root,
                                    static_cast<std::int64_t>(sent), static_cast<std::int64_t>(received)});
              // Nothing is said of what a lone member would have sent itself, nor what 0 of 2 would be of.
              if (sent == 0 && received == 0) {
                EXPECT_EQ(p.bytes, 0);
                continue;
              }
              // In place that looks like the other.
              const bool all = k == OpKind::allgather || k == OpKind::alltoall || k == OpKind::allreduce ||
                               k == OpKind::reduce_scatter_block;
              if (in_place && all && sent % n == 0) continue;
              if (in_place && k == OpKind::scan && sent % (n - me) == 0 && received % (me + 1) == 0 &&
                  sent / (n - me) == received / (me + 1))
                continue;
              EXPECT_EQ(p.bytes, static_cast<std::int64_t>(bytes))
                  << op_name(k) << " of " << n << " on " << me << " root " << root << " in place "
                  << in_place;
              EXPECT_FALSE(p.plain);
            }
}

TEST(Otf2, CollectivesAreDividedBackAndStandOnTheirCommunicators) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 4);
    const auto half = w.comm({1, 3}), self = w.comm({}, {}, OTF2_GROUP_TYPE_COMM_SELF);
    for (std::uint32_t r = 0; r < 4; ++r) {
      w[r].enter("MPI_Barrier").collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0).leave();
      w[r].enter("MPI_Bcast").collective(OTF2_COLLECTIVE_OP_BCAST, r == 2 ? 400 : 0, 100, 2).leave();
      w[r].enter("MPI_Allreduce")
          .collective(OTF2_COLLECTIVE_OP_ALLREDUCE, 24, 24)
          .leave();  // in place, 3 others
      w[r].enter("MPI_Allreduce")
          .collective(OTF2_COLLECTIVE_OP_ALLREDUCE, 8, 8, Otf2Writer::kNone, self)
          .leave();
      if (r % 2 == 1)
        w[r].enter("MPI_Reduce").collective(OTF2_COLLECTIVE_OP_REDUCE, 6, r == 3 ? 12 : 0, 1, half).leave();
    }
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 3),
              ElementsAre("barrier peer=-1", "bcast peer=2 amount=100", "allreduce peer=-1 amount=6",
                          "allreduce comm=5 peer=-1 amount=8", "reduce comm=1 peer=3 amount=6"));
  ASSERT_EQ(t->communicators().size(), 6u);
  EXPECT_THAT(t->communicators()[1].members, ElementsAre(1, 3));
  EXPECT_THAT(t->communicators()[5].members, ElementsAre(3));
  EXPECT_EQ(t->communicators()[0].name, "world");
  EXPECT_TRUE(check_trace(*t)->ok());
}

TEST(Otf2, RegionsOfTheProgramAreKeptAndTimeBetweenCallsIsComputation) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 1);
    // Ticks of 1 ns.
    w[0].at(1000).enter("main").at(2000).enter("MPI_Init").at(3000).leave();
    w[0].at(5000).enter("solve").at(9000).enter("MPI_Comm_rank").at(9500).leave();  // local: computation
    w[0].at(10'000)
        .enter("MPI_Barrier")
        .at(10'500)
        .collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0)
        .at(20'000)
        .leave();
    w[0].at(20'050).enter("MPI_Barrier").collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0).at(20'600).leave();
    w[0].at(21'000).leave().at(22'000).enter("MPI_Finalize").at(23'000).leave().at(23'700).leave();
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 0),
              ElementsAre("region_begin", "init", "region_begin amount=1", "barrier peer=-1",
                          "barrier peer=-1", "region_end amount=1", "finalize", "region_end"));
  // 50 ns are too short for an operation of their own and go with the next.
  EXPECT_THAT(computes(*t, 0), ElementsAre(1'000'000, 2'000'000, 5'000'000, 450'000, 1'000'000, 700'000));
  EXPECT_THAT(t->regions(), ElementsAre("main", "solve"));
}

TEST(Otf2, CallsWithLargeCountsAreNoComputation) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 2);
    w[0].at(1000).enter("MPI_Init").at(2000).leave();
    w[0].at(902'000).enter("MPI_Ssend_c").send(1, 7, 8).at(903'000).leave();
    w[1].at(1000).enter("MPI_Init").at(2000).leave();
    w[1].at(3000).enter("MPI_Recv_c").at(902'500).recv(0, 7, 8).at(903'000).leave();
    w[1].at(904'000).enter("MPI_Finalize").leave();
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 0), ElementsAre("init", "ssend peer=1 tag=7 amount=8"));
  EXPECT_THAT(computes(*t, 1), ElementsAre(1'000'000, 1'000'000));
  EXPECT_THAT(t->header().warnings, IsEmpty());
}

// Their messages are there, but what they wait counts as computation: that must not be silent.
TEST(Otf2, CallsByUnknownNamesThatTalkAreCountedByName) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 2);
    for (int i = 0; i < 2; ++i) {
      w[0].enter("MPI_Send").send(1, 0, 8).leave();
      w[1].enter("MPI_Recv_new").recv(0, 0, 8).leave();
    }
    for (std::uint32_t r = 0; r < 2; ++r) {
      w[r].call("MPI_Comm_rank").enter("MPI_Barrier").call("MPI_Comm_size");
      w[r].collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0).leave();
      w[r].enter("MPI_Comm_rank")
          .enter("MPI_Barrier")
          .collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0)
          .leave()
          .leave();
      w[r].enter("MPI_Newcast").collective(OTF2_COLLECTIVE_OP_BCAST, r == 0 ? 16 : 0, 8, 0);
      w[r].collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0).leave();
    }
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(
      t->header().warnings,
      ElementsAre("4 calls of MPI by names that are not known, with messages or collectives: their time "
                  "counts as computation (MPI_Newcast 2, MPI_Recv_new 2)"));
  EXPECT_TRUE(check_trace(*t)->ok());
}

TEST(Otf2, NamesOfRegionsMeanTheFunctionsThatTheyAreOf) {
  using otf2::CallClass;
  const auto cls = [](const char* name, bool mpi = true) { return otf2::classify(name, mpi).cls; };
  EXPECT_EQ(cls("MPI_Send"), CallClass::send);
  EXPECT_EQ(cls("mpi_send_"), CallClass::send);
  EXPECT_EQ(cls("MPI_SEND"), CallClass::send);
  EXPECT_EQ(cls("MPI_Send()", false), CallClass::send);
  // With large counts (MPI 4).
  EXPECT_EQ(cls("MPI_Recv_c"), CallClass::receive);
  EXPECT_EQ(cls("mpi_recv_c_", false), CallClass::receive);
  EXPECT_EQ(cls("MPI_Put_c"), CallClass::lost);
  EXPECT_EQ(cls("MPI_Get_count_c"), CallClass::local);
  EXPECT_EQ(otf2::classify("MPI_Isend_c", true).kind, OpKind::isend);
  EXPECT_EQ(otf2::classify("MPI_Ialltoallv_c", true).kind, OpKind::ialltoallv);
  EXPECT_EQ(cls("sender", false), CallClass::user);
  EXPECT_EQ(cls("main"), CallClass::local);
  EXPECT_EQ(cls("MPI_Comm_rank"), CallClass::local);
  EXPECT_EQ(cls("MPI_Neighbor_alltoall"), CallClass::lost);
  EXPECT_EQ(cls("MPI_Win_fence"), CallClass::lost);
  EXPECT_EQ(cls("MPI_Win_get_group"), CallClass::local);
  EXPECT_EQ(cls("MPI_File_write_at_all"), CallClass::lost);
  EXPECT_EQ(otf2::classify("MPI_Issend", true).kind, OpKind::issend);
  EXPECT_EQ(otf2::classify("MPI_Ireduce_scatter_block", true).kind, OpKind::ireduce_scatter_block);
  EXPECT_EQ(otf2::classify("MPI_Exscan", true).kind, OpKind::exscan);
}

}  // namespace
}  // namespace weft::traces
