// Latency of a route: the sum of its links'. Each link may have any latency that a Duration holds; what the sum does not fit
// into is Duration::max(), past the end of simulated time.
#pragma once

#include <span>

#include "core/units.hpp"
#include "topology/fabric.hpp"

namespace weft::topology {

// a + b for a, b >= 0, at most Duration::max().
[[nodiscard]] inline Duration saturating_sum(Duration a, Duration b) {
  return a > Duration::max() - b ? Duration::max() : a + b;
}

// O(links of the route), both.
[[nodiscard]] inline TimeSum latency_sum(const LinkTable& links, std::span<const LinkId> route) {
  TimeSum sum;
  for (const LinkId l : route) sum += links.latency[l.index()];
  return sum;
}
[[nodiscard]] inline Duration latency_of(const LinkTable& links, std::span<const LinkId> route) {
  const TimeSum sum = latency_sum(links, route);
  return sum > Duration::max() ? Duration::max() : Duration(static_cast<std::int64_t>(sum.count()));
}

}  // namespace weft::topology
