// Annealing: a good schedule fast, as the incumbent of a proof or, where no proof is feasible, as the answer.
//
// First all schedules of small symmetric spaces (SymmetricSpace), then annealing, restarted in one space after
// the other, the whole one every second time. Move: two sends of one rank change places, and those of its
// images. Cost: the makespan. Cooling is geometric. All from one seed: same seed, same result. It stops as soon
// as `target` is reached (a lower bound: nothing better exists).
#pragma once

#include <cstdint>

#include "schedule/evaluator.hpp"
#include "schedule/exhaustive.hpp"
#include "schedule/symmetric_space.hpp"

namespace weft::schedule {

struct AnnealOptions {
  std::uint64_t seed = 0;
  std::uint64_t evaluations = 400'000;  // in all
  double target = 0;                    // seconds
};

struct AnnealResult {
  Order order;
  double seconds = 0;
  std::uint64_t evaluations = 0;
  std::uint32_t restarts = 0;
  bool annealed = false;  // the order comes from annealing, not from all of a small space
};

// `spaces`: as symmetric_spaces() gives them.
[[nodiscard]] AnnealResult anneal(Evaluator& evaluator, Mode mode, const std::vector<SymmetricSpace>& spaces,
                                  const AnnealOptions& options, const Control& control);

}  // namespace weft::schedule
