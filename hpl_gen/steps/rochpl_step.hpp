// One iteration of rocHPL: what a process and its accelerator do while panel k + 1 is factored.
//
// The host of a process queues kernels on its accelerator and goes on; where it needs what they make, it waits. So the
// order of the two is the program (ROCm/rocHPL 6.1, src/pgesv/HPL_pdgesv.cpp), and what hides behind what follows:
//
//   accelerator   | rows in, update of   | rows in, update of the     | pack | rows in, update of the | pack |
//                 | the look-ahead cols  | second part with panel k   |      | first part, panel k    |      |
//   host          .......................| copy, factor panel k+1, copy, send it | exchange rows of   | exchange rows of the
//                                                                     | the first part with panel k   | second part, panel k+1,
//                                                                                                     | then of the look-ahead's
//
// The columns of a process behind the panel are in three parts: the look-ahead's (those of the next panel), a second
// one of `split` of its columns, and a first one, which is what is left and runs out first. The swap of the second part
// hides behind the update of the first, that of the first behind the update of the second; when there is no first part
// left, nothing hides the swap. With one process row rows are swapped on the accelerator, and there is no first part.
//
// Regions: pfact holds the panel's copies too; bcast and swap are the host in messages; update is the host waiting for
// its accelerator, that is, the part of the update that nothing hid.
#pragma once

#include <array>
#include <cstdint>

#include "hpl_gen/panel.hpp"
#include "hpl_gen/steps/op_sink.hpp"
#include "hpl_gen/steps/row_exchange.hpp"

namespace weft::hpl_gen {

// Parts of the columns of a process behind a panel.
enum class RocHplPart : std::uint8_t { kLookAhead, kFirst, kSecond };

// A panel as rocHPL lays it out for one process.
struct RocHplPanel : PanelSeat {
  const HplConfig* config = nullptr;
  const RowExchange* moves = nullptr;  // with more than one process row
  std::array<std::int64_t, 3> columns{};
  std::array<std::int64_t, 3> width{};  // doubles of a row of U: columns, padded
  std::int64_t words = 0;               // doubles of the panel's message
  [[nodiscard]] std::int64_t columns_of(RocHplPart part) const {
    return columns[static_cast<std::size_t>(part)];
  }
};
[[nodiscard]] RocHplPanel rochpl_panel(const HplConfig& config, const PanelSeat& seat,
                                       const RowExchange* moves);

// Kernels whose end somebody waits for, a bit each; the accelerator's are done when all are.
using RocHplLaunches = std::uint8_t;

// Until panel `next` is at the host, if the process owns it. `curr`: the panel before; null at the first panel.
void emit_rochpl_until_factor(const RocHplPanel* curr, const RocHplPanel& next, RocHplLaunches& launched,
                              OpSink& out);
// From its factorisation on to the end of the iteration.
void emit_rochpl_after_factor(const RocHplPanel* curr, const RocHplPanel& next, RocHplLaunches& launched,
                              OpSink& out);
// After the last iteration: what is left to update, the right-hand side.
void emit_rochpl_end(const RocHplPanel& last, RocHplLaunches& launched, OpSink& out);

}  // namespace weft::hpl_gen
