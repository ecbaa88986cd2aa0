// What a user must know before believing anything computed from a trace: what the program did that the trace does not
// hold. One list, made here, for every verb that reads a trace.
//
// In order: what the header says in words; calls that no operation stands for, one sentence for each group; several
// threads of a rank inside MPI (the operations of a rank have one order, the program had one for each thread); CPU
// and wall clock that disagree about the time outside MPI by more than 5 % and 10 ms on some rank.
// A trace without a recording behind it (generated, imported) has the first part only.
#pragma once

#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace weft::traces {

struct TraceWarning {
  std::string text;  // one sentence, no newline
  bool another_program =
      false;  // what a replay runs is not what the program did: a fault for the trace doctor
};

// O(ranks + entries).
[[nodiscard]] std::vector<TraceWarning> find_trace_warnings(const TraceHeader& header);
// The sentences of them.
[[nodiscard]] std::vector<std::string> trace_warnings(const TraceHeader& header);

}  // namespace weft::traces
