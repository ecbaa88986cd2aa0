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

// How many of `ranks` ranks, placed by `map` and `seed`, each node has (topology/placement/locality.hpp). Errors: kBadInput
// where nodes differ, which rocHPL does not run on; those of the placement.
[[nodiscard]] Result<int> ranks_on_node(const topology::Platform& platform, int ranks, std::string_view map,
                                        std::uint64_t seed);
// `config` as its program lays it on the nodes that hold `placement` (hpl_gen/node_grid.hpp). Doing it twice changes nothing.
// Errors: of rocHPL ranks_on_node's and with_node_grid's.
[[nodiscard]] Result<hpl_gen::HplConfig> laid_on_nodes(const hpl_gen::HplConfig& config,
                                                       const topology::Fabric& fabric,
                                                       const std::vector<HostId>& placement);

// All ranks that the platform has room for. Errors (kUsage): more than 2^24, too many for a grid that nobody says.
[[nodiscard]] Result<int> all_ranks(const topology::Platform& platform);

// Lines of an HPL.dat that nobody has written.
struct Open {
  bool n = false, nb = false, grid = false;
};
struct ChosenDat {
  hpl_gen::HplDat dat;
  std::vector<std::string> chosen;  // "N = 250,000 (80 % of 6.1 TB)", one each
};
// `dat` with the open lines filled in: NB = kDefaultNb, the most square grid of all ranks of the platform that the
// program runs on (hpl_gen/node_grid.hpp), the largest order.
// Errors (kUsage): largest_order's, all_ranks', no such grid. Of rocHPL's open grid: ranks_on_node's.
[[nodiscard]] Result<ChosenDat> complete_dat(hpl_gen::HplDat dat, const Open& open,
                                             const topology::Platform& platform, std::string_view map,
                                             std::uint64_t seed);

// That the matrix of a run takes more than all the memory of a host, where the platform says how much that is; of what
// accelerators hold only what is beyond --device-memory. With the figures of the run that takes most.
[[nodiscard]] std::vector<std::string> memory_warnings(const topology::Platform& platform,
                                                       const std::vector<hpl_gen::HplConfig>& configs,
                                                       std::string_view map, std::uint64_t seed);

}  // namespace weft::predict
