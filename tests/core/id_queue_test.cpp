#include "core/containers/id_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>

#include "core/rng.hpp"
#include "tests/support/seed.hpp"

namespace weft {
namespace {

TEST(IdQueue, GivesWhatCameFirstFirst) {
  for (const std::uint64_t seed : support::seeds_to(20)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    IdQueue queue;
    std::deque<std::uint32_t> truth;
    std::size_t most = 0;
    for (int i = 0; i < 20000; ++i) {
      // Now more come than go, now more go than come.
      const bool comes = rng.below(10) < (i / 1000 % 2 == 0 ? 6u : 4u);
      if (comes) {
        truth.push_back(static_cast<std::uint32_t>(rng.next()));
        queue.push(truth.back());
      } else if (!truth.empty()) {
        ASSERT_EQ(queue.take(), truth.front());
        truth.pop_front();
      }
      most = std::max(most, truth.size());
      ASSERT_EQ(queue.size(), truth.size());
      ASSERT_EQ(queue.empty(), truth.empty());
      if (truth.empty()) continue;
      const std::size_t k = rng.below(truth.size());
      ASSERT_EQ(queue[k], truth[k]);
    }
    ASSERT_LE(queue.room(), 16 + 4 * most);
  }
}

// Ranks that wake each other never leave it empty.
TEST(IdQueue, IsNoLongerThanWhatWaitsAtOnce) {
  IdQueue queue;
  for (std::uint32_t i = 0; i < 10; ++i) queue.push(i);
  for (int i = 0; i < 1000000; ++i) queue.push(queue.take());
  EXPECT_EQ(queue.size(), 10u);
  EXPECT_LE(queue.room(), 32u);
}

}  // namespace
}  // namespace weft
