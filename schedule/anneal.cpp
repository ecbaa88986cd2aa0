#include "schedule/anneal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.hpp"

namespace weft::schedule {
namespace {

// Temperatures relative to the cost: a hot start accepts about a tenth more, a cold end about nothing.
constexpr double kHot = 0.03;
constexpr double kCold = 0.0005;
constexpr std::uint64_t kPerRestart = 20'000;

}  // namespace

AnnealResult anneal(Evaluator& evaluator, Mode mode, const AnnealOptions& options, const Control& control) {
  const Exchange& e = evaluator.workload().exchange;
  std::vector<std::uint32_t> movable;
  for (std::uint32_t r = 0; r < e.ranks; ++r) {
    if (e.sends(r) > 1) movable.push_back(r);
  }
  AnnealResult best;
  best.order.resize(e.messages.size());
  std::iota(best.order.begin(), best.order.end(), 0u);
  best.seconds = evaluator.makespan(best.order, mode);
  best.evaluations = 1;
  if (movable.empty()) return best;
  Rng rng(options.seed);
  Order order = best.order;
  while (best.evaluations < options.evaluations && sooner(options.target, best.seconds)) {
    ++best.restarts;
    for (std::uint32_t r : movable) rng.shuffle(std::span(order).subspan(e.first[r], e.sends(r)));
    double cost = evaluator.makespan(order, mode);
    ++best.evaluations;
    const std::uint64_t moves = std::min(kPerRestart, options.evaluations - best.evaluations);
    for (std::uint64_t k = 0;; ++k) {
      if (cost < best.seconds) {
        best.seconds = cost;
        best.order = order;
      }
      if (k >= moves || !sooner(options.target, best.seconds)) break;
      if (k % 256 == 0) {
        if (control.stopped()) return best;
        if (control.progress)
          control.progress(static_cast<double>(best.evaluations), static_cast<double>(options.evaluations),
                           best.seconds);
      }
      const double temperature =
          best.seconds * kHot * std::pow(kCold / kHot, static_cast<double>(k) / static_cast<double>(moves));
      const std::uint32_t r = movable[rng.below(movable.size())];
      const std::uint32_t n = e.sends(r);
      const auto i = static_cast<std::uint32_t>(rng.below(n));
      auto j = static_cast<std::uint32_t>(rng.below(n - 1));
      j += j >= i ? 1 : 0;
      std::swap(order[e.first[r] + i], order[e.first[r] + j]);
      // Drawn first, so that the evaluation can stop when it is lost.
      const double limit = cost - temperature * std::log(1 - rng.unit());
      const double next = evaluator.makespan(order, mode, limit * (1 + 2 * kSameTime));
      ++best.evaluations;
      if (next <= limit) {
        cost = next;
      } else {
        std::swap(order[e.first[r] + i], order[e.first[r] + j]);
      }
    }
  }
  return best;
}

}  // namespace weft::schedule
