// OTF2 archives -> operations: what newer archives have, and what needs all of an archive to be known.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "tests/traces/address_limit.hpp"
#include "tests/traces/otf2/otf2_testing.hpp"
#include "traces/check/check.hpp"
#include "traces/formats/otf2/archive.hpp"
#include "traces/formats/otf2/vector_sizes.hpp"
#include "traces/info.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Otf2Calls, NonBlockingCollectivesStandWhereTheyWereStarted) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 3);
    for (std::uint32_t r = 0; r < 3; ++r) {
      w[r].enter("MPI_Iallreduce").icollective(1).leave();
      w[r].enter("MPI_Ibcast").icollective(2).leave();
      w[r].enter("MPI_Wait").icollective_done(OTF2_COLLECTIVE_OP_BCAST, r == 1 ? 300 : 0, 100, 2, 1).leave();
      w[r].enter("MPI_Waitall").icollective_done(OTF2_COLLECTIVE_OP_ALLREDUCE, 24, 24, 1).leave();
    }
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  for (std::uint32_t r = 0; r < 3; ++r)
    EXPECT_THAT(shown_program(*t, r),
                ElementsAre("iallreduce peer=-1 amount=8 request=0", "ibcast peer=1 amount=100 request=1",
                            "wait peer=-1 tag=-1 request=1", "waitall peer=-1 tag=-1 list=[0]"));
  EXPECT_THAT(t->header().warnings, IsEmpty());
  EXPECT_TRUE(check_trace(*t)->ok());
}

TEST(Otf2Calls, CommunicatorsAreMadeAndFreedWhereTheArchiveSaysSo) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 4);
    const auto even = w.comm({0, 2}, "even"), dup = w.comm({0, 1, 2, 3});
    for (std::uint32_t r = 0; r < 4; ++r) {
      auto& rank = w[r];
      // Score-P makes the world in MPI_Init and frees it in MPI_Finalize: no operations.
      rank.enter("MPI_Init")
          .collective(OTF2_COLLECTIVE_OP_CREATE_HANDLE, 0, 0, Otf2Writer::kNone, 0, 0)
          .leave();
      rank.enter("MPI_Comm_split")
          .collective(OTF2_COLLECTIVE_OP_CREATE_HANDLE, 0, 0, Otf2Writer::kNone, 0,
                      r % 2 == 0 ? even : Otf2Writer::kNone)
          .leave();
      rank.enter("MPI_Comm_idup").icollective(9).leave();
      rank.enter("MPI_Wait")
          .icollective_done(OTF2_COLLECTIVE_OP_CREATE_HANDLE, 0, 0, 9, Otf2Writer::kNone, 0, dup)
          .leave();
      rank.enter("MPI_Barrier").collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0, Otf2Writer::kNone, dup).leave();
      if (r % 2 == 0) rank.enter("MPI_Comm_free").destroy(even).leave();
      rank.enter("MPI_Finalize").destroy(0).leave();
    }
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 2), ElementsAre("init", "comm_split amount=1", "comm_dup amount=2",
                                                "barrier comm=2 peer=-1", "comm_free comm=1", "finalize"));
  EXPECT_THAT(shown_program(*t, 1), ElementsAre("init", "comm_split amount=-1", "comm_dup amount=2",
                                                "barrier comm=2 peer=-1", "finalize"));
  EXPECT_EQ(t->communicators()[1].name, "even");
  EXPECT_THAT(t->header().warnings, IsEmpty());
  EXPECT_TRUE(check_trace(*t)->ok());
}

