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
//  kLocal: only the flows that the change reaches, in the order of levels. It starts from the new flows and those that
//    were held back by a link that changed, and fills these over what the others leave. Others join on the way, at the
//    level t at which the filling reaches them, when it is still below what they have:
//      - a link is full at t and flows outside go faster: first those that it held back, then any above t;
//      - a flow stops at t, slower than before: what its other links held back can rise.
//    Flows outside that are slower than t keep their rate, which is final; those that are faster are counted at what
//    they have, so no link can fill unnoticed. So each flow that ends with another rate is visited once, and few others
//    are (levels decide downwards only: Ros-Giralt et al., On the Bottleneck Structure of Congestion-Controlled Networks,
//    2019). In the end each flow has a full link on which it is highest: this is the max-min fair allocation, which is
//    unique. Same calls, same bits; but rates may differ from kComponent's by rounding (tests: below 1e-12).
// Invariants between solves:
//  1. link_[l].free is the capacity less the exact sum of the rates on l, each rounded to quanta of 2^-60 of l's capacity
//     or finer: sums of integers do not drift and do not depend on order.
//  2. bottleneck_[f] is a full link where f's level is highest, or none: f is at its limit. link_[l].bound counts
//     the flows with bottleneck l, whose common level is link_[l].level.
// Lone flows (rate_lone_flows()): most flows of a program that is not held up by the network have their links to themselves when they
// start, and many until they end. Such a one is as fast as its narrowest link, and is not counted in the table: only each of its links
// knows it, so that a second flow that comes brings it in, at the rate that it has. A filling never sees a lone flow, as it shares
// no link with anybody.
// Complexity of a solve: O(h + L log L) for h hops and L links of the flows filled. A second filling follows where
// rounding left room, rarely. No allocation once the columns have grown to the peak.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>

#include "congestion/flow_table.hpp"
#include "congestion/level_groups.hpp"
#include "congestion/level_queue.hpp"
#include "congestion/sharing_model.hpp"
#include "core/containers/id_stack.hpp"

namespace weft::congestion {

class MaxMin final : public SharingModel {
 public:
  enum class Scope : std::uint8_t { kLocal, kComponent };

  // From the first large solve on, rates are kept by groups (level_groups.hpp), in the local scope only. Large: of more than
  // `large_solve` flows, and of more than kWideSolve for each flow and link that changed. Where thousands of flows come at once,
  // as in a halo exchange, and each disturbs few others, groups would cost more than they save. 0: the first solve is.
  static constexpr std::size_t kLargeSolve = 512;
  static constexpr std::size_t kWideSolve = 2;
  // `most_visits`: links that a solve by groups may visit before it gives up, as LevelGroups has it.
  MaxMin(std::span<const double> capacity, Scope scope, std::size_t large_solve = kLargeSolve,
         std::uint64_t most_visits = 0);

  // From now on a flow that has all of its links to itself gets its rate from add(), and solve() does not name it: it is lone()
  // until another comes onto one of its links. In the local scope, while there are no groups and capacities do not vary. Before the
  // first flow.
  void rate_lone_flows() { lone_flows_ = rates_lone_ = scope_ == Scope::kLocal && own_capacity_.empty(); }
  [[nodiscard]] bool lone(FlowId flow) const { return flow_[flow.index()].lone; }
  // Of one that is: rate() and bottleneck(). Columns do not have it.
  [[nodiscard]] double lone_rate(FlowId flow) const { return flow_[flow.index()].rate; }
  [[nodiscard]] LinkId lone_bottleneck(FlowId flow) const { return LinkId(flow_[flow.index()].bottleneck); }

  // Hints to the processor: the flow will be removed, a flow over the link added or removed.
  void prefetch(FlowId flow) const { __builtin_prefetch(&flow_[flow.index()]); }
  void prefetch(LinkId link) const { table_.prefetch(link); }

