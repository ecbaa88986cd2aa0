#include "core/containers/large_blocks.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace weft {
namespace {

TEST(LargeBlocks, HoldATableThatGrowsAcrossTheirLeastSize) {
  std::vector<std::uint64_t, LargeBlocks<std::uint64_t>> table;
  constexpr std::uint64_t kRows = 3 * kLargeBlock / sizeof(std::uint64_t) + 1;
  for (std::uint64_t i = 0; i < kRows; ++i) table.push_back(i * 0x9e3779b97f4a7c15ULL);
  for (std::uint64_t i = 0; i < kRows; ++i) ASSERT_EQ(table[i], i * 0x9e3779b97f4a7c15ULL) << i;
  const auto copy = table;
  table.clear();
  table.shrink_to_fit();
  EXPECT_EQ(copy.size(), kRows);
  EXPECT_EQ(copy.back(), (kRows - 1) * 0x9e3779b97f4a7c15ULL);
}

TEST(LargeBlocks, StartOnALargePage) {
  LargeBlocks<unsigned char> blocks;
  for (const std::size_t bytes : {kLargeBlock, kLargeBlock + 1, 3 * kLargeBlock - 1}) {
    unsigned char* const block = blocks.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % (std::size_t{2} << 20), 0u) << bytes;
    block[0] = block[bytes - 1] = 1;
    blocks.deallocate(block, bytes);
  }
}

TEST(LargeBlocks, SayThatThereIsNoMemory) {
  LargeBlocks<std::uint64_t> blocks;
  EXPECT_THROW((void)blocks.allocate(std::numeric_limits<std::size_t>::max() / 4), std::bad_alloc);
  EXPECT_THROW((void)blocks.allocate((std::size_t{1} << 57) / sizeof(std::uint64_t)), std::bad_alloc);
}

}  // namespace
}  // namespace weft
