#include "congestion/tournament.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/rng.hpp"

namespace weft::congestion {
namespace {

// Against a plain search, with many ties and infinities.
TEST(Tournament, WinnerIsTheFirstOfTheLowestKeysAfterAnyUpdates) {
  Rng rng(9);
  Tournament t;
  for (int round = 0; round < 500; ++round) {
    const auto n = static_cast<std::uint32_t>(1 + rng.below(70));
    std::vector<double> key(n);
    t.resize(n);
    const auto draw = [&] {
      const auto k = rng.below(12);
      return k == 11 ? std::numeric_limits<double>::infinity() : static_cast<double>(k) * 1e9;
    };
    for (std::uint32_t i = 0; i < n; ++i) t.set(i, key[i] = draw());
    t.play();
    for (int step = 0; step < 100; ++step) {
      const auto best = std::min_element(key.begin(), key.end());
      ASSERT_EQ(t.lowest(), *best);
      ASSERT_EQ(t.winner(), best - key.begin());
      const auto slot = static_cast<std::uint32_t>(rng.below(n));
      t.update(slot, key[slot] = draw());
    }
  }
}

}  // namespace
}  // namespace weft::congestion
