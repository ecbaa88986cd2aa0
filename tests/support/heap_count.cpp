#include "tests/support/heap_count.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace {

std::size_t held = 0, most = 0;

void* counted(std::size_t bytes) {
  void* p = std::malloc(bytes);
  if (p == nullptr) throw std::bad_alloc();
  held += malloc_usable_size(p);
  most = std::max(most, held);
  return p;
}
void given_back(void* p) {
  held -= p == nullptr ? 0 : malloc_usable_size(p);
  std::free(p);
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
// As the library's does, unless a sanitizer has its own, whose blocks are not to be given to free().
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return counted(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* p) noexcept { given_back(p); }
void operator delete(void* p, std::size_t) noexcept { given_back(p); }

namespace weft::support {

std::size_t heap_most() { return most; }
std::size_t restart_heap_most() { return most = held; }

}  // namespace weft::support
