#include "schedule/time_tally.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "schedule/evaluator.hpp"

namespace weft::schedule {
namespace {

constexpr int kMantissa = 52, kDropped = 12;        // bits, and of them those that no cell knows
constexpr int kMostDropped = kMantissa - kDropped;  // besides: a cell for each power of 2
// Narrow cells kept at either end: more than there are within kSameTime, so those equal to the first are among them.
constexpr std::size_t kAtEnds = 4096;

std::uint64_t narrow_cell(double seconds) {
  return (std::bit_cast<std::uint64_t>(seconds) + (std::uint64_t{1} << (kDropped - 1))) >> kDropped;
}

// Neighbours that are one time but for rounding.
std::vector<TimeBin> joined(std::vector<TimeBin> times) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (kept > 0 && !sooner(times[kept - 1].seconds, times[i].seconds)) {
      times[kept - 1].count += times[i].count;
    } else {
      times[kept++] = times[i];
    }
  }
  times.resize(kept);
  return times;
}

std::vector<TimeBin> listed(const std::map<std::uint64_t, TimeBin>& end) {
  std::vector<TimeBin> out;
  out.reserve(end.size());
  for (const auto& [cell, b] : end) out.push_back(b);
  return out;
}

}  // namespace

void TimeTally::add(double seconds, std::uint64_t count) {
  if (dropped_ > 0) add_to_ends({seconds, count});
  put(seconds, count);
  fit();
}

void TimeTally::put(double seconds, std::uint64_t count) {
  if (2 * (used_ + 1) > cells_.size()) rebuild(std::max<std::size_t>(64, 2 * cells_.size()));
  const std::uint64_t key = (narrow_cell(seconds) >> dropped_) + 1;
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

void TimeTally::fit() {
  while (used_ > most_ && dropped_ < kMostDropped) widen();
}

void TimeTally::rebuild(std::size_t size) {
  std::vector<Cell> old(size);
  old.swap(cells_);
  used_ = 0;
  for (const Cell& c : old) {
    if (c.key != 0) put(c.seconds, c.count);
  }
}

void TimeTally::widen() {
  if (dropped_ == 0) {
    for (const TimeBin& b : times()) add_to_ends(b);
  }
  ++dropped_;
  rebuild(cells_.size());
}

void TimeTally::add_to_ends(const TimeBin& b) {
  add_to_end(lowest_, true, b);
  add_to_end(highest_, false, b);
}

void TimeTally::add_to_end(End& end, bool low, const TimeBin& b) {
  const std::uint64_t cell = narrow_cell(b.seconds);
  const auto innermost = [&] { return low ? std::prev(end.end()) : end.begin(); };
  if (end.size() == kAtEnds && (low ? cell > innermost()->first : cell < innermost()->first)) return;
  TimeBin& kept = end.try_emplace(cell, TimeBin{b.seconds, 0}).first->second;
  kept.seconds = std::min(kept.seconds, b.seconds);
  kept.count += b.count;
  if (end.size() > kAtEnds) end.erase(innermost());
}

void TimeTally::widen_to(int dropped) {
  while (dropped_ < std::min(dropped, kMostDropped)) widen();
}

void TimeTally::merge(const TimeTally& other) {
  widen_to(other.dropped_);
  for (const auto& [cell, b] : other.lowest_) add_to_end(lowest_, true, b);
  for (const auto& [cell, b] : other.highest_) add_to_end(highest_, false, b);
  for (const Cell& c : other.cells_) {
    if (c.key != 0) take({c.seconds, c.count}, other.dropped_ > 0);
  }
}

void TimeTally::merge(const TallyCells& other) {
  widen_to(other.dropped);
  for (const TimeBin& b : other.lowest) add_to_end(lowest_, true, b);
  for (const TimeBin& b : other.highest) add_to_end(highest_, false, b);
  for (const TimeBin& b : other.times) take(b, other.dropped > 0);
}

// A cell of another tally; if that has wide ones, its ends have been taken by themselves.
void TimeTally::take(const TimeBin& b, bool wide) {
  if (!wide) return add(b.seconds, b.count);
  put(b.seconds, b.count);
  fit();
}

std::vector<TimeBin> TimeTally::times() const {
  std::vector<TimeBin> out;
  out.reserve(used_);
  for (const Cell& c : cells_) {
    if (c.key != 0) out.push_back({c.seconds, c.count});
  }
  std::sort(out.begin(), out.end(), [](const TimeBin& a, const TimeBin& b) { return a.seconds < b.seconds; });
  return out;
}

TallyCells TimeTally::cells() const { return {times(), dropped_, listed(lowest_), listed(highest_)}; }

TimeStatistics TimeTally::finish() const {
  TimeStatistics s;
  s.distinct = joined(times());
  if (s.distinct.empty()) return s;
  double sum = 0;
  for (const TimeBin& b : s.distinct) {
    s.count += b.count;
    sum += b.seconds * static_cast<double>(b.count);
  }
  s.mean = sum / static_cast<double>(s.count);
  const auto tell_ends = [&s](const std::vector<TimeBin>& low, const std::vector<TimeBin>& high) {
    s.best = low.front().seconds;
    s.best_count = low.front().count;
    s.next_best = low[low.size() > 1 ? 1 : 0].seconds;
    s.worst = high.back().seconds;
    s.worst_count = high.back().count;
  };
  if (dropped_ == 0) {
    tell_ends(s.distinct, s.distinct);
  } else {
    s.apart = std::ldexp(1, dropped_ + kDropped - kMantissa);
    tell_ends(joined(listed(lowest_)), joined(listed(highest_)));
  }
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
