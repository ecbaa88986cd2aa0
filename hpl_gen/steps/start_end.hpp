// What HPL does before and after the timed part: reading HPL.dat, splitting communicators, allocation check, barrier;
// time combination, residual check. All of it in HPL's own collectives (collectives.hpp).
#pragma once

#include "hpl_gen/grid.hpp"
#include "hpl_gen/hpl_dat.hpp"
#include "hpl_gen/steps/op_sink.hpp"

namespace weft::hpl_gen {

// MPI_Init and the distribution of HPL.dat's contents from world rank 0.
void emit_program_start(const HplDat& dat, int world_size, int rank, OpSink& out);
// Splits `grid` off the world; ranks beyond it get no communicator. emit_grid_end frees them.
void emit_grid_start(const ProcessGrid& grid, int rank, OpSink& out);
void emit_grid_end(const ProcessGrid& grid, int rank, OpSink& out);
// Around one run, on the ranks of its grid: from the allocation check to the barrier before the clock starts, and from
// the clock's combination to the residual.
void emit_run_start(const ProcessGrid& grid, int rank, OpSink& out);
void emit_run_end(const HplConfig& config, const ProcessGrid& grid, int rank, OpSink& out);

}  // namespace weft::hpl_gen
