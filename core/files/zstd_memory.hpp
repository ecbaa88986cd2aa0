// Memory that zstd could not get ends as memory that `new` could not: std::bad_alloc. Header only: who includes it links
// zstd.
#pragma once

#include <zstd.h>
#include <zstd_errors.h>

#include <cstddef>
#include <new>

namespace weft {

// A context that ZSTD_create...() made.
template <class T>
[[nodiscard]] T* zstd_made(T* context) {
  if (context == nullptr) throw std::bad_alloc();
  return context;
}

// What a function of zstd returned: a size, or an error that is not about memory.
inline std::size_t zstd_result(std::size_t n) {
  if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return n;
}

}  // namespace weft