// The n-th call on a communicator is one call of all members: their own sizes become lists that agree.
TEST(Otf2Calls, SizesOfVectorCollectivesAgreeBetweenAllMembers) {
  const std::uint64_t seed = seed_or(1);
  RecordProperty("seed", std::to_string(seed));
  for (std::uint64_t round = 0; round < 6; ++round) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed) + " round " + std::to_string(round));
    Rng rng(seed + round);
    const TempDir dir;
    const auto n = static_cast<std::uint32_t>(2 + rng.below(6));
    // bytes[c][i][j] of call c: what i sends to j.
    std::vector<std::vector<std::vector<std::uint64_t>>> calls(5);
    for (auto& c : calls) {
      c.assign(n, std::vector<std::uint64_t>(n));
      for (auto& row : c)
        for (auto& b : row) b = rng.below(4) == 0 ? 0 : rng.below(1000);
    }
    std::vector<std::vector<std::uint64_t>> own(5, std::vector<std::uint64_t>(n));
    for (auto& o : own)
      for (auto& b : o) b = rng.below(500);
    {
      Otf2Writer w(dir.path("a"), n);
      for (std::uint32_t r = 0; r < n; ++r) {
        std::uint64_t request = 1;
        for (std::size_t c = 0; c < calls.size(); ++c) {
          std::uint64_t sent = 0, received = 0, all = 0;
          for (std::uint32_t j = 0; j < n; ++j)
            sent += calls[c][r][j], received += calls[c][j][r], all += own[c][j];
          if (c % 2 == 0) {
            w[r].enter("MPI_Alltoallv").collective(OTF2_COLLECTIVE_OP_ALLTOALLV, sent, received).leave();
          } else {
            // Two under way at a time, completed in turned order.
            w[r].enter("MPI_Ialltoallv").icollective(request).leave();
            w[r].enter("MPI_Iallgatherv").icollective(request + 1).leave();
            w[r].enter("MPI_Waitall")
                .icollective_done(OTF2_COLLECTIVE_OP_ALLGATHERV, n * own[c][r], all, request + 1)
                .icollective_done(OTF2_COLLECTIVE_OP_ALLTOALLV, sent, received, request)
                .leave();
            request += 2;
          }
          w[r].enter("MPI_Gatherv")
              .collective(OTF2_COLLECTIVE_OP_GATHERV, own[c][r], r == 1 ? all : 0, 1)
              .leave();
          w[r].enter("MPI_Scatterv")
              .collective(OTF2_COLLECTIVE_OP_SCATTERV, r == 0 ? all : 0, own[c][r], 0)
              .leave();
          w[r].enter("MPI_Reduce_scatter")
              .collective(OTF2_COLLECTIVE_OP_REDUCE_SCATTER, all, n * own[c][r])
              .leave();
        }
      }
    }
    const auto t = opened(dir.path("a"));
    ASSERT_TRUE(t);
    const auto report = check_trace(*t);
    ASSERT_TRUE(report);
    for (const auto& f : report->findings)
      if (f.severity == Severity::kError) ADD_FAILURE() << f.message;
    EXPECT_THAT(t->header().warnings, Contains(HasSubstr("sizes averaged")));
    // gatherv and scatterv are exact; of an alltoallv the sums of a rank are, but for what rounding cannot keep.
    for (std::uint32_t r = 0; r < n; ++r) {
      t->rewind();
      std::size_t gathers = 0, alltoalls = 0;
      for (const PlainOp& p : ops_of_rank(*t, r)) {
        const OpKind k = blocking_form(p.op.kind);
        if (k == OpKind::gatherv) {
          EXPECT_EQ(p.op.amount, static_cast<std::int64_t>(own[gathers][r]));
          ASSERT_EQ(p.list.size(), r == 1 ? n : 0u);
          for (std::size_t j = 0; j < p.list.size(); ++j)
            EXPECT_EQ(p.list[j], static_cast<std::int64_t>(own[gathers][j]));
          ++gathers;
        } else if (k == OpKind::alltoallv) {
          std::int64_t sent = 0;
          for (std::uint32_t j = 0; j < n; ++j) sent += static_cast<std::int64_t>(calls[alltoalls][r][j]);
          EXPECT_NEAR(static_cast<double>(p.op.amount), static_cast<double>(sent), n) << "call " << alltoalls;
          ++alltoalls;
        }
      }
      EXPECT_EQ(gathers, 5u);
      EXPECT_EQ(alltoalls, 5u);
    }
  }
}

using otf2::VectorSizes;

// What each of `n` members has of its own: uneven, with zeros, and multiples of n and n - 1 among them.
std::vector<std::vector<std::int64_t>> uneven_parts(std::int64_t n, Rng& rng) {
  std::vector<std::vector<std::int64_t>> all(12, std::vector<std::int64_t>(static_cast<std::size_t>(n)));
  const auto uneven = [](std::vector<std::int64_t>& own) { own[0] = own[1] + 8; };
  for (auto& own : all) {
    const std::int64_t of = rng.below(2) == 0 ? 8 : 8 * n * (n - 1);
    for (auto& bytes : own)
      bytes = rng.below(3) == 0 ? 0 : of * static_cast<std::int64_t>(100 + rng.below(400));
    if (std::ranges::adjacent_find(own, std::not_equal_to<>()) == own.end()) uneven(own);
  }
  all[0].assign(static_cast<std::size_t>(n), 0);
  uneven(all[0]);
  all[1].assign(static_cast<std::size_t>(n), 1'000'000);
  all[1][0] = 3'000'000;
  return all;
}

