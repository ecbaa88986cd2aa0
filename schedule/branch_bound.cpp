#include "schedule/branch_bound.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "schedule/async_tree.hpp"

namespace weft::schedule {
namespace {

// Counts nodes against the limit and looks at the stop flag.
class Budget {
 public:
  Budget(std::uint64_t most, const Control& control) : most_(most), control_(control) {}
  bool spend(double best_s) {
    if (++nodes_ > most_) over_ = true;
    if (nodes_ % 64 == 0) {
      if (control_.stopped()) over_ = true;
      if (control_.progress)
        control_.progress(static_cast<double>(nodes_), static_cast<double>(most_), best_s);
    }
    return !over_;
  }
  [[nodiscard]] bool over() const { return over_; }
  [[nodiscard]] std::uint64_t nodes() const { return std::min(nodes_, most_); }

 private:
  std::uint64_t most_;
  const Control& control_;
  std::uint64_t nodes_ = 0;
  bool over_ = false;
};

// Ranks in descending number of sends; `evaluator` null: loads alone count.
class BarrierSearch {
 public:
  BarrierSearch(const Workload& workload, Evaluator* evaluator, double incumbent_s, Budget& budget)
      : w_(workload), e_(workload.exchange), evaluator_(evaluator), budget_(budget), best_(incumbent_s) {
    steps_ = e_.most_sends();
    lanes_ = w_.lanes();
    load_.assign(static_cast<std::size_t>(steps_) * lanes_, 0);
    most_.assign(steps_, 0);
    rest_.assign(lanes_, 0);
    for (std::uint32_t m = 0; m < w_.messages(); ++m) {
      for (std::uint32_t l : w_.lanes_of(m)) rest_[l] += w_.seconds_in(m, l);
    }
    for (std::uint32_t r = 0; r < e_.ranks; ++r) {
      if (e_.sends(r) != 0) by_sends_.push_back(r);
    }
    std::stable_sort(by_sends_.begin(), by_sends_.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return e_.sends(a) > e_.sends(b); });
    order_.resize(e_.messages.size());
    std::iota(order_.begin(), order_.end(), 0u);
    saved_.resize(by_sends_.size() + 1, std::vector<double>(steps_));
    // Steps can be renamed at will if all ranks send equally often.
    equal_ = !by_sends_.empty() && e_.sends(by_sends_.front()) == e_.sends(by_sends_.back());
  }

  void run() { place(0); }
  [[nodiscard]] double best() const { return best_; }
  [[nodiscard]] bool improved() const { return improved_; }
  [[nodiscard]] const Order& best_order() const { return best_order_; }

 private:
  void place(std::size_t depth) {
    if (depth == by_sends_.size()) {
      const double seconds = evaluator_ != nullptr ? evaluator_->makespan(order_, Mode::kBarrier, best_)
                                                   : std::accumulate(most_.begin(), most_.end(), 0.0);
      if (!sooner(seconds, best_)) return;
      best_ = seconds;
      best_order_ = order_;
      improved_ = true;
      return;
    }
    const std::uint32_t r = by_sends_[depth];
    const auto begin = order_.begin() + e_.first[r];
    const auto end = order_.begin() + e_.first[r + 1];
    std::sort(begin, end);
    do {
      if (!budget_.spend(best_)) return;
      saved_[depth] = most_;
      put(begin, end, 1);
      if (sooner(bound(), best_)) place(depth + 1);
      put(begin, end, -1);
      most_ = saved_[depth];
      if (budget_.over()) return;
    } while (std::next_permutation(begin, end) && !(depth == 0 && equal_));
  }
  template <class It>
  void put(It begin, It end, double sign) {
    std::uint32_t k = 0;
    for (It it = begin; it != end; ++it, ++k) {
      double* load = load_.data() + static_cast<std::size_t>(k) * lanes_;
      for (std::uint32_t l : w_.lanes_of(*it)) {
        const double s = w_.seconds_in(*it, l);
        load[l] += sign * s;
        rest_[l] -= sign * s;
        most_[k] = std::max(most_[k], load[l]);
      }
    }
  }
  [[nodiscard]] double bound() const {
    const double sum = std::accumulate(most_.begin(), most_.end(), 0.0);
    double excess = 0;
    for (std::uint32_t l = 0; l < lanes_; ++l) {
      double need = rest_[l] - sum;
      if (need <= excess - sum) continue;
      for (std::uint32_t k = 0; k < steps_; ++k) need += load_[static_cast<std::size_t>(k) * lanes_ + l];
      excess = std::max(excess, need);
    }
    return sum + excess;
  }

