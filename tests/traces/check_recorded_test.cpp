// The trace doctor on recorded matches that cannot be right, and on tests that said yes.
#include <fmt/format.h>

#include <tuple>

#include "tests/traces/check_programs.hpp"
#include "traces/recorded/blocks_ahead.hpp"

namespace weft::traces {
namespace {

using namespace check_programs;

// A recording that names another source or tag than the call is wrong; the call is believed. One that names none tells nothing.
TEST(CheckRecorded, AMatchThatWasNotAskedForIsToldAndNotBelieved) {
  const TempDir dir;
  const Op probe{.kind = OpKind::probe, .peer = 0, .tag = 5};
  const Op any{.kind = OpKind::probe, .peer = kAnySource, .tag = kAnyTag};
  for (const auto& [op, got, wrong] :
       {std::tuple(probe, L{0, 5, 8}, false), std::tuple(probe, L{1, 5, 8}, true),
        std::tuple(probe, L{0, 6, 8}, true), std::tuple(any, L{0, 5, 8}, false),
        std::tuple(any, L{kAnySource, 9, 8}, false)}) {
    Program p(dir, 3);
    p.add(0, send(2, 5, 8)).add(2, op, got).add(2, recv(0, 5, 8));
    EXPECT_EQ(p.findings(),
              wrong ? "E 2.0 : rank 2 probe: what it got in the recording is not what it asks for\n" : "");
  }
  for (const OpKind kind : {OpKind::recv, OpKind::irecv}) {
    Program p(dir, 2);
    p.add(0, send(1, 5, 8))
        .add(1, with_request(recv(0, 5, 8), kind, kind == OpKind::irecv ? 0 : kNoRequest), L{0, 7, 8});
    if (kind == OpKind::irecv) p.add(1, wait(0, 0, 5, 8));
    EXPECT_EQ(p.findings(),
              fmt::format("E 1.0 : rank 1 {}: what it got in the recording is not what it asks for\n",
                          op_name(kind)));
    // Nobody knows what it got, so it takes what comes.
    Program q(dir, 2);
    q.add(0, send(1, 5, 8))
        .add(1, with_request(recv(kAnySource, kAnyTag, 8), kind, kind == OpKind::irecv ? 0 : kNoRequest),
             L{kProcNull, 5, 8});
    if (kind == OpKind::irecv) q.add(1, wait(0, 0, 5, 8));
    EXPECT_EQ(q.findings(), "");
  }
}

// Of a persistent receive the start tells it.
TEST(CheckRecorded, AStartSaysWhatItsReceiveTook) {
  const TempDir dir;
  const auto findings = [&](std::int32_t source, L got) {
    Program p(dir, 3);
    p.add(0, send(2, 5, 8)).add(1, send(2, 5, 8));
    p.add(2, with_request(recv(source, kAnyTag, 8), OpKind::recv_init, 0));
    p.add(2, {.kind = OpKind::start, .peer = kAnySource, .request = 0}, std::move(got));
    p.add(2, {.kind = OpKind::waitall}, L{0}).add(2, recv(0, 5, 8));
    if (source >= 0) p.add(2, recv(1, 5, 8));
    return p.findings();
  };
  EXPECT_EQ(findings(kAnySource, {1, 5, 8}), "") << "the other one is that of rank 0";
  EXPECT_NE(findings(kAnySource, {0, 5, 8}), "");
  Program wrong(dir, 2);
  wrong.add(0, send(1, 5, 8)).add(1, with_request(recv(0, 5, 8), OpKind::recv_init, 0));
  wrong.add(1, {.kind = OpKind::start, .peer = kAnySource, .request = 0}, L{0, 7, 8}).add(1, wait(0));
  EXPECT_EQ(wrong.findings(), "E 1.1 : rank 1 start: what it got in the recording is not what it asks for\n");
}

Op cancel(std::uint32_t slot) { return {.kind = OpKind::cancel, .request = slot}; }
// Operations enough that what follows stands so many blocks on.
void far_on(Program& p, std::uint32_t rank, std::size_t blocks) {
  for (std::size_t i = 0; i < blocks * kMaxBlockOps; ++i)
    p.add(rank, {.kind = OpKind::compute_time, .amount = 1});
}
// At hand, in sight, and beyond.
constexpr std::size_t kBlocks[] = {0, 1, BlocksAhead::kMostAhead, BlocksAhead::kMostAhead + 1};

// MPI-3.1, section 3.8.4: a receive that matched completes as if there were no cancel.
TEST(CheckRecorded, ACancelThatCameTooLateChangesNothing) {
  const TempDir dir;
  for (const OpKind kind : {OpKind::irecv, OpKind::recv_init})
    for (const std::int32_t source : {1, kAnySource})
      for (const std::size_t blocks : kBlocks) {
        Program p(dir, 2);
        p.add(0, with_request(recv(source, 3, 100), kind, 0));
        if (kind == OpKind::recv_init) p.add(0, {.kind = OpKind::start, .request = 0});
        p.add(0, cancel(0));
        far_on(p, 0, blocks);
        p.add(0, wait(0, 1, 3, 100));
        p.add(0, send(1, 4, 8)).add(1, send(0, 3, 100)).add(1, recv(0, 4, 8));
        EXPECT_EQ(p.findings(), "");
        EXPECT_EQ(p.findings(true), "") << "nor with synchronous sends";
      }
  // Its message must come.
  Program p(dir, 2);
  p.add(0, with_request(recv(1, 3, 100), OpKind::irecv, 0)).add(0, cancel(0)).add(0, wait(0, 1, 3, 100));
  EXPECT_EQ(p.check().errors, 1u);
  // What completes several says nothing of each, so it has what comes, else it was withdrawn.
  for (const bool sent : {false, true}) {
    Program q(dir, 2);
    q.add(0, with_request(recv(1, 3, 100), OpKind::irecv, 0)).add(0, cancel(0));
    q.add(0, {.kind = OpKind::waitall}, L{0});
    if (sent) q.add(1, send(0, 3, 100));
    EXPECT_EQ(q.findings(), "");
  }
}

// The run of the doctor brings the message before the cancel, the recording brought it after.
TEST(CheckRecorded, AReceiveThatWasWithdrawnLeavesItsMessageToOthers) {
  const TempDir dir;
  for (const std::int32_t source : {0, kAnySource})
    for (const std::int32_t second : {0, kAnySource})
      for (const std::size_t blocks : kBlocks) {
        Program p(dir, 2);
        p.add(0, send(1, 2, 10));
        p.add(1, with_request(recv(source, 2, 10), OpKind::irecv, 0)).add(1, cancel(0));
        far_on(p, 1, blocks);
        p.add(1, wait(0)).add(1, recv(second, 2, 10));
        EXPECT_EQ(p.findings(), "");
      }
  // Nobody else takes it.
  Program p(dir, 2);
  p.add(0, send(1, 2, 10));
  p.add(1, with_request(recv(0, 2, 10), OpKind::irecv, 0)).add(1, cancel(0)).add(1, wait(0));
  EXPECT_EQ(
      p.findings(),
      "E 0.0 : rank 0 send: rank 1 never receives this message (tag 2, 10 bytes, communicator world)\n");
}

// Rank 0 has the message of rank 2, which goes on only then, or only then with synchronous sends; by rank it would be that of
// rank 1, which nobody waits for.
TEST(CheckRecorded, AReceiveHasTheMessageThatItsWaitTellsBlocksLater) {
  const TempDir dir;
  for (const OpKind kind : {OpKind::send, OpKind::ssend})
    for (std::size_t blocks = 0; blocks <= BlocksAhead::kMostAhead; ++blocks) {
      SCOPED_TRACE(blocks);
      const Op barrier = coll(OpKind::barrier, kWorld, kAnySource, 0);
      Program p(dir, 3);
      p.add(0, with_request(recv(kAnySource, 0, 8), OpKind::irecv, 0));
      far_on(p, 0, blocks);
      p.add(0, barrier).add(0, wait(0, 2, 0, 8)).add(0, recv(1, 0, 8));
      p.add(1, with_request(send(0, 0, 8), OpKind::isend, 0)).add(1, barrier).add(1, wait(0));
      p.add(2, send(0, 0, 8, kind)).add(2, barrier);
      EXPECT_EQ(p.findings(true), "");
    }
}

// MPI 3.1, 3.7.3: MPI_Test and its like are local, a wait is not. Each rank sends, asks, then receives.
TEST(CheckRecorded, WithSynchronousSendsATestOfSendsHoldsNobodyAndAWaitDoes) {
  const TempDir dir;
  const auto asks = [&](OpKind send_kind, OpKind asking, std::optional<L> list, std::uint32_t slot) {
    Program p(dir, 2);
    for (const std::int32_t r : {0, 1}) {
      const auto me = static_cast<std::uint32_t>(r);
      p.add(me, with_request(send(1 - r, 5, 8), send_kind, 0));
      if (send_kind == OpKind::send_init) p.add(me, {.kind = OpKind::start, .request = 0});
      p.add(me, {.kind = asking, .request = slot}, list).add(me, recv(1 - r, 5, 8));
      if (send_kind == OpKind::send_init) p.add(me, {.kind = OpKind::request_free, .request = 0});
    }
    EXPECT_EQ(p.findings(), "");
    return p.findings(true);
  };
  for (const OpKind kind : {OpKind::isend, OpKind::irsend, OpKind::send_init}) {
    EXPECT_EQ(asks(kind, OpKind::test, std::nullopt, 0), "");
    EXPECT_EQ(asks(kind, OpKind::testall, L{0}, kNoRequest), "");
    EXPECT_EQ(asks(kind, OpKind::testany, L{1, 0, 0}, kNoRequest), "");
    EXPECT_EQ(asks(kind, OpKind::testsome, L{1, 0, 0}, kNoRequest), "");
    for (const auto& [asking, list, slot] :
         {std::tuple{OpKind::wait, std::optional<L>(), 0u},
          std::tuple{OpKind::waitall, std::optional(L{0}), kNoRequest},
          std::tuple{OpKind::waitany, std::optional(L{1, 0, 0}), kNoRequest}})
      EXPECT_THAT(asks(kind, asking, list, slot),
                  ::testing::StartsWith("W 0." + std::string(kind == OpKind::send_init ? "2" : "1") +
                                        " depends on buffering"));
  }
}

// What a test let go is matched later, and then completes nobody else's request of its number; a receive is waited for.
TEST(CheckRecorded, WithSynchronousSendsARequestThatATestLetGoIsNoOther) {
  const TempDir dir;
  Program p(dir, 2);
  p.add(0, with_request(send(1, 1, 8), OpKind::isend, 0)).add(0, {.kind = OpKind::test, .request = 0});
  p.add(0, with_request(send(1, 2, 8), OpKind::isend, 0)).add(0, wait(0)).add(0, recv(1, 3, 8));
  p.add(1, recv(0, 1, 8)).add(1, send(0, 3, 8)).add(1, recv(0, 2, 8));
  EXPECT_EQ(p.findings(), "");
  EXPECT_EQ(p.findings(true),
            "W 0.3 depends on buffering: with synchronous sends this is a deadlock: rank 0 at operation 3 "
            "(): wait of "
            "the isend at operation 2 to rank 1 with tag 2 (8 bytes), waits for rank 1; rank 1 at operation "
            "1 (): send "
            "to rank 0 with tag 3 (8 bytes), waits for rank 0\n");
  Program both(dir, 2);
  for (const std::int32_t r : {0, 1}) {
    const auto me = static_cast<std::uint32_t>(r);
    both.add(me, with_request(send(1 - r, 1, 8), OpKind::isend, 0));
    both.add(me, with_request(recv(1 - r, 2, 8), OpKind::irecv, 1));
    if (r == 1) both.add(me, send(0, 2, 8)).add(me, recv(0, 1, 8));
    both.add(me, {.kind = OpKind::testall}, L{0, 1});
    if (r == 0) both.add(me, send(1, 2, 8)).add(me, recv(1, 1, 8));
  }
  EXPECT_EQ(both.findings(true), "") << "the testall of rank 0 goes on with the message of its receive";
}

}  // namespace
}  // namespace weft::traces
