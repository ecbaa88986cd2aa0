// Placement: which rank runs on which host.
//
// A map is a rule, with an argument after a colon where it takes one, and after a comma which hosts it may use:
//   block             fills a host, then the next
//   cyclic            one rank to each host in turn
//   random            slots drawn from all hosts without replacement
//   switch, group     one rank to each switch (group) in turn, within it to its next free slot
//   strided:K         fills hosts 0, K, 2K, ..., then 1, K+1, ...
//   hpl-rows:PxQ      HPL's process grid: each row of Q ranks together on one host or switch if it fits, and not across
//   hpl-cols:PxQ      two where there is room to avoid it; columns of P ranks likewise. ":col" after it: ranks numbered
//                     down the columns (PMAP=1) instead of along the rows
//   file:PATH         line r = the host of rank r, by index or name, or a line for N ranks as MPI's launchers have it: "host:N"
//                     or "host slots=N"; # begins a comment; what is beyond the ranks is not used, and noted
//   ...,hosts=packed  only the first hosts, as few as hold the ranks;  hosts=random: as many, drawn, in order of host
// A host has ranks_per_host slots. Several jobs share a machine host by host: `taken` hosts are out of reach.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/platform/platform.hpp"

namespace weft::topology {

struct Placement {
  std::vector<HostId> hosts;       // by rank
  std::vector<std::string> notes;  // oddities, one sentence each
};

// `taken`: by host, true = used by another job; empty = none is. Deterministic in the seed.
// Errors: more ranks than slots, unknown map, host or argument; a file that does not fit. O(hosts + links).
[[nodiscard]] Result<Placement> place(const Platform& platform, std::uint32_t ranks, std::string_view map,
                                      std::uint64_t seed, const std::vector<bool>& taken = {});

// Its notes alone, for those who tell them where place_ranks() was called elsewhere.
[[nodiscard]] std::vector<std::string> placement_notes(const Platform& platform, std::uint32_t ranks,
                                                       std::string_view map, std::uint64_t seed);

// The file that a map is read from; none: it is a rule.
[[nodiscard]] std::optional<std::string> file_of_map(std::string_view map);

// For help texts and errors.
inline constexpr std::string_view kMaps =
    "block, cyclic, random, switch, group, strided:K, hpl-rows:PxQ, hpl-cols:PxQ or file:PATH, and then "
    ",hosts=packed or ,hosts=random";
// Of verbs to which none is given.
inline constexpr std::string_view kDefaultMap = "block";

}  // namespace weft::topology
