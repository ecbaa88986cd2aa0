// What is said where no way leads from one host to another.
#pragma once

#include <string>

#include "core/result.hpp"
#include "topology/fabric.hpp"

namespace weft::topology {

// kBadInput, at `where` of an input. Under nodes of several devices it names the network cards, of which none serves. O(vertices x depth of a tree).
[[nodiscard]] Error no_route(const Fabric& fabric, HostId from, HostId to, std::string where = {});

}  // namespace weft::topology
