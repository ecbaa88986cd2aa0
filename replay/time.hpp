// The clock of a replay is that of its network: Instant, a point of simulated time, and Elapsed, a length of it, both in
// ticks of 2^-32 ps (network/clock.hpp says why so fine). Here they get their names in weft::replay.
#pragma once

#include "network/clock.hpp"

namespace weft::replay {

using network::Elapsed;
using network::Instant;
using network::kNoTime;

}  // namespace weft::replay
