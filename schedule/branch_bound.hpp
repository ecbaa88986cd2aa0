// Branch and bound: a proof where neither a bound is met nor enumeration is feasible; and the step-load bound.
//
//  barrier: ranks one after another get an order; loads are kept per (step, link). A partial schedule needs at
//    least sum over steps of M_k (the largest load of step k), and for a link whose remaining messages do not
//    fit below the M_k that excess more. Complete schedules are timed by simulation.
//  async: depth first over events; now + the largest remaining load of a link is the bound.
//
// step_load_bound() runs the barrier search over loads alone: the least sum of the steps' largest loads, which no
// schedule with barriers can beat. All limits are in nodes, not in time, so results are reproducible.
#pragma once

#include <cstdint>

#include "schedule/evaluator.hpp"
#include "schedule/exhaustive.hpp"

namespace weft::schedule {

struct BranchResult {
  bool complete = false;  // nothing sooner than `seconds` exists
  double seconds = 0;     // of the incumbent, which may be the one given
  bool improved = false;
  Order order;  // if improved
  std::uint64_t nodes = 0;
};

// Looks for schedules sooner than `incumbent_s`.
[[nodiscard]] BranchResult branch_and_bound(Evaluator& evaluator, Mode mode, double incumbent_s,
                                            std::uint64_t most_nodes, const Control& control);

// Complete: `seconds` is the step-load bound; else nothing is known. `known_s`: a value that is reached for sure
// (the time of any schedule).
[[nodiscard]] BranchResult step_load_bound(const Workload& workload, double known_s, std::uint64_t most_nodes,
                                           const Control& control);

}  // namespace weft::schedule
