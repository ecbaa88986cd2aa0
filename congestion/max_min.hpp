// MaxMin: weighted max-min fair rates with a limit per flow, re-solved where something changed.
//
// Progressive filling (Bertsekas and Gallager, Data Networks, section 6.5.2): the level rate/weight of all
// flows rises together; the level at which link l fills up is
//     level(l) = (capacity - rates of the flows already stopped) / (weights of the flows still rising),
// the link with the lowest level stops its flows there, a flow whose limit comes first stops at its limit. As
// flows stop, the levels of other links only go up, so it is enough to refresh a key when it is the lowest.
//
// By hand: link 0 carries 10, link 1 carries 6; flow a crosses both, b link 0 alone, c link 1 alone.
//     level(0) = 10 / 2 = 5, level(1) = 6 / 2 = 3: link 1 is the lowest and stops a and c at 3.
//     level(0) = (10 - 3) / 1 = 7: b goes on alone and stops at 7. Rates 3, 7, 3; bottlenecks 1, 0, 1.
// When c ends, link 1, which held a back, has room again: a is filled alone over what b leaves, to 3 on link 0, where b
// with 7 is now above the level of a full link. So b joins, both are filled: 10 / 2 = 5 each, held back by link 0.
// (MaxMin.AFlowHeldBackElsewhereLeavesItsShareToOthers)
//
// What is filled again after a change is set by the Scope:
//  kComponent: all flows connected to a change through shared links. The rates are a pure function of the
//    component's content: same flows, same bits, whatever happened before.
//  kLocal: only the flows that the change reaches. It starts from the new flows and those that were held back
//    by a link that changed, fills these alone over what the others leave, then looks for others that this
//    disturbs: on a link that filled up, flows above its level; on a link that has room again, or a higher
//    level, flows that it held back. These join and the filling is repeated until nobody is disturbed. Then
//    each flow still has a full link on which it is highest, so this is the max-min fair allocation, which is
//    unique. Same calls, same bits; but rates may differ from kComponent's by rounding (tests: below 1e-12).
// Invariants between solves:
//  1. link_[l].load is the exact sum of the rates on l, each rounded to quanta of 2^-60 of l's capacity or finer:
//     sums of integers do not drift and do not depend on order.
//  2. bottleneck_[f] is a full link where f's level is highest, or none: f is at its limit. link_[l].bound counts
//     the flows with bottleneck l, whose common level is link_[l].level.
// Complexity of a solve: O(h + L log L) for h hops and L links of the flows filled, times the rounds of
// kLocal (mostly one to three). No allocation once the columns have grown to the peak.
#pragma once

#include <algorithm>
#include <limits>

#include "congestion/flow_table.hpp"
#include "congestion/sharing_model.hpp"
#include "congestion/tournament.hpp"

namespace weft::congestion {

class MaxMin final : public SharingModel {
 public:
  enum class Scope : std::uint8_t { kLocal, kComponent };

  MaxMin(std::span<const double> capacity, Scope scope);

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
  [[nodiscard]] bool weight_counts_flows() const override { return true; }
  [[nodiscard]] const SolveStats& stats() const override { return stats_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::uint32_t kChanged = 0xffffffffu;  // in rising_; beyond any filling
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // Working state of one link during a filling; one cache line.
  struct alignas(64) LinkWork {
    double room = 0;                 // capacity less the flows outside and those stopped
    double weight = 0;               // of the flows still rising
    double filled_at = kInfinity;    // level at which the link stopped flows
    double highest = 0;              // level of the last flow stopped on it
    std::uint64_t inside = 0;        // quanta that the flows being filled had before
    std::uint32_t rising = 0;        // flows still rising
    std::uint32_t members = 0;       // flows being filled
    std::uint32_t bound_inside = 0;  // of these, flows that the link held back before
    std::uint32_t stamp = 0;         // filling that this state belongs to
    std::uint32_t dirty = 0;         // solve() that has it in dirty_
  };
  static_assert(sizeof(LinkWork) == 64);
  // What stays of a link between solves; one cache line.
  struct alignas(64) LinkState {
    double capacity = 0;
    double to_quanta = 0;  // powers of two, so that scaling is exact
    double from_quanta = 0;
    std::uint64_t load = 0;
    double level = 0;
    std::uint32_t bound = 0;
  };
  static_assert(sizeof(LinkState) == 64);
  [[nodiscard]] std::uint64_t quanta(std::uint32_t link, double rate) const {
    // Rates are not negative, so this rounds; lround would be a call.
    const double whole = rate * link_[link].to_quanta + 0.5;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
  }
  // Capacity of `link` less the load of the flows outside, given the quanta of those inside.
  [[nodiscard]] double room(std::uint32_t link, std::uint64_t inside) const {
    const auto outside = static_cast<std::int64_t>(link_[link].load - inside);
    return std::max(0.0, link_[link].capacity - static_cast<double>(outside) * link_[link].from_quanta);
  }
  void mark_dirty(std::uint32_t link);
  bool join(std::uint32_t flow);
  void join_bound(std::uint32_t link);
  void close_component(std::size_t from);
  void fill();
  void fill_one(std::uint32_t flow);
  void reset(LinkWork& work, std::uint32_t link);
  template <bool kWeighted>
  void fill_links();
  template <bool kWeighted>
  void stop(std::uint32_t flow, double level, double rate, std::uint32_t bottleneck);
  template <bool kWeighted>
  void stop_at_link(std::uint32_t link, double level);
  bool disturbs();
  void commit();
  void sort_changed();
  void check_certificate();

  std::span<const double> capacity_;
  Scope scope_;
  FlowTable table_;
  // columns over flow
  std::vector<double> rate_;
  std::vector<double> next_rate_;
  std::vector<LinkId> bottleneck_;
  std::vector<std::uint32_t> next_bottleneck_;
  std::vector<std::uint32_t> member_;  // solve() that has it in members_
  std::vector<std::uint32_t> rising_;  // filling in which it still rises
  // columns over link
  std::vector<LinkState> link_;
  std::vector<LinkWork> work_;
  // of the current solve
  std::uint32_t solve_ = 1;
  std::uint32_t filling_ = 0;
  std::uint32_t open_ = 0;  // flows still rising
  std::vector<std::uint32_t> added_;
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> limited_;
  std::vector<std::uint32_t> at_link_;
  Tournament tournament_;
  std::vector<FlowId> changed_;
  std::vector<FlowId> moved_;
  SolveStats stats_;
};

}  // namespace weft::congestion
