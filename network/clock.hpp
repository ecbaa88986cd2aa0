// The engine's clock: instants and lengths of simulated time, finer than what it reports.
//
// Both count ticks of 2^-32 picoseconds in a 128-bit integer. Why so fine: rank programs under max-min
// sharing amplify small differences of time. One message that starts 1 ps later can finish 16 ps later on a
// link that it shares with many, its receiver sends later by that, and so on: replays of HPL on 8x8 ranks
// with whole picoseconds inside ended up to 4e-5 (relative) away from the same replays with femtoseconds,
// which were still not converged. A tick is finer than what a double of that size resolves, so rounding is
// where it belongs: in the arithmetic of rates.
//
// Integer, so that instants compare exactly and the order of events is total. Range: +-106 days (that of
// SimTime). Results leave the engine as Duration, rounded to the nearest picosecond, ties to even.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

#include "core/units.hpp"

namespace weft::network {

using Ticks = WideTicks;

inline constexpr int kTickBits = 32;                                // ticks per picosecond = 2^kTickBits
inline constexpr double kTicksPerSecondFine = 1e12 * 4294967296.0;  // exact in a double

namespace detail {
// Nearest double; a conversion of 128 bits costs a library call, one of 64 bits an instruction.
[[nodiscard]] inline double to_double(Ticks t) {
  const auto low = static_cast<std::int64_t>(t);
  return low == t ? static_cast<double>(low) : static_cast<double>(t);
}
// Nearest tick, ties to even; stops at +-2^120. NaN counts as the upper end.
[[nodiscard]] inline Ticks to_ticks(double ticks) {
  // One instruction, as errno need not be told (cmake/WeftModule.cmake).
  if (std::fabs(ticks) < 9.2e18) return std::llrint(ticks);
  constexpr double kLimit = 0x1p120;
  if (!(ticks < kLimit)) return static_cast<Ticks>(kLimit);
  if (ticks < -kLimit) return -static_cast<Ticks>(kLimit);
  return static_cast<Ticks>(ticks);
}
}  // namespace detail

// A length of simulated time.
class Elapsed {
 public:
  constexpr Elapsed() = default;
  constexpr explicit Elapsed(Duration d) : ticks_(static_cast<Ticks>(d.count()) * (Ticks{1} << kTickBits)) {}
  [[nodiscard]] static constexpr Elapsed of_ticks(Ticks t) {
    Elapsed e;
    e.ticks_ = t;
    return e;
  }
  [[nodiscard]] static Elapsed of_seconds(double s) {
    return of_ticks(detail::to_ticks(s * kTicksPerSecondFine));
  }

  [[nodiscard]] constexpr Ticks ticks() const { return ticks_; }
  [[nodiscard]] double seconds() const { return detail::to_double(ticks_) / kTicksPerSecondFine; }
  // Nearest picosecond, ties to even; stops at the ends of Duration.
  [[nodiscard]] constexpr Duration rounded() const {
    const Ticks whole = rounded_sum().count();
    const auto picoseconds = static_cast<std::int64_t>(whole);
    if (picoseconds != whole) [[unlikely]]
      return whole < 0 ? Duration::min() : Duration::max();
    return Duration(picoseconds);
  }

  // The same of a sum, which has no end.
  [[nodiscard]] constexpr TimeSum rounded_sum() const {
    // Half a picosecond carries over, one tick less where what it would be added to is even.
    const Ticks odd = (ticks_ >> kTickBits) & 1;
    return TimeSum((ticks_ + ((Ticks{1} << (kTickBits - 1)) - 1 + odd)) >> kTickBits);
  }

  // One by one: of `<=>` of 128 bits GCC 12 makes a comparison for each of its three answers.
  friend constexpr bool operator==(Elapsed a, Elapsed b) { return a.ticks_ == b.ticks_; }
  friend constexpr bool operator<(Elapsed a, Elapsed b) { return a.ticks_ < b.ticks_; }
  friend constexpr bool operator>(Elapsed a, Elapsed b) { return a.ticks_ > b.ticks_; }
  friend constexpr bool operator<=(Elapsed a, Elapsed b) { return a.ticks_ <= b.ticks_; }
  friend constexpr bool operator>=(Elapsed a, Elapsed b) { return a.ticks_ >= b.ticks_; }
  friend constexpr Elapsed operator+(Elapsed a, Elapsed b) { return of_ticks(a.ticks_ + b.ticks_); }
  friend constexpr Elapsed operator-(Elapsed a, Elapsed b) { return of_ticks(a.ticks_ - b.ticks_); }
  constexpr Elapsed& operator+=(Elapsed o) {
    ticks_ += o.ticks_;
    return *this;
  }

 private:
  Ticks ticks_ = 0;
};
inline constexpr Elapsed kNoTime{};

// A point of simulated time. Point + point does not compile.
class Instant {
 public:
  constexpr Instant() = default;
  [[nodiscard]] constexpr Elapsed since_start() const { return since_start_; }
  [[nodiscard]] constexpr SimTime rounded() const { return SimTime(since_start_.rounded()); }
  // Not before the last that SimTime holds, which stands for all that it does not: no event may be there.
  [[nodiscard]] constexpr bool past_the_end() const { return is_late() && !before(Elapsed(Duration::max())); }
  // Whole picoseconds, rounded down. REQUIRES: not after never().
  [[nodiscard]] constexpr std::int64_t whole() const {
    return static_cast<std::int64_t>(since_start_.ticks() >> kTickBits);
  }
  // The last instants that whole() can tell, both past the end: one that something may be posted for, one that nothing is.
  [[nodiscard]] static constexpr Instant last() { return Instant(Elapsed::of_ticks((Ticks{1} << 95) - 2)); }
  [[nodiscard]] static constexpr Instant never() { return Instant(Elapsed::of_ticks((Ticks{1} << 95) - 1)); }
  // last() in place of what is after it.
  [[nodiscard]] constexpr Instant no_later_than_last() const {
    return is_late() && !before(last().since_start_) ? last() : *this;
  }

  friend constexpr bool operator==(Instant a, Instant b) { return a.since_start_ == b.since_start_; }
  friend constexpr bool operator<(Instant a, Instant b) { return a.since_start_ < b.since_start_; }
  friend constexpr bool operator>(Instant a, Instant b) { return a.since_start_ > b.since_start_; }
  friend constexpr bool operator<=(Instant a, Instant b) { return a.since_start_ <= b.since_start_; }
  friend constexpr bool operator>=(Instant a, Instant b) { return a.since_start_ >= b.since_start_; }
  friend constexpr Instant operator+(Instant t, Elapsed d) { return Instant(t.since_start_ + d); }
  friend constexpr Elapsed operator-(Instant a, Instant b) { return a.since_start_ - b.since_start_; }

 private:
  constexpr explicit Instant(Elapsed e) : since_start_(e) {}
  // Not before the last millisecond or so of the clock, by its upper word alone.
  [[nodiscard]] constexpr bool is_late() const {
    return static_cast<std::int64_t>(since_start_.ticks() >> 64) >= (std::int64_t{1} << 31) - 1;
  }
  // Apart, as hardly anything is_late(): else both would be compared each time.
  [[gnu::noinline, gnu::cold]] constexpr bool before(Elapsed end) const { return since_start_ < end; }
  Elapsed since_start_;
};

}  // namespace weft::network
