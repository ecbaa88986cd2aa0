// Computations and missed polls taken as one event must end when they do one by one. Asking for every operation
// (on_op) switches the former off.
#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"
#include "traces/kernel.hpp"

namespace weft::replay {
namespace {

using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;

Op poll(std::int32_t from, std::int32_t tag, bool hit) {
  Op op;
  op.kind = OpKind::iprobe;
  op.peer = from;
  op.tag = tag;
  op.amount = 1;
  op.flags = hit ? traces::kHit : 0;
  return op;
}

// A ring in which every rank forwards a message at the first poll that finds it, between pieces of computation.
MemoryTrace ring(std::uint64_t seed) {
  Rng rng(seed);
  const auto ranks = static_cast<std::uint32_t>(2 + rng.below(5));
  MemoryTrace t(ranks);
  const bool alike = seed % 5 == 2;            // dozens of pieces that are the same
  const bool kernels = alike || seed % 5 < 2;  // pieces of calls that join once polling is over
  if (kernels)                                 // blocks of the trace end anywhere
    for (std::uint64_t i = 4000 + rng.below(90); i > 0; --i) t.compute(1, Duration(0));
  for (int round = 0; round < 6; ++round) {
    const auto bytes =
        static_cast<std::int64_t>(rng.below(2) == 0 ? rng.below(9000) : 100'000 + rng.below(900'000));
    for (std::uint32_t r = 0; r < ranks; ++r) {
      const auto prev = static_cast<std::int32_t>(r) - 1;
      const bool last = r + 1 == ranks;
      if (r == 0) {
        t.flops(0, 1e4 * rng.unit());
        t.p2p(0, OpKind::send, 1, round, bytes);
        continue;
      }
      const auto polls = static_cast<std::int64_t>(1 + rng.below(alike ? 50 : 12));
      const auto rows = static_cast<std::int64_t>(1 + rng.below(2));
      const std::int64_t body = last ? 1 : 2;
      for (std::int64_t i = 0; i < polls; ++i) {
        if (kernels && rng.below(alike ? 40 : 8) != 0)
          t.add(r, {.kind = OpKind::compute_kernel}, {static_cast<int>(traces::Kernel::dlaswp), 10, 10, 1});
        else
          t.flops(r, 1e4 * rng.unit());
        if (kernels)
          t.add(r, {.kind = OpKind::compute_kernel},
                {static_cast<int>(traces::Kernel::dgemm),
                 alike ? rows : static_cast<std::int64_t>(1 + rng.below(2)), 10, 10});
        else
          t.flops(r, 1e3 * rng.unit());
        // Two computations and a poll each: distance to the hit in operations.
        t.add(r, poll(prev, round, false), {3 * (polls - i)});
      }
      t.flops(r, 1e4 * rng.unit());
      t.flops(r, 1e3 * rng.unit());
      t.add(r, poll(prev, round, true), {0, body, prev, round, bytes});
      t.p2p(r, OpKind::recv, prev, round, bytes);
      if (!last) t.p2p(r, OpKind::send, static_cast<std::int32_t>(r + 1), round, bytes);
      t.flops(r, 1e3 * rng.unit());
    }
  }
  return t;
}

TEST(RunAhead, EndsWhenOneByOneDoes) {
  const char* s = std::getenv("WEFT_SEED");
  const std::uint64_t from = s != nullptr ? std::strtoull(s, nullptr, 10) : 1,
                      to = s != nullptr ? from + 1 : 300;
  std::uint64_t fewer = 0, more = 0;
  for (std::uint64_t seed = from; seed < to; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    MemoryTrace t = ring(seed);
    auto p = topology::load_platform("crossbar:n=8,bw=10GB/s,lat=1us,speed=1Gflops");
    ASSERT_TRUE(p);
    topology::KernelCost any;
    any.kernel = "*";
    any.polynomial.intercept = 1e-6;
    any.polynomial.mnk = 1e-9;
    any.noise = 0.3;
    p->compute.classes[0].kernels = {any};
    if (seed % 3 == 1) {  // cores compute faster while others wait, averaged over a few messages
      p->compute.power = {.waiting = 0.2, .time = 3e-5};
      p->compute.classes[0].headroom = 1.5;
    }
    if (seed % 2 == 0) p->mpi.iprobe_cost = Duration(200'000);
    if (seed % 4 == 1) p->mpi.loaded_transfer = {{70'000, 2e-6, 1e-9}};
    if (seed % 3 == 0) p->mpi.send_overhead = p->mpi.recv_overhead = Duration(300'000);
    std::vector<HostId> hosts;
    // Some of two ranks, with messages that no link carries.
    for (std::uint32_t r = 0; r < t.header().ranks; ++r) hosts.emplace_back(seed % 7 == 3 ? r / 2 : r);
    if (seed % 7 == 3) p->mpi.local_latency = Duration(400'000);
    ReplayOptions o;
    o.noise = seed % 2 == 1;
    o.seed = seed;
    constexpr RawMode kModes[] = {RawMode::kOff, RawMode::kDetached, RawMode::kRendezvous, RawMode::kEager};
    o.raw = kModes[seed / 4 % std::size(kModes)];
    const auto together = replay(t, *p, hosts, o);
    o.ranks_ahead = false;
    const auto events = replay(t, *p, hosts, o);
    std::uint64_t ops = 0;
    o.on_op = [&](RankId, std::uint64_t, SimTime, SimTime) { ++ops; };
    const auto single = replay(t, *p, hosts, o);
    ASSERT_TRUE(together && single && events);
    ASSERT_TRUE(together->finished && single->finished);
    EXPECT_EQ(together->way, ReplayWay::kAhead);
    EXPECT_EQ(events->way, ReplayWay::kEvents);
    EXPECT_EQ(together->fingerprint, single->fingerprint);
    EXPECT_EQ(events->fingerprint, single->fingerprint);
    EXPECT_GT(ops, 0u);
    if (o.raw == RawMode::kOff) {  // raw replays take them one by one
      fewer += events->engine.events;
      more += single->engine.events;
    }
    for (std::uint32_t r = 0; r < t.header().ranks; ++r) {
      EXPECT_EQ(together->ranks[r].finish, single->ranks[r].finish) << "rank " << r;
      EXPECT_EQ(together->ranks[r].compute, single->ranks[r].compute) << "rank " << r;
      EXPECT_EQ(together->ranks[r].recv, single->ranks[r].recv) << "rank " << r;
      EXPECT_EQ(together->ranks[r].causes, single->ranks[r].causes) << "rank " << r;
      EXPECT_EQ(events->ranks[r].finish, single->ranks[r].finish) << "rank " << r;
    }
  }
  EXPECT_LT(fewer * 2, more) << "runs were taken as one";
}

// A message that can be seen from the very instant of a poll on is found if it was sent before what the rank did last began
// (docs/model.md, "Probes as conditional steps"), whichever way the replay goes: ahead, by events, or one operation after the
// other. More of that: poll_ties_test.cpp.
TEST(RunAhead, OfTwoThingsAtOneInstantWhatBeganFirstComesFirst) {
  constexpr std::int64_t kLong = 1'000'000;
  const Duration ms(1'000'000'000), work(100'000'000'000);
  const auto look = [&](MemoryTrace& t, std::uint32_t rank, std::int32_t from) {
    t.add(rank, poll(from, 1, false), {2});
    t.compute(rank, work);
    t.add(rank, poll(from, 1, true), {0, 1, from, 1, kLong});
    t.p2p(rank, OpKind::recv, from, 1, kLong);
  };
  const auto finish = [&](const MemoryTrace& program, bool one_host, bool late) {
    auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=1us,speed=1Gflops");
    EXPECT_TRUE(p);
    if (one_host) p->ranks_per_host = 2;
    for (const int way : {0, 1, 2}) {
      MemoryTrace t = program;
      ReplayOptions o;
      o.ranks_ahead = way == 0;
      if (way == 2) o.on_op = [](RankId, std::uint64_t, SimTime, SimTime) {};
      const auto r = replay(t, *p, {HostId(0), HostId(one_host ? 0 : 1)}, o);
      ASSERT_TRUE(r && r->finished);
      EXPECT_EQ(r->makespan >= work, late) << way;
      for (const RankTimes& k : r->ranks) EXPECT_EQ(k.finish >= work, late) << way;
    }
  };
  // Both begin at once: the rank's computation of a millisecond, and one at whose end a message within the host is sent.
  for (const bool first : {false, true}) {
    MemoryTrace t(2);
    t.compute(0, ms);
    t.p2p(0, OpKind::send, 1, 1, kLong);
    t.compute(1, ms);
    if (first) t.compute(1, Duration(0));
    SCOPED_TRACE(first ? "a computation of no time before the poll" : "one computation");
    look(t, 1, 0);
    finish(t, true, true);
  }
  {  // After a message of 0 bytes that was sent at once with the other, when the rank began to wait.
    MemoryTrace t(2);
    t.p2p(1, OpKind::bsend, 0, 0, 0);
    t.p2p(1, OpKind::send, 0, 1, kLong);
    t.p2p(0, OpKind::recv, 1, 0, 0);
    look(t, 0, 1);
    finish(t, false, true);
  }
  {  // At the start.
    MemoryTrace t(2);
    t.p2p(0, OpKind::send, 1, 1, kLong);
    look(t, 1, 0);
    finish(t, true, true);
  }
  {  // A message on its way before the last piece of computation began is there.
    MemoryTrace t(2);
    t.compute(0, Duration(ms.count() - 2'000'000));  // 2 us of latency
    t.p2p(0, OpKind::send, 1, 1, kLong);
    t.compute(1, Duration(ms.count() - 1'000'000));
    t.compute(1, Duration(1'000'000));
    t.add(1, poll(0, 1, false), {2});
    t.compute(1, work);
    t.add(1, poll(0, 1, true), {0, 1, 0, 1, kLong});
    t.p2p(1, OpKind::recv, 0, 1, kLong);
    auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=1us,speed=1Gflops");
    for (const int way : {0, 1, 2}) {
      ReplayOptions o;
      o.ranks_ahead = way == 0;
      if (way == 2) o.on_op = [](RankId, std::uint64_t, SimTime, SimTime) {};
      const auto r = replay(t, *p, {HostId(0), HostId(1)}, o);
      ASSERT_TRUE(r && r->finished);
      EXPECT_LT(r->ranks[0].finish, work) << way;
    }
  }
}

// Where a message cut a run short nothing happens at the end that it would have had.
TEST(RunAhead, ADeadlockIsToldWhenTheLastThingHappened) {
  const Duration us(1'000'000);
  for (const int way : {0, 1, 2}) {
    MemoryTrace t(2);
    t.compute(0, us);
    t.p2p(0, OpKind::send, 1, 1, 0);
    for (const std::int64_t to_hit : {3, 1}) {
      t.compute(1, 2 * us);
      t.add(1, poll(0, 1, false), {to_hit + 1});
    }
    t.compute(1, 9 * us);
    t.add(1, poll(0, 1, true), {0, 2, 0, 1, 0});
    t.p2p(1, OpKind::recv, 0, 1, 0);
    t.p2p(1, OpKind::recv, 0, 9, 0);  // never sent
    auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=0").value();
    ReplayOptions o;
    o.ranks_ahead = way == 0;
    if (way == 2) o.on_op = [](RankId, std::uint64_t, SimTime, SimTime) {};
    const auto r = replay(t, p, {HostId(0), HostId(1)}, o);
    ASSERT_TRUE(r);
    EXPECT_FALSE(r->finished);
    EXPECT_EQ(r->makespan, 2 * us) << way;
  }
}

}  // namespace
}  // namespace weft::replay
