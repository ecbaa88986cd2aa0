// LinkUse: what one link, which is one direction of a cable, carried in a run, and what that cost those who used it.
// Results have one for each LinkId (docs/reports.md, "Links").
#pragma once

#include <cstdint>

#include "core/units.hpp"

namespace weft::network {

struct LinkUse {
  std::uint64_t bytes = 0;       // of all flows that crossed it
  Duration busy{0};              // time with at least one flow
  std::uint32_t peak_flows = 0;  // most of them at once
  // How much longer than alone flows took because this link held them back, added up over flows. The sum over all links
  // is the contention of all messages.
  TimeSum waited;
};

}  // namespace weft::network
