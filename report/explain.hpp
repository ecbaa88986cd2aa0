// Why a replay takes the time that it takes, in one sentence with numbers.
//
// Against a faster run of the same trace: of the causes that a platform can have (computation, message
// overheads, latency, narrow links, contention) the one whose cost grew most, per rank, and the second if it
// grew at least half as much. Waiting for late senders and receivers is what a delay does to others, so it is
// named as the cause only where none of them grew. Costs are sums over messages and may overlap in time: they
// explain the difference of the makespans, they do not add up to it, and the sentence does not say so.
#pragma once

#include <string>

#include "report/run_facts.hpp"

namespace weft::report {

[[nodiscard]] std::string explain_slower(const RunFacts& run, const RunFacts& best);
// The fastest run (or the only one): where its ranks' time goes.
[[nodiscard]] std::string explain_alone(const RunFacts& run);

}  // namespace weft::report
