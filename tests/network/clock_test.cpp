// The clock's arithmetic: what it rounds, where it stops, what comes before what.
#include "network/clock.hpp"

#include <gtest/gtest.h>

#include <array>

namespace weft::network {
namespace {

constexpr Ticks kPicosecond = Ticks{1} << kTickBits;
constexpr Ticks kHalf = kPicosecond / 2;

std::int64_t rounded(Ticks t) { return Elapsed::of_ticks(t).rounded().count(); }

TEST(Clock, RoundsToTheNearestPicosecondAndTiesToEven) {
  EXPECT_EQ(rounded(kHalf - 1), 0);
  EXPECT_EQ(rounded(kHalf), 0);
  EXPECT_EQ(rounded(kHalf + 1), 1);
  EXPECT_EQ(rounded(kPicosecond + kHalf - 1), 1);
  EXPECT_EQ(rounded(kPicosecond + kHalf), 2);
  EXPECT_EQ(rounded(2 * kPicosecond + kHalf), 2);
  EXPECT_EQ(rounded(-kHalf), 0);
  EXPECT_EQ(rounded(-kHalf - 1), -1);
  EXPECT_EQ(rounded(-kPicosecond - kHalf), -2);
  // Above 64 bits of ticks, too: a second is 2^32 * 10^12 of them.
  EXPECT_EQ(rounded(1'000'000'000'001 * kPicosecond + kHalf), 1'000'000'000'002);
}

TEST(Clock, StopsAtTheEndsOfWhatIsReported) {
  const auto last = static_cast<Ticks>(Duration::max().count());
  EXPECT_EQ(Elapsed::of_ticks(last * kPicosecond).rounded(), Duration::max());
  EXPECT_EQ(Elapsed::of_ticks(last * kPicosecond + kHalf + 1).rounded(), Duration::max());
  EXPECT_EQ(Elapsed::of_ticks((last + 1) * kPicosecond).rounded(), Duration::max());
  EXPECT_EQ(Elapsed::of_ticks((last - 1) * kPicosecond).rounded().count(), Duration::max().count() - 1);
  EXPECT_EQ(Elapsed::of_ticks((-last - 2) * kPicosecond).rounded(), Duration::min());
  EXPECT_TRUE(Instant::never().past_the_end());
}

// Lengths that differ in one half of their 128 bits or in both, in order.
TEST(Clock, ComparesAllBits) {
  const std::array<Ticks, 8> ordered = {-(Ticks{1} << 80), -kPicosecond,        -1, 0, 1, ~std::uint64_t{0},
                                        Ticks{1} << 64,    (Ticks{1} << 80) + 5};
  for (std::size_t i = 0; i < ordered.size(); ++i)
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      const Elapsed a = Elapsed::of_ticks(ordered[i]), b = Elapsed::of_ticks(ordered[j]);
      const Instant s = Instant() + a, t = Instant() + b;
      EXPECT_EQ(a < b, i < j);
      EXPECT_EQ(a <= b, i <= j);
      EXPECT_EQ(a > b, i > j);
      EXPECT_EQ(a >= b, i >= j);
      EXPECT_EQ(a == b, i == j);
      EXPECT_EQ(s < t, i < j);
      EXPECT_EQ(s <= t, i <= j);
      EXPECT_EQ(s > t, i > j);
      EXPECT_EQ(s >= t, i >= j);
      EXPECT_EQ(s == t, i == j);
    }
}

}  // namespace
}  // namespace weft::network