TEST(Otf2Calls, AnAllgathervInPlaceOrNotComesBackFromTheSumsOfAllMembers) {
  Rng rng(seed_or(5));
  for (std::int64_t n = 2; n <= 5; ++n)
    for (const auto& own : uneven_parts(n, rng))
      for (const bool in_place : {false, true}) {
        const std::int64_t all = std::accumulate(own.begin(), own.end(), std::int64_t{0});
        std::vector<VectorSizes::Sum> sums;
        for (const std::int64_t b : own)
          sums.push_back(in_place ? VectorSizes::Sum{(n - 1) * b, all - b} : VectorSizes::Sum{n * b, all});
        for (std::int64_t me = 0; me < n; ++me) {
          std::int64_t amount = -1;
          EXPECT_EQ(otf2::vector_list(OpKind::allgatherv, sums, me, -1, amount), own)
              << "in place " << in_place;
          EXPECT_EQ(amount, own[static_cast<std::size_t>(me)]);
        }
      }
}

TEST(Otf2Calls, AReduceScatterInPlaceOrNotComesBackFromTheSumsOfAllMembers) {
  enum class Way { kNot, kInPlace, kInPlaceOld };
  Rng rng(seed_or(6));
  for (std::int64_t n = 2; n <= 5; ++n)
    for (const auto& own : uneven_parts(n, rng))
      for (const Way way : {Way::kNot, Way::kInPlace, Way::kInPlaceOld}) {
        const std::int64_t all = std::accumulate(own.begin(), own.end(), std::int64_t{0});
        std::vector<VectorSizes::Sum> sums;
        for (const std::int64_t b : own) {
          if (way == Way::kNot) sums.push_back({all, n * b});
          if (way == Way::kInPlace) sums.push_back({all - b, (n - 1) * b});
          if (way == Way::kInPlaceOld) sums.push_back({all - 8, (n - 1) * b});
        }
        for (std::int64_t me = 0; me < n; ++me) {
          std::int64_t amount = -1;
          EXPECT_EQ(otf2::vector_list(OpKind::reduce_scatter, sums, me, -1, amount), own)
              << "way " << static_cast<int>(way);
          EXPECT_EQ(amount, all);
        }
      }
}

// A member never made the call, or a writer has sums of its own: every member has the same list all the same.
TEST(Otf2Calls, SumsThatNoRuleExplainsGiveAllMembersOneList) {
  const std::vector<VectorSizes::Sum> sums = {{70, 60}, {60, 70}, {0, 0}};
  for (const OpKind kind : {OpKind::allgatherv, OpKind::reduce_scatter}) {
    std::int64_t amount = 0;
    const auto first = otf2::vector_list(kind, sums, 0, -1, amount);
    EXPECT_EQ(otf2::vector_list(kind, sums, 1, -1, amount), first) << op_name(kind);
    if (kind == OpKind::reduce_scatter) {
      EXPECT_THAT(first, ElementsAre(24, 23, 23));
    }
  }
}

// 3 MB and 1 MB of two ranks: both divide by two, as if it were not in place.
TEST(Otf2Calls, CallsInPlaceWithUnevenCountsAreThoseOfTheProgram) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 2);
    for (std::uint32_t r = 0; r < 2; ++r) {
      const std::uint64_t own[] = {3'000'000, 1'000'000}, part[] = {70, 60};
      w[r].enter("MPI_Allgatherv").collective(OTF2_COLLECTIVE_OP_ALLGATHERV, own[r], own[1 - r]).leave();
      w[r].enter("MPI_Reduce_scatter")
          .collective(OTF2_COLLECTIVE_OP_REDUCE_SCATTER, part[1 - r], part[r])
          .leave();
      w[r].enter("MPI_Ireduce_scatter").icollective(1).leave();
      w[r].enter("MPI_Wait")
          .icollective_done(OTF2_COLLECTIVE_OP_REDUCE_SCATTER, 120, r == 0 ? 200 : 40, 1)
          .leave();
    }
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 0), ElementsAre("allgatherv peer=-1 amount=3000000 list=[3000000,1000000]",
                                                "reduce_scatter peer=-1 amount=130 list=[70,60]",
                                                "ireduce_scatter peer=-1 amount=120 request=0 list=[100,20]",
                                                "wait peer=-1 tag=-1 request=0"));
  EXPECT_TRUE(check_trace(*t)->ok());
}

