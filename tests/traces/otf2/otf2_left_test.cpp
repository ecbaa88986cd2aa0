// Requests that a program never waits for, in archives: their messages are there, and come back.
#include <gmock/gmock.h>

#include "tests/support/memory_trace.hpp"
#include "tests/traces/otf2/otf2_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/exports/export.hpp"
#include "traces/formats/otf2/write/replayed.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using weft::testing::MemoryTrace;

void no_errors(TraceReader& t) {
  const auto report = check_trace(t);
  ASSERT_TRUE(report);
  for (const auto& f : report->findings) EXPECT_NE(f.severity, Severity::kError) << f.message;
}

// The archive in `dir` that a replay of t with these times is; null: it could not be written, or read.
std::unique_ptr<TraceReader> archived(const TempDir& dir, MemoryTrace& t, const ReplayedOps& ops) {
  auto archive = open_replayed_otf2(dir.path("out"));
  if (!archive || !(*archive)->write(t, ops, nullptr)) return nullptr;
  return opened(dir.path("out"));
}

// Three messages that nobody waits for: one receive freed, its slot used again by one that nothing completes, and a
// persistent one freed after its start.
MemoryTrace left_receives(bool finalize) {
  MemoryTrace t(2);
  for (std::uint32_t r = 0; r < 2; ++r) t.add(r, {.kind = OpKind::init});
  t.p2p(0, OpKind::irecv, 1, 3, 100, CommId(0), 0);
  t.add(0, {.kind = OpKind::request_free, .request = 0});
  t.p2p(0, OpKind::irecv, 1, 4, 200, CommId(0), 0);
  t.add(0, {.kind = OpKind::recv_init, .peer = 1, .tag = 5, .amount = 300, .request = 1});
  t.add(0, {.kind = OpKind::start, .request = 1});
  t.add(0, {.kind = OpKind::request_free, .request = 1});
  t.compute(0, Duration(5'000'000));
  for (std::int32_t k = 3; k <= 5; ++k) t.p2p(1, OpKind::send, 0, k, 100 * (k - 2));
  if (finalize)
    for (std::uint32_t r = 0; r < 2; ++r) t.add(r, {.kind = OpKind::finalize});
  return t;
}

TEST(Otf2Left, ReceivesThatNobodyWaitsForKeepTheirMessages) {
  for (const bool finalize : {true, false}) {
    const TempDir dir;
    MemoryTrace t = left_receives(finalize);
    ASSERT_TRUE(export_trace(t, "otf2", dir.path("out")));
    const auto back = opened(dir.path("out"));
    ASSERT_TRUE(back);
    std::vector<std::string> want = {"init",
                                     "irecv peer=1 tag=3 amount=100 request=0",
                                     "irecv peer=1 tag=4 amount=200 request=1",
                                     "irecv peer=1 tag=5 amount=300 request=2",
                                     "wait peer=1 tag=3 amount=100 request=0",
                                     "wait peer=1 tag=4 amount=200 request=1",
                                     "wait peer=1 tag=5 amount=300 request=2"};
    if (finalize) want.push_back("finalize");
    EXPECT_EQ(shown_program(*back, 0), want);
    EXPECT_THAT(computes(*back, 0), ElementsAre(5'000'000));
    EXPECT_THAT(back->header().warnings, IsEmpty());
    no_errors(*back);
  }
}

TEST(Otf2Left, ACancelledReceiveThatIsFreedIsCancelled) {
  MemoryTrace t(1);
  t.p2p(0, OpKind::irecv, 0, 3, 100, CommId(0), 0);
  t.add(0, {.kind = OpKind::cancel, .request = 0});
  t.add(0, {.kind = OpKind::request_free, .request = 0});
  t.add(0, {.kind = OpKind::finalize});
  const TempDir dir;
  ASSERT_TRUE(export_trace(t, "otf2", dir.path("out")));
  const auto back = opened(dir.path("out"));
  ASSERT_TRUE(back);
  EXPECT_THAT(shown_program(*back, 0), ElementsAre("finalize"));
  EXPECT_THAT(back->header().warnings, IsEmpty());
  EXPECT_THAT(back->header().notes, Contains(HasSubstr("1 request cancelled")));
}

