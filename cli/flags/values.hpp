// The one reading of values that more than one option takes: counts and words. Each is a check of the option's text,
// before the option parser converts it. Also how help tells a default.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace weft::cli {

inline constexpr std::uint64_t kNoMost = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t kMaxSigned = std::numeric_limits<std::int64_t>::max();

// A count: digits only, within a range. "-1" is not 2^64-1, "010" is ten, "1e3", "0x10" and "1.5" are no counts. For
// CLI::Option::transform(); `most` is what the variable behind the option can hold, or less.
[[nodiscard]] CLI::Validator count(std::uint64_t least, std::uint64_t most = kNoMost);

// One of the words. For CLI::Option::check(); another one is answered with all of them and the nearest.
[[nodiscard]] CLI::Validator word(std::vector<std::string> known);

// The word `before` is taken for `now`, and a note on standard error says so. For CLI::Option::transform().
[[nodiscard]] CLI::Validator renamed(std::string before, std::string now);

// "WHAT [DEFAULT]", the help of an option. REQUIRES: `value` is the variable or constant that acts where the option is
// not given, no copy of it.
template <class T>
[[nodiscard]] std::string with_default(std::string_view what, const T& value) {
  return fmt::format("{} [{}]", what, value);
}

}  // namespace weft::cli
