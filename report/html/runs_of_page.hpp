// The runs of a matrix as a page shows them: collected while they are replayed, by several threads.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "predict/run_matrix.hpp"
#include "predict/sensitivity.hpp"
#include "report/html/run_collector.hpp"

namespace weft::report {

class RunsOfPage {
 public:
  // After the matrix has run. What its facts point at is the matrix and, where it was asked, this.
  [[nodiscard]] std::vector<PageRun> take() { return std::move(runs_); }

 private:
  friend void watch(predict::MatrixRequest& request, RunsOfPage& page);
  friend Result<void> ask_what_if(const predict::MatrixRequest& request, const predict::Matrix& matrix,
                                  RunsOfPage& page);
  std::vector<std::unique_ptr<RunCollector>> collectors_;
  std::vector<PageRun> runs_;
  std::deque<predict::Sensitivity> what_if_;
};

// Makes the runs of `request` collect for `page`, which must outlive them, and keep their critical paths, wait states and times on
// an ideal network. Call it when the request is complete.
void watch(predict::MatrixRequest& request, RunsOfPage& page);

// After the matrix has run: what the first run of the ranking and the one that is next to it depend on, by replays of these two. Errors: those of
// a replay. REQUIRES: `page` has watched `request`, which ran as `matrix`; it has not been taken.
[[nodiscard]] Result<void> ask_what_if(const predict::MatrixRequest& request, const predict::Matrix& matrix,
                                       RunsOfPage& page);

}  // namespace weft::report
