// Annealing: a good schedule fast, as the incumbent of a proof or, where no proof is feasible, as the answer.
//
// First some edge colorings (EdgeColoring) and annealing from the best of them on, then all schedules of small symmetric
// spaces (SymmetricSpace), then annealing from random orders, restarted in one space after the other, the whole one every
// second time. Move: two sends of one rank change places, and those of its images. Cost: the makespan. Cooling is geometric.
// All from one seed: same seed, same result. It stops as soon as `target` is reached (a lower bound: nothing better exists).
#pragma once

#include <cstdint>

#include "schedule/evaluator.hpp"
#include "schedule/exhaustive.hpp"
#include "schedule/symmetric_space.hpp"

namespace weft::schedule {

struct AnnealOptions {
  std::uint64_t seed = 0;
  std::uint64_t evaluations = 400'000;  // and an eighth as many first
  double target = 0;                    // seconds
};

enum class FoundBy : std::uint8_t { kSymmetry, kColoring, kAnnealing };

struct AnnealResult {
  Order order;
  double seconds = 0;
  std::uint64_t evaluations = 0;
  std::uint32_t restarts = 0;
  FoundBy found_by =
      FoundBy::kSymmetry;  // where the order comes from; the first one is symmetric as far as it goes
};

// `spaces`: as symmetric_spaces() gives them.
[[nodiscard]] AnnealResult anneal(Evaluator& evaluator, Mode mode, const std::vector<SymmetricSpace>& spaces,
                                  const AnnealOptions& options, const Control& control);

}  // namespace weft::schedule
