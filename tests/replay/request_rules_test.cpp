// What programs may not do with requests: where the trace doctor finds an error a replay stops at the same operation, or goes on as
// docs/trace-format.md ("Requests") says.
#include <gmock/gmock.h>

#include "replay/engine.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"
#include "traces/check/check.hpp"

namespace weft::replay::request_rules_test {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using traces::Op;
using traces::OpKind;
using weft::testing::MemoryTrace;

constexpr std::int64_t kUs = 1'000'000;

Result<ReplayResult> run(MemoryTrace& t) {
  static const topology::Platform crossbar = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=1us").value();
  ReplayOptions o;
  o.raw = RawMode::kEager;
  t.rewind();
  return replay(t, crossbar, weft::testing::first_hosts(t.header().ranks), o);
}

// The operations of the findings of that severity.
std::vector<std::int64_t> found(MemoryTrace& t, traces::Severity severity) {
  t.rewind();
  const auto report = traces::check_trace(t);
  std::vector<std::int64_t> ops;
  for (const traces::Finding& f : report->findings)
    if (f.severity == severity) ops.push_back(f.op);
  return ops;
}

Op of_slot(OpKind kind, std::uint32_t slot) { return {.kind = kind, .request = slot}; }

TEST(RequestRules, ARequestIsMadeInASlotThatHoldsNone) {
  for (const OpKind first : {OpKind::isend, OpKind::send_init})
    for (const OpKind next : {OpKind::isend, OpKind::send_init, OpKind::ibarrier})
      for (const bool over : {false, true}) {
        SCOPED_TRACE(std::string(op_name(first)) + " " + std::string(op_name(next)) + (over ? " over" : ""));
        MemoryTrace t(2);
        const bool persistent = first == OpKind::send_init;
        std::int64_t at = 1;
        // Nobody receives that: it is under way until it is completed.
        t.p2p(0, first == OpKind::isend ? OpKind::issend : OpKind::ssend_init, 1, 0, 8, CommId(0), 0);
        if (persistent && over) {
          t.add(0, of_slot(OpKind::start, 0));
          t.add(0, of_slot(OpKind::wait, 0));
          at += 2;
        }
        if (!persistent && over) {
          t.add(0, of_slot(OpKind::wait, 0));
          ++at;
        }
        if (over) t.p2p(1, OpKind::recv, 0, 0, 8);
        if (next == OpKind::ibarrier)
          t.add(0, {.kind = next, .peer = traces::kAnySource, .request = 0});
        else
          t.p2p(0, next, 1, 1, 8, CommId(0), 0);
        const auto result = run(t);
        if (!persistent && over) {
          EXPECT_TRUE(result) << result.error().message();
          continue;
        }
        EXPECT_THAT(found(t, traces::Severity::kError), Contains(at));
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().where, t.position(RankId(0), static_cast<std::uint64_t>(at)));
        EXPECT_EQ(result.error().what, std::string("rank 0: request 0 is ") +
                                           (next == OpKind::send_init ? "made" : "started") +
                                           " while it is in use");
      }
}

// MPI-4.1, 6.12, forbids both. A replay lets go of the one, as of any request, and cannot cancel the other.
TEST(RequestRules, ACollectiveWhoseRequestIsFreedOrCancelledEndsAsAnyOther) {
  for (const OpKind kind : {OpKind::wait, OpKind::request_free, OpKind::cancel}) {
    MemoryTrace t(2);
    for (const std::uint32_t r : {0u, 1u}) {
      t.add(r, {.kind = OpKind::iallreduce, .peer = traces::kAnySource, .amount = 8, .request = 0});
      if (kind != OpKind::wait) t.add(r, of_slot(kind, 0));
      if (kind != OpKind::request_free) t.add(r, of_slot(OpKind::wait, 0));
      t.add(r, {.kind = OpKind::barrier, .peer = traces::kAnySource});
      // Slot 0 is free again.
      t.p2p(r, OpKind::isend, traces::kProcNull, 0, 8, CommId(0), 0);
      t.add(r, of_slot(OpKind::wait, 0));
    }
    const auto result = run(t);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_TRUE(result->finished);
    EXPECT_EQ(result->finding(), "");
    if (kind == OpKind::wait)
      EXPECT_THAT(found(t, traces::Severity::kError), IsEmpty());
    else
      EXPECT_THAT(found(t, traces::Severity::kError), Contains(1));
  }
}

TEST(RequestRules, OnlyAWaitNamesALaunchedKernel) {
  for (const OpKind kind : {OpKind::wait, OpKind::test, OpKind::request_free, OpKind::cancel}) {
    MemoryTrace t(1);
    t.add(0, {.kind = OpKind::launch, .amount = 0, .request = 0}, {0, 1, 1, 1});
    t.add(0, of_slot(kind, 0));
    const auto result = run(t);
    EXPECT_EQ(result.has_value(), kind == OpKind::wait);
    if (kind == OpKind::wait)
      EXPECT_THAT(found(t, traces::Severity::kError), IsEmpty());
    else
      EXPECT_THAT(found(t, traces::Severity::kError), Contains(1));
    if (!result) {
      EXPECT_EQ(result.error().where, t.position(RankId(0), 1));
    }
  }
}

// A message that is there at its recorded hit only, or at the poll before: what the doctor warns of stops the second replay.
TEST(RequestRules, ABodyThatUsesASlotInUseStopsWhereItRunsEarlier) {
  for (const bool same_slot : {false, true})
    for (const bool early : {false, true}) {
      MemoryTrace t(2);
      Op poll{.kind = OpKind::iprobe, .peer = 0, .tag = 5, .amount = 1};
      t.compute(0, Duration(early ? kUs : 5 * kUs));
      t.p2p(0, OpKind::send, 1, 5, 8);
      t.p2p(0, OpKind::recv, 1, 6, 8);
      t.p2p(0, OpKind::recv, 1, 6, 8);
      t.p2p(1, OpKind::issend, 0, 6, 8, CommId(0), 0);
      t.compute(1, Duration(4 * kUs));
      t.add(1, poll, {2});
      t.add(1, of_slot(OpKind::wait, 0));
      poll.flags = traces::kHit;
      t.add(1, poll, {0, 3, 0, 5, 8});
      const std::uint32_t slot = same_slot ? 0 : 1;
      t.p2p(1, OpKind::recv, 0, 5, 8);
      t.p2p(1, OpKind::isend, 0, 6, 8, CommId(0), slot);
      t.add(1, of_slot(OpKind::wait, slot));
      EXPECT_THAT(found(t, traces::Severity::kError), IsEmpty());
      EXPECT_EQ(found(t, traces::Severity::kWarning),
                same_slot ? std::vector<std::int64_t>{4} : std::vector<std::int64_t>{});
      const auto result = run(t);
      EXPECT_EQ(result.has_value(), !same_slot || !early);
    }
}

}  // namespace
}  // namespace weft::replay::request_rules_test
