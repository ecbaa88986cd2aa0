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