  [[nodiscard]] FlowId add(std::span<const LinkId> route, double weight, double rate_cap) override;
  void remove(FlowId flow) override;
  // The same by parts, to be part of the caller (max_min_flows.hpp): of flows that are lone() and of those that are not;
  // `each(link)` hears of each link of the route, for who has rows of links, too. add_lone() REQUIRES: would_be_lone(route).
  [[nodiscard]] bool would_be_lone(std::span<const LinkId> route) const;
  template <class Each>
  FlowId add_lone(std::span<const LinkId> route, double weight, double rate_cap, Each each);
  template <class Each>
  FlowId add_to_others(std::span<const LinkId> route, double weight, double rate_cap, Each each);
  template <class Each>
  void remove_lone(FlowId flow, Each each);
  template <class Each>
  void remove_from_others(FlowId flow, Each each);
  [[nodiscard]] bool to_solve() const override {
    return groups_ || !added_.empty() || !dirty_.empty() || !squeezed_.empty();
  }
  std::span<const FlowId> solve() override {
    if (groups_) return solve_groups();
    changed_.clear();
    moved_.clear();
    if (!to_solve()) return {};
    return solve_changes();
  }
  [[nodiscard]] double rate(FlowId flow) const override {
    if (groups_) return groups_->rate(flow.index());
    return lone(flow) ? lone_rate(flow) : rate_[flow.index()];
  }
  [[nodiscard]] std::span<const double> rates() const override { return rate_; }
  [[nodiscard]] std::span<const LinkId> route(FlowId flow) const override { return route_of(flow.index()); }
  [[nodiscard]] LinkId bottleneck(FlowId flow) const override {
    return lone(flow) ? lone_bottleneck(flow) : bottleneck_[flow.index()];
  }
  [[nodiscard]] std::span<const LinkId> bottlenecks() const override { return bottleneck_; }
  [[nodiscard]] std::span<const FlowId> moved() const override { return moved_; }
  [[nodiscard]] std::uint32_t flows_on(LinkId link) const override { return table_.count_on(link.index()); }
  [[nodiscard]] bool weight_counts_flows() const override { return true; }
  // From the first large solve on; smaller ones are exact.
  [[nodiscard]] bool set_accuracy(double ratio) override {
    accuracy_ = ratio;
    return scope_ == Scope::kLocal || ratio == 0;
  }
  void report_groups(bool yes) override { report_groups_ = yes; }
  [[nodiscard]] const LevelGroups* groups() const override {
    return report_groups_ ? groups_.get() : nullptr;
  }
  [[nodiscard]] bool vary_capacities() override;
  void set_capacity(LinkId link, double bytes_per_s) override;
  [[nodiscard]] const SolveStats& stats() const override { return stats_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::uint32_t kChanged = 0xffffffffu;  // in rising_; beyond any filling
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // All of a link, one cache line: a filling waits for memory more than for anything else.
  struct alignas(64) Link {
    // Between solves, and of the flows outside during one.
    std::int64_t free =
        0;  // quanta: capacity less the rates of all flows but those that rise; see add() for one flow
    double to_quanta = 0;     // a power of two, so that scaling is exact; never changes
    double level = 0;         // common level of the flows with this bottleneck
    std::uint32_t bound = 0;  // how many these are
    std::uint32_t dirty = 0;  // solve() that has it in dirty_
    // Of a filling.
    std::uint32_t stamp = 0;       // filling that the rest belongs to
    double filled_at = kInfinity;  // level at which the link stopped flows
    std::uint32_t rising = 0;      // flows still rising
    std::uint32_t outside = 0;     // flows that are not being filled
    std::uint32_t held = 0;        // of these, flows with this bottleneck
    std::uint32_t place = 0;       // slot in touched_ and in levels_, with the bit below: written at once
    static constexpr std::uint32_t kSearched = 1u << 31;  // for flows outside above its level
    [[nodiscard]] std::uint32_t slot() const { return place & (kSearched - 1); }
    // Rates are not negative, so this rounds; lround would be a call.
    [[nodiscard]] std::int64_t quanta(double rate) const {
      return static_cast<std::int64_t>(rate * to_quanta + 0.5);  // NOLINT(bugprone-incorrect-roundings)
    }
    [[nodiscard]] double in_rates(std::int64_t quanta) const {
      const double from_quanta =
          std::bit_cast<double>((std::uint64_t{2046} << 52) - std::bit_cast<std::uint64_t>(to_quanta));
      return static_cast<double>(quanta) * from_quanta;
    }
    [[nodiscard]] double room() const { return in_rates(std::max<std::int64_t>(0, free)); }
    // Changes `free` of a link that a single flow may have to itself: nobody keeps it true there or reads it until a second
    // flow comes (add()), so it may go round.
    void give(std::int64_t quanta) {
      free = static_cast<std::int64_t>(static_cast<std::uint64_t>(free) + static_cast<std::uint64_t>(quanta));
    }
  };
  static_assert(sizeof(Link) == 64);
  // All that a filling needs of a flow, one cache line.
  struct alignas(64) Flow {
    double rate = 0;
    double next_rate = 0;
    std::uint32_t bottleneck = kNone;
    std::uint32_t next_bottleneck = kNone;  // while it rises: the link of its own that may stop it
    std::uint32_t hops : 31 = 0;
    std::uint32_t lone : 1 = 0;
    std::array<LinkId, 9> link;  // the route, if it is not longer
  };
  static_assert(sizeof(Flow) == 64);
  // Added since the last solve.
  [[nodiscard]] bool is_new(std::uint32_t flow) const {
    return flow_[flow].rate == 0 && flow_[flow].bottleneck == kNone;
  }
  [[nodiscard]] std::span<const LinkId> route_of(std::uint32_t flow) const {
    const Flow& f = flow_[flow];
    if (f.hops > f.link.size()) return table_.route(flow);
    return {f.link.data(), f.hops};
  }
  std::span<const FlowId> solve_changes();
  // What a flow gets that has its links to itself, and which of these is the reason.
  struct Alone {
    double rate;
    std::uint32_t bottleneck;  // kNone: its limit
    // The narrowest of its links decides, or its limit; a tie goes to the first link.
    void cross(double capacity, std::uint32_t link) {
      if (capacity < rate) *this = {capacity, link};
    }
  };
  [[nodiscard]] Alone alone_on(std::span<const LinkId> route, double limit) const;
  std::uint32_t new_flow(std::span<const LinkId> route, double weight, double limit);
  template <class Each>
  void begin_lone(std::uint32_t flow, std::span<const LinkId> route, double limit, Each each);
  void end_lone(std::uint32_t flow);
  [[gnu::noinline]] void end_lone_on(std::span<const LinkId> route);
  void remove_from_groups(std::uint32_t flow);
  [[gnu::noinline]] void new_row();
  [[noreturn]] static void refuse(FlowId flow);
  void mark_dirty(std::uint32_t link);
  void join_squeezed();
  [[nodiscard]] bool is_large() const;
  void next_solve();
  bool join(std::uint32_t flow);
  void join_bound(std::uint32_t link);
  void close_component(std::size_t from);
  void begin_filling();
  void fill();
  void fill_and_commit();
  bool fill_pair();
  void fill_others();
  bool fill_alone(std::uint32_t flow);
  // What a filling of one flow came to.
  enum class Single : std::uint8_t {
    kFilled,   // others may be disturbed
    kStands,   // nobody is
    kDisturbs  // somebody is and has joined: nothing was filled
  };
  Single fill_one(std::uint32_t flow);
  template <bool kWeighted>
  void join_above(std::uint32_t link, double level);
  void join_faster(std::uint32_t link, double level, std::uint32_t held);
  bool fill_together();
  template <bool kWeighted>
  bool fill_alike();
  double weight_of_members(bool ascending);
  void count_filling(std::size_t links);
  Link& touch(std::uint32_t link);
  void take_back();
  template <bool kWeighted, bool kRisingNow>
  void enter(std::size_t from);
  template <bool kWeighted>
  double level_of(std::uint32_t link) const;
  template <bool kWeighted>
  double key(std::uint32_t link) const;
  template <bool kWeighted>
  void fill_links();
  template <bool kWeighted>
  bool pull(std::uint32_t link, double level);
  template <bool kWeighted>
  void stop(std::uint32_t flow, double rate, std::uint32_t bottleneck);
  [[nodiscard]] double settled(std::uint32_t flow, double rate) const;
  template <bool kWeighted>
  void stop_at_link(std::uint32_t link, double level);
  [[nodiscard]] double limit_level(std::uint32_t flow) const {
    return table_.limit(flow) / table_.weight(flow);
  }
  // Order of limited_ as a heap.
  [[nodiscard]] auto later() const {
    return [this](std::uint32_t a, std::uint32_t b) {
      const double la = limit_level(a);
      const double lb = limit_level(b);
      return la > lb || (la == lb && a > b);
    };
  }
  bool disturbs();
  void commit();
  void commit_flows();
  void sort_changed();
  [[nodiscard]] bool certificate_due() const;
  void check_certificate(std::span<const double> rate);
  void check_groups();
  void enter_groups();
  std::span<const FlowId> solve_groups();
  void leave_groups();
  void fill_all();
  void regroup_all();
  void count_visits();

  std::span<const double> capacity_, most_capacity_;  // what links have, and have at most
  std::vector<double> own_capacity_;                  // empty: capacities do not vary
  Scope scope_;
  bool lone_flows_ = false;  // there may be some: rates_lone_, and no groups
  bool rates_lone_ = false;
  std::size_t large_solve_;
  std::uint64_t most_visits_;
  FlowTable table_;
  // columns over flow
  std::vector<double> rate_;
  std::vector<LinkId> bottleneck_;
  std::vector<Flow> flow_;
  std::vector<std::uint32_t> member_;  // solve() that has it in members_
  std::vector<std::uint32_t> rising_;  // filling in which it still rises
  // columns over link
  std::vector<Link> link_;
  std::vector<double> weight_;  // of the flows still rising; empty unless some flow has a weight
  // of the current solve
  std::uint32_t solve_ = 1;
  std::uint32_t filling_ = 0;
  std::uint32_t open_ = 0;  // flows still rising
  std::size_t filled_ = 0;  // members_ that the last filling had
  IdStack added_;
  IdStack dirty_;
  IdStack squeezed_;  // links that lost capacity
  IdStack members_;
  IdStack touched_;
  IdStack stopped_at_;  // of these, links that stopped flows
  IdStack limited_;     // heap: lowest limit first
  IdStack freed_;       // links that got room while they hold back flows outside
  IdStack at_link_;
  LevelQueue levels_;  // by slot in touched_
  std::vector<FlowId> changed_;
  std::vector<FlowId> moved_;
  SolveStats stats_;
  // Of groups (max_min_groups.cpp).
  std::unique_ptr<LevelGroups> groups_;
  bool report_groups_ = false;
  double accuracy_ = 0;
  std::size_t gone_ = 0;  // flows, and capacities of links that are others now, since the last solve
  std::vector<double> old_rate_;
  std::uint32_t gave_up_ = 0;  // solves
  bool never_group_ = false;   // it was given up
};

inline MaxMin::Alone MaxMin::alone_on(std::span<const LinkId> route, double limit) const {
  Alone a{limit, kNone};
  for (const LinkId id : route) a.cross(table_.capacity(id.index()), id.index());
  return a;
}

inline bool MaxMin::join(std::uint32_t flow) {
  if (member_[flow] == solve_) return false;
  member_[flow] = solve_;
  __builtin_prefetch(&flow_[flow]);
  members_.push_back(flow);
  return true;
}

inline void MaxMin::join_bound(std::uint32_t link) {
  if (link_[link].bound == 0) return;
  for (const FlowTable::Entry e : table_.flows_on(link))
    if (bottleneck_[e.flow].index() == link) join(e.flow);
}

}  // namespace weft::congestion
