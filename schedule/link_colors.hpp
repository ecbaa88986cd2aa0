// LinkColors: two links of a fabric have one color if no rate can tell them apart: class, capacity, latency and,
// in a PCIe tree, direction, height above and kind of both ends, whether network cards climb by it, and the penalty of the
// switch above, and what it shares with the links that it is tied to.
//
// Links are tied where what one carries changes what another may: both directions of a PCIe link with a limit for their sum
// (network::link_groups), all ports of a host where ports carry less to several peers (network::port_shares). A tie has a
// number of its own among those of its fabric.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "congestion/link_groups.hpp"
#include "topology/fabric.hpp"

namespace weft::schedule {

class LinkColors {
 public:
  explicit LinkColors(const topology::Fabric& fabric);
  [[nodiscard]] std::uint32_t of(LinkId link);
  // kNoTie (symmetry.hpp): to none.
  [[nodiscard]] std::uint32_t tie(LinkId link) const;
  // What the link and those it is tied to carry together, bytes/s; infinity: no limit.
  [[nodiscard]] double together(LinkId link) const;

 private:
  const topology::Fabric& fabric_;
  congestion::LinkGroups groups_;
  std::vector<std::uint32_t> host_of_port_;  // by link; empty: ports do not count peers
  std::vector<std::uint8_t> above_card_;     // by vertex: a network card, or above one in its tree
  std::map<std::vector<double>, std::uint32_t> known_;
};

}  // namespace weft::schedule
