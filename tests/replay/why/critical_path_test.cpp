// The critical path against what can be worked out by hand, and its slopes against the same replay with a little more
// latency or computation. (That its parts add up to the makespan: random_programs_test.cpp.)
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/replay/microseconds.hpp"
#include "tests/replay/well_formed.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay::critical_path_test {
namespace {

using testing::MemoryTrace;
using traces::OpKind;

ReplayResult run(traces::TraceReader& t, const topology::Platform& p, ReplayOptions options = {}) {
  options.critical_path = true;
  return replayed(t, p, options);
}
Micros parts(const ReplayResult& r) { return micros(r.path.parts, kPathPartNames); }
// "0 3>1 1" : stretches of ranks and messages, in order.
std::string way(const ReplayResult& r) {
  std::string out;
  for (const PathSegment& s : r.path.segments)
    out += fmt::format("{}{}", out.empty() ? "" : " ",
                       s.is_message() ? fmt::format("{}>{}", s.rank.index(), s.receiver.index())
                                      : fmt::format("{}", s.rank.index()));
  return out;
}

// Rank 1 computes for 40 us and sends; rank 0, who computed for less, waits for it. Whoever comes later is the path.
TEST(CriticalPath, GoesThroughWhoeverWasLate) {
  for (const std::int64_t own : {10, 100}) {
    MemoryTrace t(2);
    t.compute(0, Duration(own * kMicro));
    t.compute(1, Duration(40 * kMicro));
    t.p2p(1, OpKind::send, 0, 0, kSmall);
    t.p2p(0, OpKind::recv, 1, 0, kSmall);
    t.compute(0, Duration(5 * kMicro));
    const auto r = run(t, microsecond_platform());
    if (own == 10) {
      EXPECT_EQ(way(r), "1 1>0 0");
      EXPECT_EQ(
          parts(r),
          (Micros{
              {"compute", 45}, {"send_overhead", 3}, {"latency", 1}, {"transfer", 1}, {"recv_overhead", 2}}));
      EXPECT_EQ(r.path.trips, 1u);
      EXPECT_EQ(r.path.bytes, 1000u);
    } else {
      EXPECT_EQ(way(r), "0");
      EXPECT_EQ(parts(r), (Micros{{"compute", 105}, {"recv_overhead", 2}}));
      EXPECT_EQ(r.path.trips, 0u);
    }
  }
}

// A rendezvous begins with the later of its two sides: three trips from the sender, two from a late receiver.
TEST(CriticalPath, ARendezvousBeginsWithItsLaterSide) {
  for (const std::int64_t late : {-100, 100}) {
    MemoryTrace t(2);
    if (late < 0) t.compute(1, Duration(-late * kMicro));
    if (late > 0) t.compute(0, Duration(late * kMicro));
    t.p2p(1, OpKind::send, 0, 0, kLarge);
    t.p2p(0, OpKind::recv, 1, 0, kLarge);
    const auto r = run(t, microsecond_platform());
    Micros want{{"compute", 100}, {"latency", 1}, {"transfer", 1000}, {"recv_overhead", 2}};
    want["handshake"] = late < 0 ? 2 : 1;
    if (late < 0) want["send_overhead"] = 3;
    EXPECT_EQ(parts(r), want) << late;
    EXPECT_EQ(way(r), late < 0 ? "1 1>0 0" : "0 1>0 0");
    EXPECT_EQ(r.path.trips, late < 0 ? 3u : 2u);
  }
}

// A probe waits for the request, the receive after it for the data: two stretches of one message, whose latencies add up to
// what the makespan grows by.
TEST(CriticalPath, AProbedRendezvousIsOneMessageOfAllItsTrips) {
  for (const RawMode raw : {RawMode::kOff, RawMode::kRendezvous}) {
    MemoryTrace t(2);
    t.compute(1, Duration(100 * kMicro));
    t.p2p(1, OpKind::send, 0, 0, kLarge);
    t.p2p(0, OpKind::probe, 1, 0, 0);
    t.compute(0, Duration(5 * kMicro));
    t.p2p(0, OpKind::recv, 1, 0, kLarge);
    ReplayOptions o;
    o.raw = raw;
    auto p = microsecond_platform();
    const auto r = run(t, p, o);
    EXPECT_EQ(way(r),
              raw == RawMode::kOff ? "1 1>0 0 1>0 0" : "1 1>0 0 1>0");  // receiving takes time or none
    EXPECT_EQ(r.path.messages, 1u);
    EXPECT_EQ(r.path.bytes, static_cast<std::uint64_t>(kLarge));
    EXPECT_EQ(r.path.trips, raw == RawMode::kOff ? 3u : 2u);
    p.fabric.add_switch_latency(Duration(1000));
    EXPECT_EQ((run(t, p, o).makespan - r.makespan).count(), 1000 * static_cast<std::int64_t>(r.path.trips));
  }
}

// Two messages of 1 MB into one host: the path is one of them, and half of its time is the other one's doing, on the link
// that both cross.
TEST(CriticalPath, ContentionIsBookedOnTheLinkThatHeldTheMessage) {
  MemoryTrace t(3);
  for (const std::uint32_t s : {1u, 2u}) {
    t.p2p(s, OpKind::isend, 0, 0, kLarge, CommId(0), 0);
    t.wait(s, 0);
    t.p2p(0, OpKind::irecv, static_cast<std::int32_t>(s), 0, kLarge, CommId(0), s);
  }
  t.wait(0, 1);
  t.wait(0, 2);
  const auto p = microsecond_platform();
  const auto r = run(t, p);
  EXPECT_EQ(parts(r), (Micros{{"send_overhead", 3},
                              {"handshake", 2},
                              {"latency", 1},
                              {"transfer", 1000},
                              {"contention", 1000},
                              {"recv_overhead", 4}}));
  for (const PathSegment& s : r.path.segments) {
    if (!s.is_message()) continue;
    ASSERT_TRUE(s.held_by.valid());
    EXPECT_GT(r.links[s.held_by.index()].waited, Duration(0));
  }
}

// A copy of 60 us, sent at 3; 13 us later a request within the host, which is there at once and waits for its turn until
// the copy has come: no later send, and no less computation, would change that.
TEST(CriticalPath, GoesOnFromTheMessageThatOneBehindItWaitedFor) {
  auto p = microsecond_platform();
  p.ranks_per_host = 2;
  p.mpi.local_transfer = {{0, 0, 1e-9}};
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 1, 60 * kSmall);
  t.compute(0, Duration(10 * kMicro));
  t.p2p(0, OpKind::ssend, 1, 2, kSmall);
  t.p2p(1, OpKind::irecv, 0, 1, 60 * kSmall, CommId(0), 0);
  t.p2p(1, OpKind::recv, 0, 2, kSmall);
  t.wait(1, 0);
  ReplayOptions o;
  o.critical_path = true;
  const auto r = replay(t, p, {HostId(0), HostId(0)}, o);
  ASSERT_TRUE(r) << r.error().message();
  EXPECT_EQ(way(*r), "0 0>1 0>1 1");
  EXPECT_EQ(parts(*r), (Micros{{"send_overhead", 3}, {"transfer", 61}, {"recv_overhead", 4}}));
  EXPECT_EQ(r->path.messages, 2u);
  EXPECT_EQ(r->path.bytes, 61'000u);
}

// A message of tag 5 is there early; that of tag 6 comes at 52 us, when the first byte of one for a receive from any source
// comes, too. The probe for tag 5 then waits for who takes that one, which takes no time: it was not waited for.
TEST(CriticalPath, LeavesOutAMessageThatAProbeDidNotWaitFor) {
  auto p = microsecond_platform();
  p.mpi.recv_overhead = Duration(0);
  MemoryTrace t(3);
  t.p2p(0, OpKind::send, 1, 5, kSmall);
  t.compute(0, Duration(44 * kMicro));
  t.p2p(0, OpKind::send, 1, 6, kSmall);
  t.compute(2, Duration(48 * kMicro));
  t.p2p(2, OpKind::send, 1, 9, kSmall);
  t.p2p(1, OpKind::irecv, traces::kAnySource, 9, kSmall, CommId(0), 0);
  t.p2p(1, OpKind::recv, 0, 6, kSmall);
  t.p2p(1, OpKind::probe, 0, 5, kSmall);
  t.p2p(1, OpKind::recv, 0, 5, kSmall);
  t.compute(1, Duration(10 * kMicro));
  t.wait(1, 0);
  const auto r = run(t, p);
  EXPECT_EQ(way(r), "0 0>1 1");
  EXPECT_EQ(parts(r), (Micros{{"compute", 54}, {"send_overhead", 6}, {"latency", 1}, {"transfer", 1}}));
}

// A token that goes around twice while each rank computes: the path is the token, every region and rank by name.
TEST(CriticalPath, FollowsATokenThroughRegionsAndCollectives) {
  MemoryTrace t(4);
  const RegionId lap = t.add_region("lap");
  for (std::uint32_t r = 0; r < 4; ++r) {
    t.region(r, OpKind::region_begin, lap);
    if (r > 0) t.p2p(r, OpKind::recv, static_cast<std::int32_t>(r - 1), 0, kSmall);
    t.compute(r, Duration(10 * kMicro));
    if (r < 3) t.p2p(r, OpKind::send, static_cast<std::int32_t>(r + 1), 0, kSmall);
    t.region(r, OpKind::region_end, lap);
    t.collective(r, OpKind::barrier, traces::kAnySource, 0, CommId(0));
  }
  const auto r = run(t, microsecond_platform());
  EXPECT_TRUE(way(r).starts_with("0 0>1 1 1>2 2 2>3 3 3 3>")) << way(r);
  EXPECT_EQ(parts(r)["compute"], 40);
  Duration in_lap{0};
  for (const PathSegment& s : r.path.segments)
    if (s.region.valid()) in_lap += s.to - s.from;
  // 4 computations, 3 times send, latency, data, receive.
  EXPECT_EQ(in_lap, Duration((4 * 10 + 3 * (3 + 1 + 1 + 2)) * kMicro));
  // Rank 3 is in it from the start until it has computed, which is all of that.
  const RegionTimes& g = r.regions[0];
  EXPECT_TRUE(g.by_rank);
  EXPECT_EQ(g.longest, in_lap);
  EXPECT_EQ(g.computed, Duration(40 * kMicro));
  EXPECT_EQ(g.most_computed, Duration(10 * kMicro));
  EXPECT_FALSE(replayed(t, microsecond_platform(), {}).regions[0].by_rank);
}

// What is within another of its name is there once, for as long as the outer one, which ends last whatever ends it.
TEST(CriticalPath, ARegionWithinItselfTakesNoTimeTwice) {
  MemoryTrace t(1);
  const RegionId outer = t.add_region("outer"), other = t.add_region("other");
  const auto mark = [&](OpKind kind, RegionId id) {
    t.region(0, kind, id);
    t.compute(0, Duration(10 * kMicro));
  };
  mark(OpKind::region_begin, outer);  // at 0
  mark(OpKind::region_begin, other);
  mark(OpKind::region_begin, outer);
  mark(OpKind::region_end, other);  // at 30
  mark(OpKind::region_end, outer);
  mark(OpKind::region_end, outer);  // at 50
  mark(OpKind::region_begin, outer);
  mark(OpKind::region_end, outer);
  for (const bool path : {true, false}) {
    ReplayOptions o;
    o.critical_path = path;
    t.rewind();
    const auto r = replayed(t, microsecond_platform(), o);
    EXPECT_EQ(r.regions[0].count, 3u);
    EXPECT_EQ(r.regions[0].total, TimeSum(60 * kMicro));
    EXPECT_EQ(r.regions[1].total, TimeSum(20 * kMicro));
    if (!path) continue;
    EXPECT_EQ(r.regions[0].longest, Duration(60 * kMicro));
    EXPECT_EQ(r.regions[0].computed, TimeSum(60 * kMicro));
    EXPECT_EQ(r.ideal.regions[0], Duration(60 * kMicro));
  }
}

// Without contention the makespan is a largest sum of costs, so it is convex in each of them, and the path's counts are
// its slope: the line through the replay with that slope lies nowhere above it, and touches it on a side where the path
// stays.
TEST(CriticalPath, SlopesAreThoseOfTheMakespan) {
  const char* const one = std::getenv("WEFT_SEED");
  std::size_t cases = 0, touched = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    if (one != nullptr && seed != std::strtoull(one, nullptr, 10)) continue;
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    auto program = testing::well_formed(seed);
    const auto at = [&](double latency_ns, double scale) {
      auto p = topology::load_platform(fmt::format("{},bw=10GB/s,lat={}ns",
                                                   seed % 2 == 0 ? "crossbar:n=16" : "fat-tree:m=4,n=3",
                                                   latency_ns))
                   .value();
      p.mpi.send_overhead = Duration(static_cast<std::int64_t>(seed % 3) * kMicro);
      p.mpi.eager_limit = Bytes(2000);
      ReplayOptions o;
      o.model = "contention-free";
      o.compute_scale = scale;
      program.trace.rewind();
      return run(program.trace, p, o);
    };
    const auto base = at(500, 1);
    const auto slope_fits = [&](const ReplayResult& less, const ReplayResult& more, double step_ps) {
      const double down = static_cast<double>((less.makespan - base.makespan).count()) + step_ps;
      const double up = static_cast<double>((more.makespan - base.makespan).count()) - step_ps;
      EXPECT_GE(down, -2) << "below the line by " << -down << " ps";
      EXPECT_GE(up, -2) << "below the line by " << -up << " ps";
      ++cases;
      touched += std::min(down, up) <= 2 ? 1 : 0;
    };
    slope_fits(at(499.9, 1), at(500.1, 1), 100 * base.path.link_latencies);
    const double computed =
        static_cast<double>(base.path.parts[static_cast<std::size_t>(PathPart::kCompute)].count());
    slope_fits(at(500, 1 - 1e-6), at(500, 1 + 1e-6), 1e-6 * computed);
  }
  EXPECT_EQ(touched, cases);
}

// What is left on an ideal network is computation and who waits for whom: the token of above without its messages.
TEST(CriticalPath, OnAnIdealNetworkOnlyComputationIsLeft) {
  for (const std::int64_t bytes : {kSmall, kLarge}) {
    MemoryTrace t(3);
    for (std::uint32_t r = 0; r < 3; ++r) {
      if (r > 0) t.p2p(r, OpKind::recv, static_cast<std::int32_t>(r - 1), 0, bytes);
      t.compute(r, Duration((10 + r) * kMicro));
      if (r < 2) t.p2p(r, OpKind::send, static_cast<std::int32_t>(r + 1), 0, bytes);
      t.collective(r, OpKind::allreduce, traces::kAnySource, 800'000, CommId(0));
    }
    ReplayOptions o;
    o.ideal_network = true;
    const auto r = run(t, microsecond_platform(), o);
    EXPECT_EQ(r.makespan, Duration(33 * kMicro));
    EXPECT_EQ(parts(r), (Micros{{"compute", 33}}));
  }
}

}  // namespace
}  // namespace weft::replay::critical_path_test
