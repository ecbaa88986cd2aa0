// Messages of one source on one communicator match in the order of their sends, whichever comes first: closed forms
// where the later one is there long before the earlier one.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay::message_order_test {
namespace {

using testing::MemoryTrace;
using traces::kAnySource;
using traces::kAnyTag;
using traces::Op;
using traces::OpKind;

constexpr std::int64_t kNs = 1000, kUs = 1'000'000, kMs = 1'000'000'000;

topology::Platform platform(const std::string& spec, const topology::MpiParameters& mpi = {}) {
  auto p = topology::load_platform(spec).value();
  p.mpi = mpi;
  return p;
}
// Within a host: 1 us and 1 GB/s.
topology::MpiParameters one_host() {
  topology::MpiParameters m;
  m.local_latency = Duration(kUs);
  m.local_bandwidth = 1e9;
  return m;
}
ReplayResult run(MemoryTrace& t, const topology::Platform& p, const std::vector<std::uint32_t>& hosts) {
  std::vector<HostId> map;
  for (const std::uint32_t h : hosts) map.emplace_back(h);
  auto r = replay(t, p, map, {});
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  if (!r) return {};
  EXPECT_TRUE(r->finished) << r->deadlock.summary();
  EXPECT_TRUE(r->warnings.empty()) << r->warnings.front();
  return std::move(r).value();
}
void waitall(MemoryTrace& t, std::uint32_t rank, std::vector<std::int64_t> requests) {
  Op w;
  w.kind = OpKind::waitall;
  t.add(rank, w, requests);
}
// Rank 0 sends `first` bytes, then 8; rank 1 takes them in that order and works 1 ms after each.
MemoryTrace two_messages(std::int64_t first) {
  MemoryTrace t(2);
  t.p2p(0, OpKind::isend, 1, 1, first, CommId(0), 0);
  t.p2p(0, OpKind::isend, 1, 1, 8, CommId(0), 1);
  waitall(t, 0, {0, 1});
  for (const std::int64_t n : {first, std::int64_t{8}}) {
    t.p2p(1, OpKind::recv, 0, 1, n);
    t.compute(1, Duration(kMs));
  }
  return t;
}

TEST(MessageOrder, AShortCopyWithinAHostDoesNotOvertakeALongOne) {
  MemoryTrace t = two_messages(60'000);
  const auto r = run(t, platform("crossbar:n=2", one_host()), {0, 0});
  EXPECT_EQ(r.ranks[1].finish.count(), 61 * kUs + 2 * kMs);
}

TEST(MessageOrder, ALatencyThatGrowsWithTheSizeDoesNotReorder) {
  topology::MpiParameters m;
  m.transfer = {{0, 1, 1}, {1000, 50, 1}};
  MemoryTrace t = two_messages(60'000);
  const auto r = run(t, platform("crossbar:n=2,lat=1us,bw=10GB/s", m), {0, 1});
  EXPECT_EQ(r.ranks[1].finish.count(), 100 * kUs + 6 * kUs + 2 * kMs);
}

TEST(MessageOrder, AnEagerMessageWaitsForTheRequestOfALargeOneOverLinksWithoutLatency) {
  MemoryTrace t = two_messages(100'000);
  const auto r = run(t, platform("crossbar:n=2,lat=0,bw=12.5GB/s"), {0, 1});
  // The data of both share the link: 8 bytes more at 12.5 GB/s.
  EXPECT_EQ(r.ranks[1].finish.count(), 8 * kUs + 640 + 2 * kMs);
}

TEST(MessageOrder, AllThatCameBeforeTheirTurnFollowInOrder) {
  // Falling sizes: the last of 40 is there first. Each receive takes just its message, or there would be a warning.
  MemoryTrace t(2);
  std::vector<std::int64_t> requests;
  for (std::int64_t i = 0; i < 40; ++i) {
    requests.push_back(i);
    t.p2p(0, OpKind::isend, 1, static_cast<std::int32_t>(i % 3), 60'000 - 1000 * i, CommId(0),
          static_cast<std::uint32_t>(i));
  }
  waitall(t, 0, requests);
  for (std::int64_t i = 0; i < 40; ++i) t.p2p(1, OpKind::recv, 0, kAnyTag, 60'000 - 1000 * i);
  const auto r = run(t, platform("crossbar:n=2", one_host()), {0, 0});
  EXPECT_EQ(r.ranks[1].finish.count(), 61 * kUs);
}

TEST(MessageOrder, AProbeSeesNoMessageBeforeItsTurn) {
  for (const std::int32_t source : {0, kAnySource}) {
    MemoryTrace t(2);
    t.p2p(0, OpKind::isend, 1, 1, 60'000, CommId(0), 0);
    t.p2p(0, OpKind::isend, 1, 2, 8, CommId(0), 1);
    waitall(t, 0, {0, 1});
    t.p2p(1, OpKind::probe, source, 2, 0);
    t.compute(1, Duration(kMs));
    t.p2p(1, OpKind::recv, 0, 2, 8);
    t.p2p(1, OpKind::recv, 0, 1, 60'000);
    const auto r = run(t, platform("crossbar:n=2", one_host()), {0, 0});
    EXPECT_EQ(r.ranks[1].finish.count(), 61 * kUs + kMs) << "source " << source;
  }
}

TEST(MessageOrder, AProbeFromAnySourceSkipsNoEarlierMessageOfTheSameSource) {
  // Both envelopes are there at 2 us; the data of the long one at 2 + 2 x 60 us (it shares), of the short one before.
  MemoryTrace t(3);
  t.p2p(0, OpKind::isend, 1, 1, 60'000, CommId(0), 0);
  t.p2p(0, OpKind::isend, 1, 1, 30'000, CommId(0), 1);
  waitall(t, 0, {0, 1});
  t.p2p(1, OpKind::probe, kAnySource, kAnyTag, 0);
  t.compute(1, Duration(kMs));
  t.p2p(1, OpKind::recv, 0, 1, 60'000);
  t.p2p(1, OpKind::recv, 0, 1, 30'000);
  const auto r = run(t, platform("crossbar:n=3,lat=1us,bw=1GB/s"), {0, 1, 2});
  EXPECT_EQ(r.ranks[1].finish.count(), 92 * kUs + kMs)
      << "30 KB each until 62 us, the other 30 KB until 92 us";
}

TEST(MessageOrder, OtherSourcesAndCommunicatorsDoNotWait) {
  MemoryTrace t(3);
  const CommId dup = t.add_comm("dup", {0, 1, 2});
  t.p2p(0, OpKind::isend, 2, 1, 60'000, CommId(0), 0);
  t.p2p(0, OpKind::isend, 2, 1, 8, dup, 1);
  waitall(t, 0, {0, 1});
  t.p2p(1, OpKind::send, 2, 1, 16);
  t.p2p(2, OpKind::recv, 0, 1, 8, dup);
  t.p2p(2, OpKind::recv, 1, 1, 16);
  t.compute(2, Duration(kMs));
  t.p2p(2, OpKind::recv, 0, 1, 60'000);
  const auto r = run(t, platform("crossbar:n=2", one_host()), {0, 0, 0});
  EXPECT_EQ(r.ranks[2].finish.count(), kUs + 16 * kNs + kMs);
}

TEST(Sendrecv, PostsItsReceiveBeforeTheProcessorTimeOfItsSend) {
  topology::MpiParameters m;
  m.eager_limit = Bytes(0);
  m.send_overhead = Duration(10 * kUs);
  const auto p = platform("crossbar:n=3,lat=1us,bw=1GB/s", m);
  const auto program = [&](bool as_one) {
    MemoryTrace t(3);
    t.p2p(0, OpKind::send, 1, 0, 1000);
    t.p2p(2, OpKind::recv, 1, 0, 1000);
    t.compute(1, Duration(50 * kUs));
    if (as_one) {
      t.p2p(1, OpKind::sendrecv, 2, 0, 1000);
      Op half;
      half.kind = OpKind::recv;
      half.flags = traces::kPairedRecv;
      half.peer = 0;
      half.amount = 1000;
      t.add(1, half);
    } else {  // what MPI libraries do inside
      t.p2p(1, OpKind::irecv, 0, 0, 1000, CommId(0), 0);
      t.p2p(1, OpKind::isend, 2, 0, 1000, CommId(0), 1);
      waitall(t, 1, {0, 1});
    }
    return run(t, p, {0, 1, 2});
  };
  const auto one = program(true), two = program(false);
  // Permission at 50 us, back at 52, data from 54 to 55; its own: request at 60, there at 62, 64, 66, 67.
  EXPECT_EQ(one.ranks[0].finish.count(), 55 * kUs);
  EXPECT_EQ(one.ranks[1].finish.count(), 67 * kUs);
  for (int r = 0; r < 3; ++r) EXPECT_EQ(one.ranks[r].finish, two.ranks[r].finish) << r;
}

TEST(Startall, PostsItsReceivesBeforeTheProcessorTimeOfItsSends) {
  topology::MpiParameters m;
  m.eager_limit = Bytes(0);
  m.send_overhead = Duration(10 * kUs);
  const auto p = platform("crossbar:n=3,lat=1us,bw=1GB/s", m);
  for (const bool send_first : {false, true}) {
    MemoryTrace t(3);
    t.p2p(0, OpKind::send, 1, 0, 1000);
    t.p2p(2, OpKind::recv, 1, 0, 1000);
    t.p2p(1, OpKind::recv_init, 0, 0, 1000, CommId(0), 0);
    t.p2p(1, OpKind::send_init, 2, 0, 1000, CommId(0), 1);
    t.compute(1, Duration(50 * kUs));
    Op start;
    start.kind = OpKind::startall;
    t.add(1, start, send_first ? std::vector<std::int64_t>{1, 0} : std::vector<std::int64_t>{0, 1});
    waitall(t, 1, {0, 1});
    const auto r = run(t, p, {0, 1, 2});
    // As Sendrecv above.
    EXPECT_EQ(r.ranks[0].finish.count(), 55 * kUs);
    EXPECT_EQ(r.ranks[1].finish.count(), 67 * kUs);
  }
}

TEST(Collective, PostsTheReceivesOfARoundBeforeTheProcessorTimeOfItsSends) {
  topology::MpiParameters m;
  m.eager_limit = Bytes(0);
  m.send_overhead = Duration(10 * kUs);
  m.recv_overhead = Duration(3 * kUs);
  const auto p = platform("crossbar:n=2,lat=1us,bw=1GB/s", m);
  MemoryTrace t(2);
  t.compute(1, Duration(50 * kUs));
  for (std::uint32_t r = 0; r < 2; ++r)
    t.collective(r, OpKind::alltoall, traces::kAnySource, 1000, CommId(0));
  std::vector<std::int64_t> arrived;
  ReplayOptions o;
  o.on_message = [&](const MessageSeen& seen) { arrived.push_back(seen.arrived.time_since_epoch().count()); };
  const auto r = replay(t, p, {HostId(0), HostId(1)}, o);
  ASSERT_TRUE(r);
  // Rank 1 receives from 50 us on: permission at 52, data from 54 to 55. Its own: request at 60, there at 62, 64, 66,
  // 67.
  EXPECT_EQ(arrived, (std::vector<std::int64_t>{55 * kUs, 67 * kUs}));
  for (const RankTimes& k : r->ranks) {
    EXPECT_EQ(k.finish.count(), 70 * kUs);
    EXPECT_EQ(k.cause(Cause::kRecvOverhead).count(), 3 * kUs);
  }
  // Its own, and rank 0 waits for that of rank 1.
  EXPECT_EQ(r->ranks[0].cause(Cause::kSendOverhead).count(), 20 * kUs);
  EXPECT_EQ(r->ranks[1].cause(Cause::kSendOverhead).count(), 10 * kUs);
}

// Many flows of one route are one flow of the sharing model (bundles.hpp). n messages of s_1 <= s_2 <= ... bytes that
// begin at once on a link of capacity c: the k-th is there after (s_1 + ... + s_k + (n - k) s_k) / c.
TEST(ManyFlowsOfOnePair, EndAsProcessorSharingSays) {
  for (const std::int64_t n : {90, 97, 200, 3000})
    for (const bool beside : {false, true}) {  // another pair over the same link into rank 1's host
      MemoryTrace t(3);
      std::vector<std::int64_t> requests, sizes;
      for (std::int64_t i = 0; i < n; ++i) {
        requests.push_back(i);
        sizes.push_back(1000 + i * 7919 % 5000);
        t.p2p(0, OpKind::isend, 1, 0, sizes.back(), CommId(0), static_cast<std::uint32_t>(i));
        t.p2p(1, OpKind::irecv, 0, 0, sizes.back(), CommId(0), static_cast<std::uint32_t>(i));
      }
      waitall(t, 0, requests);
      waitall(t, 1, requests);
      if (beside) {
        t.p2p(2, OpKind::send, 1, 0, 60'000);
        t.p2p(1, OpKind::recv, 2, 0, 60'000);
        sizes.push_back(60'000);
      }
      const auto p = platform("crossbar:n=3,lat=1us,bw=1GB/s");
      std::vector<HostId> map = {HostId(0), HostId(1), HostId(2)};
      std::vector<std::pair<std::int64_t, double>> seen;
      ReplayOptions o;
      o.on_message = [&](const MessageSeen& m) {
        seen.emplace_back(m.bytes, to_seconds(m.arrived.time_since_epoch()));
      };
      const auto r = replay(t, p, map, o);
      ASSERT_TRUE(r) << r.error().message();
      ASSERT_TRUE(r->finished && r->warnings.empty());
      std::sort(sizes.begin(), sizes.end());
      ASSERT_EQ(seen.size(), sizes.size());
      double sum = 0;
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        const auto s = static_cast<double>(sizes[k]);
        sum += s;
        const double end = 2e-6 + (sum + static_cast<double>(sizes.size() - k - 1) * s) / 1e9;
        EXPECT_EQ(seen[k].first, sizes[k]);
        EXPECT_NEAR(seen[k].second, end, 2e-12 + 1e-12 * end) << k << " of " << n;
      }
      EXPECT_EQ(r->links.size(), p.fabric.link_count());
    }
}

// Quadratic time would be minutes.
TEST(ManyFlowsOfOnePair, SixtyThousandTakeATimeThatGrowsWithTheirNumber) {
  constexpr std::int64_t kMessages = 60'000;
  MemoryTrace t(2);
  std::vector<std::int64_t> requests;
  std::int64_t bytes = 0;
  for (std::int64_t i = 0; i < kMessages; ++i) {
    requests.push_back(i);
    const std::int64_t size = 1000 + i * 7919 % 5000;
    bytes += size;
    t.p2p(0, OpKind::isend, 1, 0, size, CommId(0), static_cast<std::uint32_t>(i));
    t.p2p(1, OpKind::irecv, 0, 0, size, CommId(0), static_cast<std::uint32_t>(i));
  }
  waitall(t, 0, requests);
  waitall(t, 1, requests);
  const auto r = run(t, platform("crossbar:n=2,lat=1us,bw=1GB/s"), {0, 1});
  EXPECT_NEAR(to_seconds(r.ranks[1].finish), 2e-6 + static_cast<double>(bytes) / 1e9, 1e-11);
  EXPECT_LT(r.engine.flows_solved, 100u * kMessages);
}

// Long queues: what a walk through them would cost is minutes.
TEST(LongQueues, SixtyThousandReceivesInReverseOrderOfTheirTagsAreFoundAtOnce) {
  constexpr std::int32_t kMessages = 60'000;
  for (const bool any_source : {false, true})
    for (const bool posted_first : {true, false}) {
      MemoryTrace t(2);
      std::vector<std::int64_t> requests;
      if (posted_first)
        t.compute(0, Duration(kMs));
      else
        t.compute(1, Duration(kMs));
      for (std::int32_t i = 0; i < kMessages; ++i) {
        requests.push_back(i);
        t.p2p(0, OpKind::isend, 1, i, 0, CommId(0), static_cast<std::uint32_t>(i));
        t.p2p(1, OpKind::irecv, any_source ? kAnySource : 0, kMessages - 1 - i, 0, CommId(0),
              static_cast<std::uint32_t>(i));
      }
      waitall(t, 0, requests);
      waitall(t, 1, requests);
      const auto r = run(t, platform("crossbar:n=2,lat=1us"), {0, 1});
      EXPECT_EQ(r.ranks[1].finish.count(), kMs + (posted_first ? 2 * kUs : 0));
    }
}

}  // namespace
}  // namespace weft::replay::message_order_test
