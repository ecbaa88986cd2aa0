#include "traces/exchange_series.hpp"

#include <algorithm>

namespace weft::traces {

const char* series_fault(std::span<const std::int64_t> list) {
  constexpr const char* kShape = "the list must be row bytes, then segments of steps, exchange, n, n kernels";
  // Dimensions stay far from where m + s dm could overflow: 2^20 steps of 2^36 each.
  constexpr std::int64_t kMaxDimension = std::int64_t{1} << 36;
  if (list.empty()) return kShape;
  if (list[0] < 0 || list[0] > kMaxDimension) return "the bytes of the root's row are out of range";
  std::int64_t steps = 0, work = 0;
  for (std::size_t i = 1; i < list.size();) {
    if (list.size() - i < 3) return kShape;
    if (list[i] < 1 || list[i] > kMaxSeriesSteps) return "the number of steps is out of range";
    if (list[i + 1] != 0 && list[i + 1] != 1) return "a segment exchanges (1) or not (0)";
    const std::int64_t n = list[i + 2];
    if (n < 0 || static_cast<std::uint64_t>(n) > (list.size() - i - 3) / SeriesKernel::kValues) return kShape;
    if (__builtin_mul_overflow(list[i], std::max<std::int64_t>(n, 1), &work) ||
        work > kMaxSeriesSteps - steps)
      return "the number of steps is out of range";
    steps += work;
    i += 3;
    for (std::int64_t k = 0; k < n; ++k, i += SeriesKernel::kValues) {
      if (list[i] < 0 || list[i] >= static_cast<std::int64_t>(kKernelCount)) return "unknown kernel";
      for (std::size_t v = 1; v < SeriesKernel::kValues; ++v)
        if (list[i + v] < -kMaxDimension || list[i + v] > kMaxDimension)
          return "a dimension of a kernel is out of range";
    }
  }
  return nullptr;
}

std::int64_t series_exchanges(std::span<const std::int64_t> list) {
  std::int64_t exchanges = 0;
  SeriesCursor cursor(list);
  for (SeriesSegment s; cursor.next(s);) exchanges += s.exchange ? s.steps : 0;
  return exchanges;
}

}  // namespace weft::traces
