// What Weft asks of zstd: memory that it could not get ends as memory that `new` could not, std::bad_alloc; blocks that are read fast.
// Header only: who includes it links zstd.
#pragma once

#define ZSTD_STATIC_LINKING_ONLY  // literals as they are

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

// For ZSTD_compress2 of blocks at that level. Bytes that zstd finds nowhere before are stored as they are: to code them by Huffman makes the
// blocks of an HPL trace 9 % smaller and takes two thirds more instructions to read; where a rank has one block of 200 bytes, it takes
// 15,000 to make its table again.
inline void keep_literals(ZSTD_CCtx* context, int level) {
  constexpr int kAsTheyAre = 2;  // ZSTD_ps_disable; before zstd 1.5, ZSTD_lcm_uncompressed
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  // A library that does not know it makes blocks that are read as well.
  ZSTD_CCtx_setParameter(context, ZSTD_c_literalCompressionMode, kAsTheyAre);
}

}  // namespace weft
