// Links between the sockets of a host: messages that share them, by hand, in both replays (docs/model.md, "Sockets of a host").
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "replay/engine.hpp"
#include "replay/message_cost.hpp"
#include "replay/verification.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/platform_text.hpp"
#include "traces/kernel.hpp"

namespace weft::replay::socket_links_test {
namespace {

using testing::MemoryTrace;
using traces::Kernel;
using traces::Op;
using traces::OpKind;

constexpr std::int64_t kUs = 1'000'000;   // ticks
constexpr std::int64_t kBytes = 100'000;  // rendezvous where the eager limit is not said

// Eight ranks a host, even ones on socket 0. Up to 100 kB a copy takes 2 us and goes at 4 GB/s, longer ones 5 us and 1 GB/s.
const char* const kPieces =
    "local_transfer { intercept: \"2us\" per_byte: \"250ps\" } "
    "local_transfer { from: \"100001B\" intercept: \"5us\" per_byte: \"1ns\" } ";
topology::Platform machine(const std::string& bandwidth, const std::string& mpi = kPieces,
                           const std::string& topology = "family: \"crossbar\" set: \"n=4\"") {
  return testing::platform_of_text("topology { " + topology +
                                   " set: \"bw=10GB/s\" set: \"lat=1us\" }\n"
                                   "host { ranks: 8 sockets: 2 socket_order: \"cyclic\" " +
                                   (bandwidth.empty() ? "" : "socket_bandwidth: \"" + bandwidth + "\"") +
                                   " kernel { name: \"*\" intercept: \"100us\" } }\nmpi { " + mpi + " }\n");
}
std::vector<HostId> hosts(std::uint32_t ranks) {
  std::vector<HostId> out;
  for (std::uint32_t r = 0; r < ranks; ++r) out.emplace_back(r / 8);
  return out;
}

struct Send {
  std::uint32_t from, to;
  std::int64_t bytes;
  std::int64_t end;  // ticks
};
// All at once; each receiver ends when it has its message, in both replays, and nothing is found wrong.
void expect_ends(const topology::Platform& p, const std::vector<Send>& sends, ReplayOptions o = {}) {
  std::uint32_t ranks = 8;
  for (const Send& s : sends) ranks = std::max({ranks, s.from + 1, s.to + 1});
  for (const bool ahead : {false, true}) {
    MemoryTrace t(ranks);
    for (const Send& s : sends) {
      t.p2p(s.from, OpKind::send, static_cast<std::int32_t>(s.to), 0, s.bytes);
      t.p2p(s.to, OpKind::recv, static_cast<std::int32_t>(s.from), 0, s.bytes);
    }
    o.ranks_ahead = ahead;
    Verification found;
    const auto r = replay_verified(t, p, hosts(ranks), o, found);
    ASSERT_TRUE(r) << r.error().message();
    EXPECT_EQ(found.finding(), "");
    const auto alone = replay(t, p, hosts(ranks), o);
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->fingerprint, r->fingerprint);
    EXPECT_EQ(alone->way == ReplayWay::kEvents, !ahead);
    for (const Send& s : sends)
      EXPECT_LE(std::abs(r->ranks[s.to].finish.count() - s.end), 1)
          << s.from << " to " << s.to << (ahead ? " ahead" : " by events");
  }
}

TEST(SocketLinks, EqualCopiesShareALinkThatTheyFill) {
  // k at once of 4 GB/s each over 10 GB/s.
  for (const std::int64_t k : {1, 2, 3, 4}) {
    SCOPED_TRACE(k);
    std::vector<Send> sends;
    const std::int64_t ps = std::max<std::int64_t>(250, k * 100);  // a byte
    for (std::uint32_t i = 0; i < k; ++i) sends.push_back({2 * i, 2 * i + 1, kBytes, 2 * kUs + kBytes * ps});
    expect_ends(machine("10GB/s"), sends);
    expect_ends(machine("10GB/s", std::string(kPieces) + "eager_limit: \"10MB\""), sends);
    // Without the link, and on a wide one, each is alone.
    for (Send& s : sends) s.end = 2 * kUs + kBytes * 250;
    expect_ends(machine(""), sends);
    expect_ends(machine("1TB/s"), sends);
  }
}

TEST(SocketLinks, WhoCannotTakeItsShareLeavesItToTheOthers) {
  // A: 110 kB at 1 GB/s at most, from 5 us on. B, C: 100 kB at 4 GB/s at most, from 2 us on. The link has 5 GB/s: B and C
  // have 2.5 each until 5 us, then 2 each, when 7.5 kB of them are over; the other 92.5 kB take 46.25 us. A is alone again then.
  const std::int64_t ends = 5 * kUs + 92'500 * 500;
  expect_ends(machine("5GB/s"),
              {{0, 1, 110'000, 5 * kUs + 110'000 * 1000}, {2, 3, kBytes, ends}, {4, 5, kBytes, ends}});
}

TEST(SocketLinks, ALinkSlowerThanOneCopyHoldsItBack) {
  expect_ends(machine("2GB/s"), {{0, 1, kBytes, 2 * kUs + kBytes * 500}});
}

TEST(SocketLinks, DirectionsSocketsAndHostsDoNotShare) {
  const std::int64_t half = 2 * kUs + kBytes * 400, alone = 2 * kUs + kBytes * 250;
  // Two from socket 0 to 1 share 5 GB/s. One each way back, within a socket and on the other host has what it wants.
  expect_ends(machine("5GB/s"), {{0, 1, kBytes, half},
                                 {2, 3, kBytes, half},
                                 {5, 4, kBytes, alone},
                                 {8, 9, kBytes, alone},
                                 {10, 12, kBytes, alone}});
}

TEST(SocketLinks, BlocksOfRanksAreOnOneSocket) {
  auto p = machine("5GB/s");
  p.fabric = topology::load_platform("crossbar:n=4,bw=10GB/s,lat=1us")->fabric;
  ASSERT_TRUE(p.fabric.join_sockets({2, false}, 8, Bandwidth(5e9)));
  const std::int64_t half = 2 * kUs + kBytes * 400, alone = 2 * kUs + kBytes * 250;
  // 0 to 3 and 4 to 7.
  expect_ends(p, {{0, 1, kBytes, alone}, {2, 4, kBytes, half}, {3, 5, kBytes, half}, {6, 7, kBytes, alone}});
}

TEST(SocketLinks, MessagesBetweenHostsDoNotMeetThem) {
  const std::int64_t wire = 2 * kUs + kBytes * 100 + 4 * kUs;  // a handshake of two ways before
  expect_ends(machine("5GB/s"), {{0, 1, kBytes, 2 * kUs + kBytes * 250}, {2, 10, kBytes, wire}});
  // Nor where the routing decides for every message.
  const std::string valiant =
      "family: \"dragonfly\" set: \"p=1\" set: \"a=2\" set: \"h=1\" set: \"routing=valiant\"";
  const auto p = machine("5GB/s", kPieces, valiant);
  MemoryTrace t(8);
  for (const std::uint32_t i : {0u, 2u}) {
    t.p2p(i, OpKind::send, static_cast<std::int32_t>(i + 1), 0, kBytes);
    t.p2p(i + 1, OpKind::recv, static_cast<std::int32_t>(i), 0, kBytes);
  }
  const auto r = replay(t, p, hosts(8), {});
  ASSERT_TRUE(r);
  EXPECT_EQ(r->ranks[1].finish.count(), 2 * kUs + kBytes * 400);
  EXPECT_EQ(r->ranks[3].finish.count(), 2 * kUs + kBytes * 400);
}

TEST(SocketLinks, ALoneMessageTakesWhatACopyTakesInEveryMode) {
  const std::string costs[] = {
      kPieces, "local_latency: \"3us\" local_bandwidth: \"4GB/s\"", "local_latency: \"3us\"", "",
      // A line that is negative for short messages.
      "local_transfer { intercept: \"-7us\" per_byte: \"250ps\" }",
      "send_overhead: \"1us\" recv_overhead: \"2us\" local_latency: \"3us\" local_bandwidth: \"4GB/s\" "
      "eager_limit: \"50kB\""};
  for (const std::string& mpi : costs)
    for (const bool wide : {true, false})
      for (const RawMode raw : {RawMode::kOff, RawMode::kEager, RawMode::kDetached, RawMode::kRendezvous})
        for (const std::int64_t header : {0, 64})
          for (const std::int64_t n :
               {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}, kBytes, std::int64_t{3'000'000}})
            for (const bool ideal : {false, true}) {
              SCOPED_TRACE(::testing::Message()
                           << mpi << (wide ? " wide" : "") << " mode " << static_cast<int>(raw) << " " << n
                           << "+" << header << (ideal ? " ideal" : ""));
              const auto p = machine(wide ? "1000000TB/s" : "1GB/s", mpi), plain = machine("", mpi);
              ReplayOptions o;
              o.raw = raw;
              o.header = Bytes(header);
              o.ideal_network = ideal;
              MessageCost::Path path;
              path.local = path.between_sockets = true;
              path.capacity = p.fabric.links().capacity[p.fabric.wired_links()];
              const MessageCost cost(p.mpi, o);
              const auto parts = cost.uncontended(n, path, OpKind::send);
              MemoryTrace t(2);
              t.p2p(0, OpKind::send, 1, 0, n);
              t.p2p(1, OpKind::recv, 0, 0, n);
              const auto copy = replay(t, plain, hosts(2), o);
              ASSERT_TRUE(copy);
              for (const bool ahead : {false, true}) {
                o.ranks_ahead = ahead;
                const auto r = replay(t, p, hosts(2), o);
                ASSERT_TRUE(r) << r.error().message();
                EXPECT_EQ(r->ranks[1].finish, parts.one_way().rounded());
                const std::int64_t longer = (r->ranks[1].finish - copy->ranks[1].finish).count();
                EXPECT_GE(longer, -1);
                // No link carries a copy, so its header is in no time; it is here.
                if (wide && header == 0) {
                  EXPECT_LE(longer, 4);
                }
                EXPECT_EQ(r->network.hops, 0u);
                EXPECT_EQ(r->network.bytes, static_cast<std::uint64_t>(n));
                EXPECT_EQ(r->links[p.fabric.socket_link(HostId(0), 0, 1).index()].bytes,
                          static_cast<std::uint64_t>(ideal ? 0 : n + header));
              }
            }
}

