#include "schedule/evaluator.hpp"

#include <algorithm>

namespace weft::schedule {

Evaluator::Evaluator(const Workload& workload, const RateOracle& oracle)
    : workload_(workload),
      memo_(workload, oracle),
      choice_(workload.ranks()),
      step_(workload.ranks()),
      next_(workload.ranks()),
      left_(workload.ranks()) {}

// Until no rank has a message left: next(r) is the next choice of rank r, 0 when it has none, asked for at the start
// and whenever its message has ended. `visit(from, to, choice, row)` for each phase. Infinity if that is not before
// `limit`.
template <class Next, class Visit>
double Evaluator::run(Next&& next, double limit, Visit&& visit) {
  const std::uint32_t n = workload_.ranks();
  std::uint64_t key = 0;
  std::uint32_t open = 0;
  for (std::uint32_t r = 0; r < n; ++r) {
    left_[r] = 1;
    choice_[r] = next(r);
    key += choice_[r] * memo_.stride(r);
    open += choice_[r] != 0 ? 1 : 0;
  }
  double now = 0;
  while (open > 0) {
    const RateMemo::Row row = memo_.row(key, choice_.data());
    const double dt = advance(n, row, left_.data());
    if (dt == std::numeric_limits<double>::infinity()) return dt;
    visit(now, now + dt, choice_.data(), row);
    now += dt;
    if (!sooner(now, limit)) return std::numeric_limits<double>::infinity();
    for (std::uint32_t r = 0; r < n; ++r) {
      if (left_[r] > kDone) continue;
      key -= choice_[r] * memo_.stride(r);
      left_[r] = 1;
      choice_[r] = next(r);
      key += choice_[r] * memo_.stride(r);
      open -= choice_[r] == 0 ? 1 : 0;
    }
  }
  return now;
}

// One message of each rank, as `choice` says.
template <class Visit>
double Evaluator::run_set(const std::uint32_t* choice, Visit&& visit) {
  std::fill(next_.begin(), next_.end(), 0u);
  const auto once = [&](std::uint32_t r) { return next_[r]++ == 0 ? choice[r] : 0; };
  return run(once, std::numeric_limits<double>::infinity(), visit);
}

template <class Visit>
double Evaluator::run_async(const Order& order, double limit, Visit&& visit) {
  const auto& first = workload_.exchange.first;
  std::copy(first.begin(), first.begin() + workload_.ranks(), next_.begin());
  const auto in_order = [&](std::uint32_t r) {
    return next_[r] < first[r + 1] ? order[next_[r]++] - first[r] + 1 : 0;
  };
  return run(in_order, limit, visit);
}

double Evaluator::set_time(const std::uint32_t* choice) {
  return run_set(choice, [](double, double, const std::uint32_t*, const RateMemo::Row&) {});
}

double Evaluator::makespan(const Order& order, Mode mode, double limit) {
  if (mode == Mode::kAsync)
    return run_async(order, limit, [](double, double, const std::uint32_t*, const RateMemo::Row&) {});
  const auto& first = workload_.exchange.first;
  double total = 0;
  for (std::uint32_t k = 0; k < workload_.exchange.most_sends(); ++k) {
    for (std::uint32_t r = 0; r < workload_.ranks(); ++r) {
      step_[r] = k < workload_.exchange.sends(r) ? order[first[r] + k] - first[r] + 1 : 0;
    }
    total += set_time(step_.data());
    if (!sooner(total, limit)) return std::numeric_limits<double>::infinity();
  }
  return total;
}

std::vector<Phase> Evaluator::timeline(const Order& order, Mode mode) {
  std::vector<Phase> phases;
  const auto& e = workload_.exchange;
  double begin = 0;
  std::uint32_t step = 0;
  const auto visit = [&](double from, double to, const std::uint32_t* choice, const RateMemo::Row& row) {
    Phase p;
    p.step = mode == Mode::kBarrier ? step : static_cast<std::uint32_t>(phases.size() + 1);
    p.from_s = begin + from;
    p.to_s = begin + to;
    for (std::uint32_t r = 0; r < workload_.ranks(); ++r) {
      if (choice[r] == 0) continue;
      const std::uint32_t m = e.first[r] + choice[r] - 1;
      p.messages.push_back(m);
      p.rate_Bps.push_back(row.share[r] * static_cast<double>(e.messages[m].bytes.value()));
    }
    phases.push_back(std::move(p));
  };
  if (mode == Mode::kAsync) {
    (void)run_async(order, std::numeric_limits<double>::infinity(), visit);
    return phases;
  }
  for (std::uint32_t k = 0; k < e.most_sends(); ++k) {
    step = k + 1;
    for (std::uint32_t r = 0; r < workload_.ranks(); ++r) {
      step_[r] = k < e.sends(r) ? order[e.first[r] + k] - e.first[r] + 1 : 0;
    }
    begin += run_set(step_.data(), visit);
  }
  return phases;
}

}  // namespace weft::schedule
