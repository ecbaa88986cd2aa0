// Links that share a capacity: of what the links of a group carry, the sum may not exceed what the group has. A PCI
// Express link carries less in both directions at once than one direction twice, and what a host's memory gives is the
// sum of reads and writes (docs/pcie.md, "What two directions share").
//
// A group is one more link on the route of every flow that crosses one of its links, so every sharing model takes it as
// it takes a link, exactly, and so does its certificate. To PCIe arbitration it is a link of the network (pcie_model.hpp).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "congestion/sharing_model.hpp"

namespace weft::congestion {

struct LinkGroups {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> of_link;  // by LinkId: its group; empty: no link is in one
  std::vector<double> capacity;        // by group, bytes/s, > 0
  [[nodiscard]] bool empty() const { return capacity.empty(); }
  // Appends the groups of `route` as links: group g is link number `links` + g. REQUIRES: no group twice on a route.
  void append(std::span<const LinkId> route, std::vector<LinkId>& out) const;
};

// As make_sharing_model, for links of which some share: routes, bottlenecks and counts name links alone, where a group
// holds a flow its link in that group. Nothing is copied that has no groups: then it is make_sharing_model.
[[nodiscard]] Result<std::unique_ptr<SharingModel>> make_grouped_model(std::string_view name,
                                                                       std::span<const double> capacity,
                                                                       const PcieNetwork* pcie,
                                                                       const LinkGroups& groups);

}  // namespace weft::congestion
