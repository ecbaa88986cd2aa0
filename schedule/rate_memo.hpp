// RateMemo: rates by the set of messages that are on their way, each set computed once.
//
// A rank has at most one message on its way, so a set is a choice per rank, 0 = idle, k = its k-th message, and
// its key is the mixed-radix number of the choices. A row has for each rank the share of its message that is
// sent per second, and the inverse: an idle rank has share 0 and inverse infinity.
//
// Few sets: a plain table. Many: open addressing, emptied when it is full (memory is bounded). More than 2^63
// sets: keys would clash, so nothing is remembered. One per thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "schedule/workload.hpp"

namespace weft::schedule {

class RateMemo {
 public:
  // Copies the oracle; `workload` must outlive the memo.
  RateMemo(const Workload& workload, const RateOracle& oracle);

  // What choice k of rank r adds to a key: k * stride(r).
  [[nodiscard]] std::uint64_t stride(std::uint32_t rank) const { return stride_[rank]; }
  // Sets in all; 0: beyond 2^63.
  [[nodiscard]] std::uint64_t sets() const { return sets_; }

  struct Row {
    const double* share;
    const double* inverse;
  };
  // `choice` by rank must be what `key` says. Valid until the next call.
  [[nodiscard]] Row row(std::uint64_t key, const std::uint32_t* choice) {
    if (dense_) {
      double* at = rows_.get() + key * 2 * ranks_;
      if (at[0] < 0) fill(at, choice);
      return {at, at + ranks_};
    }
    return find(key, choice);
  }
  [[nodiscard]] std::uint64_t computed() const { return computed_; }

 private:
  [[nodiscard]] Row find(std::uint64_t key, const std::uint32_t* choice);
  void fill(double* at, const std::uint32_t* choice);

  const Workload& workload_;
  std::unique_ptr<RateOracle> oracle_;
  std::uint32_t ranks_;
  std::vector<std::uint64_t> stride_;
  std::uint64_t sets_ = 1;
  bool dense_ = false;
  std::unique_ptr<double[]> rows_;  // of the hash: pages that were never filled cost nothing
  // hash
  std::vector<std::uint64_t> keys_;  // key + 1; 0 = free
  std::uint64_t mask_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t computed_ = 0;
  std::vector<std::uint32_t> active_;
  std::vector<double> rates_;
};

}  // namespace weft::schedule
