// RankGrid: ranks on a grid of up to four dimensions, the first one fastest (rank = x + X y + X Y z).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "traces/synthetic/pattern.hpp"

namespace weft::traces {

class RankGrid {
 public:
  RankGrid(std::vector<std::uint64_t> extents, bool periodic)
      : extents_(std::move(extents)), periodic_(periodic) {
    for (const std::uint64_t e : extents_) ranks_ *= e;
  }
  [[nodiscard]] std::uint64_t ranks() const { return ranks_; }
  [[nodiscard]] std::size_t dimensions() const { return extents_.size(); }
  [[nodiscard]] const std::vector<std::uint64_t>& extents() const { return extents_; }
  // The rank at `offset` (-1, 0 or 1 in each dimension) from `rank`; none past an open border. A dimension of
  // extent 1 has no neighbour, periodic or not.
  [[nodiscard]] std::optional<std::uint64_t> neighbor(std::uint64_t rank,
                                                      const std::vector<int>& offset) const {
    std::uint64_t out = 0, stride = 1;
    for (std::size_t d = 0; d < extents_.size(); ++d) {
      const std::uint64_t e = extents_[d];
      std::uint64_t c = rank / stride % e;
      if (offset[d] != 0) {
        if (e == 1) return std::nullopt;
        if (!periodic_ && (offset[d] < 0 ? c == 0 : c == e - 1)) return std::nullopt;
        c = (c + (offset[d] < 0 ? e - 1 : 1)) % e;
      }
      out += c * stride;
      stride *= e;
    }
    return out;
  }

 private:
  std::vector<std::uint64_t> extents_;
  bool periodic_;
  std::uint64_t ranks_ = 1;
};

// The grid of the keys "dims" and "periodic". Errors: kUsage, also for more than kMaxPatternRanks ranks.
inline constexpr PatternKey kGridDimsKey{
    "dims", "required", "ranks in each dimension, 1 to 4 of them: 8x8x4; rank = x + X y + X Y z"};
inline constexpr PatternKey kGridPeriodicKey{"periodic", "off", "the grid wraps around"};
[[nodiscard]] Result<RankGrid> read_rank_grid(const PatternArgs& args);

// Cells of part `i` when `total` cells are dealt to `parts`: the first ones get one more where it does not divide.
[[nodiscard]] constexpr std::uint64_t block_size(std::uint64_t total, std::uint64_t parts, std::uint64_t i) {
  return total / parts + (i < total % parts ? 1 : 0);
}

}  // namespace weft::traces
