// What reports say of links between the sockets of a host: who shares them, what they carry when, whose messages were in the way.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "predict/link_sharers.hpp"
#include "predict/path_details.hpp"
#include "report/compare.hpp"
#include "report/html/drawing.hpp"
#include "report/timeline/link_load.hpp"
#include "tests/support/memory_trace.hpp"
#include "traces/formats.hpp"

namespace weft::report::socket_links_test {
namespace {

using testing::MemoryTrace;
using traces::OpKind;

constexpr std::int64_t kBytes = 100'000;

// Four ranks a host, even ones on socket 0; 4 GB/s a copy, 5 GB/s from socket to socket.
struct World {
  topology::Platform platform = topology::load_platform("crossbar:n=3,bw=10GB/s,lat=1us").value();
  std::vector<HostId> hosts;
  replay::ReplayOptions options;
  std::vector<replay::MessageSeen> seen;
  replay::ReplayResult result;
  explicit World(std::int64_t second = 2 * kBytes) {
    EXPECT_TRUE(platform.fabric.join_sockets({2, true}, 4, Bandwidth(5e9)));
    platform.mpi.local_bandwidth = 4e9;
    for (std::uint32_t r = 0; r < 8; ++r) hosts.emplace_back(r / 4);
    auto trace = program(second);
    options.critical_path = true;
    options.on_message = [this](const replay::MessageSeen& m) { seen.push_back(m); };
    result = replay::replay(*trace, platform, hosts, options).value();
    options.on_message = nullptr;
  }
  // 0 to 1 and 2 to 3 share; 4 to 6 are on one socket; 5 to 0 leaves its host.
  static std::unique_ptr<MemoryTrace> program(std::int64_t second) {
    auto t = std::make_unique<MemoryTrace>(8);
    for (const auto& [a, b, n] : {std::tuple(0u, 1u, kBytes), std::tuple(2u, 3u, second),
                                  std::tuple(4u, 6u, kBytes), std::tuple(5u, 0u, kBytes)}) {
      t->p2p(a, OpKind::send, static_cast<std::int32_t>(b), 0, n);
      t->p2p(b, OpKind::recv, static_cast<std::int32_t>(a), 0, n);
    }
    return t;
  }
  [[nodiscard]] LinkId shared() const { return platform.fabric.socket_link(HostId(0), 0, 1); }
};

TEST(SocketLinksInReports, ThePairsThatShareOneAreThoseOnItsSockets) {
  const World w;
  predict::PairTraffic traffic;
  for (const auto& m : w.seen) traffic.add(m.src, m.dst, Bytes(m.bytes));
  const predict::LinkSharers s = traffic.sharers_of(w.shared(), w.platform.fabric, w.hosts);
  ASSERT_TRUE(s.known);
  EXPECT_EQ(s.pairs, 2u);
  EXPECT_EQ(s.bytes, 3u * kBytes);
  ASSERT_EQ(s.most.size(), 2u);
  EXPECT_EQ(s.most[0].src, RankId(2));
  EXPECT_EQ(s.most[0].dst, RankId(3));
}

TEST(SocketLinksInReports, WhatEveryLinkCarriesIsWhatTheReplayCounts) {
  const World w;
  LinkLoadCollector collector(w.platform.fabric, w.hosts, {});
  for (const auto& m : w.seen) collector.add(m);
  const LinkLoad load = collector.finish(w.result.makespan);
  ASSERT_EQ(load.link_bytes.size(), w.result.links.size());
  for (std::size_t l = 0; l < load.link_bytes.size(); ++l)
    EXPECT_EQ(load.link_bytes[l], w.result.links[l].bytes)
        << w.platform.fabric.link_name(LinkId(static_cast<std::uint32_t>(l)));
  EXPECT_EQ(load.link_bytes[w.shared().index()], 3u * kBytes);
}

TEST(SocketLinksInReports, WhoseMessagesWereInTheWayIsKnown) {
  // 0 to 1 and 2 to 3 have 2.5 GB/s each for 40 us instead of 4 GB/s for 25: each waited for the other.
  const World w(kBytes);
  const auto d = predict::path_details(
      {w.platform, w.hosts, w.options, w.result, []() -> Result<std::unique_ptr<traces::TraceReader>> {
         return std::unique_ptr<traces::TraceReader>(World::program(kBytes));
       }});
  ASSERT_TRUE(d) << d.error().message();
  ASSERT_EQ(d->rivals.size(), 1u);
  RankId mine;
  for (const replay::PathSegment& g : w.result.path.segments)
    if (g.held_by == w.shared()) mine = g.rank;
  ASSERT_TRUE(mine == RankId(0) || mine == RankId(2));
  EXPECT_EQ(d->rivals[0].src, RankId(2 - mine.index()));
  EXPECT_EQ(d->rivals[0].dst, RankId(3 - mine.index()));
  EXPECT_EQ(d->rivals[0].contention, Duration(15'000'000));
  EXPECT_EQ(d->nobody, Duration(0));
}

TEST(SocketLinksInReports, CountsAndPicturesOfTheNetworkLeaveThemOut) {
  const World w;
  predict::RunFacts run;
  run.platform = &w.platform;
  run.options = &w.options;
  run.result = &w.result;
  run.ranks = 8;
  EXPECT_EQ(compare_row(run, &run).links, 6u);
  EXPECT_EQ(compare_row(run, &run).cables, 3u);
  EXPECT_EQ(to_json(draw(w.platform), run)["links"].size(), 6u);
}

}  // namespace
}  // namespace weft::report::socket_links_test
