// ContentionFree: every flow is alone. Rate = the narrowest link of its route, or its limit. The lower bound
// on time against which sharing models are read, and the model of LogGP-like simulators.
//
// solve() is O(new flows x route); weights mean nothing here.
#pragma once

#include "congestion/flow_table.hpp"
#include "congestion/sharing_model.hpp"

namespace weft::congestion {

class ContentionFree final : public SharingModel {
 public:
  explicit ContentionFree(std::span<const double> capacity);

  [[nodiscard]] FlowId add(std::span<const LinkId> route, double weight, double rate_cap) override;
  void remove(FlowId flow) override;
  std::span<const FlowId> solve() override;
  [[nodiscard]] double rate(FlowId flow) const override { return rate_[flow.index()]; }
  [[nodiscard]] std::span<const double> rates() const override { return rate_; }
  [[nodiscard]] std::span<const LinkId> route(FlowId flow) const override {
    return table_.route(flow.index());
  }
  [[nodiscard]] LinkId bottleneck(FlowId flow) const override { return bottleneck_[flow.index()]; }
  [[nodiscard]] std::span<const LinkId> bottlenecks() const override { return bottleneck_; }
  [[nodiscard]] std::span<const FlowId> moved() const override { return {}; }
  [[nodiscard]] std::uint32_t flows_on(LinkId link) const override { return table_.count_on(link.index()); }
  [[nodiscard]] bool set_accuracy(double /*ratio*/) override { return true; }  // nothing changes
  [[nodiscard]] const SolveStats& stats() const override { return stats_; }

 private:
  std::span<const double> capacity_;
  FlowTable table_;
  std::vector<double> rate_;  // 0: not solved yet
  std::vector<LinkId> bottleneck_;
  std::vector<std::uint32_t> added_;
  std::vector<FlowId> changed_;
  SolveStats stats_;
};

}  // namespace weft::congestion
