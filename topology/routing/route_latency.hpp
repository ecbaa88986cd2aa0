// Latency of a route: the sum of its links', at most what a Duration holds: links may have any latency up to that each.
#pragma once

#include <span>

#include "core/units.hpp"
#include "topology/fabric.hpp"

namespace weft::topology {

// a + b for a, b >= 0, at most Duration::max().
[[nodiscard]] inline Duration saturating_sum(Duration a, Duration b) {
  return a > Duration::max() - b ? Duration::max() : a + b;
}

// O(links of the route).
[[nodiscard]] inline Duration latency_of(const LinkTable& links, std::span<const LinkId> route) {
  Duration sum(0);
  for (const LinkId l : route) sum = saturating_sum(sum, links.latency[l.index()]);
  return sum;
}

}  // namespace weft::topology
