// Every rank's finish time against SimGrid 3.32 (network/optim:Full): same trace, same links, same routes,
// same hosts.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "tests/oracle/compare.hpp"
#include "tests/oracle/simgrid_oracle.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"

namespace weft::testing {
namespace {

const std::string kData = support::oracle_dir();
const std::string kShared = support::shared_dir();

class Simgrid : public ::testing::TestWithParam<std::string> {};
TEST_P(Simgrid, EveryRankFinishesWhenSimGridSays) { compare_with_simgrid(kData, kData, GetParam()); }
INSTANTIATE_TEST_SUITE_P(Trace, Simgrid,
                         ::testing::Values("2x2_500_64", "4x4_2000_64", "4x4_2000_64_b4_nosync"),
                         [](const auto& p) { return p.param; });

TEST(Simgrid, SynchronousSendsReplayWhereSimGridAborts) {
  auto oracle = SimgridOracle::open(kData, kData);
  ASSERT_TRUE(oracle) << oracle.error().message();
  // The answers are for the renamed trace; the unrenamed one must replay to its end in every mode and take at
  // least as long as where sends leave at once.
  for (auto c : oracle->cases("4x4_2000_64_b4_nosync")) {
    if (c.placement != "linear" || c.platform != "crossbar") continue;
    const auto plain = oracle->run(c);
    ASSERT_TRUE(plain) << plain.error().message();
    auto program = oracle->trace("4x4_2000_64_b4");
    ASSERT_TRUE(program) << program.error().message();
    std::vector<HostId> placement;
    for (std::uint32_t r = 0; r < 16; ++r) placement.emplace_back(r);
    auto platform = topology::load_platform(
        "crossbar:n=16,bw=12.5GB/s,lat=" + std::string(c.lat1us ? "1us" : "0") + ",speed=10Gflops");
    ASSERT_TRUE(platform) << platform.error().message();
    replay::ReplayOptions options;
    options.raw = c.model == "eager"    ? replay::RawMode::kEager
                  : c.model == "detach" ? replay::RawMode::kDetached
                                        : replay::RawMode::kRendezvous;
    options.header = Bytes(16);
    (*program)->rewind();
    const auto result = replay::replay(**program, *platform, placement, options);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_TRUE(result->finished) << c.name() << ": " << result->deadlock.summary();
    EXPECT_GT(to_seconds(result->makespan), 0.5 * plain->makespan) << c.name();
  }
}

TEST(Simgrid, EveryLineOfEveryRankStartsAndEndsWhenSimGridSays) {
  auto oracle = SimgridOracle::open(kData, kData);
  ASSERT_TRUE(oracle) << oracle.error().message();
  double worst = 0;
  std::size_t count = 0;
  for (const char* model : {"eager", "detach", "rdv"}) {
    const OracleCase c{"2x2_500_64", "crossbar", false, model, "linear"};
    const auto expected = oracle->lines(c);
    ASSERT_TRUE(expected) << expected.error().message();
    std::vector<std::vector<OracleLine>> got(expected->size());
    const auto row = oracle->run(c, [&](RankId r, std::uint64_t op, SimTime start, SimTime end) {
      auto& lines = got.at(r.index());
      if (lines.size() <= op) lines.resize(op + 1);
      lines[op] = {to_seconds(start), to_seconds(end)};
    });
    ASSERT_TRUE(row) << row.error().message();
    for (std::size_t r = 0; r < got.size(); ++r) {
      // An importer may give `init` and `finalize` no operation of their own: compare from the last line
      // backwards.
      ASSERT_FALSE(got[r].empty());
      const std::size_t n = std::min(got[r].size(), (*expected)[r].size());
      ASSERT_GE(n + 2, (*expected)[r].size());
      for (std::size_t i = 0; i < n; ++i) {
        const OracleLine& a = got[r][i];
        const OracleLine& b = (*expected)[r][i];
        const double error = std::max(std::abs(a.start - b.start), std::abs(a.end - b.end));
        worst = std::max(worst, error);
        ++count;
        // Rounding to 1 ps per operation, SimGrid's printing to 1 ps: the sum over a path of 1,300 lines
        // stays below 1 ns.
        ASSERT_LT(error, 1e-9) << model << " rank " << r << " line " << i + 1;
      }
    }
  }
  std::printf("ORACLE SimGrid 3.32 lines of 2x2_500_64: %zu lines in 3 modes, worst difference %.2g s\n",
              count, worst);
}

// The traces with measured compute times: SimGrid's default solver, so the tolerance is what that solver is
// good for.
struct FlatRow {
  const char* trace;
  std::uint32_t ranks;
  double seconds;
};
class SimgridFlat : public ::testing::TestWithParam<FlatRow> {};
TEST_P(SimgridFlat, MakespanOfTheHpccTracesIsSimGridsWithin2e4) {
  const std::string path = kShared + "/traces/hpl_ti/" + GetParam().trace + ".tar.gz";
  WEFT_NEEDS(std::filesystem::exists(path), "needs the oracle folder beside the checkout: " << path);
  auto reader = traces::open_trace({path});
  ASSERT_TRUE(reader) << reader.error().message();
  auto platform = topology::load_platform("crossbar:n=64,bw=12.5GB/s,lat=1us,speed=10Gflops");
  ASSERT_TRUE(platform) << platform.error().message();
  ASSERT_EQ((*reader)->header().ranks, GetParam().ranks);
  std::vector<HostId> placement;
  for (std::uint32_t r = 0; r < GetParam().ranks; ++r) placement.emplace_back(r);
  replay::ReplayOptions options;
  options.raw = replay::RawMode::kDetached;
  options.raw_switch = Bytes(65536);
  options.header = Bytes(16);
  const auto result = replay::replay(**reader, *platform, placement, options);
  ASSERT_TRUE(result) << result.error().message();
  ASSERT_TRUE(result->finished) << result->deadlock.summary();
  if (GetParam().seconds == 0) return;  // SimGrid cannot replay its Ssend lines
  const double error = std::abs(to_seconds(result->makespan) - GetParam().seconds) / GetParam().seconds;
  EXPECT_LT(error, 2e-4);
  std::printf("ORACLE SimGrid 3.32 %s: makespan %.6f s, SimGrid %.6f s, relative error %.2g\n",
              GetParam().trace, to_seconds(result->makespan), GetParam().seconds, error);
}
INSTANTIATE_TEST_SUITE_P(Trace, SimgridFlat,
                         ::testing::Values(FlatRow{"hpl_2x2_N2000_NB128_b1d1", 4, 0.137480},
                                           FlatRow{"hpl_4x4_N4000_NB128_b1d1", 16, 0.268833},
                                           FlatRow{"hpl_4x8_N3072_NB128_b0d0", 32, 0.145766},
                                           FlatRow{"hpl_4x8_N3072_NB128_b4d0", 32, 0},
                                           FlatRow{"hpl_4x8_N3072_NB128_b1d1", 32, 0.125831}),
                         [](const auto& p) { return std::string(p.param.trace); });

}  // namespace
}  // namespace weft::testing
