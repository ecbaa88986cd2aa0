// Four things HPL does that replayers lose: it polls (Iprobe) and forwards a panel at the first poll that
// finds it, it sends synchronously (Ssend, Issend), and it broadcasts on the rows of a process grid. Programs
// written by hand; times by hand too.
#include <gtest/gtest.h>

#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"
#include "topology/platform/platform.hpp"

namespace weft::testing {
namespace {

using replay::RawMode;
using replay::ReplayOptions;
using replay::ReplayResult;
using traces::Op;
using traces::OpKind;

constexpr Duration us(double n) { return Duration(static_cast<std::int64_t>(n * 1e6)); }

// Two leaves of two hosts, two spines, 1 GB/s and `lat` a link: within a leaf a message crosses two links.
std::string fat_tree(const std::string& lat = "1us") {
  return "xgft:h=2,m=2x2,w=1x2,p=1x1,bw=1GB/s,lat=" + lat + ",speed=10Gflops";
}

Result<ReplayResult> run(MemoryTrace& trace, const std::string& platform, RawMode raw) {
  WEFT_ASSIGN(const topology::Platform p, topology::load_platform(platform));
  std::vector<HostId> placement;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) placement.emplace_back(r);
  ReplayOptions options;
  options.raw = raw;
  trace.rewind();
  return replay::replay(trace, p, placement, options);
}

// Rows {0, 1} and {2, 3} of a 2 x 2 grid. They exist from the start: creating them takes messages of its own.
struct Rows {
  CommId row[2];
  explicit Rows(MemoryTrace& t) : row{t.add_comm("split1", {0, 1}), t.add_comm("split2", {2, 3})} {}
};

const RawMode kModes[] = {RawMode::kOff, RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous};
const char* const kPlatforms[] = {"crossbar:n=4,bw=1GB/s,lat=1us", "fat-tree:m=4,n=2,bw=1GB/s,lat=1us",
                                  "dragonfly:p=1,a=2,h=1,g=3,bw=1GB/s,lat=1us",
                                  "torus:dims=2x2,bw=1GB/s,lat=1us"};

// Rank 1 polls `polls` times, 1.5 us of work before each, as it was recorded where only the last poll found
// the message; at the hit it receives and forwards to rank 2. Rank 0 sends at once.
MemoryTrace polling_program(int polls) {
  MemoryTrace t(3);
  t.p2p(0, OpKind::send, 1, 7, 8);
  for (int i = 0; i < polls; ++i) {
    t.compute(1, us(1.5));
    Op probe;
    probe.kind = OpKind::iprobe;
    probe.peer = 0;
    probe.tag = 7;
    probe.amount = 1;
    if (i + 1 < polls) {
      t.add(1, probe, {2 * (polls - 1 - i)});  // the hit is so many operations further on
    } else {
      probe.flags = traces::kHit;
      t.add(1, probe, {0, 2, 0, 7, 8});
    }
  }
  t.p2p(1, OpKind::recv, 0, 7, 8);
  t.p2p(1, OpKind::send, 2, 7, 8);
  t.compute(1, us(0.5));
  t.p2p(2, OpKind::recv, 1, 7, 8);
  return t;
}

TEST(HplCases, APanelIsForwardedAtTheFirstPollAfterItArrived) {
  MemoryTrace t = polling_program(10);
  // 8 bytes over two links: there after 2 * lat + 8 ns. Polls at 1.5, 3.0, ... 15 us.
  struct Row {
    const char* lat;
    Duration forwarded;  // the poll that finds it, or its arrival where no poll does
  };
  for (const auto& [lat, forwarded] :
       {Row{"100ns", us(1.5)}, Row{"1us", us(3.0)}, Row{"3us", us(7.5)}, Row{"10us", us(20.008)}}) {
    const auto r = run(t, std::string("crossbar:n=3,bw=1GB/s,lat=") + lat, RawMode::kEager);
    ASSERT_TRUE(r) << r.error().message();
    ASSERT_TRUE(r->finished) << r->deadlock.summary();
    const Duration hop2 = us(std::string(lat) == "100ns" ? 0.208
                             : std::string(lat) == "1us" ? 2.008
                             : std::string(lat) == "3us" ? 6.008
                                                         : 20.008);
    EXPECT_EQ(r->ranks[2].finish.count(), (forwarded + hop2).count()) << lat;
    // Its own work goes on whenever the panel came: 10 x 1.5 us, at the end 0.5 us more, or the wait at the
    // last poll.
    EXPECT_EQ(r->ranks[1].finish.count(), (std::max(us(15), forwarded) + us(0.5)).count()) << lat;
    EXPECT_EQ(r->ranks[1].compute.count(), us(15.5).count()) << lat;
  }
}

TEST(HplCases, APollingProgramEndsOnEveryPlatformInEveryMode) {
  for (const char* platform : kPlatforms) {
    for (const RawMode mode : kModes) {
      for (const int polls : {1, 2, 50}) {
        MemoryTrace t = polling_program(polls);
        const auto r = run(t, platform, mode);
        ASSERT_TRUE(r) << platform << ": " << r.error().message();
        EXPECT_TRUE(r->finished) << platform << ", mode " << static_cast<int>(mode) << ": "
                                 << r->deadlock.summary();
        EXPECT_GT(r->ranks[2].finish, us(1.5)) << platform;
      }
    }
  }
}

TEST(HplCases, SynchronousSendsEndWhenTheDataHaveCome) {
  constexpr std::int64_t kMegabyte = 1'000'000;
  for (const RawMode mode : kModes) {
    MemoryTrace t(4);
    const Rows rows(t);
    // Row 0: Ssend to a receiver that comes 500 us late. Row 1: Issend, 100 us of work, Wait.
    t.p2p(0, OpKind::ssend, 1, 1, kMegabyte, rows.row[0]);
    t.compute(1, us(500));
    t.p2p(1, OpKind::recv, 0, 1, kMegabyte, rows.row[0]);
    t.p2p(2, OpKind::issend, 3, 1, kMegabyte, rows.row[1], 0);
    t.compute(2, us(100));
    t.wait(2, 0);
    t.p2p(3, OpKind::recv, 2, 1, kMegabyte, rows.row[1]);
    const auto r = run(t, fat_tree(), mode);
    ASSERT_TRUE(r) << r.error().message();
    ASSERT_TRUE(r->finished) << r->deadlock.summary();
    if (mode != RawMode::kOff) {
      // 1 MB at 1 GB/s after 2 us of latency, from the moment that both sides are there; the sender waits
      // that long.
      EXPECT_EQ(r->ranks[0].finish.count(), us(1502).count());
      EXPECT_EQ(r->ranks[1].finish.count(), us(1502).count());
      EXPECT_EQ(r->ranks[2].finish.count(), us(1002).count());
      EXPECT_EQ(r->ranks[3].finish.count(), us(1002).count());
    } else {
      EXPECT_GE(r->ranks[0].finish, us(1500));
      EXPECT_GE(r->ranks[2].finish, us(1000));
    }
  }
}

TEST(HplCases, TwoRowBroadcastsTakeTheTimeOfOneRow) {
  constexpr std::int64_t kMegabyte = 1'000'000;
  for (const RawMode mode : kModes) {
    MemoryTrace both(4);
    const Rows rows(both);
    for (std::uint32_t r = 0; r < 4; ++r)
      both.collective(r, OpKind::bcast, static_cast<std::int32_t>(r / 2 * 2), kMegabyte, rows.row[r / 2]);
    const auto r = run(both, fat_tree(), mode);
    ASSERT_TRUE(r) << r.error().message();
    ASSERT_TRUE(r->finished) << r->deadlock.summary();
    // One message of 1 MB in each row, over links of its own: 2 us + 1 ms, plus a handshake at most outside
    // raw mode.
    EXPECT_GE(r->makespan, us(1002));
    EXPECT_LE(r->makespan, us(1010));
    if (mode != RawMode::kOff) {
      EXPECT_EQ(r->makespan.count(), us(1002).count());
    }
    EXPECT_EQ(r->ranks[1].finish, r->ranks[3].finish);
  }
}

TEST(HplCases, ABroadcastOnOneRowOnlyDoesNotBlockTheOther) {
  constexpr std::int64_t kMegabyte = 1'000'000;
  for (const RawMode mode : kModes) {
    MemoryTrace t(4);
    const Rows rows(t);
    for (std::uint32_t r = 0; r < 2; ++r) t.collective(r, OpKind::bcast, 0, kMegabyte, rows.row[0]);
    for (std::uint32_t r = 2; r < 4; ++r) t.compute(r, us(10));
    const auto r = run(t, fat_tree(), mode);
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_TRUE(r->finished) << r->deadlock.summary();
    EXPECT_GE(r->ranks[1].finish, us(1002));
    EXPECT_LE(r->ranks[1].finish, us(1010));
    EXPECT_EQ(r->ranks[2].finish.count(), us(10).count());
  }
}

TEST(HplCases, SendsThatWaitForEachOtherAreReportedAsACycle) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::ssend, 1, 0, 8);
  t.p2p(0, OpKind::recv, 1, 0, 8);
  t.p2p(1, OpKind::ssend, 0, 0, 8);
  t.p2p(1, OpKind::recv, 0, 0, 8);
  for (const RawMode mode : kModes) {
    const auto r = run(t, "crossbar:n=2,bw=1GB/s,lat=1us", mode);
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_FALSE(r->finished);
    ASSERT_EQ(r->deadlock.blocked.size(), 2u);
    EXPECT_EQ(r->deadlock.cycle.size(), 2u);
    EXPECT_NE(r->deadlock.blocked[0].op.find("ssend"), std::string::npos) << r->deadlock.blocked[0].op;
  }
}

}  // namespace
}  // namespace weft::testing
