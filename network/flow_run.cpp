#include "network/flow_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/check.hpp"
#include "network/event_queue.hpp"
#include "network/sharing.hpp"
#include "topology/routing/route_latency.hpp"
#include "topology/routing/route_limit.hpp"

namespace weft::network {
namespace {

enum class FlowEvent : std::uint8_t {
  kStart,   // index: the flow; its links are chosen
  kArrival  // its latency is paid
};

}  // namespace

Result<FlowRun> FlowRun::create(std::string_view model, std::span<const double> capacity) {
  WEFT_ASSIGN(auto made, congestion::make_sharing_model(model, capacity));
  return FlowRun(capacity, std::move(made));
}

Result<FlowRun> FlowRun::create(std::string_view model, const topology::Fabric& fabric, double accuracy) {
  WEFT_ASSIGN(auto made, make_model(model, fabric, accuracy));
  FlowRun run(fabric.links().capacity, std::move(made));
  run.fabric_ = &fabric;
  return run;
}

std::uint32_t FlowRun::add(std::span<const LinkId> route, Bytes bytes, SimTime start, Duration latency,
                           double weight) {
  WEFT_CHECK(bytes.value() >= 0 && start >= kTimeZero && latency >= Duration(0) && weight > 0,
             "a flow out of range");
  const std::uint32_t flow = add_row(bytes, weight);
  links_.insert(links_.end(), route.begin(), route.end());
  set_route(flow, links_.size() - route.size());
  next_.push_back(Instant() + (Elapsed(start.time_since_epoch()) + Elapsed(latency)));
  return flow;
}

std::uint32_t FlowRun::add(HostId src, HostId dst, Bytes bytes, SimTime start, bool rtt_weights) {
  WEFT_CHECK(fabric_ != nullptr && std::max(src, dst).index() < fabric_->host_count() && bytes.value() >= 0 &&
                 start >= kTimeZero,
             "a flow out of range");
  if (routes_ == nullptr) routes_ = std::make_unique<topology::MessageRoutes>(*fabric_);
  const std::uint32_t flow = add_row(bytes, 1);
  chosen_.push_back({flow, src, dst, rtt_weights});
  next_.push_back(Instant() + Elapsed(start.time_since_epoch()));
  return flow;
}

std::uint32_t FlowRun::add_row(Bytes bytes, double weight) {
  offset_.push_back(0);
  hops_.push_back(0);
  bytes_.push_back(bytes.value());
  weight_.push_back(weight);
  finish_.emplace_back();
  phases_.emplace_back();
  return size() - 1;
}

void FlowRun::set_route(std::uint32_t flow, std::size_t offset) {
  offset_[flow] = offset;
  hops_[flow] = static_cast<std::uint32_t>(links_.size() - offset);
}

const FlowRun::Chosen* FlowRun::chosen(std::uint32_t flow) const {
  const auto row = std::lower_bound(chosen_.begin(), chosen_.end(), flow,
                                    [](const Chosen& c, std::uint32_t f) { return c.flow < f; });
  return row != chosen_.end() && row->flow == flow ? &*row : nullptr;
}

// False: no way leads there.
bool FlowRun::choose(std::uint32_t flow, Instant now) {
  const Chosen& c = *chosen(flow);
  const std::size_t offset = links_.size();
  if (!routes_->choose(c.src, c.dst, links_)) return false;
  set_route(flow, offset);
  const Duration latency = topology::latency_of(fabric_->links(), route(flow));
  if (c.rtt_weights) weight_[flow] = rtt_weight(latency);
  next_[flow] = now + Elapsed(latency);
  return true;
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
  const double limit = fabric_ == nullptr ? std::numeric_limits<double>::infinity()
                                          : topology::fatpipe_limit(fabric_->links(), route(flow));
  network_.start(route(flow), weight_[flow], limit, network_.narrowest(route(flow)), bytes_[flow], flow, now,
                 sequence);
}

void FlowRun::end(std::uint32_t flow, Instant now) {
  if (!open_.empty()) close_phase(flow, now);
  if (chosen(flow) != nullptr) routes_->give_back(route(flow));
  finish_[flow] = now.rounded();
  makespan_ = std::max(makespan_, finish_[flow]);
}

Result<void> FlowRun::run(bool keep_phases) {
  if (keep_phases) {
    open_.resize(size());
    network_.watch(this);
  }
  // Starts before arrivals of one instant, both by flow, and ends after them.
  EventQueue<FlowEvent> events;
  const auto arrives = [&](std::uint32_t f) {
    events.push({next_[f], std::uint64_t{size()} + f, FlowEvent::kArrival, f});
  };
  for (std::uint32_t f = 0; f < size(); ++f) {
    if (chosen(f) != nullptr)
      events.push({next_[f], f, FlowEvent::kStart, f});
    else
      arrives(f);
  }
  std::uint64_t sequence = 2 * std::uint64_t{size()};
  Instant now;
  while (true) {
    // All of one instant, then one solve, which may end flows at this very instant.
    if (!events.empty() && events.top().time == now) {
      const auto [time, number, kind, flow] = events.top();
      events.pop();
      ++events_;
      if (kind == FlowEvent::kArrival) {
        start(flow, now, sequence);
      } else if (choose(flow, now)) {
        arrives(flow);
      } else {
        failed_ = flow;
        return bad_input({}, "no way leads to the destination of a flow", fmt::format("flow {}", flow),
                         "a pair that the routing reaches");
      }
    } else if (!network_.idle() && network_.next_completion().time == now) {
      ++events_;
      end(network_.finish_top(now), now);
    } else if (network_.dirty()) {
      network_.settle(now, sequence);
    } else if (events.empty() && network_.idle()) {
      return {};
    } else {
      const bool event =
          network_.idle() || (!events.empty() && events.top().time < network_.next_completion().time);
      const Instant next = event ? events.top().time : network_.next_completion().time;
      if (next.past_the_end()) {
        failed_ = event ? events.top().index : network_.next_owner();
        return bad_input({}, "a flow would end beyond the range of simulated time",
                         fmt::format("flow {}", failed_), "flows that end within 106 days");
      }
      now = next;
    }
  }
}

}  // namespace weft::network
