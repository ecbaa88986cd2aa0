// Why a replay takes the time that it takes, in one sentence with numbers.
//
// The makespan is taken apart into the mean over the ranks of computation and of each cause of time in MPI
// (replay::Cause), and what the mean rank idles after its end; these add up to it exactly. Against a faster run of the
// same trace the parts that grew are named: first those that a platform can have (computation, message overheads,
// latency with handshakes, data at the narrowest link's rate, contention), the one that grew most, and the second one
// if it grew at least half as much; then what such a delay does to others (late senders and receivers, an uneven end),
// where that is kTold of the difference or more; then the rest, if it is that much. Contention is said to be on the
// link that held messages back longest (LinkUse::waited).
#pragma once

#include <string>

#include "predict/run_facts.hpp"

namespace weft::report {

// Parts of a difference below this share of it are not named one by one.
inline constexpr double kTold = 0.1;

// Makespans that differ by rounding.
[[nodiscard]] inline bool is_as_fast(double seconds, double best) {
  constexpr double kSame = 1e-9;  // relative
  return seconds - best <= kSame * best;
}

[[nodiscard]] std::string explain_slower(const predict::RunFacts& run, const predict::RunFacts& best);
// The fastest run (or the only one): where its ranks' time goes.
[[nodiscard]] std::string explain_alone(const predict::RunFacts& run);

}  // namespace weft::report
