// How fast the links of a route let a flow go that are not shared (kFatpipe).
#pragma once

#include <algorithm>
#include <limits>
#include <span>

#include "topology/fabric.hpp"

namespace weft::topology {

// bytes/s: the narrowest of them; infinity if it has none. O(1) where the network has none, O(links of the route) else.
[[nodiscard]] inline double fatpipe_limit(const LinkTable& links, std::span<const LinkId> route) {
  double least = std::numeric_limits<double>::infinity();
  if (!links.fatpipes) return least;
  for (const LinkId l : route)
    if (links.is_fatpipe(l)) least = std::min(least, links.capacity[l.index()]);
  return least;
}

}  // namespace weft::topology
