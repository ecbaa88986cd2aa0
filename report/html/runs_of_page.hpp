// The runs of a matrix as a page shows them: collected while they are replayed, by several threads.
#pragma once

#include <memory>
#include <vector>

#include "predict/run_matrix.hpp"
#include "report/html/run_collector.hpp"

namespace weft::report {

class RunsOfPage {
 public:
  // After the matrix has run. What its facts point at is the matrix.
  [[nodiscard]] std::vector<PageRun> take() { return std::move(runs_); }

 private:
  friend void watch(predict::MatrixRequest& request, RunsOfPage& page);
  std::vector<std::unique_ptr<RunCollector>> collectors_;
  std::vector<PageRun> runs_;
};

// Makes the runs of `request` collect for `page`, which must outlive them, and keep their critical paths, wait states and times on
// an ideal network. Call it when the request is complete.
void watch(predict::MatrixRequest& request, RunsOfPage& page);

}  // namespace weft::report