TEST(Otf2Left, ACollectiveThatNobodyWaitsForIsThere) {
  MemoryTrace t(2);
  for (std::uint32_t r = 0; r < 2; ++r)
    t.add(r, {.kind = OpKind::iallreduce, .peer = kAnySource, .amount = 8, .request = 3});
  t.wait(1, 3);
  const TempDir dir;
  ASSERT_TRUE(export_trace(t, "otf2", dir.path("out")));
  const auto back = opened(dir.path("out"));
  ASSERT_TRUE(back);
  EXPECT_THAT(shown_program(*back, 0),
              ElementsAre("iallreduce peer=-1 amount=8 request=0", "wait peer=-1 tag=-1 request=0"));
  no_errors(*back);
}

TEST(Otf2Left, AFreedReceiveThatDoesNotSayWhatCameIsRefused) {
  MemoryTrace t(2);
  const Op any{.kind = OpKind::irecv, .peer = kAnySource, .tag = 1, .amount = 4, .request = 0};
  t.add(0, any);
  t.add(0, {.kind = OpKind::request_free, .request = 0});
  const TempDir dir;
  const auto e = export_trace(t, "otf2", dir.path("out"));
  ASSERT_FALSE(e);
  EXPECT_THAT(e.error().message(), HasSubstr("the trace does not say what came"));
  EXPECT_THAT(e.error().message(), HasSubstr(t.position(RankId(0), 0)));
  // Where it does, that is what came.
  MemoryTrace known(2);
  known.add(0, any, {1, 1, 4});
  known.add(0, {.kind = OpKind::request_free, .request = 0});
  known.p2p(1, OpKind::send, 0, 1, 4);
  ASSERT_TRUE(export_trace(known, "otf2", dir.path("out")));
  const auto back = opened(dir.path("out"));
  ASSERT_TRUE(back);
  EXPECT_THAT(shown_program(*back, 0),
              ElementsAre("irecv peer=1 tag=1 amount=4 request=0", "wait peer=1 tag=1 amount=4 request=0"));
}

// In the time of a replay: what it took there, at the end of the rank; nothing where nothing came, or where the rank hangs.
TEST(Otf2Left, OfAReplayThoseThatTookAMessageAreThere) {
  for (const bool hangs : {false, true}) {
    MemoryTrace t(2);
    const Op any{.kind = OpKind::irecv, .peer = kAnySource, .tag = kAnyTag, .amount = 900, .request = 0};
    t.add(0, any);
    t.add(0, {.kind = OpKind::request_free, .request = 0});
    t.add(0, any);
    t.compute(0, Duration(7'000'000));
    t.p2p(1, OpKind::send, 0, 4, 9);
    ReplayedOps ops(2);
    ops[0].add(0, {0, 0});
    ops[0].add(1, {0, 0});
    ops[0].add(2, {0, 0});
    if (!hangs) ops[0].add(3, {0, 7'000'000});
    ops[0].matches.push_back({0, 0, 1, 4, 9});
    ops[1].add(0, {1'000'000, 2'000'000});
    const TempDir dir;
    const auto back = archived(dir, t, ops);
    ASSERT_TRUE(back);
    if (hangs) {
      EXPECT_THAT(shown_program(*back, 0), IsEmpty());
      continue;
    }
    EXPECT_THAT(shown_program(*back, 0),
                ElementsAre("irecv peer=1 tag=4 amount=9 request=0", "wait peer=1 tag=4 amount=9 request=0"));
    EXPECT_THAT(computes(*back, 0), ElementsAre(7'000'000));
    no_errors(*back);
  }
}

// Of a rank that computes behind its last call, nothing came: the computation stays.
TEST(Otf2Left, WhereNothingCameTheEndOfTheRankIsAsBefore) {
  MemoryTrace t(1);
  t.p2p(0, OpKind::irecv, 0, 3, 100, CommId(0), 0);
  t.compute(0, Duration(7'000'000));
  ReplayedOps ops(1);
  ops[0].add(0, {0, 0});
  ops[0].add(1, {0, 7'000'000});
  const TempDir dir;
  const auto back = archived(dir, t, ops);
  ASSERT_TRUE(back);
  EXPECT_THAT(computes(*back, 0), ElementsAre(7'000'000));
}

}  // namespace
}  // namespace weft::traces
