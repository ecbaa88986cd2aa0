// What a link carried, column of every result over links.
#pragma once

#include <cstdint>

#include "core/units.hpp"

namespace weft::network {

struct LinkUse {
  std::uint64_t bytes = 0;  // of all flows that crossed it
  Duration busy{0};         // time with at least one flow
  std::uint32_t peak_flows = 0;
  // What flows lost while this link held them: over all links, the contention of all messages.
  TimeSum waited;
};

}  // namespace weft::network
