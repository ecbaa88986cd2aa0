// The median of a list of numbers: what one odd measurement moves nothing of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft::topology::fit {

// 0 of none.
[[nodiscard]] inline double median(std::vector<double> v) {
  if (v.empty()) return 0;
  const std::size_t mid = v.size() / 2;
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(mid), v.end());
  const double high = v[mid];
  if (v.size() % 2 == 1) return high;
  return (high + *std::max_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(mid))) / 2;
}

}  // namespace weft::topology::fit
