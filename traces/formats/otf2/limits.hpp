// The most that an archive may say, of those that are read and of those that are written.
#pragma once

#include <cstdint>

namespace weft::traces::otf2 {

// Of computation of a rank: less than 26 days.
inline constexpr std::int64_t kMostPs = INT64_MAX / 4;
// Of a message, and of the sums of a collective.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;

}  // namespace weft::traces::otf2
