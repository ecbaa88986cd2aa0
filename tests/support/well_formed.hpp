// Whether a reader that says so (TraceReader::well_formed) keeps to the rules of operations.
#pragma once

#include <fmt/format.h>

#include <string>

#include "traces/op_rules.hpp"

namespace weft::support {

// The first operation that does not, or empty; from the start of all ranks, to which the trace goes back.
inline std::string first_fault(traces::TraceReader& trace) {
  const traces::OpLimits limits{trace.header().ranks, &trace.communicators(), trace.regions().size()};
  std::string out;
  traces::OpBlock block;
  trace.rewind();
  for (std::uint32_t r = 0; r < limits.ranks && out.empty(); ++r)
    for (block.clear(); out.empty(); block.clear()) {
      const auto more = trace.next_block(RankId(r), block);
      if (!more || !*more) break;
      if (const auto fault = traces::block_fault(block, limits))
        out = fmt::format("rank {}, operation {}: {}", r, fault->op, fault->what);
    }
  trace.rewind();
  return out;
}

}  // namespace weft::support
