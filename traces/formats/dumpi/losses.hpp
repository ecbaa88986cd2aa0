// What a DUMPI file has or lacks and no operation says, counted over all ranks; sentences of the header are made of it.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "traces/trace.hpp"

namespace weft::traces::dumpi {

// Why a call has no operation.
enum class Left : std::uint8_t { rma, io, dynamic, inter, unknown_comm, persistent };

struct Losses {
  std::map<std::pair<Left, std::uint16_t>, std::uint64_t> calls;  // by reason and function
  std::uint64_t unknown_requests = 0;   // completions of requests that nothing started
  std::uint64_t shared_requests = 0;    // requests that got a number in use
  std::uint64_t cancelled = 0;          // receives that were cancelled, left out
  std::uint64_t cancelled_assumed = 0;  // of these: no status says that it took effect
  std::uint64_t untimed = 0;            // calls without the rank's clock
  std::uint64_t backwards = 0;          // calls that began before the one before ended
  std::uint64_t sends_to_minus_one = 0;
  std::uint64_t any_or_none = 0;     // receives from -1 whose status does not tell which of the two it was
  std::uint64_t unknown_hits = 0;    // polls that hit, and no status says what
  std::uint64_t type_conflicts = 0;  // constructors and sizes of the file that differ
  std::uint64_t no_sizes = 0;        // ranks without sizes of datatypes
  std::uint64_t assumed_order = 0;   // communicators made with reorder whose order nothing tells
  std::uint64_t cpu_ranks = 0, wall_ranks = 0, clockless_ranks = 0;
  std::uint32_t thread_level = 0, threads = 0;
  std::uint64_t concurrent = 0;
  std::uint64_t with_counters = 0;  // records with performance counters
  std::map<std::uint16_t, std::uint64_t>
      outside;                     // calls that were made and are not in the stream, by function
  std::set<std::string> counters;  // their names

  // The sentences, and what RecordingFacts has a place for.
  void describe(TraceHeader& header) const;
};

}  // namespace weft::traces::dumpi
