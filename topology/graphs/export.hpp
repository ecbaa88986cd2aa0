// A fabric as text for other tools: Graphviz DOT, GraphML, and our own routes file (every link, every route).
//
// DOT and GraphML have one undirected edge per cable where every link has its twin, else one directed edge
// per link.
#pragma once

#include <string>

#include "core/files/text_sink.hpp"
#include "topology/fabric.hpp"

namespace weft::topology {

// The largest fabrics have gigabytes of text.
void write_dot(const Fabric& fabric, const TextSink& out);
void write_graphml(const Fabric& fabric, const TextSink& out);
// Error (kBadInput) above `max_pairs` ordered pairs: the file would be huge. Nothing is written then.
[[nodiscard]] Result<void> write_routes(const Fabric& fabric, const TextSink& out,
                                        std::uint64_t max_pairs = 1ULL << 24);

// The same in one piece.
[[nodiscard]] std::string to_dot(const Fabric& fabric);
[[nodiscard]] std::string to_graphml(const Fabric& fabric);
[[nodiscard]] Result<std::string> to_routes(const Fabric& fabric, std::uint64_t max_pairs = 1ULL << 24);

}  // namespace weft::topology
