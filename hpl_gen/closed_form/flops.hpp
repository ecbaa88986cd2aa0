// The floating-point work of a run, kernel by kernel, and where it exceeds HPL's own count.
//
// HPL reports 2/3 N^3 + 3/2 N^2 operations whatever it computes. What it computes is more: every process row solves for
// the whole of U by itself; BLAS counts a triangular solve by m^2 n, not m (m - 1) n; each column's search, scaling,
// and the residual check are not in the formula.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "hpl_gen/hpl_dat.hpp"
#include "traces/kernel.hpp"
#include "traces/trace.hpp"

namespace weft::hpl_gen {

struct KernelFlops {
  std::array<double, traces::kKernelCount> flops{};
  [[nodiscard]] double total() const;
  [[nodiscard]] double of(traces::Kernel k) const { return flops[static_cast<std::size_t>(k)]; }
  void add(const traces::KernelShape& shape) {
    flops[static_cast<std::size_t>(shape.kernel)] += traces::kernel_flops(shape);
  }
};

// By rank. Reads the whole trace from its start and rewinds it. Kernels of exchange_series operations count too.
[[nodiscard]] Result<std::vector<KernelFlops>> count_flops(traces::TraceReader& trace);

// Work of a run on one process, in closed form (sums over panels, not over columns). Exact: equal to count_flops().
//
// A panel of jb columns and m rows costs, whatever RFACT, PFACT, NBMIN, NDIV:
//   searches sum (m - j), scalings sum (m - j - 1), updates sum 2 (m - j - 1)(jb - 1 - j), j = 0 .. jb - 1,
// plus one for each pair of columns that a triangular solve joins (BLAS counts the unit diagonal): the pairs in
// different leaves of the recursion, and with left-looking leaves those within a leaf too.
// `with_check`: the norms and the residual after the clock has stopped.
[[nodiscard]] double one_process_flops(const HplConfig& config, bool with_check);

}  // namespace weft::hpl_gen
