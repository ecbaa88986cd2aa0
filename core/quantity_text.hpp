// Quantities as text: parsing with mandatory units, printing with scaled ones.
//
// Grammar: NUMBER UNIT, no space needed ("100Gbps", "12.5GB/s", "11.6GiB/s", "1.5us", "64KiB", "10Gflops").
// NUMBER is decimal with an optional exponent; 0 needs no unit. b = bit, B = byte, k/K... decimal, Ki... binary.
// A ratio is a bare number or a fraction ("1/5"). Errors carry `where` (FILE:LINE:COLUMN or an option's name).
#pragma once

#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/units.hpp"

namespace weft {

// From a byte in 30 years to what sends a byte in a few ticks of the engine's clock (2.3e-22 s, network/clock.hpp): beyond
// it bytes take no time at all, and far below it times and their squares leave what a double holds.
inline constexpr Bandwidth kLeastBandwidth{1e-9}, kMostBandwidth{1e21};
[[nodiscard]] constexpr bool in_bounds(Bandwidth b) { return b >= kLeastBandwidth && b <= kMostBandwidth; }

[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text, std::string_view where);  // >= 0
// Within the bounds above.
[[nodiscard]] Result<Bandwidth> parse_bandwidth(std::string_view text, std::string_view where);
// A number that is a bandwidth in bytes per second; `text` is as it was written. The same bounds.
[[nodiscard]] Result<Bandwidth> as_bandwidth(double value, std::string_view text, std::string_view where);
[[nodiscard]] Result<Duration> parse_duration(std::string_view text, std::string_view where);  // >= 0
// Seconds, also below a picosecond and below 0: for coefficients that are multiplied before they are rounded.
[[nodiscard]] Result<double> parse_seconds(std::string_view text, std::string_view where);
[[nodiscard]] Result<FlopRate> parse_flop_rate(std::string_view text, std::string_view where);  // > 0
[[nodiscard]] Result<double> parse_ratio(std::string_view text, std::string_view where);        // finite
// Whole decimal number in [lo, hi].
[[nodiscard]] Result<std::int64_t> parse_integer(std::string_view text, std::int64_t lo, std::int64_t hi,
                                                 std::string_view where);

// For people: three significant digits and a scaled unit ("12.3 ms", "98.1 GB/s", "1.18 MB", "10 Gflop/s").
[[nodiscard]] std::string show(Duration d);
[[nodiscard]] std::string show(TimeSum d);
[[nodiscard]] std::string show_seconds(double s);
[[nodiscard]] std::string show(Bytes b);
[[nodiscard]] std::string show_bytes(std::uint64_t sum);  // of many messages: more than Bytes may hold
[[nodiscard]] std::string show(Bandwidth b);
[[nodiscard]] std::string show(FlopRate r);
[[nodiscard]] std::string show(Flops work);
[[nodiscard]] std::string show_count(double n);        // 1,425,277 below 10^7, else "14.3 M"
[[nodiscard]] std::string show_percent(double ratio);  // "12.3 %", "1,499 %", "<0.0001 %"

// For files that are parsed back: shortest text that reads back exactly, with a base unit ("1.25e+10B/s").
[[nodiscard]] std::string exact(Bandwidth b);
[[nodiscard]] std::string exact(Duration d);

}  // namespace weft
