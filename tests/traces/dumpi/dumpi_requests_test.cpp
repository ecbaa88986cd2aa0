// DUMPI: requests that have the same number at the same time.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <numeric>

#include "tests/traces/dumpi/dumpi_testing.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::traces {
namespace {

using namespace testing;
using ::testing::ElementsAre;

// Some MPI libraries give requests that are complete at once the same handle.
TEST(Dumpi, ANumberOfTwoRequestsMeansTheOldestAndIsTold) {
  const TempDir dir;
  auto r = dumpi_ranks(2);
  r[0].isend(1, kDumpiByte, 1, 1, 5).isend(2, kDumpiByte, 1, 2, 5).waitall({5, 5});
  r[1].recv(1, kDumpiByte, 0, 1).recv(2, kDumpiByte, 0, 2);
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  EXPECT_THAT(shown_ops(**t, 0),
              ElementsAre("isend peer=1 tag=1 amount=1 request=0", "isend peer=1 tag=2 amount=2 request=1",
                          "waitall peer=-1 tag=-1 list=[0,1]"));
  EXPECT_THAT(
      trace_warnings((*t)->header()),
      ElementsAre("1 request got a number that was in use: a completion is taken to be of the oldest request "
                  "of that number"));
  expect_checked(**t);
}

// A search among those of one number for each of them is 20,000,000,000 looks: minutes. A waitall takes the oldest first, a
// waitsome here the youngest.
TEST(Dumpi, CompletingManyRequestsOfOneNumberLooksAtEachOnce) {
  constexpr int kMany = 200'000;
  const TempDir dir;
  auto r = dumpi_ranks(1);
  for (const bool all : {true, false}) {
    DumpiInts requests, indices;
    for (int i = 0; i < kMany; ++i) {
      r[0].isend(1, kDumpiByte, 0, 1, 5).recv(1, kDumpiByte, 0, 1);
      requests.push_back(5);
      indices.push_back(kMany - 1 - i);
    }
    if (all)
      r[0].waitall(requests);
    else
      r[0].waitsome(requests, indices);
  }
  auto t = open_ranks(dir, r);
  ASSERT_TRUE(t) << t.error().message();
  std::vector<std::vector<std::int64_t>> lists;
  for (const PlainOp& p : ops_of_rank(**t, 0))
    if (p.has_list) lists.push_back(p.list);
  ASSERT_EQ(lists.size(), 2u);
  std::vector<std::int64_t> slots(kMany);
  std::iota(slots.begin(), slots.end(), 0);
  EXPECT_TRUE(lists[0] == slots);
  // A waitsome lists how many it asked for, these, and those that were complete.
  std::vector<std::int64_t> some = {kMany};
  some.insert(some.end(), slots.begin(), slots.end());
  some.insert(some.end(), slots.rbegin(), slots.rend());
  EXPECT_TRUE(lists[1] == some);
}

// Below 0.6.7 a number has 8 bits: used twice at a time it says nothing, and nothing is guessed.
TEST(Dumpi, RequestsThatAnOldVersionDoesNotTellApartAreRefused) {
  const TempDir dir;
  auto r = dumpi_ranks(1, {0, 6, 6});
  r[0].isend(1, kDumpiByte, 0, 1, 5).wait(5).isend(1, kDumpiByte, 0, 1, 5);
  const std::size_t at = r[0].size();
  r[0].isend(1, kDumpiByte, 0, 2, 5);
  const auto t = open_ranks(dir, r);
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().code, ErrorCode::kNotSupported);
  EXPECT_EQ(
      t.error().message(),
      fmt::format(
          "{}/t/run-0000.bin@byte {:#x} (record 4, rank 0): error: not supported: MPI_Isend: request 5 is in "
          "use: DUMPI 0.6.6 keeps 8 bits of the numbers of requests, and this file does not tell its "
          "requests apart; expected a file of DUMPI 0.6.7 or later, or fewer requests at a time",
          dir.path("").substr(0, dir.path("").size() - 1), at));
}

}  // namespace
}  // namespace weft::traces
