// Routings that decide for every message: what a replay makes of Valiant, UGAL-U and adaptive choice.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/rng.hpp"
#include "network/flow_run.hpp"
#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/seed.hpp"

namespace weft::replay {
namespace {

using testing::MemoryTrace;
using traces::OpKind;

ReplayResult run_on(const std::string& spec, MemoryTrace& t) {
  auto p = topology::load_platform(spec);
  EXPECT_TRUE(p) << (p ? "" : p.error().message());
  std::vector<HostId> hosts;
  for (std::uint32_t r = 0; r < t.header().ranks; ++r) hosts.emplace_back(r);
  ReplayOptions o;
  o.raw = RawMode::kEager;
  auto r = replay(t, *p, hosts, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  return r ? std::move(r).value() : ReplayResult{};
}

// Rank i of group 0 sends 1 MB to rank i of group 1.
MemoryTrace group_to_group(std::uint32_t n, std::uint32_t distance, std::uint32_t ranks) {
  MemoryTrace t(ranks);
  for (std::uint32_t i = 0; i < n; ++i) {
    t.p2p(i, OpKind::send, static_cast<std::int32_t>(i + distance), 0, 1'000'000);
    t.p2p(i + distance, OpKind::recv, static_cast<std::int32_t>(i), 0, 1'000'000);
  }
  return t;
}

TEST(MessageRouting, UgalUSpreadsWhatMinimalSendsOverOneCable) {
  // p = 2, a = 4, h = 2: the 8 hosts of group 0 share one cable to group 1 under minimal routing.
  const std::string spec = "dragonfly:p=2,bw=1GB/s,lat=0,routing=";
  MemoryTrace a = group_to_group(8, 8, 72), b = group_to_group(8, 8, 72), c = group_to_group(8, 8, 72),
              d = group_to_group(8, 8, 72);
  const double minimal = to_seconds(run_on(spec + "minimal", a).makespan);
  EXPECT_NEAR(minimal, 8e-3, 1e-9);  // 8 MB over 1 GB/s
  const double ugal = to_seconds(run_on(spec + "ugal", b).makespan);
  EXPECT_LT(ugal, 4.1e-3);
  EXPECT_GE(ugal, 1e-3 - 1e-9);
  const double valiant = to_seconds(run_on(spec + "valiant", c).makespan);
  EXPECT_LT(valiant, minimal);
  const auto again = run_on(spec + "ugal", d);
  EXPECT_EQ(to_seconds(again.makespan), ugal);
}

TEST(MessageRouting, AdaptiveUsesEveryParallelCable) {
  // Four hosts on each of two routers that three cables join; four flows. Dimension order: destinations 4..7
  // mod 3 = 1, 2, 0, 1, so two share. Adaptive: no cable has more than two, the least loaded is taken.
  const std::string spec = "torus:dims=2,hosts_per_switch=4,cables=4,bw=1GB/s,lat=0,routing=";
  MemoryTrace a = group_to_group(4, 4, 8), b = group_to_group(4, 4, 8);
  EXPECT_NEAR(to_seconds(run_on(spec + "dimension-order", a).makespan), 1e-3, 1e-9);
  EXPECT_NEAR(to_seconds(run_on(spec + "adaptive", b).makespan), 1e-3, 1e-9);
  // Three cables and only even destinations: dimension order uses what 4 and 6 give, adaptive all.
  MemoryTrace c(12), d(12);
  for (MemoryTrace* t : {&c, &d})
    for (const int i : {0, 3}) {
      t->p2p(static_cast<std::uint32_t>(i), OpKind::send, i + 6, 0, 1'000'000);
      t->p2p(static_cast<std::uint32_t>(i) + 6, OpKind::recv, i, 0, 1'000'000);
    }
  const std::string three = "torus:dims=2,hosts_per_switch=6,cables=3,bw=1GB/s,lat=0,routing=";
  EXPECT_NEAR(to_seconds(run_on(three + "dimension-order", c).makespan), 2e-3,
              1e-9);  // 6 and 9 mod 3 are one
  EXPECT_NEAR(to_seconds(run_on(three + "adaptive", d).makespan), 1e-3, 1e-9);
}

// The same messages twice: as a list of flows, whose links are chosen as they start, and as the isends of ranks that compute until
// then. Each ends at the same picosecond, whatever the routing looks at.
TEST(MessageRouting, AListOfFlowsTakesTheWaysOfItsMessages) {
  constexpr std::uint32_t kHosts = 16;
  const std::vector<std::string> platforms{"dragonfly:p=2,a=4,h=2,bw=1GB/s,lat=1us,routing=ugal",
                                           "dragonfly:p=2,a=4,h=2,bw=1GB/s,lat=1us,routing=valiant",
                                           "xgft:h=2,m=4x4,w=1x4,bw=1GB/s,lat=1us,routing=adaptive",
                                           "xgft:h=2,m=4x4,w=1x4,bw=1GB/s,lat=1us,routing=random",
                                           "torus:dims=4x4,cables=2x2,bw=1GB/s,lat=1us,routing=adaptive",
                                           "fat-tree:m=4,n=4,bw=1GB/s,lat=1us,nics=2,nic=adaptive",
                                           "fat-tree:m=4,n=4,bw=1GB/s,lat=1us,nics=2,nic=message",
                                           "xgft:h=2,m=4x4,w=1x4,bw=1GB/s,lat=1us,routing=adaptive,fail=2"};
  for (const std::uint64_t seed : support::seeds_to(10)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    struct Sent {
      std::uint32_t src, dst;
      std::int64_t bytes;
      Duration start;
    };
    // The first start at once, in the order of ranks, which is that of flows; the others each at an instant of its own.
    std::vector<Sent> flows;
    std::set<std::int64_t> instants{0};
    for (std::uint32_t f = 0; f < 60; ++f) {
      const auto src = f < kHosts ? f : static_cast<std::uint32_t>(rng.below(kHosts));
      const auto dst = (src + 1 + static_cast<std::uint32_t>(rng.below(kHosts - 1))) % kHosts;
      std::int64_t at = 0;
      while (f >= kHosts && !instants.insert(at).second)
        at = static_cast<std::int64_t>(rng.below(3'000'000'000));
      flows.push_back({src, dst, static_cast<std::int64_t>(rng.below(1'000'000)), Duration(at)});
    }
    for (const std::string& spec : platforms) {
      SCOPED_TRACE(spec);
      auto platform = topology::load_platform(spec);
      ASSERT_TRUE(platform) << platform.error().message();
      auto run = network::FlowRun::create("max-min", platform->fabric);
      ASSERT_TRUE(run);
      for (const Sent& f : flows)
        run->add(HostId(f.src), HostId(f.dst), Bytes(f.bytes), SimTime(f.start), false);
      ASSERT_TRUE(run->run(false));

      MemoryTrace t(kHosts);
      std::vector<std::uint32_t> order(flows.size());
      for (std::uint32_t f = 0; f < flows.size(); ++f) order[f] = f;
      std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return flows[a].start != flows[b].start ? flows[a].start < flows[b].start : a < b;
      });
      for (const std::uint32_t f : order)
        t.p2p(flows[f].dst, OpKind::irecv, static_cast<std::int32_t>(flows[f].src),
              static_cast<std::int32_t>(f), flows[f].bytes, CommId(0), f);
      std::vector<Duration> clock(kHosts, Duration(0));
      for (const std::uint32_t f : order) {
        const Sent& m = flows[f];
        if (m.start > clock[m.src]) t.compute(m.src, m.start - clock[m.src]);
        clock[m.src] = m.start;
        t.p2p(m.src, OpKind::isend, static_cast<std::int32_t>(m.dst), static_cast<std::int32_t>(f), m.bytes,
              CommId(0), static_cast<std::uint32_t>(flows.size()) + f);
      }
      for (const std::uint32_t f : order) {
        t.wait(flows[f].dst, f);
        t.wait(flows[f].src, static_cast<std::uint32_t>(flows.size()) + f);
      }
      std::vector<HostId> hosts;
      for (std::uint32_t r = 0; r < kHosts; ++r) hosts.emplace_back(r);
      ReplayOptions o;
      o.raw = RawMode::kEager;
      std::vector<SimTime> arrived(flows.size());
      o.on_message = [&](const MessageSeen& m) { arrived[static_cast<std::size_t>(m.tag)] = m.arrived; };
      const auto replayed = replay(t, *platform, hosts, o);
      ASSERT_TRUE(replayed) << replayed.error().message();
      for (std::uint32_t f = 0; f < flows.size(); ++f) ASSERT_EQ(run->finish(f), arrived[f]) << "flow " << f;
    }
  }
}

TEST(MessageRouting, StaticRoutesOfARandomTreeReplayAsTheyAreDrawn) {
  // With one possible path a random routing is the static one, to the tick.
  MemoryTrace a = group_to_group(4, 4, 8), b = group_to_group(4, 4, 8);
  const auto x = run_on("xgft:m=4x2,w=1x1,bw=1GB/s,lat=1us", a);
  const auto y = run_on("xgft:m=4x2,w=1x1,bw=1GB/s,lat=1us,routing=random", b);
  EXPECT_EQ(x.makespan, y.makespan);
  EXPECT_EQ(x.fingerprint, y.fingerprint);
}

}  // namespace
}  // namespace weft::replay
