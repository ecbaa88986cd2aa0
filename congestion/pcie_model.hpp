// PcieModel: node and fabric in one solve. PCIe links arbitrate (PcieArbiter), all other links share max-min,
// and a flow has one rate over its whole route.
//
// Each connected component of flows is solved anew after a change, from its content alone. Let A be the
// arbiter, M the weighted max-min shares of the fabric's links, both with a limit per flow. In this order:
//  1. M, where a flow asks for no more than its first PCIe link carries. If no PCIe link is asked for more than
//     it has, that is the result: plain max-min.
//  2. A over all flows as if there were no fabric. If the fabric can carry that, it is the result: the factors
//     of the PCIe model.
//  3. Else both limit. Rounds: a = A, where flows that the fabric limits are *set aside* at their rates
//     (PcieArbiter::set_fixed); m = M under the limits a; set aside where m < a. A flow whose share of the fabric
//     grows beyond what it was set aside at is taken back into arbitration, with those set aside that it meets
//     at a PCIe link. The rounds end where m and the flows set aside repeat: then
//       every flow set aside is held by a full fabric link on which no flow has a higher rate/weight,
//       every other flow has what arbitration gives it over what those leave.
//  4. Where rounds come to a state a second time, or after kMaxRounds (arbitration is not continuous: a link ties its
//     members once it is over-full, so there may be no such point): M under the limits of A as if there were no fabric, and what is then free on all links
//     of their routes is shared max-min by everybody.
// Hence: no link over capacity; every rate above 0; a flow's rate cannot rise without another falling, unless
// arbitration (its proportions, quotas, back-pressure) fixes it; the result does not depend on the order of flows,
// but for rounding. docs/pcie.md has the argument.
//
// Flows of the same route, weight and limit are of one class; a component is known by the classes in it, and one
// solved before is looked up (bounded; where it is full, it is emptied).
//
// Rates of components with PCIe links are rounded to 40 bits (5e-13): those that are equal but for rounding are
// equal, so that flows end together that should.
//
// With an accuracy a > 0 a flow keeps its rate until the one that is solved for it is off by more than a, relative: every
// rate is within a of the exact one at all times, whatever came before, and no link carries more than 1 + a of what it
// has. The solve is the same; fewer ends move.
//
// Weights count on fabric links only: a PCIe port knows no flows. A route whose part in a tree is contiguous may
// visit several trees. Complexity of a solve: rounds (mostly 1 to 4) x O(h log h) for h hops in the component; of M in
// each round, only what differs from the same round of the solve before.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

#include "congestion/flow_table.hpp"
#include "congestion/max_min.hpp"
#include "congestion/pcie_arbiter.hpp"
#include "congestion/sharing_model.hpp"

namespace weft::congestion {

// Which links are PCIe, and the trees that they form. Capacities of `tree` are in bytes/s.
struct PcieNetwork {
  static constexpr PcieLink kFabric = 0xffffffffu;
  PcieTree tree;
  std::vector<PcieLink> pcie_link;  // by LinkId; kFabric: no PCIe link
};

class PcieModel final : public SharingModel {
 public:
  // `pcie` may be null: then all links share max-min. It is copied.
  PcieModel(std::span<const double> capacity, const PcieNetwork* pcie);

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
  [[nodiscard]] std::span<const FlowId> moved() const override { return moved_; }
  [[nodiscard]] std::uint32_t flows_on(LinkId link) const override { return table_.count_on(link.index()); }
  [[nodiscard]] bool set_accuracy(double ratio) override {
    accuracy_ = ratio;
    return true;
  }
  [[nodiscard]] const SolveStats& stats() const override { return stats_; }

