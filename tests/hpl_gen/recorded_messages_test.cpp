// With exact pivots a generated run sends, per (source, destination, communicator), the very messages of a recording
// of netlib HPL 2.3, in the same order.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "hpl_gen/hpl_trace.hpp"
#include "tests/hpl_gen/message_lists.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"

namespace weft::hpl_gen {
namespace {

namespace fs = std::filesystem;
using testing_hpl::differences;
using testing_hpl::lists_of;
using testing_hpl::read_recorded;

void compare_archive(const std::string& name) {
  std::string archive = support::oracle_dir() + "/messages/" + name + ".tar.zst";
  if (!fs::exists(archive)) archive = support::shared_dir() + "/traces/hpl_messages/" + name + ".tar.zst";
  WEFT_NEEDS(fs::exists(archive), "no recording " << archive);
  const fs::path dir = fs::path(testing::TempDir()) / ("weft_hpl_" + name + "_" + std::to_string(::getpid()));
  fs::remove_all(dir);
  fs::create_directories(dir);
  const std::string unpack = "zstd -dc --long=27 '" + archive + "' | tar x -C '" + dir.string() + "'";
  ASSERT_EQ(std::system(unpack.c_str()), 0);
  std::size_t runs = 0, messages = 0;
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (!entry.is_directory()) continue;
    const std::string run = entry.path().string();
    auto dat = read_hpl_dat(run + "/HPL.dat");
    ASSERT_TRUE(dat) << dat.error().message();
    HplTraceOptions options;
    options.pivots = PivotKind::kExact;
    auto trace = HplTrace::create(*dat, options);
    ASSERT_TRUE(trace) << trace.error().message();
    const auto want = read_recorded(run, dat->ranks());
    const auto got = lists_of(**trace);
    EXPECT_FALSE(want.sent.empty());
    EXPECT_TRUE(want.sent == got.sent) << entry.path().filename() << "\n" << differences(want.sent, got.sent);
    EXPECT_TRUE(want.received == got.received) << entry.path().filename() << " receives\n"
                                               << differences(want.received, got.received);
    ++runs;
    for (const auto& [k, v] : want.sent) messages += v.size();
  }
  EXPECT_GT(runs, 0u);
  testing::Test::RecordProperty("runs", static_cast<int>(runs));
  testing::Test::RecordProperty("messages", static_cast<int>(messages));
  fs::remove_all(dir);
}

TEST(HplRecordedMessages, TwoByTwoVariantsAreEqual) { compare_archive("seed100_2x2"); }
TEST(HplRecordedMessages, FourOfTheFourByFourVariantsAreEqual) { compare_archive("seed100_4x4_four"); }
TEST(HplRecordedMessages, AllFourByFourVariantsAreEqual) { compare_archive("seed100_4x4"); }
TEST(HplRecordedMessages, RunsOfTheFlopTracesAreEqual2x2) { compare_archive("ti_2x2_500_64"); }
TEST(HplRecordedMessages, RunsOfTheFlopTracesAreEqual4x4) { compare_archive("ti_4x4_2000_64"); }
TEST(HplRecordedMessages, RunsOfTheFlopTracesAreEqualLongBroadcast) { compare_archive("ti_4x4_2000_64_b4"); }

}  // namespace
}  // namespace weft::hpl_gen
