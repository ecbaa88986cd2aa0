// Sums of bytes that never wrap in silence: what does not fit stays at kTooManyBytes, however much is added. Who tells a sum asks
// for that first.
#pragma once

#include <cstdint>

namespace weft {

inline constexpr std::uint64_t kTooManyBytes = UINT64_MAX;
// What the error says.
inline constexpr const char* kBytesPastTheEnd = "more bytes in all than 64 bits hold";

[[nodiscard]] constexpr std::uint64_t add_bytes(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? kTooManyBytes : sum;
}
[[nodiscard]] constexpr std::uint64_t times_bytes(std::uint64_t n, std::uint64_t bytes) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(n, bytes, &product) ? kTooManyBytes : product;
}

}  // namespace weft
