#include "schedule/anneal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.hpp"
#include "schedule/coloring/edge_coloring.hpp"

namespace weft::schedule {
namespace {

// Temperatures relative to the cost: from a random order on, and from the best one so far.
struct Cooling {
  double hot;
  double cold;
};
constexpr Cooling kFromRandom{0.06, 0.003};
constexpr Cooling kFromBest{0.01, 0.0005};
constexpr std::uint64_t kPerRestart = 50'000;
// Spaces of at most so many schedules are enumerated.
constexpr double kSmallSpace = 30'000;
// Edge colorings, at most; they and what they lead to are one of so many evaluations, beside these.
constexpr std::uint64_t kColorings = 128;
constexpr std::uint64_t kPerFirst = 8;

class Annealer {
 public:
  Annealer(Evaluator& evaluator, Mode mode, const std::vector<SymmetricSpace>& spaces,
           const AnnealOptions& options, const Control& control)
      : evaluator_(evaluator),
        e_(evaluator.workload().exchange),
        mode_(mode),
        spaces_(spaces),
        options_(options),
        control_(control),
        rng_(options.seed) {}

  AnnealResult run() {
    order_.resize(e_.messages.size());
    std::iota(order_.begin(), order_.end(), 0u);
    best_.order = order_;
    const double in_order = evaluator_.makespan(order_, mode_);
    best_.seconds = in_order;
    best_.evaluations = 1;
    if (spaces_.front().orbits.empty()) return best_;
    if (spaces_.front().schedules > kSmallSpace) first();
    // From here on as if nothing had been tried, but for the best.
    scale_ = in_order;
    limit_ = options_.evaluations + best_.evaluations - 1;
    for (const SymmetricSpace& space : spaces_) {
      if (space.schedules <= kSmallSpace) enumerate(space);
    }
    std::size_t next = 1;
    while (!over()) {
      const bool whole = best_.restarts % 2 == 0 || spaces_.size() == 1;
      if (!whole && spaces_[next].schedules <= kSmallSpace) {
        // Known already; if all are, only the whole space is left.
        const std::size_t begin = next;
        do {
          next = next + 1 < spaces_.size() ? next + 1 : 1;
        } while (next != begin && spaces_[next].schedules <= kSmallSpace);
      }
      const bool known = spaces_[whole ? 0 : next].schedules <= kSmallSpace;
      ++best_.restarts;
      if (known && spaces_.front().schedules <= kSmallSpace) break;
      const SymmetricSpace& space = spaces_[whole || known ? 0 : next];
      draw(space);
      cool(space, kFromRandom, rng_);
      if (!whole) next = next + 1 < spaces_.size() ? next + 1 : 1;
    }
    return best_;
  }

 private:
  [[nodiscard]] bool over() const {
    return best_.evaluations >= limit_ || !sooner(options_.target, best_.seconds) || stopped_;
  }

  void note(double seconds, FoundBy found_by) {
    scale_ = std::min(scale_, seconds);
    if (seconds >= best_.seconds) return;
    best_.seconds = seconds;
    best_.order = order_;
    best_.found_by = found_by;
  }

  void look_up() {
    stopped_ = control_.stopped();
    if (++looks_ % 16 != 0) return;
    if (control_.progress)
      control_.progress(static_cast<double>(best_.evaluations), static_cast<double>(limit_), best_.seconds);
  }

  double evaluate(double limit) {
    ++best_.evaluations;
    look_up();
    return evaluator_.makespan(order_, mode_, limit * (1 + 2 * kSameTime));
  }

  // Edge colorings, and annealing from the best of them on.
  void first() {
    const std::uint64_t most = options_.evaluations / kPerFirst;
    limit_ = best_.evaluations + most;
    if (options_.target <= 0 || over()) return;
    scale_ = best_.seconds;
    EdgeColoring coloring(evaluator_.workload(), options_.target);
    for (std::uint64_t k = 0; k < std::min(kColorings, most) && !over(); ++k) {
      coloring.color(k, options_.seed);
      order_ = coloring.order();
      note(evaluate(best_.seconds), FoundBy::kColoring);
    }
    if (over()) return;
    order_ = best_.order;
    Rng rng(options_.seed ^ 0x6669727374ULL);
    cool(spaces_.front(), kFromBest, rng);
  }

  void enumerate(const SymmetricSpace& space) {
    const auto sorted = [&](const SymmetricSpace::Orbit& o) {
      std::sort(order_.begin() + e_.first[o.rank], order_.begin() + e_.first[o.rank + 1]);
      space.spread(e_, o, order_);
    };
    std::iota(order_.begin(), order_.end(), 0u);
    for (const auto& o : space.orbits) sorted(o);
    while (!over()) {
      note(evaluate(scale_), FoundBy::kSymmetry);
      std::size_t at = 0;
      for (; at < space.orbits.size(); ++at) {
        const auto& o = space.orbits[at];
        const bool more =
            std::next_permutation(order_.begin() + e_.first[o.rank], order_.begin() + e_.first[o.rank + 1]);
        space.spread(e_, o, order_);
        if (more) break;
      }
      if (at == space.orbits.size()) return;
    }
  }

  // A random order of a space.
  void draw(const SymmetricSpace& space) {
    std::iota(order_.begin(), order_.end(), 0u);
    for (const auto& o : space.orbits) {
      rng_.shuffle(std::span(order_).subspan(e_.first[o.rank], e_.sends(o.rank)));
      space.spread(e_, o, order_);
    }
  }

  // From `order_` on, which is one of `space`.
  void cool(const SymmetricSpace& space, const Cooling& cooling, Rng& rng) {
    double cost = evaluate(std::numeric_limits<double>::infinity());
    note(cost, FoundBy::kAnnealing);
    const std::uint64_t moves = std::min(kPerRestart, limit_ - std::min(limit_, best_.evaluations));
    for (std::uint64_t k = 0; k < moves && !over(); ++k) {
      const double temperature =
          scale_ * cooling.hot *
          std::pow(cooling.cold / cooling.hot, static_cast<double>(k) / static_cast<double>(moves));
      const auto& o = space.orbits[rng.below(space.orbits.size())];
      const std::uint32_t n = e_.sends(o.rank);
      const auto i = static_cast<std::uint32_t>(rng.below(n));
      auto j = static_cast<std::uint32_t>(rng.below(n - 1));
      j += j >= i ? 1 : 0;
      const auto swap = [&] {
        std::swap(order_[e_.first[o.rank] + i], order_[e_.first[o.rank] + j]);
        space.spread(e_, o, order_);
      };
      swap();
      // Drawn before the evaluation, which can stop once it has lost.
      const double limit = cost - temperature * std::log(1 - rng.unit());
      const double seconds = evaluate(limit);
      if (seconds <= limit) {
        cost = seconds;
        note(cost, FoundBy::kAnnealing);
      } else {
        swap();
      }
    }
  }

  Evaluator& evaluator_;
  const Exchange& e_;
  Mode mode_;
  const std::vector<SymmetricSpace>& spaces_;
  const AnnealOptions& options_;
  const Control& control_;
  Rng rng_;
  Order order_;
  AnnealResult best_;
  double scale_ = 0;         // of temperatures: the best time that annealing itself has met
  std::uint64_t limit_ = 0;  // of evaluations
  std::uint64_t looks_ = 0;
  bool stopped_ = false;
};

}  // namespace

AnnealResult anneal(Evaluator& evaluator, Mode mode, const std::vector<SymmetricSpace>& spaces,
                    const AnnealOptions& options, const Control& control) {
  return Annealer(evaluator, mode, spaces, options, control).run();
}

}  // namespace weft::schedule
