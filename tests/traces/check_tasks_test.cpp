// The trace doctor on graphs of tasks: what begins only after others, matching, deadlocks.
#include <gmock/gmock.h>

#include "tests/traces/check_programs.hpp"

namespace weft::traces::check_tasks_test {
namespace {
using namespace check_programs;

Op task(OpKind kind, std::int32_t peer = 0, std::int32_t tag = 0, std::int64_t bytes = 8) {
  return {.kind = kind, .peer = peer, .tag = tag, .amount = bytes};
}
const Op kWait{.kind = OpKind::task_wait};

// Rank 0 sends tag 2 when it has tag 1, which stands behind it in its program.
TEST(CheckTasks, AGraphThatCanBeExecutedHasNoFindings) {
  const TempDir dir;
  Program p(dir, 2);
  p.add(0, task(OpKind::task_recv, 1, 3), L{0}).add(0, task(OpKind::task_recv, 1, 1), L{1});
  p.add(0, task(OpKind::task_compute), L{1, 1, -2})
      .add(0, task(OpKind::task_send, 1, 2), L{0, 1})
      .add(0, kWait);
  p.add(1, task(OpKind::task_send, 0, 1), L{0}).add(1, task(OpKind::task_recv, 0, 2), L{0});
  p.add(1, task(OpKind::task_send, 0, 3), L{0, 1}).add(1, kWait);
  // ... and again.
  p.add(0, task(OpKind::task_send, 1, 4), L{0}).add(0, kWait).add(1, recv(0, 4, 8));
  EXPECT_EQ(p.findings(), "");
  EXPECT_EQ(p.findings(true), "");
}

TEST(CheckTasks, ThoseThatWaitForEachOtherAreADeadlock) {
  const TempDir dir;
  Program p(dir, 2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    const auto other = static_cast<std::int32_t>(1 - r);
    p.add(r, task(OpKind::task_recv, other, 1), L{0}).add(r, task(OpKind::task_send, other, 1), L{0, 1});
    p.add(r, kWait);
  }
  EXPECT_EQ(p.findings(),
            "E 0.2 deadlock: rank 0 at operation 2 (): task_wait of the task_recv at operation 0 from rank 1 "
            "with tag 1, waits for "
            "rank 1; rank 1 at operation 2 (): task_wait of the task_recv at operation 0 from rank 0 with "
            "tag 1, waits for rank "
            "0\n");
  // Sends that nobody waits for with a receive: only buffering avoids it.
  Program q(dir, 2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    const auto other = static_cast<std::int32_t>(1 - r);
    q.add(r, task(OpKind::task_send, other, 1), L{0}).add(r, task(OpKind::task_recv, other, 1), L{0, 1});
    q.add(r, kWait);
  }
  EXPECT_EQ(q.findings(), "");
  EXPECT_THAT(q.findings(true), ::testing::HasSubstr("depends on buffering"));
  // A ring whose first rank receives at once: each send has its receive.
  Program ring(dir, 3);
  for (std::int32_t r = 0; r < 3; ++r) {
    const auto at = static_cast<std::uint32_t>(r);
    ring.add(at, task(OpKind::task_recv, (r + 2) % 3, 1), L{0});
    ring.add(at, task(OpKind::task_send, (r + 1) % 3, 1), r == 0 ? L{1} : L{0, 1});
    ring.add(at, task(OpKind::task_compute), L{0, 1, 2}).add(at, kWait);
  }
  EXPECT_EQ(ring.findings(true), "");
}

// What one task lets go begins in the order of the program.
TEST(CheckTasks, ReceivesOfOneKindTakeMessagesInTheOrderOfTheProgram) {
  const TempDir dir;
  Program p(dir, 2);
  p.add(0, task(OpKind::task_recv, 1, 9), L{0});
  p.add(0, task(OpKind::task_recv, 1, 5, 8), L{0, 1}).add(0, task(OpKind::task_recv, 1, 5, 1000), L{0, 2});
  p.add(0, kWait);
  p.add(1, send(0, 9, 8)).add(1, send(0, 5, 8)).add(1, send(0, 5, 1000));
  EXPECT_EQ(p.findings(), "");
}

TEST(CheckTasks, WhatIsLeftOverIsToldWithItsOperation) {
  const TempDir dir;
  Program p(dir, 2);
  p.add(0, task(OpKind::task_send, 1, 5), L{0}).add(0, kWait);
  p.add(1, task(OpKind::task_compute), L{0});
  EXPECT_EQ(p.findings(),
            "E 0.0 : rank 0 send: rank 1 never receives this message (tag 5, 8 bytes, communicator world)\n"
            "E 1.0 : rank 1 task_compute: no task_wait stands behind it\n");
  Program far(dir, 1);
  far.add(0, task(OpKind::task_compute), L{0})
      .add(0, kWait)
      .add(0, task(OpKind::task_compute), L{0, 1})
      .add(0, kWait);
  EXPECT_EQ(far.findings(),
            "E 0.2 : rank 0 task_compute: it is after a task that does not stand before it\n");
  Program none(dir, 2);
  none.add(0, task(OpKind::task_recv, 1, 5), L{0}).add(0, kWait);
  EXPECT_EQ(none.findings(),
            "E 0.1 rank 0 at operation 1 (): task_wait of the task_recv at operation 0 from rank 1 with tag "
            "5 waits forever: "
            "what it waits for never comes, the other side has finished\n");
}

}  // namespace
}  // namespace weft::traces::check_tasks_test
