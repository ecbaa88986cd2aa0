// OTF2 archives of as much time and of as many bytes as there may be, and of more: what is written is read back.
#include <gmock/gmock.h>

#include "core/byte_sum.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/traces/otf2/otf2_testing.hpp"
#include "traces/exports/export.hpp"
#include "traces/formats/otf2/limits.hpp"
#include "traces/formats/otf2/write/replayed.hpp"

namespace weft::traces::otf2_limits_test {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using weft::testing::MemoryTrace;

constexpr auto kMost = static_cast<std::int64_t>(otf2::kMostBytes);
constexpr std::int64_t kDay = std::int64_t{24} * 3600 * 1'000'000'000'000;
constexpr const char* kTooLong =
    "error: not supported: an OTF2 archive in which a rank computes for more than 26 days; expected a "
    "shorter "
    "program";

// Why it is not written.
std::string refusal(MemoryTrace t) {
  const TempDir dir;
  const auto e = export_trace(t, "otf2", dir.path("out"));
  EXPECT_FALSE(e);
  return e ? std::string() : e.error().message();
}

TEST(Otf2Limits, WhatIsAsLongAndAsLargeAsCanBeComesBack) {
  MemoryTrace t(2);
  t.compute(0, Duration(otf2::kMostPs - 1));
  t.p2p(0, OpKind::send, 1, 0, kMost);
  t.p2p(1, OpKind::recv, 0, 0, kMost);
  for (const std::uint32_t r : {0u, 1u})
    t.add(r, {.kind = OpKind::alltoallv, .peer = kAnySource, .amount = kMost},
          {2, kMost / 2, kMost / 2, kMost / 2, kMost / 2});
  const TempDir dir;
  ASSERT_TRUE(export_trace(t, "otf2", dir.path("out")));
  const auto back = opened(dir.path("out"));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->totals().bytes, otf2::kMostBytes);
  EXPECT_THAT(computes(*back, 0), ElementsAre(otf2::kMostPs - 1));
}

TEST(Otf2Limits, MessagesAndSumsOfMoreAreRefused) {
  for (const OpKind kind :
       {OpKind::send, OpKind::isend, OpKind::ssend_init, OpKind::sendrecv, OpKind::recv}) {
    MemoryTrace t(2);
    const bool request = kind == OpKind::isend || kind == OpKind::ssend_init;
    t.p2p(0, kind, 1, 0, kMost + 1, CommId(0), request ? 0 : kNoRequest);
    EXPECT_THAT(refusal(t), AllOf(HasSubstr("rank 0, operation 0: error: not supported: OTF2 cannot say"),
                                  HasSubstr("the message is of more than 2^60 bytes")));
  }
  MemoryTrace completed(2);
  completed.p2p(0, OpKind::irecv, 1, 0, kMost + 1, CommId(0), 0);
  completed.add(0, {.kind = OpKind::waitall}, {0});
  EXPECT_THAT(refusal(completed), HasSubstr("the message is of more than 2^60 bytes"));
  // Two of 2^63 - 1, and 1, would be 0 in a sum that wraps.
  MemoryTrace sums(3);
  sums.add(0, {.kind = OpKind::alltoallv, .peer = kAnySource, .amount = 1},
           {3, 1, 0, 0, INT64_MAX, INT64_MAX, 2});
  EXPECT_THAT(refusal(sums), HasSubstr("the sum over the communicator is beyond 2^60 bytes"));
  MemoryTrace scattered(4);
  scattered.add(0, {.kind = OpKind::reduce_scatter, .peer = kAnySource, .amount = 0}, {kMost, 0, 0, 0});
  EXPECT_THAT(refusal(scattered), HasSubstr("the sum over the communicator is beyond 2^60 bytes"));
}

TEST(Otf2Limits, RanksThatComputeForLongerAreRefused) {
  MemoryTrace t(1);
  t.compute(0, Duration(otf2::kMostPs / 2));
  t.collective(0, OpKind::barrier, kAnySource, 0, CommId(0));
  t.compute(0, Duration(otf2::kMostPs / 2 + 1));
  EXPECT_THAT(refusal(t), AllOf(HasSubstr("rank 0, operation 2: "), HasSubstr(kTooLong)));
}

// Of a replay waits do not count, but for those for accelerators, which are no calls of MPI.
TEST(Otf2Limits, OfAReplayItIsTheTimeOutsideOfCalls) {
  const auto archived = [](bool long_computation, bool ends) -> std::string {
    MemoryTrace t(2);
    t.p2p(0, OpKind::send, 1, 0, 8);
    t.p2p(1, OpKind::recv, 0, 0, 8);
    t.flops(1, 1e18);
    if (!ends) t.collective(1, OpKind::barrier, kAnySource, 0, CommId(0));
    const std::int64_t computed = (long_computation ? 27 : 26) * kDay;
    ReplayedOps ops(2);
    ops[0].add(0, {0, 1000});
    ops[1].matches.push_back({0, kNoRequest, 0, 0, 8});
    ops[1].add(0, {0, 30 * kDay});
    ops[1].add(1, {30 * kDay, 30 * kDay + computed});
    if (!ends) ops[1].add(2, {30 * kDay + computed, 30 * kDay + computed});
    const TempDir dir;
    auto archive = open_replayed_otf2(dir.path("out"));
    if (!archive) return archive.error().message();
    if (const auto written = (*archive)->write(t, ops, nullptr); !written) return written.error().message();
    const auto back = opened(dir.path("out"));
    if (!back) return "not read back";
    EXPECT_THAT(computes(*back, 1), ElementsAre(computed));
    return "";
  };
  for (const bool ends : {true, false}) {
    EXPECT_EQ(archived(false, ends), "");
    EXPECT_THAT(archived(true, ends), HasSubstr(kTooLong));
  }
}

// 32 messages of 2^59 bytes are 2^64; of 33 a sum that wraps is that of one.
TEST(Otf2Limits, MoreBytesInAllThanAreCountedAreNoFigure) {
  for (const int messages : {31, 32, 33}) {
    const TempDir dir;
    {
      Otf2Writer w(dir.path("a"), 2);
      for (std::uint32_t r = 0; r < 2; ++r) w[r].enter("MPI_Init").leave();
      for (int i = 0; i < messages; ++i) {
        w[0].enter("MPI_Send").send(1, 7, std::uint64_t{1} << 59).leave();
        w[1].enter("MPI_Recv").recv(0, 7, std::uint64_t{1} << 59).leave();
      }
    }
    const auto t = opened(dir.path("a"));
    ASSERT_TRUE(t);
    EXPECT_EQ(t->totals().bytes, messages == 31 ? std::uint64_t{31} << 59 : kTooManyBytes) << messages;
  }
}

}  // namespace
}  // namespace weft::traces::otf2_limits_test
