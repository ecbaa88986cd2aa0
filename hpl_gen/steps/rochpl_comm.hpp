// What rocHPL sends: the panel along a process row, rows of the matrix within a process column.
//
// Facts from ROCm/rocHPL 6.1 (src/comm). It is built without MPI's collectives: all of this is made of Isend, Irecv,
// Send, Recv and Wait there. Messages leave from and arrive in the accelerators' memory.
//
// Where the program waits for any of its requests, the trace waits for them in the order in which they end if nothing
// is late: every message, its bytes and its place among those of its pair are the program's, but a piece of a ring is
// forwarded after the piece before it has left, and the piece after next is not asked for earlier.
#pragma once

#include <cstdint>
#include <span>

#include "hpl_gen/panel.hpp"
#include "hpl_gen/steps/op_sink.hpp"
#include "hpl_gen/steps/row_exchange.hpp"

namespace weft::hpl_gen {

inline constexpr std::int64_t kRocHplPiece = 512 * 512;  // doubles that a ring forwards at a time

// Numbers of the requests that a trace of rocHPL uses.
enum RocHplRequest : std::uint32_t {
  kReceive = 0,   // of a ring; kReceive + 1 of its other half
  kSend = 2,      // ... and kSend + 1
  kLaunched = 8,  // of the accelerator's kernels, RocHplLaunch
  kScattered = 64
};

// `words` doubles of the panel from the column that owns it, by BCAST. Nothing with one process column.
void emit_rochpl_bcast(const PanelSeat& seat, Bcast kind, std::int64_t words, OpSink& out);

// Rows of so many doubles: the current row sends each process row those that go there, then everyone gets all of U.
// `counts`: rows of U by process row. REQUIRES: P > 1.
void emit_rochpl_rows(const PanelSeat& seat, std::span<const std::int64_t> counts, std::int64_t words,
                      OpSink& out);

}  // namespace weft::hpl_gen
