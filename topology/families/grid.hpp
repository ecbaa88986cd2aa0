// Grid: what torus, mesh, hypercube and the torus machines (Gemini, Blue Gene/Q, TofuD) share. Routers at the points of
// a k_1 x ... x k_n grid; a dimension is a ring (torus) or a line (mesh), with one or more parallel cables a step.
//
// Router number: coordinate 1 counts fastest. Router ports: its hosts, then per dimension the + cables, then the -
// cables, where there is a neighbour (k = 2: one neighbour, one set of cables; k = 1: none). host_links=off: the router
// is the host.
//
// Routing is dimension-ordered, lowest dimension first. On a ring diff = (dst - src) mod k goes + if diff <=
// floor(k/2), else -. In an even ring the farthest point ties; `tie` decides: plus (default), minus, parity (source's
// coordinate sum even: plus), which loads both directions alike, simgrid (as SimGrid's TorusZone). Of m parallel cables
//   dimension-order  takes one for each pair, another one in each dimension, the same on every hop of it (fixed_cable
//                    in choice.hpp); dst mod m where a router's hosts are a multiple of m, like Gemini's
//   hashed           takes one by a hash of the pair and the message's number
//   adaptive         takes, hop by hop, the cable with the fewest messages; of equals dst mod m
// O(path length) per route, no tables but 4 bytes a router where a dimension is a line.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topology/platform/params.hpp"

namespace weft::topology {

inline constexpr std::size_t kMaxGridDims = 16;

struct GridPlan {
  std::vector<std::uint64_t> k;       // lengths
  std::vector<std::uint64_t> cables;  // parallel ones per dimension
  std::vector<std::uint64_t> line;    // 1: a line (mesh), 0: a ring
  std::uint64_t hosts_per_router = 1;
  bool host_links = true;
  // Link classes: "host" (if host_links) and then these; class of dimension d = class_of[d].
  std::vector<std::string> classes;
  std::vector<std::uint64_t> class_of;
  std::string_view bw_fallback = kDefaultBandwidth, lat_fallback = kDefaultLatency;
};

// Which of parallel cables: one for each pair, by a hash of the message, the least used.
enum class GridWay : std::uint8_t { kDimensionOrder, kHashed, kAdaptive };
inline constexpr std::array<Word<GridWay>, 3> kGridRoutings = {{{"dimension-order", GridWay::kDimensionOrder},
                                                                {"hashed", GridWay::kHashed},
                                                                {"adaptive", GridWay::kAdaptive}}};

// Of families with rings.
inline constexpr ParamInfo kTieParam{
    "tie", "plus", "direction to the farthest point of an even ring: plus, minus, parity, simgrid"};

// Reads bw, lat, tie, routing, seed, host_links and hosts_per_switch (default: the plan's) and builds.
[[nodiscard]] Result<Fabric> build_grid(const Params& params, GridPlan plan);

// One class for all dimensions, or one per dimension if bw or lat has that many values besides the host's.
void set_grid_classes(const Params& params, std::string_view name, GridPlan& plan);

// The keys that torus and mesh share: dims, cables, host_links; links of class `name`. `line` is left to the family.
[[nodiscard]] Result<GridPlan> read_grid(const Params& params, std::string_view name);

}  // namespace weft::topology
