#include "replay/communicators.hpp"

#include <algorithm>

namespace weft::replay {

Communicators::Communicators(const std::vector<traces::Communicator>& comms)
    : comms_(comms), rows_(comms.size()) {
  for (std::size_t c = 0; c < comms_.size(); ++c) {
    const auto& members = comms_[c].members;
    Row& row = rows_[c];
    row.identity = true;
    for (std::size_t i = 0; i < members.size() && row.identity; ++i)
      row.identity = members[i] == static_cast<std::int64_t>(i);
    if (row.identity) continue;
    for (std::size_t i = 0; i < members.size(); ++i)
      row.by_world.emplace_back(static_cast<std::uint32_t>(members[i]), static_cast<std::uint32_t>(i));
    std::sort(row.by_world.begin(), row.by_world.end());
  }
}

std::int64_t Communicators::rank_in(std::uint32_t comm, std::uint32_t world) const {
  const Row& row = rows_[comm];
  if (row.identity) return world < comms_[comm].members.size() ? static_cast<std::int64_t>(world) : -1;
  const auto at = std::lower_bound(row.by_world.begin(), row.by_world.end(), std::pair(world, 0u));
  return at != row.by_world.end() && at->first == world ? static_cast<std::int64_t>(at->second) : -1;
}

}  // namespace weft::replay
