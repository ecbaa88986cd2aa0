#include "cli/large_pages.hpp"

#if defined(__linux__) && defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#endif

namespace weft::cli {

void prefer_large_pages() {
#if defined(__linux__) && defined(__GLIBC__) && defined(MADV_HUGEPAGE)
  constexpr std::size_t kHeap = std::size_t{1} << 30;
  constexpr std::uintptr_t kPage = std::uintptr_t{1} << 21;
  // One block grows the heap, the advice stays with its addresses, and what is freed at the top is kept.
  if (mallopt(M_MMAP_THRESHOLD, 1 << 25) == 0 || mallopt(M_TRIM_THRESHOLD, -1) == 0) return;
  if (mallopt(M_TOP_PAD, static_cast<int>(kHeap)) == 0) return;
  void* const block = std::malloc(1 << 22);
  mallopt(M_TOP_PAD, 1 << 20);
  if (block == nullptr) return;
  const std::uintptr_t beyond = reinterpret_cast<std::uintptr_t>(block) % kPage;
  char* const begin = static_cast<char*>(block) + (beyond == 0 ? 0 : kPage - beyond);
  (void)madvise(begin, kHeap - kPage, MADV_HUGEPAGE);
  std::free(block);
#endif
}

}  // namespace weft::cli
