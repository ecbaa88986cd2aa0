// Bisection: the fewest cables between two halves of the hosts (sizes differ by one at most), each host on the side of
// its switch; only where the halves cannot be equal otherwise are the hosts of one switch parted. Finding the minimum
// is NP-hard, so in general both functions give an upper bound: a cut that exists, not a proof that no smaller one
// does.
//
//   product_cut()     closed form for meshes, tori and HyperX: halves in the order of the routers' coordinates.
//   find_bisection()  on any fabric. Of up to 20 switches (with their own hosts; or hosts of several switches) every
//                     cut is tried. Beyond: halves by several orders of the hosts (their numbers, breadth-first from
//                     hosts drawn by a fixed seed, the Fiedler vector of the graph), each refined by moving vertices
//                     across (Fiduccia and Mattheyses, DAC 1982), first with a switch and its own hosts as one, then
//                     singly.
//
// Worked example, mesh 3x1 with one host a router: routers a-b-c. Two of three hosts on one side: {a, b} | {c} cuts
// b-c, one cable. Mesh 31x2: fifteen columns and one router of the middle column against the rest cuts two cables
// beside the middle column's and one within it: 3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

// One dimension of a product of equal lines of routers.
struct ProductDimension {
  std::uint64_t k = 1;  // routers in a line
  // Cables of one line between its first `half` routers and the others: 1 for a mesh, 2 for a ring, half (k - half) for
  // a clique; given at half = floor(k/2), times parallel cables.
  std::uint64_t cut = 0;
};
// Cut between the two halves of the routers, and through one router's hosts where their number is odd. Takes the best
// order of dimensions: halving an even dimension cuts all its lines; an odd one leaves its middle slice to be halved by
// the next. nullopt for fewer than two hosts. O(2^d d).
[[nodiscard]] std::optional<std::uint64_t> product_cut(std::span<const ProductDimension> dimensions,
                                                       std::uint64_t hosts_per_router);

struct Bisection {
  std::uint64_t cables =
      0;  // between the sides: links, both ways, halved and rounded up; one for both directions is a cable
  std::vector<std::uint8_t> side;  // by vertex, 0 or 1
};
// Hosts that ranks are placed on count; a PCIe tree's other end points follow. Deterministic. nullopt: fewer than two
// hosts, or more than `max_links` links. O(starts x passes x links log vertices), seconds at the default limit.
[[nodiscard]] std::optional<Bisection> find_bisection(const Fabric& fabric,
                                                      std::uint64_t max_links = 1ULL << 18);

// The smaller of the family's closed form and what the search finds; nullopt where there is neither.
// None, too, where it is not known what some link joins (routes files: a loop).
[[nodiscard]] std::optional<std::uint64_t> best_bisection(const Fabric& fabric);

}  // namespace weft::topology
