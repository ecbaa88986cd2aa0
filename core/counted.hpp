// Numbers of things in sentences: "1 message", "1,200 messages", "3 switches".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "core/quantity_text.hpp"

namespace weft {

// `what` in the singular.
[[nodiscard]] inline std::string counted(std::uint64_t n, std::string_view what) {
  std::string out = show_count(static_cast<double>(n)) + ' ' + std::string(what);
  const bool hisses =
      what.ends_with("ch") || what.ends_with("sh") || what.ends_with('s') || what.ends_with('x');
  if (n != 1) out += hisses ? "es" : "s";
  return out;
}

// "4,435 to 5,981", or of a range of one "4,435".
[[nodiscard]] inline std::string from_to(std::string low, const std::string& high) {
  return low == high ? low : std::move(low) + " to " + high;
}

}  // namespace weft
