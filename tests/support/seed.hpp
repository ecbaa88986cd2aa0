// Seeds of property tests: each test has its own, and the one that failed is told so that WEFT_SEED replays it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <vector>

namespace weft::support {

// The number in an environment variable; none where it is not set or empty.
[[nodiscard]] inline std::optional<std::uint64_t> number_in(const char* variable) {
  const char* s = std::getenv(variable);
  if (s == nullptr || *s == '\0') return std::nullopt;
  return std::strtoull(s, nullptr, 10);
}

[[nodiscard]] inline std::uint64_t seed_or(std::uint64_t otherwise) {
  return number_in("WEFT_SEED").value_or(otherwise);
}

// Of a test that draws one case from each seed: 1 to `last`, or WEFT_SEED alone.
[[nodiscard]] inline std::vector<std::uint64_t> seeds_to(std::uint64_t last) {
  if (const auto one = number_in("WEFT_SEED")) return {*one};
  std::vector<std::uint64_t> all;
  for (std::uint64_t s = 1; s <= last; ++s) all.push_back(s);
  return all;
}

}  // namespace weft::support
