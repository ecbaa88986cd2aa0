// What spans of time were: each names an operation of its rank by its number, and the trace is read once for all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/result.hpp"
#include "traces/request_book.hpp"
#include "traces/trace.hpp"

namespace weft::report {

// Which waits of a rank are for kernels that it launched on its accelerator: their time is computation (docs/model.md,
// "Accelerators"), not time in MPI. Sees all operations in program order. Memory: the launches that are waited for.
class AcceleratorWaits {
 public:
  // Which operation launched what `op`, number `index` of its rank, waits for, if it does.
  std::optional<std::uint64_t> see(const traces::Op& op, std::uint64_t index) {
    if (op.request == traces::kNoRequest) return {};
    if (op.kind == traces::OpKind::launch) {
      launched_[op.request] = index;
    } else if (const auto it = launched_.find(op.request); it != launched_.end()) {
      const std::uint64_t by = it->second;
      const bool waits = op.kind == traces::OpKind::wait;
      if (waits || traces::makes_request(op.kind)) launched_.erase(it);
      if (waits) return by;
    }
    return {};
  }

 private:
  std::map<std::uint32_t, std::uint64_t> launched_;  // operation, by request
};

// use(block, op, launched_by) for the operations of `rank` whose numbers next() tells, one call for each of its answers, which do not
// fall; std::nullopt ends it, and so does the end of the rank. `launched_by`: it is a wait for what that operation launched. `trace` is
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
      const auto launched_by = waits.see(block.ops[i], first + i);
      for (; wanted == first + i; wanted = next()) use(block, block.ops[i], launched_by);
    }
    first += block.ops.size();
  }
  return {};
}

// use(i, block, op, launched_by) for every span i of `rank`, whose operation `op` of `block` is number spans[i].op; in
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
      [&](const traces::OpBlock& block, const traces::Op& op, std::optional<std::uint64_t> launched_by) {
        use(by_op[at++], block, op, launched_by);
      });
}

}  // namespace weft::report
