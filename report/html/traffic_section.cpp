#include "report/html/traffic_section.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/html/packed.hpp"

namespace weft::report {

TrafficCollector::TrafficCollector(std::uint32_t ranks, const topology::Fabric& fabric,
                                   const std::vector<HostId>& placement, const replay::ReplayOptions& options)
    : per_block_((ranks + kBlocks - 1) / kBlocks),
      blocks_(per_block_ > 0 ? (ranks + per_block_ - 1) / per_block_ : 0),
      matrix_(std::size_t{blocks_} * blocks_),
      load_(fabric, placement, options) {}

void TrafficCollector::add(const replay::MessageSeen& m) {
  matrix_[std::size_t{m.src.index() / per_block_} * blocks_ + m.dst.index() / per_block_] +=
      static_cast<double>(m.bytes);
  load_.add(m);
}

TrafficSection TrafficCollector::finish(Duration makespan) {
  TrafficSection t;
  t.blocks = blocks_;
  t.per_block = per_block_;
  t.bytes.assign(matrix_.begin(), matrix_.end());
  t.load = load_.finish(makespan);
  return t;
}

nlohmann::ordered_json to_json(const TrafficSection& t, const topology::Fabric& fabric) {
  using Json = nlohmann::ordered_json;
  Json j{{"matrix", Json{{"blocks", t.blocks}, {"per_block", t.per_block}, {"bytes", packed(t.bytes)}}}};
  if (!t.load.unknown.empty()) {
    j["no_heat"] = t.load.unknown;
    return j;
  }
  // 255: the most that a link carries, so that links which are hardly used have steps as well.
  double most = 0;
  for (const double u : t.load.used) most = std::max(most, u);
  const double full = most > 0 ? most : 1;
  std::vector<std::uint8_t> heat;
  for (const double u : t.load.used) heat.push_back(static_cast<std::uint8_t>(std::lround(255 * u / full)));
  Json names = Json::array();
  for (const LinkId l : t.load.links) names.push_back(fabric.link_name(l));
  j["heat"] = Json{{"links", std::move(names)},
                   {"bins", t.load.bins},
                   {"bin_s", to_seconds(t.load.bin)},
                   {"full", full},
                   {"used", packed(heat)}};
  return j;
}

}  // namespace weft::report
