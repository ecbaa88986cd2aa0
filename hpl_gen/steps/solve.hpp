// The triangular solve at the end: U x = y, one block of x after the other from the last to the first.
//
// The block's owner solves, sends x up its process column, whose processes update the next (q - 1) nb rows of y first
// and pass them to the process column of the next block ("n1" rows, so that the chain goes on early), then the rest.
// Steps are numbered 0 .. ceil(n / nb) - 1 for blocks from the last to the first.
#pragma once

#include <cstdint>

#include "hpl_gen/grid.hpp"
#include "hpl_gen/hpl_dat.hpp"
#include "hpl_gen/steps/op_sink.hpp"

namespace weft::hpl_gen {

// Operations of `rank` in step `step`; the last step ends with the broadcast of the first block of x.
// O(log p) operations.
void emit_solve_step(const HplConfig& config, const ProcessGrid& grid, int rank, std::int64_t step,
                     OpSink& out);
// The first step after `step` in which `rank` may have something to do; steps + q at most. Each process column takes
// part in two of q steps, so that the steps of a rank cost O(N / NB / Q) instead of O(N / NB).
[[nodiscard]] std::int64_t next_solve_step(const HplConfig& config, const ProcessGrid& grid, int rank,
                                           std::int64_t step);

}  // namespace weft::hpl_gen
