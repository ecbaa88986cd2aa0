// What a trace holds, from one pass over its operations: counts, bytes, message sizes, work, regions.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "traces/trace.hpp"

namespace weft::traces {

// Sums over operations.
struct OpSums {
  struct Kind {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;  // of kinds whose amount is bytes
  };
  std::array<Kind, kOpKindCount> kinds{};
  double flops = 0;

  void add(const Op& op);
  // Whether they are figures: kBadInput where bytes of a kind or flops are more than a number holds.
  [[nodiscard]] Result<void> can_be_told() const;
};
// The same of the bytes of all messages.
[[nodiscard]] Result<void> can_be_told(const TraceTotals& totals);

struct TraceInfo : OpSums {
  struct Comm {  // messages and bytes as SendCounter counts them: the sums are those of `totals`
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    std::uint64_t collectives = 0;
  };
  TraceTotals totals;
  std::vector<Comm> communicators;
  // [0] = empty messages, [i] = sends of 2^(i-1) to 2^i - 1 bytes.
  std::array<Kind, 65> sizes{};
  std::vector<std::uint64_t> region_counts;  // region_begin of each
  TimeSum compute;
  std::uint64_t polls_missed = 0;  // Iprobe, Improbe
  std::uint64_t polls_hit = 0;
  std::uint64_t least_ops = 0;  // of a rank
  std::uint64_t most_ops = 0;
};

// O(operations); memory: one block and the result.
[[nodiscard]] Result<TraceInfo> scan_trace(TraceReader& trace);

}  // namespace weft::traces
