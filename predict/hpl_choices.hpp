// What HPL is run with when the user does not say: from the platform's ranks and memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "hpl_gen/hpl_dat.hpp"
#include "topology/platform/platform.hpp"

namespace weft::predict {

inline constexpr std::int64_t kDefaultNb = 192;
inline constexpr double kMemoryShare = 0.8;  // of the hosts' memory for the matrix

// Largest multiple of `nb` whose matrix fills at most kMemoryShare of the memory of every host that holds some of
// `ranks` ranks, placed by `map` (topology/placement/placement.hpp) and `seed`.
// Errors (kUsage): the platform does not say how much memory a host has; that holds less than one block. Those of the
// placement.
[[nodiscard]] Result<std::int64_t> largest_order(const topology::Platform& platform, int ranks,
                                                 std::int64_t nb, std::string_view map, std::uint64_t seed);

// Lines of an HPL.dat that nobody has written.
struct Open {
  bool n = false, nb = false, grid = false;
};
struct ChosenDat {
  hpl_gen::HplDat dat;
  std::vector<std::string> chosen;  // "N = 250,000 (80 % of 6.1 TB)", one each
};
// `dat` with the open lines filled in: NB = kDefaultNb, the most square grid of all ranks of the platform (for programs
// on accelerators: that the process rows and columns on a node divide), the largest order.
// Errors (kUsage): largest_order's, more than 2^24 ranks, no such grid.
[[nodiscard]] Result<ChosenDat> complete_dat(hpl_gen::HplDat dat, const Open& open,
                                             const topology::Platform& platform, std::string_view map,
                                             std::uint64_t seed);

// That the matrix of a run takes more than all the memory of a host, where the platform says how much that is; of what
// accelerators hold only what is beyond --device-memory. With the figures of the run that takes most.
[[nodiscard]] std::vector<std::string> memory_warnings(const topology::Platform& platform,
                                                       const std::vector<hpl_gen::HplConfig>& configs,
                                                       std::string_view map, std::uint64_t seed);

}  // namespace weft::predict
