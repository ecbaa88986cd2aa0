// Several network cards per host: `nics` neighbouring endpoints of a fabric become one host with as many cables.
//
// Frontier's four cards a node, a DGX's eight. Card k of a host speaks to card k of every other (rails). Which k:
//   pair      (source + destination) mod nics: one route per pair
//   message   those of a host in turn: its first message by card 0, the next by card 1, ...
//   adaptive  the one whose cables at both hosts carry the fewest messages when the message starts
// Links keep their numbers, because the cables of neighbouring endpoints are neighbours in the fabric; so the family's
// routing is used as it is, between endpoints.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "topology/fabric.hpp"
#include "topology/words.hpp"

namespace weft::topology {

enum class NicChoice : std::uint8_t { kPair, kMessage, kAdaptive };
inline constexpr std::array<Word<NicChoice>, 3> kNicChoices = {
    {{"pair", NicChoice::kPair}, {"message", NicChoice::kMessage}, {"adaptive", NicChoice::kAdaptive}}};

// Precondition: the number of hosts is a multiple of `nics` and every host has cables of its own to switches.
[[nodiscard]] Fabric with_nics(Fabric fabric, std::uint32_t nics, NicChoice choice);

}  // namespace weft::topology
