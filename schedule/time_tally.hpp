// TimeTally: the distribution of many schedule times, without keeping each.
//
// A time goes into a cell by its leading 40 bits of mantissa, so that equal times with different rounding meet;
// what a cell boundary still separates is joined by finish(), which merges neighbours closer than kSameTime.
// The result does not depend on the order of adding nor on how the times were split over tallies.
// Memory: 24 bytes per distinct time, at half load. add() O(1).
#pragma once

#include <cstdint>
#include <vector>

namespace weft::schedule {

struct TimeBin {
  double seconds = 0;
  std::uint64_t count = 0;
};

struct TimeStatistics {
  std::vector<TimeBin> distinct;  // ascending
  std::uint64_t count = 0;
  double best = 0;
  std::uint64_t best_count = 0;
  double next_best = 0;  // best if there is only one time
  double median = 0;     // mean of the two in the middle
  double mean = 0;
  double worst = 0;
  std::uint64_t worst_count = 0;
};

class TimeTally {
 public:
  void add(double seconds, std::uint64_t count = 1);
  void merge(const TimeTally& other);
  [[nodiscard]] TimeStatistics finish() const;
  // Cells as they are; add() of each into an empty tally makes the same one.
  [[nodiscard]] std::vector<TimeBin> cells() const;

 private:
  struct Cell {
    std::uint64_t key = 0;  // 0: free
    double seconds = 0;     // the smallest of the cell
    std::uint64_t count = 0;
  };
  void grow();
  std::vector<Cell> cells_;
  std::size_t used_ = 0;
};

}  // namespace weft::schedule
