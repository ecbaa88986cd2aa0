// FlowRun: a list of flows over a network, without MPI: when each one finishes, and at what rates it went.
//
// A flow starts, waits out the latency of its route without using bandwidth, then moves its bytes at the rate
// that the sharing model gives it, anew at each start and end of any flow. This is the raw message of the
// replay engine (docs/model.md) and SimGrid's CM02 without its factors.
//
// Invariants:
//  1. Time is in whole picoseconds. A flow ends because its event fires, never because little is left of
//     it; what it has moved is settled at each change of its rate, so a rounded instant shifts work, it
//     never loses any.
//  2. Events go by (time, flow index); the model is solved once per instant.
// Complexity: O(log F) per event and per changed rate, plus the model's solves.
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
#include "topology/fabric.hpp"

namespace weft::network {

// A stretch of time at one rate, held by one link.
struct FlowPhase {
  SimTime from;
  SimTime to;
  double rate = 0;    // bytes/s
  LinkId bottleneck;  // invalid: its own limit
};

// Binary heap of flow indices by (time, index) in which a flow's time can be changed. Memory: 16 bytes an
// item and 4 bytes a flow; no allocation after reserve().
class FlowHeap {
 public:
  void reserve(std::uint32_t flows);
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::int64_t time() const { return items_.front().time; }
  [[nodiscard]] std::uint32_t top() const { return items_.front().flow; }
  void pop();
  // Inserts the flow or moves it to `time`.
  void set(std::uint32_t flow, std::int64_t time);

 private:
  static constexpr std::uint32_t kAbsent = 0xffffffffu;
  struct Item {
    std::int64_t time;
    std::uint32_t flow;
    [[nodiscard]] bool before(const Item& o) const {
      return time < o.time || (time == o.time && flow < o.flow);
    }
  };
  void up(std::uint32_t at, Item item);
  void down(std::uint32_t at, Item item);
  std::vector<Item> items_;
  std::vector<std::uint32_t> position_;
};

class FlowRun {
 public:
  // `capacity` by LinkId must outlive the run. `model` as in congestion::make_sharing_model; errors likewise.
  [[nodiscard]] static Result<FlowRun> create(std::string_view model, std::span<const double> capacity);
  // The same on the links of `fabric`, its PCIe trees included.
  [[nodiscard]] static Result<FlowRun> create(std::string_view model, const topology::Fabric& fabric);

  // Flows are numbered from 0 in the order of adding. An empty route (a host to itself) takes no time.
  // REQUIRES: before run(); bytes >= 0, start and latency >= 0, weight > 0.
  std::uint32_t add(std::span<const LinkId> route, Bytes bytes, SimTime start, Duration latency,
                    double weight = 1);
  // Simulates to the end. `keep_phases`: memory grows with the number of rate changes. Error (kBadInput): a
  // flow would end beyond the range of time, 106 days.
  [[nodiscard]] Result<void> run(bool keep_phases);

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(finish_.size()); }
  [[nodiscard]] SimTime finish(std::uint32_t flow) const { return SimTime(Duration(finish_[flow])); }
  [[nodiscard]] std::span<const LinkId> route(std::uint32_t flow) const {
    return std::span<const LinkId>(links_).subspan(offset_[flow], offset_[flow + 1] - offset_[flow]);
  }
  [[nodiscard]] const std::vector<FlowPhase>& phases(std::uint32_t flow) const { return phases_[flow]; }
  // The end of the last flow; zero without flows.
  [[nodiscard]] SimTime makespan() const { return SimTime(Duration(makespan_)); }
  [[nodiscard]] const congestion::SolveStats& stats() const { return model_->stats(); }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  explicit FlowRun(std::unique_ptr<congestion::SharingModel> model)
      : model_(std::move(model)), offset_(1, 0) {}
  void settle(std::uint32_t flow, std::int64_t now, bool keep_phases);
  void end_phase(std::uint32_t flow, std::int64_t now, bool keep_phases);

  std::unique_ptr<congestion::SharingModel> model_;
  FlowHeap heap_;
  // columns over flow
  std::vector<LinkId> links_;
  std::vector<std::size_t> offset_;  // into links_
  std::vector<double> left_;         // bytes
  std::vector<double> weight_;
  std::vector<double> rate_;         // 0: not started
  std::vector<std::int64_t> since_;  // when rate_ began
  std::vector<std::int64_t> phase_since_;
  std::vector<std::int64_t> arrive_;  // start + latency
  std::vector<std::int64_t> finish_;
  std::vector<FlowId> model_id_;
  std::vector<LinkId> bottleneck_;
  std::vector<std::vector<FlowPhase>> phases_;
  std::vector<std::uint32_t> of_model_;  // flow of a model's id
  std::int64_t makespan_ = 0;
  std::uint64_t events_ = 0;
};

// Weight of a flow under SimGrid's CM02: inverse to the latency of its route, 1 if that is 0.
[[nodiscard]] inline double rtt_weight(Duration latency) {
  return latency.count() == 0 ? 1.0 : 1.0 / to_seconds(latency);
}

}  // namespace weft::network