  const Workload& w_;
  const Exchange& e_;
  Evaluator* evaluator_;
  Budget& budget_;
  double best_;
  bool improved_ = false;
  bool equal_ = false;
  std::uint32_t steps_ = 0;
  std::uint32_t lanes_ = 0;
  std::vector<std::uint32_t> by_sends_;
  std::vector<double> load_;  // seconds, by step and lane
  std::vector<double> most_;  // by step
  std::vector<double> rest_;  // by lane, of messages that have no step yet
  std::vector<std::vector<double>> saved_;
  Order order_;
  Order best_order_;
};

// Gives up a branch once the work that some lane has still to do is enough to make it no sooner than the best.
struct BoundedTree {
  struct State {
    std::vector<double> load;  // seconds that each lane has still to work
  };
  const Workload& w;
  Budget& budget;
  double best;
  bool improved = false;
  Order best_order{};

  bool step() { return budget.spend(best); }
  bool moved(AsyncFrame<State>& f, RateMemo::Row row, double dt) const {
    std::vector<double>& load = f.state.load;
    for (std::uint32_t r = 0; r < w.ranks(); ++r) {
      if (f.choice[r] == 0) continue;
      const std::uint32_t m = w.exchange.first[r] + f.choice[r] - 1;
      for (std::uint32_t l : w.lanes_of(m)) load[l] -= row.share[r] * dt * w.seconds_in(m, l);
    }
    double longest = 0;
    for (double l : load) longest = std::max(longest, l);
    return sooner(f.now + longest, best);
  }
  [[nodiscard]] bool over() const { return budget.over(); }
  void leaf(double seconds, const Order& order) {
    if (!sooner(seconds, best)) return;
    best = seconds;
    best_order = order;
    improved = true;
  }
};

class AsyncSearch {
 public:
  AsyncSearch(Evaluator& evaluator, double incumbent_s, Budget& budget)
      : tree_(evaluator.workload().exchange, evaluator.memo(),
              BoundedTree{evaluator.workload(), budget, incumbent_s}) {
    const Workload& w = evaluator.workload();
    BoundedTree::State state;
    state.load.assign(w.lanes(), 0);
    for (std::uint32_t m = 0; m < w.messages(); ++m) {
      for (std::uint32_t l : w.lanes_of(m)) state.load[l] += w.seconds_in(m, l);
    }
    tree_.start(std::move(state));
  }

  void run() { tree_.run(); }
  [[nodiscard]] double best() const { return tree_.hooks().best; }
  [[nodiscard]] bool improved() const { return tree_.hooks().improved; }
  [[nodiscard]] const Order& best_order() const { return tree_.hooks().best_order; }

 private:
  AsyncTree<BoundedTree> tree_;
};

template <class Search>
BranchResult finish(Search& search, const Budget& budget) {
  BranchResult r;
  r.complete = !budget.over();
  r.seconds = search.best();
  r.improved = search.improved();
  r.order = search.best_order();
  r.nodes = budget.nodes();
  return r;
}

}  // namespace

BranchResult branch_and_bound(Evaluator& evaluator, Mode mode, double incumbent_s, std::uint64_t most_nodes,
                              const Control& control) {
  Budget budget(most_nodes, control);
  if (mode == Mode::kBarrier) {
    BarrierSearch search(evaluator.workload(), &evaluator, incumbent_s, budget);
    search.run();
    return finish(search, budget);
  }
  AsyncSearch search(evaluator, incumbent_s, budget);
  search.run();
  return finish(search, budget);
}

BranchResult step_load_bound(const Workload& workload, double known_s, std::uint64_t most_nodes,
                             const Control& control) {
  Budget budget(most_nodes, control);
  BarrierSearch search(workload, nullptr, known_s, budget);
  search.run();
  return finish(search, budget);
}

}  // namespace weft::schedule
