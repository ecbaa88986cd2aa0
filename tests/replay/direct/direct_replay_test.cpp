// Replays whose ranks go ahead of each other, against the same replays by events: every figure of the result, to the tick.
#include "replay/direct/direct_replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/rng.hpp"
#include "replay/direct/link_calendar.hpp"
#include "replay/direct/link_loads.hpp"
#include "tests/replay/microseconds.hpp"
#include "tests/replay/random_program.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay::direct_replay_test {
namespace {

using testing::first_hosts;
using testing::MemoryTrace;
using testing::RandomProgram;
using traces::OpKind;

Duration sum_of_causes(const RankTimes& t) {
  Duration sum{0};
  for (const Duration d : t.causes) sum += d;
  return sum;
}

// What is not a matter of which of two things at one instant comes first. That decides which wait a rank is said to have had, if both
// end it.
void expect_same(const ReplayResult& a, const ReplayResult& b) {
  EXPECT_EQ(a.makespan, b.makespan);
  EXPECT_EQ(a.fingerprint, b.fingerprint);
  ASSERT_EQ(a.ranks.size(), b.ranks.size());
  for (std::size_t r = 0; r < a.ranks.size(); ++r) {
    SCOPED_TRACE("rank " + std::to_string(r));
    const RankTimes &x = a.ranks[r], &y = b.ranks[r];
    EXPECT_EQ(x.finish, y.finish);
    EXPECT_EQ(x.compute, y.compute);
    EXPECT_EQ(x.send, y.send);
    EXPECT_EQ(x.recv, y.recv);
    EXPECT_EQ(x.wait, y.wait);
    EXPECT_EQ(x.collective, y.collective);
    EXPECT_EQ(sum_of_causes(x), sum_of_causes(y));
    for (const Cause c : {Cause::kRecvOverhead, Cause::kPolls, Cause::kNever})
      EXPECT_EQ(x.cause(c), y.cause(c)) << kCauseNames[static_cast<std::size_t>(c)];
  }
  ASSERT_EQ(a.regions.size(), b.regions.size());
  for (std::size_t g = 0; g < a.regions.size(); ++g) {
    EXPECT_EQ(a.regions[g].count, b.regions[g].count);
    EXPECT_EQ(a.regions[g].total, b.regions[g].total);
  }
  ASSERT_EQ(a.collectives.size(), b.collectives.size());
  for (std::size_t c = 0; c < a.collectives.size(); ++c)
    EXPECT_EQ(a.collectives[c].calls, b.collectives[c].calls);
  ASSERT_EQ(a.links.size(), b.links.size());
  constexpr Duration kRounding{1};
  TimeSum waited_a, waited_b;
  for (std::size_t l = 0; l < a.links.size(); ++l) {
    SCOPED_TRACE("link " + std::to_string(l));
    EXPECT_EQ(a.links[l].bytes, b.links[l].bytes);
    EXPECT_EQ(a.links[l].peak_flows, b.links[l].peak_flows);
    EXPECT_LE(std::max(a.links[l].busy, b.links[l].busy) - std::min(a.links[l].busy, b.links[l].busy),
              kRounding);
    waited_a += a.links[l].waited;
    waited_b += b.links[l].waited;
  }
  // Of two links that hold a flow back alike one is named.
  EXPECT_NEAR(to_seconds(waited_a), to_seconds(waited_b), 1e-9 * to_seconds(a.makespan) + 1e-11);
  for (const auto costs : {&ReplayResult::point_to_point, &ReplayResult::network}) {
    const MessageCosts &x = a.*costs, &y = b.*costs;
    EXPECT_EQ(x.count, y.count);
    EXPECT_EQ(x.bytes, y.bytes);
    EXPECT_EQ(x.hops, y.hops);
    EXPECT_EQ(x.latency, y.latency);
    EXPECT_EQ(x.transfer, y.transfer);
    EXPECT_EQ(x.contention, y.contention);
  }
  EXPECT_EQ(a.unmatched_messages, b.unmatched_messages);
  EXPECT_EQ(a.unmatched_receives, b.unmatched_receives);
  EXPECT_EQ(a.warnings, b.warnings);
  EXPECT_EQ(a.engine.flows, b.engine.flows);
}
bool same_causes(const ReplayResult& a, const ReplayResult& b) {
  return std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(),
                    [](const RankTimes& x, const RankTimes& y) { return x.causes == y.causes; });
}

Result<ReplayResult> by_events(MemoryTrace& t, const topology::Platform& p, const std::vector<HostId>& map,
                               ReplayOptions o) {
  o.ranks_ahead = false;
  return replay(t, p, map, o);
}

