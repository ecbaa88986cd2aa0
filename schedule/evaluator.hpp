// Evaluator: how long one schedule takes, and what happens in it.
//
// A schedule is an order of its messages per rank; a rank has one message on its way at a time.
//  barrier: message k of every rank starts when message k - 1 of every rank is finished.
//  async:   message k of a rank starts when its message k - 1 is finished.
// Between events rates are constant (RateMemo). Progress is kept as the fraction of each message that is left;
// below kDone = 1e-9 it is finished, so that messages that end together do end together in spite of rounding.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "schedule/rate_memo.hpp"

namespace weft::schedule {

enum class Mode : std::uint8_t { kBarrier, kAsync };

inline constexpr double kDone = 1e-9;
// Relative; times closer than this are one time.
inline constexpr double kSameTime = 1e-9;

[[nodiscard]] inline bool sooner(double a, double b) { return a < b * (1 - kSameTime); }

// Messages by index, those of rank r at [first[r], first[r + 1]) as in the exchange.
using Order = std::vector<std::uint32_t>;

// A stretch of time with one set of messages on their way.
struct Phase {
  std::uint32_t step = 0;  // from 1: barrier, the number of the step; async, of the phase
  double from_s = 0;
  double to_s = 0;
  std::vector<std::uint32_t> messages;  // ascending
  std::vector<double> rate_Bps;
};

// Moves all messages on by the time until the first of them ends. Returns that time: infinity if none moves.
inline double advance(std::uint32_t ranks, const RateMemo::Row& row, double* left) {
  double dt = std::numeric_limits<double>::infinity();
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const double t = left[r] * row.inverse[r];
    dt = t < dt ? t : dt;
  }
  for (std::uint32_t r = 0; r < ranks; ++r) left[r] -= row.share[r] * dt;
  return dt;
}

class Evaluator {
 public:
  Evaluator(const Workload& workload, const RateOracle& oracle);

  [[nodiscard]] const Workload& workload() const { return workload_; }
  [[nodiscard]] RateMemo& memo() { return memo_; }

  // Seconds. Gives up with infinity once the time is known not to be sooner than `limit`.
  [[nodiscard]] double makespan(const Order& order, Mode mode,
                                double limit = std::numeric_limits<double>::infinity());
  // Seconds until all messages of one set are finished; `choice` by rank (RateMemo).
  [[nodiscard]] double set_time(const std::uint32_t* choice);
  [[nodiscard]] std::vector<Phase> timeline(const Order& order, Mode mode);

 private:
  template <class Next, class Visit>
  double run(Next&& next, double limit, Visit&& visit);
  template <class Visit>
  double run_async(const Order& order, double limit, Visit&& visit);
  template <class Visit>
  double run_set(const std::uint32_t* choice, Visit&& visit);

  const Workload& workload_;
  RateMemo memo_;
  std::vector<std::uint32_t> choice_;
  std::vector<std::uint32_t> step_;
  std::vector<std::uint32_t> next_;
  std::vector<double> left_;
};

}  // namespace weft::schedule
