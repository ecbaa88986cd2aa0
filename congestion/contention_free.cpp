#include "congestion/contention_free.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "congestion/models.hpp"
#include "core/check.hpp"

namespace weft::congestion {

ContentionFree::ContentionFree(std::span<const double> capacity)
    : capacity_(capacity), table_(static_cast<std::uint32_t>(capacity.size())) {
  for (const double c : capacity)
    WEFT_CHECK(c > 0 && std::isfinite(c), fmt::format("capacity of a link is {}", c));
}

FlowId ContentionFree::add(std::span<const LinkId> route, double weight, double rate_cap) {
  const std::uint32_t flow = table_.add(route, weight, rate_cap);
  if (flow == rate_.size()) {
    rate_.push_back(0);
    bottleneck_.emplace_back();
  }
  rate_[flow] = 0;
  bottleneck_[flow] = LinkId();
  added_.push_back(flow);
  return FlowId(flow);
}

void ContentionFree::remove(FlowId flow) { table_.remove(flow.index()); }

std::span<const FlowId> ContentionFree::solve() {
  changed_.clear();
  if (added_.empty()) return {};
  ++stats_.solves;
  for (const std::uint32_t flow : added_) {
    if (!table_.alive(flow) || rate_[flow] > 0) continue;
    double rate = table_.limit(flow);
    LinkId bottleneck;
    for (const LinkId link : table_.route(flow)) {
      ++stats_.links_touched;
      if (capacity_[link.index()] < rate) {
        rate = capacity_[link.index()];
        bottleneck = link;
      }
    }
    rate_[flow] = rate;
    bottleneck_[flow] = bottleneck;
    changed_.push_back(FlowId(flow));
    ++stats_.flows_solved;
    stats_.max_component = 1;
  }
  added_.clear();
  std::sort(changed_.begin(), changed_.end());
  return changed_;
}

std::unique_ptr<SharingModel> make_contention_free(std::span<const double> capacity,
                                                   const PcieNetwork* /*pcie*/) {
  return std::make_unique<ContentionFree>(capacity);
}

}  // namespace weft::congestion
