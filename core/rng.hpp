// Our own seeded random numbers: the same sequence with every compiler and library (std distributions differ).
// Generator: splitmix64 (Steele, Lea, Flood, OOPSLA 2014); bounded numbers by Lemire's multiply-and-reject
// (ACM TOMACS 2019), so they are exactly uniform.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

namespace weft {

class Rng {
 public:
  explicit constexpr Rng(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound). Precondition: bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    while (true) {
      const unsigned __int128 m = static_cast<unsigned __int128>(next()) * bound;
      const auto low = static_cast<std::uint64_t>(m);
      if (low >= bound || low >= (-bound) % bound) return static_cast<std::uint64_t>(m >> 64);
    }
  }
  // Uniform in [0, 1) with 53 bits.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

  // Fisher-Yates. O(n).
  template <class T>
  constexpr void shuffle(std::span<T> v) {
    for (std::size_t i = v.size(); i > 1; --i) std::swap(v[i - 1], v[below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace weft
