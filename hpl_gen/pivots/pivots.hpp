// Where the pivots of a run come from. Only the row swaps depend on them: which rows change places, hence how many
// rows each process row sends. Everything else of HPL's communication follows from HPL.dat alone.
//
// A pivot is written as HPL and LAPACK write it: step i exchanges row i with row piv[i] >= i, both as positions at
// that moment (not original row numbers).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace weft::hpl_gen {

class PivotSource {
 public:
  virtual ~PivotSource() = default;
  // Pivots of steps first .. first + out.size() - 1 of a matrix of order n. The same for every call with the same
  // arguments, whatever was asked before: ranks ask for panels in no particular order.
  virtual void pivots(std::int64_t first, std::int64_t n, std::span<std::int64_t> out) const = 0;
  [[nodiscard]] virtual std::string describe() const = 0;
};

// Pivots of a random matrix, by seed. If the rows of a matrix are drawn independently from one distribution, the rows
// that are left after i steps are exchangeable: which of them wins the search depends on their values only, not on
// their positions. So the pivot of step i is uniform over the positions i .. n-1, independent of the steps before.
// O(1) an element, no memory.
[[nodiscard]] std::unique_ptr<PivotSource> random_pivots(std::uint64_t seed);

// The pivots of HPL's own matrix: generates it (a 64-bit linear congruential generator, element (i, j) being number
// j * n + i of the sequence) and factors it with LAPACK's dgetrf. n^2 doubles of memory and 2/3 n^3 flops here and
// now; n numbers stay. HPL's matrix seed is 100. Needs little of the caller's stack.
// Errors: kNotSupported if n > kMaxExactOrder, memory is short or LAPACK is not there.
[[nodiscard]] Result<std::unique_ptr<PivotSource>> exact_pivots(std::int64_t n, std::int64_t matrix_seed);
inline constexpr std::int64_t kMaxExactOrder = 40000;

// Exact pivots of several orders, each factored when it is first asked for: a prediction asks once a window. Any
// thread.
class ExactPivots {
 public:
  explicit ExactPivots(std::int64_t matrix_seed) : matrix_seed_(matrix_seed) {}
  // Errors: as exact_pivots.
  [[nodiscard]] Result<std::shared_ptr<const PivotSource>> of(std::int64_t n);

 private:
  std::int64_t matrix_seed_;
  std::mutex mutex_;
  std::map<std::int64_t, std::shared_ptr<const PivotSource>> by_order_;
};

}  // namespace weft::hpl_gen
