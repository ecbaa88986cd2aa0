// CollectiveUse: what a replay tells of its collectives.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::replay {

// Calls of one collective that took one algorithm.
struct CollectiveUse {
  std::string_view collective;
  std::string_view algorithm;
  std::uint64_t calls = 0;  // of the whole communicator
};

}  // namespace weft::replay
