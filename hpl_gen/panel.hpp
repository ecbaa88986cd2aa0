// A panel of the main loop, and a process of the grid at work on it: the words that all steps of HPL share.
//
// Panel k has the columns k NB .. (k+1) NB - 1 of the matrix, the last one may have fewer; the rows of its diagonal
// block have the same numbers. One process column owns it, one process row its diagonal block (the "current" row).
// Distances within a process column count from the current row downwards, around.
#pragma once

#include <algorithm>
#include <cstdint>

#include "hpl_gen/block_cyclic.hpp"
#include "hpl_gen/grid.hpp"
#include "hpl_gen/hpl_dat.hpp"

namespace weft::hpl_gen {

struct Panel {
  std::int64_t index = 0;
  std::int64_t first = 0;  // its first row and column
  std::int64_t width = 0;  // 0: behind the matrix
  int row = 0;             // process row of its diagonal block
  int col = 0;             // process column that owns it
  [[nodiscard]] std::int64_t end() const { return first + width; }
};
[[nodiscard]] inline Panel panel_of(const HplConfig& c, std::int64_t index) {
  const std::int64_t first = std::min(index * c.nb, c.n);
  return {index, first, std::min(c.nb, c.n - first), owner_of(first, c.nb, c.p), owner_of(first, c.nb, c.q)};
}

// A process and a panel.
struct PanelSeat {
  const ProcessGrid* grid = nullptr;
  int row = 0, col = 0;  // of the process
  Panel panel;
  std::int64_t rows = 0;  // local rows from the panel's first row on
  [[nodiscard]] bool owns() const { return col == panel.col; }
  [[nodiscard]] bool current() const { return row == panel.row; }
  // Local rows below the panel's block.
  [[nodiscard]] std::int64_t below() const { return rows - (current() ? panel.width : 0); }
  [[nodiscard]] int distance() const { return ring_sub(row, panel.row, grid->p); }
  [[nodiscard]] int row_at(int distance) const { return ring_add(distance, panel.row, grid->p); }
  // World rank of the process at that distance in this process column.
  [[nodiscard]] int rank_at(int distance) const { return grid->rank_of(row_at(distance), col); }
  [[nodiscard]] CommId col_comm() const { return grid->col_comm(col); }
  [[nodiscard]] CommId row_comm() const { return grid->row_comm(row); }
};
[[nodiscard]] inline PanelSeat seat_of(const HplConfig& c, const ProcessGrid& grid, int row, int col,
                                       std::int64_t index) {
  const Panel panel = panel_of(c, index);
  return {&grid, row, col, panel, local_count(panel.first, c.n, c.nb, row, c.p)};
}

// The recursion over n columns of a panel cuts them into parts of so many: a whole number of NBMIN columns, so that
// every leaf but the last is full. Precondition: n > NBMIN, else the columns are a leaf.
[[nodiscard]] constexpr std::int64_t recursion_part(const HplConfig& c, std::int64_t n) {
  const std::int64_t leaves = (n + c.nbmin - 1) / c.nbmin;
  return (leaves + c.ndiv - 1) / c.ndiv * c.nbmin;
}

}  // namespace weft::hpl_gen