TEST(Otf2Calls, ARequestThatCompletesFarAwayIsKnownAtItsStart) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 2);
    w[0].enter("MPI_Irecv").irecv(1).leave();
    w[0].enter("MPI_Irecv").irecv(2).leave();  // never completed
    w[0].enter("MPI_Irecv").irecv(3).leave();  // cancelled far away
    w[0].enter("MPI_Ibarrier").icollective(4).leave();
    w[1].enter("MPI_Ibarrier").icollective(4).leave();
    for (int i = 0; i < 20'000; ++i) {
      w[0].enter("MPI_Send").send(1, 0, 8).leave();
      w[1].enter("MPI_Recv").recv(0, 0, 8).leave();
    }
    w[1].enter("MPI_Send").send(0, 5, 77).leave();
    w[1].enter("MPI_Wait").icollective_done(OTF2_COLLECTIVE_OP_BARRIER, 0, 0, 4).leave();
    w[0].enter("MPI_Waitall")
        .received(1, 5, 77, 1)
        .icollective_done(OTF2_COLLECTIVE_OP_BARRIER, 0, 0, 4)
        .leave();
    w[0].enter("MPI_Wait").cancelled(3).leave();
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  const auto ops = shown_program(*t, 0);
  ASSERT_EQ(ops.size(), 20'003u);
  EXPECT_EQ(ops[0], "irecv peer=1 tag=5 amount=77 request=0");
  EXPECT_EQ(ops[1], "ibarrier peer=-1 request=1");
  EXPECT_EQ(ops[2], "send peer=1 amount=8");
  EXPECT_EQ(ops.back(), "waitall peer=-1 tag=-1 list=[0,1]");
  t->rewind();
  EXPECT_EQ(ops_of_rank(*t, 0).size(), t->ops_of(RankId(0)));
  EXPECT_TRUE(check_trace(*t)->ok());
  // Where an operation stands: that of its event.
  EXPECT_THAT(t->position(RankId(1), 1), HasSubstr("traces/1.evt@byte 0x"));
}

TEST(Otf2Calls, ClocksAndNumbersOfALocationAreMapped) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 1);
    const auto barrier = w.region("MPI_Barrier");
    // The location calls the barrier 77, and its clock runs at half speed: 1000 of its ticks are 2000.
    w[0].region_map[77] = barrier;
    w[0].clock_offsets = {{1000, 0}, {11'000, 10'000}};
    w[0].at(2000).enter_ref(77).collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0).at(3000).leave_ref(77);
    w[0].at(4000).enter_ref(77).collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0).at(5000).leave_ref(77);
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 0), ElementsAre("barrier peer=-1", "barrier peer=-1"));
  EXPECT_THAT(computes(*t, 0), ElementsAre(2'000'000));
}

