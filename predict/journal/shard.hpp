// Shard: one of n parts of a study's points, so that n processes that know nothing of each other do all of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"

namespace weft::predict {

// "i/n": parts 1/n ... n/n, or 0/n ... (n-1)/n, as 0/n and n/n are one part.
struct Shard {
  std::uint32_t index = 1;  // from 1 on
  std::uint32_t count = 1;
  [[nodiscard]] std::string text() const;
};

inline constexpr std::uint32_t kMaxShards = 1'000'000;

// Errors: kUsage.
[[nodiscard]] Result<Shard> parse_shard(std::string_view text);

// The part, from 1 on, that each point belongs to: points are dealt like cards, those that take longest first (ties by
// index), there and back again (1 2 3 3 2 1 1 2 ...), so that the parts take about as long. `weights`: what each takes.
[[nodiscard]] std::vector<std::uint32_t> deal_points(const std::vector<double>& weights, std::uint32_t count);

}  // namespace weft::predict
