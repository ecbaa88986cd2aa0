// Operations to GOAL: the text of each kind, what is refused, and text and binary read back.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <set>

#include "tests/support/memory_trace.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/exports/export.hpp"
#include "traces/exports/tags.hpp"
#include "traces/formats/goal/schedule.hpp"
#include "traces/recorded/recorded_matches.hpp"

namespace weft::traces::goal_export_test {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using weft::testing::MemoryTrace;

// Every collective sends 100 bytes to the next rank of two and receives as much, then once more the other way round.
class TwoRounds final : public CollectiveMessages {
 public:
  Result<void> find(RankId rank, const Op& /*op*/, std::span<const std::int64_t> /*list*/,
                    std::vector<CollectiveMessage>& out) override {
    const auto other = static_cast<std::int32_t>(1 - rank.index());
    out = {{0, true, other, 100}, {0, false, other, 100}, {1, true, other, 200}, {1, false, other, 200}};
    return {};
  }
};

// What rank 0 becomes, without the lines around it, or the error.
std::string goal_of(TraceReader& t, CollectiveMessages* collectives = nullptr) {
  const TempDir dir;
  t.rewind();
  const auto written = export_trace(t, "goal", dir.path("t.goal"), {collectives});
  if (!written) return written.error().message();
  const std::string text = slurp(dir.path("t.goal"));
  const std::string_view open = "rank 0 {\n";
  const std::size_t at = text.find(open) + open.size();
  return text.substr(at, text.find('}', at) - at);
}

TEST(GoalExport, ABlockingOperationIsRequiredByTheNext) {
  MemoryTrace t(2);
  t.compute(0, Duration(1'000'000));
  t.p2p(0, OpKind::send, 1, 7, 64);
  t.p2p(0, OpKind::recv, kAnySource, kAnyTag, 32);
  t.p2p(0, OpKind::ssend, kProcNull, 7, 64);
  t.p2p(0, OpKind::bsend, 1, 8, 16);
  t.p2p(0, OpKind::rsend, 1, 9, 0);
  EXPECT_EQ(
      goal_of(t),
      "l1: calc 1000\nl2: send 64b to 1 tag 7\nl2 requires l1\nl3: recv 32b from -1 tag -1\nl3 requires l2\n"
      "l4: send 16b to 1 tag 8\nl4 requires l3\nl5: send 0b to 1 tag 9\nl5 irequires l4\n");
}

TEST(GoalExport, PollsAreLeftOutAndCountedOnce) {
  MemoryTrace t(2);
  t.add(0, {.kind = OpKind::iprobe, .peer = 1, .tag = 5}, {1});
  t.add(0, {.kind = OpKind::iprobe, .flags = kHit, .peer = 1, .tag = 5}, {0, 1, 1, 5, 8});
  t.p2p(0, OpKind::recv, 1, 5, 8);
  EXPECT_EQ(goal_of(t), "l1: recv 8b from 1 tag 5\n");
  const TempDir dir;
  for (const char* format : {"goal", "goal-binary"}) {
    t.rewind();
    std::vector<std::string> warnings;
    ASSERT_TRUE(export_trace(t, format, dir.path("t"), {.warnings = &warnings})) << format;
    EXPECT_THAT(warnings, ElementsAre(HasSubstr("2 polls (1 hit) are left out: "))) << format;
  }
}

TEST(GoalExport, ANonBlockingOneIsRequiredByWhatStandsBehindItsWait) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::irecv, 1, 1, 8, CommId(0), 0);
  t.p2p(0, OpKind::isend, 1, 2, 8, CommId(0), 1);
  t.compute(0, Duration(5000));
  t.wait(0, 0);
  t.compute(0, Duration(6000));
  t.add(0, {.kind = OpKind::waitall}, {0, 1});
  t.p2p(0, OpKind::send, 1, 3, 8);
  EXPECT_EQ(
      goal_of(t),
      "l1: recv 8b from 1 tag 1\nl2: send 8b to 1 tag 2\nl2 irequires l1\nl3: calc 5\nl3 irequires l2\n"
      "l4: calc 6\nl4 requires l3\nl4 requires l1\nl5: send 8b to 1 tag 3\nl5 requires l4\nl5 requires l2\n");
}

