// What spans of time were: each names an operation of its rank by its number, and the trace is read once for all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "core/result.hpp"
#include "traces/request_book.hpp"
#include "traces/trace.hpp"

namespace weft::report {

// Which waits of a rank are for kernels that it launched on its accelerator: their time is computation (docs/model.md,
// "Accelerators"), not time in MPI. Sees all operations in program order. Memory: the launches that are waited for.
class AcceleratorWaits {
 public:
  // Whether `op` is one.
  bool see(const traces::Op& op) {
    if (op.request == traces::kNoRequest) return false;
    if (op.kind == traces::OpKind::launch) {
      launched_.insert(op.request);
    } else if (!launched_.empty()) {
      if (op.kind == traces::OpKind::wait) return launched_.erase(op.request) > 0;
      if (traces::makes_request(op.kind)) launched_.erase(op.request);
    }
    return false;
  }

 private:
  std::set<std::uint32_t> launched_;
};

// use(block, op, for_accelerator) for the operations of `rank` whose numbers next() tells, one call for each of its answers, which do not
// fall; std::nullopt ends it, and so does the end of the rank. `for_accelerator`: it is a wait for a launched kernel. `trace` is
// read from where it is: at the start of the rank. Errors: the trace's.
template <class Next, class Use>
[[nodiscard]] Result<void> for_each_op_of(RankId rank, traces::TraceReader& trace, Next&& next, Use&& use) {
  traces::OpBlock block;
  AcceleratorWaits waits;
  std::uint64_t first = 0;
  for (std::optional<std::uint64_t> wanted = next(); wanted;) {
    WEFT_ASSIGN(const bool more, trace.next_block(rank, block));
    if (!more) break;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      const bool for_accelerator = waits.see(block.ops[i]);
      for (; wanted == first + i; wanted = next()) use(block, block.ops[i], for_accelerator);
    }
    first += block.ops.size();
  }
  return {};
}

// use(i, block, op, for_accelerator) for every span i of `rank`, whose operation `op` of `block` is number spans[i].op; in
// program order. Otherwise as for_each_op_of().
template <class Span, class Use>
[[nodiscard]] Result<void> for_each_span_op(const std::vector<Span>& spans, RankId rank,
                                            traces::TraceReader& trace, Use&& use) {
  // Bodies of conditional steps run early: not in the order of the program.
  std::vector<std::uint32_t> by_op(spans.size());
  for (std::uint32_t i = 0; i < by_op.size(); ++i) by_op[i] = i;
  std::stable_sort(by_op.begin(), by_op.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return spans[a].op < spans[b].op; });
  std::size_t at = 0;
  return for_each_op_of(
      rank, trace,
      [&] { return at < by_op.size() ? std::optional<std::uint64_t>(spans[by_op[at]].op) : std::nullopt; },
      [&](const traces::OpBlock& block, const traces::Op& op, bool for_accelerator) {
        use(by_op[at++], block, op, for_accelerator);
      });
}

}  // namespace weft::report
