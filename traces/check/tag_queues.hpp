// TagQueues: queues of items in order, found by tag, of which there are very many and most are short.
//
// A queue is a list of rows in one pool: an item can leave from anywhere. The earliest item of a tag is looked for by walking; where
// that came out long (kWalk), the queue has an index until it is empty, so that what passes through a queue costs the same
// whatever the order of the tags. A queue that is never walked far costs two words and a pointer. (The Matcher of a
// replay keeps such indices for queues that only grow at their end; here an item may come back to where it was.)
// Item: `tag`, and place(), which is less for what comes first and never that of another item of the queue.
// Complexity: O(1), with an index O(log length).
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::traces::doctor {

inline constexpr std::uint32_t kNoRow = 0xffffffffu;

template <class Item>
class TagQueues {
 public:
  using Place = decltype(std::declval<const Item&>().place());
  using Index = std::set<std::tuple<std::int32_t, Place, std::uint32_t>>;  // tag, place, row
  struct Queue {
    std::uint32_t first = kNoRow, last = kNoRow;
    std::unique_ptr<Index> index;
    [[nodiscard]] bool empty() const { return first == kNoRow; }
  };

  // Its row, which is the item's until it is removed.
  std::uint32_t insert(Queue& q, const Item& item) {
    const std::uint32_t row = take(item);
    std::uint32_t before = q.last;
    while (before != kNoRow && item.place() < rows_[before].item.place()) {
      before = rows_[before].prev;
      ++steps_;
    }
    Row& r = rows_[row];
    r.prev = before;
    r.next = before == kNoRow ? q.first : rows_[before].next;
    (before == kNoRow ? q.first : rows_[before].next) = row;
    (r.next == kNoRow ? q.last : rows_[r.next].prev) = row;
    if (q.index) q.index->emplace(item.tag, item.place(), row);
    return row;
  }
  Item remove(Queue& q, std::uint32_t row) {
    const Row r = rows_[row];
    (r.prev == kNoRow ? q.first : rows_[r.prev].next) = r.next;
    (r.next == kNoRow ? q.last : rows_[r.next].prev) = r.prev;
    if (q.index) q.index->erase({r.item.tag, r.item.place(), row});
    if (q.empty()) q.index.reset();
    free_.push_back(row);
    return r.item;
  }
  // The earliest item that has that very tag, or kNoRow.
  [[nodiscard]] std::uint32_t first(Queue& q, std::int32_t tag) {
    if (!q.index) {
      std::uint32_t row = q.first;
      for (std::uint32_t n = 0; n < kWalk; ++n) {
        if (row == kNoRow || rows_[row].item.tag == tag) return row;
        row = rows_[row].next;
        ++steps_;
      }
      q.index = std::make_unique<Index>();
      for (row = q.first; row != kNoRow; row = rows_[row].next)
        q.index->emplace(rows_[row].item.tag, rows_[row].item.place(), row);
    }
    const auto at = q.index->lower_bound({tag, Place{}, 0});
    return at == q.index->end() || std::get<0>(*at) != tag ? kNoRow : std::get<2>(*at);
  }
  Item& operator[](std::uint32_t row) { return rows_[row].item; }
  const Item& operator[](std::uint32_t row) const { return rows_[row].item; }
  [[nodiscard]] std::uint32_t next(std::uint32_t row) const { return rows_[row].next; }
  // Rows that were gone past so far.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

 private:
  static constexpr std::uint32_t kWalk = 16;
  struct Row {
    Item item;
    std::uint32_t prev, next;
  };
  std::uint32_t take(const Item& item) {
    if (free_.empty()) {
      rows_.push_back({item, kNoRow, kNoRow});
      return static_cast<std::uint32_t>(rows_.size() - 1);
    }
    const std::uint32_t row = free_.back();
    free_.pop_back();
    rows_[row].item = item;
    return row;
  }
  std::vector<Row> rows_;
  std::vector<std::uint32_t> free_;
  std::uint64_t steps_ = 0;
};

}  // namespace weft::traces::doctor
