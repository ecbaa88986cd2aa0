// GroupedTable: rows found by the number of a group and a key: what one rank or host has with each of others.
//
// The rows of a group stand together, in a block of 2^k with open addressing that grows with them; where in it a row is, its key
// says. With distances as keys (to whom, less from whom) groups that have rows at the same distances, as in rings, halo exchanges, grids of
// HPL and dissemination, have them at the same places: who goes through the groups in their order finds rows that follow one another in
// memory, and so do the pages. In one table for all groups each row would be on a page of its own.
// A block of 64 rows or more that is full is rid of rows that nobody needs before it grows. Smaller ones only grow, as most groups come back
// to all of their few rows.
// Complexity: O(1) a look-up; growing moves O(1) rows for each that is made. Memory: 16 bytes a group; two rows for a group of one, else
// 1.3 to 2.7 for each.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/containers/large_blocks.hpp"

namespace weft {

// Row: `key`, a std::uint64_t that the table writes (Row::kFree, which is nobody's, by default), and what its user adds.
template <class Row>
class GroupedTable {
 public:
  static_assert(std::is_trivially_copyable_v<Row>);
  explicit GroupedTable(std::size_t groups) : blocks_(groups, nobodys()) {}
  ~GroupedTable() {
    for (const Block& b : blocks_)
      if (size_of(b) > kLargestSmall) memory_.deallocate(b.rows, size_of(b));
    for (const auto& [rows, count] : pieces_) memory_.deallocate(rows, count);
  }
  GroupedTable(const GroupedTable&) = delete;
  GroupedTable& operator=(const GroupedTable&) = delete;

  // Null: there is none. REQUIRES: group < groups, key != Row::kFree.
  [[nodiscard, gnu::always_inline]] Row* find(std::uint32_t group, std::uint64_t key) {
    const Block& b = blocks_[group];
    for (std::size_t i = place(key, b);; i = next(i, b)) {
      Row& row = b.rows[i];
      if (row.key == key) [[likely]]
        return &row;
      if (row.key == Row::kFree) return nullptr;
    }
  }
  // A row for a key that has none. `live(row)`: somebody needs it. Moves the other rows of the group.
  template <class Live>
  Row& make(std::uint32_t group, std::uint64_t key, Live live) {
    Block& b = blocks_[group];
    if (b.left == 0) make_room(b, live);
    --b.left;
    Row& row = free_row(key, b);
    row.key = key;
    return row;
  }
  // All rows go.
  void clear() {
    for (Block& b : blocks_) {
      if (b.rows != nobody_.data()) give(b.rows, size_of(b));
      b = nobodys();
    }
  }
  // A hint to the processor: that row will be asked for soon.
  void prefetch(std::uint32_t group, std::uint64_t key) const {
    const Block& b = blocks_[group];
    __builtin_prefetch(b.rows + place(key, b), 1);
  }
  // Of all blocks, used or not.
  [[nodiscard]] std::size_t bytes() const { return rows_ * sizeof(Row); }

 private:
  static constexpr std::size_t kLargestSmall = 64;       // rows
  static constexpr std::size_t kFirstPiece = 512;        // rows
  static constexpr std::size_t kLargestPiece = 1 << 16;  // rows
  struct Block {
    Row* rows;
    std::uint32_t shift;  // of 64 bits, to as many as number its rows
    std::uint32_t left;   // rows that can still be made
  };
  Block nobodys() { return {nobody_.data(), 63, 0}; }
  static std::size_t size_of(const Block& b) { return std::size_t{1} << (64 - b.shift); }
  static std::size_t size_class(std::size_t size) { return static_cast<std::size_t>(std::countr_zero(size)); }
  // The upper bits, as many as the block has. Of this factor, as the best of 20,000: over distances in halo exchanges in two and three
  // dimensions, dissemination, hypercubes, all pairs, rows, columns and grids of HPL, 8 to 1,000,000 ranks, a row is found as the 1.25th
  // on the mean and as the 1.9th at worst; over others of these, that it was not chosen by, 1.27 and 2.7 (2^64 over the golden ratio: 1.33
  // and 4.4, columns).
  static std::size_t place(std::uint64_t key, const Block& b) {
    return static_cast<std::size_t>((key * 0xa39e5989111b3e31ULL) >> b.shift);
  }
  static std::size_t next(std::size_t place, const Block& b) { return (place + 1) & (~0ULL >> b.shift); }

  static Row& free_row(std::uint64_t key, const Block& b) {
    std::size_t i = place(key, b);
    while (b.rows[i].key != Row::kFree) i = next(i, b);
    return b.rows[i];
  }
  template <class Live>
  void make_room(Block& b, Live live) {
    const Block old = b;
    const bool first = old.rows == nobody_.data();
    const std::size_t had = first ? 0 : size_of(old);
    const auto keep = [&](const Row& row) {
      return row.key != Row::kFree && (had < kLargestSmall || live(row));
    };
    const auto kept = static_cast<std::size_t>(std::count_if(old.rows, old.rows + had, keep));
    const std::size_t size = first ? 2 : kept * 3 > had ? 2 * had : had;
    b.rows = take(size);
    b.shift = static_cast<std::uint32_t>(64 - size_class(size));
    b.left = static_cast<std::uint32_t>(size - std::max<std::size_t>(1, size / 4) - kept);
    for (const Row& row : std::span(old.rows, had))
      if (keep(row)) free_row(row.key, b) = row;
    if (!first) give(old.rows, had);
  }
  // Free rows.
  Row* take(std::size_t size) {
    Row* rows = nullptr;
    if (size > kLargestSmall) {
      rows = memory_.allocate(size);
      rows_ += size;
    } else if (auto& free = free_[size_class(size)]; !free.empty()) {
      rows = free.back();
      free.pop_back();
    } else {
      if (left_ < size) {
        left_ = pieces_.empty() ? kFirstPiece : std::min(2 * pieces_.back().second, kLargestPiece);
        next_ = memory_.allocate(left_);
        pieces_.emplace_back(next_, left_);
        rows_ += left_;
      }
      rows = next_;
      next_ += size;
      left_ -= size;
    }
    std::uninitialized_fill_n(rows, size, Row());
    return rows;
  }
  void give(Row* rows, std::size_t size) {
    if (size <= kLargestSmall) return free_[size_class(size)].push_back(rows);
    memory_.deallocate(rows, size);
    rows_ -= size;
  }

  std::array<Row, 2> nobody_{};  // of groups without rows; nobody writes to it
  std::vector<Block> blocks_;    // by group
  LargeBlocks<Row> memory_;
  std::vector<std::pair<Row*, std::size_t>> pieces_;  // that small blocks are cut from
  Row* next_ = nullptr;
  std::size_t left_ = 0;
  std::array<std::vector<Row*>, 7> free_;  // small blocks, by size
  std::size_t rows_ = 0;                   // of pieces and large blocks
};

}  // namespace weft
