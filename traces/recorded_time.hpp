// How times between the calls of a recorded program become computation: the same for all that read recordings.
//
// Plain constants: the recorder includes this, and it must not need any library.
#pragma once

#include <cstdint>

namespace weft::traces {

// Time outside MPI below this is added to the next stretch instead of becoming an operation of its own.
inline constexpr std::int64_t kMinComputePs = 200'000;

// Time between two calls below which a program spins: failed polls this close are one poll place, and the time around
// tests that said no counts for nothing.
inline constexpr std::int64_t kSpinGapNs = 2000;
// Poll places that a spinning program goes round.
inline constexpr int kSpinPlaces = 16;

}  // namespace weft::traces
