// Random pivots: uniform over the rows left, as HPL's own matrix has them; a run differs from the exact one in the row
// swaps only, and there little.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "core/rng.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "hpl_gen/pivots/pivots.hpp"
#include "tests/hpl_gen/recorded_runs.hpp"
#include "tests/support/checkout.hpp"

namespace weft::testing_hpl {
namespace {

using namespace hpl_gen;
using traces::OpKind;

// Sends outside of the region "swap" as lists, and the bytes of those inside.
struct Parts {
  MessageLists others;
  std::uint64_t swap_bytes = 0;
};

Parts parts_of(const Configuration& c, PivotKind pivots, std::uint64_t seed) {
  HplTraceOptions options;
  options.pivots = pivots;
  options.matrix_seed = c.matrix_seed;
  options.seed = seed;
  auto trace = HplTrace::create(to_dat(c.config), options);
  EXPECT_TRUE(trace) << trace.error().message();
  Parts out;
  traces::OpBlock block;
  for (std::uint32_t r = 0; r < (*trace)->header().ranks; ++r) {
    bool in_swap = false;
    while (*(*trace)->next_block(RankId(r), block))
      for (const traces::Op& op : block.ops) {
        if (op.kind == OpKind::region_begin || op.kind == OpKind::region_end)
          if ((*trace)->regions()[static_cast<std::size_t>(op.amount)] == "swap")
            in_swap = op.kind == OpKind::region_begin;
        if (!traces::is_send(op.kind)) continue;
        if (in_swap)
          out.swap_bytes += static_cast<std::uint64_t>(op.amount);
        else
          out.others[{static_cast<std::int32_t>(r), op.peer, static_cast<std::int32_t>(op.comm.index())}]
              .push_back({'S', op.tag, op.amount});
      }
  }
  return out;
}

// Largest distance of the distribution of (piv - i + u) / (n - i) from the uniform one, u uniform in [0, 1).
double distance_from_uniform(const PivotSource& source, std::int64_t n) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(n));
  source.pivots(0, n, rows);
  Rng rng(3);
  std::vector<double> x;
  for (std::int64_t i = 0; i + 1 < n; ++i)
    x.push_back((static_cast<double>(rows[static_cast<std::size_t>(i)] - i) + rng.unit()) /
                static_cast<double>(n - i));
  std::sort(x.begin(), x.end());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(x[i] - static_cast<double>(i) / static_cast<double>(x.size())));
  return worst;
}

TEST(HplPivots, OfHplsMatrixAndDrawnOnesAreUniformOverTheRowsLeft) {
  constexpr std::int64_t kOrder = 1500;
  // Kolmogorov and Smirnov: 1.95 / sqrt(n) is passed once in a thousand times.
  const double limit = 1.95 / std::sqrt(static_cast<double>(kOrder));
  auto exact = exact_pivots(kOrder, 100);
  ASSERT_TRUE(exact);
  EXPECT_LT(distance_from_uniform(**exact, kOrder), limit);
  for (const std::uint64_t seed : {0, 1, 2})
    EXPECT_LT(distance_from_uniform(*random_pivots(seed), kOrder), limit);
}

TEST(HplPivots, DoNotDependOnTheOrderOfAsking) {
  const auto source = random_pivots(5);
  std::vector<std::int64_t> a(32), b(32), again(32);
  source->pivots(64, 1000, a);
  source->pivots(0, 1000, b);
  source->pivots(64, 1000, again);
  EXPECT_EQ(a, again);
  EXPECT_NE(a, b);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_GE(a[i], 64 + static_cast<std::int64_t>(i));
    EXPECT_LT(a[i], 1000);
  }
}

TEST(HplPivots, AnOrderTooLargeToFactorIsRefused) {
  const auto r = exact_pivots(kMaxExactOrder + 1, 100);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, ErrorCode::kNotSupported);
}

