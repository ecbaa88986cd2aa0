#include "report/axis_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/quantity_text.hpp"

namespace weft::report {

using Kind = AxisValue::Kind;

std::optional<AxisValue> parse_axis_value(std::string_view text) {
  // A bare 0 is a quantity of any kind: of none for us.
  if (const auto n = parse_ratio(text, {}))
    return AxisValue{*n == std::floor(*n) ? Kind::kWholeNumber : Kind::kNumber, *n};
  if (const auto b = parse_bandwidth(text, {})) return AxisValue{Kind::kBandwidth, b->value()};
  if (const auto d = parse_duration(text, {})) return AxisValue{Kind::kDuration, to_seconds(*d)};
  if (const auto s = parse_bytes(text, {})) return AxisValue{Kind::kBytes, static_cast<double>(s->value())};
  if (const auto f = parse_flop_rate(text, {})) return AxisValue{Kind::kFlopRate, f->value()};
  return std::nullopt;
}

std::optional<std::pair<AxisValue, AxisValue>> parse_axis_interval(std::string_view from,
                                                                   std::string_view to) {
  auto a = parse_axis_value(from), b = parse_axis_value(to);
  if (!a || !b) return std::nullopt;
  // Rates have no 0.
  const auto adapt = [](AxisValue& zero, const AxisValue& other) {
    if (zero.value == 0 &&
        (other.kind == Kind::kDuration || other.kind == Kind::kBytes || other.kind == Kind::kNumber))
      zero.kind = other.kind;
  };
  adapt(*a, *b);
  adapt(*b, *a);
  // 1 and 2.5 are both plain numbers.
  if (a->kind == Kind::kWholeNumber && b->kind == Kind::kNumber) a->kind = Kind::kNumber;
  if (b->kind == Kind::kWholeNumber && a->kind == Kind::kNumber) b->kind = Kind::kNumber;
  if (a->kind != b->kind) return std::nullopt;
  return std::pair(*a, *b);
}

std::string axis_text(const AxisValue& v) {
  switch (v.kind) {
    case Kind::kBandwidth:
      return exact(Bandwidth(v.value));
    case Kind::kDuration:
      return exact(from_seconds(v.value));
    case Kind::kBytes:
      return fmt::format("{}B", std::llround(v.value));
    case Kind::kFlopRate:
      return fmt::format("{}flops", v.value);
    case Kind::kNumber:
      return fmt::format("{}", v.value);
    case Kind::kWholeNumber:
      return fmt::format("{}", std::llround(v.value));
  }
  return {};
}

std::string show_axis(const AxisValue& v) {
  switch (v.kind) {
    case Kind::kBandwidth:
      return show(Bandwidth(v.value));
    case Kind::kDuration:
      return show_seconds(v.value);
    case Kind::kBytes:
      return show(Bytes(std::llround(v.value)));
    case Kind::kFlopRate:
      return show(FlopRate(v.value));
    case Kind::kNumber:
      return fmt::format("{:.4g}", v.value);
    case Kind::kWholeNumber:
      return axis_text(v);
  }
  return {};
}

double axis_coordinate(const AxisValue& v) {
  const bool rate = v.kind == Kind::kBandwidth || v.kind == Kind::kFlopRate;
  return rate ? 1 / v.value : v.value;
}

AxisValue axis_at(Kind kind, double coordinate) {
  const bool rate = kind == Kind::kBandwidth || kind == Kind::kFlopRate;
  const double v = rate ? 1 / coordinate : coordinate;
  return {kind, kind == Kind::kWholeNumber || kind == Kind::kBytes ? std::round(v) : v};
}

std::optional<AxisValue> crossing(const AxisValue& a, double before, const AxisValue& b, double after) {
  if (a.kind != b.kind || before * after >= 0 || !std::isfinite(before) || !std::isfinite(after))
    return std::nullopt;
  if (a.kind == Kind::kWholeNumber && std::fabs(a.value - b.value) < 2) return std::nullopt;
  const double u = axis_coordinate(a), v = axis_coordinate(b);
  return axis_at(a.kind, u + (v - u) * before / (before - after));
}

}  // namespace weft::report
