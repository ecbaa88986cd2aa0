// A SimGrid platform file (XML, DTD 4 and 4.1) as a Network.
//
// Read: netzones (zone, AS) with routing Full, Floyd, Dijkstra, DijkstraCache, Cluster and None; clusters, flat or fat-tree, torus, dragonfly; cabinets;
// hosts and their speeds; routers; links, shared, split or fatpipe; routes and bypasses. Names may be used before they are declared.
// Not supported: what changes with time (speed_file, trace_connect...), wireless links, Vivaldi's coordinates and peers. Without
// meaning here: properties, disks, loopback links (messages within a host take what the platform's mpi { } says).
// <config> and actors are told as warnings.
#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"
#include "topology/simgrid/network.hpp"

namespace weft::topology::simgrid {

inline constexpr std::size_t kMostHosts = std::size_t{1} << 20;

// Errors: kBadInput and kNotSupported, at FILE:LINE:COLUMN.
[[nodiscard]] Result<std::unique_ptr<Network>> read_platform(const std::string& path);

}  // namespace weft::topology::simgrid
