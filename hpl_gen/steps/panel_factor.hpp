// The factorisation of one panel: what each process of the panel's column computes, and the pivot exchanges between.
//
// A panel of jb columns is factored by recursion (RFACT: left-looking, Crout, right-looking; NDIV parts, down to NBMIN
// columns), and the leaves column by column (PFACT). All processes of the column run the same program; shapes differ
// only in the number m of local rows, and where a process owns the diagonal block ("current" row) its m shrinks by
// one with each column done. So the program is made once for a width jb (PanelProgram) and read by all ranks; reading
// can stop and go on at any instruction.
//
// The pivot exchange (one for each column) finds the global maximum and gives every process the pivot row and the
// row that it displaces: hypercube exchange of 4 + jb numbers (value, local index, global index, owner; the row), and
// on the branch from the diagonal's owner 4 + 2 jb; process rows beyond the largest power of two fold in before and
// get the result after.
#pragma once

#include <cstdint>
#include <vector>

#include "hpl_gen/panel.hpp"
#include "hpl_gen/steps/op_sink.hpp"

namespace weft::hpl_gen {

// One instruction: a kernel or the pivot exchange of a column.
struct PanelInstruction {
  enum class Kind : std::uint8_t {
    kRowsKernel,     // m = local rows
    kFixedKernel,    // m as given
    kCurrentKernel,  // m as given, only on the current process row
    kExchange,       // pivot search and exchange of column `done`
  };
  Kind kind{};
  traces::Kernel kernel{};
  std::int32_t done = 0;  // columns factored before: the current process row has that many rows less
  std::int32_t m = 1, n = 1, k = 1;
};

using PanelProgram = std::vector<PanelInstruction>;

// The program for a panel of `jb` columns. O(jb) instructions.
[[nodiscard]] PanelProgram make_panel_program(const HplConfig& config, std::int64_t jb);

// How a program sends the rows of a pivot exchange.
struct PivotCalls {
  std::int64_t columns = 0;  // that a row has
  bool sendrecv = false;     // both ways in one call; else receive, send, wait
};
[[nodiscard]] inline PivotCalls pivot_calls(const HplConfig& c, const Panel& panel) {
  return on_accelerators(c.program) ? PivotCalls{c.nb, true} : PivotCalls{panel.width, false};
}

// Emits one instruction; the seat's column owns the panel.
void emit_panel_instruction(const PanelInstruction& i, const PanelSeat& seat, const PivotCalls& calls,
                            OpSink& out);

// The messages of one pivot exchange.
void emit_pivot_exchange(const PanelSeat& seat, const PivotCalls& calls, OpSink& out);

}  // namespace weft::hpl_gen
