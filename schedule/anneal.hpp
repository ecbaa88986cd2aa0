// Annealing: a good schedule fast, as the incumbent of a proof or, where no proof is feasible, as the answer.
//
// State: an order of sends per rank. Move: two sends of one rank change places (barrier: also two whole steps).
// Cost: the makespan. Geometric cooling, restarts from random orders, all from one seed: same seed, same result.
// It stops as soon as `target` is reached (a lower bound: nothing better exists).
#pragma once

#include <cstdint>

#include "schedule/evaluator.hpp"
#include "schedule/exhaustive.hpp"

namespace weft::schedule {

struct AnnealOptions {
  std::uint64_t seed = 0;
  std::uint64_t evaluations = 400'000;  // in all restarts together
  double target = 0;                    // seconds
};

struct AnnealResult {
  Order order;
  double seconds = 0;
  std::uint64_t evaluations = 0;
  std::uint32_t restarts = 0;
};

[[nodiscard]] AnnealResult anneal(Evaluator& evaluator, Mode mode, const AnnealOptions& options,
                                  const Control& control);

}  // namespace weft::schedule