topology::Platform platform_with_costs(const std::string& spec, Rng& rng) {
  auto p = topology::load_platform(spec).value();
  const auto some = [&](std::uint64_t most) {
    return rng.below(3) == 0 ? Duration(0) : Duration(static_cast<std::int64_t>(rng.below(most)));
  };
  p.mpi.eager_limit = Bytes(rng.below(2) == 0 ? 5'000 : 60'000);
  p.mpi.send_overhead = some(3'000'000);
  p.mpi.recv_overhead = some(3'000'000);
  p.mpi.test_cost = some(1'000'000);
  p.mpi.local_latency = some(2'000'000);
  if (rng.below(2) == 0) p.mpi.local_bandwidth = 3e9;
  if (rng.below(3) == 0)
    p.mpi.transfer = {{0, 1.5, 1}, {1000, 2.5, 0.7}, {20'000, 1.2, 0.9}, {200'000, 0.3, 0.95}};
  return p;
}

TEST(DirectReplay, IsTheReplayByEventsOverRandomPrograms) {
  const char* const one = std::getenv("WEFT_SEED");
  const char* const specs[] = {"crossbar:n=9,bw=1GB/s,lat=1us", "torus:dims=3x3,bw=1GB/s,lat=500ns",
                               "fat-tree:m=4,n=3,bw=2GB/s,lat=300ns", "crossbar:n=9,bw=100TB/s,lat=0"};
  constexpr RawMode kModes[] = {RawMode::kOff, RawMode::kOff, RawMode::kEager, RawMode::kDetached,
                                RawMode::kRendezvous};
  std::size_t programs = 0, alone = 0, unlike = 0, unlike_without_ties = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    if (one != nullptr && seed != std::strtoull(one, nullptr, 10)) continue;
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed ^ 0x646972656374ULL);
    using Collectives = RandomProgram::Collectives;
    RandomProgram program(seed, rng.below(2) == 0 ? Collectives::kBlocking : Collectives::kNone);
    auto p = platform_with_costs(specs[rng.below(std::size(specs))], rng);
    // Some hosts have several ranks.
    std::vector<HostId> map;
    const std::uint64_t hosts = 2 + rng.below(8);
    for (std::uint32_t r = 0; r < program.trace().header().ranks; ++r)
      map.emplace_back(static_cast<std::uint32_t>(rng.below(3) == 0 ? rng.below(hosts) : r));
    Rng sockets(seed ^ 0x736f636b657473ULL);
    if (seed % 3 == 0) {
      for (HostId& h : map) h = HostId(h.index() / 2);
      ASSERT_TRUE(
          p.fabric.join_sockets({2, sockets.below(2) == 0}, 2, Bandwidth(1e9 + 3e9 * sockets.unit())));
    }
    ReplayOptions o;
    o.raw = kModes[rng.below(std::size(kModes))];
    if (rng.below(4) == 0) o.header = Bytes(64);
    if (rng.below(8) == 0) o.model = "contention-free";
    if (rng.below(8) == 0) o.ideal_network = true;
    const auto events = by_events(program.trace(), p, map, o);
    const auto direct = replay(program.trace(), p, map, o);
    ASSERT_TRUE(events && direct);
    ASSERT_TRUE(events->finished) << events->deadlock.summary();
    EXPECT_EQ(events->way, ReplayWay::kEvents);
    EXPECT_NE(direct->way, ReplayWay::kEvents);
    expect_same(*direct, *events);
    ++programs;
    alone += direct->way == ReplayWay::kAlone;
    // Exchanges of rendezvous end on both sides at one instant; on an ideal network everything does.
    const bool ties = o.raw == RawMode::kOff || o.raw == RawMode::kRendezvous || o.ideal_network;
    (ties ? unlike : unlike_without_ties) += !same_causes(*direct, *events);
    if (::testing::Test::HasFailure()) return;
  }
  std::printf("%zu programs, %zu without any event; %zu with causes that a tie decides\n", programs, alone,
              unlike);
  if (one == nullptr) {
    EXPECT_GT(alone, programs / 10);
    EXPECT_LT(alone, programs / 2);
    EXPECT_LE(unlike, programs / 4);
    EXPECT_LE(unlike_without_ties, programs / 1000);  // an ssend is a rendezvous in every mode
  }
}

