// Failures: a fabric without some of its cables and switches.
//
// Specification, parts joined by ';':
//   link=NAME    the cable of that link, both directions (names as `weft route` prints them)
//   switch=NAME  a switch with all its cables
//   2%           that share of the cables between switches (of all cables where hosts are routers), drawn with `seed`
//   3            as many of them
// What is left keeps its names. A pair whose usual route survived keeps it (the draws of routings by message too: what
// meets a failure is routed anew); every other pair takes a shortest path over what is left, of equals by a hash of the
// pair (graph_routing.hpp), or is unreachable. Cost: O(links) once, one search per destination switch that needs a
// detour; a routing that looks at load costs O(links) more per message.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "topology/fabric.hpp"

namespace weft::topology {

// What hosts will be called once something hangs under them (graft.hpp); empty: as the fabric calls them.
using HostNames = std::function<std::string(HostId)>;

// Errors (kBadInput at `where`): a part that is none of the above, an unknown name (with names that are close), more
// failures than cables. With `hosts` links go by both names of theirs.
[[nodiscard]] Result<Fabric> with_failures(Fabric fabric, std::string_view failures, std::uint64_t seed,
                                           const std::string& where, const HostNames& hosts = {});

}  // namespace weft::topology
