// Calls of a kernel as they were measured, shape by shape: what a fit of calls is made of.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "core/result.hpp"
#include "topology/fit/kernel_fit.hpp"
#include "topology/fit/measurements.hpp"

namespace weft::topology::fit {

struct Call {
  double m = 1, n = 1, k = 1, seconds = 0;
  std::size_t row = 0;  // of the measurements
  [[nodiscard]] std::tuple<double, double, double> shape() const { return {m, n, k}; }
};

// Errors: a dimension that the kernel has and the file has not; a cell that is no number.
[[nodiscard]] Result<std::vector<Call>> read_calls(const Measurements& d,
                                                   const std::vector<std::size_t>& rows,
                                                   const KernelFitOptions& o);

// Takes out the calls that are far from the others of their shape: by more than kFarFactor and kFarDeviations robust
// deviations (of the logarithm: fast ones count as slow ones do). A shape of which more than a tenth, and more than one
// call, is far keeps them all: that is how it scatters. O(n log n).
inline constexpr double kFarFactor = 2;
inline constexpr double kFarDeviations = 8;
[[nodiscard]] std::vector<FarCall> take_far_calls(const Measurements& d, std::vector<Call>& calls);

// The kinds of a kernel that measurements name together: dtrsm for dtrsm_left, dlaswp for dlaswp03; else the kernel.
[[nodiscard]] std::string family_of_kernel(const std::string& kernel);

}  // namespace weft::topology::fit
