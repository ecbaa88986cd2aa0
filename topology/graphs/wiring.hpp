// Wiring: what the links of a network join, where nothing but routes over them is known.
//
// The end of a link is where the next link of any route begins, the first link of a route begins at its source, the last ends at
// its destination (union-find over link ends and places). A link that routes use in both directions, and that does not say that
// it is for both, merges its two ends; the wiring then counts as unknown. What a link that no route uses joins is unknown, too: it is a loop.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::topology {

struct RoutesWalked {
  struct Route {
    std::uint32_t src, dst;    // places
    std::uint32_t begin, end;  // in `used`
  };
  std::uint32_t hosts = 0;   // places 0..hosts-1
  std::uint32_t places = 0;  // at least `hosts`; the others are known places between them
  std::uint32_t links = 0;
  std::span<const Route> routes;
  std::span<const std::uint32_t> used;    // links of the routes, one route after the other
  std::span<const std::uint8_t> two_way;  // by link, 1: for both directions; empty: none is
  bool whole = true;  // false: some go on elsewhere than they came to, so the wiring is unknown
};

struct Wiring {
  static constexpr std::uint32_t kNoVertex = ~0u;
  std::vector<std::uint32_t> from,
      to;  // vertices, by link; of a link for both directions as it was first used
  std::vector<std::uint32_t>
      vertex;  // of each place, kNoVertex: no link ends there; 0..hosts-1 are the hosts
  // By link, 1: for both directions, and some route takes it backwards, or none takes it, or the wiring is unknown.
  std::vector<std::uint8_t> both_ways;
  std::uint32_t vertices = 0;
  bool hosts_pass_on = false;  // some route crosses a host
  bool known = true;           // else one vertex behind the hosts stands for all of it
};

// O(links + hops of all routes).
[[nodiscard]] Wiring infer_wiring(const RoutesWalked& r);

// The number of each link in a Fabric, which numbers them by the vertex that they leave, then as they are here.
[[nodiscard]] std::vector<std::uint32_t> numbers_by_start(const Wiring& w);

}  // namespace weft::topology
