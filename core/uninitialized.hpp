// Uninitialized: the allocator of a vector whose resize() leaves new rows as the memory was, for who writes each of them
// right after. To make them first costs as much as to write them.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace weft {

template <class T>
struct Uninitialized : std::allocator<T> {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  Uninitialized() = default;
  template <class U>
  explicit Uninitialized(const Uninitialized<U>& /*other*/) {}
  template <class U>
  struct rebind {
    using other = Uninitialized<U>;
  };
  template <class U>
  void construct(U* /*row*/) noexcept {}
  template <class U, class First, class... Rest>
  void construct(U* row, First&& first, Rest&&... rest) {
    std::construct_at(row, std::forward<First>(first), std::forward<Rest>(rest)...);
  }
};

}  // namespace weft