// What is found at a poll between computations has the costs of a message under load.
TEST(SocketLinks, MessagesUnderLoadShareAtTheirOwnRates) {
  // Idle 4 GB/s; loaded 7 us and 2 GB/s. Three at once over 3 GB/s: 1 GB/s each either way; over 100 GB/s: 2 GB/s.
  for (const auto& [bandwidth, ps] : {std::pair("3GB/s", 1000), std::pair("100GB/s", 500)}) {
    const auto p = machine(bandwidth,
                           "local_transfer { per_byte: \"250ps\" } eager_limit: \"999B\" "
                           "loaded_local_transfer { from: \"50kB\" intercept: \"7us\" per_byte: \"500ps\" }");
    for (const bool observed : {false, true}) {
      MemoryTrace t(6);
      for (const std::uint32_t i : {0u, 2u, 4u}) {
        t.p2p(i, OpKind::send, static_cast<std::int32_t>(i + 1), 5, kBytes);
        t.add(i + 1, {.kind = OpKind::compute_kernel}, {static_cast<std::int64_t>(Kernel::dgemm), 8, 8, 8});
        t.add(i + 1,
              {.kind = OpKind::iprobe,
               .flags = traces::kHit,
               .peer = static_cast<std::int32_t>(i),
               .tag = 5,
               .amount = 1},
              {0, 1, static_cast<std::int64_t>(i), 5, kBytes});
        t.p2p(i + 1, OpKind::recv, static_cast<std::int32_t>(i), 5, kBytes);
      }
      ReplayOptions o;
      if (observed) o.on_op = [](RankId, std::uint64_t, SimTime, SimTime) {};
      const auto r = replay(t, p, hosts(6), o);
      ASSERT_TRUE(r) << r.error().message();
      for (const std::uint32_t i : {1u, 3u, 5u})
        EXPECT_LE(std::abs(r->ranks[i].finish.count() - (107 * kUs + kBytes * ps)), 1) << bandwidth;
    }
  }
}

