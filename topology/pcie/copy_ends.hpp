// Between which endpoints of a PCI Express tree a rank's copies go: its accelerator and its host's memory.
//
// A rank placed on a GPU has that one and the nearest memory of its tree (fewest links, then the first). A rank placed on
// a memory is a process of the host: the ranks there are dealt the GPUs to which that memory is the nearest, in the order of
// their numbers, and begin again where they are more.
#pragma once

#include <vector>

#include "core/result.hpp"
#include "topology/fabric.hpp"

namespace weft::topology {

struct CopyEnds {
  HostId device, memory;
};

// By rank. Error (kBadInput, without a place): a rank that is on neither, or whose tree has not both. O(hosts^2 depth) of
// a tree at most, O(1) a rank.
[[nodiscard]] Result<std::vector<CopyEnds>> copy_ends(const Fabric& fabric,
                                                      const std::vector<HostId>& placement);

}  // namespace weft::topology
