// verify: does the wiring hold together and does every route walk on it? Used by `weft platform check` and
// the tests.
//
// Where a file tells routes, not what links join (Fabric::wiring_known), routes take no link twice, and that is all that is checked of them.
// A link for both directions may be walked either way.
//
// Checks: columns agree with the CSR graph; every capacity is positive and finite; every vertex is connected
// to the largest part (links taken both ways); routes are simple walks: they start at the source, end at the
// destination, each link begins where the one before ended, no vertex is entered twice. Routes of all pairs
// are walked where that takes at most `max_pairs` pairs, about `max_links` links of routes, and for routings that search
// about `max_search` links looked at. Otherwise pairs are drawn with a fixed seed: to every host, or where searching is
// what takes long to as many hosts as that leaves, and from all in turn; the report says how many.
// Cost: O(links + max_pairs + max_links + max_search), whatever the platform.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

struct VerifyReport {
  std::vector<std::string> findings;  // empty = sound; at most 20, then a line that says how many more
  std::uint64_t pairs_total = 0;
  std::uint64_t pairs_walked = 0;
  std::uint32_t destinations_walked = 0;  // hosts that routes were walked to
  std::uint64_t unreachable = 0;          // among the walked
  std::uint32_t host_degree_min = 0, host_degree_max = 0;
  std::uint32_t switch_degree_min = 0, switch_degree_max = 0;
};

[[nodiscard]] VerifyReport verify(const Fabric& fabric, std::uint64_t max_pairs = 1ULL << 22,
                                  std::uint64_t max_links = 1ULL << 26,
                                  std::uint64_t max_search = 1ULL << 28);

}  // namespace weft::topology
