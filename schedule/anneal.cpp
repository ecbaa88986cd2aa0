#include "schedule/anneal.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/rng.hpp"

namespace weft::schedule {
namespace {

// Temperatures relative to the cost.
constexpr double kHot = 0.06;
constexpr double kCold = 0.003;
constexpr std::uint64_t kPerRestart = 50'000;
// Spaces of at most so many schedules are enumerated.
constexpr double kSmallSpace = 30'000;

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
    best_.seconds = evaluator_.makespan(order_, mode_);
    best_.evaluations = 1;
    if (spaces_.front().orbits.empty()) return best_;
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
      cool(spaces_[whole || known ? 0 : next]);
      if (!whole) next = next + 1 < spaces_.size() ? next + 1 : 1;
    }
    return best_;
  }

 private:
  [[nodiscard]] bool over() const {
    return best_.evaluations >= options_.evaluations || !sooner(options_.target, best_.seconds) || stopped_;
  }

  void note(double seconds, bool annealed) {
    if (seconds >= best_.seconds) return;
    best_.seconds = seconds;
    best_.order = order_;
    best_.annealed = annealed;
  }

  void look_up() {
    stopped_ = control_.stopped();
    if (++looks_ % 16 != 0) return;
    if (control_.progress)
      control_.progress(static_cast<double>(best_.evaluations), static_cast<double>(options_.evaluations),
                        best_.seconds);
  }

  double evaluate(double limit) {
    ++best_.evaluations;
    look_up();
    return evaluator_.makespan(order_, mode_, limit * (1 + 2 * kSameTime));
  }

  void enumerate(const SymmetricSpace& space) {
    const auto sorted = [&](const SymmetricSpace::Orbit& o) {
      std::sort(order_.begin() + e_.first[o.rank], order_.begin() + e_.first[o.rank + 1]);
      space.spread(e_, o, order_);
    };
    std::iota(order_.begin(), order_.end(), 0u);
    for (const auto& o : space.orbits) sorted(o);
    while (!over()) {
      note(evaluate(best_.seconds), false);
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

  void cool(const SymmetricSpace& space) {
    std::iota(order_.begin(), order_.end(), 0u);
    for (const auto& o : space.orbits) {
      rng_.shuffle(std::span(order_).subspan(e_.first[o.rank], e_.sends(o.rank)));
      space.spread(e_, o, order_);
    }
    double cost = evaluate(std::numeric_limits<double>::infinity());
    note(cost, true);
    const std::uint64_t moves =
        std::min(kPerRestart, options_.evaluations - std::min(options_.evaluations, best_.evaluations));
    for (std::uint64_t k = 0; k < moves && !over(); ++k) {
      const double temperature =
          best_.seconds * kHot * std::pow(kCold / kHot, static_cast<double>(k) / static_cast<double>(moves));
      const auto& o = space.orbits[rng_.below(space.orbits.size())];
      const std::uint32_t n = e_.sends(o.rank);
      const auto i = static_cast<std::uint32_t>(rng_.below(n));
      auto j = static_cast<std::uint32_t>(rng_.below(n - 1));
      j += j >= i ? 1 : 0;
      const auto swap = [&] {
        std::swap(order_[e_.first[o.rank] + i], order_[e_.first[o.rank] + j]);
        space.spread(e_, o, order_);
      };
      swap();
      // Drawn before the evaluation, which can stop once it has lost.
      const double limit = cost - temperature * std::log(1 - rng_.unit());
      const double seconds = evaluate(limit);
      if (seconds <= limit) {
        cost = seconds;
        note(cost, true);
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
  std::uint64_t looks_ = 0;
  bool stopped_ = false;
};

}  // namespace

AnnealResult anneal(Evaluator& evaluator, Mode mode, const std::vector<SymmetricSpace>& spaces,
                    const AnnealOptions& options, const Control& control) {
  return Annealer(evaluator, mode, spaces, options, control).run();
}

}  // namespace weft::schedule
