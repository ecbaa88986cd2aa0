// LargeBlocks: an allocator for tables that grow to tens of MB.
//
// A block of 4 MiB or more is a mapping of its own, on large pages where the system has them. So what a table has grown out of is free
// for all at once, and the half of the new block that nothing stands in yet takes no memory. From the heap both would be holes, which
// later blocks fit into by chance: a replay that takes 260 MB took 370 MB if a file was opened before it. Smaller blocks come
// from the heap. Throws std::bad_alloc where there is no memory.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>

namespace weft {

// Whole pages at an address that is a multiple of 2 MiB. REQUIRES: bytes >= kLargeBlock; to unmap, those that were mapped.
inline constexpr std::size_t kLargeBlock = std::size_t{4} << 20;
[[nodiscard]] void* map_large_block(std::size_t bytes);
void unmap_large_block(void* block, std::size_t bytes) noexcept;

template <class T>
struct LargeBlocks {
  using value_type = T;
  LargeBlocks() = default;
  template <class U>
  explicit(false) LargeBlocks(const LargeBlocks<U>&) {}

  [[nodiscard]] T* allocate(std::size_t n) {
    if (n > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    const std::size_t bytes = n * sizeof(T);
    if (bytes >= kLargeBlock) return static_cast<T*>(map_large_block(bytes));
    return std::allocator<T>().allocate(n);
  }
  void deallocate(T* block, std::size_t n) noexcept {
    if (n * sizeof(T) >= kLargeBlock) return unmap_large_block(block, n * sizeof(T));
    std::allocator<T>().deallocate(block, n);
  }
  friend bool operator==(const LargeBlocks&, const LargeBlocks&) { return true; }
};

}  // namespace weft
