// Rows of channels: found where they were made, kept as long as somebody needs them, those of neighbours side by side.
#include "replay/messages/channel_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "core/rng.hpp"
#include "tests/support/seed.hpp"

namespace weft::replay::channel_table_test {
namespace {

struct Row {
  static constexpr std::uint64_t kFree = ~0ULL;
  std::uint64_t key = kFree;
  std::uint32_t value = 0;
  bool needed = true;
};

constexpr auto kNeeded = [](const Row& row) { return row.needed; };

// Against a map. A source has up to a few hundred channels; of those that nobody needs it may be rid, of no others.
TEST(ChannelTable, FindsWhatAMapHasAndForgetsWhatNobodyNeeds) {
  const std::uint64_t seed = support::seed_or(1);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Rng random(seed);
  constexpr std::uint32_t kSources = 20;
  ChannelTable<Row> table(kSources);
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, bool>> want;
  const auto pick = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random.below(n)); };
  std::size_t forgotten = 0, found = 0;
  for (std::uint32_t step = 0; step < 100'000; ++step) {
    const std::uint32_t source = pick(kSources);
    const std::uint32_t destination = pick(1 + source * source), context = pick(2) * 0x80000001u;
    const auto it = want.find({source, destination, context});
    Row* row = table.find(source, destination, context);
    if (it == want.end()) {
      ASSERT_EQ(row, nullptr) << "step " << step;
    } else if (row == nullptr) {
      ASSERT_FALSE(it->second.second) << "step " << step << ": a row that somebody needs is gone";
      ++forgotten;
    } else {
      ASSERT_EQ(row->value, it->second.first) << "step " << step;
      ++found;
    }
    if (row == nullptr) {
      row = &table.make(source, destination, context, kNeeded);
      ASSERT_EQ(row->value, 0u) << "a new row has what an old one had";
    }
    row->value = step + 1;
    row->needed = pick(4) == 0;
    want[{source, destination, context}] = {step + 1, row->needed};
  }
  EXPECT_GT(forgotten, 100u);
  EXPECT_GT(found, 10'000u);
}

// Who is in use for good takes as many rows as it takes; who never is, those of one block.
TEST(ChannelTable, TakesRoomForWhatIsNeededOnly) {
  const auto bytes_of = [](bool needed) {
    ChannelTable<Row> table(1);
    for (std::uint32_t d = 0; d < 100'000; ++d) table.make(0, d, 0, kNeeded).needed = needed;
    return table.bytes();
  };
  EXPECT_LE(bytes_of(false), 2048 * sizeof(Row));
  EXPECT_LE(bytes_of(true), 300'000 * sizeof(Row));
}

// Ranks that make the same channels one after the other find them at a constant distance in memory, but where a piece of it ends.
TEST(ChannelTable, RowsOfNeighboursFollowOneAnother) {
  constexpr std::uint32_t kRanks = 10'000;
  ChannelTable<Row> table(kRanks);
  for (std::uint32_t r = 0; r < kRanks; ++r)
    for (const std::uint32_t d : {1u, kRanks - 1, 100u, kRanks - 100})
      if (table.find(r, (r + d) % kRanks, 0) == nullptr) (void)table.make(r, (r + d) % kRanks, 0, kNeeded);
  std::map<std::ptrdiff_t, std::uint32_t> steps;
  for (std::uint32_t r = 0; r + 2 < kRanks; ++r)
    ++steps[reinterpret_cast<const char*>(table.find(r + 1, r + 2, 0)) -
            reinterpret_cast<const char*>(table.find(r, r + 1, 0))];
  std::uint32_t most = 0;
  for (const auto& [step, count] : steps) most = std::max(most, count);
  EXPECT_GT(most, kRanks * 9 / 10);
}

}  // namespace
}  // namespace weft::replay::channel_table_test
