// FlowRun: a list of flows over a network, without MPI: when each one finishes, and at what rates it went.
//
// A flow starts, waits out the latency of its route without using bandwidth, then moves its bytes at the rate
// that the sharing model gives it, anew at each start and end of any flow. This is the raw message of the
// replay engine (docs/model.md) and SimGrid's CM02 without its factors.
//
// Its links are those that it is added with, or the routing chooses them when it starts, as for a message
// (topology::MessageRoutes): by the messages that are on each link then, if it looks at that.
//
// It is a Network and its clock, the same as under the engine, so a list of flows and a trace of the same messages
// without overheads end at the same instants. Starts of one instant go by flow index, then arrivals by theirs, then ends; the model
// is solved once per instant. Complexity: O(log F) per event and per changed rate, plus the model's solves.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "congestion/sharing_model.hpp"
#include "core/id.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "network/network.hpp"
#include "topology/fabric.hpp"
#include "topology/routing/message_routes.hpp"

namespace weft::network {

// A stretch of time at one rate, held by one link.
struct FlowPhase {
  SimTime from;
  SimTime to;
  double rate = 0;    // bytes/s
  LinkId bottleneck;  // invalid: its own limit
};

class FlowRun final : private FlowWatcher {
 public:
  // `capacity` by LinkId must outlive the run. `model` as in congestion::make_sharing_model; errors likewise.
  [[nodiscard]] static Result<FlowRun> create(std::string_view model, std::span<const double> capacity);
  // The same on the links of `fabric`, its PCIe trees included. `accuracy` as make_model (network/sharing.hpp) takes it.
  [[nodiscard]] static Result<FlowRun> create(std::string_view model, const topology::Fabric& fabric,
                                              double accuracy = 0);

  // Flows are numbered from 0 in the order of adding. An empty route (a host to itself) takes no time.
  // REQUIRES: before run(); bytes >= 0, start and latency >= 0, weight > 0.
  std::uint32_t add(std::span<const LinkId> route, Bytes bytes, SimTime start, Duration latency,
                    double weight = 1);
  // One whose links the routing chooses when it starts; its latency is that of the route, its weight 1, or rtt_weight() of that.
  // REQUIRES: made on a fabric, and one route leads from src to dst.
  std::uint32_t add(HostId src, HostId dst, Bytes bytes, SimTime start, bool rtt_weights);
  // Simulates to the end. `keep_phases`: memory grows with the number of rate changes. Error (kBadInput): a
  // flow would end beyond the range of time, 106 days; the routing finds no way for one.
  [[nodiscard]] Result<void> run(bool keep_phases);
  // After an error: the flow that it is about.
  [[nodiscard]] std::uint32_t failed() const { return failed_; }

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(finish_.size()); }
  [[nodiscard]] SimTime finish(std::uint32_t flow) const { return finish_[flow]; }
  [[nodiscard]] std::span<const LinkId> route(std::uint32_t flow) const {
    return std::span<const LinkId>(links_).subspan(offset_[flow], hops_[flow]);
  }
  [[nodiscard]] const std::vector<FlowPhase>& phases(std::uint32_t flow) const { return phases_[flow]; }
  // The end of the last flow; zero without flows.
  [[nodiscard]] SimTime makespan() const { return makespan_; }
  [[nodiscard]] const congestion::SolveStats& stats() const { return network_.solver_stats(); }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  FlowRun(std::span<const double> capacity, std::unique_ptr<congestion::SharingModel> model)
      : network_(capacity, std::move(model)) {}
  std::uint32_t add_row(Bytes bytes, double weight);
  // Its route is what stands in links_ from `offset` on.
  void set_route(std::uint32_t flow, std::size_t offset);
  void rate_changed(std::uint32_t flow, Instant now, double rate, LinkId held_by) override;
  void close_phase(std::uint32_t flow, Instant now);
  [[nodiscard]] bool choose(std::uint32_t flow, Instant now);
  void start(std::uint32_t flow, Instant now, std::uint64_t& sequence);
  void end(std::uint32_t flow, Instant now);

  // What a flow does since its last change of rate.
  struct Open {
    Instant since;
    double rate = 0;  // 0: not under way
    LinkId held_by;
  };
  Network network_;
  // columns over flow
  std::vector<LinkId> links_;
  std::vector<std::size_t> offset_;  // into links_
  std::vector<std::uint32_t> hops_;
  std::vector<std::int64_t> bytes_;
  std::vector<double> weight_;
  std::vector<Instant>
      next_;  // what comes next: start + latency, or the start of one whose links are chosen then
  std::vector<SimTime> finish_;
  std::vector<Open> open_;  // empty unless phases are kept
  std::vector<std::vector<FlowPhase>> phases_;
  // Of those whose links are chosen.
  struct Chosen {
    std::uint32_t flow;
    HostId src, dst;
    bool rtt_weights;
  };
  [[nodiscard]] const Chosen* chosen(std::uint32_t flow) const;  // null: it was added with its links
  std::vector<Chosen> chosen_;                                   // ascending by flow
  const topology::Fabric* fabric_ = nullptr;
  std::unique_ptr<topology::MessageRoutes> routes_;  // if there are some
  SimTime makespan_{};
  std::uint32_t failed_ = 0;
  std::uint64_t events_ = 0;
};

// Weight of a flow under SimGrid's CM02: inverse to the latency of its route, 1 if that is 0.
[[nodiscard]] inline double rtt_weight(Duration latency) {
  return latency.count() == 0 ? 1.0 : 1.0 / to_seconds(latency);
}

}  // namespace weft::network
