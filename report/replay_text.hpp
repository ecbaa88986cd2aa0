// The result of one replay for people: the answer in the first line, then where the time went and what was
// assumed.
#pragma once

#include <string>
#include <vector>

#include "predict/run_facts.hpp"
#include "report/jobs.hpp"
#include "report/table.hpp"

namespace weft::report {

struct ReplayTextOptions {
  bool all_links = false;  // else the first 10 of link_order, and 5 of those that several jobs cross
  predict::LinkOrder link_order = predict::LinkOrder::kUtilization;
  std::size_t width = kUsualWidth;  // of a line
  const std::vector<JobFacts>* jobs =
      nullptr;  // several jobs on one fabric: their slowdowns and shared links
};

// How long it took, and the shares of the ranks' time; of a deadlock who waits for whom.
[[nodiscard]] std::string replay_answer(const predict::RunFacts& run);
[[nodiscard]] std::string replay_text(const predict::RunFacts& run, const ReplayTextOptions& options);
// "rank 3 in recv from 0 ... waits for rank 0" line by line: the cycle, or the first blocked ranks if there
// is none.
[[nodiscard]] std::string deadlock_text(const replay::DeadlockReport& deadlock, std::size_t width);

}  // namespace weft::report
