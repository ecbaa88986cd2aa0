// Columns of numbers as the page takes them: little-endian, deflated (zlib, RFC 1950), base64. The browser opens them by
// itself; a million numbers that hardly change take a few kilobytes.
#pragma once

#include <bit>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace weft::report {

static_assert(std::endian::native == std::endian::little, "columns are written as they are in memory");

[[nodiscard]] std::string base64_deflated(std::string_view bytes);

// {"type": "u8" "u16" "u32" "i32" "f32" "f64", "data": base64}
template <class T>
[[nodiscard]] nlohmann::ordered_json packed(const std::vector<T>& column) {
  constexpr std::string_view kType = std::is_same_v<T, float>    ? "f32"
                                     : std::is_same_v<T, double> ? "f64"
                                     : sizeof(T) == 1            ? "u8"
                                     : sizeof(T) == 2            ? "u16"
                                     : std::is_signed_v<T>       ? "i32"
                                                                 : "u32";
  static_assert(std::is_arithmetic_v<T> && sizeof(T) <= (std::is_floating_point_v<T> ? 8 : 4) &&
                (sizeof(T) >= 4 || std::is_unsigned_v<T>));
  return {
      {"type", kType},
      {"data", base64_deflated({reinterpret_cast<const char*>(column.data()), column.size() * sizeof(T)})}};
}

}  // namespace weft::report
