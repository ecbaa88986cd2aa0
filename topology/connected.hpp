// Which vertices hang together, whichever way their links lead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

// By vertex, one vertex of its part, the same for all of the part: parts are joined by the links that `joins(link)` says.
// O(links + vertices) nearly.
template <class Joins>
std::vector<std::uint32_t> connected_parts(const Fabric& f, Joins joins) {
  std::vector<std::uint32_t> parent(f.vertex_count());
  std::iota(parent.begin(), parent.end(), 0u);
  const auto root = [&parent](std::uint32_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  };
  for (std::uint32_t l = 0; l < f.wired_links(); ++l)
    if (joins(LinkId(l))) parent[root(f.links().from[l].index())] = root(f.links().to[l].index());
  for (std::uint32_t v = 0; v < parent.size(); ++v) parent[v] = root(v);
  return parent;
}

}  // namespace weft::topology
