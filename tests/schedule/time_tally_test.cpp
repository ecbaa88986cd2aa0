// The distribution of many times in bounded memory (schedule/time_tally.hpp).
#include "schedule/time_tally.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "core/rng.hpp"

namespace weft::schedule::time_tally_test {
namespace {

// Times of which a few are the shortest and a few the longest, to the last bits but for rounding.
std::vector<TimeBin> drawn(std::uint64_t seed, std::size_t n) {
  Rng rng(seed);
  std::vector<TimeBin> out;
  out.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double u = rng.unit();
    double t = 1 + u;
    if (u < 0.01) t = 0.5;
    if (u > 0.99) t = 3;
    out.push_back({t * (1 + 1e-15 * static_cast<double>(i % 3)), 1 + i % 2});
  }
  return out;
}

TimeTally tally_of(const std::vector<TimeBin>& times, std::size_t from, std::size_t step, std::size_t most) {
  TimeTally t(most);
  for (std::size_t i = from; i < times.size(); i += step) t.add(times[i].seconds, times[i].count);
  return t;
}

TEST(TimeTally, EndsStayExactWhereTimesAreTooManyToTellApart) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto times = drawn(seed, 20000);
    const TimeStatistics exact = tally_of(times, 0, 1, TimeTally::kMostCells).finish();
    const TimeTally few = tally_of(times, 0, 1, 100);
    EXPECT_LE(few.cells().times.size(), 100u);
    const TimeStatistics s = few.finish();
    EXPECT_EQ(exact.apart, 0);
    EXPECT_GT(exact.distinct.size(), 10000u);
    ASSERT_GT(s.apart, 0);
    EXPECT_LT(s.apart, 0.1);
    EXPECT_EQ(s.count, exact.count);
    EXPECT_EQ(s.best, exact.best);
    EXPECT_EQ(s.best_count, exact.best_count);
    EXPECT_EQ(s.next_best, exact.next_best);
    EXPECT_EQ(s.worst, exact.worst);
    EXPECT_EQ(s.worst_count, exact.worst_count);
    EXPECT_GT(s.best_count, 100u) << "many to count";
    EXPECT_NEAR(s.median, exact.median, s.apart * exact.median);
    EXPECT_NEAR(s.mean, exact.mean, s.apart * exact.mean);
  }
}

// The same cells however the times were split and in whatever order the parts came together, kept parts included.
TEST(TimeTally, PartsMakeTheSameTallyAsTheWhole) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    for (const std::size_t most : {std::size_t{50}, std::size_t{3000}, TimeTally::kMostCells}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", most " + std::to_string(most));
      const auto times = drawn(seed, 10000);
      const TallyCells whole = tally_of(times, 0, 1, most).cells();
      for (const std::size_t parts : {2u, 3u, 7u}) {
        TimeTally up(most), down(most);
        for (std::size_t i = 0; i < parts; ++i) {
          up.merge(tally_of(times, i, parts, most));
          down.merge(tally_of(times, parts - 1 - i, parts, most).cells());
        }
        EXPECT_EQ(up.cells(), whole);
        EXPECT_EQ(down.cells(), whole);
      }
    }
}

}  // namespace
}  // namespace weft::schedule::time_tally_test
