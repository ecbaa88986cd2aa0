// What an OTF2 archive has or lacks and no operation says, counted over all ranks; sentences of the header are made of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "traces/formats/otf2/definitions.hpp"
#include "traces/trace.hpp"

namespace weft::traces::otf2 {

struct Losses {
  std::map<std::pair<Lost, std::uint32_t>, std::uint64_t> calls;  // by reason and region
  std::map<std::uint32_t, std::uint64_t> probes;                  // by region
  std::map<std::uint32_t, std::uint64_t> unmade;   // calls that make or free communicators, without records
  std::map<std::uint32_t, std::uint64_t> unknown;  // calls with records whose names are not known, by region
  std::uint64_t receives = 0;                      // whose wildcards and posted sizes nothing tells
  std::uint64_t waits_of_some = 0;  // waitany, waitsome without the requests that were not complete
  std::uint64_t persistent = 0;     // started requests
  std::uint64_t cancelled = 0;
  std::uint64_t never_received = 0;  // receives that nothing completed
  std::uint64_t never_sent = 0;      // sends that nothing completed
  std::uint64_t unknown_requests = 0;
  std::uint64_t shared_requests = 0;
  std::uint64_t vectors = 0;        // collectives with counts of their own for each peer
  std::uint64_t plain_sums = 0;     // sums that are no multiple of the members
  std::uint64_t backwards = 0;      // events before the one before
  std::uint64_t unbalanced = 0;     // regions left that were not entered, or not left
  std::uint64_t flushes = 0;        // of the tracer's buffer
  std::uint64_t off = 0;            // times that the tracer did not record
  std::uint64_t thread_events = 0;  // of MPI, by threads that MPI's groups do not have
  std::uint64_t threads = 0;        // that made them

  // The sentences, and what RecordingFacts has a place for.
  void describe(const Definitions& definitions, TraceHeader& header) const;
};

}  // namespace weft::traces::otf2
