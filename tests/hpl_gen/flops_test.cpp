// The work of a run: against counted BLAS calls of real HPL, against closed sums, against itself in another form.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/rng.hpp"
#include "hpl_gen/closed_form/closed_form.hpp"
#include "hpl_gen/closed_form/flops.hpp"
#include "hpl_gen/hpl_trace.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"

namespace weft::hpl_gen {
namespace {

namespace fs = std::filesystem;
using traces::Kernel;

std::vector<KernelFlops> flops_of(const HplConfig& c, HplTraceOptions options = {}) {
  auto trace = HplTrace::create(to_dat(c), options);
  EXPECT_TRUE(trace) << trace.error().message();
  auto counted = count_flops(**trace);
  EXPECT_TRUE(counted);
  return *counted;
}

// Sums of the `compute` lines of a time-independent trace, by rank.
std::vector<double> counted_flops(const fs::path& dir, int ranks) {
  std::vector<double> out(static_cast<std::size_t>(ranks));
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    if (!entry.is_regular_file() || !entry.path().filename().string().starts_with("rank-")) continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::size_t rank = 0;
      std::string what;
      double amount = 0;
      if (words >> rank >> what && what == "compute" && words >> amount) out[rank] += amount;
    }
  }
  return out;
}

void compare_with_counted(const std::string& name) {
  std::string dir = support::oracle_dir() + "/" + name;
  if (!fs::exists(dir)) dir = support::shared_dir() + "/traces/hpl_ti_flops/" + name;
  WEFT_NEEDS(fs::exists(dir), "no trace " << dir);
  const fs::path work =
      fs::path(testing::TempDir()) / ("weft_flops_" + name + "_" + std::to_string(::getpid()));
  fs::remove_all(work);
  fs::create_directories(work);
  const std::string unpack =
      "zstd -dc --long=27 '" + dir + "/trace.tar.zst' | tar x -C '" + work.string() + "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  auto dat = read_hpl_dat(dir + "/HPL.dat");
  ASSERT_TRUE(dat) << dat.error().message();
  const HplConfig c = dat->runs().front();
  const auto want = counted_flops(work, c.ranks());
  const auto got = flops_of(c);
  double worst = 0, sum = 0;
  KernelFlops all;
  for (std::size_t r = 0; r < want.size(); ++r) {
    worst = std::max(worst, std::abs(got[r].total() / want[r] - 1));
    sum += want[r];
    for (std::size_t k = 0; k < traces::kKernelCount; ++k) all.flops[k] += got[r].flops[k];
  }
  // Six significant digits a line is what the trace has.
  EXPECT_LT(worst, 1e-5) << name;
  const double formula = hpl_flops(c.n);
  EXPECT_GT(sum / formula, 1.05);
  std::string table = fmt::format("{}: formula {:.0f}, counted {:.0f} = {:+.2f} %, worst rank {:.1e}\n", name,
                                  formula, sum, (sum / formula - 1) * 100, worst);
  for (std::size_t k = 0; k < traces::kKernelCount; ++k)
    if (all.flops[k] > 0)
      table += fmt::format("  {:<12} {:>16.0f}  {:8.4f} % of the formula\n", traces::kKernelNames[k],
                           all.flops[k], all.flops[k] / formula * 100);
  std::fputs(table.c_str(), stdout);
  fs::remove_all(work);
}

TEST(HplFlops, EveryRankEqualsTheCountedBlasCalls2x2) { compare_with_counted("2x2_500_64"); }
TEST(HplFlops, EveryRankEqualsTheCountedBlasCalls4x4) { compare_with_counted("4x4_2000_64"); }
TEST(HplFlops, EveryRankEqualsTheCountedBlasCalls4x4LongBroadcast) { compare_with_counted("4x4_2000_64_b4"); }
TEST(HplFlops, EveryRankEqualsTheCountedBlasCalls8x8) { compare_with_counted("8x8_4000_64"); }
TEST(HplFlops, EveryRankEqualsTheCountedBlasCalls16x16) { compare_with_counted("16x16_4000_64"); }

