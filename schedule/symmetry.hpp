// Symmetry: permutations of points that change nothing that matters, found from arcs and their routes alone.
//
// A permutation p is a symmetry if for each pair (a, b) the arcs a -> b and p(a) -> p(b) have the same labels,
// and the links of their routes, taken position by position, define one bijection of links that keeps colors and one
// of ties: links that are tied go to links that are tied.
// Then any rate that depends only on which routes share which links and ties is the same for a set of arcs and its image.
// Used twice: ranks of an exchange (schedules with equal times), hosts of a platform (equivalent placements).
//
// Found by base and search: for i = 0, 1, ... with points 0..i-1 fixed, one symmetry for each possible image of
// i. These generate the whole group (a strong generating set). Orbits then come from the generators alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::schedule {

inline constexpr std::uint32_t kNoTie = 0xffffffffu;

struct Arc {
  std::uint32_t src = 0;
  std::uint32_t dst = 0;
  std::uint64_t label = 0;
  std::vector<std::uint32_t> route;  // links
};

using Permutation = std::vector<std::uint32_t>;  // image by point

struct SymmetryGroup {
  std::vector<Permutation> generators;  // without the identity
  double order = 1;
  bool complete = true;  // false: the search was cut off; the generators are symmetries but maybe not all
};

// `color` and `tie` by link; no ties: each link is tied to none (kNoTie). At most `budget` partial permutations are tried.
[[nodiscard]] SymmetryGroup find_symmetry(std::uint32_t points, const std::vector<Arc>& arcs,
                                          std::span<const std::uint32_t> color,
                                          std::span<const std::uint32_t> tie = {},
                                          std::uint64_t budget = 2'000'000);

// Union-find over 0..n-1; the smallest member represents.
class Orbits {
 public:
  explicit Orbits(std::uint32_t n);
  void join(std::uint32_t a, std::uint32_t b);
  [[nodiscard]] std::uint32_t find(std::uint32_t a);

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace weft::schedule
