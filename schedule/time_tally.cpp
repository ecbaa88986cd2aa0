#include "schedule/time_tally.hpp"

#include <algorithm>
#include <bit>

#include "schedule/evaluator.hpp"

namespace weft::schedule {
namespace {
constexpr int kDropped = 12;  // of 52 bits of mantissa
}

void TimeTally::add(double seconds, std::uint64_t count) {
  if (2 * (used_ + 1) > cells_.size()) grow();
  const std::uint64_t key =
      ((std::bit_cast<std::uint64_t>(seconds) + (std::uint64_t{1} << (kDropped - 1))) >> kDropped) + 1;
  std::size_t at = (key * 0x9e3779b97f4a7c15ULL >> 16) & (cells_.size() - 1);
  while (cells_[at].key != 0 && cells_[at].key != key) at = (at + 1) & (cells_.size() - 1);
  Cell& c = cells_[at];
  if (c.key == 0) {
    ++used_;
    c = {key, seconds, 0};
  }
  c.seconds = std::min(c.seconds, seconds);
  c.count += count;
}

void TimeTally::grow() {
  std::vector<Cell> old(std::max<std::size_t>(64, 2 * cells_.size()));
  old.swap(cells_);
  used_ = 0;
  for (const Cell& c : old) {
    if (c.key != 0) add(c.seconds, c.count);
  }
}

void TimeTally::merge(const TimeTally& other) {
  for (const Cell& c : other.cells_) {
    if (c.key != 0) add(c.seconds, c.count);
  }
}

std::vector<TimeBin> TimeTally::cells() const {
  std::vector<TimeBin> out;
  for (const Cell& c : cells_) {
    if (c.key != 0) out.push_back({c.seconds, c.count});
  }
  std::sort(out.begin(), out.end(), [](const TimeBin& a, const TimeBin& b) { return a.seconds < b.seconds; });
  return out;
}

TimeStatistics TimeTally::finish() const {
  TimeStatistics s;
  s.distinct = cells();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < s.distinct.size(); ++i) {
    if (kept > 0 && !sooner(s.distinct[kept - 1].seconds, s.distinct[i].seconds)) {
      s.distinct[kept - 1].count += s.distinct[i].count;
    } else {
      s.distinct[kept++] = s.distinct[i];
    }
  }
  s.distinct.resize(kept);
  if (kept == 0) return s;
  double sum = 0;
  for (const TimeBin& b : s.distinct) {
    s.count += b.count;
    sum += b.seconds * static_cast<double>(b.count);
  }
  s.mean = sum / static_cast<double>(s.count);
  s.best = s.distinct.front().seconds;
  s.best_count = s.distinct.front().count;
  s.next_best = s.distinct[kept > 1 ? 1 : 0].seconds;
  s.worst = s.distinct.back().seconds;
  s.worst_count = s.distinct.back().count;
  const auto nth = [&](std::uint64_t k) {
    for (const TimeBin& b : s.distinct) {
      if (k < b.count) return b.seconds;
      k -= b.count;
    }
    return s.worst;
  };
  s.median = (nth((s.count - 1) / 2) + nth(s.count / 2)) / 2;
  return s;
}

}  // namespace weft::schedule
