// Metrics of a fabric under the routing in force: diameter, mean distance, distances between switches.
//
// Distances count links, host cables included, over ordered pairs of distinct hosts; never BFS, never
// sampled. They come from the family's closed form, else from walking the routes of all pairs while there are
// at most `max_pairs`, of about `max_links` links together; beyond that they are absent. Distances between switches (router_*) are over ordered
// pairs of distinct switches that hosts hang on: a route's links less the two host cables;
// absent where hosts have several cables or switches hold unequally many hosts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

struct Metrics {
  std::optional<HopHistogram> hops;
  std::optional<std::uint32_t> diameter_hops;
  std::optional<double> mean_hops;
  std::optional<std::uint32_t> router_diameter_hops;
  std::optional<double> router_mean_hops;
};

struct ClassSummary {
  std::string name;
  std::uint64_t links = 0;
  std::uint64_t cables = 0;             // pairs of links, and links that are for both directions
  std::optional<double> bandwidth_Bps;  // absent where links of the class differ
  std::optional<double> latency_s;
};

[[nodiscard]] Metrics measure(const Fabric& fabric, std::uint64_t max_pairs = 1ULL << 27,
                              std::uint64_t max_links = 1ULL << 30);
[[nodiscard]] std::vector<ClassSummary> summarize_classes(const Fabric& fabric);
// Mean of a histogram; nullopt if it is empty.
[[nodiscard]] std::optional<double> mean_of(const HopHistogram& h);

}  // namespace weft::topology