TEST(GoalExport, NothingWaitsForABufferedSend) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::ibsend, 1, 1, 8, CommId(0), 0);
  t.p2p(0, OpKind::isend, 1, 2, 8, CommId(0), 1);
  t.add(0, {.kind = OpKind::waitall}, {0, 1});
  t.compute(0, Duration(1000));
  t.p2p(0, OpKind::bsend_init, 1, 3, 8, CommId(0), 2);
  t.add(0, {.kind = OpKind::start, .request = 2});
  t.wait(0, 2);
  t.compute(0, Duration(2000));
  EXPECT_EQ(goal_of(t),
            "l1: send 8b to 1 tag 1\nl2: send 8b to 1 tag 2\nl2 irequires l1\n"
            "l3: calc 1\nl3 requires l2\nl4: send 8b to 1 tag 3\nl4 requires l3\n"
            "l5: calc 2\nl5 irequires l4\n");
}

TEST(GoalExport, ACancelThatCameTooLateChangesNothing) {
  const auto text = [](bool cancelled) {
    MemoryTrace t(2);
    const auto cancel = [&](std::uint32_t slot) {
      if (cancelled) t.add(0, {.kind = OpKind::cancel, .request = slot});
    };
    for (const std::uint32_t slot : {0u, 1u}) t.p2p(0, OpKind::irecv, 1, 5, 8, CommId(0), slot);
    t.p2p(0, OpKind::isend, 1, 6, 8, CommId(0), 2);
    for (const std::uint32_t slot : {0u, 1u, 2u}) cancel(slot);
    t.add(0, {.kind = OpKind::wait, .peer = 1, .tag = 5, .amount = 8, .request = 0});
    t.wait(0, 2);
    t.add(0, {.kind = OpKind::waitall}, {1});
    t.compute(0, Duration(1000));
    return goal_of(t);
  };
  EXPECT_THAT(text(true), HasSubstr("l4 requires l1"));
  EXPECT_EQ(text(true), text(false));
}

TEST(GoalExport, BothHalvesOfASendrecvBeginTogether) {
  MemoryTrace t(2);
  t.compute(0, Duration(1000));
  t.p2p(0, OpKind::sendrecv, 1, 1, 8);
  t.add(0, {.kind = OpKind::recv, .flags = kPairedRecv, .peer = 1, .tag = 2, .amount = 9});
  t.compute(0, Duration(2000));
  t.p2p(0, OpKind::sendrecv, kProcNull, 1, 8);
  t.add(0, {.kind = OpKind::recv, .flags = kPairedRecv, .peer = 1, .tag = 2, .amount = 9});
  t.compute(0, Duration(3000));
  EXPECT_EQ(goal_of(t),
            "l1: calc 1\nl2: send 8b to 1 tag 1\nl2 requires l1\nl3: recv 9b from 1 tag 2\nl3 requires l1\n"
            "l4: calc 2\nl4 requires l2\nl4 requires l3\nl5: recv 9b from 1 tag 2\nl5 requires l4\nl6: calc "
            "3\nl6 requires l5\n");
}

TEST(GoalExport, APersistentRequestIsAMessageEachTimeItStarts) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::send_init, 1, 4, 8, CommId(0), 0);
  t.p2p(0, OpKind::recv_init, 1, 5, 8, CommId(0), 1);
  for (int i = 0; i < 2; ++i) {
    t.add(0, {.kind = OpKind::startall}, {0, 1});
    t.add(0, {.kind = OpKind::waitall}, {0, 1});
  }
  t.add(0, {.kind = OpKind::request_free, .request = 0});
  EXPECT_EQ(goal_of(t),
            "l1: send 8b to 1 tag 4\nl2: recv 8b from 1 tag 5\nl2 irequires l1\nl3: send 8b to 1 tag 4\nl3 "
            "requires l1\n"
            "l3 requires l2\nl4: recv 8b from 1 tag 5\nl4 irequires l3\n");
}

