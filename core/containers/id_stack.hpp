// IdStack: a list of ids that is filled and emptied again, thousands of times a second.
//
// What std::vector would do, but for the test of growth, which is all of push_back() that is inlined; of a vector's, called
// a million times, none is. Never gives memory back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace weft {

class IdStack {
 public:
  [[gnu::always_inline]] void push_back(std::uint32_t id) {
    if (size_ == room_) [[unlikely]]
      grow(size_ + 1);
    ids_[size_++] = id;
  }
  void pop_back() { --size_; }
  [[nodiscard]] std::uint32_t back() const { return ids_[size_ - 1]; }
  // Room for so many: nothing is allocated up to there.
  void reserve(std::size_t n) {
    if (n > room_) grow(n);
  }
  void clear() { size_ = 0; }
  void assign(std::span<const std::uint32_t> ids) {
    if (ids.size() > room_) grow(ids.size());
    std::copy(ids.begin(), ids.end(), ids_.get());
    size_ = ids.size();
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::uint32_t operator[](std::size_t i) const { return ids_[i]; }
  [[nodiscard]] std::uint32_t front() const { return ids_[0]; }
  [[nodiscard]] std::uint32_t* begin() { return ids_.get(); }
  [[nodiscard]] std::uint32_t* end() { return ids_.get() + size_; }
  [[nodiscard]] const std::uint32_t* begin() const { return ids_.get(); }
  [[nodiscard]] const std::uint32_t* end() const { return ids_.get() + size_; }

 private:
  [[gnu::noinline]] void grow(std::size_t least) {
    const std::size_t room = std::max<std::size_t>({least, 2 * room_, 16});
    auto more = std::make_unique_for_overwrite<std::uint32_t[]>(room);
    std::copy(begin(), end(), more.get());
    ids_ = std::move(more);
    room_ = room;
  }

  std::unique_ptr<std::uint32_t[]> ids_;
  std::size_t size_ = 0;
  std::size_t room_ = 0;
};

}  // namespace weft