TEST(SocketLinks, WhatTheyHoldBackIsContentionOfTheirNameOnThePath) {
  const auto p = machine("5GB/s");
  MemoryTrace t(8);
  for (const std::uint32_t i : {0u, 2u}) {
    t.p2p(i, OpKind::send, static_cast<std::int32_t>(i + 1), 0, kBytes);
    t.p2p(i + 1, OpKind::recv, static_cast<std::int32_t>(i), 0, kBytes);
  }
  ReplayOptions o;
  o.critical_path = o.wait_states = true;
  const auto r = replay(t, p, hosts(8), o);
  ASSERT_TRUE(r);
  const auto part = [&](PathPart q) { return r->path.parts[static_cast<std::size_t>(q)].count(); };
  EXPECT_EQ(part(PathPart::kLatency), 2 * kUs);
  EXPECT_EQ(part(PathPart::kTransfer), kBytes * 250);
  EXPECT_EQ(part(PathPart::kContention), kBytes * 150);
  EXPECT_EQ(r->path.own_pace.count(), kBytes * 250);
  EXPECT_EQ(r->path.trips, 0u);
  ASSERT_FALSE(r->path.segments.empty());
  EXPECT_EQ(p.fabric.link_name(r->path.segments.back().held_by),
            p.fabric.host_name(HostId(0)) + ": socket 0 -> 1");
  const auto& use = r->links[p.fabric.socket_link(HostId(0), 0, 1).index()];
  EXPECT_EQ(use.peak_flows, 2u);
  EXPECT_EQ(use.bytes, 2u * kBytes);
  EXPECT_EQ(use.busy.count(), kBytes * 400);
  EXPECT_EQ(r->network.contention.count(), 2 * kBytes * 150);
}