TEST(GoalExport, TheSumOfTimesIsRoundedNotEachOfThem) {
  MemoryTrace t(1);
  for (int i = 0; i < 10; ++i) t.compute(0, Duration(400));
  EXPECT_EQ(
      goal_of(t),
      "l1: calc 1\nl2: calc 1\nl2 requires l1\nl3: calc 1\nl3 requires l2\nl4: calc 1\nl4 requires l3\n");
}

TEST(GoalExport, ACollectiveIsItsRoundsAndANonBlockingOneGoesOnBesideTheProgram) {
  TwoRounds rounds;
  MemoryTrace t(2);
  t.compute(0, Duration(1000));
  t.collective(0, OpKind::allreduce, 0, 8, CommId(0));
  t.compute(0, Duration(2000));
  const std::string both =
      "l1: calc 1\nl2: recv 100b from 1 tag 1610612736\nl2 requires l1\nl3: send 100b to 1 tag 1610612736\n"
      "l3 requires l1\nl4: recv 200b from 1 tag 1610612736\nl4 requires l2\nl4 requires l3\n"
      "l5: send 200b to 1 tag 1610612736\nl5 requires l2\nl5 requires l3\n";
  EXPECT_EQ(goal_of(t, &rounds), both + "l6: calc 2\nl6 requires l4\nl6 requires l5\n");

  MemoryTrace u(2);
  u.compute(0, Duration(1000));
  u.add(0, {.kind = OpKind::iallreduce, .amount = 8, .request = 3});
  u.compute(0, Duration(2000));
  u.wait(0, 3);
  u.p2p(0, OpKind::send, 1, 0, 1);
  EXPECT_EQ(goal_of(u, &rounds),
            both +
                "l6: calc 2\nl6 requires l1\nl7: send 1b to 1 tag 0\nl7 requires l6\nl7 requires l4\n"
                "l7 requires l5\n");
}

TEST(GoalExport, EveryContextHasTagsOfItsOwn) {
  for (const std::size_t comms : {1, 2, 3, 100, 4096}) {
    Tags tags(comms);
    std::set<std::uint32_t> seen;
    const auto add = [&](std::uint32_t tag) {
      EXPECT_LE(tag, goal::kMaxTag);
      EXPECT_TRUE(seen.insert(tag).second) << tag;
    };
    for (std::uint32_t c = 0; c < comms; ++c) {
      const std::uint32_t large = c == 0 ? Tags::kShared : tags.large(c);
      for (const std::uint32_t tag : {0u, 1u, large - 1}) add(*tags.message(c, tag));
      for (const std::uint32_t tag : {large, goal::kMaxTag - 1, goal::kMaxTag})
        if (c > 0) add(*tags.message(c, tag));
      for (const std::uint32_t n : {0u, 1u, 2 * tags.large(1) - 1}) add(tags.collective(c, n));
    }
    for (std::uint32_t c = 1; c < comms; ++c)
      for (const std::uint32_t tag : {1u, goal::kMaxTag}) EXPECT_TRUE(seen.contains(*tags.message(c, tag)));
    EXPECT_EQ(tags.message(0, 12345), 12345u);
  }
}

// A share of 2^20 communicators has 256 tags as they are and 256 others.
TEST(GoalExport, LargeTagsAreNumberedAsLongAsThereAreNumbers) {
  Tags tags(1 << 20);
  std::set<std::uint32_t> seen;
  for (std::uint32_t i = 0; i < 256; ++i) {
    EXPECT_TRUE(seen.insert(*tags.message(1, i)).second) << i;
    EXPECT_TRUE(seen.insert(*tags.message(1, goal::kMaxTag - i)).second) << i;
  }
  EXPECT_FALSE(tags.message(1, 256));
  EXPECT_EQ(seen.size(), 512u);
  EXPECT_EQ(*seen.rbegin() - *seen.begin(), 511u);
  EXPECT_TRUE(tags.message(2, 256)) << "another communicator has its own";
}

