// Locality: which switch and which group a host belongs to, for placement.
//
// The switch of a host is where its first cable leads; a host that is its own router is its own. Groups are what is
// left connected when the outermost class of links is taken away (LinkTable lists classes from the hosts outwards):
// the groups of a dragonfly, the pods below the top of a tree. A fabric of one class, or whose outermost class is all
// that joins its switches, has the switch as its group; one that stays whole is one group.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

struct Locality {
  std::vector<std::uint32_t> switch_of, group_of;  // by host; numbered in the order of their first hosts
  std::uint32_t switches = 0, groups = 0;          // that have hosts
};

// O(links), near enough.
[[nodiscard]] Locality locality_of(const Fabric& fabric);

}  // namespace weft::topology
