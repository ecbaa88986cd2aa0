// The process grid within a node that rocHPL lays: its -p and -q, completed and refused as it does.
//
// ROCm/rocHPL 6.1 asks MPI how many processes the node has. Of -p or -q alone the other is what is left of them; both must
// multiply to them; they must divide P and Q (src/HPL_pdinfo.cpp). Of neither its launcher takes as many columns as the node
// has processes and Q has columns, and rows for the rest (scripts/run_rochpl.in, which mpirun_rochpl runs, too). The program
// without the launcher takes one row: where that runs, both are the same.
// With PMAP row it checks all that, too, and then fills the grid row by row whatever the nodes are (grid.hpp).
#pragma once

#include "core/result.hpp"
#include "hpl_gen/hpl_dat.hpp"

namespace weft::hpl_gen {

// `c` with both sides of the grid within a node, each of which has `on_node` processes of it; 0: that is not known, and a run
// that says neither keeps neither, all its processes as on one node. What runs programs other than rocHPL stays as it is: of them
// nobody knows that they ask. Doing it twice changes nothing.
// Errors: one side alone where `on_node` is 0 (kUsage); what rocHPL refuses (kBadInput).
[[nodiscard]] Result<HplConfig> with_node_grid(HplConfig c, int on_node);

// Whether the program of `dat` runs on the grid, with `on_node` processes on each node.
[[nodiscard]] bool takes_grid(const HplDat& dat, const Grid& grid, int on_node);

}  // namespace weft::hpl_gen