// As a library has them that takes its tags from MPI_TAG_UB downwards; each rank meets them in another order.
TEST(GoalExport, TheRanksOfACommunicatorAgreeOnItsLargeTags) {
  constexpr std::int32_t kTop = 2147483647;
  MemoryTrace t(2);
  const CommId dup = t.add_comm("dup", {0, 1});
  for (const std::int32_t tag : {kTop, kTop - 7}) t.p2p(0, OpKind::send, 1, tag, 1, dup);
  for (const std::int32_t tag : {kTop - 7, kTop}) t.p2p(1, OpKind::recv, 0, tag, 1, dup);
  const TempDir dir;
  t.rewind();
  const auto written = export_trace(t, "goal", dir.path("t.goal"), {});
  ASSERT_TRUE(written) << written.error().message();
  const std::string text = slurp(dir.path("t.goal"));
  const auto tag_after = [&](const std::string& start, std::size_t from) {
    const std::size_t at = text.find("tag ", text.find(start, from)) + 4;
    return text.substr(at, text.find('\n', at) - at);
  };
  const std::size_t second = text.find("rank 1");
  ASSERT_NE(second, std::string::npos) << text;
  EXPECT_EQ(tag_after("l1: send", 0), tag_after("l2: recv", second));
  EXPECT_EQ(tag_after("l2: send", 0), tag_after("l1: recv", second));
  EXPECT_NE(tag_after("l1: send", 0), tag_after("l2: send", 0));
}

TEST(GoalExport, ATaskHasTheDependenciesThatItHas) {
  MemoryTrace t(2);
  t.compute(0, Duration(1'000'000));
  t.add(0, {.kind = OpKind::task_compute, .amount = 2'000'400}, {3});
  t.add(0, {.kind = OpKind::task_send, .peer = 1, .tag = 7, .amount = 64}, {0});
  t.add(0, {.kind = OpKind::task_recv, .peer = kAnySource, .tag = kAnyTag, .amount = 32}, {2, 2, -1});
  t.add(0, {.kind = OpKind::task_send, .peer = kProcNull, .amount = 32}, {0, 1});
  t.add(0, {.kind = OpKind::task_wait});
  t.p2p(0, OpKind::send, 1, 9, 8);
  EXPECT_EQ(goal_of(t),
            "l1: calc 1000\nl2: calc 2000 cpu 3\nl2 requires l1\nl3: send 64b to 1 tag 7\nl3 requires l1\n"
            "l4: recv 32b from -1 tag -1 cpu 2\nl4 requires l1\nl4 requires l2\nl4 irequires l3\n"
            "l5: calc 0\nl5 requires l1\nl5 requires l4\n"
            "l6: calc 0\nl6 requires l1\nl6 requires l2\nl6 requires l3\nl6 requires l4\nl6 requires l5\n"
            "l7: send 8b to 1 tag 9\nl7 requires l6\n");
}

// What came from a schedule goes back as it was, text and binary.
TEST(GoalExport, AScheduleOfTasksComesBackAsItIs) {
  const TempDir dir;
  const std::string text =
      "num_ranks 2\n\nrank 0 {\nl1: calc 5 cpu 1\nl2: send 64b to 1 tag 7\nl2 irequires l1\n"
      "l3: recv 32b from 1 tag 8 cpu 255\nl3 requires l2\n}\n"
      "\nrank 1 {\nl1: send 32b to 0 tag 8\nl2: recv 64b from 0 tag 7\nl3: calc 9\nl3 requires l2\nl4: calc "
      "8\nl4 requires l1\n}\n";
  auto t = open_trace({dir.write("t.goal", text)});
  ASSERT_TRUE(t) << t.error().message();
  ASSERT_TRUE(export_trace(**t, "goal", dir.path("again.goal"), {}));
  EXPECT_EQ(slurp(dir.path("again.goal")), text);
  (*t)->rewind();
  ASSERT_TRUE(export_trace(**t, "goal-binary", dir.path("t.bin"), {}));
  auto binary = open_trace({dir.path("t.bin")});
  ASSERT_TRUE(binary) << binary.error().message();
  (*t)->rewind();
  for (std::uint32_t r = 0; r < 2; ++r) EXPECT_EQ(*read_rank(**binary, r), *read_rank(**t, r));
}