TEST(SocketLinks, ALinkThatIsSlowerThanACopyIsWhatTheCopyTakes) {
  for (const auto& [bandwidth, own] : {std::pair("2GB/s", false), std::pair("5GB/s", true)}) {
    MemoryTrace t(8);
    t.p2p(0, OpKind::send, 1, 0, kBytes);
    t.p2p(1, OpKind::recv, 0, 0, kBytes);
    ReplayOptions o;
    o.critical_path = true;
    const auto r = replay(t, machine(bandwidth), hosts(8), o);
    ASSERT_TRUE(r);
    EXPECT_EQ(r->path.own_pace.count(), own ? kBytes * 250 : 0);
    EXPECT_EQ(r->path.own_pace_bytes, static_cast<std::uint64_t>(own ? kBytes : 0));
    EXPECT_EQ(r->path.on_links().count(), own ? 0 : kBytes * 500);
  }
}

TEST(SocketLinks, OtherNetworksOfTheSameReplay) {
  const auto p = machine("5GB/s");
  const std::vector<Send> two{{0, 1, kBytes, 2 * kUs + kBytes * 250}, {2, 3, kBytes, 2 * kUs + kBytes * 250}};
  ReplayOptions o;
  o.model = "contention-free";
  expect_ends(p, two, o);
  o = {};
  o.what_if.no_latency = true;  // of ways between hosts
  std::vector<Send> shared = two;
  for (Send& s : shared) s.end = 2 * kUs + kBytes * 400;
  expect_ends(p, shared, o);
  o.what_if = {.latency = Duration(9 * kUs)};
  expect_ends(p, shared, o);
}

TEST(SocketLinks, ASeriesOfExchangesHasTheCostsOfLoneMessages) {
  // Two ranks on two sockets send each other 20 kB at once, over and over.
  const auto time = [](const topology::Platform& p, std::int64_t exchanges) {
    MemoryTrace t(2);
    for (std::uint32_t r = 0; r < 2; ++r)
      t.add(r, {.kind = OpKind::exchange_series, .peer = 0, .amount = 20'000}, {0, exchanges, 1, 0});
    const auto r = replay(t, p, hosts(2), {});
    EXPECT_TRUE(r) << (r ? "" : r.error().message());
    return r ? to_seconds(r->makespan) : 0;
  };
  for (const auto& [bandwidth, ps] : {std::pair("", 250), std::pair("1TB/s", 250), std::pair("2GB/s", 500)}) {
    const double each = 2e-6 + 20'000 * ps * 1e-12;
    EXPECT_NEAR(time(machine(bandwidth), 100), 100 * each, 1e-9 * each) << bandwidth;
  }
}

}  // namespace
}  // namespace weft::replay::socket_links_test
