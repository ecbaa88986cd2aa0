// DUMPI: receives that MPI_Cancel took back are in no operation, whatever posted and completed them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/traces/dumpi/dumpi_testing.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

constexpr int kRecvInit = 30;
constexpr DumpiStatus kCancelled{0, -1, -1, true};

std::string left_out(int n) {
  return fmt::format("{} receive{} cancelled before anything matched: left out, with MPI_Cancel.", n,
                     n == 1 ? "" : "s");
}
constexpr const char* kAssumed =
    "1 receive cancelled without a status that says that it took effect: taken as if it did";

TEST(DumpiCancel, ReceivesNeverWere) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  r[0].send(4, kDumpiByte, 1, 5);
  r[1].irecv(4, kDumpiByte, 0, 9, 2)
      .irecv(4, kDumpiByte, 0, 5, 3)
      .irecv(4, kDumpiByte, -1, 8, 4)
      .irecv(4, kDumpiByte, -1, 7, 5);
  r[1].cancel(2).cancel(4).cancel(5);
  r[1].waitall({2, 3, 4}, {{0, 0, 0, true}, {4, 0, 5}, {0, 0, 0, true}}).request_free(5);
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(shown_ops(**t, 1),
              ElementsAre("irecv tag=5 amount=4 request=0", "waitall peer=-1 tag=-1 list=[0]"));
  EXPECT_THAT((*t)->header().notes, Contains(left_out(3)));
  EXPECT_THAT(trace_warnings((*t)->header()), ElementsAre(kAssumed));
  expect_checked(**t);
}

// Nobody sends, so a receive that stayed would wait for ever.
TEST(DumpiCancel, NoFormOfCompletionKeepsTheReceive) {
  using Complete = void (*)(DumpiWriter&, const DumpiStatus&);
  const std::pair<const char*, Complete> forms[] = {
      {"wait", [](DumpiWriter& w, const DumpiStatus& s) { w.wait(2, {s}); }},
      {"test", [](DumpiWriter& w, const DumpiStatus& s) { w.test(2, false).test(2, true, {s}); }},
      {"waitall", [](DumpiWriter& w, const DumpiStatus& s) { w.waitall({2}, {s}); }},
      {"waitany", [](DumpiWriter& w, const DumpiStatus& s) { w.waitany({2}, 0, {s}); }},
      {"waitsome", [](DumpiWriter& w, const DumpiStatus& s) { w.waitsome({2}, {0}, {s}); }},
  };
  const TempDir dir;
  for (const auto& [name, complete] : forms)
    for (const bool persistent : {false, true})
      // A status may keep source and tag of the message before.
      for (const DumpiStatus& status : {kCancelled, DumpiStatus{0, 1, 7, true}}) {
        SCOPED_TRACE(fmt::format("{}, persistent {}, source {}", name, persistent, status.source));
        auto r = dumpi_ranks(2);
        r[0].irecv(10, kDumpiByte, 1, 7, 2, kDumpiWorld, persistent ? kRecvInit : 12);
        if (persistent) r[0].start(2);
        complete(r[0].cancel(2), status);
        if (persistent) r[0].request_free(2);
        for (DumpiWriter& w : r) w.barrier();
        auto t = open_ranks(dir, r);
        ASSERT_TRUE(t) << t.error().message();
        Strings want{"barrier peer=-1"};
        if (persistent)
          want.insert(want.begin(), {"recv_init peer=1 tag=7 amount=10 request=0", "request_free request=0"});
        EXPECT_THAT(shown_ops(**t, 0), ElementsAreArray(want));
        EXPECT_EQ((*t)->totals().messages, 0u);
        EXPECT_THAT((*t)->header().notes, Contains(left_out(1)));
        EXPECT_THAT(trace_warnings((*t)->header()), IsEmpty());
        expect_checked(**t);
      }
}

