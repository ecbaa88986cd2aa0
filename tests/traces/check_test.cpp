// The trace doctor on programs that a person can check by eye.
#include "traces/check/check.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <functional>
#include <numeric>

#include "tests/support/checkout.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/traces/trace_testing.hpp"
#include "traces/check/doctor.hpp"

namespace weft::traces {
namespace {

using namespace testing;

CheckReport check_text(const TempDir& dir, const std::string& text, bool synchronous = false) {
  auto t = open_trace({dir.write("t.txt", text)});
  EXPECT_TRUE(t) << t.error().message();
  CheckOptions o;
  o.synchronous = synchronous;
  auto r = check_trace(**t, o);
  EXPECT_TRUE(r);
  return *r;
}

// A call that completes 5,000 receives from any source, whose messages come one by one: it is woken for each.
TEST(Check, ACallThatCompletesManyRequestsIsNotAskedAboutAllForEach) {
  constexpr std::uint32_t kMany = 5'000;
  ::weft::testing::MemoryTrace t(2);
  std::vector<std::int64_t> slots;
  for (std::uint32_t i = 0; i < kMany; ++i) {
    t.p2p(0, OpKind::irecv, kAnySource, 0, 8, CommId(0), i);
    t.p2p(1, OpKind::ssend, 0, 0, 8);
    slots.push_back(i);
  }
  t.add(0, {.kind = OpKind::waitall}, slots);
  CheckReport report;
  doctor::Findings findings(t, report, 10);
  doctor::Doctor run(t, findings, {});
  ASSERT_TRUE(run.run());
  EXPECT_EQ(report.errors, 0u);
  EXPECT_LT(run.requests_asked(), 4 * kMany) << "each once, and once when it is woken";
}

TEST(Check, AMatchingExchangeHasNoFindings) {
  const TempDir dir;
  const auto r = check_text(
      dir, "0 irecv 1 5 8 0\n0 send 1 5 8 0\n0 wait 1 0 5\n1 irecv 0 5 8 0\n1 send 0 5 8 0\n1 wait 0 1 5\n",
      true);
  EXPECT_TRUE(r.findings.empty());
}

TEST(Check, TwoReceivesFirstAreADeadlockNamedByRankAndOperation) {
  const TempDir dir;
  const auto r = check_text(dir, "0 recv 1 5 8 0\n0 send 1 5 8 0\n1 recv 0 5 8 0\n1 send 0 5 8 0\n");
  ASSERT_EQ(r.errors, 1u);
  EXPECT_NE(r.findings[0].message.find("deadlock: rank 0 at operation 0"), std::string::npos)
      << r.findings[0].message;
  EXPECT_NE(r.findings[0].message.find("recv from rank 1 with tag 5, waits for rank 1"), std::string::npos);
}

TEST(Check, TwoSendsFirstDependOnBuffering) {
  const TempDir dir;
  const std::string text = "0 send 1 5 8 0\n0 recv 1 5 8 0\n1 send 0 5 8 0\n1 recv 0 5 8 0\n";
  EXPECT_TRUE(check_text(dir, text).findings.empty());
  const auto r = check_text(dir, text, true);
  EXPECT_EQ(r.errors, 0u);
  ASSERT_EQ(r.warnings, 1u);
  EXPECT_TRUE(r.findings[0].message.starts_with("depends on buffering"));
}

// More warnings than are told stand before the exchange: its deadlock is told all the same, and counted with them.
TEST(Check, ADeadlockThatBufferingHidesIsFoundBehindAnyNumberOfWarnings) {
  CheckOptions o;
  const std::size_t many = o.max_findings + 100;
  ::weft::testing::MemoryTrace t(2);
  const RegionId region = t.add_region("solve");
  for (std::size_t i = 0; i < many; ++i) t.region(0, OpKind::region_end, region);
  for (const std::uint32_t r : {0u, 1u}) {
    const auto other = static_cast<std::int32_t>(1 - r);
    t.p2p(r, OpKind::send, other, 5, 8);
    t.p2p(r, OpKind::recv, other, 5, 8);
  }
  const auto buffered = check_trace(t, o);
  ASSERT_TRUE(buffered);
  EXPECT_EQ(buffered->warnings, many);
  o.synchronous = true;
  const auto r = check_trace(t, o);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->errors, 0u);
  EXPECT_EQ(r->warnings, many + 1);
  EXPECT_EQ(std::ranges::count_if(
                r->findings, [](const Finding& f) { return f.message.starts_with("depends on buffering"); }),
            1);
}

TEST(Check, SynchronousSendsThatCrossAreADeadlock) {
  const TempDir dir;
  EXPECT_EQ(check_text(dir, "0 Ssend 1 5 8 0\n0 recv 1 5 8 0\n1 Ssend 0 5 8 0\n1 recv 0 5 8 0\n").errors, 1u);
}

// Rank `late` of three waits for a message that `early` sends behind the same collective.
std::string findings_if_late(OpKind kind, std::uint32_t late, std::uint32_t early) {
  ::weft::testing::MemoryTrace t(3);
  const CommId comm = t.add_comm("turned", {2, 0, 1});
  // Along 2 -> 0 -> 1, as data of a scan go.
  const auto neighbors = [](std::uint32_t rank) {
    return rank == 2   ? std::vector<std::int64_t>{0, 1, 0}
           : rank == 0 ? std::vector<std::int64_t>{1, 2, 1, 1}
                       : std::vector<std::int64_t>{1, 0, 0};
  };
  const bool waits = is_nonblocking_collective(kind);
  const OpKind form = blocking_form(kind);
  const auto call = [&](std::uint32_t rank) {
    Op op{.kind = kind, .comm = comm, .peer = kAnySource, .amount = 8};
    if (waits) op.request = 0;
    t.add(rank, op, form == OpKind::neighbor_alltoall ? neighbors(rank) : std::vector<std::int64_t>());
    if (waits) t.wait(rank, 0);
  };
  t.p2p(late, OpKind::recv, static_cast<std::int32_t>(early), 0, 8);
  for (const std::uint32_t rank : {0u, 1u, 2u}) call(rank);
  t.p2p(early, OpKind::send, static_cast<std::int32_t>(late), 0, 8);
  const auto r = check_trace(t);
  EXPECT_TRUE(r);
  return !r ? "" : r->findings.empty() ? "nothing" : r->findings[0].message;
}

// In every MPI: what it gives back holds what others put in.
TEST(Check, ARankLeavesACollectiveOnceThoseWhoseDataItGetsAreThere) {
  for (const OpKind kind : {OpKind::scan, OpKind::iscan, OpKind::exscan, OpKind::iexscan,
                            OpKind::neighbor_alltoall, OpKind::ineighbor_alltoall}) {
    SCOPED_TRACE(op_name(kind));
    for (const auto& [late, early] : {std::pair{2u, 0u}, {0u, 1u}}) {
      const std::string told = findings_if_late(kind, late, early);
      EXPECT_THAT(told, ::testing::HasSubstr("deadlock: rank"));
      EXPECT_THAT(told, ::testing::HasSubstr(std::string(op_name(kind))));
      EXPECT_THAT(told, ::testing::HasSubstr(fmt::format("on turned waits for rank {}", late)));
      EXPECT_EQ(findings_if_late(kind, early, late), "nothing");
    }
    // Two steps away: rank 1 gets data of rank 2 in a scan, but 2 is no neighbour of it.
    const bool neighbors = blocking_form(kind) == OpKind::neighbor_alltoall;
    EXPECT_EQ(findings_if_late(kind, 2, 1) == "nothing", neighbors);
    EXPECT_EQ(findings_if_late(kind, 1, 2), "nothing");
  }
}

// Rank x sends (31 x + 17 y) mod 5 bytes to rank y, all in all `ranks` ranks; `change` turns the list of each into another.
std::string findings_of_alltoallv(
    OpKind kind, std::uint32_t ranks,
    const std::function<void(std::uint32_t, std::vector<std::int64_t>&)>& change) {
  ::weft::testing::MemoryTrace t(ranks);
  const auto bytes = [](std::uint64_t x, std::uint64_t y) {
    return static_cast<std::int64_t>((31 * x + 17 * y) % 5);
  };
  for (std::uint32_t r = 0; r < ranks; ++r) {
    std::vector<std::int64_t> list{ranks};
    for (std::uint32_t to = 0; to < ranks; ++to) list.push_back(bytes(r, to));
    for (std::uint32_t from = 0; from < ranks; ++from) list.push_back(bytes(from, r));
    change(r, list);
    const std::int64_t sent = std::accumulate(list.begin() + 1, list.begin() + 1 + ranks, std::int64_t{0});
    Op op{.kind = kind, .peer = kAnySource, .amount = sent};
    if (is_nonblocking_collective(kind)) op.request = 0;
    t.add(r, op, list);
    if (is_nonblocking_collective(kind)) t.wait(r, 0);
  }
  const auto r = check_trace(t);
  EXPECT_TRUE(r);
  return !r || r->findings.empty() ? "nothing" : r->findings[0].message;
}

// Up to 1,024 members the pair is named; of more it is only known that there is one.
TEST(Check, WhatMembersOfAnAlltoallvSendIsWhatOthersExpectHoweverManyTheyAre) {
  for (const OpKind kind : {OpKind::alltoallv, OpKind::ialltoallw})
    for (const std::uint32_t ranks : {1024u, 1025u}) {
      SCOPED_TRACE(fmt::format("{} of {}", op_name(kind), ranks));
      const bool named = ranks <= 1024;
      EXPECT_EQ(findings_of_alltoallv(kind, ranks, [](std::uint32_t, auto&) {}), "nothing");
      EXPECT_THAT(
          findings_of_alltoallv(kind, ranks, [](std::uint32_t r, auto& list) { list[1 + 9] += r == 7; }),
          ::testing::HasSubstr(named ? "rank 7 sends 1 bytes to rank 9 on world, which expects 0"
                                     : "the sizes on world disagree"));
      // As many bytes sent and expected in all, by each rank, too.
      EXPECT_THAT(findings_of_alltoallv(kind, ranks,
                                        [](std::uint32_t r, auto& list) {
                                          if (r == 7) std::swap(list[1 + 9], list[1 + 10]);
                                        }),
                  ::testing::HasSubstr(named ? "rank 7 sends" : "the sizes on world disagree"));
      EXPECT_THAT(
          findings_of_alltoallv(kind, ranks,
                                [&](std::uint32_t r, auto& list) {
                                  if (r == 3) std::swap(list[1 + ranks + 1], list[1 + ranks + 2]);
                                }),
          ::testing::HasSubstr(named ? "to rank 3 on world, which expects" : "the sizes on world disagree"));
    }
}

TEST(Check, UnmatchedSendsTruncationAndDisagreementsAreErrors) {
  const TempDir dir;
  EXPECT_NE(check_text(dir, "0 send 1 5 8 0\n1 init\n").findings.at(0).message.find("rank 1 never receives"),
            std::string::npos);
  EXPECT_NE(
      check_text(dir, "0 send 1 5 9 0\n1 recv 0 5 8 0\n").findings.at(0).message.find("posted 64 bytes"),
      std::string::npos);
  EXPECT_NE(check_text(dir, "0 bcast 8 0\n1 barrier\n").findings.at(0).message.find("disagrees on world"),
            std::string::npos);
  EXPECT_NE(check_text(dir, "0 bcast 8 0\n1 bcast 8 1\n").findings.at(0).message.find("root"),
            std::string::npos);
  EXPECT_NE(
      check_text(dir, "0 allreduce 8 0\n1 allreduce 9 0\n").findings.at(0).message.find("bytes on world"),
      std::string::npos);
}

TEST(Check, HplTracesAreClean) {
  for (const std::string& trace : hpl_traces()) {
    SCOPED_TRACE(trace);
    auto t = open_trace({trace + "/trace.tar.zst"});
    ASSERT_TRUE(t) << t.error().message();
    auto r = check_trace(**t);
    ASSERT_TRUE(r);
    EXPECT_TRUE(r->findings.empty()) << r->findings[0].message;
  }
}

}  // namespace
}  // namespace weft::traces
