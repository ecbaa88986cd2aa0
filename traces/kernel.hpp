// Computational kernels as a trace names them: OpKind::compute_kernel carries list = {kernel, m, n, k}, so that a
// platform's own rate for that kernel and shape applies, not a flop rate that fits no kernel.
//
// Flops follow the BLAS convention that HPL's own counts use (dgemm 2mnk, triangular solve m*m*n or m*n*n, ...); data
// movement counts none. Bytes are the least memory traffic of a kernel that reuses nothing from cache but its
// result: what a roofline needs for the memory-bound ones.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace weft::traces {

// X(name, flops(m, n, k), bytes(m, n, k), what it is). Order and values are part of the file format: append only.
#define WEFT_KERNELS(X)                                                                                     \
  X(dgemm, 2.0 * m * n * k, 8.0 * (m * k + k * n + 2.0 * m * n), "C(m x n) += A(m x k) B(k x n)")           \
  X(dtrsm_left, m* m* n, 8.0 * (m * m / 2.0 + 2.0 * m * n), "triangular solve, triangle m x m on the left") \
  X(dtrsm_right, m* n* n, 8.0 * (n * n / 2.0 + 2.0 * m * n), "triangular solve, triangle n x n right")      \
  X(dgemv, 2.0 * m * n, 8.0 * (m * n + m + n), "matrix (m x n) times vector")                               \
  X(dger, 2.0 * m * n, 8.0 * (2.0 * m * n + m + n), "rank-one update of m x n")                             \
  X(dtrsv, m* m, 8.0 * (m * m / 2.0 + 2.0 * m), "triangular solve, m x m, one vector")                      \
  X(daxpy, 2.0 * m, 24.0 * m, "y += a x, m elements")                                                       \
  X(dscal, m, 16.0 * m, "x *= a, m elements")                                                               \
  X(idamax, m, 8.0 * m, "index of the largest of m elements")                                               \
  X(dswap, 0.0 * m, 32.0 * m, "exchange of two vectors of m elements")                                      \
  X(dcopy, 0.0 * m, 16.0 * m, "copy of m elements")                                                         \
  X(dlacpy, 0.0 * m, 16.0 * m * n, "copy of a matrix m x n")                                                \
  X(dlatcpy, 0.0 * m, 16.0 * m * n, "copy of a matrix m x n, transposed")                                   \
  X(dlaswp, 0.0 * m, 16.0 * m * n, "m rows of n columns copied between a matrix and a buffer")              \
  X(dlaswp00, 0.0 * m, 16.0 * m * n, "... swapped in place by a list of pivots")                            \
  X(dlaswp01, 0.0 * m, 16.0 * m * n, "... into U and, those that stay, to their place in A")                \
  X(dlaswp02, 0.0 * m, 16.0 * m * n, "... of A gathered into a buffer")                                     \
  X(dlaswp03, 0.0 * m, 16.0 * m * n, "... scattered from a buffer into U")                                  \
  X(dlaswp04, 0.0 * m, 16.0 * m * n, "... from U into A and from a buffer into U")                          \
  X(dlaswp05, 0.0 * m, 16.0 * m * n, "... from U into A")                                                   \
  X(dlaswp06, 0.0 * m, 16.0 * m * n, "... swapped between U and A")                                         \
  X(dlaswp10, 0.0 * m, 16.0 * m * n, "... of U put into another order")                                     \
  X(device_dgemm, 2.0 * m * n * k, 8.0 * (m * k + k * n + 2.0 * m * n), "dgemm on an accelerator")          \
  X(device_dtrsm_left, m* m* n, 8.0 * (m * m / 2.0 + 2.0 * m * n), "dtrsm_left on an accelerator")          \
  X(device_dtrsm_right, m* n* n, 8.0 * (n * n / 2.0 + 2.0 * m * n), "dtrsm_right on an accelerator")        \
  X(device_dgemv, 2.0 * m * n, 8.0 * (m * n + m + n), "dgemv on an accelerator")                            \
  X(device_dtrsv, m* m, 8.0 * (m * m / 2.0 + 2.0 * m), "dtrsv on an accelerator")                           \
  X(device_daxpy, 2.0 * m, 24.0 * m, "daxpy on an accelerator")                                             \
  X(device_dlatcpy, 0.0 * m, 16.0 * m * n, "dlatcpy, or dlacpy, on an accelerator")                         \
  X(device_dlaswp, 0.0 * m, 16.0 * m * n, "m rows of n columns copied, on an accelerator")                  \
  X(copy_to_host, 0.0 * m, 8.0 * m * n, "m x n numbers from an accelerator to the host")                    \
  X(copy_to_device, 0.0 * m, 8.0 * m * n, "m x n numbers from the host to an accelerator")

