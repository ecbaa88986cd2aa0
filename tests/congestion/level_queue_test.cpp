#include "congestion/level_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/rng.hpp"
#include "tests/congestion/cases.hpp"

namespace weft::congestion {
namespace {

// Against a plain search, with ties, zeros, infinities and keys over many powers of two: keys rise behind the queue's
// back, fall, slots are added and dropped, few and many.
TEST(LevelQueue, TheLowestKeyComesUpWhateverHappenedToTheOthers) {
  const std::uint64_t base = problems::base_seed(1);
  for (std::uint64_t seed = base; seed < base + 60; ++seed) {
    SCOPED_TRACE("WEFT_SEED=" + std::to_string(seed));
    Rng rng(seed);
    LevelQueue q;
    for (int filling = 0; filling < 3; ++filling) {
      q.clear();
      std::vector<double> key;  // now
      const auto draw = [&](double least) {
        const auto k = rng.below(40);
        if (k == 0) return LevelQueue::kNever;
        if (k < 10) return least + static_cast<double>(rng.below(8)) * 1e9;
        return least + std::ldexp(rng.unit(), static_cast<int>(rng.below(60)));
      };
      const auto n = 1 + rng.below(rng.below(3) == 0 ? 1500 : 60);
      const double first = rng.below(4) == 0 ? 0.0 : 1e6 * rng.unit();
      for (std::uint64_t i = 0; i < n; ++i) {
        key.push_back(draw(first));
        q.add(key.back());
      }
      for (int step = 0; step < 400; ++step) {
        for (std::uint64_t i = rng.below(4); i > 0; --i) {
          const auto slot = static_cast<std::uint32_t>(rng.below(key.size()));
          if (rng.below(2) == 0) key[slot] = draw(key[slot]);  // the queue learns of it when it asks
        }
        const auto best = std::min_element(key.begin(), key.end());
        double lowest = 0;
        while (true) {
          lowest = q.lowest([&](std::uint32_t slot) { return key[slot]; }, [](std::uint32_t) {});
          if (lowest == LevelQueue::kNever || key[q.winner()] == lowest) break;
          if (key[q.winner()] == LevelQueue::kNever)
            q.drop_winner();
          else
            q.raise_winner(key[q.winner()]);
        }
        ASSERT_EQ(lowest, *best);
        if (lowest == LevelQueue::kNever) break;
        ASSERT_EQ(q.winner(), best - key.begin());
        if (rng.below(3) == 0) {
          key.push_back(draw(lowest));
          q.add(key.back());
        }
        const auto other = static_cast<std::uint32_t>(rng.below(key.size()));
        if (const double lower = draw(lowest);
            other != q.winner() && lower < key[other] && lower < q.key(other)) {
          key[other] = lower;
          q.set(other, lower);
        }
        ASSERT_EQ(q.lowest([&](std::uint32_t slot) { return key[slot]; }, [](std::uint32_t) {}), lowest);
        const std::uint32_t winner = q.winner();
        key[winner] = LevelQueue::kNever;
        q.drop_winner();
      }
    }
  }
}

}  // namespace
}  // namespace weft::congestion