TEST(HplFlops, OneProcessEqualsTheClosedSum) {
  Rng rng(7);
  for (int i = 0; i < 60; ++i) {
    HplConfig c;
    c.n = 1 + static_cast<std::int64_t>(rng.below(400));
    c.nb = 1 + static_cast<std::int64_t>(rng.below(70));
    c.nbmin = 1 + static_cast<int>(rng.below(9));
    c.ndiv = 2 + static_cast<int>(rng.below(3));
    c.pfact = static_cast<Factor>(rng.below(3));
    c.rfact = static_cast<Factor>(rng.below(3));
    c.l1_transposed = rng.below(2) == 0;
    c.threshold = rng.below(2) == 0 ? 16.0 : 0.0;
    const double want = one_process_flops(c, c.threshold > 0);
    EXPECT_DOUBLE_EQ(flops_of(c)[0].total(), want)
        << "n " << c.n << " nb " << c.nb << " nbmin " << c.nbmin << " ndiv " << c.ndiv << " pfact "
        << name_of(c.pfact) << " rfact " << name_of(c.rfact);
  }
}

TEST(HplFlops, OneProcessExceedsTheFormulaByLowerOrderTermsOnly) {
  HplConfig c;
  c.nb = 64;
  for (const std::int64_t n : {1000, 4000, 16000}) {
    c.n = n;
    const double excess = one_process_flops(c, false) - hpl_flops(n);
    EXPECT_GT(excess, 0);
    EXPECT_LT(excess, 1.0 * static_cast<double>(c.nb * n * n));
  }
}

TEST(HplFlops, OnlyTheRepeatedSolveForUGrowsWithTheProcessRows) {
  HplConfig c;
  c.n = 640, c.nb = 32, c.p = 1, c.q = 1, c.threshold = 0;
  const double alone = flops_of(c)[0].of(Kernel::dgemm);
  for (const int p : {2, 4}) {
    c.p = p, c.q = 2;
    KernelFlops sum;
    for (const KernelFlops& r : flops_of(c))
      for (std::size_t k = 0; k < traces::kKernelCount; ++k) sum.flops[k] += r.flops[k];
    const std::int64_t panels = c.panels();
    double u = 0;  // jb^2 flops for each column of U, right-hand side included
    for (std::int64_t k = 0; k < panels; ++k)
      u += static_cast<double>(c.nb * c.nb) * static_cast<double>(c.n + 1 - (k + 1) * c.nb);
    // Within a panel, Crout recursion repeats its products and solves for U in every process row too.
    EXPECT_GT(sum.of(Kernel::dtrsm_right), p * u);
    EXPECT_LT(sum.of(Kernel::dtrsm_right), p * u * 1.1);
    EXPECT_NEAR(sum.of(Kernel::dgemm) / alone, 1.0, 0.02);
  }
}

TEST(HplFlops, APanelAsOneOperationHasTheSameWork) {
  Rng rng(11);
  for (int i = 0; i < 40; ++i) {
    HplConfig c;
    c.n = 50 + static_cast<std::int64_t>(rng.below(300));
    c.nb = 1 + static_cast<std::int64_t>(rng.below(60));
    c.p = 1 + static_cast<int>(rng.below(5)), c.q = 1 + static_cast<int>(rng.below(3));
    c.nbmin = 1 + static_cast<int>(rng.below(9));
    c.ndiv = 2 + static_cast<int>(rng.below(3));
    c.pfact = static_cast<Factor>(rng.below(3));
    c.rfact = static_cast<Factor>(rng.below(3));
    c.l1_transposed = rng.below(2) == 0;
    HplTraceOptions options;
    const auto plain = flops_of(c, options);
    options.aggregate_pfact = true;
    const auto series = flops_of(c, options);
    for (std::size_t r = 0; r < plain.size(); ++r)
      for (std::size_t k = 0; k < traces::kKernelCount; ++k)
        EXPECT_DOUBLE_EQ(plain[r].flops[k], series[r].flops[k])
            << traces::kKernelNames[k] << " rank " << r << " n " << c.n << " nb " << c.nb;
  }
}

}  // namespace
}  // namespace weft::hpl_gen