enum class Kernel : std::uint8_t {
#define WEFT_X(name, flops, bytes, doc) name,
  WEFT_KERNELS(WEFT_X)
#undef WEFT_X
};
inline constexpr std::size_t kKernelCount = static_cast<std::size_t>(Kernel::copy_to_device) + 1;

// Between an accelerator and its host.
[[nodiscard]] constexpr bool is_device_copy(Kernel k) {
  return k == Kernel::copy_to_host || k == Kernel::copy_to_device;
}

[[nodiscard]] constexpr bool runs_on_device(Kernel k) {
  return k >= Kernel::device_dgemm && k <= Kernel::device_dlaswp;
}

// The kernel whose entry a platform uses where it has none for k: the copies of HPL's row swap, numbered as its
// functions HPL_dlaswpXX are, are kinds of dlaswp; what runs on an accelerator is a kind of the kernel without
// "device_", for platforms whose ranks are the accelerators. k itself where there is no wider one.
[[nodiscard]] constexpr Kernel wider_kernel(Kernel k) {
  if (k >= Kernel::dlaswp00 && k <= Kernel::dlaswp10) return Kernel::dlaswp;
  switch (k) {
    case Kernel::device_dgemm:
      return Kernel::dgemm;
    case Kernel::device_dtrsm_left:
      return Kernel::dtrsm_left;
    case Kernel::device_dtrsm_right:
      return Kernel::dtrsm_right;
    case Kernel::device_dgemv:
      return Kernel::dgemv;
    case Kernel::device_dtrsv:
      return Kernel::dtrsv;
    case Kernel::device_daxpy:
      return Kernel::daxpy;
    case Kernel::device_dlatcpy:
      return Kernel::dlatcpy;
    case Kernel::device_dlaswp:
      return Kernel::dlaswp;
    default:
      return k;
  }
}

inline constexpr std::array<std::string_view, kKernelCount> kKernelNames = {
#define WEFT_X(name, flops, bytes, doc) #name,
    WEFT_KERNELS(WEFT_X)
#undef WEFT_X
};

// Shape of a call; a dimension that the kernel does not have is 1.
struct KernelShape {
  Kernel kernel{};
  std::int64_t m = 1, n = 1, k = 1;
};

struct KernelWork {
  double flops = 0, bytes = 0;
};

[[nodiscard]] constexpr KernelWork kernel_work(const KernelShape& s) {
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  switch (s.kernel) {
#define WEFT_X(name, flops, bytes, doc) \
  case Kernel::name:                    \
    return {flops, bytes};
    WEFT_KERNELS(WEFT_X)
#undef WEFT_X
  }
  return {};
}
[[nodiscard]] constexpr double kernel_flops(const KernelShape& s) { return kernel_work(s).flops; }
[[nodiscard]] constexpr double kernel_bytes(const KernelShape& s) { return kernel_work(s).bytes; }

static_assert(kernel_flops({Kernel::dgemm, 2, 3, 4}) == 48.0);
static_assert(kernel_flops({Kernel::dtrsm_left, 4, 5, 1}) == 80.0 &&
              kernel_flops({Kernel::dtrsm_right, 4, 5, 1}) == 100.0);
static_assert(kernel_bytes({Kernel::dcopy, 10, 1, 1}) == 160.0);

}  // namespace weft::traces
