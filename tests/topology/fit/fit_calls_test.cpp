// weft fit dgemm on calls that scatter, that are far off, and that a model cannot be fitted to.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "tests/support/seed.hpp"
#include "tests/topology/support.hpp"
#include "topology/fit/kernel_fit.hpp"

namespace weft::topology::fit::calls_test {
namespace {

using ::testing::HasSubstr;

std::string refusal(const std::string& text, const KernelFitOptions& o = {}) {
  auto m = Measurements::parse("in.csv", text);
  if (!m) return m.error().message();
  auto f = fit_kernel(*m, o);
  return f ? std::string("accepted") : f.error().message();
}

KernelFit fitted(const std::string& text, const KernelFitOptions& o = {}) {
  auto m = Measurements::parse("in.csv", text);
  EXPECT_TRUE(m);
  auto f = fit_kernel(*m, o);
  EXPECT_TRUE(f) << (f ? "" : f.error().message());
  return f ? *f : KernelFit();
}

// Half-normal number of mean 1: as a replay draws them.
double scattered(Rng& rng, double deviation) {
  double z = -6;
  for (int i = 0; i < 12; ++i) z += rng.unit();
  return 1 +
         deviation * (std::fabs(z) - std::sqrt(2 / std::numbers::pi)) / std::sqrt(1 - 2 / std::numbers::pi);
}

TEST(KernelFitCalls, TheFitIsTheMeanThatAReplayScattersAround) {
  Rng rng(support::seed_or(1));
  KernelFitOptions o;
  o.kernel = "dscal";
  o.dimensions = "m";
  for (const int times : {1, 2000}) {
    std::string csv = "m,seconds\n";
    for (int i = 0; i < 10'000; ++i) {
      const double m = 1000.0 * (1 + (times == 1 ? i : i / times));
      csv += fmt::format("{},{:.17g}\n", m, 380e-12 * m * scattered(rng, 0.39));
    }
    const KernelFit f = fitted(csv, o);
    // The deviation of the mean of 10,000 calls is 0.4 %; with weights 1/t^2 it is 23 % too low.
    EXPECT_NEAR(f.mean.time.mnk, 380e-12, 0.03 * 380e-12) << times;
    if (times > 1) {
      EXPECT_NEAR(f.mean.noise, 0.39, 0.02);
    }
    EXPECT_TRUE(f.warnings.empty()) << f.warnings.front();
  }
}

// A sample of n normal numbers has a deviation that is too low on the mean, the more so the fewer they are.
TEST(KernelFitCalls, NoiseIsThatOfTheCallsHoweverFewAShapeHas) {
  constexpr double kNoise = 0.02;
  constexpr int kCalls = 12'000;
  Rng rng(support::seed_or(1));
  KernelFitOptions o;
  o.kernel = "dscal";
  o.dimensions = "m";
  for (const int times : {2, 3, 5, 20}) {
    std::string csv = "m,seconds\n";
    for (int i = 0; i < kCalls; ++i) {
      const double m = 1000.0 * (1 + i / times);
      double z = -6;  // the sum of twelve uniform numbers: near enough to normal, with deviation 1
      for (int u = 0; u < 12; ++u) z += rng.unit();
      csv += fmt::format("{},{:.17g}\n", m, 380e-12 * m * (1 + kNoise * z));
    }
    const KernelFit f = fitted(csv, o);
    const CpuFit& c = f.cpus.at(0);
    // Four deviations of what so many degrees of freedom say.
    const double error = 4 * kNoise / std::sqrt(2.0 * (kCalls - kCalls / times));
    EXPECT_NEAR(c.scatter, kNoise, 1.2 * error) << times;
    // The constant and the part of the time, together, of a shape in the middle.
    const double middle = 380e-12 * 1000 * (kCalls / times / 2);
    EXPECT_NEAR(c.noise_time.intercept / middle + c.noise, kNoise, 2 * error) << times;
  }
}

// 20 calls of each of five shapes, with 1 % of scatter.
std::vector<std::string> good_calls() {
  Rng rng(support::seed_or(1));
  std::vector<std::string> rows;
  for (int i = 0; i < 100; ++i) {
    const double n = 128 << (i / 20);
    rows.push_back(
        fmt::format("{0},{0},128,{1:.17g}\n", n, (2e-6 + 70e-12 * n * n * 128) * scattered(rng, 0.01)));
  }
  return rows;
}

TEST(KernelFitCalls, ACallFarFromItsShapeIsNamedAndLeftOut) {
  for (const double times : {0.001, 0.1, 0.3, 10.0, 1000.0}) {
    std::vector<std::string> rows = good_calls();
    rows[83] = fmt::format("2048,2048,128,{:.17g}\n", times * 70e-12 * 2048 * 2048 * 128);
    std::string csv = "m,n,k,seconds\n";
    for (const std::string& r : rows) csv += r;
    const KernelFit f = fitted(csv);
    EXPECT_NEAR(f.mean.time.mnk, 70e-12, 0.01 * 70e-12) << times;
    EXPECT_NEAR(f.mean.noise, 0.01, 0.003) << times;
    EXPECT_EQ(f.rows, 99u);
    EXPECT_EQ(f.left_out, 1u);
    ASSERT_EQ(f.far.size(), 1u);
    EXPECT_NEAR(f.far[0].times, times, 0.02 * times);
    EXPECT_THAT(f.warnings.at(0), HasSubstr("in.csv:85:1: 2048 x 2048 x 128 took "));
  }
}

TEST(KernelFitCalls, AShapeThatOftenTakesLongerKeepsItsCalls) {
  std::string csv = "m,n,k,seconds\n";
  for (const int n : {100, 200, 400})
    for (int i = 0; i < 20; ++i)
      csv += fmt::format("{0},{0},{0},{1}\n", n, 1e-10 * n * n * n * (i % 4 == 0 ? 3 : 1));
  const KernelFit f = fitted(csv);
  EXPECT_TRUE(f.far.empty());
  EXPECT_NEAR(f.mean.time.mnk, 1.5e-10, 1e-14) << "the mean of three at 1 and one at 3";
}

TEST(KernelFitCalls, WhatShapesCannotTellApartIsNamed) {
  KernelFitOptions full;
  full.model = KernelModel::kFull;
  EXPECT_THAT(refusal("m,n,k,seconds\n10,10,10,1e-6\n10,10,10,1.2e-6\n"),
              HasSubstr("in.csv:2:1: error: too few shapes for the model; got \"1 in 2 calls\"; expected "
                        "calls of at least 2"));
  EXPECT_THAT(
      refusal("m,n,k,seconds\n10,20,10,1e-6\n20,10,10,1.2e-6\n"),
      HasSubstr("the shapes do not show how the time grows with the work; got \"the same mnk in all\""));
  std::string one_k = "m,n,k,seconds\n", cubes = one_k;
  for (const int m : {64, 128, 500, 900})
    for (const int n : {32, 100, 700})
      one_k += fmt::format("{},{},128,{}\n", m, n, 1e-6 + 1e-10 * m * n * 128);
  for (const int n : {64, 128, 256, 512, 1024})
    cubes += fmt::format("{0},{0},{0},{1}\n", n, 1e-6 + 1e-10 * n * n * n);
  const KernelFit k = fitted(one_k, full);
  ASSERT_EQ(k.warnings.size(), 1u);
  EXPECT_THAT(k.warnings[0], HasSubstr("mn cannot be told from mnk: "));
  EXPECT_THAT(k.warnings[0], HasSubstr("right for k = 128 alone"));
  EXPECT_THAT(k.warnings[0], HasSubstr("--for-k 128"));
  const KernelFit c = fitted(cubes, full);
  ASSERT_EQ(c.warnings.size(), 2u);
  EXPECT_THAT(c.warnings[0], HasSubstr("mk cannot be told from mn"));
  EXPECT_THAT(c.warnings[1], HasSubstr("nk cannot be told from mn"));
  // That is as it should be where the fit is for this k, or the kernel has no k.
  full.parts = {{128, {1, ShapeBounds::kUnbounded}}};
  EXPECT_TRUE(fitted(one_k, full).warnings.empty());
  full.parts.clear();
  full.kernel = "dlacpy";
  full.dimensions = "mn";
  std::string no_k = "m,n,seconds\n";
  for (const int m : {64, 128, 500})
    for (const int n : {32, 100, 700}) no_k += fmt::format("{},{},{}\n", m, n, 1e-6 + 1e-10 * m * n);
  EXPECT_TRUE(fitted(no_k, full).warnings.empty());
  EXPECT_THAT(refusal(no_k), HasSubstr("in.csv:1:1: error: dgemm has a dimension that the file has not; got "
                                       "\"m,n,seconds\"; expected a column k"));
}

TEST(KernelFitCalls, RowsOfOtherFunctionsAreLeftOut) {
  const std::string csv =
      "function,m,n,k,seconds\ndgemm,100,100,100,1e-4\ndgemm,200,200,200,8e-4\n,300,300,300,5\ndgem,100,100,"
      "100,1\n"
      "dtrsm,100,100,1,1e-4\ndtrsm,200,200,1,8e-4\n";
  const KernelFit f = fitted(csv);
  EXPECT_EQ(f.rows, 2u);
  EXPECT_EQ(f.left_out, 4u);
  EXPECT_NEAR(f.mean.time.mnk, 1e-10, 1e-14);
  KernelFitOptions left;
  left.kernel = "dtrsm_left";
  left.dimensions = "mn";
  EXPECT_EQ(fitted(csv, left).rows, 2u) << "a function covers the variants of a kernel";
}

TEST(KernelFitCalls, NodesKeepTheirNumbersBesideTheHosts) {
  const std::string csv =
      "node,cpu,m,n,k,seconds\n17,0,100,100,100,2e-4\n17,0,200,200,200,16e-4\n3,0,100,100,100,1e-4\n3,0,200,"
      "200,200,8e-4\n";
  const std::string text = fitted(csv).textproto();
  EXPECT_THAT(text, ::testing::ContainsRegex("hosts: \"0\" .*mnk: \"100ps\" } }  # node 3\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("hosts: \"1\" .*mnk: \"200ps\" } }  # node 17\n"));
  const TempFile file("nodes.textproto", "topology { family: \"crossbar\" set: \"n=2\" }\n" + text);
  EXPECT_EQ(load(file.path()).compute.classes.size(), 3u);
  EXPECT_THAT(refusal("node,cpu,m,n,k,seconds\n1.2,0,100,100,100,2e-4\n1.7,0,200,200,200,16e-4\n"),
              HasSubstr("in.csv:2:1: error: node is not a whole number; got \"1.2\""));
}

// Times that grow faster than the work: with many calls of the large shapes the fit of the small ones is below 0.
TEST(KernelFitCalls, AFitBelowNothingIsToldAndItsCallsStillScatter) {
  std::string csv = "m,n,k,seconds\n";
  for (const double m : {8, 64, 512, 2048})
    for (const double n : {8, 64, 512, 2048})
      for (const double k : {8, 64, 256})
        for (int i = 0, calls = std::max(m, n) < 512 ? 1 : 100; i < calls; ++i)
          csv += fmt::format("{},{},{},{:.17g}\n", m, n, k,
                             1.8e-13 * std::pow(m * n * k, 1.53) *
                                 (calls == 1   ? 1
                                  : i % 2 == 0 ? 0.98
                                               : 1.02));
  KernelFitOptions o;
  o.model = KernelModel::kFull;
  const KernelFit f = fitted(csv, o);
  double m = 0, n = 0, k = 0;
  ASSERT_EQ(f.warnings.size(), 1u);
  ASSERT_EQ(std::sscanf(f.warnings[0].c_str(), "the fit is below 0 at %lf x %lf x %lf,", &m, &n, &k), 3)
      << f.warnings[0];
  EXPECT_LT(f.seconds(f.cpus[0], m, n, k), 0);
  EXPECT_EQ(f.mean.shapes, 48u);
  EXPECT_EQ(f.mean.repeated, 36u);
  EXPECT_NEAR(f.mean.scatter, 0.02, 0.0005) << "of the calls, not of their distance from the fit";
  EXPECT_NEAR(f.mean.noise, 0.02, 0.001);
}

}  // namespace
}  // namespace weft::topology::fit::calls_test
