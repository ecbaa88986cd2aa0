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
  constexpr std::uintptr_t kFailed = ~std::uintptr_t{0};  // what sbrk() returns then
  constexpr std::size_t kHeap = std::size_t{1} << 30;
  constexpr std::size_t kBlock = std::size_t{1} << 18;  // the heap has less than that when the program starts
  const auto address = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p); };
  // The advice stays with its addresses, and what is freed at the top is kept.
  if (mallopt(M_MMAP_THRESHOLD, 1 << 25) == 0 || mallopt(M_TRIM_THRESHOLD, -1) == 0) return;
  auto* const end = static_cast<char*>(sbrk(0));
  const std::uintptr_t beyond = (address(end) + kBlock + kSmallPage) % kPage;
  char* const first = end + kBlock + kSmallPage + (beyond == 0 ? 0 : kPage - beyond);
  if (address(sbrk(first - kBlock - kSmallPage - end)) == kFailed) return;
  if (mallopt(M_TOP_PAD, static_cast<int>(kHeap)) == 0) return;
  void* const block = std::malloc(kBlock);
  mallopt(M_TOP_PAD, 1 << 20);
  if (block == nullptr) return;
  // Elsewhere, if the system or another library has given out the addresses between.
  if (address(block) + kBlock <= address(first) && address(first) - address(block) <= 2 * kBlock)
    (void)madvise(first, kHeap - kPage, MADV_HUGEPAGE);
  std::free(block);
#endif
}

}  // namespace weft
