// A collective among some of a communicator's ranks, as part of one over all. Internal to replay/collectives.
#pragma once

#include <cstdint>
#include <span>

#include "replay/collectives/rules.hpp"

namespace weft::replay::collectives {

// Who decides about the parts of a call.
[[nodiscard]] inline const CollectiveRules& rules_of_parts(const CollectiveCall& c) {
  return c.rules != nullptr ? *c.rules : openmpi_rules();
}

// Appends the part of rank `members[index]` in `part` among `members`, as the rules of the call choose; ranks and root
// of `part` are set to places in `members`. The members count as flat.
inline void append_among(CollectiveCall part, std::span<const std::uint32_t> members, std::uint32_t root,
                         std::uint32_t index, RankSchedule& out) {
  const std::size_t from = out.messages.size();
  part.ranks = static_cast<std::uint32_t>(members.size());
  part.root = root;
  part.nodes = nullptr;
  build_chosen(rules_of_parts(part), part, index, out);
  for (std::size_t i = from; i < out.messages.size(); ++i)
    out.messages[i].peer = members[out.messages[i].peer];
}

}  // namespace weft::replay::collectives
