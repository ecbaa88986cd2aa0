// The factorisation of a panel as one exchange_series operation: the same kernels and as many pivot exchanges, without
// an operation for each (traces/exchange_series.hpp).
//
// A PanelProgram is cut at its exchanges into steps; consecutive steps with the same kernels and shapes that change by
// a constant become one segment (all columns of a leaf but its first, whatever PFACT). Local rows enter the shapes as a
// constant, so that a series is made once for a width and filled in for each process.
#pragma once

#include <cstdint>
#include <vector>

#include "hpl_gen/steps/panel_factor.hpp"

namespace weft::hpl_gen {

struct PanelSeries {
  std::vector<std::int64_t> values;    // segments, with local rows taken as 0
  std::vector<std::uint32_t> rows_at;  // positions in `values` to which local rows are added
  std::vector<std::uint32_t>
      candidates_at;  // ... of copies of candidate rows, which a process without rows does not make
};

// O(instructions).
[[nodiscard]] PanelSeries make_panel_series(const PanelProgram& program, std::int64_t jb, bool current);
// `scratch` is any vector; its memory is reused.
void emit_panel_series(const PanelSeries& series, const PanelSeat& seat, const PivotCalls& calls,
                       std::vector<std::int64_t>& scratch, OpSink& out);

}  // namespace weft::hpl_gen
