// The search for the best order of messages: which method, and what the answer is worth.
//
//  1. Few schedules (or asked for): all of them, exact distribution. Proof: exhaustion.
//  2. Else edge colorings, symmetric schedules and annealing with the link bound as target. Reached: proof by the
//     link bound.
//  3. barrier: the step-load bound. Met: proof by it.
//  4. Branch and bound within a number of nodes. Done: proof by it. Else the best known and a lower bound.
// In 2 to 4 the distribution is that of a seeded sample.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/anneal.hpp"
#include "schedule/branch_bound.hpp"
#include "schedule/exhaustive.hpp"

namespace weft::schedule {

enum class Proof : std::uint8_t { kNone, kExhaustion, kLinkBound, kStepLoadBound, kBranchAndBound };
// "none", "exhaustion", "link bound", "step-load bound", "branch and bound"
[[nodiscard]] const char* proof_name(Proof proof);

struct SearchOptions {
  Mode mode = Mode::kAsync;
  bool exhaustive = false;        // whatever it takes
  double exhaustive_limit = 2e7;  // schedules
  std::uint64_t seed = 0;
  // At most. Not given: as search_limits() says.
  std::optional<std::uint64_t> evaluations;  // of annealing
  std::optional<std::uint64_t> nodes;        // of each branch and bound
  std::optional<std::uint64_t> sample;       // schedules, for the distribution; 0: none
};

struct SearchLimits {
  std::uint64_t evaluations = 400'000;
  std::uint64_t nodes = 2'000'000;
  std::uint64_t sample = 2'000;
};

// What `options` ask for. What they leave open is as above, and less for large exchanges (more than 16 ranks
// or so), in proportion to messages x ranks, so that a search takes minutes.
[[nodiscard]] SearchLimits search_limits(const SearchOptions& options, const Exchange& exchange);

struct SearchResult {
  double schedules = 0;  // in all
  double evaluated = 0;  // exhaustive: counted, one by one or as a symmetric image
  double best_s = 0;
  Order best;
  Order worst;  // of those seen
  Proof proof = Proof::kNone;
  bool interrupted = false;
  bool exact = false;  // statistics are of all schedules
  TimeStatistics statistics;
  LinkBound link;
  double step_load_s = 0;  // 0: not computed
  double lower_s = 0;      // nothing is faster
  double symmetries = 1;
  std::uint64_t sets_solved = 0;
  // What found the best: "all schedules", "edge colouring", "symmetric schedules", "annealing", "branch and bound",
  // "random schedules".
  std::string stage;
};

[[nodiscard]] SearchResult search_schedule(const Workload& workload, const RateOracle& oracle,
                                           const SearchOptions& options, const Control& control);

}  // namespace weft::schedule
