// IdQueue: ids, first in first out, by the million: whoever waits for his turn.
//
// As IdStack at its end. What was taken leaves its room to who comes: the queue is as long as the most that waited at once, not as
// the number of those that ever did, even if it is never empty. Complexity: O(1) each, amortised. Never gives memory back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft {

class IdQueue {
 public:
  [[gnu::always_inline]] void push(std::uint32_t id) {
    if (end_ == room_) [[unlikely]]
      make_room();
    ids_[end_++] = id;
  }
  // REQUIRES: !empty().
  std::uint32_t take() {
    const std::uint32_t id = ids_[begin_++];
    if (begin_ == end_) begin_ = end_ = 0;
    return id;
  }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] std::size_t room() const { return room_; }
  // The one behind `i` others. REQUIRES: i < size().
  [[nodiscard]] std::uint32_t operator[](std::size_t i) const { return ids_[begin_ + i]; }

 private:
  // Where half of it or more was taken, the rest moves to the front: each is moved at most once for each that was taken.
  [[gnu::noinline]] void make_room() {
    const std::size_t live = size();
    if (begin_ == 0 || begin_ < live) {
      const std::size_t room = std::max<std::size_t>(2 * room_, 16);
      auto more = std::make_unique_for_overwrite<std::uint32_t[]>(room);
      std::copy_n(ids_.get() + begin_, live, more.get());
      ids_ = std::move(more);
      room_ = room;
    } else {
      std::copy_n(ids_.get() + begin_, live, ids_.get());
    }
    begin_ = 0;
    end_ = live;
  }

  std::unique_ptr<std::uint32_t[]> ids_;
  std::size_t begin_ = 0, end_ = 0;
  std::size_t room_ = 0;
};

}  // namespace weft
