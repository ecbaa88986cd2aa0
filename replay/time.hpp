// Ranks live by the clock of the network: the same instants, the same lengths (network/clock.hpp).
#pragma once

#include "network/clock.hpp"

namespace weft::replay {

using network::Elapsed;
using network::Instant;
using network::kNoTime;

}  // namespace weft::replay
