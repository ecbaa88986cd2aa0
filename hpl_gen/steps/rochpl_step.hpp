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
// NVIDIA's program (Program::kNvidia) is closed; it is taken to go in the same order, with these differences
// (docs/hpl.md, 12):
// - messages leave from and arrive in the host's memory, so panel and rows are copied on either side;
// - the columns that do not fit into the accelerator, the first that a process has, stay in the host's memory; each
//   update brings them to the accelerator and back, beside its kernels, on the queue for copies (docs/model.md).
enum class RocHplPart : std::uint8_t { kLookAhead, kFirst, kSecond };

// A panel as rocHPL lays it out for one process.
struct RocHplPanel : PanelSeat {
  const HplConfig* config = nullptr;
  const RowExchange* moves = nullptr;  // with more than one process row
  std::array<std::int64_t, 3> columns{};
  std::array<std::int64_t, 3> width{};  // doubles of a row of U: columns, padded
  std::int64_t words = 0;               // doubles of the panel's message
  std::int64_t streamed = 0;            // columns behind the panel that stay in the host's memory
  [[nodiscard]] bool through_host() const { return config->program == Program::kNvidia; }
  [[nodiscard]] std::int64_t columns_of(RocHplPart part) const {
    return columns[static_cast<std::size_t>(part)];
  }
};
// Columns of a process that its accelerator has no room for beside its buffers, whole blocks. What HPL-NVIDIA 1.0 prints as CPU_COLS before it starts is that, over 4 sizes.
[[nodiscard]] std::int64_t columns_without_room(std::int64_t memory, std::int64_t rows, std::int64_t columns,
                                                std::int64_t nb);

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
