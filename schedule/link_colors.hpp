// LinkColors: two links of a fabric have one color if no rate can tell them apart: class, capacity, latency and,
// in a PCIe tree, direction, height above and kind of both ends, whether network cards climb by it, and the penalty of the
// switch above.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::schedule {

class LinkColors {
 public:
  explicit LinkColors(const topology::Fabric& fabric);
  [[nodiscard]] std::uint32_t of(LinkId link);

 private:
  const topology::Fabric& fabric_;
  std::vector<std::uint8_t> above_card_;  // by vertex: a network card, or above one in its tree
  std::map<std::vector<double>, std::uint32_t> known_;
};

}  // namespace weft::schedule