TEST(Otf2Calls, WhatTheTracerDidIsNoComputation) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 1);
    w[0].at(1000).enter("MPI_Init").at(2000).leave();
    w[0].at(3000).flush(50'000).at(54'000).enter("MPI_Barrier");
    w[0].collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0).at(60'000).leave();
    w[0].measurement(false).measurement(true).at(60'500).enter("MPI_Finalize").leave();
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(computes(*t, 0), ElementsAre(2'000'000, 500'000));
  EXPECT_THAT(t->header().notes, Contains("1 flush of the tracer's buffer: their time is left out."));
  EXPECT_THAT(t->header().warnings,
              ElementsAre("the tracer was switched off 1 time: what ran meanwhile counts as computation"));
}

TEST(Otf2Calls, LocationsThatAreNoRankAreNamedAndTheirCallsCounted) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 1, {}, 3);
    w[0].enter("MPI_Barrier").collective(OTF2_COLLECTIVE_OP_BARRIER, 0, 0).leave();
    w[1].enter("MPI_Send").send(0, 0, 8).leave();
    w[2].type = OTF2_LOCATION_TYPE_ACCELERATOR_STREAM;
    w[3].type = OTF2_LOCATION_TYPE_METRIC;
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_EQ(t->header().ranks, 1u);
  EXPECT_THAT(
      t->header().notes,
      Contains("Locations that are no rank of MPI: 1 thread, 1 GPU stream, 1 set of metrics; not read."));
  EXPECT_THAT(t->header().warnings,
              ElementsAre("1 event of MPI by 1 thread beside the one that MPI's groups name: left out"));
}

TEST(Otf2Calls, CallsWithoutARecordAreCountedByFunction) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 1);
    const auto inter = w.inter_comm();
    for (const char* name :
         {"MPI_Init", "MPI_Ibarrier", "MPI_Put", "MPI_File_write_all", "MPI_Neighbor_alltoall",
          "MPI_Comm_spawn", "MPI_Allreduce", "MPI_Probe", "MPI_Iprobe", "MPI_Comm_split"})
      w[0].call(name);
    w[0].enter("MPI_Send").send(0, 1, 1, inter).leave();
    // Records of a neighbourhood collective are those of a usual one: not taken for it.
    w[0].enter("MPI_Neighbor_allgather").collective(OTF2_COLLECTIVE_OP_ALLGATHER, 8, 8).leave();
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 0), ElementsAre("init"));
  std::vector<std::string> lost;
  for (const auto& n : t->header().recording.not_recorded)
    lost.push_back(n.group + ": " + n.call + " " + std::to_string(n.count));
  EXPECT_THAT(lost, ElementsAre("one-sided communication: MPI_Put 1", "file I/O: MPI_File_write_all 1",
                                "dynamic process management: MPI_Comm_spawn 1",
                                "communication on inter-communicators: MPI_Send 1",
                                "neighbourhood collectives: MPI_Neighbor_allgather 1",
                                "neighbourhood collectives: MPI_Neighbor_alltoall 1",
                                "collectives without a record: MPI_Allreduce 1",
                                "collectives without a record: MPI_Ibarrier 1"));
  EXPECT_THAT(t->header().warnings,
              Contains("2 probes without a record of what was found: left out (MPI_Iprobe 1, "
                       "MPI_Probe 1)"));
}

TEST(Otf2Calls, RegionsMayOverlapAndThoseThatAreNotBalancedAreCounted) {
  const TempDir dir;
  {
    Otf2Writer w(dir.path("a"), 1);
    w[0].enter("main").enter("inner").leave("main").leave("inner").leave("inner").enter("tail");
    // Inside of a call, a region has no operation; a call that is left with another one open ends that, too.
    w[0].enter("MPI_Allreduce").enter("inner").enter("MPI_Barrier").leave("MPI_Allreduce").leave("inner");
  }
  const auto t = opened(dir.path("a"));
  ASSERT_TRUE(t);
  EXPECT_THAT(shown_program(*t, 0),
              ElementsAre("region_begin amount=1", "region_begin", "region_end amount=1", "region_end",
                          "region_begin amount=2"));
  EXPECT_THAT(t->regions(), ElementsAre("inner", "main", "tail"));
  EXPECT_THAT(t->header().warnings, ElementsAre("3 regions entered and not left, or left and not entered"));
}

