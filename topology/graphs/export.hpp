// A fabric as text for other tools: Graphviz DOT, GraphML, and our own routes file (every link, every route).
//
// DOT and GraphML have one undirected edge per cable where every link has its twin, else one directed edge
// per link.
#pragma once

#include <string>

#include "topology/fabric.hpp"

namespace weft::topology {

[[nodiscard]] std::string to_dot(const Fabric& fabric);
[[nodiscard]] std::string to_graphml(const Fabric& fabric);
// Error (kBadInput) above `max_pairs` ordered pairs: the file would be huge.
[[nodiscard]] Result<std::string> to_routes(const Fabric& fabric, std::uint64_t max_pairs = 1ULL << 24);

}  // namespace weft::topology
