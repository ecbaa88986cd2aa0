// OpKind::exchange_series: the factorisation of a panel as one collective operation of its process column.
//
// HPL looks for the pivot of every column of a panel by a bidirectional exchange among the P processes of a column:
// N x P x log2 P tiny messages, 40 million for N = 250,000 on 32 rows. One operation a panel says the same: what this
// rank computes between the exchanges, and how many bytes they carry.
//
// Op: comm = the column; peer = world rank of the root, the process that owns the diagonal block; amount = c, bytes of
// a candidate row with its header; list = {r, segment...}: r = bytes of the root's own row, and a segment is
//     {steps, exchange (0 or 1), n, n x {kernel, m, dm, n, dn, k, dk}}.
// Step s of a segment runs the kernels in order, kernel i with shape (m + s dm, n + s dn, k + s dk), nothing if one of
// these is <= 0, then, if `exchange` is 1, exchanges among all members (docs/model.md, "Series of exchanges").
// All members have the same comm, peer, c, r and total number of exchanges; their kernels differ.
#pragma once

#include <cstdint>
#include <span>

#include "traces/kernel.hpp"

namespace weft::traces {

// Steps of all segments, each counted once for every kernel that it runs: what replaying one operation may cost.
inline constexpr std::int64_t kMaxSeriesSteps = std::int64_t{1} << 20;

// One kernel of a segment: its shape at step 0 and what a step adds.
struct SeriesKernel {
  Kernel kernel{};
  std::int64_t m = 1, dm = 0, n = 1, dn = 0, k = 1, dk = 0;
  static constexpr std::size_t kValues = 7;

  [[nodiscard]] static SeriesKernel decode(const std::int64_t* v) {
    return {static_cast<Kernel>(v[0]), v[1], v[2], v[3], v[4], v[5], v[6]};
  }
  [[nodiscard]] constexpr KernelShape at(std::int64_t step) const {
    return {kernel, m + step * dm, n + step * dn, k + step * dk};
  }
};
[[nodiscard]] constexpr bool is_empty(const KernelShape& s) { return s.m <= 0 || s.n <= 0 || s.k <= 0; }

// A segment of a list that series_fault() accepts.
struct SeriesSegment {
  std::int64_t steps = 0;
  bool exchange = false;
  std::span<const std::int64_t> kernels;  // kValues each
  [[nodiscard]] std::size_t size() const { return kernels.size() / SeriesKernel::kValues; }
  [[nodiscard]] SeriesKernel kernel(std::size_t i) const {
    return SeriesKernel::decode(kernels.data() + i * SeriesKernel::kValues);
  }
};

// Walks the segments: while (auto more = cursor.next(segment)) ...
class SeriesCursor {
 public:
  SeriesCursor() = default;  // at the end
  explicit SeriesCursor(std::span<const std::int64_t> list) : rest_(list.subspan(1)) {}
  [[nodiscard]] bool next(SeriesSegment& out) {
    if (rest_.empty()) return false;
    const auto values = static_cast<std::size_t>(rest_[2]) * SeriesKernel::kValues;
    out = {rest_[0], rest_[1] != 0, rest_.subspan(3, values)};
    rest_ = rest_.subspan(3 + values);
    return true;
  }

 private:
  std::span<const std::int64_t> rest_;
};

// Null if the list is well formed, else what is wrong. O(list).
[[nodiscard]] const char* series_fault(std::span<const std::int64_t> list);
// REQUIRES of the rest: a list that series_fault() accepts. O(segments).
[[nodiscard]] std::int64_t series_exchanges(std::span<const std::int64_t> list);

}  // namespace weft::traces
