#include "core/containers/large_pages.hpp"

#if defined(__linux__) && defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#endif

namespace weft {

// A block of its own makes the heap grow by all that is to be advised of. What the heap writes down at the end of that block would make
// small pages of the whole large one that it is on, so it stands just before the first.
void prefer_large_pages() {
#if defined(__linux__) && defined(__GLIBC__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t kPage = std::uintptr_t{1} << 21, kSmallPage = 4096;
  constexpr std::size_t kHeap = std::size_t{1} << 30;
  constexpr std::size_t kBlock = std::size_t{1} << 18;  // the heap has less than that when the program starts
  // The advice stays with its addresses, and what is freed at the top is kept.
  if (mallopt(M_MMAP_THRESHOLD, 1 << 25) == 0 || mallopt(M_TRIM_THRESHOLD, -1) == 0) return;
  const auto end = reinterpret_cast<std::uintptr_t>(sbrk(0));
  const std::uintptr_t first = (end + kBlock + kSmallPage + kPage - 1) / kPage * kPage;
  if (sbrk(static_cast<std::intptr_t>(first - kBlock - kSmallPage - end)) == reinterpret_cast<void*>(-1))
    return;
  if (mallopt(M_TOP_PAD, static_cast<int>(kHeap)) == 0) return;
  void* const block = std::malloc(kBlock);
  mallopt(M_TOP_PAD, 1 << 20);
  if (block == nullptr) return;
  // Elsewhere, if the system or another library has given out the addresses between.
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  if (at + kBlock <= first && first - at <= 2 * kBlock)
    (void)madvise(reinterpret_cast<void*>(first), kHeap - kPage, MADV_HUGEPAGE);
  std::free(block);
#endif
}

}  // namespace weft