TEST(GoalExport, WhatItCannotSayIsRefusedWithItsPosition) {
  const auto refused = [](const std::function<void(MemoryTrace&)>& write) {
    MemoryTrace t(2);
    t.add_comm("pair", {0, 1});
    t.compute(0, Duration(1000));
    write(t);
    TwoRounds rounds;
    return goal_of(t, &rounds);
  };
  EXPECT_EQ(refused([](auto& t) { t.flops(0, 1e6); }),
            "by hand: rank 0, operation 1: error: not supported: GOAL: computation in flops: its times are "
            "nanoseconds");
  EXPECT_THAT(refused([](auto& t) {
                t.add(0, {.kind = OpKind::launch}, {0, 1, 1, 1});
              }),
              HasSubstr("GOAL: accelerators"));
  EXPECT_THAT(refused([](auto& t) {
                t.p2p(0, OpKind::recv, 1, kAnyTag, 1);
                t.collective(0, OpKind::barrier, 0, 0, CommId(0));
              }),
              HasSubstr("operation 1: error: not supported: GOAL: a receive of any tag, or of one from "
                        "1073741824 on, beside collectives"));
  EXPECT_THAT(refused([](auto& t) {
                t.p2p(0, OpKind::recv, 1, 1, 1, CommId(1));
                t.p2p(0, OpKind::recv, 1, kAnyTag, 1);
              }),
              HasSubstr("operation 2: error: not supported: GOAL: a receive of any tag, or of one from "
                        "1073741824 on, beside"));
  for (const OpKind end : {OpKind::wait, OpKind::request_free, OpKind::cancel})
    EXPECT_EQ(
        refused([end](auto& t) {
          t.p2p(0, OpKind::irecv, 1, 1, 1, CommId(0), 0);
          t.add(0, {.kind = OpKind::cancel, .request = 0});
          t.add(0, {.kind = end, .peer = kAnySource, .tag = kAnyTag, .request = 0});
        }),
        "by hand: rank 0, operation 2: error: not supported: GOAL: a receive that was cancelled before a "
        "message came");
  MemoryTrace t(2);
  t.collective(0, OpKind::barrier, 0, 0, CommId(0));
  EXPECT_THAT(goal_of(t), HasSubstr("GOAL: collectives without somebody who knows their algorithms"));
}

// What is within them is read back, what is one beyond is not written.
TEST(GoalExport, TimesAndSizesAreThoseThatTheReaderTakes) {
  const auto with = [](std::int64_t nanoseconds, std::int64_t bytes) {
    MemoryTrace t(2);
    t.compute(0, Duration(nanoseconds * 1000));
    t.p2p(0, OpKind::send, 1, 0, bytes);
    t.p2p(1, OpKind::recv, 0, 0, bytes);
    return t;
  };
  constexpr auto kTime = static_cast<std::int64_t>(goal::kMaxNanoseconds) - 1;
  constexpr auto kBytes = static_cast<std::int64_t>(goal::kMaxBytes);
  for (const char* format : {"goal", "goal-binary"}) {
    const TempDir dir;
    MemoryTrace most = with(kTime, kBytes);
    ASSERT_TRUE(export_trace(most, format, dir.path("t")));
    const auto back = open_trace({dir.path("t")});
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ((*back)->totals().bytes, goal::kMaxBytes);
  }
  MemoryTrace longer = with(kTime + 1, 1), larger = with(1, kBytes + 1);
  EXPECT_EQ(goal_of(longer),
            "by hand: rank 0, operation 0: error: not supported: GOAL: a computation of more than 53 days");
  EXPECT_EQ(goal_of(larger),
            "by hand: rank 0, operation 1: error: not supported: GOAL: a message of more than 2^62 bytes");
}

