// The larger traces of the SimGrid comparison: minutes in a debug build, so labelled slow.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/oracle/compare.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"

namespace weft::testing {
namespace {

class SimgridMatrix : public ::testing::TestWithParam<std::string> {};

TEST_P(SimgridMatrix, EveryRankFinishesWhenSimGridSays) {
  std::string folder = support::source_dir() + "/tests/oracle/data";
  std::string hosts = folder;
  if (!std::filesystem::exists(folder + "/" + GetParam() + "/trace.tar.zst")) {
    folder = support::shared_dir() + "/traces/hpl_ti_flops";
    hosts = support::shared_dir() + "/tools/simgrid";
  }
  WEFT_NEEDS(std::filesystem::exists(folder + "/" + GetParam() + "/trace.tar.zst"),
             "needs the oracle folder beside the checkout: " << folder << "/" << GetParam());
  compare_with_simgrid(folder, hosts, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Trace, SimgridMatrix, ::testing::Values("8x8_4000_64", "16x16_4000_64"),
                         [](const auto& p) { return p.param; });

}  // namespace
}  // namespace weft::testing
