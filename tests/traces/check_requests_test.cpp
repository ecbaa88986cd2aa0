// The trace doctor on what a program may do with its requests (MPI-4.1, 3.7.3, 3.9, 6.12), and on those of conditional steps.
#include <gtest/gtest.h>

#include "tests/traces/check_programs.hpp"

namespace weft::traces {
namespace {
using namespace check_programs;

constexpr OpKind kInits[] = {OpKind::send_init, OpKind::ssend_init, OpKind::bsend_init, OpKind::rsend_init,
                             OpKind::recv_init};
Op of_slot(OpKind kind, std::uint32_t slot) { return {.kind = kind, .request = slot}; }

// MPI-4.1, 3.9: a persistent request lives until it is freed, whether it was started or not.
TEST(CheckRequests, ASlotHoldsItsPersistentRequestUntilThatIsFreed) {
  const TempDir dir;
  for (const OpKind init : kInits) {
    const auto findings = [&](const std::vector<Op>& between, const Op& then) {
      Program p(dir, 1);
      p.add(0, with_request(send(kProcNull, 5, 8), init, 0));
      for (const Op& op : between) p.add(0, op);
      p.add(0, then);
      if (then.kind != OpKind::recv_init) p.add(0, wait(0));
      return p.findings();
    };
    SCOPED_TRACE(op_name(init));
    const std::string held =
        "request 0 is still that of the " + std::string(op_name(init)) + " at operation ";
    const std::pair<OpKind, std::string> nexts[] = {{OpKind::isend, "isend"},
                                                    {OpKind::irecv, "irecv"},
                                                    {OpKind::recv_init, "recv_init"},
                                                    {OpKind::ibarrier, "ibarrier"}};
    for (const auto& [next, name] : nexts) {
      const Op then = next == OpKind::ibarrier ? coll(next, kWorld, kAnySource, 0, 0)
                                               : with_request(send(kProcNull, 5, 8), next, 0);
      EXPECT_EQ(findings({}, then), "E 0.1 : rank 0 " + name + ": " + held + "0\n");
      EXPECT_EQ(findings({of_slot(OpKind::start, 0), wait(0)}, then),
                "E 0.3 : rank 0 " + name + ": " + held + "1\n");
      EXPECT_EQ(findings({of_slot(OpKind::start, 0), wait(0), of_slot(OpKind::request_free, 0)}, then), "");
      EXPECT_EQ(findings({of_slot(OpKind::request_free, 0)}, then), "");
    }
  }
}

// MPI-4.1, 6.12: MPI_Request_free and MPI_Cancel of a non-blocking collective are erroneous.
TEST(CheckRequests, NobodyFreesOrCancelsTheRequestOfACollective) {
  const TempDir dir;
  for (const OpKind kind : {OpKind::request_free, OpKind::cancel}) {
    const bool freed = kind == OpKind::request_free;
    Program p(dir, 2);
    for (const std::uint32_t r : {0u, 1u}) {
      p.add(r, coll(OpKind::iallreduce, kWorld, kAnySource, 8, 0));
      if (r == 0) p.add(r, of_slot(kind, 0));
      if (r == 1 || !freed) p.add(r, wait(0));
    }
    EXPECT_EQ(p.findings(), "E 0.1 : rank 0 " + std::string(op_name(kind)) +
                                ": request 0 is that of the iallreduce at operation 0: MPI lets nobody " +
                                (freed ? "free" : "cancel") + " a collective's\n");
  }
  // One that was cancelled is waited for as any other.
  Program dead(dir, 2);
  dead.add(0, coll(OpKind::ibarrier, kWorld, kAnySource, 0, 0))
      .add(0, of_slot(OpKind::cancel, 0))
      .add(0, wait(0));
  EXPECT_NE(dead.findings().find("wait of the ibarrier at operation 0 on world waits for rank 1"),
            std::string::npos);
}

TEST(CheckRequests, OnlyAWaitNamesALaunchedKernel) {
  const TempDir dir;
  const std::pair<OpKind, std::optional<L>> others[] = {
      {OpKind::request_free, {}}, {OpKind::cancel, {}},          {OpKind::test, {}},
      {OpKind::waitall, L{0}},    {OpKind::waitany, L{1, 0, 0}}, {OpKind::wait, {}}};
  for (const auto& [kind, list] : others) {
    Program p(dir, 1);
    p.add(0, {.kind = OpKind::launch, .amount = 0, .request = 0}, L{0, 1, 1, 1});
    p.add(0, of_slot(kind, list ? kNoRequest : 0), list);
    if (kind == OpKind::cancel) p.add(0, wait(0));
    EXPECT_EQ(p.findings(), kind == OpKind::wait
                                ? std::string()
                                : "E 0.1 : rank 0 " + std::string(op_name(kind)) +
                                      ": request 0 is that of a launched kernel: only a wait may name it\n");
  }
}

// Rank 1 polls, does `between`, and finds the message; its body is a receive and `more`.
std::string polls(const TempDir& dir, const std::vector<Op>& first, const std::vector<Op>& between,
                  const std::vector<Op>& more, bool misses = true) {
  Op poll{.kind = OpKind::iprobe, .peer = 0, .tag = 5, .amount = 1};
  Program p(dir, 2);
  p.add(0, send(1, 5, 8));
  for (const Op& op : first) p.add(1, op);
  const auto distance = static_cast<std::int64_t>(between.size()) + 1;
  p.add(1, poll, misses ? std::optional(L{distance}) : std::nullopt);
  for (const Op& op : between) p.add(1, op);
  poll.flags = kHit;
  p.add(1, poll, L{0, static_cast<std::int64_t>(more.size()) + 1, 0, 5, 8}).add(1, recv(0, 5, 8));
  for (const Op& op : more) p.add(1, op);
  return p.findings();
}

TEST(CheckRequests, ABodyUsesNoSlotThatItsRankUsedSinceItsFirstPoll) {
  const TempDir dir;
  const auto post = [](std::uint32_t slot) {
    return with_request(send(kProcNull, 7, 8), OpKind::isend, slot);
  };
  const Op compute{.kind = OpKind::compute_time, .amount = 1};
  EXPECT_EQ(polls(dir, {}, {compute}, {post(0), wait(0)}), "");
  EXPECT_EQ(polls(dir, {post(1), wait(1)}, {post(0), wait(0)}, {post(1), wait(1)}), "");
  EXPECT_EQ(polls(dir, {post(1)}, {compute}, {wait(1)}), "") << "it was there at the poll, too";
  const auto warned = [](int hit, int at, int miss) {
    return "W 1." + std::to_string(hit) + " : rank 1 iprobe: its body uses request 0 at operation " +
           std::to_string(at) + ", which operations since the poll at operation " + std::to_string(miss) +
           " use, too: where it runs at that poll the request may be in use, or not be there yet\n";
  };
  // In use at the poll; not yet made there; made and completed between.
  EXPECT_EQ(polls(dir, {post(0)}, {wait(0)}, {post(0), wait(0)}), warned(3, 5, 1));
  EXPECT_EQ(polls(dir, {}, {post(0)}, {wait(0)}), warned(2, 4, 0));
  EXPECT_EQ(polls(dir, {}, {post(0), wait(0)}, {post(0), wait(0)}), warned(3, 5, 0));
  // Where no poll missed the body runs at its hit.
  EXPECT_EQ(polls(dir, {post(0)}, {wait(0)}, {post(0), wait(0)}, false), "");
}

}  // namespace
}  // namespace weft::traces
