// Placement: which rank on which host, searched together with the order of messages.
//
// Two placements that a symmetry of the hosts or of the exchange maps onto each other have equal times, so one
// per class is looked at. Few placements (8 ranks on 8 GPUs: 40,320; up to 500,000 where every class is asked
// for): all classes, in ascending order of their link bound, until the best time found is no longer above the
// bound of the next; so the best placement is proven. Many: annealing on the link bound, then the schedules of
// the best placements, one of each class, and of the ranks in order; proven if the time meets what the ports of
// the hosts alone need, which no placement changes.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "schedule/search.hpp"

namespace weft::schedule {

struct PlacementClass {
  std::vector<HostId> host;   // by rank; the class's first in lexicographic order
  std::uint64_t members = 1;  // placements
  double link_s = 0;
  bool searched = false;
  double best_s = 0;  // if searched
  double mean_s = 0;  // exact if `exact`
  double worst_s = 0;
  Proof proof = Proof::kNone;
  bool exact = false;
};

struct PlacementResult {
  std::vector<PlacementClass> classes;  // by link bound, then lexicographically; many placements: those tried
  double placements = 0;                // in all
  std::uint32_t host_classes = 0;       // under the hosts' symmetry alone; 0: not counted
  bool enumerated = false;
  bool proven = false;
  bool interrupted = false;
  std::size_t best = 0;  // in classes
  double port_s = 0;     // what the busiest rank's port needs, wherever it is placed
  double lower_s = 0;    // no schedule of any placement is faster; search.lower_s: none of the best placement
  Workload workload;     // of the best
  SearchResult search;   // of the best
};

struct PlacementOptions {
  SearchOptions search;
  std::string_view model = "pcie";
  bool every_class = false;  // search all classes, also those that cannot be better
  std::uint64_t moves = 200'000;
  std::uint32_t tries = 8;  // of too many, whose schedules are searched beside those of ranks in order
};

// Hosts 0..hosts-1 may take one rank each. Errors: fewer hosts than ranks; kNotSupported: every class of too many
// placements; as place_exchange, make_rate_oracle.
[[nodiscard]] Result<PlacementResult> search_placement(const Exchange& exchange,
                                                       const topology::Fabric& fabric, std::uint32_t hosts,
                                                       const PlacementOptions& options,
                                                       const Control& control);

}  // namespace weft::schedule
