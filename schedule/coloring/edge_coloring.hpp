// EdgeColoring: orders of which no step asks more of a link than it can give.
//
// Messages are the edges of a multigraph from senders to receivers, and the place of a message in its sender's order is
// its color: a rank with d messages uses the colors 0..d - 1, once each. Where only the ports of hosts count, a proper
// coloring with as many colors as the largest degree is a schedule that meets the link bound (Koenig 1916). Here every
// lane counts, of links inside a network or a tree, too, and a step may take longer than one message: what the link bound
// leaves beyond the longest messages of all steps is shared out among the steps, in each attempt in another way.
//
// Every second attempt begins with matchings of senders and receivers, step by step, the others with a random order. Then
// min-conflicts (Minton and others 1992) with a tabu list (Hertz and de Werra 1987): take any lane that is asked for too
// much in any step, and let that message on it change places with another of its rank by which least is asked for too much
// in all. Loads are whole numbers: sums are exact.
//
// A proper coloring may still take longer than the bound: where a link's messages are slower than their loads alone make
// them, or without barriers, where ranks run ahead. Who asks has to time the orders.
//
// Complexity of an attempt: at most kTries x messages exchanges tried, each O(length of routes).
#pragma once

#include <cstdint>
#include <vector>

#include "core/rng.hpp"
#include "schedule/evaluator.hpp"

namespace weft::schedule {

class EdgeColoring {
 public:
  // `workload` must outlive it; `bound_s`: what the steps may take in all, if their longest messages need no more. REQUIRES: a
  // message that takes time.
  EdgeColoring(const Workload& workload, double bound_s);

  // An attempt by its number, 0 and up: the same number, the same order.
  void color(std::uint64_t attempt, std::uint64_t seed);
  // Of the last attempt: the order that asks for least too much.
  [[nodiscard]] const Order& order() const { return best_order_; }
  // Whether no lane is asked for too much there.
  [[nodiscard]] bool proper() const { return best_ == 0; }

 private:
  static constexpr std::uint64_t kTries = 400;
  using Load = std::int64_t;  // in parts of the longest message's time

  void share_out(std::uint64_t way, Rng& rng);
  void begin(bool matched, Rng& rng);
  bool improve(Rng& rng, std::uint64_t move, std::uint64_t& tries);
  void keep();
  void load(std::uint32_t message, std::uint32_t step, Load sign);
  void exchange(std::uint32_t a, std::uint32_t b);

  const Workload& w_;
  const Exchange& e_;
  std::uint32_t steps_;
  std::uint32_t lanes_;
  Load bound_;                     // of all steps
  std::vector<Load> longest_;      // by step: what it takes at least
  std::vector<Load> need_;         // by position in the workload's lanes
  std::vector<std::uint32_t> on_;  // messages by lane, those of lane l at [on_start_[l], on_start_[l + 1])
  std::vector<std::uint32_t> on_start_;
  // of an attempt
  std::vector<Load> room_;           // by step
  std::vector<Load> load_;           // by step and lane
  std::vector<std::uint32_t> step_;  // by message
  std::vector<std::uint32_t> over_;  // places in load_ that are asked for too much
  std::vector<std::uint32_t> at_;    // where in over_, by place
  std::vector<std::uint64_t> tabu_;  // by message and step: the first move that may bring it there
  Load excess_ = 0;                  // sum of what is asked for too much
  Load best_ = 0;
  Order best_order_;
};

}  // namespace weft::schedule
