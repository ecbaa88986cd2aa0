// Quantities as SimGrid's platform files write them: "125MBps", "1Gbps", "50us", "1.5Gf,1Gf".
//
// Units are those of its DTD 4.1; a number without one is in bytes a second, seconds, flops. Values come out as SimGrid has them: the number
// times the unit, in double. Errors: kBadInput at `where`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace weft::topology::simgrid {

// Above 0.
[[nodiscard]] Result<double> bytes_per_second(std::string_view text, const std::string& where);
// The same, or 0 for what is not there.
[[nodiscard]] Result<double> bytes_per_second_or_0(std::string_view text, const std::string& where,
                                                   std::string_view what);
// At least 0.
[[nodiscard]] Result<double> seconds(std::string_view text, const std::string& where);
// One or more, at least 0, by the state of power management.
[[nodiscard]] Result<std::vector<double>> flops_per_second(std::string_view text, const std::string& where);
// "0-3,7": 0 1 2 3 7. At most `most` of them.
[[nodiscard]] Result<std::vector<std::int64_t>> numbers(std::string_view text, std::size_t most,
                                                        const std::string& where);

}  // namespace weft::topology::simgrid
