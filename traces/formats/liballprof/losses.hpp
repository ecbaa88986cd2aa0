// What a liballprof trace has or lacks and no operation says, counted over its ranks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "traces/trace.hpp"

namespace weft::traces::allprof {

// Why a call has no operation.
enum class Left : std::uint8_t { rma, io, dynamic, inter, unknown_comm };

struct Losses {
  std::map<std::pair<Left, std::string>, std::uint64_t> calls;  // by reason and function
  std::uint64_t assumed_comms = 0;  // handles that more than one communicator could have, told by order alone
  std::uint64_t copied_frees = 0;   // communicators freed by a copy of their handle
  std::uint64_t polls = 0;          // of MPI_Iprobe and MPI_Improbe: what they found is not known
  std::uint64_t unsure = 0;         // calls that completed requests and do not say which
  std::uint64_t copied = 0;         // completions of requests under another address than that of their start
  std::uint64_t foreign_waits = 0;  // waits where no line posts a request
  std::uint64_t unknown_requests = 0;   // starts of requests that nothing made
  std::uint64_t left_to_the_end = 0;    // requests that nothing completes
  std::uint64_t cancelled = 0;          // receives that were cancelled, left out
  std::uint64_t any_sources = 0;        // receives and probes from any source
  std::int64_t before_finalize_ps = 0;  // the longest time between a rank's last call and MPI_Finalize
  std::uint64_t backwards = 0;          // calls that began before the one before ended
  std::uint64_t unfinished = 0;         // ranks without MPI_Finalize
  bool copies = false;                  // all files say that they are of rank 0
  std::uint64_t cut_off = 0;            // ranks whose last line is not whole (salvage)

  // The sentences, and what RecordingFacts has a place for.
  void describe(TraceHeader& header) const;
};

}  // namespace weft::traces::allprof
