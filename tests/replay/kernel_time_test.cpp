// Times of kernels against the formulas they stand for.
#include "replay/kernel_time.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "replay/engine.hpp"
#include "tests/support/memory_trace.hpp"
#include "tests/support/platform_text.hpp"

namespace weft::replay::kernel_time_test {
namespace {

using testing::MemoryTrace;
using traces::Kernel;
using traces::KernelShape;

topology::Platform platform(const std::string& host) {
  return testing::platform_of_text("topology { family: \"crossbar\" set: \"n=4\" }\nhost { " + host + " }\n");
}

KernelClock clock_of(const topology::Platform& p) {
  auto c = KernelClock::create(p);
  EXPECT_TRUE(c) << (c ? "" : c.error().message());
  return std::move(c).value();
}

constexpr KernelShape kGemm{Kernel::dgemm, 1000, 200, 128};

TEST(KernelTime, WithoutAModelAKernelTakesItsFlopsAndACopyTakesNoTime) {
  const auto p = platform("speed: \"10Gflops\"");
  const auto c = clock_of(p);
  EXPECT_DOUBLE_EQ(c.seconds(0, kGemm), 2.0 * 1000 * 200 * 128 / 1e10);
  EXPECT_EQ(c.seconds(0, {Kernel::dlaswp, 128, 5000, 1}), 0);
  EXPECT_EQ(from_seconds(c.seconds(c.row_of(HostId(3), 0), {Kernel::dtrsm_left, 100, 50, 1})),
            Duration(50'000'000));
}

TEST(KernelTime, ThePolynomialIsEvaluatedInAllItsTerms) {
  const auto p = platform(
      "speed: \"1Gflops\" kernel { name: \"dgemm\" intercept: \"2.5us\" mnk: \"77.25ps\" mn: \"0.5ns\" "
      "mk: \"-20ps\" nk: \"3fs\" }");
  const auto c = clock_of(p);
  const double expected =
      2.5e-6 + 77.25e-12 * 1000 * 200 * 128 + 0.5e-9 * 1000 * 200 - 20e-12 * 1000 * 128 + 3e-15 * 200 * 128;
  EXPECT_NEAR(c.seconds(0, kGemm), expected, 1e-15 * expected);
  EXPECT_DOUBLE_EQ(c.seconds(0, {Kernel::dger, 10, 20, 1}), 400 / 1e9) << "others keep flops / speed";
}

TEST(KernelTime, SimBlasIsAPolynomial) {
  // Frontera paper, equation 3: E = mu O + theta with O = 2mnk + 2mn.
  const double mu = 1 / 50e9, theta = 1e-6;
  const auto p = platform("kernel { name: \"dgemm\" intercept: \"1us\" mnk: \"40ps\" mn: \"40ps\" }");
  EXPECT_NEAR(clock_of(p).seconds(0, kGemm), mu * (2.0 * 1000 * 200 * 128 + 2.0 * 1000 * 200) + theta, 1e-17);
}

TEST(KernelTime, RooflinesTakeTheLargerOrTheSumOfComputationAndTraffic) {
  const std::string kernels =
      "speed: \"10Gflops\" kernel { name: \"dgemv\" efficiency: \"0.5\" bandwidth: \"8GB/s\" }"
      " kernel { name: \"dlaswp\" bandwidth: \"4GB/s\" }";
  const KernelShape gemv{Kernel::dgemv, 500, 300, 1};
  const double flops = 2.0 * 500 * 300 / 5e9, bytes = 8.0 * (500 * 300 + 500 + 300) / 8e9;
  const auto larger = platform(kernels);
  EXPECT_DOUBLE_EQ(clock_of(larger).seconds(0, gemv), std::max(flops, bytes));
  EXPECT_DOUBLE_EQ(clock_of(larger).seconds(0, {Kernel::dlaswp, 128, 100, 1}), 16.0 * 128 * 100 / 4e9);
  const auto sum = platform(kernels + " roofline: \"sum\"");
  EXPECT_DOUBLE_EQ(clock_of(sum).seconds(0, gemv), flops + bytes);
}

TEST(KernelTime, TheCopiesOfTheRowSwapTakeTheEntryOfTheirOwnOrElseDlaswps) {
  const auto p =
      platform("kernel { name: \"dlaswp\" mn: \"2ns\" } kernel { name: \"dlaswp03\" mn: \"5ns\" }");
  const auto c = clock_of(p);
  for (const Kernel k :
       {Kernel::dlaswp, Kernel::dlaswp00, Kernel::dlaswp01, Kernel::dlaswp02, Kernel::dlaswp03,
        Kernel::dlaswp04, Kernel::dlaswp05, Kernel::dlaswp06, Kernel::dlaswp10})
    EXPECT_DOUBLE_EQ(c.seconds(0, {k, 10, 100, 1}), (k == Kernel::dlaswp03 ? 5e-9 : 2e-9) * 1000) << int(k);
  // An entry for one of them is none for the others, nor for other copies.
  const auto q = platform("kernel { name: \"dlaswp03\" mn: \"5ns\" }");
  EXPECT_EQ(clock_of(q).seconds(0, {Kernel::dlaswp04, 10, 100, 1}), 0);
  EXPECT_EQ(clock_of(p).seconds(0, {Kernel::dlacpy, 10, 100, 1}), 0);
}

TEST(KernelTime, TheFirstEntryThatHoldsTheCallIsItsCost) {
  const auto p = platform(
      "speed: \"1Gflops\""
      " kernel { name: \"dgemm\" for_k: \"128\" intercept: \"1us\" }"
      " kernel { name: \"dgemm\" for_k: \"96-191\" for_n: \"-64\" intercept: \"2us\" }"
      " kernel { name: \"dgemm\" for_m: \"5000-\" intercept: \"3us\" }"
      " kernel { name: \"dgemm\" intercept: \"4us\" }"
      " kernel { name: \"dlaswp02\" for_n: \"10-\" intercept: \"5us\" }"
      " kernel { name: \"dlaswp\" for_n: \"5-\" intercept: \"6us\" }"
      " kernel { name: \"*\" for_m: \"-9\" intercept: \"7us\" }"
      " group { hosts: \"1\" kernel { name: \"dgemm\" for_k: \"128\" intercept: \"8us\" } slowdown: \"2\" }");
  const auto c = clock_of(p);
  const auto us = [&](std::uint32_t row, Kernel k, std::int64_t m, std::int64_t n, std::int64_t d) {
    return 1e6 * c.seconds(row, {k, m, n, d});
  };
  EXPECT_DOUBLE_EQ(us(0, Kernel::dgemm, 6000, 10, 128), 1);
  EXPECT_DOUBLE_EQ(us(0, Kernel::dgemm, 6000, 64, 96), 2) << "ends of the bounds belong to them";
  EXPECT_DOUBLE_EQ(us(0, Kernel::dgemm, 6000, 64, 191), 2);
  EXPECT_DOUBLE_EQ(us(0, Kernel::dgemm, 6000, 65, 191), 3);
  EXPECT_DOUBLE_EQ(us(0, Kernel::dgemm, 4999, 64, 192), 4);
  EXPECT_DOUBLE_EQ(us(0, Kernel::dlaswp02, 20, 10, 1), 5);
  EXPECT_DOUBLE_EQ(us(0, Kernel::dlaswp02, 20, 9, 1), 6) << "that of the kernel it is a kind of";
  EXPECT_DOUBLE_EQ(us(0, Kernel::dlaswp02, 9, 4, 1), 7) << "that of all others";
  EXPECT_DOUBLE_EQ(us(0, Kernel::dger, 10, 4, 1), 2.0 * 10 * 4 / 1e3) << "no entry holds it: flops / speed";
  EXPECT_DOUBLE_EQ(us(1, Kernel::dgemm, 6000, 10, 128), 16) << "of the group, of the same bounds";
  EXPECT_DOUBLE_EQ(us(1, Kernel::dgemm, 6000, 100, 129), 6) << "the others stay";
}

TEST(KernelTime, NoiseIsThatOfTheEntryOfTheCall) {
  const auto p = platform(
      "noise: \"normal\" kernel { name: \"dgemm\" for_k: \"128\" intercept: \"1us\" noise: \"0.1\" }"
      " kernel { name: \"dgemm\" intercept: \"1us\" }");
  const auto c = clock_of(p);
  EXPECT_NE(c.noisy_seconds(0, {Kernel::dgemm, 1, 1, 128}, KernelClock::draws_of(1, 0), 0), 1e-6);
  EXPECT_EQ(c.noisy_seconds(0, {Kernel::dgemm, 1, 1, 127}, KernelClock::draws_of(1, 0), 0), 1e-6);
}

TEST(KernelTime, TheMulticoreNodeModelSharesTheMemoryAmongItsRanks) {
  // t = #op/(q l_c) + #b/b_m (multi-core roofline, equation 1): q ranks that each do 1/q of the work at once.
  constexpr double kCore = 0.5e9, kMemory = 10e9;
  for (const int q : {1, 2, 8, 20, 64}) {
    const auto p = platform("speed: \"0.5Gflops\" ranks: " + std::to_string(q) +
                            " memory_bandwidth: \"10GB/s\" roofline: \"sum\"");
    const KernelShape part{Kernel::daxpy, 10'000, 1, 1};
    const double op = 2e4 * q, bytes = 24e4 * q;
    const double t = clock_of(p).seconds(0, part);
    EXPECT_NEAR(t, op / (q * kCore) + bytes / kMemory, 1e-12 * t);
    // The paper's form: I = q l_c (x/q) / (1 + x/q), x = (#op/#b) / (l_c/b_m).
    const double x = (op / bytes) / (kCore / kMemory);
    EXPECT_NEAR(op / t, q * kCore * (x / q) / (1 + x / q), 1e-9 * op / t);
  }
}

TEST(KernelTime, GroupsOverrideHostsAndSocketsAndTheLastOneWins) {
  const auto p = platform(
      "speed: \"10Gflops\" ranks: 4 sockets: 2 kernel { name: \"dgemm\" mnk: \"100ps\" }"
      " group { hosts: \"1-2\" slowdown: \"1.5\" }"
      " group { hosts: \"2\" socket: 1 kernel { name: \"dgemm\" mnk: \"200ps\" } }"
      " group { hosts: \"0,3\" speed: \"5Gflops\" }");
  const auto c = clock_of(p);
  const double base = 100e-12 * 1000 * 200 * 128;
  const auto at = [&](std::uint32_t host, std::uint32_t local) {
    return c.seconds(c.row_of(HostId(host), local), kGemm) / base;
  };
  EXPECT_DOUBLE_EQ(at(0, 0), 1);
  EXPECT_DOUBLE_EQ(at(1, 3), 1.5);
  EXPECT_DOUBLE_EQ(at(2, 1), 1.5) << "local ranks 0 and 1 of 4 are on socket 0";
  EXPECT_DOUBLE_EQ(at(2, 2), 3);
  EXPECT_DOUBLE_EQ(c.speed(c.row_of(HostId(0), 0)), 5e9);
  EXPECT_DOUBLE_EQ(c.speed(c.row_of(HostId(1), 0)), 1e10 / 1.5);
  EXPECT_DOUBLE_EQ(c.seconds(c.row_of(HostId(3), 0), {Kernel::dscal, 1000, 1, 1}), 1000 / 5e9);

  const auto cyclic =
      platform("ranks: 4 sockets: 2 socket_order: \"cyclic\" group { socket: 1 slowdown: \"2\" }");
  const auto d = clock_of(cyclic);
  EXPECT_EQ(d.row_of(HostId(0), 0), d.row_of(HostId(3), 2));
  EXPECT_EQ(d.row_of(HostId(0), 1), d.row_of(HostId(3), 3));
  EXPECT_NE(d.row_of(HostId(0), 0), d.row_of(HostId(0), 1));
}

TEST(KernelTime, ADeviceComputesAtItsRateAndMovesItsOperands) {
  const std::string device = "latency: \"10us\" bandwidth: \"12GB/s\" sharing: 2";
  const std::string gemm =
      " kernel { name: \"dgemm\" rate: \"4Tflops\" place: \"device\" moved_mk: \"1\" moved_nk: \"1\" "
      "moved_mn: \"2\" }";
  const double compute = 2.0 * 1000 * 200 * 128 / 4e12;
  const double transfer = 10e-6 + 8.0 * (1000 * 128 + 200 * 128 + 2.0 * 1000 * 200) / 6e9;
  const auto after = platform("device { " + device + " }" + gemm);
  EXPECT_DOUBLE_EQ(clock_of(after).seconds(0, kGemm), compute + transfer);
  const auto hidden = platform("device { " + device + " overlap: \"yes\" }" + gemm);
  EXPECT_DOUBLE_EQ(clock_of(hidden).seconds(0, kGemm), std::max(compute, transfer));
}

TEST(KernelTime, NoiseHasTheMeanAndTheSpreadThatWereAskedForAndIsAFunctionOfTheCall) {
  const std::string kernel =
      " kernel { name: \"dgemm\" mnk: \"80ps\" noise_intercept: \"1us\" noise_mnk: \"2ps\" "
      "noise_mn: \"3ps\" noise_mk: \"50ps\" noise_nk: \"70ps\" noise: \"0.01\" }";
  for (const std::string shape : {"half-normal", "normal"}) {
    const auto p = platform("noise: \"" + shape + "\"" + kernel);
    const auto c = clock_of(p);
    const double mnk = 1000.0 * 200 * 128, mean = 80e-12 * mnk,
                 spread = 1e-6 + 2e-12 * mnk + 3e-12 * 1000 * 200 + 50e-12 * 1000 * 128 + 70e-12 * 200 * 128 +
                          0.01 * mean;
    constexpr int kCalls = 20'000;
    double sum = 0, squares = 0, least = 1;
    for (int i = 0; i < kCalls; ++i) {
      const double t = c.noisy_seconds(0, kGemm, KernelClock::draws_of(42, 7), static_cast<std::uint64_t>(i));
      EXPECT_EQ(t, c.noisy_seconds(0, kGemm, KernelClock::draws_of(42, 7), static_cast<std::uint64_t>(i)));
      sum += t - mean;
      squares += (t - mean) * (t - mean);
      least = std::min(least, t);
    }
    EXPECT_NEAR(sum / kCalls / spread, 0, 4 / std::sqrt(kCalls));
    EXPECT_NEAR(std::sqrt(squares / kCalls) / spread, 1, 0.04);
    // Half of a normal distribution has an end: mean - spread sqrt(2/pi) / sqrt(1 - 2/pi).
    const double end = mean - spread * std::sqrt(2 / std::numbers::pi) / std::sqrt(1 - 2 / std::numbers::pi);
    EXPECT_EQ(least >= end * (1 - 1e-12), shape == "half-normal");
    EXPECT_NE(c.noisy_seconds(0, kGemm, KernelClock::draws_of(42, 7), 0),
              c.noisy_seconds(0, kGemm, KernelClock::draws_of(42, 8), 0));
    EXPECT_NE(c.noisy_seconds(0, kGemm, KernelClock::draws_of(42, 7), 0),
              c.noisy_seconds(0, kGemm, KernelClock::draws_of(43, 7), 0));
  }
}

TEST(KernelTime, NoiseThatReachesBelowZeroKeepsItsMeanAndItsSpread) {
  constexpr int kCalls = 400'000;
  for (const std::string shape : {"half-normal", "normal"})
    for (const double relative : {0.4, 0.7, 0.756, 1.0, 1.387}) {
      if (shape == "half-normal" && relative < 0.756) continue;  // it has no draws below 0
      const auto p =
          platform("noise: \"" + shape + "\" kernel { name: \"daxpy\" intercept: \"1us\" noise: \"" +
                   std::to_string(relative) + "\" }");
      const auto c = clock_of(p);
      double sum = 0, squares = 0, least = 1;
      for (int i = 0; i < kCalls; ++i) {
        const double t = 1e6 * c.noisy_seconds(0, {Kernel::daxpy, 1, 1, 1}, KernelClock::draws_of(42, 7),
                                               static_cast<std::uint64_t>(i));
        sum += t - 1;
        squares += (t - 1) * (t - 1);
        least = std::min(least, t);
      }
      EXPECT_NEAR(sum / kCalls, 0, 4 * relative / std::sqrt(kCalls)) << shape << " " << relative;
      EXPECT_NEAR(std::sqrt(squares / kCalls), relative, 0.05 * relative) << shape << " " << relative;
      EXPECT_GT(least, 0);
    }
}

TEST(KernelTime, NoiseThatAHalfNormalHoldsIsOne) {
  // sqrt(pi/2 - 1) = 0.75551: the least draw of 0.755 is 0.0007 of the mean, and many are near it.
  const auto p = platform("kernel { name: \"daxpy\" intercept: \"1us\" noise: \"0.755\" }");
  const auto c = clock_of(p);
  const double least = 1e-6 * (1 - 0.755 / std::sqrt(std::numbers::pi / 2 - 1));
  int near_least = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const double t = c.noisy_seconds(0, {Kernel::daxpy, 1, 1, 1}, KernelClock::draws_of(42, 7), i);
    EXPECT_GE(t, least * (1 - 1e-9));
    near_least += t < 0.1e-6;
  }
  // Below 0.1 us is |z| < 0.0793, which has a probability of 6.3 %; of a lognormal time 0.1 % are as short.
  EXPECT_NEAR(near_least, 632, 100);
}

TEST(KernelTime, NoiseThatHardlyReachesBelowZeroIsNormal) {
  const auto p = platform("noise: \"normal\" kernel { name: \"daxpy\" intercept: \"1us\" noise: \"0.3\" }");
  const auto c = clock_of(p);
  constexpr int kCalls = 100'000;
  int short_ones = 0;
  for (std::uint64_t i = 0; i < kCalls; ++i)
    short_ones += c.noisy_seconds(0, {Kernel::daxpy, 1, 1, 1}, KernelClock::draws_of(42, 7), i) < 0.4e-6;
  // Two deviations below the mean are 2.28 % of normal numbers; of a lognormal time 0.15 % are as short.
  EXPECT_NEAR(short_ones, 2275, 200);
}

TEST(KernelTime, UnknownKernelsAreAnsweredWithTheKnownOnes) {
  const auto p = platform("kernel { name: \"sgemm\" mnk: \"1ps\" }");
  const auto c = KernelClock::create(p);
  ASSERT_FALSE(c);
  EXPECT_NE(c.error().message().find(".textproto:2:"), std::string::npos) << c.error().message();
  EXPECT_NE(c.error().message().find("dlatcpy"), std::string::npos);
}

TEST(KernelTime, AReplayedKernelTakesTheTimeOfItsHost) {
  const auto p = platform(
      "ranks: 2 sockets: 2 kernel { name: \"dgemm\" intercept: \"1us\" mnk: \"1ps\" }"
      " group { socket: 1 slowdown: \"2\" } group { hosts: \"1\" slowdown: \"4\" }");
  MemoryTrace t(4);
  for (std::uint32_t r = 0; r < 4; ++r)
    t.add(r, {.kind = traces::OpKind::compute_kernel}, {static_cast<int>(Kernel::dgemm), 100, 100, 100});
  const std::vector<HostId> hosts = {HostId(0), HostId(0), HostId(1), HostId(1)};
  auto r = replay(t, p, hosts, {});
  ASSERT_TRUE(r) << r.error().message();
  const std::int64_t one = 2'000'000;  // 1 us + 10^6 ps
  EXPECT_EQ(r->ranks[0].finish, Duration(one));
  EXPECT_EQ(r->ranks[1].finish, Duration(2 * one));
  EXPECT_EQ(r->ranks[2].finish, Duration(4 * one));
  EXPECT_EQ(r->ranks[3].finish, Duration(4 * one)) << "the later group wins";
}

TEST(KernelTime, AKernelBeyondTheTableIsAnErrorNotATime) {
  const auto p = platform("ranks: 1 kernel { name: \"*\" intercept: \"1us\" }");
  for (const std::int64_t kernel :
       {static_cast<std::int64_t>(traces::kKernelCount), std::int64_t{99}, INT64_MAX}) {
    MemoryTrace t(1);
    t.flops(0, 1);
    t.add(0, {.kind = traces::OpKind::compute_kernel}, {kernel, 10, 10, 10});
    for (const bool joined : {true, false}) {
      ReplayOptions o;
      o.join_computations = joined;
      const auto r = replay(t, p, {HostId(0)}, o);
      ASSERT_FALSE(r);
      EXPECT_NE(r.error().message().find("rank 0, operation 1: compute: unknown kernel"), std::string::npos)
          << r.error().message();
    }
  }
}

}  // namespace
}  // namespace weft::replay::kernel_time_test
