// What a replay tells of its collectives: whose rules chose, and what.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::replay {

// Whose rules chose the algorithms, and who said so.
enum class RulesFrom : std::uint8_t { kOptions, kPlatform, kRecording, kDefault };
struct RulesName {
  std::string name;  // as open_collective_rules(); empty: the default ones
  RulesFrom from = RulesFrom::kDefault;
};

// Calls of one collective that took one algorithm.
struct CollectiveUse {
  std::string_view collective;
  std::string_view algorithm;
  std::uint64_t calls = 0;  // of the whole communicator
};

}  // namespace weft::replay
