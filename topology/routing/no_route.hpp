// What is said where no way leads from one host to another.
#pragma once

#include "core/result.hpp"
#include "topology/fabric.hpp"

namespace weft::topology {

// kBadInput. Under nodes of several devices it names the network cards, of which none serves. O(vertices x depth of a tree).
[[nodiscard]] Error no_route(const Fabric& fabric, HostId from, HostId to);

}  // namespace weft::topology
