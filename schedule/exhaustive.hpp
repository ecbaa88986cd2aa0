// Exhaustive: every schedule of a workload, each exactly once, with the exact distribution of their times.
//
// Depth first over events. async: a rank chooses its next message only when the one before has ended, so
// schedules share the simulation of all that they have in common; barrier: step by step, and the time of a set
// of messages is computed once. One root (the first message of every rank) stands for its whole orbit under the
// symmetries of exchange and platform: completions of a root and of its image have equal times, so its times
// count once per member. The rates of a set are computed once (RateMemo).
//
// Roots are shared among threads; the result does not depend on their number.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "schedule/evaluator.hpp"
#include "schedule/kept_pieces.hpp"
#include "schedule/symmetry.hpp"
#include "schedule/time_tally.hpp"

namespace weft::schedule {

// How a search is watched and stopped from outside.
struct Control {
  unsigned threads = 1;
  const std::atomic<bool>* stop = nullptr;  // true: return what is known
  // Work done and in all (schedules or nodes), best time so far. Called from the calling thread only.
  std::function<void(double done, double total, double best_s)> progress;
  // How many threads work, of how many that had something to do: the system may start fewer.
  std::function<void(unsigned started, unsigned wanted)> on_threads;
  // Finished pieces last; null: nothing is kept. `piece`: what the names of this search's pieces begin with.
  const KeptPieces* kept = nullptr;
  std::string piece;
  bool within_piece = false;  // this search is a piece itself
  [[nodiscard]] bool stopped() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
};

struct ExhaustiveResult {
  TimeStatistics statistics;
  Order best;  // of the first root that has it
  Order worst;
  double schedules = 0;         // counted, by symmetry or one by one
  std::uint64_t simulated = 0;  // leaves visited
  std::uint64_t sets_solved = 0;
  bool complete = true;  // false: stopped; statistics are of what was visited
};

// Symmetries of `workload`: ranks of which the messages, their sizes, their routes and what these share look the same.
// None are looked for beyond 128 ranks.
[[nodiscard]] SymmetryGroup workload_symmetry(const Workload& workload);

// Whether there are enough schedules to keep a search of all of them in pieces.
[[nodiscard]] bool searched_in_pieces(const Exchange& exchange);

// REQUIRES: at most 64 sends per rank, as can be enumerated in a lifetime.
[[nodiscard]] ExhaustiveResult search_exhaustively(const Workload& workload, const RateOracle& oracle,
                                                   Mode mode, const SymmetryGroup& symmetry,
                                                   const Control& control);

// The image of message m under a symmetry of ranks: m's rank within the messages of its pair is kept.
[[nodiscard]] std::vector<std::uint32_t> message_images(const Exchange& exchange, const Permutation& ranks);

}  // namespace weft::schedule
