// Kernel calls around polls that are over are one call (replay/ranks/call_window.hpp), whoever observes the replay
// and in every mode. Times are closed forms: each call costs 1 ms and 1 ns per m n k.
#include "replay/ranks/call_window.hpp"

#include <gtest/gtest.h>

#include <map>

#include "core/rng.hpp"
#include "replay/engine.hpp"
#include "replay/kernel_time.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay::call_window_test {
namespace {

using testing::MemoryTrace;
using traces::Kernel;
using traces::KernelShape;
using traces::OpKind;
using Shapes = std::vector<KernelShape>;

constexpr Duration kMilli{1'000'000'000};

topology::Platform platform() {
  auto p = topology::load_platform("crossbar:n=4,bw=10GB/s,lat=1us,speed=1Gflops");
  EXPECT_TRUE(p);
  topology::KernelCost any;
  any.kernel = "*";
  any.polynomial.intercept = 1e-3;
  any.polynomial.mnk = 1e-9;
  any.noise = 0.1;
  p->compute.classes[0].kernels = {any};
  return std::move(p).value();
}

Duration time_of(const Shapes& calls) {
  Duration sum{0};
  for (const KernelShape& s : calls) sum += kMilli + Duration(1000 * s.m * s.n * s.k);
  return sum;
}

// Rank 1 computes for a millisecond, then does `pieces` with a poll for rank 0's message before each; the recorded hit
// is behind the last, its body a receive. The message is sent at `sent`. `before`: operations that take no time.
MemoryTrace polled(const std::vector<Shapes>& pieces, Duration sent, int before = 0) {
  MemoryTrace t(2);
  t.compute(0, sent);
  t.p2p(0, OpKind::send, 1, 5, 0);
  for (int i = 0; i < before; ++i) t.compute(1, Duration(0));
  t.compute(1, kMilli);
  const auto poll = [&](bool hit, const std::vector<std::int64_t>& list) {
    t.add(1,
          {.kind = OpKind::iprobe,
           .flags = static_cast<std::uint8_t>(hit ? traces::kHit : 0),
           .peer = 0,
           .tag = 5,
           .amount = 1},
          list);
  };
  std::int64_t to_hit = 0;
  for (const Shapes& piece : pieces) to_hit += static_cast<std::int64_t>(piece.size()) + 1;
  for (const Shapes& piece : pieces) {
    poll(false, {to_hit});
    for (const KernelShape& s : piece)
      t.add(1, {.kind = OpKind::compute_kernel}, {static_cast<int>(s.kernel), s.m, s.n, s.k});
    to_hit -= static_cast<std::int64_t>(piece.size()) + 1;
  }
  poll(true, {0, 1, 0, 5, 0});
  t.p2p(1, OpKind::recv, 0, 5, 0);
  return t;
}

// Everything that may look at a replay, and every mode.
std::map<std::string, ReplayOptions> every_way() {
  std::map<std::string, ReplayOptions> ways;
  ways["plain"];
  ways["an event an operation"].join_computations = false;
  ways["on_op"].on_op = [](RankId, std::uint64_t, SimTime, SimTime) {};
  ways["on_region"].on_region = [](RankId, RegionId, SimTime, SimTime) {};
  ways["on_message"].on_message = [](const MessageSeen&) {};
  ways["raw eager"].raw = RawMode::kEager;
  ways["raw detached"].raw = RawMode::kDetached;
  ways["raw rendezvous"].raw = RawMode::kRendezvous;
  return ways;
}

ReplayResult run(MemoryTrace& t, const topology::Platform& p, const ReplayOptions& o) {
  auto r = replay(t, p, {HostId(0), HostId(1)}, o);
  EXPECT_TRUE(r) << (r ? "" : r.error().message());
  EXPECT_TRUE(r->finished);
  return std::move(r).value();
}

void expect_calls(const std::vector<Shapes>& pieces, const Shapes& calls, Duration sent = Duration(0)) {
  const auto p = platform();
  // Wherever a block of the trace ends.
  for (const int before : {0, 4085, 4088, 4090, 4091, 4092, 4093, 4094, 4096})
    for (const auto& [way, options] : every_way()) {
      MemoryTrace t = polled(pieces, sent, before);
      const auto r = run(t, p, options);
      EXPECT_EQ(r.ranks[1].compute, kMilli + time_of(calls)) << way << " after " << before;
      // Data that wait for the receive are two links away.
      const bool waits = options.raw == RawMode::kDetached || options.raw == RawMode::kRendezvous;
      EXPECT_EQ(r.ranks[1].finish - r.ranks[1].compute, Duration(waits ? 2'000'000 : 0))
          << way << " after " << before;
    }
}

constexpr KernelShape gemm(std::int64_t m, std::int64_t n, std::int64_t k = 8) {
  return {Kernel::dgemm, m, n, k};
}

TEST(CallWindow, PiecesOfColumnsAreOneCallOncePollingIsOver) {
  expect_calls({{gemm(50, 4)}, {gemm(50, 4)}, {gemm(50, 4)}, {gemm(50, 3)}}, {gemm(50, 15)});
  // Several kernels a piece.
  const Shapes piece = {{Kernel::dlaswp, 8, 4, 1}, {Kernel::dtrsm_left, 8, 4, 8}, gemm(50, 4)};
  expect_calls({piece, piece, piece},
               {{Kernel::dlaswp, 8, 12, 1}, {Kernel::dtrsm_left, 8, 12, 8}, gemm(50, 12)});
}

TEST(CallWindow, TriangularSolvesFromTheRightAreCutByRows) {
  const KernelShape right{Kernel::dtrsm_right, 20, 8, 1};
  expect_calls({{right}, {right}, {{Kernel::dtrsm_right, 5, 8, 1}}}, {{Kernel::dtrsm_right, 45, 8, 1}});
  const KernelShape wider{Kernel::dtrsm_right, 20, 9, 1};
  expect_calls({{right}, {wider}}, {right, wider});
}

TEST(CallWindow, OtherShapesAreCallsOfTheirOwn) {
  expect_calls({{gemm(50, 4)}, {gemm(51, 4)}, {gemm(50, 4, 9)}, {{Kernel::dtrsm_left, 50, 4, 8}}},
               {gemm(50, 4), gemm(51, 4), gemm(50, 4, 9), {Kernel::dtrsm_left, 50, 4, 8}});
  // Without a poll between them they are two calls; the earlier one grows.
  expect_calls({{gemm(50, 4), gemm(50, 4)}, {gemm(50, 3)}}, {gemm(50, 7), gemm(50, 4)});
  expect_calls({{gemm(50, 4), gemm(50, 4)}}, {gemm(50, 4), gemm(50, 4)});
}

TEST(CallWindow, WhilePollingGoesOnPiecesStayPieces) {
  const Shapes piece = {gemm(50, 4)};
  const Duration one = time_of(piece);
  // The message is there at the poll before the third piece, or at no poll but the hit.
  expect_calls({piece, piece, piece, piece, piece}, {gemm(50, 4), gemm(50, 4), gemm(50, 12)},
               kMilli + one + one / 2);
  expect_calls({piece, piece, piece}, {gemm(50, 4), gemm(50, 4), gemm(50, 4)}, kMilli + 2 * one + one / 2);
}

TEST(CallWindow, TheLastEightCallsBeforeThePollMayGrow) {
  Shapes ten, eight, joined;
  for (int m = 1; m <= 10; ++m) ten.push_back(gemm(m, 4));
  for (int m = 3; m <= 10; ++m) eight.push_back(gemm(m, 4));
  joined = {gemm(1, 4), gemm(2, 4)};
  for (int m = 3; m <= 10; ++m) joined.push_back(gemm(m, 8));
  expect_calls({ten, eight}, joined);
  // A ninth call ends the stretch; what follows joins among itself.
  expect_calls({ten, {gemm(11, 4), gemm(10, 4)}, {gemm(11, 2)}},
               {gemm(1, 4), gemm(2, 4), gemm(3, 4), gemm(4, 4), gemm(5, 4), gemm(6, 4), gemm(7, 4),
                gemm(8, 4), gemm(9, 4), gemm(10, 4), gemm(11, 6), gemm(10, 4)});
}

TEST(CallWindow, ACallHappensAtItsFirstPiece) {
  const auto p = platform();
  MemoryTrace t = polled({{gemm(50, 4), gemm(60, 4)}, {gemm(50, 4)}, {gemm(60, 1)}}, Duration(0));
  std::vector<Duration> took;
  ReplayOptions o;
  o.on_op = [&](RankId r, std::uint64_t, SimTime start, SimTime end) {
    if (r == RankId(1)) took.push_back(end - start);
  };
  (void)run(t, p, o);
  const Duration none{0};
  // computation, poll that hits (its body's receive is told first), pieces and polls
  EXPECT_EQ(took, (std::vector<Duration>{kMilli, none, none, time_of({gemm(50, 8)}), time_of({gemm(60, 5)}),
                                         none, none, none, none}));
}

TEST(CallWindow, AJoinedCallDrawsItsNoiseOnce) {
  const auto p = platform();
  const auto clock = KernelClock::create(p);
  ASSERT_TRUE(clock);
  const Shapes calls = {gemm(50, 12), gemm(60, 4)};
  double s = 1e-3;
  for (std::size_t i = 0; i < calls.size(); ++i)
    s += clock->noisy_seconds(clock->row_of(HostId(1), 0), calls[i], KernelClock::draws_of(7, 1), i);
  for (const int before : {0, 4092})
    for (auto [way, options] : every_way()) {
      options.noise = true;
      options.seed = 7;
      MemoryTrace t = polled({{gemm(50, 4), gemm(60, 1)}, {gemm(50, 4)}, {gemm(60, 3), gemm(50, 4)}},
                             Duration(0), before);
      EXPECT_NEAR(to_seconds(run(t, p, options).ranks[1].compute), s, 2e-12) << way;
    }
}

}  // namespace
}  // namespace weft::replay::call_window_test
