// Fraction: exact rational numbers for reference implementations. 128-bit parts, always reduced; a result that
// does not fit throws, so a test can never pass on a wrapped number.
#pragma once

#include <compare>
#include <cstdint>
#include <ostream>
#include <stdexcept>
#include <string>

namespace weft::testing {

class Fraction {
 public:
  constexpr Fraction(std::int64_t whole = 0) : p_(whole) {}  // NOLINT(google-explicit-constructor)
  constexpr Fraction(std::int64_t p, std::int64_t q) : p_(p), q_(q) { reduce(); }

  [[nodiscard]] constexpr double value() const { return static_cast<double>(p_) / static_cast<double>(q_); }

  friend constexpr Fraction operator+(const Fraction& a, const Fraction& b) {
    const Int g = gcd(a.q_, b.q_);
    return make(sum(product(a.p_, b.q_ / g), product(b.p_, a.q_ / g)), product(a.q_ / g, b.q_));
  }
  friend constexpr Fraction operator-(const Fraction& a, const Fraction& b) {
    Fraction minus = b;
    minus.p_ = -minus.p_;
    return a + minus;
  }
  friend constexpr Fraction operator*(const Fraction& a, const Fraction& b) {
    const Int g = gcd(a.p_ < 0 ? -a.p_ : a.p_, b.q_);
    const Int h = gcd(b.p_ < 0 ? -b.p_ : b.p_, a.q_);
    return make(product(a.p_ / g, b.p_ / h), product(a.q_ / h, b.q_ / g));
  }
  friend constexpr Fraction operator/(const Fraction& a, const Fraction& b) {
    if (b.p_ == 0) throw std::domain_error("division of a fraction by 0");
    Fraction inverse;
    inverse.p_ = b.p_ < 0 ? -b.q_ : b.q_;
    inverse.q_ = b.p_ < 0 ? -b.p_ : b.p_;
    return a * inverse;
  }
  Fraction& operator+=(const Fraction& o) { return *this = *this + o; }
  Fraction& operator-=(const Fraction& o) { return *this = *this - o; }
  friend constexpr bool operator==(const Fraction& a, const Fraction& b) = default;
  friend constexpr std::strong_ordering operator<=>(const Fraction& a, const Fraction& b) {
    return product(a.p_, b.q_) <=> product(b.p_, a.q_);
  }
  friend std::ostream& operator<<(std::ostream& out, const Fraction& f) {
    return out << text(f.p_) << (f.q_ == 1 ? "" : "/" + text(f.q_));
  }

 private:
  using Int = __int128;
  static constexpr Int gcd(Int a, Int b) {
    while (b != 0) {
      if (static_cast<Int>(static_cast<std::int64_t>(a)) == a &&
          static_cast<Int>(static_cast<std::int64_t>(b)) == b) {
        auto x = static_cast<std::uint64_t>(a);
        auto y = static_cast<std::uint64_t>(b);
        while (y != 0) {
          const std::uint64_t r = x % y;
          x = y;
          y = r;
        }
        return static_cast<Int>(x);
      }
      const Int r = a % b;
      a = b;
      b = r;
    }
    return a;
  }
  static constexpr Int product(Int a, Int b) {
    Int r = 0;
    if (__builtin_mul_overflow(a, b, &r)) throw std::overflow_error("a fraction outgrew 128 bits");
    return r;
  }
  static constexpr Int sum(Int a, Int b) {
    Int r = 0;
    if (__builtin_add_overflow(a, b, &r)) throw std::overflow_error("a fraction outgrew 128 bits");
    return r;
  }
  static constexpr Fraction make(Int p, Int q) {
    Fraction f;
    f.p_ = p;
    f.q_ = q;
    f.reduce();
    return f;
  }
  constexpr void reduce() {
    if (q_ < 0) {
      p_ = -p_;
      q_ = -q_;
    }
    const Int g = gcd(p_ < 0 ? -p_ : p_, q_);
    p_ /= g;
    q_ /= g;
  }
  static std::string text(Int v) {
    if (v < 0) return "-" + text(-v);
    std::string digit(1, static_cast<char>('0' + static_cast<int>(v % 10)));
    return v < 10 ? digit : text(v / 10) + digit;
  }
  Int p_ = 0;
  Int q_ = 1;
};

}  // namespace weft::testing