// As a server does that has receives from anybody open when it ends.
TEST(DumpiCancel, StartsOfSeveralAreWithoutThoseThatWereCancelled) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  for (const int id : {2, 3, 4}) r[0].irecv(10, kDumpiByte, -1, id, id, kDumpiWorld, kRecvInit);
  r[1].send(10, kDumpiByte, 0, 2).send(10, kDumpiByte, 0, 4);
  r[0].startall({2, 3, 4}).wait(2, {{10, 1, 2}}).start(2);
  for (const int id : {2, 3, 4}) r[0].cancel(id);
  r[0].waitall({2, 3, 4}, {kCancelled, kCancelled, {10, 1, 4}}).startall({2, 3}).cancel(2).cancel(3);
  r[0].waitany({2, 3}, 1, {kCancelled}).waitall({2, 3}, {kCancelled, {}});
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(shown_ops(**t, 0),
              ElementsAre("recv_init peer=-1 tag=2 amount=10 request=0",
                          "recv_init peer=-1 tag=3 amount=10 request=1",
                          "recv_init peer=-1 tag=4 amount=10 request=2", "start request=0 list=[1,2,10]",
                          "start request=2 list=[1,4,10]", "wait peer=1 tag=2 amount=10 request=0",
                          "cancel request=2", "waitall peer=-1 tag=-1 list=[2]"));
  EXPECT_EQ((*t)->totals().messages, 2u);
  EXPECT_THAT((*t)->header().notes, Contains(left_out(4)));
  expect_checked(**t);
}

TEST(DumpiCancel, APersistentReceiveIsThereAgainAtItsNextStart) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  for (int k = 0; k < 3; ++k) r[1].send(10, kDumpiByte, 0, 7);
  r[0].irecv(10, kDumpiByte, 1, -1, 2, kDumpiWorld, kRecvInit);
  r[0].start(2).wait(2, {{10, 1, 7}});
  r[0].start(2).cancel(2).wait(2, {{0, 1, 7, true}});
  r[0].start(2).wait(2, {{10, 1, 7}});
  // A cancel that comes too late changes nothing, one between two starts has nothing to change.
  r[0].start(2).cancel(2).wait(2, {{10, 1, 7}}).cancel(2);
  r[0].start(2).cancel(2).wait(2, {kCancelled}).request_free(2);
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  const char *start = "start request=0 list=[1,7,10]", *wait = "wait peer=1 tag=7 amount=10 request=0";
  EXPECT_THAT(shown_ops(**t, 0),
              ElementsAre("recv_init peer=1 tag=-1 amount=10 request=0", start, wait, start, wait, start,
                          "cancel request=0", wait, "request_free request=0"));
  EXPECT_THAT((*t)->header().notes, Contains(left_out(2)));
  EXPECT_THAT(trace_warnings((*t)->header()), IsEmpty());
  expect_checked(**t);
}

TEST(DumpiCancel, AStartThatNothingCompletesIsTakenAsCancelledAndTold) {
  const TempDir dir;
  for (const bool freed : {false, true}) {
    auto r = dumpi_ranks(2);
    r[0].irecv(10, kDumpiByte, 1, 7, 2, kDumpiWorld, kRecvInit).start(2).cancel(2);
    if (freed) r[0].request_free(2);
    auto t = open_ranks(dir, r);
    ASSERT_TRUE(t) << t.error().message();
    Strings want{"recv_init peer=1 tag=7 amount=10 request=0"};
    if (freed) want.emplace_back("request_free request=0");
    EXPECT_THAT(shown_ops(**t, 0), ElementsAreArray(want));
    EXPECT_THAT((*t)->header().notes, Contains(left_out(1)));
    EXPECT_THAT(trace_warnings((*t)->header()), ElementsAre(kAssumed));
  }
}

// What one of several completes is the receive that never was: nobody waits for the other then.
TEST(DumpiCancel, OneOfSeveralThatCompletesNothingElseIsNoOperation) {
  const TempDir dir;
  for (const bool persistent : {false, true}) {
    auto r = dumpi_ranks(2);
    r[0].irecv(10, kDumpiByte, 1, 7, 2, kDumpiWorld, persistent ? kRecvInit : 12);
    if (persistent) r[0].start(2);
    r[0].irecv(10, kDumpiByte, 1, 8, 3).cancel(2).waitany({2, 3}, 0, {kCancelled}).barrier();
    r[0].waitsome({1, 3}, {1}, {{10, 1, 8}});
    r[1].barrier().send(10, kDumpiByte, 0, 8);
    auto t = open_ranks(dir, r);
    ASSERT_TRUE(t) << t.error().message();
    Strings want{"irecv peer=1 tag=8 amount=10 request=0", "barrier peer=-1",
                 "waitsome peer=-1 tag=-1 list=[1,0,0]"};
    if (persistent)
      want = {"recv_init peer=1 tag=7 amount=10 request=0", "irecv peer=1 tag=8 amount=10 request=1",
              "barrier peer=-1", "waitsome peer=-1 tag=-1 list=[1,1,1]"};
    EXPECT_THAT(shown_ops(**t, 0), ElementsAreArray(want));
    expect_checked(**t);
  }
}

}  // namespace
}  // namespace weft::traces
