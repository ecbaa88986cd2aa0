// Certificate: is this allocation the weighted max-min fair one? Knows nothing of how it was found.
//
// An allocation is max-min fair if and only if (Bertsekas and Gallager, Data Networks, section 6.5.2)
//  1. no link carries more than its capacity, and
//  2. each flow is at its own limit, or crosses a link that is full and on which no flow has a larger
//  rate/weight.
// Both are checked to a relative tolerance. The solution is unique, so passing means being right.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "congestion/flow_table.hpp"

namespace weft::congestion {

inline constexpr double kCertificateTolerance = 1e-9;

// Checks condition 2 for each of `flows` and condition 1 for each link that they cross. `rate` by flow id.
// Returns what is violated, with values; nothing if the certificate holds.
// O(sum over hops of the flows on that link); gives up silently once `budget` entries were read.
[[nodiscard]] std::optional<std::string> certify(const FlowTable& table, std::span<const double> capacity,
                                                 std::span<const double> rate,
                                                 std::span<const std::uint32_t> flows,
                                                 std::uint64_t budget = ~std::uint64_t{0},
                                                 double tolerance = kCertificateTolerance);

}  // namespace weft::congestion
