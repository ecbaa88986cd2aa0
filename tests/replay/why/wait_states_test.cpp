// Wait states against programs whose waits and their reasons can be worked out by hand, and sums that must hold for any
// program: every picosecond of waiting is of one kind, rank and region, and is blamed on one delay.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "tests/replay/microseconds.hpp"
#include "tests/replay/well_formed.hpp"
#include "tests/replay/why/why_sums.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/memory_trace.hpp"
#include "traces/exchange_series.hpp"
#include "traces/formats.hpp"

namespace weft::replay {
namespace {

using testing::MemoryTrace;
using traces::kAnySource;
using traces::Op;
using traces::OpKind;

ReplayResult run(traces::TraceReader& t, const topology::Platform& p = microsecond_platform(),
                 ReplayOptions options = {}) {
  options.wait_states = true;
  return replayed(t, p, options);
}
void compute(MemoryTrace& t, std::uint32_t rank, std::int64_t micros) {
  t.compute(rank, Duration(micros * kMicro));
}
Micros kinds(const WaitTimes& t) { return micros(t.kinds, kWaitKindNames); }
double in_micros(TimeSum d) { return static_cast<double>(d.count()) / kMicro; }
// "0 computation r1": direct and propagated cost of the delays of a rank in a region.
using Delays = std::map<std::string, std::pair<double, double>>;
Delays delays(const ReplayResult& r) {
  Delays out;
  for (const DelayCost& d : r.wait_states.delays)
    out[fmt::format("{} {}{}", d.rank.index(), d.communication ? "communication" : "computation",
                    d.region.valid() ? " " + r.regions[d.region.index()].name : "")] = {
        in_micros(d.direct), in_micros(d.propagated)};
  return out;
}

// Both compute in "first", one longer, then both for the same time in "second": what made the one late is the excess in
// "first", although it is in "second" while the other one waits.
TEST(WaitStates, ALateSenderIsBlamedForWhatItDidMoreOf) {
  MemoryTrace t(2);
  const RegionId first = t.add_region("first"), second = t.add_region("second");
  for (const std::uint32_t r : {0u, 1u}) {
    t.region(r, OpKind::region_begin, first);
    compute(t, r, r == 0 ? 10 : 50);
    t.region(r, OpKind::region_end, first);
    t.region(r, OpKind::region_begin, second);
    compute(t, r, 20);
    t.region(r, OpKind::region_end, second);
  }
  t.p2p(1, OpKind::send, 0, 0, kSmall);
  t.p2p(0, OpKind::recv, 1, 0, kSmall);
  const auto r = run(t);
  expect_waits_add_up(r);
  // Called at 70, awaited since 30.
  EXPECT_EQ(kinds(r.wait_states.ranks[0]), (Micros{{"late_sender", 40}}));
  EXPECT_EQ(kinds(r.wait_states.all), (Micros{{"late_sender", 40}}));
  EXPECT_EQ(delays(r), (Delays{{"1 computation first", {40, 0}}}));
  EXPECT_EQ(r.wait_states.ranks[0].longest_for, RankId(1));
  EXPECT_EQ(r.wait_states.ranks[1].direct, Duration(40 * kMicro));
}

// Five ranks that wait for a sixth for 25 days: what it cost is more than a Duration.
TEST(WaitStates, SumsOfRanksHaveNoEnd) {
  constexpr std::int64_t kLong = 2'160'000'000'000;  // us
  MemoryTrace t(6);
  compute(t, 5, kLong);
  for (std::uint32_t r = 0; r < 5; ++r) {
    t.p2p(5, OpKind::send, r, 0, kSmall);
    t.p2p(r, OpKind::recv, 5, 0, kSmall);
  }
  const auto r = run(t);
  expect_waits_add_up(r);
  const double waited = to_seconds(r.wait_states.all.waited());
  EXPECT_NEAR(waited, 5 * 2.16e6, 1);
  EXPECT_NEAR(to_seconds(r.wait_states.ranks[5].direct + r.wait_states.ranks[5].propagated), waited, 1e-3);
  EXPECT_NEAR(to_seconds(r.network.late_sender), waited, 1);
}

// A send is called before its processor time is paid, and so is each of those that are started together.
TEST(WaitStates, ASendIsCalledBeforeItsProcessorTime) {
  for (const std::int64_t late : {0, 10})
    for (const bool together : {false, true}) {
      MemoryTrace t(3);
      compute(t, 1, late);
      if (!together) {
        t.p2p(1, OpKind::send, 0, 0, kSmall);
      } else {
        for (const std::uint32_t to : {0u, 2u}) t.p2p(1, OpKind::send_init, to, 0, kSmall, CommId(0), to);
        Op start;
        start.kind = OpKind::startall;
        t.add(1, start, {0, 2});
        for (const std::uint32_t of : {0u, 2u}) t.wait(1, of);
        t.p2p(2, OpKind::recv, 1, 0, kSmall);
      }
      t.p2p(0, OpKind::recv, 1, 0, kSmall);
      auto p = microsecond_platform();
      p.mpi.send_overhead = Duration(700'001);
      p.mpi.send_overhead_per_byte = 1 / 3e9;  // no whole number of ticks
      const auto r = run(t, p);
      expect_waits_add_up(r);
      EXPECT_EQ(r.wait_states.count, late == 0 ? 0u : together ? 2u : 1u);
      Micros want;
      if (late > 0) want["late_sender"] = static_cast<double>(late);
      EXPECT_EQ(kinds(r.wait_states.ranks[0]), want);
      EXPECT_EQ(r.ranks[0].cause(Cause::kLateSender), Duration(late * kMicro));
      Delays blamed;
      if (late > 0) blamed["1 computation"] = {late * (together ? 2 : 1), 0};
      EXPECT_EQ(delays(r), blamed);
      t.rewind();
      const auto ahead = replayed(t, p, {});
      EXPECT_NE(ahead.way, ReplayWay::kEvents);
      for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(ahead.ranks[k].causes, r.ranks[k].causes) << k;
    }
}

// A message is there before the receive that takes it is called: both met when that was, not when the message was sent.
TEST(WaitStates, RanksMeetWhenTheReceiveIsCalled) {
  MemoryTrace t(2);
  t.compute(0, Duration(15'407'000));
  t.compute(1, Duration(14'713'000));
  t.p2p(1, OpKind::send, 0, 0, kSmall);
  t.p2p(0, OpKind::recv, 1, 0, kSmall);  // over at 17.513
  t.p2p(0, OpKind::send, 1, 0, kSmall);
  t.p2p(1, OpKind::recv, 0, 0, kSmall);  // waits from 14.713
  const auto p = topology::load_platform("crossbar:n=4,bw=10Gbps,lat=1us").value();
  const auto r = run(t, p);
  expect_waits_add_up(r);
  EXPECT_EQ(kinds(r.wait_states.ranks[1]), (Micros{{"late_sender", 2.8}}));
  EXPECT_EQ(delays(r), (Delays{{"0 computation", {0.694, 0}}, {"0 communication", {2.106, 0}}}));
}

// What ranks did is known up to each receive: rank 1 computes before its receive and not after it, and met rank 0 there.
TEST(WaitStates, WhatComesBeforeAReceiveIsNotMixedWithWhatComesAfterIt) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 0, kSmall);  // called at 0
  compute(t, 1, 100);
  t.p2p(1, OpKind::recv, 0, 0, kSmall);  // called at 100, over at 102
  t.p2p(1, OpKind::send, 0, 0, kSmall);  // called at 102
  compute(t, 0, 97);
  t.p2p(0, OpKind::recv, 1, 0, kSmall);  // from 100 on
  const auto r = run(t);
  expect_waits_add_up(r);
  EXPECT_EQ(kinds(r.wait_states.ranks[0]), (Micros{{"late_sender", 2}}));
  EXPECT_EQ(delays(r), (Delays{{"1 communication", {2, 0}}}));
}

// A rendezvous: sent at 3, its request there at 4, its receive called at 100.
TEST(WaitStates, ALateReceiverIsWaitedForFromTheRequestOn) {
  MemoryTrace t(2);
  compute(t, 0, 100);
  t.p2p(0, OpKind::recv, 1, 0, kLarge);
  t.p2p(1, OpKind::send, 0, 0, kLarge);
  const auto r = run(t);
  expect_waits_add_up(r);
  EXPECT_EQ(kinds(r.wait_states.ranks[1]), (Micros{{"late_receiver", 96}}));
  EXPECT_EQ(delays(r), (Delays{{"0 computation", {96, 0}}}));
}

// 0 is late for 1, which is late for 2 because of that: what 2 waits for is 1's own time and, handed on, 0's.
TEST(WaitStates, AWaitHandsTheBlameOn) {
  MemoryTrace t(3);
  compute(t, 0, 100);
  t.p2p(0, OpKind::send, 1, 0, kSmall);
  t.p2p(1, OpKind::recv, 0, 0, kSmall);
  compute(t, 1, 10);
  t.p2p(1, OpKind::send, 2, 0, kSmall);
  t.p2p(2, OpKind::recv, 1, 0, kSmall);
  const auto r = run(t);
  expect_waits_add_up(r);
  // 1 waits until 100, has the data at 105 and received them at 107, calls its send at 117.
  EXPECT_EQ(kinds(r.wait_states.ranks[1]), (Micros{{"late_sender", 100}}));
  EXPECT_EQ(kinds(r.wait_states.ranks[2]), (Micros{{"late_sender", 117}}));
  EXPECT_EQ(delays(r),
            (Delays{{"0 computation", {100, 100}}, {"1 computation", {10, 0}}, {"1 communication", {7, 0}}}));
}

// As above, but 1 waits twice, for 0 and for 3: what 2 waits goes on to both in proportion to how long 1 waited for each.
TEST(WaitStates, SeveralWaitsShareTheBlameByTheirLength) {
  MemoryTrace t(4);
  compute(t, 0, 30);
  t.p2p(0, OpKind::send, 1, 0, kSmall);
  t.p2p(1, OpKind::recv, 0, 0, kSmall);  // waits 30, goes on at 37
  compute(t, 3, 127);
  t.p2p(3, OpKind::send, 1, 0, kSmall);
  t.p2p(1, OpKind::recv, 3, 0, kSmall);  // waits 90, goes on at 134
  compute(t, 1, 20);
  t.p2p(1, OpKind::send, 2, 0, kSmall);  // called at 154
  compute(t, 2, 120);
  t.p2p(2, OpKind::recv, 1, 0, kSmall);  // waits 34
  const auto r = run(t);
  expect_waits_add_up(r);
  EXPECT_EQ(kinds(r.wait_states.ranks[1]), (Micros{{"late_sender", 120}}));
  EXPECT_EQ(kinds(r.wait_states.ranks[2]), (Micros{{"late_sender", 34}}));
  // Since the beginning 1 waited 120 and was busy 20 + 14, 2 computed 120: nothing but communication is more there.
  const double waited = 34.0 * 120 / 134;
  const Delays found = delays(r);
  EXPECT_NEAR(found.at("1 communication").first, 34 - waited, 1e-5);
  EXPECT_EQ(found.at("0 computation").first, 30);
  EXPECT_NEAR(found.at("0 computation").second, waited / 4, 1e-5);
  EXPECT_EQ(found.at("3 computation").first, 90);
  EXPECT_NEAR(found.at("3 computation").second, waited * 3 / 4, 1e-5);
}

// What is before the last meeting of two ranks does not count: here a barrier, before which rank 0 was the late one.
TEST(WaitStates, OnlyWhatRanksDidSinceTheyMetCounts) {
  for (const bool message : {false, true}) {
    MemoryTrace t(2);
    const RegionId first = t.add_region("first"), second = t.add_region("second");
    for (const std::uint32_t r : {0u, 1u}) t.region(r, OpKind::region_begin, first);
    compute(t, 0, 1000);
    for (const std::uint32_t r : {0u, 1u}) {
      if (!message) {
        t.collective(r, OpKind::barrier, kAnySource, 0, CommId(0));
      } else {
        t.p2p(r, r == 0 ? OpKind::send : OpKind::recv, r == 0 ? 1 : 0, 0, kSmall);
      }
      t.region(r, OpKind::region_end, first);
      t.region(r, OpKind::region_begin, second);
    }
    compute(t, 1, 70);
    t.p2p(1, OpKind::send, 0, 0, kSmall);
    t.p2p(0, OpKind::recv, 1, 0, kSmall);
    for (const std::uint32_t r : {0u, 1u}) t.region(r, OpKind::region_end, second);
    const auto r = run(t);
    expect_waits_add_up(r);
    const Delays found = delays(r);
    EXPECT_EQ(found.at("0 computation first").second, 0) << message;
    EXPECT_EQ(found.at("0 computation first").first, 1000) << message;
    EXPECT_EQ(found.at("1 computation second").first, 70) << message;
  }
}

// Ranks come to a collective at 0, 10, 20, 30; who waits for whom is a matter of what it is.
TEST(WaitStates, CollectivesAreWaitedForByWhatTheyAre) {
  struct Case {
    OpKind kind;
    std::int32_t root;
    std::string name;
    std::array<double, 4> waits;
  };
  const Case cases[] = {{OpKind::barrier, kAnySource, "wait_at_barrier", {30, 20, 10, 0}},
                        {OpKind::allreduce, kAnySource, "wait_at_nxn", {30, 20, 10, 0}},
                        {OpKind::alltoall, kAnySource, "wait_at_nxn", {30, 20, 10, 0}},
                        {OpKind::iallreduce, kAnySource, "wait_at_nxn", {30, 20, 10, 0}},
                        {OpKind::bcast, 2, "late_broadcast", {20, 10, 0, 0}},
                        {OpKind::scatter, 3, "late_broadcast", {30, 20, 10, 0}},
                        {OpKind::reduce, 0, "early_reduce", {10, 0, 0, 0}},
                        {OpKind::gather, 1, "early_reduce", {0, 0, 0, 0}},
                        {OpKind::scan, kAnySource, "early_scan", {0, 0, 0, 0}}};
  for (const Case& c : cases) {
    MemoryTrace t(4);
    for (std::uint32_t r = 0; r < 4; ++r) {
      compute(t, r, 10 * r);
      const bool waits = traces::is_nonblocking_collective(c.kind);
      Op op;
      op.kind = c.kind;
      op.peer = c.root;
      op.amount = 100;
      if (waits) op.request = 0;
      t.add(r, op);
      if (waits) t.wait(r, 0);
    }
    const auto r = run(t);
    expect_waits_add_up(r);
    for (std::uint32_t k = 0; k < 4; ++k) {
      Micros want;
      if (c.waits[k] > 0) want[c.name] = c.waits[k];
      EXPECT_EQ(kinds(r.wait_states.ranks[k]), want) << traces::op_name(c.kind) << " rank " << k;
    }
  }
  // The other way round a rank of a scan waits for those below it.
  MemoryTrace t(4);
  for (std::uint32_t r = 0; r < 4; ++r) {
    compute(t, r, 30 - 10 * r);
    t.collective(r, OpKind::exscan, kAnySource, 100, CommId(0));
  }
  const auto r = run(t);
  expect_waits_add_up(r);
  EXPECT_EQ(kinds(r.wait_states.ranks[3]), (Micros{{"early_scan", 30}}));
  EXPECT_EQ(kinds(r.wait_states.ranks[1]), (Micros{{"early_scan", 10}}));
  EXPECT_EQ(r.wait_states.ranks[3].longest_for, RankId(0));
}

// A microsecond from host to host, which takes nothing of a processor, and collectives whose messages go where their data do.
topology::Platform free_platform() {
  return topology::load_platform("crossbar:n=6,bw=1GB/s,lat=500ns").value();
}
ReplayOptions linear() {
  ReplayOptions o;
  for (const OpKind k : {OpKind::bcast, OpKind::scatter, OpKind::reduce, OpKind::gather, OpKind::scan})
    o.collectives[std::string(traces::op_name(k))] = "linear";
  return o;
}

// Rank 0 begins late once, by 900 us, and is 9 us late each time from then on. So it is whether a third rank is there, waits as
// rank 1 does, or is so late that nobody waits with it; and whether the data come in a collective or in messages.
TEST(WaitStates, RanksThatWaitForARootMeetItWhoeverElseIsLate) {
  enum class Third { kNone, kOnTime, kLate };
  for (const OpKind kind : {OpKind::send, OpKind::bcast, OpKind::scatter, OpKind::scan})
    for (const Third third : {Third::kNone, Third::kOnTime, Third::kLate}) {
      SCOPED_TRACE(fmt::format("{} {}", traces::op_name(kind), static_cast<int>(third)));
      const std::uint32_t ranks = third == Third::kNone ? 2 : 3;
      if (kind == OpKind::scan && third == Third::kOnTime) continue;  // it waits for rank 1, too
      MemoryTrace t(ranks);
      const RegionId init = t.add_region("init"), loop = t.add_region("loop");
      for (std::uint32_t r = 0; r < ranks; ++r) {
        t.region(r, OpKind::region_begin, init);
        compute(t, r, r == 0 ? 1000 : r == 2 && third == Third::kLate ? 5000 : 100);
        t.region(r, OpKind::region_end, init);
        t.region(r, OpKind::region_begin, loop);
        for (int k = 0; k <= 20; ++k) {
          if (r == 0 && k > 0) compute(t, r, 10);
          if (kind != OpKind::send) {
            t.collective(r, kind, kind == OpKind::scan ? kAnySource : 0, 8, CommId(0));
          } else if (r > 0) {
            t.p2p(r, OpKind::recv, 0, 0, 8);
          } else {
            for (std::uint32_t to = 1; to < ranks; ++to) t.p2p(0, OpKind::send, to, 0, 8);
          }
        }
        t.region(r, OpKind::region_end, loop);
      }
      const auto r = run(t, free_platform(), linear());
      expect_waits_add_up(r);
      const double waiting = third == Third::kOnTime ? 2 : 1;
      const Delays found = delays(r);
      ASSERT_EQ(found.size(), 2u);
      EXPECT_NEAR(found.at("0 computation init").first, waiting * 900, 0.5);
      EXPECT_NEAR(found.at("0 computation loop").first, waiting * 20 * 9, 1);
      EXPECT_NEAR(in_micros(r.wait_states.all.propagated), 0, 0.5);
    }
}

// Ranks 1 and 2 come to a collective at 900 and 910, those whom they wait for there had come: what each did before does not
// matter for what they do to each other afterwards, nor does when rank 3 comes, whom they do not wait for.
TEST(WaitStates, RanksMeetInACollectiveWhenThoseTheyWaitForHaveCome) {
  for (const OpKind kind :
       {OpKind::bcast, OpKind::scatter, OpKind::reduce, OpKind::gather, OpKind::scan, OpKind::ibcast})
    for (const std::int64_t third : {700, 925, 5000}) {
      SCOPED_TRACE(fmt::format("{} {}", traces::op_name(kind), third));
      MemoryTrace t(4);
      const RegionId before = t.add_region("before"), other = t.add_region("other");
      const RegionId more = t.add_region("more"), after = t.add_region("after");
      const auto in = [&](std::uint32_t r, RegionId region, std::int64_t micros) {
        t.region(r, OpKind::region_begin, region);
        compute(t, r, micros);
        t.region(r, OpKind::region_end, region);
      };
      in(0, before, 500);
      in(1, before, 900);
      in(2, before, 800);
      in(2, other, 110);
      in(3, before, third);
      for (std::uint32_t r = 0; r < 4; ++r) {
        Op op;
        op.kind = kind;
        op.peer = kind == OpKind::scan ? kAnySource : 0;
        op.amount = 8;
        if (traces::is_nonblocking_collective(kind)) op.request = 0;
        t.add(r, op);
        if (op.request == 0) t.wait(r, 0);
      }
      in(1, more, 30);
      in(1, after, 20);
      in(2, after, 20);
      t.p2p(1, OpKind::send, 2, 0, 8);  // called at 950
      t.p2p(2, OpKind::recv, 1, 0, 8);  // called at 930
      const auto r = run(t, free_platform(), linear());
      expect_waits_add_up(r);
      EXPECT_NEAR(kinds(r.wait_states.ranks[2])["late_sender"], 20, 0.5);
      Delays found = delays(r);
      EXPECT_NEAR(found["1 computation more"].first, 20, 0.5);
      EXPECT_NEAR(found["1 computation after"].first, 0, 0.5);
    }
}

// A series of exchanges is waited for as any collective; what it does when all are there is no wait.
TEST(WaitStates, ASeriesOfExchangesIsWaitedForUntilItsLastMemberComes) {
  MemoryTrace t(3);
  // Two exchanges of 64 bytes, each after a kernel of 0.1024 us.
  const std::vector<std::int64_t> list{64, 2, 1, 1, static_cast<std::int64_t>(traces::Kernel::dgemm), 8, 0,
                                       8,  0, 8, 0};
  ASSERT_EQ(traces::series_fault(list), nullptr);
  for (std::uint32_t r = 0; r < 3; ++r) {
    compute(t, r, 25 * r);
    Op op;
    op.kind = OpKind::exchange_series;
    op.peer = 0;
    op.amount = 64;
    t.add(r, op, list);
  }
  const auto r = run(t);
  expect_waits_add_up(r);
  EXPECT_EQ(kinds(r.wait_states.ranks[0]), (Micros{{"wait_at_nxn", 50}}));
  EXPECT_EQ(kinds(r.wait_states.ranks[1]), (Micros{{"wait_at_nxn", 25}}));
  EXPECT_EQ(delays(r), (Delays{{"2 computation", {75, 0}}}));
}

TEST(WaitStates, AddUpOnRandomProgramsAndChangeNothing) {
  constexpr RawMode kModes[] = {RawMode::kOff, RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous};
  const char* const one = std::getenv("WEFT_SEED");
  std::size_t without_collectives = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    if (one != nullptr && seed != std::strtoull(one, nullptr, 10)) continue;
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    auto program = testing::well_formed(seed);
    auto p = topology::load_platform(seed % 2 == 0 ? "crossbar:n=16,bw=10GB/s,lat=1us"
                                                   : "fat-tree:m=4,n=3,bw=10GB/s,lat=300ns")
                 .value();
    p.mpi.eager_limit = Bytes(2000);
    p.mpi.recv_overhead = Duration(static_cast<std::int64_t>(seed % 5) * 100'000);
    p.mpi.send_overhead = Duration(static_cast<std::int64_t>(seed % 3) * 300'000);
    ReplayOptions o;
    o.raw = kModes[seed % 4];
    o.ranks_ahead = false;
    const auto plain = replayed(program.trace, p, o);
    program.trace.rewind();
    const auto r = run(program.trace, p, o);
    EXPECT_EQ(r.fingerprint, plain.fingerprint);
    EXPECT_EQ(r.engine.events, plain.engine.events);
    EXPECT_FALSE(plain.wait_states.known);
    expect_waits_add_up(r);
    if (!r.collectives.empty()) continue;
    // Without collectives they are what the causes of time in MPI say, but for rounding.
    ++without_collectives;
    const auto slack = static_cast<double>(r.wait_states.count + 1);
    for (std::size_t k = 0; k < r.ranks.size(); ++k) {
      const auto& kinds = r.wait_states.ranks[k].kinds;
      EXPECT_NEAR(static_cast<double>(kinds[static_cast<std::size_t>(WaitKind::kLateSender)].count()),
                  static_cast<double>(r.ranks[k].cause(Cause::kLateSender).count()), slack);
      EXPECT_NEAR(static_cast<double>(kinds[static_cast<std::size_t>(WaitKind::kLateReceiver)].count()),
                  static_cast<double>(r.ranks[k].cause(Cause::kLateReceiver).count()), slack);
    }
  }
  if (one == nullptr) {
    EXPECT_GT(without_collectives, 50u);
  }
}

TEST(WaitStates, AddUpOnTheSamples) {
  for (const char* const file : {"hpl_2x2_1000_64.weft", "hpl_4x4_2000_64.weft"}) {
    for (const char* const on : {"fat-tree-16", "torus-16", "dahu"}) {
      auto t = traces::open_trace({support::source_dir() + "/traces/samples/" + file});
      ASSERT_TRUE(t) << t.error().message();
      const auto r = run(**t, topology::load_platform(on).value());
      SCOPED_TRACE(std::string(file) + " on " + on);
      expect_waits_add_up(r);
      EXPECT_GT(r.wait_states.count, 100u);
    }
  }
}

}  // namespace
}  // namespace weft::replay
