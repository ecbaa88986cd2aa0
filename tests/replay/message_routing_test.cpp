// Routings that decide for every message: what a replay makes of Valiant, UGAL-U and adaptive choice.
#include <gtest/gtest.h>

#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"

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
