// The trace doctor: is this trace a correct MPI program?
//
// All ranks run together, untimed: a step goes as far as MPI lets it. Sends are buffered, so whatever waits
// in the end waits in every MPI implementation: the cycle of waiting ranks is a deadlock. With `synchronous`,
// standard sends wait for their receive (rendezvous at any size): a deadlock that shows only then depends on
// buffering (a warning). A test that said yes to sends holds nobody then: it is local, and its program would go on.
//
// What the header says that the trace does not hold (trace_warnings.hpp) is found too: calls without an operation are
// errors, since a replay is then one of another program.
//
// Found: sends nobody receives and receives nobody sends to; messages larger than the receive posted for
// them; collectives whose members disagree in kind, root or size; peers outside their communicator; waits on
// requests that do not exist or that stand twice in one call, requests never completed, made where another still is, of collectives
// and freed or cancelled; polls whose hit is not where they say, bodies with requests that others used since the first miss (a warning);
// recorded matches that their call did not ask for; communicators used by a rank that was given none or has freed them; calls after
// MPI_Finalize; deadlock cycles named by rank and operation.
//
// Matching is MPI's: by (communicator, source, tag), in order, as soon as both sides are posted, whatever their ranks
// do meanwhile. A receive from any source takes the source and tag that were recorded. Where none were, the first run
// takes one order of arrival; what is wrong with who took what, or waits for whom, is an error if every other order that the
// program leaves open has such a fault too, which is tried in up to kMaxOrders runs; else it is a warning. Where that order
// has no fault, others are tried for one that has, and its faults are warnings. What no order can mend is an error:
// requests, peers, collectives, and all that happens before an order decides anything.
// Iprobe: the recorded order of operations is checked as it stands; a miss does nothing, a hit must find its message.
//
// Memory for a well-formed trace: one block per rank, of ranks that look for completions of receives from any source up to four
// more, and the messages in flight between the ranks.
// O(operations), except that wildcard receives look at every sender of their communicator.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace weft::traces {

enum class Severity { kError, kWarning };

struct Finding {
  Severity severity = Severity::kError;
  std::int64_t rank = -1;  // -1 = the trace as a whole
  std::int64_t op = -1;    // index in the rank's program, -1 = none
  std::string message;     // names the operation, with its position in the file
};

struct CheckOptions {
  bool synchronous = false;         // also look for deadlocks that buffering hides
  std::size_t max_findings = 1000;  // of each severity; the rest is counted
  // Called with the operations of the first run that are done; seldom.
  std::function<void(std::uint64_t)> on_progress;
};

// Orders of arrival that are tried for a program with receives from any source, and the steps of all these runs: operations,
// messages that were there to choose from, ranks. Of one whose first order has no fault so many, or half as many again as that
// order took: a check of it takes a second longer, or twice as long.
inline constexpr std::size_t kMaxOrders = 1000;
inline constexpr std::uint64_t kMaxOrderSteps = 10'000'000;
inline constexpr std::uint64_t kMaxRaceSteps = 4'000'000;

struct CheckReport {
  std::vector<Finding> findings;  // errors by rank and operation, then warnings
  std::uint64_t errors = 0;
  std::uint64_t warnings = 0;
  [[nodiscard]] bool ok() const { return errors == 0; }
};

// Errors: those of the reader only; whatever is wrong with the program is a finding.
[[nodiscard]] Result<CheckReport> check_trace(TraceReader& trace, const CheckOptions& options = {});

}  // namespace weft::traces
