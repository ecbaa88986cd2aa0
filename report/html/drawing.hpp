// Where hosts and switches go on a drawing of the network, and how much their cables carried.
//
// Trees (every switch on one way up) are drawn in rows by distance from the hosts, PCIe trees from their roots down, groups
// of a dragonfly on a circle with their routers on a smaller one, grids by their coordinates (a third dimension aslant),
// everything else by springs (Fruchterman and Reingold) from a fixed start. Coordinates lie in 0..1; the same fabric gives
// the same drawing. O(vertices + links), springs O(vertices^2) a step.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "predict/run_facts.hpp"

namespace weft::report {

enum class Layout : std::uint8_t { kRows, kRoots, kGroups, kGrid, kSprings };
inline constexpr std::array<std::string_view, 5> kLayoutNames{"rows", "roots", "groups", "grid", "springs"};

struct Drawing {
  Layout layout{};
  std::vector<float> x, y;  // by VertexId
};

// Fabrics of more vertices are not drawn.
inline constexpr std::uint32_t kMostDrawn = 2'000;
inline constexpr std::uint32_t kMostSprings = 400;

// Precondition: at most kMostDrawn vertices, kMostSprings where only springs serve (can_draw()).
[[nodiscard]] Layout layout_of(const topology::Platform& platform);
[[nodiscard]] bool can_draw(const topology::Platform& platform);
[[nodiscard]] Drawing draw(const topology::Platform& platform);

// With names, hosts, and of every link that carried something its bytes, use and waiting.
[[nodiscard]] nlohmann::ordered_json to_json(const Drawing& drawing, const predict::RunFacts& run);

}  // namespace weft::report
