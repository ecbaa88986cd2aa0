// The order in which a process column factors panels and swaps rows: the main loop of HPL seen from one column, with
// look-ahead and without. hpl_trace.cpp makes operations of it, rank by rank; callers of this walk need only its
// events: a panel factored, rows swapped.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/result.hpp"
#include "hpl_gen/panel.hpp"

namespace weft::hpl_gen {

// Calls factor(panel) and swap(panel, local columns) in program order; both return Result<void>, and the first error
// ends the walk. swap() is called with more than 0 columns and an existing panel only.
template <class Factor, class Swap>
[[nodiscard]] Result<void> walk_column(const HplConfig& c, int column, Factor&& factor, Swap&& swap) {
  const int depth = c.look_ahead();
  const std::int64_t panels = std::max<std::int64_t>(c.panels(), c.n > 0 ? depth : 0);
  const std::int64_t filled = std::min(depth * c.nb, c.n);
  const auto columns = [&](std::int64_t from, std::int64_t to) {
    return local_count(from, to, c.nb, column, c.q);
  };
  const auto update = [&](std::int64_t k, std::int64_t n) -> Result<void> {
    if (n <= 0 || k * c.nb >= c.n) return {};
    return swap(k, n);
  };
  for (std::int64_t k = 0; k < panels; ++k) {
    const Panel panel = panel_of(c, k);
    const bool owns = panel.width > 0 && panel.col == column;
    if (owns && k >= depth)
      for (std::int64_t e = k - depth; e < k; ++e) WEFT_TRY(update(e, panel.width));
    if (owns) WEFT_TRY(factor(k));
    if (k >= depth)
      WEFT_TRY(update(k - depth, columns(panel.end(), c.n + 1)));
    else if (k + 1 < depth)
      WEFT_TRY(update(k, columns(panel.end(), filled)));
  }
  for (std::int64_t k = panels - depth; k < panels; ++k) WEFT_TRY(update(k, columns(c.n, c.n + 1)));
  return {};
}

}  // namespace weft::hpl_gen
