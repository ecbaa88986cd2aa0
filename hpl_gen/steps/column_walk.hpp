// The order in which a process column factors panels and swaps rows: the main loop of HPL seen from one column, with
// look-ahead and without. hpl_trace.cpp makes operations of it rank by rank; this is for who needs the events only.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/result.hpp"
#include "hpl_gen/block_cyclic.hpp"
#include "hpl_gen/hpl_dat.hpp"

namespace weft::hpl_gen {

// Calls factor(panel) and swap(panel, local columns) in program order; both return Result<void>, and the first error
// ends the walk. swap() is called with more than 0 columns and an existing panel only.
template <class Factor, class Swap>
[[nodiscard]] Result<void> walk_column(const HplConfig& c, int column, Factor&& factor, Swap&& swap) {
  const int depth = c.q == 1 ? 0 : c.depth;
  const std::int64_t panels = std::max<std::int64_t>(c.panels(), c.n > 0 ? depth : 0);
  const std::int64_t filled = std::min(depth * c.nb, c.n);
  const auto columns = [&](std::int64_t from, std::int64_t to) {
    return local_count(from, to, c.nb, column, c.q);
  };
  const auto update = [&](std::int64_t panel, std::int64_t n) -> Result<void> {
    if (n <= 0 || panel * c.nb >= c.n) return {};
    return swap(panel, n);
  };
  for (std::int64_t k = 0; k < panels; ++k) {
    const std::int64_t first = std::min(k * c.nb, c.n), end = std::min((k + 1) * c.nb, c.n);
    const bool owns = end > first && owner_of(first, c.nb, c.q) == column;
    if (owns && k >= depth)
      for (std::int64_t e = k - depth; e < k; ++e) WEFT_TRY(update(e, end - first));
    if (owns) WEFT_TRY(factor(k));
    if (k >= depth)
      WEFT_TRY(update(k - depth, columns(end, c.n + 1)));
    else if (k + 1 < depth)
      WEFT_TRY(update(k, columns(end, filled)));
  }
  for (std::int64_t k = panels - depth; k < panels; ++k) WEFT_TRY(update(k, columns(c.n, c.n + 1)));
  return {};
}

}  // namespace weft::hpl_gen
