#include "topology/families/galois_field.hpp"

#include <fmt/format.h>

#include <utility>

#include "core/check.hpp"

namespace weft::topology {
namespace {

// q = p^e, or e = 0.
std::pair<std::uint64_t, std::uint64_t> prime_power(std::uint64_t q) {
  if (q < 2) return {q, 0};
  std::uint64_t p = 2;
  while (p * p <= q && q % p != 0) ++p;
  if (p * p > q) return {q, 1};
  std::uint64_t e = 0;
  for (; q % p == 0; q /= p) ++e;
  return {p, q == 1 ? e : 0};
}

}  // namespace

GaloisField::GaloisField(std::uint64_t p, std::uint64_t e) : p_(p), e_(e) {
  for (std::uint64_t i = 0; i < e; ++i) q_ *= p;
  log_.resize(q_);
  if (q_ == 2) {
    powers_ = {1};
    return;
  }
  // The first monic polynomial of degree e that makes the powers of some element run through the whole field.
  for (std::uint64_t reduction = 0; reduction < q_; ++reduction)
    for (std::uint64_t primitive = e == 1 ? 2 % p : p; primitive < q_; ++primitive)
      if (runs_through(primitive, reduction)) return;
  WEFT_CHECK(false, fmt::format("no field of {} elements", q_));
}

std::optional<GaloisField> GaloisField::of(std::uint64_t q) {
  const auto [p, e] = prime_power(q);
  if (e == 0) return std::nullopt;
  return GaloisField(p, e);
}

std::uint64_t GaloisField::add(std::uint64_t a, std::uint64_t b) const {
  std::uint64_t sum = 0, unit = 1;
  for (std::uint64_t i = 0; i < e_; ++i, unit *= p_, a /= p_, b /= p_) sum += (a % p_ + b % p_) % p_ * unit;
  return sum;
}

std::uint64_t GaloisField::negate(std::uint64_t a) const {
  std::uint64_t out = 0, unit = 1;
  for (std::uint64_t i = 0; i < e_; ++i, unit *= p_, a /= p_) out += (p_ - a % p_) % p_ * unit;
  return out;
}

// Times the unknown: the coefficient that leaves comes back by the reduction x^e = reduction.
std::uint64_t GaloisField::shift(std::uint64_t a, std::uint64_t reduction) const {
  if (e_ == 1) return 0;
  const std::uint64_t top = a / (q_ / p_);
  std::uint64_t out = a % (q_ / p_) * p_;
  for (std::uint64_t n = 0; n < top; ++n) out = add(out, reduction);
  return out;
}

// Horner: from the highest coefficient of b on, shift and add.
std::uint64_t GaloisField::slow_product(std::uint64_t a, std::uint64_t b, std::uint64_t reduction) const {
  std::uint64_t product = 0, unit = q_ / p_;
  for (std::uint64_t i = 0; i < e_; ++i, unit /= p_) {
    product = shift(product, reduction);
    for (std::uint64_t n = b / unit % p_; n > 0; --n) product = add(product, a);
  }
  return product;
}

bool GaloisField::runs_through(std::uint64_t primitive, std::uint64_t reduction) {
  std::vector<bool> seen(q_, false);
  powers_.clear();
  std::uint64_t x = 1;
  for (std::uint64_t i = 0; i + 1 < q_; ++i) {
    if (x == 0 || seen[x]) return false;
    seen[x] = true;
    log_[x] = i;
    powers_.push_back(x);
    x = slow_product(x, primitive, reduction);
  }
  return x == 1;
}

bool is_prime_power(std::uint64_t q) { return prime_power(q).second > 0; }

std::string field_sizes_near(std::uint64_t q, bool (*fits)(std::uint64_t)) {
  std::string near;
  for (std::uint64_t n = q > 8 ? q - 8 : 3; n <= q + 8; ++n)
    if (n >= 3 && fits(n)) near += fmt::format("{}{}", near.empty() ? "like " : ", ", n);
  return near;
}

}  // namespace weft::topology
