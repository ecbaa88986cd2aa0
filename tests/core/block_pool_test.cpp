#include "core/containers/block_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/rng.hpp"
#include "tests/support/seed.hpp"

namespace weft {
namespace {

// Arrays that grow in any order, against vectors; small ones and large ones.
TEST(BlockPool, KeepsWhatStandsInEachArray) {
  for (const std::uint64_t seed : support::seeds_to(20)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    BlockPool<std::uint64_t> pool;
    std::vector<BlockPool<std::uint64_t>::Array> arrays(200);
    std::vector<std::vector<std::uint64_t>> truth(arrays.size());
    for (int i = 0; i < 20000; ++i) {
      const std::size_t k = rng.below(rng.below(2) == 0 ? arrays.size() : 3);
      BlockPool<std::uint64_t>::Array& a = arrays[k];
      for (std::uint64_t n = k == 0 ? 8 : 1; n > 0; --n) {
        if (a.size == a.room) pool.grow(a);
        ASSERT_LT(a.size, a.room);
        truth[k].push_back(rng.next());
        a.items[a.size++] = truth[k].back();
      }
    }
    ASSERT_GT(truth[0].size(), 10000u);
    for (std::size_t k = 0; k < arrays.size(); ++k)
      ASSERT_EQ(std::vector(arrays[k].items, arrays[k].items + arrays[k].size), truth[k]) << "array " << k;
  }
}

// A block that an array has grown out of is the next of its size.
TEST(BlockPool, GivesABlockThatIsFreeToTheNext) {
  BlockPool<std::uint64_t> pool;
  BlockPool<std::uint64_t>::Array first, second;
  pool.grow(first);
  std::uint64_t* const one = first.items;
  pool.grow(first);
  EXPECT_EQ(first.room, 2u);
  pool.grow(second);
  EXPECT_EQ(second.items, one);
}

}  // namespace
}  // namespace weft
