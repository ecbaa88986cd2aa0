// BlockPool: arrays that grow, each in a block of 2^k items, small blocks in a few large pieces of memory: for hundreds of thousands
// of small arrays, where an allocation for each would cost more than what stands in them.
//
// A small block that is given back is the next of its size that is taken; a large one is an allocation of its own, so that it is
// free for all when an array has grown out of it. Items do not move while their block is held. Complexity: O(1) a block; growing
// moves O(1) items for each that is added.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include "core/check.hpp"

namespace weft {

template <class T>
class BlockPool {
 public:
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) >= sizeof(void*));
  // An array: where its block is, its items, room for how many.
  struct Array {
    T* items = nullptr;
    std::uint32_t size = 0, room = 0;
  };

  // Room for twice as many; for `first`, a power of two, if there was none.
  void grow(Array& a, std::uint32_t first = 1) {
    WEFT_CHECK(a.room < std::uint32_t{1} << 31, "an array of 2^32 items");
    const std::uint32_t room = std::max(first, 2 * a.room);
    T* const items = take(room);
    std::copy_n(a.items, a.size, items);
    if (a.room > 0) give(a.items, a.room);
    a.items = items;
    a.room = room;
  }

 private:
  static constexpr std::size_t kPointer = sizeof(void*);
  static constexpr std::size_t kPiece = std::size_t{1} << 14;  // items
  static constexpr std::uint32_t kLargestSmall = 64;
  static std::size_t size_class(std::uint32_t room) {
    return static_cast<std::size_t>(std::countr_zero(room));
  }

  // Of 2^k items, which are to be written.
  T* take(std::uint32_t room) {
    if (room > kLargestSmall) {
      large_.push_back(std::make_unique_for_overwrite<T[]>(std::size_t{room} + 1));
      T* const block = large_.back().get();  // before it stands which of large_ it is
      set_place(block, large_.size() - 1);
      return block + 1;
    }
    T*& free = free_[size_class(room)];
    if (free != nullptr) {
      T* const block = free;
      std::memcpy(&free, block, kPointer);
      return block;
    }
    if (left_ < room) {
      left_ = kPiece;
      pieces_.push_back(std::make_unique_for_overwrite<T[]>(left_));
      next_ = pieces_.back().get();
    }
    T* const block = next_;
    next_ += room;
    left_ -= room;
    return block;
  }
  void give(T* block, std::uint32_t room) {
    if (room > kLargestSmall) {
      std::size_t at = 0;
      std::memcpy(&at, block - 1, sizeof at);
      if (at + 1 < large_.size()) {
        large_[at] = std::move(large_.back());
        set_place(large_[at].get(), at);
      }
      return large_.pop_back();
    }
    T*& free = free_[size_class(room)];
    std::memcpy(block, &free, kPointer);
    free = block;
  }

  static void set_place(T* block, std::size_t at) { std::memcpy(block, &at, sizeof at); }

  std::vector<std::unique_ptr<T[]>> pieces_, large_;
  T* next_ = nullptr;  // of the last piece
  std::size_t left_ = 0;
  std::array<T*, 7> free_{};  // small ones, by size: the first, which says where the next is
};

}  // namespace weft
