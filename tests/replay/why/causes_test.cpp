// Why ranks wait, against what can be worked out by hand: every program here is small enough that each instant of every
// rank has one explanation. (Sums over random programs: random_programs_test.cpp; series: exchange_series_test.cpp.)
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/replay/microseconds.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay::causes_test {
namespace {

using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;

ReplayResult run(MemoryTrace& t, const ReplayOptions& options = {}) {
  return replayed(t, microsecond_platform(), options);
}

// The causes of a rank, which add up to all the time that it did not compute.
Micros causes(const ReplayResult& r, std::size_t rank) {
  const auto& of = r.ranks[rank];
  EXPECT_EQ(std::accumulate(std::begin(of.causes), std::end(of.causes), Duration{0}), of.finish - of.compute);
  return micros(of.causes, kCauseNames);
}

Op probe(OpKind kind, std::uint8_t flags = 0) {
  Op op;
  op.kind = kind;
  op.peer = 1;
  op.tag = 0;
  op.flags = flags;
  return op;
}

// A receive costs what its message has, however large its buffer is; what no message ends costs nothing.
TEST(Causes, ReceivingIsPaidForByTheMessage) {
  auto p = microsecond_platform();
  p.mpi.recv_overhead_per_byte = 1e-9;  // a KB takes 1 us
  const auto received = [&](std::int64_t sent, bool ahead, void (*receive)(MemoryTrace&)) {
    MemoryTrace t(2);
    if (sent > 0) t.p2p(1, OpKind::send, 0, 0, sent);
    receive(t);
    ReplayOptions o;
    o.ranks_ahead = ahead;
    const auto r = replayed(t, p, o);
    EXPECT_EQ(r.way == ReplayWay::kEvents, !ahead);
    return micros(r.ranks[0].causes, kCauseNames)["recv_overhead"];
  };
  for (const bool ahead : {true, false}) {
    const auto recv = [](MemoryTrace& t) { t.p2p(0, OpKind::recv, 1, 0, 60'000); };
    const auto irecv = [](MemoryTrace& t) {
      t.p2p(0, OpKind::irecv, 1, 0, 60'000, CommId(0), 0);
      t.wait(0, 0);
    };
    const auto sendrecv = [](MemoryTrace& t) {
      t.p2p(0, OpKind::sendrecv, traces::kProcNull, 0, 0);
      Op half;
      half.kind = OpKind::recv;
      half.flags = traces::kPairedRecv;
      half.peer = 1;
      half.amount = 60'000;
      t.add(0, half);
    };
    for (const auto receive : {+recv, +irecv, +sendrecv}) {
      EXPECT_EQ(received(1000, ahead, receive), 3) << ahead;
      EXPECT_EQ(received(5000, ahead, receive), 7) << ahead;
    }
    EXPECT_EQ(received(0, ahead,
                       [](MemoryTrace& t) {
                         t.p2p(0, OpKind::irecv, traces::kProcNull, 0, 0, CommId(0), 0);
                         t.wait(0, 0);
                       }),
              0);
    const auto started = [](MemoryTrace& t) {
      for (const OpKind kind : {OpKind::send_init, OpKind::recv_init}) {
        t.p2p(0, kind, traces::kProcNull, 0, 1000, CommId(0), kind == OpKind::send_init ? 0 : 1);
        Op start;
        start.kind = OpKind::start;
        start.request = kind == OpKind::send_init ? 0 : 1;
        t.add(0, start);
        t.wait(0, start.request);
      }
    };
    MemoryTrace t(2);
    started(t);
    ReplayOptions o;
    o.ranks_ahead = ahead;
    EXPECT_EQ(replayed(t, p, o).makespan, Duration(0));
  }
  // A receive that was withdrawn.
  EXPECT_EQ(received(0, false,
                     [](MemoryTrace& t) {
                       t.p2p(0, OpKind::irecv, 1, 0, 1000, CommId(0), 0);
                       Op cancel;
                       cancel.kind = OpKind::cancel;
                       cancel.request = 0;
                       t.add(0, cancel);
                       t.wait(0, 0);
                     }),
            0);
}

// What ranks waited for senders is told of messages that the trace has apart from those that collectives are made of, blocking
// or not.
TEST(Causes, LateSendersOfWrittenMessagesAreApart) {
  for (const bool ahead : {true, false})
    for (const bool blocking : {true, false}) {
      MemoryTrace t(2);
      t.compute(1, Duration(50 * kMicro));
      t.p2p(1, OpKind::send, 0, 0, kSmall);
      t.p2p(0, OpKind::recv, 1, 0, kSmall);
      t.compute(1, Duration(200 * kMicro));
      for (std::uint32_t r = 0; r < 2; ++r)
        if (blocking) {
          t.collective(r, OpKind::barrier, traces::kAnySource, 0, CommId(0));
        } else {
          Op op;
          op.kind = OpKind::ibarrier;
          op.peer = traces::kAnySource;
          op.request = 0;
          t.add(r, op);
          t.wait(r, 0);
        }
      ReplayOptions o;
      o.ranks_ahead = ahead;
      const auto r = run(t, o);
      EXPECT_EQ(r.point_to_point.late_sender, TimeSum(Duration(50 * kMicro)));
      EXPECT_GT(r.network.late_sender, TimeSum(Duration(240 * kMicro)));
      EXPECT_LT(r.network.late_sender, TimeSum(Duration(260 * kMicro)));
    }
}

// The sender computes for 50 ms; whatever the receiver waits in, it waits for a late sender, and then for its processor time.
TEST(Causes, ALateSenderIsBookedWhateverTheReceiverWaitsIn) {
  const Duration late(50'000 * kMicro);
  const Micros want{
      {"late_sender", 50'000}, {"send_overhead", 3}, {"latency", 1}, {"transfer", 1}, {"recv_overhead", 2}};
  const auto with = [&](auto&& receive) {
    MemoryTrace t(2);
    t.compute(1, late);
    t.p2p(1, OpKind::send, 0, 0, kSmall);
    receive(t);
    return causes(run(t), 0);
  };
  const auto recv = [](MemoryTrace& t) { t.p2p(0, OpKind::recv, 1, 0, kSmall); };
  EXPECT_EQ(with(recv), want);
  for (const OpKind kind : {OpKind::probe, OpKind::mprobe})
    EXPECT_EQ(with([&](MemoryTrace& t) {
                t.add(0, probe(kind));
                recv(t);
              }),
              want);
  // A poll that hit in the recording waits for the message here, after its own 5 us.
  Micros polled = want;
  polled["polls"] = 5;
  polled["late_sender"] -= 5;
  for (const OpKind kind : {OpKind::iprobe, OpKind::improbe})
    EXPECT_EQ(with([&](MemoryTrace& t) {
                t.add(0, probe(kind, traces::kHit), {0, 1, 1, 0, kSmall});
                recv(t);
              }),
              polled);
  Micros tested = want;
  tested["polls"] = 7;
  for (const OpKind kind : {OpKind::wait, OpKind::test}) {
    const auto got = with([&](MemoryTrace& t) {
      t.p2p(0, OpKind::irecv, 1, 0, kSmall, CommId(0), 0);
      Op op;
      op.kind = kind;
      op.request = 0;
      t.add(0, op);
    });
    EXPECT_EQ(got, kind == OpKind::wait ? want : tested);
  }
  // A message that nobody waits for is nobody's late sender.
  EXPECT_EQ(with([&](MemoryTrace& t) {
              t.p2p(0, OpKind::irecv, 1, 0, kSmall, CommId(0), 0);
              t.compute(0, late + late);
              t.wait(0, 0);
            }),
            (Micros{{"recv_overhead", 2}}));
}

// Rendezvous of 1 MB: request 1 us, permission 1 us, latency 1 us, data 1000 us.
TEST(Causes, ARendezvousIsHandshakeLatencyAndDataOnBothSides) {
  const Micros both{{"handshake", 2}, {"latency", 1}, {"transfer", 1000}};
  const auto plus = [&](Micros m, const std::string& cause, double us) {
    m[cause] += us;
    return m;
  };
  for (const std::int64_t late : {-100, 0, 100}) {
    MemoryTrace t(2);
    if (late < 0) t.compute(1, Duration(-late * kMicro));
    if (late > 0) t.compute(0, Duration(late * kMicro));
    t.p2p(1, OpKind::send, 0, 0, kLarge);
    t.p2p(0, OpKind::recv, 1, 0, kLarge);
    const auto r = run(t);
    Micros send = plus(both, "send_overhead", 3), recv = plus(both, "recv_overhead", 2);
    if (late <= 0) recv = plus(recv, "send_overhead", 3);
    if (late < 0) recv = plus(recv, "late_sender", static_cast<double>(-late));
    // The request is there 4 us after the start, the receive 100 us: the sender's first leg and 96 us.
    if (late > 0) {
      send = plus(send, "late_receiver", 96);
      recv = plus(recv, "handshake", -1);
    }
    EXPECT_EQ(causes(r, 1), send) << late;
    EXPECT_EQ(causes(r, 0), recv) << late;
  }
}

// Within a host, at 1 us and 5 GB/s: the request of the second message is there at 1 us, the first message and with it the turn of
// the second at 13 us. Who sends it waits for its receive up to 5 us, if that is late, and then for the turn.
TEST(Causes, ARendezvousThatWaitsForItsTurnWaitsForNoReceiver) {
  auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=500ns").value();
  p.mpi.local_latency = Duration(kMicro);
  p.mpi.local_bandwidth = 5e9;
  for (const double late : {0.0, 5.0})
    for (const bool watched : {false, true}) {
      SCOPED_TRACE(::testing::Message() << late << watched);
      MemoryTrace t(2);
      t.p2p(0, OpKind::send, 1, 1, 60'000);
      t.p2p(0, OpKind::send, 1, 2, 1'000'000);
      t.p2p(1, OpKind::irecv, 0, 1, 60'000, CommId(0), 0);
      t.compute(1, Duration(static_cast<std::int64_t>(late) * kMicro));
      t.p2p(1, OpKind::irecv, 0, 2, 1'000'000, CommId(0), 1);
      t.add(1, {.kind = OpKind::waitall}, {0, 1});
      ReplayOptions o;
      o.wait_states = watched;
      const auto r = replay(t, p, {HostId(0), HostId(0)}, o);
      ASSERT_TRUE(r);
      EXPECT_EQ(r->makespan, Duration((13 + 1 + 201) * kMicro));
      Micros sends{{"handshake", 2}, {"in_order", 12}, {"transfer", 201}};
      if (late > 0) {
        sends["late_receiver"] = late - 1;
        sends["in_order"] = 13 - late;
      }
      EXPECT_EQ(causes(*r, 0), sends);
      EXPECT_EQ(causes(*r, 1),
                (late > 0 ? Micros{{"handshake", 1}, {"in_order", 13 - late}, {"transfer", 201}}
                          : Micros{{"handshake", 2}, {"in_order", 12}, {"transfer", 201}}));
      if (!watched) continue;
      const TimeSum blamed = r->wait_states.ranks[0].kinds[static_cast<std::size_t>(WaitKind::kLateReceiver)];
      EXPECT_TRUE(blamed == Duration(static_cast<std::int64_t>(late > 0 ? late - 1 : 0) * kMicro));
    }
}

// Two messages of 1 MB into one host: each takes 2 ms where 1 would do. Who comes to its wait late waits less, and
// what it waits for is what sharing cost.
TEST(Causes, ContentionIsWhatTheDataTookLongerThanAlone) {
  for (const std::int64_t busy : {0, 1500}) {
    MemoryTrace t(3);
    for (const std::uint32_t s : {1u, 2u}) {
      t.p2p(s, OpKind::isend, 0, 0, kLarge, CommId(0), 0);
      t.wait(s, 0);
      t.p2p(0, OpKind::irecv, static_cast<std::int32_t>(s), 0, kLarge, CommId(0), s);
    }
    if (busy > 0) t.compute(0, Duration(busy * kMicro));
    t.wait(0, 1);
    t.wait(0, 2);
    const auto r = run(t);
    const Micros sender{
        {"send_overhead", 3}, {"handshake", 2}, {"latency", 1}, {"transfer", 1000}, {"contention", 1000}};
    EXPECT_EQ(causes(r, 1), sender);
    EXPECT_EQ(causes(r, 2), sender);
    // Data come from 6 us to 2006 us.
    const Micros early{{"send_overhead", 3}, {"handshake", 2},     {"latency", 1},
                       {"transfer", 1000},   {"contention", 1000}, {"recv_overhead", 4}};
    const Micros late{{"contention", 506}, {"recv_overhead", 4}};
    EXPECT_EQ(causes(r, 0), busy == 0 ? early : late);
    // All of it on the link into the host.
    TimeSum waited;
    for (const network::LinkUse& l : r.links) waited += l.waited;
    EXPECT_EQ(waited, Duration(2000 * kMicro));
    EXPECT_EQ(r.network.contention, waited);
    EXPECT_EQ(std::count_if(r.links.begin(), r.links.end(),
                            [](const network::LinkUse& l) { return l.waited.count() > 0; }),
              1);
  }
}

// A barrier of two is one round: send and receive. Blocking or not, the causes are the same; only what was not waited
// for is not told.
TEST(Causes, ACollectiveCountsByItsRoundsWhileItsRankWaitsForIt) {
  const auto barrier = [](bool blocking, std::int64_t busy) {
    MemoryTrace t(2);
    t.compute(1, Duration(40 * kMicro));
    for (std::uint32_t r = 0; r < 2; ++r) {
      Op op;
      op.kind = blocking ? OpKind::barrier : OpKind::ibarrier;
      if (!blocking) op.request = 0;
      t.add(r, op);
      if (r == 0 && busy > 0) t.compute(0, Duration(busy * kMicro));
      if (!blocking) t.wait(r, 0);
    }
    return run(t);
  };
  // Rank 0 pays its send (3 us), waits until rank 1 comes at 40 us and has sent 3 us later, 1 us of latency, pays its receive.
  const Micros early{{"send_overhead", 6}, {"late_sender", 37}, {"latency", 1}, {"recv_overhead", 2}};
  const Micros late{{"send_overhead", 3}, {"recv_overhead", 2}};
  for (const bool blocking : {true, false}) {
    const auto r = barrier(blocking, 0);
    EXPECT_EQ(causes(r, 0), early);
    EXPECT_EQ(causes(r, 1), late);
  }
  const auto r = barrier(false, 30);
  EXPECT_EQ(causes(r, 0),
            (Micros{{"late_sender", 10}, {"send_overhead", 3}, {"latency", 1}, {"recv_overhead", 2}}));
}

// Who waits until the end for what never comes.
TEST(Causes, ARankThatNeverFinishesWaitsForWhatNeverComes) {
  MemoryTrace t(2);
  t.compute(1, Duration(100 * kMicro));
  t.p2p(0, OpKind::recv, 1, 0, kSmall);
  const auto r = run(t);
  ASSERT_FALSE(r.finished);
  EXPECT_EQ(causes(r, 0), (Micros{{"never", 100}}));
}

// A series of the engine against itself without its short cut is in exchange_series_test.cpp; raw modes know no
// overheads and no handshake.
TEST(Causes, RawModesKnowNoOverheadsAndNoHandshake) {
  for (const RawMode mode : {RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous}) {
    ReplayOptions o;
    o.raw = mode;
    MemoryTrace t(2);
    t.compute(0, Duration(100 * kMicro));
    t.p2p(1, OpKind::send, 0, 0, kLarge);
    t.p2p(0, OpKind::recv, 1, 0, kLarge);
    const auto r = run(t, o);
    const bool waits = mode == RawMode::kRendezvous;
    EXPECT_EQ(causes(r, 1),
              waits ? (Micros{{"late_receiver", 100}, {"latency", 1}, {"transfer", 1000}}) : Micros{});
    EXPECT_EQ(causes(r, 0), mode == RawMode::kEager ? (Micros{{"transfer", 901}})
                                                    : (Micros{{"latency", 1}, {"transfer", 1000}}));
  }
}

// Recorded HPL on platforms with every kind of cost: nothing is left over, and nothing is booked twice.
TEST(Causes, AddUpToTheTimeInMpiForRecordedHpl) {
  for (const char* file : {"hpl_2x2_1000_64.weft", "hpl_4x4_2000_64.weft"})
    for (const char* spec : {"torus:dims=4x4,lat=1us", "fat-tree:m=4,n=3,bw=1GB/s,lat=1us", "dahu"})
      for (const RawMode mode : {RawMode::kOff, RawMode::kRendezvous}) {
        SCOPED_TRACE(std::string(file) + " on " + spec);
        auto t = traces::open_trace({support::source_dir() + "/traces/samples/" + file});
        ASSERT_TRUE(t) << t.error().message();
        const auto p = topology::load_platform(spec);
        ASSERT_TRUE(p) << p.error().message();
        const auto hosts = topology::place_ranks(*p, (*t)->header().ranks, "block", 0);
        ASSERT_TRUE(hosts) << hosts.error().message();
        ReplayOptions o;
        o.raw = mode;
        const auto r = replay(**t, *p, *hosts, o);
        ASSERT_TRUE(r) << r.error().message();
        Duration waits{0};
        for (std::size_t rank = 0; rank < r->ranks.size(); ++rank) {
          (void)causes(*r, rank);  // checks the sum
          for (const Duration d : r->ranks[rank].causes) EXPECT_GE(d, Duration(0));
          EXPECT_EQ(r->ranks[rank].cause(Cause::kNever), Duration(0));
          waits += r->ranks[rank].cause(Cause::kLateSender);
        }
        EXPECT_GT(waits, Duration(0));
        double links = 0;
        for (const network::LinkUse& l : r->links) links += to_seconds(l.waited);
        EXPECT_NEAR(links, to_seconds(r->network.contention), 1e-9 * links + 1e-10);
      }
}

}  // namespace
}  // namespace weft::replay::causes_test
