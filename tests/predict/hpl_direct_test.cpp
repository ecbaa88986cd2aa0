// HPL replayed with ranks that go ahead of each other, against the same replay by events: every time of every rank, region and
// message. All broadcasts, look-aheads and swaps; hosts of several ranks, loaded messages, ports by peers, noise.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/rng.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "replay/engine.hpp"
#include "tests/predict/support.hpp"
#include "tests/support/seed.hpp"
#include "topology/placement/placement.hpp"

namespace weft::predict {
namespace {

using replay::ReplayResult;
using replay::ReplayWay;

struct Seen {
  ReplayResult result;
  std::vector<Duration> regions;  // by rank and region, summed
  std::uint64_t messages = 0;
  Duration posted{0}, arrived{0}, received{0};
};

Seen replayed(const hpl_gen::HplDat& dat, const hpl_gen::HplTraceOptions& how, const topology::Platform& p,
              replay::ReplayOptions o) {
  auto trace = hpl_gen::HplTrace::create(dat, how).value();
  const std::uint32_t ranks = trace->header().ranks;
  const std::size_t regions = trace->regions().size();
  const auto hosts = topology::place_ranks(p, ranks, "block", 0).value();
  Seen seen;
  const auto again = [&] {
    seen = Seen();
    seen.regions.assign(ranks * regions, Duration(0));
  };
  again();
  o.on_again = again;
  o.on_region = [&](RankId r, RegionId id, SimTime from, SimTime to) {
    seen.regions[r.index() * regions + id.index()] += to - from;
  };
  o.on_message = [&](const replay::MessageSeen& m) {
    ++seen.messages;
    seen.posted += m.posted.time_since_epoch();
    seen.arrived += m.arrived.time_since_epoch();
    seen.received += m.received.time_since_epoch();
  };
  auto result = replay::replay(*trace, p, hosts, o);
  EXPECT_TRUE(result) << result.error().message();
  if (result) seen.result = std::move(*result);
  return seen;
}

TEST(HplDirect, IsTheReplayByEvents) {
  std::uint64_t events = 0, fewer = 0;
  for (const std::uint64_t seed : support::seeds_to(150)) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed ^ 0x68706cULL);
    hpl_gen::HplDat dat;
    dat.n = {static_cast<std::int64_t>(300 + rng.below(900))};
    dat.nb = {static_cast<std::int64_t>(16 << rng.below(3))};
    dat.grids = {{static_cast<int>(1 + rng.below(4)), static_cast<int>(1 + rng.below(4))}};
    dat.bcast = {static_cast<hpl_gen::Bcast>(rng.below(6))};
    dat.depth = {static_cast<int>(rng.below(3))};
    dat.swap = static_cast<hpl_gen::Swap>(rng.below(3));
    hpl_gen::HplTraceOptions how;
    how.aggregate_pfact = rng.below(2) == 0;
    // Hosts of 32 ranks that copy, and of one rank each.
    const auto p = rng.below(2) == 0 ? platform_of("dahu")
                                     : platform_of("fat-tree:m=8,n=2,bw=2GB/s,lat=1us,speed=5Gflops");
    replay::ReplayOptions o;
    o.noise = p.fabric.host_count() < 100 && rng.below(2) == 0;
    o.seed = seed;
    using replay::RawMode;
    constexpr RawMode kModes[] = {RawMode::kOff, RawMode::kOff, RawMode::kDetached, RawMode::kRendezvous};
    o.raw = kModes[rng.below(std::size(kModes))];
    const Seen direct = replayed(dat, how, p, o);
    o.ranks_ahead = false;
    const Seen by_events = replayed(dat, how, p, o);
    ASSERT_TRUE(direct.result.finished && by_events.result.finished);
    EXPECT_NE(direct.result.way, ReplayWay::kEvents);
    EXPECT_EQ(by_events.result.way, ReplayWay::kEvents);
    EXPECT_EQ(direct.result.fingerprint, by_events.result.fingerprint);
    for (std::size_t r = 0; r < direct.result.ranks.size(); ++r) {
      SCOPED_TRACE("rank " + std::to_string(r));
      const replay::RankTimes &a = direct.result.ranks[r], &b = by_events.result.ranks[r];
      EXPECT_EQ(a.finish, b.finish);
      EXPECT_EQ(a.compute, b.compute);
      EXPECT_EQ(a.send, b.send);
      EXPECT_EQ(a.recv, b.recv);
      EXPECT_EQ(a.wait, b.wait);
      EXPECT_EQ(a.collective, b.collective);
    }
    EXPECT_EQ(direct.regions, by_events.regions);
    EXPECT_EQ(direct.messages, by_events.messages);
    EXPECT_EQ(direct.posted, by_events.posted);
    EXPECT_EQ(direct.arrived, by_events.arrived);
    EXPECT_EQ(direct.received, by_events.received);
    events += by_events.result.engine.events;
    fewer += direct.result.engine.events;
    if (::testing::Test::HasFailure()) return;
  }
  std::printf("%llu events, %llu with ranks ahead\n", static_cast<unsigned long long>(events),
              static_cast<unsigned long long>(fewer));
  EXPECT_LT(2 * fewer, events);
}

// On a platform where all ranks take the same time messages can be seen from the very instants of polls on (docs/model.md, "Probes as
// conditional steps").
TEST(HplDirect, DecidesTiesOfPollsAndMessagesAsEventsDo) {
  hpl_gen::HplDat dat;
  dat.n = {40'000};
  dat.nb = {192};
  dat.grids = {{8, 8}};
  dat.depth = {1};
  hpl_gen::HplTraceOptions how;
  const auto p = platform_of("fat-tree:m=8,n=3,bw=100Gbps,speed=1Tflops");
  replay::ReplayOptions o;
  const Seen direct = replayed(dat, how, p, o);
  o.ranks_ahead = false;
  const Seen by_events = replayed(dat, how, p, o);
  EXPECT_EQ(direct.result.way, ReplayWay::kAhead);
  EXPECT_EQ(direct.result.makespan, by_events.result.makespan);
  EXPECT_EQ(direct.result.fingerprint, by_events.result.fingerprint);
  EXPECT_EQ(direct.regions, by_events.regions);
}

}  // namespace
}  // namespace weft::predict
