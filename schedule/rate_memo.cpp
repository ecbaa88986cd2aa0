#include "schedule/rate_memo.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace weft::schedule {
namespace {

constexpr std::uint64_t kDenseBytes = std::uint64_t{1} << 25;
constexpr std::uint64_t kHashBytes = std::uint64_t{1} << 27;
// A message without links or bytes: gone at once, but with numbers that can be computed with.
constexpr double kAtOnce = 1e30;

}  // namespace

RateMemo::RateMemo(const Workload& workload, const RateOracle& oracle)
    : workload_(workload), oracle_(oracle.clone()), ranks_(workload.ranks()) {
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    stride_.push_back(sets_);
    if (__builtin_mul_overflow(sets_, std::uint64_t{workload.exchange.sends(r)} + 1, &sets_) ||
        (sets_ >> 63) != 0) {
      sets_ = 0;
      break;
    }
  }
  const std::uint64_t row_bytes = 2 * sizeof(double) * std::max(ranks_, 1u);
  if (sets_ == 0) {
    stride_.assign(ranks_, 0);
    rows_ = std::make_unique<double[]>(2 * static_cast<std::size_t>(ranks_));
  } else if (sets_ <= kDenseBytes / row_bytes) {
    dense_ = true;
    rows_ = std::make_unique_for_overwrite<double[]>(sets_ * 2 * ranks_);
    std::fill_n(rows_.get(), sets_ * 2 * ranks_, -1.0);
  } else {
    const std::uint64_t slots = std::bit_floor(kHashBytes / row_bytes);
    mask_ = slots - 1;
    keys_.assign(slots, 0);
    rows_ = std::make_unique_for_overwrite<double[]>(slots * 2 * ranks_);
  }
}

void RateMemo::fill(double* at, const std::uint32_t* choice) {
  ++computed_;
  active_.clear();
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    if (choice[r] != 0) active_.push_back(workload_.exchange.first[r] + choice[r] - 1);
  }
  rates_.resize(active_.size());
  oracle_->rates(active_, rates_);
  std::size_t i = 0;
  for (std::uint32_t r = 0; r < ranks_; ++r) {
    if (choice[r] == 0) {
      at[r] = 0;
      at[ranks_ + r] = std::numeric_limits<double>::infinity();
      continue;
    }
    const auto bytes = static_cast<double>(workload_.exchange.messages[active_[i]].bytes.value());
    const double share = bytes > 0 ? std::min(rates_[i] / bytes, kAtOnce) : kAtOnce;
    at[r] = share;
    at[ranks_ + r] = share > 0 ? 1 / share : std::numeric_limits<double>::infinity();
    ++i;
  }
}

RateMemo::Row RateMemo::find(std::uint64_t key, const std::uint32_t* choice) {
  if (sets_ == 0) {
    fill(rows_.get(), choice);
    return {rows_.get(), rows_.get() + ranks_};
  }
  if (used_ > mask_ / 2) {
    std::fill(keys_.begin(), keys_.end(), 0);
    used_ = 0;
  }
  std::uint64_t slot = (key * 0x9e3779b97f4a7c15ULL) >> 20 & mask_;
  while (keys_[slot] != 0 && keys_[slot] != key + 1) slot = (slot + 1) & mask_;
  double* at = rows_.get() + slot * 2 * ranks_;
  if (keys_[slot] == 0) {
    ++used_;
    keys_[slot] = key + 1;
    fill(at, choice);
  }
  return {at, at + ranks_};
}

}  // namespace weft::schedule
