// Rows by group and key: found where they were made, kept as long as somebody needs them, those of neighbours side by side.
#include "core/containers/grouped_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/rng.hpp"
#include "tests/support/seed.hpp"

namespace weft::grouped_table_test {
namespace {

struct Row {
  static constexpr std::uint64_t kFree = ~0ULL;
  std::uint64_t key = kFree;
  std::uint32_t value = 0;
  bool needed = true;
};

constexpr auto kNeeded = [](const auto& row) { return row.needed; };

// A row that tells how often its key is read: by a look-up once where it is found, twice where it is passed by.
std::size_t keys_read = 0;
struct CountedKey {
  std::uint64_t value;
  CountedKey& operator=(std::uint64_t key) {
    value = key;
    return *this;
  }
  operator std::uint64_t() const {  // NOLINT(google-explicit-constructor)
    ++keys_read;
    return value;
  }
};
struct CountedRow {
  static constexpr std::uint64_t kFree = Row::kFree;
  CountedKey key{kFree};
  bool needed = true;
};

// Who talks to whom: patterns of n ranks.
using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Pairs steps_apart(std::uint32_t n, const std::vector<std::uint32_t>& steps) {
  Pairs out;
  for (std::uint32_t r = 0; r < n; ++r)
    for (const std::uint32_t s : steps) out.emplace_back(r, (r + s) % n);
  return out;
}

Pairs dissemination(std::uint32_t n) {
  std::vector<std::uint32_t> steps;
  for (std::uint32_t s = 1; s < n; s *= 2) steps.push_back(s);
  return steps_apart(n, steps);
}

Pairs all_to_all(std::uint32_t n) {
  std::vector<std::uint32_t> steps;
  for (std::uint32_t s = 1; s < n; ++s) steps.push_back(s);
  return steps_apart(n, steps);
}

Pairs gather(std::uint32_t n) {
  Pairs out;
  for (std::uint32_t r = 1; r < n; ++r) out.emplace_back(r, 0);
  return out;
}

// Those of a long row swap and a panel's broadcast in HPL, P x Q ranks by rows or by columns.
Pairs hpl(std::uint32_t p, std::uint32_t q, bool by_columns) {
  Pairs out;
  const auto rank = [&](std::uint32_t row, std::uint32_t column) {
    return by_columns ? column % q * p + row % p : row % p * q + column % q;
  };
  for (std::uint32_t row = 0; row < p; ++row)
    for (std::uint32_t column = 0; column < q; ++column) {
      for (std::uint32_t other = 0; other < p; ++other)
        if (other != row) out.emplace_back(rank(row, column), rank(other, column));
      out.emplace_back(rank(row, column), rank(row, column + 1));
    }
  return out;
}

TEST(GroupedTable, ARowThatIsThereIsFoundAfterAFew) {
  const std::vector<std::pair<std::string, Pairs>> patterns = {
      {"ring", steps_apart(10'000, {1, 9'999})}, {"halo", steps_apart(10'000, {1, 9'999, 100, 9'900})},
      {"dissemination", dissemination(8'008)},   {"gather", gather(10'000)},
      {"all pairs of 200", all_to_all(200)},     {"all pairs of 362", all_to_all(362)},
      {"HPL, 88 x 91", hpl(88, 91, false)},      {"HPL, 32 x 32 by columns", hpl(32, 32, true)}};
  for (const auto& [name, pairs] : patterns) {
    GroupedTable<CountedRow> table(10'000);
    for (const auto& [from, to] : pairs) (void)table.make(from, to - from, kNeeded);
    keys_read = 0;
    for (const auto& [from, to] : pairs) ASSERT_NE(table.find(from, to - from), nullptr) << name;
    EXPECT_LT(keys_read, 3 * pairs.size()) << name << ": as the second on the mean";
  }
}

// Against a map. A group has up to a few hundred channels; of those that nobody needs it may be rid, of no others.
TEST(GroupedTable, FindsWhatAMapHasAndForgetsWhatNobodyNeeds) {
  const std::uint64_t seed = support::seed_or(1);
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  Rng random(seed);
  constexpr std::uint32_t kGroups = 20;
  GroupedTable<Row> table(kGroups);
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<std::uint32_t, bool>> want;
  const auto pick = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random.below(n)); };
  std::size_t forgotten = 0, found = 0;
  for (std::uint32_t step = 0; step < 100'000; ++step) {
    const std::uint32_t group = pick(kGroups);
    const std::uint64_t key = std::uint64_t{pick(2) * 0x80000001u} << 32 | pick(1 + group * group);
    const auto it = want.find({group, key});
    Row* row = table.find(group, key);
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
      row = &table.make(group, key, kNeeded);
      ASSERT_EQ(row->value, 0u) << "a new row has what an old one had";
    }
    row->value = step + 1;
    row->needed = pick(4) == 0;
    want[{group, key}] = {step + 1, row->needed};
  }
  EXPECT_GT(forgotten, 100u);
  EXPECT_GT(found, 10'000u);
}

// What is needed for good takes as much as it takes; what never is, one block.
TEST(GroupedTable, TakesRoomForWhatIsNeededOnly) {
  const auto bytes_of = [](bool needed) {
    GroupedTable<Row> table(1);
    for (std::uint32_t d = 0; d < 100'000; ++d) table.make(0, d, kNeeded).needed = needed;
    return table.bytes();
  };
  EXPECT_LE(bytes_of(false), 2048 * sizeof(Row));
  EXPECT_LE(bytes_of(true), 300'000 * sizeof(Row));
}

// Groups that make the same rows one after the other have them at a constant distance in memory, but where a piece of it ends.
TEST(GroupedTable, RowsOfNeighboursFollowOneAnother) {
  constexpr std::uint32_t kGroups = 10'000;
  GroupedTable<Row> table(kGroups);
  for (std::uint32_t g = 0; g < kGroups; ++g)
    for (const std::uint64_t key : {1u, ~0u, 100u, ~99u}) (void)table.make(g, key, kNeeded);
  std::map<std::ptrdiff_t, std::uint32_t> steps;
  for (std::uint32_t g = 0; g + 1 < kGroups; ++g)
    ++steps[reinterpret_cast<const char*>(table.find(g + 1, 1)) -
            reinterpret_cast<const char*>(table.find(g, 1))];
  std::uint32_t most = 0;
  for (const auto& [step, count] : steps) most = std::max(most, count);
  EXPECT_GT(most, kGroups * 9 / 10);
}

}  // namespace
}  // namespace weft::grouped_table_test
