#include "network/flow_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/check.hpp"
#include "network/event_queue.hpp"
#include "network/sharing.hpp"

namespace weft::network {
namespace {

enum class FlowEvent : std::uint8_t { kArrival };  // index = flow: its latency is paid

}  // namespace

Result<FlowRun> FlowRun::create(std::string_view model, std::span<const double> capacity) {
  WEFT_ASSIGN(auto made, congestion::make_sharing_model(model, capacity));
  return FlowRun(capacity, std::move(made));
}

Result<FlowRun> FlowRun::create(std::string_view model, const topology::Fabric& fabric, double accuracy) {
  WEFT_ASSIGN(auto made, make_model(model, fabric, accuracy));
  return FlowRun(fabric.links().capacity, std::move(made));
}

std::uint32_t FlowRun::add(std::span<const LinkId> route, Bytes bytes, SimTime start, Duration latency,
                           double weight) {
  WEFT_CHECK(bytes.value() >= 0 && start >= kTimeZero && latency >= Duration(0) && weight > 0,
             "a flow out of range");
  links_.insert(links_.end(), route.begin(), route.end());
  offset_.push_back(links_.size());
  bytes_.push_back(bytes.value());
  weight_.push_back(weight);
  arrive_.push_back(Instant() + (Elapsed(start.time_since_epoch()) + Elapsed(latency)));
  finish_.emplace_back();
  phases_.emplace_back();
  return size() - 1;
}

void FlowRun::close_phase(std::uint32_t flow, Instant now) {
  const Open& o = open_[flow];
  const SimTime from = o.since.rounded(), to = now.rounded();
  if (o.rate > 0 && to > from) phases_[flow].push_back({from, to, o.rate, o.held_by});
}

void FlowRun::rate_changed(std::uint32_t flow, Instant now, double rate, LinkId held_by) {
  if (open_.empty()) return;
  close_phase(flow, now);
  open_[flow] = {now, rate, held_by};
}

void FlowRun::start(std::uint32_t flow, Instant now, std::uint64_t& sequence) {
  if (bytes_[flow] == 0 || route(flow).empty()) return end(flow, now);
  network_.start(route(flow), weight_[flow], std::numeric_limits<double>::infinity(),
                 network_.narrowest(route(flow)), bytes_[flow], flow, now, sequence);
}

void FlowRun::end(std::uint32_t flow, Instant now) {
  if (!open_.empty()) close_phase(flow, now);
  finish_[flow] = now.rounded();
  makespan_ = std::max(makespan_, finish_[flow]);
}

Result<void> FlowRun::run(bool keep_phases) {
  if (keep_phases) {
    open_.resize(size());
    network_.watch(this);
  }
  EventQueue<FlowEvent> arrivals;
  for (std::uint32_t f = 0; f < size(); ++f) arrivals.push({arrive_[f], f, FlowEvent::kArrival, f});
  std::uint64_t sequence = size();
  Instant now;
  while (true) {
    // All of one instant, then one solve, which may end flows at this very instant.
    if (!arrivals.empty() && arrivals.top().time == now) {
      const std::uint32_t flow = arrivals.top().index;
      arrivals.pop();
      ++events_;
      start(flow, now, sequence);
    } else if (!network_.idle() && network_.next_completion().time == now) {
      ++events_;
      end(network_.finish_top(now), now);
    } else if (network_.dirty()) {
      network_.settle(now, sequence);
    } else if (arrivals.empty() && network_.idle()) {
      return {};
    } else {
      const bool arrival =
          network_.idle() || (!arrivals.empty() && arrivals.top().time < network_.next_completion().time);
      const Instant next = arrival ? arrivals.top().time : network_.next_completion().time;
      if (next.past_the_end())
        return bad_input({}, "a flow would end beyond the range of simulated time",
                         fmt::format("flow {}", arrival ? arrivals.top().index : network_.next_owner()),
                         "flows that end within 106 days");
      now = next;
    }
  }
}

}  // namespace weft::network
