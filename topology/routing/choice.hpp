// The random and hashed choices of routings: a keyed mixing function, so that a choice depends on the seed, the pair
// and (where a routing draws anew for every message) the message's number, and on nothing else; and what the words
// "random" and "adaptive" mean in every family that has both.
#pragma once

#include <cstdint>
#include <span>

#include "core/id.hpp"
#include "topology/fabric.hpp"

namespace weft::topology {

// Finaliser of splitmix64 over `x`, started from `key`. Equal inputs give equal outputs on every machine.
[[nodiscard]] constexpr std::uint64_t mix_hash(std::uint64_t key, std::uint64_t x) {
  std::uint64_t z = key + 0x9e3779b97f4a7c15ULL * (x + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Key of a pair of hosts under a seed.
[[nodiscard]] constexpr std::uint64_t pair_key(std::uint64_t seed, HostId src, HostId dst) {
  return mix_hash(mix_hash(seed, 0x70616972), (static_cast<std::uint64_t>(src.index()) << 32) | dst.index());
}
// Key of one message of that pair.
[[nodiscard]] constexpr std::uint64_t message_key(std::uint64_t seed, HostId src, HostId dst,
                                                  std::uint64_t message) {
  return mix_hash(pair_key(seed, src, dst), message);
}

// Deals numbers over `n` places: n neighbours take one each, the first of them by a hash, so that every second or fourth
// of the numbers comes to all places, too.
[[nodiscard]] constexpr std::uint64_t dealt(std::uint64_t key, std::uint64_t number, std::uint64_t n) {
  return (mix_hash(key, number / n) % n + number) % n;
}

// A dimension of a grid whose routes correct the first dimension first: routers in the dimensions before it, in it and
// behind it, the first counting fastest; hosts of a router.
struct GridDimension {
  std::uint64_t before, length, behind, hosts;
};

// The one of `n` parallel cables in a dimension that a pair always takes, whatever the seed. The pairs that cross a bundle
// from one coordinate to another differ in the source's coordinates before it, which have been corrected, and in the
// destination's behind it: the longer of the two is dealt over the cables, anew for all else that the pair is. Where a
// router's hosts are a multiple of n (Gemini: two nodes, two cables) the destination's number does as well, and is PPT's
// rule. Elsewhere that would leave cables idle: all that a bundle of the last dimension carries is for one router.
[[nodiscard]] constexpr std::uint64_t fixed_cable(HostId src, HostId dst, const GridDimension& d,
                                                  std::uint64_t n) {
  if (n == 1) return 0;
  const std::uint64_t from = src.index(), to = dst.index();
  if (d.hosts % n == 0) return to % n;
  if (d.before >= d.behind) {
    const std::uint64_t sources = d.before * d.hosts;
    return dealt(mix_hash(mix_hash(d.before, from / sources), to), from % sources, n);
  }
  const std::uint64_t router = to / d.hosts, line = d.before * d.length;
  return dealt(mix_hash(mix_hash(d.before, from), router % line), router / line * d.hosts + to % d.hosts, n);
}

// Random draws anew for every message, adaptive looks at the load; any other way is one of its pair.
template <class Way>
[[nodiscard]] constexpr RouteScope scope_of(Way way) {
  if (way == Way::kRandom) return RouteScope::kMessage;
  return way == Way::kAdaptive ? RouteScope::kLoad : RouteScope::kPair;
}

// The one of `ports` parallel links from `first` on that has the fewest messages; of equals the one that comes first
// from `start` on, around the end. Without `load`: `start`.
[[nodiscard]] inline std::uint64_t least_loaded(const LinkLoad& load, std::uint64_t first,
                                                std::uint64_t ports, std::uint64_t start) {
  std::uint64_t best = start;
  for (std::uint64_t i = 1; !load.empty() && i < ports; ++i) {
    const std::uint64_t port = (start + i) % ports;
    if (load[first + port] < load[first + best]) best = port;
  }
  return best;
}

}  // namespace weft::topology
