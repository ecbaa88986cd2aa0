#include "core/containers/large_blocks.hpp"

#include <cstdint>
#include <new>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#endif

namespace weft {

#if defined(MAP_ANONYMOUS)
namespace {
constexpr std::size_t kPage = std::size_t{2} << 20;
std::size_t in_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }
}  // namespace

void* map_large_block(std::size_t bytes) {
  // One page more, as addresses of mappings are multiples of small pages; what is before and behind goes back.
  const std::size_t length = in_pages(bytes);
  void* const mapped =
      mmap(nullptr, length + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const std::size_t beyond = reinterpret_cast<std::uintptr_t>(mapped) % kPage;
  const std::size_t before = beyond == 0 ? 0 : kPage - beyond;
  char* const block = static_cast<char*>(mapped) + before;
  if (before > 0) (void)munmap(mapped, before);
  (void)munmap(block + length, kPage - before);
#if defined(MADV_HUGEPAGE)
  (void)madvise(block, length, MADV_HUGEPAGE);
#endif
  return block;
}

void unmap_large_block(void* block, std::size_t bytes) noexcept { (void)munmap(block, in_pages(bytes)); }
#else
void* map_large_block(std::size_t bytes) { return ::operator new (bytes, std::align_val_t{64}); }
void unmap_large_block(void* block, std::size_t) noexcept { ::operator delete (block, std::align_val_t{64}); }
#endif

}  // namespace weft
