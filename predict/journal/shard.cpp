#include "predict/journal/shard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

namespace weft::predict {

std::string Shard::text() const { return fmt::format("{}/{}", index, count); }

Result<Shard> parse_shard(std::string_view text) {
  constexpr const char* kExpected = "I/N with 1 <= I <= N <= 1000000 (0/N is N/N)";
  const auto wrong = [&] {
    return usage_error("--shard is no part of a study", std::string(text), kExpected);
  };
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return wrong();
  const auto number = [](std::string_view digits, std::uint32_t& out) {
    const char* end = digits.data() + digits.size();
    const auto [at, code] = std::from_chars(digits.data(), end, out);
    return code == std::errc{} && at == end;
  };
  Shard s;
  if (!number(text.substr(0, slash), s.index) || !number(text.substr(slash + 1), s.count)) return wrong();
  if (s.count == 0 || s.count > kMaxShards || s.index > s.count) return wrong();
  if (s.index == 0) s.index = s.count;
  return s;
}

std::vector<std::uint32_t> deal_points(const std::vector<double>& weights, std::uint32_t count) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  std::vector<std::uint32_t> part(weights.size());
  for (std::size_t k = 0; k < order.size(); ++k) {
    const auto place = static_cast<std::uint32_t>(k % count);
    part[order[k]] = 1 + (k / count % 2 == 0 ? place : count - 1 - place);
  }
  return part;
}

}  // namespace weft::predict
