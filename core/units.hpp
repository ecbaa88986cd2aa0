// Physical quantities: time, bytes, rates, work. One type per dimension, explicit constructors, SI inside.
//
// Invariants:
//  1. Simulated time is an integer count of picoseconds in 64 bits: +-106 days. SimTime is a point, Duration a
//     length; point + point does not compile.
//  2. Seconds become ticks in two places only, both to the nearest tick, ties to even: `from_seconds` for what is read
//     and reported, in picoseconds, and `network::Elapsed::of_seconds` for what is simulated, in ticks that are 2^32
//     times finer (network/clock.hpp; docs/model.md, "Time and rounding").
//  3. b = bit, B = byte, k = 10^3, Ki = 2^10 in text; inside everything is bytes, bytes/s, flop, flop/s.
#pragma once

#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>
#include <limits>
#include <ratio>

namespace weft {

using Duration = std::chrono::duration<std::int64_t, std::pico>;
// What is added up over ranks or messages: 4,096 ranks reach the end of Duration within 38 minutes.
__extension__ typedef __int128 WideTicks;
class TimeSum {
 public:
  constexpr TimeSum() = default;
  constexpr explicit TimeSum(WideTicks picoseconds) : count_(picoseconds) {}
  constexpr TimeSum(Duration d) : count_(d.count()) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] constexpr WideTicks count() const { return count_; }
  friend constexpr auto operator<=>(TimeSum, TimeSum) = default;
  friend constexpr TimeSum operator+(TimeSum a, TimeSum b) { return TimeSum(a.count_ + b.count_); }
  friend constexpr TimeSum operator-(TimeSum a, TimeSum b) { return TimeSum(a.count_ - b.count_); }
  constexpr TimeSum& operator+=(TimeSum o) {
    count_ += o.count_;
    return *this;
  }

 private:
  WideTicks count_ = 0;
};

// Clock tag of simulated time. It has no now(): nothing in a simulation may read a wall clock.
struct SimClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<SimClock>;
  static constexpr bool is_steady = true;
};
using SimTime = SimClock::time_point;

inline constexpr SimTime kTimeZero{};

namespace detail {
// One number with a dimension. Arithmetic that keeps the dimension is allowed, everything else is not.
template <class Tag, class Rep>
class Quantity {
 public:
  using rep = Rep;
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator*(Quantity a, Rep k) { return Quantity(a.value_ * k); }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value_) / static_cast<double>(b.value_);
  }
  constexpr Quantity& operator+=(Quantity o) {
    value_ += o.value_;
    return *this;
  }

 private:
  Rep value_{};
};
}  // namespace detail

using Bytes = detail::Quantity<struct BytesTag, std::int64_t>;    // a message or file size
using Bandwidth = detail::Quantity<struct BandwidthTag, double>;  // bytes per second
using Flops = detail::Quantity<struct FlopsTag, double>;          // floating-point operations
using FlopRate = detail::Quantity<struct FlopRateTag, double>;    // floating-point operations per second

inline constexpr double kTicksPerSecond = 1e12;

// Seconds -> ticks, to nearest, ties to even (the FPU default). Precondition: |s| < 9.2e6 s; saturates beyond.
[[nodiscard]] inline Duration from_seconds(double s) {
  const double ticks = s * kTicksPerSecond;
  constexpr double kMax = 9.2e18;
  if (!(ticks < kMax)) return Duration::max();
  if (!(ticks > -kMax)) return Duration::min();
  return Duration(std::llrint(ticks));
}
[[nodiscard]] constexpr double to_seconds(Duration d) {
  return static_cast<double>(d.count()) / kTicksPerSecond;
}
[[nodiscard]] constexpr double to_seconds(TimeSum d) {
  return static_cast<double>(d.count()) / kTicksPerSecond;
}
[[nodiscard]] constexpr double to_seconds(SimTime t) { return to_seconds(t.time_since_epoch()); }

}  // namespace weft