// An archive of several chunks a location, read by turns with room for one open file: each is closed and found again.
TEST(Otf2Calls, ALocationThatWasClosedIsReadOnWhereItStopped) {
  const TempDir dir;
  constexpr std::uint32_t kRanks = 3;
  constexpr std::uint64_t kSends = 30'000;  // of 18 bytes and two regions: more than two chunks
  {
    Otf2Writer w(dir.path("a"), kRanks, {.event_chunk = OTF2_CHUNK_SIZE_MIN});
    for (std::uint32_t r = 0; r < kRanks; ++r)
      for (std::uint64_t i = 0; i < kSends; ++i)
        w[r].later(i % 7)
            .enter("MPI_Send")
            .send((r + 1) % kRanks, static_cast<std::uint32_t>(i), 8 + r)
            .leave();
  }
  ASSERT_GT(fs::file_size(dir.path("a/traces/0.evt")), 3u * OTF2_CHUNK_SIZE_MIN);
  const auto open = [&](std::uint64_t buffers) {
    auto a = otf2::Archive::open(dir.path("a"), buffers);
    EXPECT_TRUE(a) << (a ? "" : a.error().message());
    for (std::uint32_t r = 0; r < kRanks; ++r) EXPECT_TRUE((*a)->prepare(r, r));
    return std::move(*a);
  };
  const auto narrow = open(1), again = open(1u << 30);
  std::vector<otf2::Event> some;
  Rng rng(seed_or(3));
  std::vector<std::uint64_t> next(kRanks, 1);
  std::vector<std::vector<otf2::Event>> want(kRanks);
  for (std::uint32_t r = 0; r < kRanks; ++r) ASSERT_TRUE(again->read(r, r, 1, 3 * kSends, want[r]));
  std::uint64_t left = kRanks * 3 * kSends;
  while (left > 0) {
    const auto r = static_cast<std::uint32_t>(rng.below(kRanks));
    const auto ok = narrow->read(r, r, next[r], 1 + rng.below(6000), some);
    ASSERT_TRUE(ok) << ok.error().message();
    for (const otf2::Event& e : some) {
      const otf2::Event& w = want[r][e.number - 1];
      ASSERT_EQ(e.number, next[r]);
      ASSERT_EQ(e.time, w.time) << "event " << e.number << " of rank " << r;
      ASSERT_EQ(e.tag, w.tag);
      ASSERT_EQ(e.type, w.type);
      ++next[r];
    }
    left -= some.size();
  }
  // From anywhere, back and forth, while the file is open.
  for (int jump = 0; jump < 60; ++jump) {
    const auto r = static_cast<std::uint32_t>(rng.below(kRanks));
    const std::uint64_t from = 1 + rng.below(3 * kSends);
    const auto ok = again->read(r, r, from, 5, some);
    ASSERT_TRUE(ok) << ok.error().message();
    ASSERT_EQ(some.size(), std::min<std::uint64_t>(5, 3 * kSends - from + 1));
    for (std::size_t i = 0; i < some.size(); ++i) {
      ASSERT_EQ(some[i].number, from + i);
      ASSERT_EQ(some[i].time, want[r][from + i - 1].time);
      ASSERT_EQ(some[i].tag, want[r][from + i - 1].tag);
    }
  }
}

TEST(Otf2Calls, ALargeArchiveIsReadInLessMemoryThanItHasBytes) {
  WEFT_NEEDS_ADDRESS_LIMIT();
  const TempDir dir;
  const char* keep = std::getenv("WEFT_OTF2_DIR");
  const char* megabytes = std::getenv("WEFT_OTF2_MB");
  const std::size_t bytes = (megabytes != nullptr ? std::strtoull(megabytes, nullptr, 10) : 64) << 20;
  const std::string path = keep != nullptr ? keep : dir.path("halo");
  constexpr std::uint32_t kRanks = 8;
  std::uint64_t steps = 0;
  {
    Otf2Writer w(path, kRanks);
    // A ring exchange and a reduction: 2 x 3 messages and 8 calls, about 475 bytes a step.
    steps = bytes / kRanks / 475;
    for (std::uint32_t r = 0; r < kRanks; ++r)
      for (std::uint64_t i = 0; i < steps; ++i) {
        auto& rank = w[r];
        rank.enter("step");
        for (std::uint64_t k = 0; k < 3; ++k) rank.enter("MPI_Irecv").irecv(6 * i + k).leave();
        for (std::uint64_t k = 3; k < 6; ++k)
          rank.later(300)
              .enter("MPI_Isend")
              .isend((r + 1) % kRanks, static_cast<std::uint32_t>(k), 8000, 6 * i + k)
              .leave();
        rank.enter("MPI_Waitall");
        for (std::uint64_t k = 0; k < 3; ++k)
          rank.received((r + kRanks - 1) % kRanks, static_cast<std::uint32_t>(k + 3), 8000, 6 * i + k);
        for (std::uint64_t k = 3; k < 6; ++k) rank.sent(6 * i + k);
        rank.leave().enter("MPI_Allreduce").collective(OTF2_COLLECTIVE_OP_ALLREDUCE, 64, 64).leave().leave();
      }
  }
  std::uint64_t size = 0;
  for (std::uint32_t r = 0; r < kRanks; ++r)
    size += fs::file_size(path + "/traces/" + std::to_string(r) + ".evt");
  EXPECT_GT(size, bytes * 9 / 10);
  EXPECT_TRUE(within(40u << 20, [&] {
    const auto t = open_trace({path});
    if (!t) return false;
    const auto info = scan_trace(**t);
    return info && info->totals.messages == 3 * kRanks * steps;
  }));
}

}  // namespace
}  // namespace weft::traces