// A message that nobody shares a link with takes what it takes alone; one more on the same link, and all is replayed with both.
TEST(DirectReplay, TwoFlowsThatTouchAreReplayedTogether) {
  const auto p = topology::load_platform("crossbar:n=3,bw=1GB/s,lat=500ns").value();
  // Rank 2 gets 1 MB from 0 at once and from 1 after `later`: up to 1,001 us the first is on its link.
  const auto replayed = [&](Duration later) {
    MemoryTrace t(3);
    t.p2p(0, OpKind::send, 2, 0, 60'000);
    t.compute(1, later);
    t.p2p(1, OpKind::send, 2, 0, 60'000);
    t.p2p(2, OpKind::recv, 0, 0, 60'000);
    t.p2p(2, OpKind::recv, 1, 0, 60'000);
    return replay(t, p, first_hosts(3), {}).value();
  };
  const auto apart = replayed(Duration(61 * kMicro)), together = replayed(Duration(30 * kMicro));
  EXPECT_EQ(apart.way, ReplayWay::kAlone);
  EXPECT_EQ(apart.makespan, Duration((61 + 1 + 60) * kMicro));
  EXPECT_EQ(apart.engine.events, 0u);
  EXPECT_EQ(together.way, ReplayWay::kAhead);
  // 30 us alone, then both at half the rate until the first is over at 1 + 30 + 60.
  EXPECT_EQ(together.makespan, Duration((1 + 30 + 60 + 30) * kMicro));
  EXPECT_EQ(together.links[0].peak_flows, 1u);
}

// Where time decides which message a rank takes, all is replayed by events; a poll waits for the network.
TEST(DirectReplay, GivesUpWhereTimeDecides) {
  const auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=500ns").value();
  const auto way = [&](void (*receive)(MemoryTrace&)) {
    MemoryTrace t(2);
    t.p2p(1, OpKind::send, 0, 0, 8);
    receive(t);
    const auto r = replay(t, p, first_hosts(2), {});
    EXPECT_TRUE(r && r->finished);
    return r->way;
  };
  EXPECT_EQ(way([](MemoryTrace& t) { t.p2p(0, OpKind::recv, 1, traces::kAnyTag, 8); }), ReplayWay::kAlone);
  EXPECT_EQ(way([](MemoryTrace& t) { t.p2p(0, OpKind::recv, traces::kAnySource, 0, 8); }),
            ReplayWay::kEvents);
  EXPECT_EQ(way([](MemoryTrace& t) {
              t.p2p(0, OpKind::probe, 1, 0, 0);
              t.p2p(0, OpKind::recv, 1, 0, 8);
            }),
            ReplayWay::kAhead);
  EXPECT_EQ(way([](MemoryTrace& t) {
              t.p2p(0, OpKind::irecv, traces::kAnySource, 0, 8, CommId(0), 0);
              t.wait(0, 0);
            }),
            ReplayWay::kEvents);
}

// 106 days at 1 GB/s are 9.2e15 bytes. Nobody waits for them, but what meets them would never end.
TEST(DirectReplay, ALongFlowThatNobodyWaitsForIsAnErrorAsByEvents) {
  const auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=500ns").value();
  for (const std::int64_t bytes :
       {12'000'000'000'000'000, 1'000'000'000'000'000'000, 4'000'000'000'000'000'000})
    for (const bool watched : {false, true})
      for (const HostId receiver : {HostId(0), HostId(1)}) {
        auto slow = p;
        slow.mpi.eager_limit = Bytes(INT64_MAX);
        slow.mpi.local_bandwidth = 1e9;
        MemoryTrace t(2);
        t.p2p(0, OpKind::isend, 1, 0, bytes, CommId(0), 0);
        t.wait(0, 0);
        ReplayOptions o;
        if (watched) o.on_op = [](RankId, std::uint64_t, SimTime, SimTime) {};
        const auto r = replay(t, slow, {HostId(0), receiver}, o);
        ASSERT_FALSE(r) << bytes << watched;
        EXPECT_NE(r.error().message().find("past"), std::string::npos) << r.error().message();
      }
}

// Watching a replay does not change it, but makes it one by events.
TEST(DirectReplay, WhoWatchesSeesEvents) {
  const auto p = topology::load_platform("crossbar:n=2,bw=1GB/s,lat=500ns").value();
  MemoryTrace t(2);
  t.p2p(0, OpKind::send, 1, 0, 8);
  t.p2p(1, OpKind::recv, 0, 0, 8);
  ReplayOptions o;
  std::size_t seen = 0;
  o.on_op = [&](RankId, std::uint64_t, SimTime, SimTime) { ++seen; };
  EXPECT_EQ(replay(t, p, first_hosts(2), o)->way, ReplayWay::kEvents);
  EXPECT_EQ(seen, 2u);
}

// Flows entered in any order of time, with and without room between them, against all pairs.
// 512 operations, but 8 * 64 * 63 messages: whoever waits for the end hears of it meanwhile, by events as without.
TEST(DirectReplay, ProgressIsToldByWhatHappensNotByOperationsAlone) {
  constexpr std::uint32_t kRanks = 64, kCalls = 8;
  MemoryTrace t(kRanks);
  for (std::uint32_t r = 0; r < kRanks; ++r)
    for (std::uint32_t i = 0; i < kCalls; ++i) t.collective(r, OpKind::alltoall, 0, 1000, CommId(0));
  auto p = topology::load_platform("crossbar:n=64,bw=10GB/s,lat=1us");
  ASSERT_TRUE(p) << p.error().message();
  for (const bool ahead : {false, true}) {
    t.rewind();
    ReplayOptions o;
    o.ranks_ahead = ahead;
    std::vector<std::uint64_t> told;
    o.on_progress = [&](std::uint64_t done, std::uint64_t total) {
      EXPECT_EQ(total, kRanks * kCalls);
      told.push_back(done);
    };
    ASSERT_TRUE(replay(t, *p, first_hosts(kRanks), o));
    ASSERT_GE(told.size(), 3u) << ahead;
    EXPECT_TRUE(std::ranges::is_sorted(told) || ahead) << "a replay that gives up begins anew";
    EXPECT_GE(*std::ranges::max_element(told), kRanks);
    EXPECT_LE(*std::ranges::max_element(told), kRanks * kCalls);
  }
}

TEST(LinkCalendar, FindsWhatTouches) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    constexpr std::uint32_t kLinks = 3;
    LinkCalendar calendar(kLinks);
    std::vector<std::pair<std::int64_t, std::int64_t>> spans_of[kLinks];
    std::int64_t past = 0;
    for (int i = 0; i < 120; ++i) {
      const auto link = static_cast<std::uint32_t>(rng.below(kLinks));
      const std::vector<LinkId> route{LinkId(link)};
      auto& spans = spans_of[link];
      const std::int64_t from = past + static_cast<std::int64_t>(rng.below(4000));
      const std::int64_t to = from + static_cast<std::int64_t>(rng.below(40));
      const bool meets = std::any_of(spans.begin(), spans.end(), [&](const auto& s) {
        return from <= s.second + 1 && to + 1 >= s.first;
      });
      const Instant zero;
      ASSERT_EQ(calendar.enter(route, zero + Elapsed(Duration(from)), zero + Elapsed(Duration(to))), !meets);
      if (meets) break;
      spans.emplace_back(from, to);
      if (rng.below(4) == 0) {
        past += static_cast<std::int64_t>(rng.below(300));
        calendar.forget_before(zero + Elapsed(Duration(past)));
      }
    }
  }
}

// Flows entered in any order of time, against the sum over instants.
TEST(LinkLoads, AddUpToWhatEachInstantSays) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    LinkLoads loads(1);
    const std::vector<LinkId> route{LinkId(0)};
    constexpr std::int64_t kEnd = 3000;
    std::vector<std::uint32_t> flows(kEnd);
    std::int64_t past = 0;
    for (int i = 0; i < 200; ++i) {
      const std::int64_t from = past + static_cast<std::int64_t>(rng.below(500));
      const std::int64_t to = from + 1 + static_cast<std::int64_t>(rng.below(60));
      for (std::int64_t t = from; t < to; ++t) ++flows[t];
      loads.enter(route, Instant() + Elapsed(Duration(from)), Instant() + Elapsed(Duration(to)));
      if (rng.below(4) == 0) {
        past += static_cast<std::int64_t>(rng.below(40));
        loads.forget_before(Instant() + Elapsed(Duration(past)));
      }
    }
    std::size_t told = 0;
    loads.finish([&](LinkId link, Elapsed busy, std::uint32_t peak) {
      ++told;
      EXPECT_EQ(link, LinkId(0));
      EXPECT_EQ(busy.rounded().count(), kEnd - std::count(flows.begin(), flows.end(), 0u));
      EXPECT_EQ(peak, *std::max_element(flows.begin(), flows.end()));
    });
    EXPECT_EQ(told, 1u);
  }
}

TEST(LinkLoads, FlowsWithoutAnEndAreThereUntilTheLastInstant) {
  LinkLoads loads(1);
  const std::vector<LinkId> route{LinkId(0)};
  const Instant start = Instant() + Elapsed(Duration(7));
  for (int i = 0; i < 40; ++i) loads.enter(route, start, start + Elapsed::of_ticks(network::Ticks{1} << 120));
  std::size_t told = 0;
  loads.finish([&](LinkId, Elapsed busy, std::uint32_t peak) {
    ++told;
    EXPECT_TRUE(busy == Instant::last() - start);
    EXPECT_EQ(peak, 40u);
  });
  EXPECT_EQ(told, 1u);
}

}  // namespace
}  // namespace weft::replay::direct_replay_test
