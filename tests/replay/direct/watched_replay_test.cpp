// Who watches a replay does not change it, whatever the network makes of a last bit: ranks that go ahead of each other, and the same
// program event by event for a critical path, wait states, an export in time, and verified. Where many messages start and end at one
// instant on links that they share, each kind of replay makes them happen in another order.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "replay/engine.hpp"
#include "replay/verification.hpp"
#include "topology/placement/placement.hpp"
#include "topology/platform/platform.hpp"
#include "traces/synthetic/pattern.hpp"

namespace weft::replay::watched_replay_test {
namespace {

std::unique_ptr<traces::TraceReader> all_to_all(const char* ranks, const char* bytes, const char* how) {
  traces::PatternArgs args;
  args.set("ranks", ranks);
  args.set("bytes", bytes);
  args.set("iterations", "3");
  args.set("how", how);
  return std::move(traces::synthetic_trace("alltoall", args, 1)).value();
}

// Which links are how busy with how many is a matter of what comes first at one instant, too.
void expect_same(const ReplayResult& a, const ReplayResult& b) {
  EXPECT_EQ(a.makespan, b.makespan);
  EXPECT_EQ(a.fingerprint, b.fingerprint);
  ASSERT_EQ(a.links.size(), b.links.size());
  for (std::size_t l = 0; l < a.links.size(); ++l) {
    EXPECT_EQ(a.links[l].busy, b.links[l].busy) << "link " << l;
    EXPECT_EQ(a.links[l].peak_flows, b.links[l].peak_flows) << "link " << l;
    EXPECT_EQ(a.links[l].waited, b.links[l].waited) << "link " << l;
  }
}

void expect_watching_changes_nothing(traces::TraceReader& trace, const topology::Platform& platform,
                                     const ReplayOptions& options = {}) {
  const auto map = topology::place_ranks(platform, trace.header().ranks, "block", 0).value();
  const auto plain = replay(trace, platform, map, options);
  ASSERT_TRUE(plain && plain->finished);
  EXPECT_EQ(plain->way, ReplayWay::kAhead);
  const auto watched = [&](const char* how, auto watch) {
    SCOPED_TRACE(how);
    ReplayOptions o = options;
    watch(o);
    const auto r = replay(trace, platform, map, o);
    ASSERT_TRUE(r && r->finished);
    EXPECT_EQ(r->way, ReplayWay::kEvents);
    expect_same(*r, *plain);
  };
  watched("critical path", [](ReplayOptions& o) { o.critical_path = true; });
  watched("wait states", [](ReplayOptions& o) { o.wait_states = true; });
  watched("export in time", [](ReplayOptions& o) {
    o.on_op = [](RankId, std::uint64_t, SimTime, SimTime) {};
    o.on_region = [](RankId, RegionId, SimTime, SimTime) {};
    o.on_message = [](const MessageSeen&) {};
  });
  SCOPED_TRACE("verified");
  Verification v;
  const auto verified = replay_verified(trace, platform, map, options, v);
  ASSERT_TRUE(verified);
  EXPECT_EQ(v.wrong, 0u) << v.finding();
  expect_same(*verified, *plain);
}

topology::Platform with_overheads(const char* spec) {
  auto p = topology::load_platform(spec).value();
  p.mpi.send_overhead = p.mpi.recv_overhead = Duration(300'000);
  return p;
}

TEST(WatchedReplay, IsTheSameOfPairwiseAllToAlls) {
  const auto edison = topology::load_platform("edison").value();
  expect_watching_changes_nothing(*all_to_all("56", "8KiB", "pairwise"), edison);
  expect_watching_changes_nothing(*all_to_all("48", "8KiB", "pairwise"),
                                  with_overheads("polarfly:q=5,bw=1GB/s,lat=200ns,ranks_per_host=1"));
  ReplayOptions by_latency;
  by_latency.rtt_weights = true;
  for (const char* const spec :
       {"fat-tree:m=8,n=2,bw=1234567890B/s,lat=200ns,ranks_per_host=2",
        "dragonfly:p=2,a=4,h=2,bw=1GB/s,lat=200ns,ranks_per_host=1", "torus:dims=8x8,bw=1GB/s,lat=0"}) {
    SCOPED_TRACE(spec);
    const auto trace = all_to_all("64", "1000B", "pairwise");
    expect_watching_changes_nothing(*trace, topology::load_platform(spec).value());
    expect_watching_changes_nothing(*trace, with_overheads(spec), by_latency);
  }
}

// Hundreds of flows at once: rates are kept by groups of them.
TEST(WatchedReplay, IsTheSameWhereAllMessagesAreUnderWayTogether) {
  for (const char* const spec : {"fat-tree:m=8,n=2,bw=1GB/s,lat=200ns,ranks_per_host=2",
                                 "mesh:dims=8x8,bw=1234567890B/s,lat=200ns,ranks_per_host=1"}) {
    SCOPED_TRACE(spec);
    expect_watching_changes_nothing(*all_to_all("48", "100KB", "spread"), with_overheads(spec));
  }
}

}  // namespace
}  // namespace weft::replay::watched_replay_test
