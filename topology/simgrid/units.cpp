#include "topology/simgrid/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "core/quantity_text.hpp"
#include "topology/platform/params.hpp"

namespace weft::topology::simgrid {
namespace {

struct Prefix {
  std::string_view text;
  double times;
};
// Each of them is the product of the ones before, as SimGrid makes them.
constexpr std::array<Prefix, 9> kDecimal = {{{"", 1},
                                             {"k", 1e3},
                                             {"M", 1e6},
                                             {"G", 1e9},
                                             {"T", 1e12},
                                             {"P", 1e15},
                                             {"E", 1e18},
                                             {"Z", 1e21},
                                             {"Y", 1e24}}};
constexpr std::array<Prefix, 8> kBinary = {{{"Ki", 0x1p10},
                                            {"Mi", 0x1p20},
                                            {"Gi", 0x1p30},
                                            {"Ti", 0x1p40},
                                            {"Pi", 0x1p50},
                                            {"Ei", 0x1p60},
                                            {"Zi", 0x1p70},
                                            {"Yi", 0x1p80}}};
constexpr std::array<Prefix, 9> kInWords = {{{"", 1},
                                             {"kilo", 1e3},
                                             {"mega", 1e6},
                                             {"giga", 1e9},
                                             {"tera", 1e12},
                                             {"peta", 1e15},
                                             {"exa", 1e18},
                                             {"zeta", 1e21},
                                             {"yotta", 1e24}}};
constexpr std::array<Prefix, 9> kTimes = {{{"w", 7 * 24 * 3600.0},
                                           {"d", 24 * 3600.0},
                                           {"h", 3600},
                                           {"m", 60},
                                           {"s", 1},
                                           {"ms", 1e-3},
                                           {"us", 1e-6},
                                           {"ns", 1e-9},
                                           {"ps", 1e-12}}};

template <std::size_t N>
std::optional<double> find_prefix(const std::array<Prefix, N>& all, std::string_view text) {
  for (const Prefix& p : all)
    if (p.text == text) return p.times;
  return std::nullopt;
}

std::optional<double> bandwidth_unit(std::string_view unit) {
  const bool bytes = unit.ends_with("Bps");
  if (!bytes && !unit.ends_with("bps")) return std::nullopt;
  const std::string_view prefix = unit.substr(0, unit.size() - 3);
  std::optional<double> times = find_prefix(kDecimal, prefix);
  if (!times) times = find_prefix(kBinary, prefix);
  if (times && !bytes) *times *= 0.125;
  return times;
}
std::optional<double> time_unit(std::string_view unit) { return find_prefix(kTimes, unit); }
std::optional<double> speed_unit(std::string_view unit) {
  if (unit.ends_with("flops")) return find_prefix(kInWords, unit.substr(0, unit.size() - 5));
  if (unit.ends_with('f')) return find_prefix(kDecimal, unit.substr(0, unit.size() - 1));
  return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

Result<double> quantity(std::string_view text, const std::string& where,
                        std::optional<double> (*unit_of)(std::string_view), std::string_view what,
                        std::string_view expected, bool zero) {
  const auto wrong = [&] {
    return bad_input(where, std::string(what), std::string(text), std::string(expected));
  };
  const std::string_view all = trimmed(text);
  double number = 0;
  const auto [end, failure] = std::from_chars(all.data(), all.data() + all.size(), number);
  if (failure != std::errc()) return wrong();
  const auto unit = all.substr(static_cast<std::size_t>(end - all.data()));
  const std::optional<double> times = unit.empty() ? std::optional(1.0) : unit_of(unit);
  if (!times) return wrong();
  const double value = number * *times;
  if (!std::isfinite(value) || value < 0 || (value == 0 && !zero)) return wrong();
  return value;
}

}  // namespace

Result<double> bytes_per_second(std::string_view text, const std::string& where) {
  WEFT_ASSIGN(const double value,
              quantity(text, where, bandwidth_unit, "bandwidth", "a bandwidth like 125MBps or 1Gbps", false));
  WEFT_ASSIGN(const Bandwidth bounded, as_bandwidth(value, text, where));
  return bounded.value();
}

Result<double> bytes_per_second_or_0(std::string_view text, const std::string& where, std::string_view what) {
  WEFT_ASSIGN(const double value,
              quantity(text, where, bandwidth_unit, what, "a bandwidth like 125MBps or 1Gbps, or 0", true));
  if (value == 0) return 0;
  WEFT_ASSIGN(const Bandwidth bounded, as_bandwidth(value, text, where));
  return bounded.value();
}

Result<double> seconds(std::string_view text, const std::string& where) {
  constexpr double kMost = 9e6;
  WEFT_ASSIGN(const double value, quantity(text, where, time_unit, "latency", "a time like 50us or 0", true));
  if (value > kMost) return bad_input(where, "latency out of range", std::string(text), "at most 9e6 s");
  return value;
}

Result<std::vector<double>> flops_per_second(std::string_view text, const std::string& where) {
  std::vector<double> out;
  for (const std::string_view one : split(text, ',')) {
    WEFT_ASSIGN(const double value, quantity(one, where, speed_unit, "speed", "a speed like 1.5Gf", true));
    out.push_back(value);
  }
  return out;
}

Result<std::vector<std::int64_t>> numbers(std::string_view text, std::size_t most, const std::string& where) {
  std::vector<std::int64_t> out;
  for (const std::string_view group : split(text, ',')) {
    const std::size_t dash = group.find('-');
    WEFT_ASSIGN(const std::int64_t first, parse_integer(trimmed(group.substr(0, dash)), 0, 1 << 30, where));
    std::int64_t last = first;
    if (dash != std::string_view::npos) {
      WEFT_ASSIGN(last, parse_integer(trimmed(group.substr(dash + 1)), first, 1 << 30, where));
    }
    if (static_cast<std::size_t>(last - first) >= most - out.size())
      return bad_input(where, "too many hosts", std::string(text), fmt::format("at most {}", most));
    for (std::int64_t n = first; n <= last; ++n) out.push_back(n);
  }
  return out;
}

}  // namespace weft::topology::simgrid
