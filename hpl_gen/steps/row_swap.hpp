// The row swaps of the trailing matrix: each process column brings the jb rows of U to all its process rows and sends
// the displaced rows where they belong. Tag 1001, column communicator. Two algorithms:
//
//  - binary exchange (SWAP 0): the current row's U travels down a hypercube while the other rows' contributions gather
//    towards it: log2(p) steps of n x jb doubles. A contribution is sent as rows of n + 1 doubles (the row and its
//    place). Process rows beyond the largest power of two fold in before and get U after.
//  - spread-roll (SWAP 1): the current row spreads the rows that the others get in exchange down a binomial tree
//    ("spread"); each then holds its own part of U, equilibration evens the parts out, and p - 1 exchanges with the
//    neighbours in turn hand every part to everyone ("roll").
//  mix (SWAP 2): spread-roll where n exceeds the threshold.
//
// `bcast` is the look-ahead's broadcast, polled between the messages (panel_bcast.hpp).
#pragma once

#include <cstdint>

#include "hpl_gen/steps/panel_bcast.hpp"
#include "hpl_gen/steps/row_exchange.hpp"

namespace weft::hpl_gen {

// A process in the swaps of a panel's rows.
struct SwapSeat : PanelSeat {
  const RowExchange* moves = nullptr;
  std::int64_t n = 0;  // local columns to swap
  bool equil = true;
};

// Preconditions of both: grid->p > 1, n > 0, panel.width > 0.
void binary_exchange_swap(const SwapSeat& seat, PanelBcast& bcast, OpSink& out);
void spread_roll_swap(const SwapSeat& seat, PanelBcast& bcast, OpSink& out);

}  // namespace weft::hpl_gen
