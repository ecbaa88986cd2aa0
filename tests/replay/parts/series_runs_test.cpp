// SeriesRuns without an engine: two members that exchange and compute nothing take a closed form; the last to come
// wakes both.
#include "replay/series/series_runs.hpp"

#include <gtest/gtest.h>

#include <set>

#include "network/sharing.hpp"
#include "replay/messages/message_router.hpp"
#include "tests/replay/parts/bare_replay.hpp"

namespace weft::replay::series_runs_test {
namespace {

using testing::MemoryTrace;
using traces::Op;
using traces::OpKind;

constexpr Duration kSend{2'000}, kRecv{3'000}, kLatency{2'000'000};
constexpr std::int64_t kBytes = 5'000;
constexpr double kRate = 10e9;

struct World : BareMessages {
  network::Network network;
  MessageRouter router;
  Traffic traffic;
  SeriesRuns runs;

  static topology::Platform with_overheads() {
    auto p = load("crossbar:n=8,bw=10GB/s,lat=1us,speed=1Gflops");
    p.mpi.send_overhead = kSend;
    p.mpi.recv_overhead = kRecv;
    return p;
  }
  explicit World(MemoryTrace t)
      : BareMessages(std::move(t), with_overheads()),
        network(platform.fabric.links().capacity, *network::make_model("", platform.fabric)),
        router(platform.fabric, placement, network, messages, matcher),
        runs({router.pairs(), network, cost, traffic, platform.fabric, placement}, comms, ranks, compute,
             causes, hindsight, agenda) {}
  void arrive(std::uint32_t r, Duration at) {
    agenda.move_to(Instant() + Elapsed(at));
    ranks[r].op_start = agenda.now();
    const auto op = ranks[r].program.at(0);
    ASSERT_TRUE(op);
    runs.arrive(r, **op);
  }
  [[nodiscard]] std::set<std::pair<std::uint32_t, std::uint32_t>> waits() const {
    std::set<std::pair<std::uint32_t, std::uint32_t>> w;
    runs.for_each_wait([&](std::uint32_t a, std::uint32_t b) { w.emplace(a, b); });
    return w;
  }
};

MemoryTrace series(std::uint32_t ranks, std::int64_t exchanges, const std::vector<std::int64_t>& bytes) {
  MemoryTrace t(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r)
    t.add(r, {.kind = OpKind::exchange_series, .peer = 0, .amount = bytes[r]}, {0, exchanges, 1, 0});
  return t;
}

// With a_k and b_k the ends of exchange k of both: a_(k+1) = max(a_k + s, b_k + s + l + t) + r, and b alike. So members
// that come together take s + l + t + r an exchange. If one comes first, its data wait for the other, who takes s + r
// for every second exchange, and so does, one exchange later, the first: they meet again after an even number, but for
// the last s + r of the first one.
TEST(SeriesRuns, TwoMembersTakeTheirExchangesFromTheArrivalOfTheLastOne) {
  constexpr std::int64_t kExchanges = 40;
  const Duration both = kSend + kRecv, one = both + kLatency + from_seconds(kBytes / kRate);
  for (const Duration late : {Duration(0), Duration(5'000'000)}) {
    World w(series(2, kExchanges, {kBytes, kBytes}));
    w.arrive(0, Duration(0));
    EXPECT_TRUE(w.agenda.empty());
    w.arrive(1, late);
    ASSERT_FALSE(w.agenda.failed());
    std::set<std::uint32_t> woken;
    while (!w.agenda.empty()) {
      const Agenda::Event e = w.agenda.take();
      EXPECT_EQ(e.kind, EventKind::kRankTimer);
      const bool first = late > Duration(0) && e.index == 0;
      const Duration want = late + (first ? (kExchanges - 1) * one + both : kExchanges * one);
      EXPECT_NEAR(to_seconds(e.time.rounded().time_since_epoch()), to_seconds(want), 2e-12) << e.index;
      // The causes of its wait add up to it.
      Elapsed causes;
      for (const Elapsed& c : w.causes.of(e.index)) causes += c;
      EXPECT_EQ(causes, e.time - w.ranks[e.index].op_start);
      woken.insert(e.index);
    }
    EXPECT_EQ(woken, (std::set<std::uint32_t>{0, 1}));
    const MessageCosts sums = w.traffic.all().rounded();
    EXPECT_EQ(sums.count, 2u * kExchanges);
    EXPECT_EQ(sums.bytes, 2u * kExchanges * kBytes);
    EXPECT_EQ(sums.latency, 2 * kExchanges * kLatency);
    EXPECT_EQ(sums.contention.count(), 0);
    EXPECT_EQ(w.traffic.point_to_point().count, 0u);
  }
}

TEST(SeriesRuns, WhoIsThereWaitsForWhoIsNotAndASecondSeriesBeginsAnew) {
  World w(series(3, 1, {8, 8, 8}));
  using Waits = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  EXPECT_EQ(w.waits(), Waits{});
  w.arrive(2, Duration(0));
  EXPECT_EQ(w.waits(), (Waits{{2, 0}, {2, 1}}));
  w.arrive(0, Duration(0));
  EXPECT_EQ(w.waits(), (Waits{{0, 1}, {2, 1}}));
  w.arrive(1, Duration(0));
  EXPECT_EQ(w.waits(), Waits{});
  for (int i = 0; i < 3; ++i) (void)w.agenda.take();
  EXPECT_TRUE(w.agenda.empty());
  w.arrive(1, Duration(50'000'000));
  EXPECT_EQ(w.waits(), (Waits{{1, 0}, {1, 2}}));
  w.arrive(0, Duration(50'000'000));
  EXPECT_EQ(w.waits(), (Waits{{0, 2}, {1, 2}}));
  EXPECT_TRUE(w.agenda.empty()) << "nobody is woken before the last one comes";
}

TEST(SeriesRuns, MembersThatDisagreeFailTheReplayAtTheirOwnPlace) {
  World w(series(2, 1, {8, 9}));
  w.arrive(0, Duration(0));
  w.arrive(1, Duration(0));
  ASSERT_TRUE(w.agenda.failed());
  EXPECT_NE(
      w.agenda.take_error().message().find(
          "rank 1: exchange_series disagrees with rank 0 on world: 1 exchanges of 9 and 0 bytes, not 1 of 8"),
      std::string::npos);
}

}  // namespace
}  // namespace weft::replay::series_runs_test