  // How components were solved: by step 1, 2, 3 or 4, or looked up; and the rounds of steps 3 and 4.
  struct Ways {
    std::uint64_t max_min = 0, factors = 0, rounds_met = 0, filled_up = 0, looked_up = 0, rounds = 0;
  };
  [[nodiscard]] const Ways& ways() const { return ways_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr int kMaxRounds = 32;
  static constexpr std::size_t kMaxClasses = std::size_t{1} << 18;
  static constexpr std::size_t kMaxKnown = std::size_t{1} << 21;  // flows in remembered components

  // Columns over flow.
  struct Parts {
    bool fabric = false;         // a link on the route that is no PCIe link
    std::uint32_t pcie = kNone;  // in arbiter_; kNone: no PCIe link
    double own = 0;              // its limit, or its first PCIe link: what arbitration starts from
    double allowed = 0;          // a
    double share = 0;            // m
    bool aside = false;          // set aside at its fabric rate, during a solve
    std::uint32_t kind = kNone;  // class; kNone: too many classes, its components are not remembered
  };
  // A solved component, flow by flow in the order of classes.
  struct Known {
    std::vector<double> rate;
    std::vector<LinkId> held;
  };

  struct Rising {
    std::uint32_t flow;
    double limit;
  };
  // M at one point of a solve: with everybody's own limit, under A, in the first round, in the second... Each keeps its
  // flows and limits until the next solve comes to that point, which then differs by little, and so is solved by little.
  struct Stage {
    MaxMin shares;
    // columns over flow
    std::vector<FlowId> id;     // none: not here yet
    std::vector<double> limit;  // in force
  };
  static constexpr std::size_t kMaxStages = 8;  // the last is that of all later rounds

  void collect(std::uint32_t flow);
  void close_component();
  void solve_component();
  bool pcie_uncontended();
  void arbitrate();
  void limit_fabric(Stage& stage, std::uint32_t flow, double limit);
  void solve_fabric(std::size_t stage);
  void meet();
  bool seen_state();
  void fill_up();
  void fill();
  void take_back(std::uint32_t flow);
  void set_rate(std::uint32_t flow, double solved, LinkId held);
  void commit();
  [[nodiscard]] std::uint32_t kind_of(std::span<const LinkId> route, double weight, double limit);
  void name_component();
  bool look_up();
  void remember();
  [[nodiscard]] LinkId first_pcie_link(std::uint32_t flow) const;
  [[nodiscard]] LinkId fullest(std::uint32_t flow) const;
  [[nodiscard]] double weight(std::uint32_t flow) const { return table_.weight(flow); }

  std::span<const double> capacity_;
  double accuracy_ = 0;
  std::vector<PcieLink> pcie_link_;  // by LinkId
  std::vector<LinkId> link_of_;      // by PcieLink
  FlowTable table_;
  std::deque<Stage> stages_;  // never moved: MaxMin points into itself
  std::size_t stage_ = 0;     // whose shares the flows of the component have
  PcieArbiter arbiter_;
  // columns over flow
  std::vector<Parts> parts_;
  std::vector<double> rate_;    // in force
  std::vector<double> solved_;  // by its last solve: the same, or within accuracy_
  std::vector<LinkId> bottleneck_;
  std::vector<std::uint32_t> member_;  // solve() that has it
  // columns over link
  std::vector<std::uint32_t> seen_;  // solve() that has it
  std::vector<std::uint32_t> dirty_stamp_;
  std::vector<double> room_;  // of fill()
  // of the current solve
  std::uint32_t solve_ = 1;
  std::vector<std::uint32_t> added_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> flows_;   // the component
  std::vector<std::uint32_t> links_;   // its links
  std::vector<std::uint32_t> active_;  // its ids in arbiter_
  std::vector<std::uint32_t> pcie_flows_;
  std::vector<double> aside_at_;       // by position in pcie_flows_: what it was set aside at
  std::vector<std::uint32_t> back_;    // of a round
  std::vector<std::uint64_t> states_;  // of the rounds so far, each as one number
  std::vector<Rising> rising_;         // of fill()
  std::vector<LinkId> limiter_;        // by position in pcie_flows_
  bool filled_ = false;                // step 4 solved the component
  std::vector<LinkId> route_;
  std::vector<PcieLink> path_;
  // what was solved before
  std::unordered_map<std::string, std::uint32_t> kinds_;
  std::string kind_key_;
  std::unordered_map<std::string, Known> known_;  // by the bytes of the classes
  std::string component_;                         // name of the present one; empty: not to be remembered
  std::size_t known_flows_ = 0;
  std::vector<FlowId> changed_;
  std::vector<FlowId> moved_;
  SolveStats stats_;
  Ways ways_;
};

}  // namespace weft::congestion
