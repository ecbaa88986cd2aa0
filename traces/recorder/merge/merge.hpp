// Spools of a recorded run -> one .weft trace.
//
// What happens here and not in the recorded program: communicators get one id for all ranks, times become
// compute operations, wildcard receives get what they matched, and runs of polls become conditional steps
// (conditional_steps.hpp).
//
// A damaged spool is an error with its position; with `salvage` the rank ends there, and a warning says so.
// What a spool claims costs nothing by itself: more than kFreeRanks ranks (weft/format.hpp) need a spool each.
//
// Cost: one pass over the spools for the communicators, one to translate; memory: the operations of one rank.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "traces/trace.hpp"

namespace weft::recorder {

struct RunInfo {
  std::string recorder;  // "weft record 0.1.0"
  std::string command_line;
  std::string hpl_dat;
  bool salvage = false;
};

struct RecordedTrace {
  std::string path;
  std::uint32_t ranks = 0;
  traces::TraceTotals totals;
  std::vector<std::string> warnings;  // all that traces::trace_warnings() will say of it
  std::vector<std::string> remarks;   // what was left out without harm
  std::vector<std::string> notes;     // of the header: provenance, and the remarks
};

// Writes OUTPUT, and OUTPUT with ".2", ".3" ... before its extension if the command ran several MPI jobs, by
// the time they started. Empty result: no process of the command called MPI_Init. Errors: kBadInput.
[[nodiscard]] Result<std::vector<RecordedTrace>> merge_spools(const std::string& directory,
                                                              const std::string& output, const RunInfo& info);

// What the recorder noticed of a program that was started without it: "env started ./a with LD_PRELOAD=...";
// empty if nothing.
[[nodiscard]] std::string lost_program(const std::string& directory);
// The program whose MPI is not the one of its recorder, and that was not recorded for it; empty if there is none.
[[nodiscard]] std::string wrong_mpi(const std::string& directory);
// The program that has a session of MPI 4 where it has no MPI_Init, or before it; empty if there is none.
[[nodiscard]] std::string program_with_sessions(const std::string& directory);

}  // namespace weft::recorder
