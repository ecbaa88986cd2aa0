#include "core/quantity_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace weft {
namespace {

struct Number {
  double value;
  std::string_view unit;  // the rest
};

std::optional<Number> split_number(std::string_view t) {
  double v = 0;
  const char* end = t.data() + t.size();
  auto [p, ec] = std::from_chars(t.data(), end, v);
  if (ec != std::errc() || !std::isfinite(v)) return std::nullopt;
  // "inf" and "nan" are numbers to from_chars, not to us; nor is a hexadecimal or a lone sign.
  if (t.empty() || !((t[0] >= '0' && t[0] <= '9') || t[0] == '-' || t[0] == '.')) return std::nullopt;
  std::string_view unit(p, static_cast<std::size_t>(end - p));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return Number{v, unit};
}

// Factor of a prefix, and the prefix's length; "" is 1.
struct Prefix {
  double factor = 1;
  std::size_t length = 0;
};
Prefix prefix_of(std::string_view u) {
  constexpr std::string_view letters = "kMGTPE";
  if (u.empty()) return {};
  const std::size_t i = letters.find(u[0] == 'K' ? 'k' : u[0]);
  if (i == std::string_view::npos) return {};
  if (u.size() > 1 && u[1] == 'i') return {std::ldexp(1.0, 10 * static_cast<int>(i + 1)), 2};
  return {std::pow(10.0, 3.0 * static_cast<double>(i + 1)), 1};
}

Error unit_error(std::string_view kind, std::string_view text, std::string_view where,
                 std::string_view example) {
  return bad_input(std::string(where), fmt::format("not a {}", kind), std::string(text),
                   fmt::format("a number with a unit, like {}", example));
}

// Bytes per unit for "B", "KiB", "Gb"...; nullopt if not a size unit.
std::optional<double> size_factor(std::string_view u) {
  const Prefix p = prefix_of(u);
  const std::string_view rest = u.substr(p.length);
  if (rest == "B") return p.factor;
  if (rest == "b") return p.factor / 8;
  return std::nullopt;
}

// Three digits of what has been brought to a unit. What is at least 999.5 of the unit before rounds to 1 of this one,
// but may be a little below it as a double: 0.9995 is, and would print as 0.999.
std::string three_digits(double v, bool first_unit) {
  return fmt::format("{:.3g}", !first_unit && std::fabs(v) < 1 ? std::copysign(1.0, v) : v);
}

std::string scaled(double v, std::string_view unit) {
  constexpr std::array<std::string_view, 7> names = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t i = 0;
  double a = std::fabs(v);
  while (a >= 999.5 && i + 1 < names.size()) {
    a /= 1000;
    v /= 1000;
    ++i;
  }
  return fmt::format("{} {}{}", three_digits(v, i == 0), names[i], unit);
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text, std::string_view where) {
  const auto n = split_number(text);
  if (!n) return unit_error("size", text, where, "64KiB");
  if (n->unit.empty() && n->value == 0) return Bytes(0);
  const auto f = size_factor(n->unit);
  if (!f) return unit_error("size", text, where, "64KiB");
  const double v = n->value * *f;
  if (v < 0) return bad_input(std::string(where), "size is negative", std::string(text), "a size >= 0B");
  if (v > 9.0e18)
    return bad_input(std::string(where), "size is too large", std::string(text), "at most 9e18B");
  if (v != std::floor(v))
    return bad_input(std::string(where), "size is not a whole number of bytes", std::string(text),
                     fmt::format("{:.0f}B or {:.0f}B", std::floor(v), std::ceil(v)));
  return Bytes(static_cast<std::int64_t>(v));
}

Result<Bandwidth> parse_bandwidth(std::string_view text, std::string_view where) {
  constexpr std::string_view example = "100Gbps or 12.5GB/s";
  const auto n = split_number(text);
  if (!n) return unit_error("bandwidth", text, where, example);
  std::string_view u = n->unit;
  if (u.size() > 2 && (u.ends_with("/s") || u.ends_with("ps"))) {
    u.remove_suffix(2);
  } else {
    return unit_error("bandwidth", text, where, example);
  }
  const auto f = size_factor(u);
  if (!f) return unit_error("bandwidth", text, where, example);
  return as_bandwidth(n->value * *f, text, where);
}

Result<Bandwidth> as_bandwidth(double value, std::string_view text, std::string_view where) {
  const Bandwidth b(value);
  if (!in_bounds(b))
    return bad_input(std::string(where), "bandwidth out of range", std::string(text),
                     fmt::format("{} to {}", exact(kLeastBandwidth), exact(kMostBandwidth)));
  return b;
}

Result<double> parse_seconds(std::string_view text, std::string_view where) {
  const auto n = split_number(text);
  if (!n) return unit_error("time", text, where, "1.5us");
  double f = 0;
  const std::string_view u = n->unit;
  if (u.empty() && n->value == 0) return 0.0;
  if (u == "fs")
    f = 1e-15;
  else if (u == "ps")
    f = 1e-12;
  else if (u == "ns")
    f = 1e-9;
  else if (u == "us")
    f = 1e-6;
  else if (u == "ms")
    f = 1e-3;
  else if (u == "s")
    f = 1;
  else if (u == "min")
    f = 60;
  else if (u == "h")
    f = 3600;
  else
    return unit_error("time", text, where, "1.5us");
  // Dividing by the reciprocal keeps "1.5us" and "1500ns" the same tick: 1e-6 is not exact, 1e6 is.
  const double s = f < 1 ? n->value / std::round(1 / f) : n->value * f;
  if (std::fabs(s) > 9e6)
    return bad_input(std::string(where), "time is too large", std::string(text), "at most 9e6s");
  return s;
}

Result<Duration> parse_duration(std::string_view text, std::string_view where) {
  WEFT_ASSIGN(const double s, parse_seconds(text, where));
  if (s < 0) return bad_input(std::string(where), "time is negative", std::string(text), "a time >= 0s");
  return from_seconds(s);
}

Result<FlopRate> parse_flop_rate(std::string_view text, std::string_view where) {
  constexpr std::string_view example = "10Gflops";
  const auto n = split_number(text);
  if (!n) return unit_error("speed", text, where, example);
  const Prefix p = prefix_of(n->unit);
  std::string_view rest = n->unit.substr(p.length);
  if (rest != "flops" && rest != "flop/s" && rest != "f") return unit_error("speed", text, where, example);
  const double v = n->value * p.factor;
  if (!(v > 0) || !std::isfinite(v))
    return bad_input(std::string(where), "speed is not positive and finite", std::string(text),
                     example.data());
  return FlopRate(v);
}

Result<double> parse_ratio(std::string_view text, std::string_view where) {
  const auto slash = text.find('/');
  const auto num = split_number(text.substr(0, slash));
  if (!num || !num->unit.empty())
    return bad_input(std::string(where), "not a number", std::string(text),
                     "a number or a fraction like 1/5");
  if (slash == std::string_view::npos) return num->value;
  const auto den = split_number(text.substr(slash + 1));
  if (!den || !den->unit.empty() || den->value == 0)
    return bad_input(std::string(where), "not a number", std::string(text),
                     "a number or a fraction like 1/5");
  const double ratio = num->value / den->value;
  if (!std::isfinite(ratio))
    return bad_input(std::string(where), "number is too large", std::string(text), "at most 1.8e308");
  return ratio;
}

Result<std::int64_t> parse_integer(std::string_view text, std::int64_t lo, std::int64_t hi,
                                   std::string_view where) {
  std::int64_t v = 0;
  const char* end = text.data() + text.size();
  auto [p, ec] = std::from_chars(text.data(), end, v);
  if (text.empty() || p != end || (ec != std::errc() && ec != std::errc::result_out_of_range))
    return bad_input(std::string(where), "not a whole number", std::string(text),
                     fmt::format("a whole number from {} to {}", lo, hi));
  if (ec == std::errc::result_out_of_range || v < lo || v > hi)
    return bad_input(std::string(where), "number out of range", std::string(text),
                     fmt::format("a whole number from {} to {}", lo, hi));
  return v;
}

std::string show_seconds(double s) {
  struct Unit {
    double per_second;
    std::string_view name;
  };
  constexpr std::array<Unit, 5> units = {{{1e12, "ps"}, {1e9, "ns"}, {1e6, "us"}, {1e3, "ms"}, {1, "s"}}};
  if (s == 0) return "0 s";
  for (const Unit& u : units)
    if (const double v = s * u.per_second; std::fabs(v) < 999.5)
      return fmt::format("{} {}", three_digits(v, &u == units.data()), u.name);
  return fmt::format("{:.0f} s", s);
}
std::string show(Duration d) { return show_seconds(to_seconds(d)); }
std::string show(TimeSum d) { return show_seconds(to_seconds(d)); }
std::string show(Bytes b) { return scaled(static_cast<double>(b.value()), "B"); }
std::string show_bytes(std::uint64_t sum) { return scaled(static_cast<double>(sum), "B"); }
std::string show(Bandwidth b) { return scaled(b.value(), "B/s"); }
std::string show(FlopRate r) { return scaled(r.value(), "flop/s"); }
std::string show(Flops work) { return scaled(work.value(), "flop"); }

std::string show_count(double n) {
  if (std::fabs(n) >= 1e7) {
    std::string s = scaled(n, "");
    while (!s.empty() && s.back() == ' ') s.pop_back();
    return s;
  }
  std::string digits = fmt::format("{:.0f}", n);
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}
std::string show_percent(double ratio) {
  const double p = ratio * 100, size = std::fabs(p);
  if (p == 0) return "0 %";
  if (size < 0.9995e-4) return p > 0 ? "<0.0001 %" : ">-0.0001 %";  // shorter than 8.7e-07
  if (size >= 999.5 && std::isfinite(p)) return show_count(p) + " %";
  return fmt::format("{:.3g} %", p);
}

std::string exact(Bandwidth b) { return fmt::format("{}B/s", b.value()); }
std::string exact(Duration d) { return fmt::format("{}ps", d.count()); }

}  // namespace weft
