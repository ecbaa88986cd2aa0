// Workload: an exchange placed on a platform, reduced to what a search needs: for each message the links it
// takes, by dense index, and what these can carry. And RateOracle: which rates a set of messages gets.
//
// Links have a color; two links of one color differ in nothing that a rate depends on (capacity, class, place
// in a PCIe tree) but by what they are tied to: links that share a capacity or a host's ports have the same tie
// (link_colors.hpp). So symmetry can be recognised from routes, colors and ties alone.
//
// A lane carries at most its capacity: that is what bounds rest on. Mostly each link is one lane, and behind the links there is
// one more for each pair of directions that share a capacity (both_bw). Where flows never slow each other (contention-free) a
// link has a lane for each sender, whose messages go one after the other.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "congestion/sharing_model.hpp"
#include "core/id.hpp"
#include "core/result.hpp"
#include "schedule/exchange.hpp"
#include "topology/fabric.hpp"

namespace weft::schedule {

// Rates of messages as a pure function of which of them are on their way. One per thread.
class RateOracle {
 public:
  virtual ~RateOracle() = default;
  // `active`: messages, ascending. Writes bytes/s to `rates`, by position; infinity for a message without links.
  virtual void rates(std::span<const std::uint32_t> active, std::span<double> rates) = 0;
  [[nodiscard]] virtual std::unique_ptr<RateOracle> clone() const = 0;
};

struct Workload {
  Exchange exchange;
  std::vector<std::uint32_t> route_start;  // messages + 1
  std::vector<std::uint32_t> route;        // dense links in path order
  std::vector<std::uint32_t> lane_start;   // messages + 1
  std::vector<std::uint32_t> lane;         // of messages
  // columns over dense link
  std::vector<double> capacity;  // bytes/s
  std::vector<std::uint32_t> color;
  std::vector<std::uint32_t> tie;  // kNoTie (symmetry.hpp): none; empty: no link has one
  std::vector<double> together;    // bytes/s of all links of a tie; infinity: no limit; empty: none has one
  std::vector<LinkId> link;        // of the fabric
  // columns over lane
  std::vector<double> lane_capacity;     // bytes/s
  std::vector<std::uint32_t> lane_link;  // dense; one of the two where directions share
  std::vector<std::uint8_t> lane_both;   // 1: directions share

  [[nodiscard]] std::uint32_t ranks() const { return exchange.ranks; }
  [[nodiscard]] std::uint32_t messages() const {
    return static_cast<std::uint32_t>(exchange.messages.size());
  }
  [[nodiscard]] std::uint32_t links() const { return static_cast<std::uint32_t>(capacity.size()); }
  [[nodiscard]] std::span<const std::uint32_t> links_of(std::uint32_t message) const {
    return std::span(route).subspan(route_start[message], route_start[message + 1] - route_start[message]);
  }
  [[nodiscard]] std::uint32_t lanes() const { return static_cast<std::uint32_t>(lane_link.size()); }
  [[nodiscard]] std::span<const std::uint32_t> lanes_of(std::uint32_t message) const {
    return std::span(lane).subspan(lane_start[message], lane_start[message + 1] - lane_start[message]);
  }
  // Seconds that the message occupies one of its links, one of its lanes.
  [[nodiscard]] double seconds_on(std::uint32_t message, std::uint32_t dense_link) const {
    return static_cast<double>(exchange.messages[message].bytes.value()) / capacity[dense_link];
  }
  [[nodiscard]] double seconds_in(std::uint32_t message, std::uint32_t in_lane) const {
    return static_cast<double>(exchange.messages[message].bytes.value()) / lane_capacity[in_lane];
  }
};

// Do messages slow each other under this model (of congestion/models.def)? True of an unknown one.
[[nodiscard]] bool messages_share(std::string_view model);

// Fills the lanes. `share`: lane l is link l, then those of directions that share, where messages go both ways; else one for
// each sender of a link.
void set_lanes(Workload& workload, bool share);

// A link carries its capacity in each lane: kNotSupported where some have it for every message.
[[nodiscard]] Result<void> check_links(const topology::Fabric& fabric);

// `host` by rank; `share`: messages_share(). Errors: kBadInput if a message has no route; as check_links.
[[nodiscard]] Result<Workload> place_exchange(const Exchange& exchange, const topology::Fabric& fabric,
                                              std::span<const HostId> host, bool share = true);

// Rates by a sharing model over the routes of `workload`; both must outlive the oracle. "pcie" on messages that
// stay in PCIe trees asks the arbiter itself. Errors as make_sharing_model.
[[nodiscard]] Result<std::unique_ptr<RateOracle>> make_rate_oracle(std::string_view model,
                                                                   const Workload& workload,
                                                                   const topology::Fabric& fabric);

// The same, always through the model.
[[nodiscard]] Result<std::unique_ptr<RateOracle>> make_model_oracle(std::string_view model,
                                                                    const Workload& workload,
                                                                    const topology::Fabric& fabric);

// Largest time that any lane needs for its messages: no schedule in any mode is faster.
struct LinkBound {
  double seconds = 0;
  std::uint32_t link = 0;      // dense
  std::uint32_t messages = 0;  // in that lane
  bool both = false;           // that of the link and the way back together
};
[[nodiscard]] LinkBound link_bound(const Workload& workload);

}  // namespace weft::schedule
