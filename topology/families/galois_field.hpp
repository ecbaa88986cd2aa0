// The field of q = p^e elements, for graphs that are made of one (slim-fly, polarfly). An element is the number whose digits
// to base p are the coefficients of a polynomial; 0 and 1 are the field's own.
//
//   const GaloisField f(3, 2);   // q = 9
//   f.add(5, 7) == 0;            // (x + 2) + (2 x + 1)
//
// Sums O(e), products O(1) from tables of logarithms; O(q^2) at most to set up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::topology {

class GaloisField {
 public:
  // `p` prime.
  GaloisField(std::uint64_t p, std::uint64_t e);
  // Of q elements; nothing where q is no prime power.
  [[nodiscard]] static std::optional<GaloisField> of(std::uint64_t q);

  [[nodiscard]] std::uint64_t size() const { return q_; }
  [[nodiscard]] std::uint64_t add(std::uint64_t a, std::uint64_t b) const;
  [[nodiscard]] std::uint64_t negate(std::uint64_t a) const;
  [[nodiscard]] std::uint64_t multiply(std::uint64_t a, std::uint64_t b) const {
    return a == 0 || b == 0 ? 0 : powers_[(log_[a] + log_[b]) % (q_ - 1)];
  }
  // a != 0.
  [[nodiscard]] std::uint64_t inverse(std::uint64_t a) const {
    return powers_[(q_ - 1 - log_[a]) % (q_ - 1)];
  }
  // r^i of a primitive element r, for i < q - 1: all elements but 0.
  [[nodiscard]] const std::vector<std::uint64_t>& powers() const { return powers_; }

 private:
  [[nodiscard]] std::uint64_t shift(std::uint64_t a, std::uint64_t reduction) const;
  [[nodiscard]] std::uint64_t slow_product(std::uint64_t a, std::uint64_t b, std::uint64_t reduction) const;
  bool runs_through(std::uint64_t primitive, std::uint64_t reduction);
  std::uint64_t p_, e_, q_ = 1;
  std::vector<std::uint64_t> powers_, log_;
};

[[nodiscard]] bool is_prime_power(std::uint64_t q);
// "like 3, 4, 5, 7": the sizes around q, 3 and above, that `fits`.
[[nodiscard]] std::string field_sizes_near(std::uint64_t q, bool (*fits)(std::uint64_t));

}  // namespace weft::topology
