#include "network/flow_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/check.hpp"
#include "network/sharing.hpp"

namespace weft::network {

void FlowHeap::reserve(std::uint32_t flows) {
  items_.reserve(flows);
  position_.assign(flows, kAbsent);
}

void FlowHeap::up(std::uint32_t at, Item item) {
  while (at > 0) {
    const std::uint32_t parent = (at - 1) / 2;
    if (!item.before(items_[parent])) break;
    items_[at] = items_[parent];
    position_[items_[at].flow] = at;
    at = parent;
  }
  items_[at] = item;
  position_[item.flow] = at;
}

void FlowHeap::down(std::uint32_t at, Item item) {
  const auto n = static_cast<std::uint32_t>(items_.size());
  while (true) {
    std::uint32_t child = 2 * at + 1;
    if (child >= n) break;
    if (child + 1 < n && items_[child + 1].before(items_[child])) ++child;
    if (!items_[child].before(item)) break;
    items_[at] = items_[child];
    position_[items_[at].flow] = at;
    at = child;
  }
  items_[at] = item;
  position_[item.flow] = at;
}

void FlowHeap::pop() {
  position_[items_.front().flow] = kAbsent;
  const Item last = items_.back();
  items_.pop_back();
  if (!items_.empty()) down(0, last);
}

void FlowHeap::set(std::uint32_t flow, std::int64_t time) {
  const Item item{time, flow};
  const std::uint32_t at = position_[flow];
  if (at == kAbsent) {
    items_.push_back(item);
    up(static_cast<std::uint32_t>(items_.size() - 1), item);
  } else if (item.before(items_[at])) {
    up(at, item);
  } else {
    down(at, item);
  }
}

Result<FlowRun> FlowRun::create(std::string_view model, std::span<const double> capacity) {
  WEFT_ASSIGN(auto made, congestion::make_sharing_model(model, capacity));
  return FlowRun(std::move(made));
}

Result<FlowRun> FlowRun::create(std::string_view model, const topology::Fabric& fabric) {
  WEFT_ASSIGN(auto made, make_model(model, fabric));
  return FlowRun(std::move(made));
}

std::uint32_t FlowRun::add(std::span<const LinkId> route, Bytes bytes, SimTime start, Duration latency,
                           double weight) {
  WEFT_CHECK(bytes.value() >= 0 && start >= kTimeZero && latency >= Duration(0) && weight > 0,
             "a flow out of range");
  links_.insert(links_.end(), route.begin(), route.end());
  offset_.push_back(links_.size());
  left_.push_back(static_cast<double>(bytes.value()));
  weight_.push_back(weight);
  rate_.push_back(0);
  since_.push_back(0);
  phase_since_.push_back(0);
  arrive_.push_back(saturating_add(start, latency).time_since_epoch().count());
  finish_.push_back(0);
  model_id_.emplace_back();
  bottleneck_.emplace_back();
  phases_.emplace_back();
  return size() - 1;
}

// Accounts for what the flow has moved until `now` at its present rate.
void FlowRun::settle(std::uint32_t flow, std::int64_t now, bool keep_phases) {
  if (rate_[flow] > 0 && now > since_[flow])
    left_[flow] = std::max(0.0, left_[flow] - rate_[flow] * to_seconds(Duration(now - since_[flow])));
  since_[flow] = now;
  end_phase(flow, now, keep_phases);
}

void FlowRun::end_phase(std::uint32_t flow, std::int64_t now, bool keep_phases) {
  if (!keep_phases) return;
  if (rate_[flow] > 0 && now > phase_since_[flow])
    phases_[flow].push_back(
        {SimTime(Duration(phase_since_[flow])), SimTime(Duration(now)), rate_[flow], bottleneck_[flow]});
  phase_since_[flow] = now;
}

Result<void> FlowRun::run(bool keep_phases) {
  heap_.reserve(size());
  for (std::uint32_t f = 0; f < size(); ++f) heap_.set(f, arrive_[f]);
  while (!heap_.empty()) {
    const std::int64_t now = heap_.time();
    if (now == kTimeNever.time_since_epoch().count())
      return bad_input({}, "a flow would end beyond the range of simulated time",
                       fmt::format("flow {}", heap_.top()), "flows that end within 106 days");
    while (!heap_.empty() && heap_.time() == now) {
      const std::uint32_t f = heap_.top();
      heap_.pop();
      ++events_;
      if (model_id_[f].valid()) {
        settle(f, now, keep_phases);
        model_->remove(model_id_[f]);
        model_id_[f] = FlowId();
        finish_[f] = now;
      } else if (left_[f] == 0 || route(f).empty()) {
        finish_[f] = now;
      } else {
        const FlowId id = model_->add(route(f), weight_[f], std::numeric_limits<double>::infinity());
        model_id_[f] = id;
        if (id.index() >= of_model_.size()) of_model_.resize(id.index() + 1);
        of_model_[id.index()] = f;
        since_[f] = phase_since_[f] = now;
      }
    }
    makespan_ = std::max(makespan_, now);
    for (const FlowId id : model_->solve()) {
      const std::uint32_t f = of_model_[id.index()];
      settle(f, now, keep_phases);
      rate_[f] = model_->rate(id);
      bottleneck_[f] = model_->bottleneck(id);
      const Duration rest = from_seconds(left_[f] / rate_[f]);
      heap_.set(f, saturating_add(SimTime(Duration(now)), rest).time_since_epoch().count());
    }
    // The same rate, held by another link: another phase, but no other end.
    for (const FlowId id : model_->moved()) {
      const std::uint32_t f = of_model_[id.index()];
      end_phase(f, now, keep_phases);
      bottleneck_[f] = model_->bottleneck(id);
    }
  }
  return {};
}

}  // namespace weft::network