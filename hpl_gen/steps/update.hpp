// The update of the trailing matrix with one panel: row swaps, triangular solve for U, multiplication L2 x U.
//
// The solve for U is done by every process row for itself: no second broadcast, p times the work on U (jb^2 flops a
// column): that is the greater part of what HPL computes beyond its own 2/3 n^3.
//
// With look-ahead the broadcast of a later panel is polled: at entry, between the messages of the swap, and after
// every NB columns of the multiplication. A program that polls works in pieces of NB columns until the panel came and
// does the rest in one; since the moment is the network's, a generated trace has the pieces to the end
// (`most_pieces` bounds them), and waits after the last.
#pragma once

#include <cstdint>

#include "hpl_gen/steps/panel_bcast.hpp"
#include "hpl_gen/steps/row_swap.hpp"

namespace weft::hpl_gen {

// A process in the update with a panel; n = local columns to update.
struct UpdateSeat : SwapSeat {
  std::int64_t most_pieces = 0;  // 0 = as many as it takes
  const HplConfig* config = nullptr;
};

// Emits the update; completes `bcast` at its end if that is still pending.
void emit_update(const UpdateSeat& seat, PanelBcast& bcast, OpSink& out);

}  // namespace weft::hpl_gen
