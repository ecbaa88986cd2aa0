// AsyncTree: all asynchronous schedules, depth first, as one simulation that forks where a rank has a choice.
//
// Time goes on until some messages end. A rank that ended its message and has one left starts it; if it has several,
// the run forks: one branch for each, and for each combination where several ranks choose at the same instant. What
// schedules have in common is simulated once. A leaf is a complete schedule.
//
// The caller's Hooks say what to do on the way; they are inlined, since a leaf takes well under a microsecond:
//   struct State;                                   what each branch carries besides; copied at a fork
//   bool step();                                    before each phase; false: this branch is given up
//   bool moved(Frame& f, RateMemo::Row row, double dt);
//                                                   dt has passed at the rates of row, the messages that ended are
//                                                   still chosen; false: this branch is given up
//   void leaf(double seconds, const Order& order);  infinity if messages do not move
//   bool over();                                    true: no further branch is begun
//
// At most 64 messages per rank (sets of them are bits). Memory: a frame per message; no allocation on the way.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "schedule/evaluator.hpp"

namespace weft::schedule {

// A simulation between two forks. By rank where it is a vector.
template <class State>
struct AsyncFrame {
  std::uint64_t key = 0;
  double now = 0;
  std::uint32_t active = 0;           // ranks that have a message on its way or left
  std::vector<double> left;           // fraction of the message on its way
  std::vector<std::uint32_t> choice;  // 0 = none, k = the k-th of the rank (RateMemo)
  std::vector<std::uint64_t> open;    // messages not sent yet, as bits
  std::vector<std::uint32_t> used;    // messages chosen so far
  State state;
};

template <class Hooks>
class AsyncTree {
 public:
  using Frame = AsyncFrame<typename Hooks::State>;

  // `exchange` and `memo` must outlive the tree.
  AsyncTree(const Exchange& exchange, RateMemo& memo, Hooks hooks)
      : e_(exchange), memo_(memo), n_(exchange.ranks), hooks_(std::move(hooks)) {
    order_.resize(e_.messages.size());
    frames_.resize(e_.messages.size() + 2);
    for (Frame& f : frames_) {
      f.left.resize(n_);
      f.choice.resize(n_);
      f.open.resize(n_);
      f.used.resize(n_);
    }
  }

  [[nodiscard]] const Hooks& hooks() const { return hooks_; }

  // Before run(): nothing is chosen, nothing has happened.
  void start(typename Hooks::State state = {}) {
    Frame& f = frames_[0];
    f.key = 0;
    f.now = 0;
    f.active = 0;
    f.state = std::move(state);
    for (std::uint32_t r = 0; r < n_; ++r) {
      f.left[r] = 1;
      f.choice[r] = 0;
      f.used[r] = 0;
      f.open[r] = e_.sends(r) >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << e_.sends(r)) - 1;
      f.active += e_.sends(r) != 0 ? 1 : 0;
    }
  }
  // Between start() and run(): rank r sends its k-th message, from 0, first.
  void begin_with(std::uint32_t r, std::uint32_t k) { choose(frames_[0], r, k); }
  // All schedules that begin that way.
  void run() { branch(0, 0); }

 private:
  void choose(Frame& f, std::uint32_t r, std::uint32_t k) {
    f.key += (k + 1) * memo_.stride(r);
    f.choice[r] = k + 1;
    f.open[r] &= ~(std::uint64_t{1} << k);
    order_[e_.first[r] + f.used[r]++] = e_.first[r] + k;
  }

  // Runs the simulation of a frame until a rank has a choice.
  void descend(std::size_t depth) {
    Frame& f = frames_[depth];
    while (f.active > 0) {
      if (!hooks_.step()) return;
      const RateMemo::Row row = memo_.row(f.key, f.choice.data());
      const double dt = advance(n_, row, f.left.data());
      f.now += dt;
      if (std::isinf(dt)) break;
      if (!hooks_.moved(f, row, dt)) return;
      bool choices = false;
      for (std::uint32_t r = 0; r < n_; ++r) {
        if (f.left[r] > kDone) continue;
        f.key -= f.choice[r] * memo_.stride(r);
        f.choice[r] = 0;
        f.left[r] = 1;
        const std::uint64_t open = f.open[r];
        if (open == 0) {
          --f.active;
        } else if (std::has_single_bit(open)) {
          choose(f, r, static_cast<std::uint32_t>(std::countr_zero(open)));
        } else {
          choices = true;
        }
      }
      if (choices) {
        branch(depth, 0);
        return;
      }
    }
    hooks_.leaf(f.now, std::as_const(order_));
  }

  // Ranks that have ended a message and have several left choose one each.
  void branch(std::size_t depth, std::uint32_t from) {
    Frame& f = frames_[depth];
    std::uint32_t r = from;
    while (r < n_ && (f.choice[r] != 0 || f.open[r] == 0)) ++r;
    if (r == n_) {
      frames_[depth + 1] = f;
      descend(depth + 1);
      return;
    }
    const std::uint64_t open = f.open[r];
    const std::uint64_t key = f.key;
    for (std::uint64_t rest = open; rest != 0 && !hooks_.over(); rest &= rest - 1) {
      choose(f, r, static_cast<std::uint32_t>(std::countr_zero(rest)));
      branch(depth, r + 1);
      f.key = key;
      f.choice[r] = 0;
      f.open[r] = open;
      --f.used[r];
    }
  }

  const Exchange& e_;
  RateMemo& memo_;
  std::uint32_t n_;
  Hooks hooks_;
  Order order_;
  std::vector<Frame> frames_;
};

}  // namespace weft::schedule
