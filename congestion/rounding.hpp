// What counts as rounding in the solvers of max-min sharing.
#pragma once

namespace weft::congestion {

// Relative change of a level that counts as none. Rounding of a level is about (flows on the link) x 1e-16; a value that is
// too small costs an idle round, one that is too large costs accuracy.
inline constexpr double kSameLevel = 2e-14;
// The same of a rate, and of one level before and after.
inline constexpr double kSameRate = 4e-15;

}  // namespace weft::congestion
