// TimeTally: the distribution of many schedule times, without keeping each.
//
// A time goes into a cell by its leading 40 bits of mantissa, so that equal times with different rounding meet;
// what a cell boundary still separates is joined by finish(), which merges neighbours closer than kSameTime.
// Beyond so many cells two become one, by one bit of mantissa less, as often as it takes. The cells at both ends are
// then kept as they were, too: the shortest and the longest times and how many there are of each stay exact.
// The result depends neither on the order of adding nor on how the times were split over tallies: cells nest, and are
// wider only where those of some of the times were too many already; at either end, what is among the first of all times
// is among the first of any of them, so it is never let go.
// Memory: 24 bytes per cell, at half load: 100 MB at most, twice that while cells are widened. add() O(1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace weft::schedule {

struct TimeBin {
  double seconds = 0;
  std::uint64_t count = 0;
  friend bool operator==(const TimeBin&, const TimeBin&) = default;
};

struct TimeStatistics {
  std::vector<TimeBin> distinct;  // ascending
  double apart =
      0;  // relative; times closer than this may be one in `distinct`, median and mean. 0: all are told apart
  std::uint64_t count = 0;
  double best = 0;
  std::uint64_t best_count = 0;
  double next_best = 0;  // best if there is only one time
  double median = 0;     // mean of the two in the middle
  double mean = 0;
  double worst = 0;
  std::uint64_t worst_count = 0;
};

// A tally as it is, to be kept.
struct TallyCells {
  std::vector<TimeBin> times;            // ascending
  int dropped = 0;                       // bits of mantissa that cells are wider than at first
  std::vector<TimeBin> lowest, highest;  // ascending; narrow ones at the ends, where cells are wider
  friend bool operator==(const TallyCells&, const TallyCells&) = default;
};

class TimeTally {
 public:
  static constexpr std::size_t kMostCells = (std::size_t{1} << 21) - 1;

  explicit TimeTally(std::size_t most_cells = kMostCells) : most_(most_cells) {}
  void add(double seconds, std::uint64_t count = 1);
  void merge(const TimeTally& other);
  // What cells() gave.
  void merge(const TallyCells& other);
  [[nodiscard]] TimeStatistics finish() const;
  [[nodiscard]] TallyCells cells() const;

 private:
  struct Cell {
    std::uint64_t key = 0;  // 0: free
    double seconds = 0;     // the smallest of the cell
    std::uint64_t count = 0;
  };
  using End = std::map<std::uint64_t, TimeBin>;  // by narrow cell
  void put(double seconds, std::uint64_t count);
  void rebuild(std::size_t size);
  void fit();
  void widen();
  void widen_to(int dropped);
  void take(const TimeBin& b, bool wide);
  void add_to_ends(const TimeBin& b);
  void add_to_end(End& end, bool low, const TimeBin& b);
  [[nodiscard]] std::vector<TimeBin> times() const;
  std::vector<Cell> cells_;
  std::size_t used_ = 0, most_;
  int dropped_ = 0;
  End lowest_, highest_;  // empty until cells are wider
};

}  // namespace weft::schedule
