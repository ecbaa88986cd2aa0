#include "traces/formats/liballprof/parts.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace weft::traces::allprof {
namespace {

using Part = std::vector<std::size_t>;
using Parts = std::vector<Part>;

// The one size that all have that were seen; none: they differ.
std::optional<std::size_t> one_size(const std::vector<Seen>& seen) {
  std::int32_t size = -1;
  for (const Seen& s : seen) {
    if (s.size < 0) continue;
    if (size >= 0 && s.size != size) return std::nullopt;
    size = s.size;
  }
  if (size < 1 || static_cast<std::size_t>(size) > seen.size()) return std::nullopt;
  return static_cast<std::size_t>(size);
}

// Each rank of the new communicator was seen once.
Parts by_ranks(const std::vector<Seen>& seen, std::size_t size) {
  Part part(size, SIZE_MAX);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].rank < 0) continue;
    const auto rank = static_cast<std::size_t>(seen[i].rank);
    if (rank >= size || part[rank] != SIZE_MAX) return {};
    part[rank] = i;
  }
  if (std::ranges::find(part, SIZE_MAX) != part.end()) return {};
  return {part};
}

// The first ranks of the old one, in its order, wherever somebody was seen.
Parts first_ranks(const std::vector<Seen>& seen, std::size_t size) {
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (seen[i].rank >= 0 && (seen[i].rank != static_cast<std::int32_t>(i) || i >= size)) return {};
  Part part(size);
  std::iota(part.begin(), part.end(), std::size_t{0});
  return {part};
}

// Neighbouring dimensions of a grid remain: the rank of member i is i / d % size for one distance d.
Parts of_grid(const std::vector<Seen>& seen, std::size_t size) {
  const std::size_t n = seen.size();
  if (n % size != 0) return {};
  std::optional<std::size_t> distance;
  for (std::size_t d = 1; d * size <= n; ++d) {
    if (n % (d * size) != 0) continue;
    bool good = true;
    for (std::size_t i = 0; good && i < n; ++i)
      good = seen[i].rank < 0 || seen[i].rank == static_cast<std::int32_t>(i / d % size);
    if (!good) continue;
    if (distance && size > 1) return {};
    distance = d;
  }
  if (!distance) return {};
  const std::size_t d = *distance;
  Parts parts(n / size);
  for (std::size_t i = 0; i < n; ++i) parts[i / (d * size) * d + i % d].push_back(i);
  return parts;
}

// Those who share a host.
Parts by_host(const std::vector<Seen>& seen, const std::vector<std::string>& hosts) {
  std::map<std::string, Part> there;
  for (std::size_t i = 0; i < hosts.size(); ++i) there[hosts[i]].push_back(i);
  Parts parts;
  for (auto& [host, part] : there) {
    std::ranges::stable_sort(part, {}, [&](std::size_t i) { return seen[i].rank; });
    for (std::size_t k = 0; k < part.size(); ++k)
      if (seen[part[k]].rank != static_cast<std::int32_t>(k) ||
          seen[part[k]].size != static_cast<std::int32_t>(part.size()))
        return {};
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

std::vector<std::vector<std::size_t>> parts_of(CommMade::How how, bool reorder, const std::vector<Seen>& seen,
                                               const std::vector<std::string>& hosts) {
  using How = CommMade::How;
  if (how == How::merge) return {};
  const auto size = one_size(seen);
  if (!size) return how == How::split_type ? by_host(seen, hosts) : Parts{};
  if (*size == 1 && (how == How::split_type || how == How::cart_sub)) {
    Parts parts;
    for (std::size_t i = 0; i < seen.size(); ++i) parts.push_back({i});
    return parts;
  }
  Parts parts = by_ranks(seen, *size);
  switch (how) {
    case How::prefix:
      return parts.empty() || !reorder ? first_ranks(seen, *size) : parts;
    case How::cart_sub:
      return *size == seen.size() && !parts.empty() ? parts : of_grid(seen, *size);
    case How::split_type:
      return *size == seen.size() && !parts.empty() ? parts : by_host(seen, hosts);
    default:
      return parts;
  }
}

}  // namespace weft::traces::allprof