// Receives of any tag beside collectives, as the recording had them: one says itself what it took, one at its wait, a persistent one
// at each start.
TEST(GoalExport, ReceivesOfAnyTagThatTookWhatTheRecordingSays) {
  MemoryTrace t(2);
  const Op any{.peer = kAnySource, .tag = kAnyTag, .amount = 8, .request = 0};
  const auto with = [&any](OpKind kind) {
    Op op = any;
    op.kind = kind;
    return op;
  };
  t.add(0, with(OpKind::irecv), {1, 5, 8});
  t.add(0, {.kind = OpKind::wait, .peer = 1, .tag = 5, .amount = 8, .request = 0});
  t.add(0, with(OpKind::irecv));
  t.add(0, {.kind = OpKind::wait, .peer = 1, .tag = 6, .amount = 8, .request = 0});
  t.add(0, with(OpKind::recv_init));
  for (const std::int64_t tag : {7, 8}) {
    Op start = with(OpKind::start);
    start.amount = 0;
    t.add(0, start, {1, tag, 8});
    t.add(0, {.kind = OpKind::waitall}, {0});
  }
  t.collective(0, OpKind::barrier, 0, 0, CommId(0));
  TwoRounds rounds;
  EXPECT_THAT(goal_of(t, &rounds), HasSubstr("not supported: GOAL: a receive of any tag"));
  RecordedMatches as_recorded(t);
  const std::string goal = goal_of(as_recorded, &rounds);
  for (const int tag : {5, 6, 7, 8})
    EXPECT_THAT(goal, HasSubstr(fmt::format("recv 8b from 1 tag {}\n", tag)));
  EXPECT_EQ(as_recorded.warning(), std::nullopt);
}

TEST(GoalExport, TextAndBinaryAreReadBackAlike) {
  const TempDir dir;
  TwoRounds rounds;
  MemoryTrace t(2);
  for (std::uint32_t r = 0; r < 2; ++r) {
    const auto other = static_cast<std::int32_t>(1 - r);
    for (std::uint32_t i = 0; i < 5000; ++i) {
      t.p2p(r, OpKind::irecv, other, 3, i, CommId(0), 0);
      t.compute(r, Duration(1000 * i));
      t.p2p(r, OpKind::isend, other, 3, i, CommId(0), 1);
      t.add(r, {.kind = OpKind::waitall}, {0, 1});
      if (i % 100 == 0) t.add(r, {.kind = OpKind::barrier});
    }
  }
  ASSERT_TRUE(export_trace(t, "goal", dir.path("t.goal"), {&rounds}));
  ASSERT_TRUE(export_trace(t, "goal-binary", dir.path("t.bin"), {&rounds}));
  auto text = open_trace({dir.path("t.goal")}), binary = open_trace({dir.path("t.bin")});
  ASSERT_TRUE(text) << text.error().message();
  ASSERT_TRUE(binary) << binary.error().message();
  EXPECT_EQ((*text)->totals().messages, 2u * (5000 + 2 * 50));
  EXPECT_TRUE((*text)->header().warnings.empty());
  for (std::uint32_t r = 0; r < 2; ++r) EXPECT_EQ(*read_rank(**text, r), *read_rank(**binary, r));
  // The same again is the same bytes.
  ASSERT_TRUE(export_trace(**binary, "goal-binary", dir.path("u.bin")));
  ASSERT_TRUE(export_trace(**text, "goal-binary", dir.path("v.bin")));
  EXPECT_EQ(slurp(dir.path("u.bin")), slurp(dir.path("v.bin")));
}

}  // namespace
}  // namespace weft::traces::goal_export_test
