// The trace doctor on programs that TI text cannot express: sub-communicators, wildcards with recorded
// matches, persistent requests, polls, non-blocking collectives.
#include "tests/traces/check_programs.hpp"
#include "traces/recorded/blocks_ahead.hpp"

namespace weft::traces {
namespace {
using namespace check_programs;

TEST(CheckProgram, AWildcardReceiveTakesTheMatchThatWasRecorded) {
  const TempDir dir;
  // Rank 2 got rank 1's message first. In the order of ranks the 8-byte receive would take rank 0's 80 bytes.
  Program p(dir, 3);
  p.add(0, send(2, 5, 80)).add(1, send(2, 6, 8));
  p.add(2, recv(kAnySource, kAnyTag, 8), L{1, 6, 8}).add(2, recv(kAnySource, kAnyTag, 80), L{0, 5, 80});
  EXPECT_EQ(p.findings(), "");
  // Recorded by the wait of a wildcard irecv.
  Program q(dir, 3);
  q.add(0, send(2, 5, 80)).add(1, send(2, 6, 8));
  q.add(2, with_request(recv(kAnySource, kAnyTag, 8), OpKind::irecv, 0))
      .add(2, with_request(recv(kAnySource, kAnyTag, 80), OpKind::irecv, 1))
      .add(2, wait(0, 1, 6, 8))
      .add(2, wait(1, 0, 5, 80));
  EXPECT_EQ(q.findings(), "");
  // A recorded match that nobody sends is an error, whatever else is there.
  Program bad(dir, 3);
  bad.add(0, send(2, 5, 80));
  bad.add(2, recv(kAnySource, kAnyTag, 80), L{1, 6, 8});
  EXPECT_EQ(
      bad.findings(),
      "E 2.0 rank 2 at operation 0 (): recv from rank 1 with tag 6 waits forever: what it waits for never "
      "comes, the other side has finished\n");
}

TEST(CheckProgram, AGuessedMatchMakesFindingsWarnings) {
  const TempDir dir;
  Program p(dir, 3);
  p.add(0, send(2, 5, 80)).add(1, send(2, 6, 8));
  p.add(2, recv(kAnySource, kAnyTag, 8)).add(2, recv(kAnySource, kAnyTag, 80));
  EXPECT_EQ(
      p.findings(),
      "W -1.-1 what receives from any source take decides: there is an order of arrival in which the program "
      "ends without these findings\n"
      "W 2.0 : rank 2 receive: posted 8 bytes, but the message of rank 0 with tag 5 has 80 ()\n");
}

// The same program with ranks 0 and 1 exchanged: the order that comes first ends well, another one does not.
TEST(CheckProgram, AFaultOfAnOrderThatIsNotTheFirstIsAWarning) {
  const TempDir dir;
  Program p(dir, 3);
  p.add(0, send(2, 5, 8)).add(1, send(2, 6, 80));
  p.add(2, recv(kAnySource, kAnyTag, 8)).add(2, recv(kAnySource, kAnyTag, 80));
  EXPECT_EQ(
      p.findings(),
      "W -1.-1 what receives from any source take decides: there is an order of arrival in which the program "
      "ends with these findings\n"
      "W 2.0 : rank 2 receive: posted 8 bytes, but the message of rank 1 with tag 6 has 80 ()\n");
}

TEST(CheckProgram, AFaultOfEveryOrderOfArrivalIsAnError) {
  const TempDir dir;
  Program p(dir, 3);
  p.add(0, send(2, 5, 80)).add(1, send(2, 6, 80));
  p.add(2, recv(kAnySource, kAnyTag, 80)).add(2, recv(kAnySource, kAnyTag, 8));
  EXPECT_EQ(p.findings(),
            "E 2.1 : rank 2 receive: posted 8 bytes, but the message of rank 1 with tag 6 has 80 ()\n");
  // One sender is no choice at all.
  Program one(dir, 3);
  one.add(0, send(2, 5, 80)).add(0, send(2, 5, 80));
  one.add(2, recv(kAnySource, 5, 80));
  EXPECT_EQ(
      one.findings(),
      "E 0.1 : rank 0 send: rank 2 never receives this message (tag 5, 80 bytes, communicator world)\n");
}

// The first message that rank 0's receive can have is too large; that another could come first is known only when rank 2 sends.
TEST(CheckProgram, AFaultThatAnotherOrderMendsIsAWarningWhereverItIsFound) {
  const TempDir dir;
  Program p(dir, 3);
  p.add(0, recv(kAnySource, 0, 8)).add(0, recv(kAnySource, 0, 16));
  p.add(1, send(2, 0, 8)).add(1, send(0, 0, 16));
  p.add(2, recv(kAnySource, 0, 8)).add(2, send(0, 0, 8));
  EXPECT_EQ(
      p.findings(),
      "W -1.-1 what receives from any source take decides: there is an order of arrival in which the program "
      "ends without these findings\n"
      "W 0.0 : rank 0 receive: posted 8 bytes, but the message of rank 1 with tag 0 has 16 ()\n");
}

// More orders of arrival than are tried, which is no matter: who sends what to a receive that names it, and which requests a
// rank has, is the same in all.
TEST(CheckProgram, AFaultThatNoOrderMendsIsAnErrorHoweverManyThereAre) {
  const TempDir dir;
  constexpr std::int32_t kSenders = 8;
  Program p(dir, kSenders + 1);
  p.add(0, recv(1, 1, 8));
  p.add(1, send(0, 1, 80));
  for (std::int32_t s = 1; s <= kSenders; ++s) {
    p.add(static_cast<std::uint32_t>(s), send(0, 5, 8));
    p.add(0, recv(kAnySource, 5, 8));
  }
  p.add(0, send(1, 2, 8)).add(1, recv(0, 2, 8)).add(1, wait(7));
  EXPECT_EQ(p.findings(),
            "E 0.0 : rank 0 receive: posted 8 bytes, but the message of rank 1 with tag 1 has 80 ()\n"
            "E 1.3 : rank 1 wait: request 7 is not active\n");
}

// MPI's progress rule: the receive is posted, so the synchronous send ends while its receiver is in the barrier.
TEST(CheckProgram, APostedReceiveFromAnySourceMatchesWhileItsRankWaitsForSomethingElse) {
  const TempDir dir;
  for (const bool send_first : {true, false})
    for (const int known : {0, 1, 2}) {  // not at all, at the receive, at its wait
      SCOPED_TRACE(std::to_string(known) + (send_first ? " send first" : ""));
      Program p(dir, 2);
      const std::uint32_t sender = send_first ? 0 : 1, receiver = 1 - sender;
      const auto from = static_cast<std::int32_t>(sender);
      p.add(sender, send(static_cast<std::int32_t>(receiver), 5, 8, OpKind::ssend))
          .add(sender, coll(OpKind::barrier, kWorld, kAnySource, 0));
      p.add(receiver, with_request(recv(kAnySource, 5, 8), OpKind::irecv, 0),
            known == 1 ? std::optional(L{from, 5, 8}) : std::nullopt)
          .add(receiver, coll(OpKind::barrier, kWorld, kAnySource, 0))
          .add(receiver, known == 2 ? wait(0, from, 5, 8) : wait(0));
      EXPECT_EQ(p.findings(true), "");
    }
  // Another tag or communicator does not let it end.
  Program other(dir, 2);
  other.add(0, send(1, 5, 8, OpKind::ssend)).add(0, coll(OpKind::barrier, kWorld, kAnySource, 0));
  other.add(1, with_request(recv(kAnySource, 6, 8), OpKind::irecv, 0))
      .add(1, coll(OpKind::barrier, kWorld, kAnySource, 0))
      .add(1, wait(0));
  EXPECT_EQ(other.findings(),
            "E 0.0 deadlock: rank 0 at operation 0 (): ssend to rank 1 with tag 5 (8 bytes), waits for rank "
            "1; rank 1 "
            "at operation 1 (): barrier on world waits for rank 0, waits for rank 0\n");
}

// The waits stand out of sight of the receives: the guess is put right.
TEST(CheckProgram, AMatchRecordedByALaterCompletionReplacesTheGuess) {
  const TempDir dir;
  for (const std::int32_t first : {0, 1}) {
    Program p(dir, 3);
    p.add(0, send(2, 5, first == 0 ? 8 : 80)).add(1, send(2, 5, first == 0 ? 80 : 8));
    p.add(2, with_request(recv(kAnySource, 5, 8), OpKind::irecv, 0))
        .add(2, with_request(recv(kAnySource, 5, 80), OpKind::irecv, 1))
        .add(2, coll(OpKind::barrier, kWorld, kAnySource, 0));
    for (const std::uint32_t r : {0u, 1u}) p.add(r, coll(OpKind::barrier, kWorld, kAnySource, 0));
    for (std::size_t i = 0; i < (BlocksAhead::kMostAhead + 1) * kMaxBlockOps; ++i)
      p.add(2, {.kind = OpKind::compute_time, .amount = 1});
    p.add(2, wait(0, first, 5, 8)).add(2, wait(1, 1 - first, 5, 80));
    EXPECT_EQ(p.findings(), "");
    // The recording has left no choice, so another fault is one for certain.
    p.add(0, send(2, 6, 8));
    EXPECT_EQ(
        p.findings(),
        "E 0.2 : rank 0 send: rank 2 never receives this message (tag 6, 8 bytes, communicator world)\n");
  }
}

// Both halves of a sendrecv wait, in any order.
TEST(CheckProgram, WithSynchronousSendsBothHalvesOfASendrecvAreWaitedFor) {
  const TempDir dir;
  Op half = recv(1, 5, 8);
  half.flags = kPairedRecv;
  Program ring(dir, 2);
  ring.add(0, send(1, 5, 8, OpKind::sendrecv)).add(0, half);
  half.peer = 0;
  ring.add(1, send(0, 5, 8, OpKind::sendrecv)).add(1, half);
  EXPECT_EQ(ring.findings(true), "");
  // The receive half has its message, the send half is received only after another exchange.
  Program late(dir, 2);
  half.peer = 1;
  late.add(0, send(1, 5, 8, OpKind::sendrecv)).add(0, half).add(0, send(1, 7, 8));
  late.add(1, send(0, 5, 8)).add(1, recv(0, 7, 8)).add(1, recv(0, 5, 8));
  EXPECT_EQ(late.findings(), "");
  EXPECT_EQ(late.findings(true),
            "W 0.1 depends on buffering: with synchronous sends this is a deadlock: rank 0 at operation 1 "
            "(): sendrecv "
            "to rank 1, waits for rank 1; rank 1 at operation 1 (): recv from rank 0 with tag 7, waits for "
            "rank 0\n");
}

TEST(CheckProgram, PersistentRequestsRestartAndTheirFaultsAreNamed) {
  const TempDir dir;
  Program p(dir, 2);
  p.add(0, with_request(send(1, 5, 8), OpKind::send_init, 0));
  p.add(1, with_request(recv(0, 5, 8), OpKind::recv_init, 0));
  for (const std::uint32_t r : {0u, 1u}) {
    for (int i = 0; i < 3; ++i) p.add(r, {.kind = OpKind::start, .request = 0}).add(r, wait(0));
    p.add(r, {.kind = OpKind::startall}, L{0}).add(r, {.kind = OpKind::waitall}, L{0});
    p.add(r, {.kind = OpKind::request_free, .request = 0});
  }
  EXPECT_EQ(p.findings(), "");
  // One start too few on the sender's side: the fourth receive never ends.
  Program few(dir, 2);
  few.add(0, with_request(send(1, 5, 8), OpKind::send_init, 0));
  few.add(1, with_request(recv(0, 5, 8), OpKind::recv_init, 0));
  for (int i = 0; i < 2; ++i) {
    if (i == 0) few.add(0, {.kind = OpKind::start, .request = 0}).add(0, wait(0));
    few.add(1, {.kind = OpKind::start, .request = 0}).add(1, wait(0));
  }
  EXPECT_EQ(few.findings(),
            "E 1.4 rank 1 at operation 4 (): wait of the recv_init at operation 3 from rank 0 with tag 5 "
            "waits forever: "
            "what it waits for never comes, the other side has finished\n");
  Program wrong(dir, 2);
  wrong.add(0, with_request(send(1, 5, 8), OpKind::isend, 3))
      .add(0, {.kind = OpKind::start, .request = 3})
      .add(0, wait(3))
      .add(0, {.kind = OpKind::start, .request = 4})
      .add(0, with_request(send(kProcNull, 5, 8), OpKind::send_init, 0))
      .add(0, {.kind = OpKind::start, .request = 0})
      .add(0, {.kind = OpKind::start, .request = 0})
      .add(0, wait(0));
  wrong.add(1, recv(0, 5, 8));
  EXPECT_EQ(wrong.findings(),
            "E 0.1 : rank 0 start: request 3 is not a persistent request\n"
            "E 0.3 : rank 0 start: request 4 is not a persistent request\n"
            "E 0.6 : rank 0 start: request 0 is started already\n");
}

TEST(CheckProgram, APollThatHitMustFindItsMessageAndAMissDoesNothing) {
  const TempDir dir;
  const Op poll{.kind = OpKind::iprobe, .peer = 0, .tag = 5, .amount = 1};
  Op hit = poll;
  hit.flags = kHit;
  Program p(dir, 2);
  p.add(0, send(1, 5, 8));
  p.add(1, poll, L{1}).add(1, hit, L{0, 1, 0, 5, 8}).add(1, recv(0, 5, 8)).add(1, poll);
  EXPECT_EQ(p.findings(), "");
  // A hit without a message, though the rank goes on sending after it: each side waits for the other.
  Program dead(dir, 2);
  dead.add(0, recv(1, 7, 4)).add(0, send(1, 5, 8));
  dead.add(1, hit, L{0, 1, 0, 5, 8}).add(1, recv(0, 5, 8)).add(1, send(0, 7, 4));
  EXPECT_EQ(
      dead.findings(),
      "E 0.0 deadlock: rank 0 at operation 0 (): recv from rank 1 with tag 7, waits for rank 1; rank 1 at "
      "operation 0 (): iprobe from rank 0 with tag 5, waits for rank 0\n");
  // Found, but left there.
  Program left(dir, 2);
  left.add(0, send(1, 5, 8));
  left.add(1, hit, L{0, 0, 0, 5, 8});
  EXPECT_EQ(left.findings(),
            "E 0.0 : rank 0 send: rank 1 never receives this message (tag 5, 8 bytes, communicator world)\n");
}

TEST(CheckProgram, PollsNameAHitOfTheirOwnAndBodiesEndWithinTheProgram) {
  const TempDir dir;
  const Op miss{.kind = OpKind::iprobe, .peer = 0, .tag = 5, .amount = 1};
  Op hit = miss, other = miss, improbe = miss;
  hit.flags = kHit;
  other.tag = 6;
  improbe.kind = OpKind::improbe;
  const Op compute{.kind = OpKind::compute_time, .amount = 1};
  const auto findings = [&](const std::function<void(Program&)>& polls) {
    Program p(dir, 2);
    p.add(0, send(1, 5, 8));
    polls(p);
    return p.findings();
  };
  // Two misses of one hit, and a poll of another run between.
  EXPECT_EQ(findings([&](Program& p) {
              p.add(1, miss, L{3})
                  .add(1, miss, L{2})
                  .add(1, other)
                  .add(1, hit, L{0, 1, 0, 5, 8})
                  .add(1, recv(0, 5, 8));
            }),
            "");
  EXPECT_EQ(
      findings([&](Program& p) {
        p.add(1, miss, L{1}).add(1, compute).add(1, miss, L{1}).add(1, miss).add(1, other, L{2});
        p.add(1, improbe, L{1}).add(1, hit, L{0, 1, 0, 5, 8}).add(1, recv(0, 5, 8)).add(1, miss, L{2});
      }),
      "E 1.0 : rank 1 iprobe: operation 1, which it says is its hit, is compute\n"
      "E 1.2 : rank 1 iprobe: operation 3, which it says is its hit, is iprobe without a hit\n"
      "E 1.4 : rank 1 iprobe: operation 6, which it says is its hit, is that of another poll\n"
      "E 1.5 : rank 1 improbe: its hit, operation 6, is that of another poll, operation 4\n"
      "E 1.8 : rank 1 iprobe: operation 10, which it says is its hit, is beyond the end of the program\n");
  EXPECT_EQ(findings([&](Program& p) {
              p.add(1, hit, L{0, 2, 0, 5, 8}).add(1, recv(0, 5, 8));
            }),
            "E 1.0 : rank 1 iprobe: its body of 2 operations is longer than the rest of the program\n");
}

TEST(CheckProgram, OneCallCompletesARequestOnce) {
  const TempDir dir;
  Program p(dir, 2);
  for (const std::uint32_t slot : {0u, 1u, 2u}) p.add(0, with_request(send(1, 5, 8), OpKind::isend, slot));
  p.add(0, {.kind = OpKind::waitany}, L{3, 2, 0, 1, 1});
  p.add(0, {.kind = OpKind::waitsome}, L{3, 2, 0, 2, 2});
  p.add(0, {.kind = OpKind::waitall}, L{0, 0});
  for (int i = 0; i < 3; ++i) p.add(1, recv(0, 5, 8));
  EXPECT_EQ(p.findings(),
            "E 0.4 : rank 0 waitsome: request 2 stands twice among its requests\n"
            "E 0.5 : rank 0 waitall: request 0 stands twice among its requests\n");
}

TEST(CheckProgram, NonBlockingCollectivesCompleteInTheirWait) {
  const TempDir dir;
  Program p(dir, 2);
  // The order of the waits is free; a blocking program in this order would deadlock.
  p.add(0, coll(OpKind::ibarrier, kWorld, kAnySource, 0, 0)).add(0, recv(1, 5, 8)).add(0, wait(0));
  p.add(1, send(0, 5, 8)).add(1, coll(OpKind::ibarrier, kWorld, kAnySource, 0, 0)).add(1, wait(0));
  EXPECT_EQ(p.findings(true), "");
  Program size(dir, 2);
  size.add(0, coll(OpKind::iallreduce, kWorld, kAnySource, 8, 0)).add(0, wait(0));
  size.add(1, coll(OpKind::iallreduce, kWorld, kAnySource, 16, 0)).add(1, wait(0));
  EXPECT_EQ(size.findings(), "E 1.0 : rank 1 iallreduce: 16 bytes on world, but rank 0 has 8 ()\n");
  // The wait that needs the other rank, which waits for a message first.
  Program dead(dir, 2);
  dead.add(0, coll(OpKind::ibarrier, kWorld, kAnySource, 0, 0)).add(0, wait(0)).add(0, send(1, 5, 8));
  dead.add(1, recv(0, 5, 8)).add(1, coll(OpKind::ibarrier, kWorld, kAnySource, 0, 0)).add(1, wait(0));
  EXPECT_EQ(
      dead.findings(),
      "E 0.1 deadlock: rank 0 at operation 1 (): wait of the ibarrier at operation 0 on world waits for rank "
      "1, waits for rank 1; rank 1 at operation 0 (): recv from rank 0 with tag 5, waits for rank 0\n");
}

TEST(CheckProgram, MembersOfASubCommunicatorThatDisagreeAreNamed) {
  const TempDir dir;
  Program kind(dir, 4);
  CommId odd = kind.comm({3, 1});
  kind.add(1, coll(OpKind::bcast, odd, 1, 8)).add(3, coll(OpKind::barrier, odd, kAnySource, 0));
  EXPECT_EQ(kind.findings(), "E 3.0 : rank 3 barrier: disagrees on split1: rank 1 calls bcast ()\n");
  Program root(dir, 4);
  odd = root.comm({3, 1});
  root.add(1, coll(OpKind::bcast, odd, 1, 8)).add(3, coll(OpKind::bcast, odd, 3, 8));
  EXPECT_EQ(root.findings(), "E 3.0 : rank 3 bcast: root 3 on split1, but rank 1 has root 1 ()\n");
  Program size(dir, 4);
  odd = size.comm({3, 1});
  size.add(1, coll(OpKind::bcast, odd, 1, 8)).add(3, coll(OpKind::bcast, odd, 1, 9));
  EXPECT_EQ(size.findings(), "E 3.0 : rank 3 bcast: 9 bytes on split1, but rank 1 has 8 ()\n");
  // Agreement in one communicator does not need agreement with another.
  Program fine(dir, 4);
  odd = fine.comm({3, 1});
  const CommId even = fine.comm({0, 2});
  for (const std::uint32_t r : {1u, 3u}) fine.add(r, coll(OpKind::bcast, odd, 1, 8));
  for (const std::uint32_t r : {0u, 2u}) fine.add(r, coll(OpKind::reduce, even, 2, 80));
  for (const std::uint32_t r : {0u, 1u, 2u, 3u}) fine.add(r, coll(OpKind::barrier, kWorld, kAnySource, 0));
  EXPECT_EQ(fine.findings(true), "");
  // A member that never comes.
  Program absent(dir, 4);
  odd = absent.comm({3, 1});
  absent.add(1, coll(OpKind::bcast, odd, 1, 8));
  EXPECT_EQ(
      absent.findings(),
      "E 1.0 : rank 1 collective: bcast on split1 is never called by rank 3 (1 of 2 members call it)\n");
}

// MPI-3.1, sections 5.7 and 5.10.1: the sizes of all members stand in the call of each, and are the same in all.
TEST(CheckProgram, MembersThatNameTheSizesOfAllNameTheSameOnes) {
  const TempDir dir;
  for (const OpKind kind :
       {OpKind::allgatherv, OpKind::iallgatherv, OpKind::reduce_scatter, OpKind::ireduce_scatter}) {
    SCOPED_TRACE(op_name(kind));
    const bool sum = blocking_form(kind) == OpKind::reduce_scatter;
    const auto findings = [&](const std::vector<L>& lists) {
      Program p(dir, 3);
      for (std::uint32_t r = 0; r < 3; ++r) {
        const bool waits = is_nonblocking_collective(kind);
        p.add(r, coll(kind, kWorld, kAnySource, sum ? 12 : lists[0][r], waits ? 0 : kNoRequest), lists[r]);
        if (waits) p.add(r, wait(0));
      }
      return p.findings();
    };
    EXPECT_EQ(findings({{4, 8, 0}, {4, 8, 0}, {4, 8, 0}}), "");
    EXPECT_EQ(
        findings({{4, 8, 0}, {4, 8, 0}, {8, 4, 0}}),
        fmt::format("E 2.0 : rank 2 {}: its sizes on world are not those of rank 0 ()\n", op_name(kind)));
  }
}

TEST(CheckProgram, NeighboursExpectWhatIsSentToThem) {
  const TempDir dir;
  // A ring of three to the right, rank 1 with a process that is none; the collectives of one kind.
  const auto findings = [&](OpKind kind, const std::vector<L>& lists,
                            const std::vector<std::int64_t>& amounts) {
    Program p(dir, 3);
    for (std::uint32_t r = 0; r < 3; ++r) {
      p.add(r,
            coll(kind, kWorld, kAnySource, amounts[r], kind == OpKind::ineighbor_alltoallv ? 0 : kNoRequest),
            lists[r]);
      if (kind == OpKind::ineighbor_alltoallv) p.add(r, wait(0));
    }
    return p.findings();
  };
  const std::vector<L> ring = {{1, 2, 1, 1}, {2, kProcNull, 0, 1, 2}, {1, 1, 1, 0}};
  EXPECT_EQ(findings(OpKind::neighbor_allgather, ring, {8, 16, 8}), "");
  EXPECT_EQ(findings(OpKind::neighbor_allgather, {{0, 2, 2, 1}, {1, 0, 0}, {1, 0, 0}}, {8, 0, 0}), "");
  EXPECT_EQ(findings(OpKind::neighbor_alltoall, {{1, 2, 1, 1}, {1, 0, 1, 2}, {1, 1, 1, 1}}, {8, 8, 8}),
            "E 2.0 : rank 2 neighbor_alltoall: rank 2 has rank 0 0 times among its destinations on world, "
            "which has it "
            "1 time among its sources ()\n");
  EXPECT_EQ(findings(OpKind::neighbor_alltoall, {{1, 2, 2, 1, 1}, {1, 0, 1, 2}, {1, 1, 1, 0}}, {8, 8, 8}),
            "E 2.0 : rank 2 neighbor_alltoall: rank 0 has rank 1 2 times among its destinations on world, "
            "which has it "
            "1 time among its sources ()\n");
  EXPECT_EQ(findings(OpKind::neighbor_allgather, {{2, 1, 2, 0}, {0, 1, 0}, {0, 1, 0}}, {8, 8, 9}),
            "E 2.0 : rank 2 neighbor_allgather: rank 0 receives 8 bytes from rank 1 and 9 from rank 2 on "
            "world ()\n");
  for (const OpKind kind : {OpKind::neighbor_allgatherv, OpKind::ineighbor_alltoallv}) {
    EXPECT_EQ(
        findings(kind, {{2, 2, 2, 1, 1, 7, 5, 3}, {1, 0, 1, 2, 3, 4}, {1, 1, 2, 0, 0, 4, 5, 7}}, {3, 4, 12}),
        "");
    EXPECT_EQ(findings(kind, {{1, 2, 1, 1, 5, 3}, {1, 0, 1, 2, 3, 4}, {1, 1, 1, 0, 6, 5}}, {3, 4, 5}),
              fmt::format("E 2.0 : rank 2 {}: rank 1 sends 4 bytes to rank 2 on world, which expects 6 ()\n",
                          op_name(kind)));
  }
}

TEST(CheckProgram, CommunicatorsAreUsedByThoseWhoMadeThemUntilTheyAreFreed) {
  const TempDir dir;
  const auto make = [](CommId made, bool given = true, OpKind kind = OpKind::comm_split) {
    return Op{.kind = kind, .amount = given ? static_cast<std::int64_t>(made.index()) : -1};
  };
  const auto freed = [](CommId comm) { return Op{.kind = OpKind::comm_free, .comm = comm}; };
  const auto barrier = [](CommId comm) { return coll(OpKind::barrier, comm, kAnySource, 0); };
  // What was started before the end goes on, an id may be made again, and what nobody makes was there before.
  Program fine(dir, 2);
  const CommId split = fine.comm({0, 1}), there = fine.comm({0, 1});
  for (const std::uint32_t r : {0u, 1u}) {
    const auto peer = static_cast<std::int32_t>(1 - r);
    fine.add(r, make(split)).add(r, barrier(there));
    fine.add(r, with_request(on(split, recv(peer, 5, 8)), OpKind::irecv, 0))
        .add(r, on(split, send(peer, 5, 8)));
    fine.add(r, freed(split)).add(r, on(split, wait(0, peer, 5, 8)));
    fine.add(r, make(split, true, OpKind::comm_dup)).add(r, barrier(split)).add(r, freed(split));
    fine.add(r, {.kind = OpKind::finalize}).add(r, {.kind = OpKind::compute_time, .amount = 5});
  }
  EXPECT_EQ(fine.findings(), "");

  Program wrong(dir, 2);
  (void)wrong.comm({0, 1});
  (void)wrong.comm({0, 1});
  for (const std::uint32_t r : {0u, 1u}) {
    wrong.add(r, make(there, r == 0))
        .add(r, barrier(there))
        .add(r, barrier(there));  // its split denied it to rank 1
    wrong.add(r, make(split)).add(r, barrier(split)).add(r, freed(split)).add(r, barrier(split));
  }
  wrong.add(0, freed(split));
  wrong.add(1, {.kind = OpKind::finalize}).add(1, {.kind = OpKind::compute_time, .amount = 5});
  wrong.add(1, {.kind = OpKind::finalize});
  EXPECT_EQ(wrong.findings(),
            "E 0.6 : rank 0 barrier: communicator split1 was freed at operation 5\n"
            "E 0.7 : rank 0 comm_free: communicator split1 was freed at operation 5\n"
            "E 1.1 : rank 1 barrier: rank 0 makes communicator split2, this rank does not\n"
            "E 1.6 : rank 1 barrier: communicator split1 was freed at operation 5\n"
            "E 1.9 : rank 1 finalize: comes after the finalize at operation 7\n");
}

TEST(CheckProgram, RanksOutsideACommunicatorAreErrors) {
  const TempDir dir;
  Program p(dir, 3);
  const CommId pair = p.comm({0, 1});
  p.add(0, on(pair, send(2, 5, 8))).add(1, on(pair, recv(2, 5, 8))).add(2, on(pair, send(1, 5, 8)));
  p.add(0, coll(OpKind::bcast, pair, 2, 8)).add(2, coll(OpKind::barrier, pair, kAnySource, 0));
  EXPECT_EQ(p.findings(),
            "E 0.0 : rank 0 send: destination 2 is not in communicator split1\n"
            "E 0.1 : rank 0 bcast: root 2 is not in communicator split1\n"
            "E 1.0 : rank 1 recv: source 2 is not in communicator split1\n"
            "E 2.0 : rank 2 send: rank 2 is not in communicator split1\n"
            "E 2.1 : rank 2 barrier: rank 2 is not in communicator split1\n");
}

TEST(CheckProgram, MessagesMatchWithinTheirCommunicatorOnly) {
  const TempDir dir;
  Program p(dir, 2);
  const CommId copy = p.comm({0, 1});
  p.add(0, on(copy, send(1, 5, 8))).add(1, recv(0, 5, 8));
  EXPECT_EQ(
      p.findings(),
      "E 1.0 rank 1 at operation 0 (): recv from rank 0 with tag 5 waits forever: what it waits for never "
      "comes, the other side has finished\n");
}

TEST(CheckProgram, RequestsThatAreNeverCompletedOrDoNotExistAreNamed) {
  const TempDir dir;
  Program p(dir, 2);
  p.add(0, with_request(send(1, 5, 8), OpKind::isend, 0))
      .add(0, with_request(send(1, 6, 8), OpKind::isend, 1));
  p.add(1, recv(0, 5, 8)).add(1, recv(0, 6, 8)).add(1, wait(7));
  EXPECT_EQ(p.findings(),
            "E 1.2 : rank 1 wait: request 7 is not active\n"
            "W 0.0 : rank 0 isend: its request and 1 more of this rank are never completed\n");
  Program reuse(dir, 2);
  reuse.add(0, with_request(send(1, 5, 8), OpKind::isend, 0))
      .add(0, with_request(send(1, 6, 8), OpKind::isend, 0));
  reuse.add(0, wait(0));
  reuse.add(1, recv(0, 5, 8)).add(1, recv(0, 6, 8));
  EXPECT_EQ(reuse.findings(),
            "E 0.1 : rank 0 isend: request 0 is still in use by the isend at operation 0\n");
}

TEST(CheckProgram, ARankThatWaitsForItselfIsACycleOfOne) {
  const TempDir dir;
  Program p(dir, 2);
  p.add(1, recv(1, 5, 8)).add(1, send(1, 5, 8));
  EXPECT_EQ(p.findings(),
            "E 1.0 deadlock: rank 1 at operation 0 (): recv from rank 1 with tag 5, waits for rank 1\n");
  Program s(dir, 1);
  s.add(0, send(0, 5, 8, OpKind::ssend)).add(0, recv(0, 5, 8));
  EXPECT_EQ(
      s.findings(),
      "E 0.0 deadlock: rank 0 at operation 0 (): ssend to rank 0 with tag 5 (8 bytes), waits for rank 0\n");
}

TEST(CheckProgram, ACycleOfThreeNamesEveryRankAndNotThoseThatOnlyWaitForIt) {
  const TempDir dir;
  Program p(dir, 5);
  for (std::int32_t r = 0; r < 3; ++r) {
    p.add(static_cast<std::uint32_t>(r), recv((r + 1) % 3, 5, 8));
    p.add(static_cast<std::uint32_t>(r), send((r + 2) % 3, 5, 8));
  }
  p.add(3, recv(0, 9, 1)).add(0, send(3, 9, 1));
  EXPECT_EQ(
      p.findings(),
      "E 0.0 deadlock: rank 0 at operation 0 (): recv from rank 1 with tag 5, waits for rank 1; rank 1 at "
      "operation 0 (): recv from rank 2 with tag 5, waits for rank 2; rank 2 at operation 0 (): recv from "
      "rank 0 with tag 5, waits for rank 0\n");
}

TEST(CheckProgram, NoProcessIsNeverWaitedFor) {
  const TempDir dir;
  Program p(dir, 1);
  p.add(0, send(kProcNull, 5, 8, OpKind::ssend)).add(0, recv(kProcNull, 5, 8));
  p.add(0, with_request(send(kProcNull, 5, 8), OpKind::issend, 0)).add(0, wait(0));
  p.add(0, with_request(recv(kProcNull, 5, 8), OpKind::irecv, 0)).add(0, wait(0, kProcNull, kAnyTag, 0));
  p.add(0, send(kProcNull, 5, 8, OpKind::sendrecv));
  Op half = recv(kProcNull, 5, 8);
  half.flags = kPairedRecv;
  p.add(0, half);
  EXPECT_EQ(p.findings(true), "");
}

TEST(CheckProgram, AnUnknownCommunicatorCannotBeWritten) {
  const TempDir dir;
  TraceHeader h;
  h.ranks = 1;
  auto w = TraceWriter::create(dir.path("t.weft"), h);
  OpBlock b;
  b.rank = RankId(0);
  b.ops.push_back(coll(OpKind::barrier, CommId(4), kAnySource, 0));
  w->append(b);
  const auto done = w->finish();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, "append: operation 0 of rank 0: unknown communicator");
}

TEST(CheckProgram, RegionsThatDoNotNestAreAWarning) {
  const TempDir dir;
  const auto t = dir.path("t.weft");
  TraceHeader h;
  h.ranks = 1;
  auto w = TraceWriter::create(t, h);
  (void)w->add_region("a");
  (void)w->add_region("b");
  OpBlock b;
  b.rank = RankId(0);
  for (const auto& [k, id] :
       {std::pair{OpKind::region_begin, 0}, {OpKind::region_begin, 1}, {OpKind::region_end, 0}})
    b.ops.push_back(Op{.kind = k, .amount = id});
  w->append(b);
  ASSERT_TRUE(w->finish());
  const auto r = check_trace(**open_trace({t}));
  ASSERT_EQ(r->warnings, 1u);
  EXPECT_NE(r->findings[0].message.find("region a is not the one that was begun last"), std::string::npos);
}

}  // namespace
}  // namespace weft::traces
