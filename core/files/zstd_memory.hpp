// Memory that zstd could not get ends as memory that `new` could not: std::bad_alloc. Header only: who includes it links
// zstd.
#pragma once

#include <zstd.h>
#include <zstd_errors.h>

#include <cstddef>

#include "core/out_of_memory.hpp"

namespace weft {

// What a function of zstd returned: a size, or an error that is not about memory.
inline std::size_t zstd_result(std::size_t n) {
  if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation) no_memory_for_a_library();
  return n;
}

}  // namespace weft