TEST(HplRandomPivots, ChangeNothingButTheRowSwapsAndThoseByLessThanTwoPercentInAll) {
  std::uint64_t exact_bytes = 0, random_bytes = 0;
  double worst = 0;
  std::string worst_run;
  for (const std::string& line : read_lines(data_dir() + "configurations.txt")) {
    const Configuration c = parse_configuration(line);
    const Parts exact = parts_of(c, PivotKind::kExact, 0);
    const Parts random = parts_of(c, PivotKind::kRandom, 1);
    EXPECT_TRUE(exact.others == random.others) << line << "\n" << differences(exact.others, random.others);
    exact_bytes += exact.swap_bytes;
    random_bytes += random.swap_bytes;
    if (exact.swap_bytes == 0) {
      EXPECT_EQ(random.swap_bytes, 0u) << line;
      continue;
    }
    const double off =
        std::abs(static_cast<double>(random.swap_bytes) / static_cast<double>(exact.swap_bytes) - 1);
    if (off > worst) worst = off, worst_run = line;
    // Two matrices of a few hundred rows differ by some percent from each other; larger ones by less.
    EXPECT_LT(off, c.config.n >= 1500 ? 0.02 : c.config.n >= 100 ? 0.10 : 0.30) << line;
  }
  const double off = static_cast<double>(random_bytes) / static_cast<double>(exact_bytes) - 1;
  std::printf("swap bytes, random against exact: all runs %+.3f %%, worst run %.2f %% (%s)\n", off * 100,
              worst * 100, worst_run.c_str());
  EXPECT_LT(std::abs(off), 0.02);
}

// A single small run scatters; the mean over matrix seeds is the mean over seeds of random pivots.
TEST(HplRandomPivots, HaveTheMeanAndTheScatterOfHplsMatrices) {
  Configuration c = parse_configuration("3 2 320 32 0 2 4 2 1 1 0 2 64 0 0 1 100");
  for (const Swap swap : {Swap::kBinaryExchange, Swap::kSpreadRoll}) {
    c.config.swap = swap;
    constexpr int kRuns = 40;
    double mean[2] = {0, 0}, square[2] = {0, 0};
    for (int i = 0; i < kRuns; ++i) {
      c.matrix_seed = 100 + i;
      for (const int random : {0, 1}) {
        const auto kind = random != 0 ? PivotKind::kRandom : PivotKind::kExact;
        const auto bytes = static_cast<double>(parts_of(c, kind, static_cast<std::uint64_t>(i)).swap_bytes);
        mean[random] += bytes / kRuns;
        square[random] += bytes * bytes / kRuns;
      }
    }
    const auto scatter = [&](int i) { return std::sqrt(square[i] - mean[i] * mean[i]) / mean[0]; };
    const double off = mean[1] / mean[0] - 1;
    const double error = std::sqrt((scatter(0) * scatter(0) + scatter(1) * scatter(1)) / kRuns);
    std::printf(
        "%s: mean of random against exact %+.2f %% (error of the means %.2f %%), scatter %.2f %% and %.2f "
        "%%\n",
        std::string(name_of(swap)).c_str(), off * 100, error * 100, scatter(1) * 100, scatter(0) * 100);
    EXPECT_LT(std::abs(off), 4 * error);
    EXPECT_LT(std::abs(off), 0.015);
    EXPECT_NEAR(scatter(1) / scatter(0), 1.0, 0.5);
  }
}

// LAPACK's needs are its own: the caller may have any stack, as after `ulimit -s`.
TEST(ExactPivots, NeedLittleOfTheCallersStack) {
  pthread_attr_t small;
  ASSERT_EQ(pthread_attr_init(&small), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&small, std::size_t{128} << 10), 0);
  std::int64_t pivots = 0;
  pthread_t thread{};
  const auto factor = [](void* out) -> void* {
    // Large enough for OpenBLAS to use its threads.
    if (auto source = exact_pivots(1200, 100)) {
      std::vector<std::int64_t> rows(1200);
      (*source)->pivots(0, 1200, rows);
      for (const std::int64_t r : rows) *static_cast<std::int64_t*>(out) += r;
    }
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &small, factor, &pivots), 0);
  ASSERT_EQ(pthread_join(thread, nullptr), 0);
  pthread_attr_destroy(&small);
  EXPECT_GT(pivots, 1200 * 1199 / 2);  // of no exchange at all
}

TEST(ExactPivots, AreFactoredOnceForAnOrder) {
  ExactPivots all(100);
  const auto a = all.of(64), b = all.of(64), c = all.of(65);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(a->get(), b->get());
  EXPECT_NE(a->get(), c->get());
  EXPECT_FALSE(all.of(kMaxExactOrder + 1));
}

}  // namespace
}  // namespace weft::testing_hpl
