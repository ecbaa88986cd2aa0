// A value of a swept key as a number, so that a crossing between two values can be computed.
//
// Between two values the difference of two makespans is taken as linear in what time is linear in: in 1/x for a rate
// (a transfer takes bytes / x), in x for everything else. That is exact where one transfer or one latency decides and
// an estimate elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace weft::report {

struct AxisValue {
  enum class Kind { kBandwidth, kFlopRate, kDuration, kBytes, kNumber, kWholeNumber } kind = Kind::kNumber;
  double value = 0;  // SI
};

// nullopt: a list, a name, or a number of a kind that nothing can be between.
[[nodiscard]] std::optional<AxisValue> parse_axis_value(std::string_view text);
// Both ends of an interval; nullopt unless they are of one kind. A bare 0 is of the kind of the other end.
[[nodiscard]] std::optional<std::pair<AxisValue, AxisValue>> parse_axis_interval(std::string_view from,
                                                                                 std::string_view to);
// Text that parses back: "1.25e+10B/s".
[[nodiscard]] std::string axis_text(const AxisValue& v);
// For people: "12.5 GB/s".
[[nodiscard]] std::string show_axis(const AxisValue& v);

// The coordinate in which time is taken as linear, and back.
[[nodiscard]] double axis_coordinate(const AxisValue& v);
[[nodiscard]] AxisValue axis_at(AxisValue::Kind kind, double coordinate);

// Where the difference of two times is 0, if it is `before` at a and `after`, of the other sign, at b. nullopt if the
// values are of different kinds, or whole numbers with none between them.
[[nodiscard]] std::optional<AxisValue> crossing(const AxisValue& a, double before, const AxisValue& b,
                                                double after);

}  // namespace weft::report
