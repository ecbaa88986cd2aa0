// Runs recorded on other grids, with other algorithms and other matrix seeds: what every rank sends, list by list.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hpl_gen/hpl_trace.hpp"
#include "tests/hpl_gen/recorded_runs.hpp"
#include "tests/support/checkout.hpp"

namespace weft::testing_hpl {
namespace {

using namespace hpl_gen;

std::vector<std::string> generated(const Configuration& c) {
  HplTraceOptions options;
  options.pivots = PivotKind::kExact;
  options.matrix_seed = c.matrix_seed;
  auto trace = HplTrace::create(to_dat(c.config), options);
  EXPECT_TRUE(trace) << trace.error().message();
  return trace ? fingerprint_lines(lists_of(**trace)) : std::vector<std::string>();
}

TEST(HplRecordedRuns, EveryRankOfEveryConfigurationSendsWhatWasRecorded) {
  const auto lines = read_lines(data_dir() + "recorded_runs.txt");
  std::size_t runs = 0;
  for (std::size_t i = 0; i < lines.size();) {
    ASSERT_TRUE(lines[i].starts_with("run ")) << lines[i];
    const Configuration c = parse_configuration(lines[i].substr(4));
    std::vector<std::string> want;
    for (++i; i < lines.size() && !lines[i].starts_with("run "); ++i) want.push_back(lines[i]);
    EXPECT_THAT(generated(c), ::testing::ElementsAreArray(want)) << c.line;
    ++runs;
  }
  EXPECT_GE(runs, 40u);
  EXPECT_EQ(runs, read_lines(data_dir() + "configurations.txt").size());
}

TEST(HplRecordedRuns, AnotherMatrixSeedChangesWhatTheSwapsSend) {
  Configuration c = parse_configuration("2 2 500 32 0 2 4 2 1 1 0 1 64 0 0 1 100");
  const auto hundred = generated(c);
  c.matrix_seed = 31337;
  EXPECT_NE(generated(c), hundred);
}

}  // namespace
}  // namespace weft::testing_hpl
