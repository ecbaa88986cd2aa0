// FlowAudit: are the rates that a Network gives its flows the right ones, and do they move what was to be moved?
//
// It keeps accounts of its own, message by message: bundles, groups of flows and lists of what changed, by which a
// Network and its model save work, are unknown to it. After every solve it asks for the rate of every message that is
// under way, and
//  1. holds all rates against the conditions of the sharing model:
//       all               what both directions of a PCIe link share is a link to all of these
//                         of what a port carries, as much as it does with the peers that its host has then
//       max-min           no link over capacity; each message is at its own limit, or crosses a full link on which none
//                         has a larger rate / weight (congestion/certificate.hpp: then they are the max-min fair ones)
//       fatpipes          no message is faster than one on its route, which is a limit like its own; they are never full
//       contention-free   the narrowest link, or the message's own limit
//       pcie              no link over capacity, nobody over its limit or without a rate, and the rates are those that a
//                         model which has no past gives the same messages, whatever was solved before
//  2. adds up rate x time of each: at its end that must be its bytes, and over all messages of a link what was counted
//     there when they set out (Network::link_use()).
// Tolerance: 1e-9 relative, and twice the accuracy where one was asked for.
// Complexity: O(links crossed by all messages under way) a solve, for trees one solve from nothing.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "congestion/link_groups.hpp"
#include "congestion/port_shares.hpp"
#include "congestion/sharing_model.hpp"
#include "network/clock.hpp"
#include "network/link_use.hpp"
#include "topology/fabric.hpp"

namespace weft::network {

// What was checked, and what was found wrong.
struct FlowFindings {
  std::uint64_t solves = 0;      // each of them held against the conditions of the model
  std::uint64_t rates = 0;       // in those
  std::uint64_t messages = 0;    // whose bytes were compared with rate x time
  std::uint64_t links = 0;       // whose sums were compared
  double worst_bytes_error = 0;  // of a message, relative
  std::uint64_t wrong = 0;
  std::vector<std::string> told;  // the first few of those
  static constexpr std::size_t kMostTold = 5;
  void tell(std::string what);
};

class FlowAudit {
 public:
  // `model`: as make_model() takes it, with its accuracy. `fabric` must outlive it.
  FlowAudit(std::string_view model, const topology::Fabric& fabric, double accuracy);

  // What rates are held against, for people.
  [[nodiscard]] std::string conditions() const;

  // ---- Called by the network.
  void started(FlowId flow, std::span<const LinkId> route, double weight, double rate_cap, std::int64_t bytes,
               std::uint32_t owner, Instant now);
  void solved(const congestion::SharingModel& model, Instant now);
  void finished(std::uint32_t owner, Instant now);
  // Bytes that no flow carried.
  void counted(std::span<const LinkId> route, std::uint64_t bytes);

  // Once the run is over, with what the network counted by link.
  [[nodiscard]] const FlowFindings& close(std::span<const LinkUse> use);

 private:
  enum class Conditions { kMaxMin, kAlone, kTrees };
  struct Row {
    std::vector<LinkId> route;  // and behind it its groups
    std::size_t links = 0;      // of the route
    double weight = 1, limit = 0, bytes = 0;
    double rate = 0, moved = 0;
    Instant updated;
    FlowId flow;
    std::uint32_t changes = 0;
    std::uint32_t place = 0;  // in active_
    bool alive = false;
  };
  void advance(Row& r, Instant now);
  void check_rates();
  void check_alone();
  void check_against_fresh();
  [[nodiscard]] double full_at(std::uint32_t link) const { return capacity_[link] * (1 - tolerance_); }
  void count_peers();

  // Of a link, or of the group behind the links that both directions of a cable are.
  [[nodiscard]] std::string name_of(std::uint32_t link) const;

  const topology::Fabric& fabric_;
  congestion::LinkGroups groups_;
  congestion::PortShares ports_;
  std::vector<double> capacity_;  // of the links, and behind them of the groups
  std::string model_;
  Conditions conditions_ = Conditions::kMaxMin;
  double tolerance_, accuracy_;
  std::vector<Row> rows_;               // by owner
  std::vector<std::uint32_t> active_;   // owners
  std::vector<std::uint32_t> members_;  // by FlowId: messages that it stands for
  // Columns over link.
  std::vector<double> load_, highest_;  // of one solve: sum of rates, largest rate / weight
  std::vector<double> moved_, counted_, slack_;
  FlowFindings findings_;
};

}  // namespace weft::network
