// What spans of time were: each names an operation of its rank by its number, and the trace is read once for all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "traces/trace.hpp"

namespace weft::report {

// use(i, block, op) for every span i of `rank`, whose operation `op` of `block` is number spans[i].op; in program order.
// `trace` is read from where it is: at the start of the rank. Errors: the trace's.
template <class Span, class Use>
[[nodiscard]] Result<void> for_each_span_op(const std::vector<Span>& spans, RankId rank,
                                            traces::TraceReader& trace, Use&& use) {
  // Bodies of conditional steps run early: not in the order of the program.
  std::vector<std::uint32_t> by_op(spans.size());
  for (std::uint32_t i = 0; i < by_op.size(); ++i) by_op[i] = i;
  std::stable_sort(by_op.begin(), by_op.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return spans[a].op < spans[b].op; });
  traces::OpBlock block;
  std::uint64_t first = 0;
  for (std::size_t next = 0; next < by_op.size();) {
    WEFT_ASSIGN(const bool more, trace.next_block(rank, block));
    if (!more) break;
    for (; next < by_op.size() && spans[by_op[next]].op < first + block.ops.size(); ++next)
      use(by_op[next], block, block.ops[spans[by_op[next]].op - first]);
    first += block.ops.size();
  }
  return {};
}

}  // namespace weft::report
