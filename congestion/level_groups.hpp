// LevelGroups: the max-min allocation of many flows as one level a link, brought up to date from link to link.
//
// Flows that one link holds back all go at its level (rate / weight), so they are one group: a change costs a number for
// the group and, for each of its flows, one subtraction on each other link of the route. A flow with a limit crosses one
// link more, of that capacity, which nobody else has.
//
// What makes an allocation max-min fair (certificate.hpp) is looked after link by link:
//  1. a link that holds flows is full; no other is overfull;
//  2. no flow on a link that holds flows is above its level.
// Who changes a rate sees on each link that it touches, by comparing with that row, whether this still holds, else
// the link is due. Links that are due are taken in the order of their levels, because lower levels decide higher ones
// (Ros-Giralt et al., On the Bottleneck Structure of Congestion-Controlled Networks, 2019); each shares anew what
// its other flows leave, and takes those of them that are above the new level. When none is due, 1 and 2 hold everywhere:
// the allocation, which is unique. The order decides how often a link comes up, not the result.
//
// `accuracy` a > 0: a level that would change by less than a, relative, stays, and nothing is passed on; a link may be
// overfull by a, or a group short of full by a, and a flow above its link's level by a. It does not add up: what is free on
// a link is exact all the time, and the link is due as soon as its sum of such changes exceeds a. With a = 0 the same
// at the size of rounding. Same calls, same bits.
//
// Calm links: most links have room to spare, and what their flows get changes by little. Such a link counts each flow at
// the promise of its group, a little more than the level, which changes rarely; as long as the promises fit into its
// capacity it cannot be full, and no change of a level looks at it. One on which they no longer fit is calm no more.
// So calm links change no rate.
//
// Invariants: row_[l].free() is the capacity less the exact sum of the rates on l, each rounded to quanta of 2^-60 of the most that l
// ever has: sums of integers do not drift (promises in place of rates where l is calm). No flow that another link holds is above row_[l].highest.
// Complexity: a link that is due costs O(hops of its group); one that takes flows in also the flows that cross it.
// No allocation once the columns have grown to the peak.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "congestion/flow_table.hpp"
#include "congestion/level_queue.hpp"

namespace weft::congestion {

class LevelGroups {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // `table`, `capacity`, `most`: must outlive this; `most`: what a link ever has. `bottleneck`, `rate`: by flow, an allocation that is
  // max-min fair but for rounding, of all flows in the table. `most_visits`: links that a solve may visit, then it gives up; 0: so
  // many that no load is known that needs them.
  LevelGroups(const FlowTable& table, std::span<const double> capacity, std::span<const double> most,
              double accuracy, std::span<const LinkId> bottleneck, std::span<const double> rate,
              std::uint64_t most_visits = 0);

  // After the flow is in the table; it has a group at once, its level is right after solve().
  void add(std::uint32_t flow);
  // Before the flow leaves the table.
  void remove(std::uint32_t flow);
  // After `capacity` has another number for the link; `before`: the one that it had.
  void change_capacity(std::uint32_t link, double before);
  // The same allocation as the constructor's, after flows came and went without the two calls above or with them.
  void assign(std::span<const LinkId> bottleneck, std::span<const double> rate);
  // False: gave up, rates mean nothing until assign(); what it named is named by the next solve(), too.
  [[nodiscard]] bool solve();

  // Groups are numbered as links; from link_count() on come those of flows at their limits.
  [[nodiscard]] std::uint32_t group(std::uint32_t flow) const {
    return flow < group_.size() ? group_[flow] : kNone;
  }
  [[nodiscard]] double level(std::uint32_t group) const { return group_row_[group].level; }
  [[nodiscard]] double rate(std::uint32_t flow) const {
    return group_row_[group_[flow]].level * table_.weight(flow);
  }
  [[nodiscard]] double weight(std::uint32_t flow) const { return table_.weight(flow); }
  [[nodiscard]] std::uint32_t groups() const { return static_cast<std::uint32_t>(row_.size()); }
  struct Member {
    std::uint32_t flow = 0;
    std::uint16_t others = 0;  // links of the route without this one; kLong: they are not here
    std::uint16_t active = 0;  // of these, first, those that are not calm
    // Narrow where few links have numbers of more than 16 bits: a torus has routes of 10 links and more.
    union {
      std::uint16_t narrow[12];
      std::uint32_t wide[6];
    };
  };
  static_assert(sizeof(Member) == 32);
  [[nodiscard]] std::span<const Member> members(std::uint32_t group) const { return members_[group]; }
  // Of the calls since the solve before the last: groups whose level changed, flows that are new or in another group.
  // Each once, in an order that is the same for the same calls.
  [[nodiscard]] std::span<const std::uint32_t> changed() const { return changed_; }
  [[nodiscard]] std::span<const std::uint32_t> moved() const { return moved_; }
  // Work of the last solve: links that were due, flows of their groups.
  [[nodiscard]] std::uint64_t links_visited() const { return links_visited_; }
  [[nodiscard]] std::uint64_t flows_visited() const { return flows_visited_; }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
  static constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint16_t kLong = 0xffffu;
  // Narrow below. The rest of the 16-bit numbers is for limits of flows; those beyond are read from the table.
  static constexpr std::uint32_t kNarrowLinks = 1u << 15;
  static constexpr std::uint32_t kDue =
      0x80000000u;  // in Group::state; the rest is the slot + 1, 0: none yet

  // Sums of quanta: links that get room offer it to their flows before slower links behind them are asked, and what is offered
  // on one of these together may be any multiple of its capacity.
  __extension__ typedef __int128 Quanta;
  // All that a change of a rate touches of a link: two to a cache line.
  struct alignas(32) Row {
    // The link is due if it holds flows and what is free is off 0 by more than `slack`, if it holds none and that is below
    // -slack, or if a flow of another group is above `bar`, which is infinite where the link holds none.
    double bar = kInfinity;
    double highest = 0;
    std::uint64_t low = 0;  // of free(), modulo 2^64
    float slack = 0;        // quanta
    std::int32_t high_and_scale =
        0;  // 24 bits of free() above `low`; 8 of to_quanta(), its exponent as a float has it

    [[nodiscard]] std::int32_t high() const { return high_and_scale >> 8; }
    // A power of two, so that scaling is exact.
    [[nodiscard]] double to_quanta() const {
      return std::bit_cast<float>(static_cast<std::uint32_t>(high_and_scale & 0xff) << 23);
    }
    void set_to_quanta(int exponent) { high_and_scale = exponent + 127; }
    // Rates are not negative, so this rounds; lround would be a call. Above twice the capacity one number stands for all.
    [[nodiscard]] std::int64_t quanta(double rate) const {
      // NOLINTNEXTLINE(bugprone-incorrect-roundings)
      return static_cast<std::int64_t>(std::min(rate * to_quanta() + 0.5, 0x1p62));
    }
    [[nodiscard]] double bytes(std::int64_t quanta) const {
      return static_cast<double>(quanta) / to_quanta();
    }
    [[nodiscard]] Quanta free() const { return Quanta{high()} * (Quanta{1} << 64) + low; }
    void set_free(Quanta quanta) {
      low = static_cast<std::uint64_t>(quanta);
      high_and_scale = static_cast<std::int32_t>(quanta >> 64) * 256 + (high_and_scale & 0xff);
    }
    void give(std::int64_t quanta) {
      const auto more = static_cast<std::uint64_t>(quanta);
      low += more;
      high_and_scale += static_cast<std::int32_t>((quanta >> 63) + (low < more ? 1 : 0)) * 256;
    }
    // free(), at the ends of 64 bits what is beyond them.
    [[nodiscard]] std::int64_t free_in_64() const {
      const auto near = static_cast<std::int64_t>(low);
      return high() == near >> 63
                 ? near
                 : std::int64_t{high_and_scale >> 31} ^ std::numeric_limits<std::int64_t>::max();
    }
    [[nodiscard]] bool off() const {
      const auto f = static_cast<double>(free_in_64());
      const auto s = static_cast<double>(slack);
      return (f < -s) | ((f > s) & (bar < kInfinity)) | (highest > bar);
    }
  };
  static_assert(sizeof(Row) == 32);
  // The rest of a link.
  struct Group {
    double level = 0;
    double promise = 0;      // not below the level
    std::uint32_t held = 0;  // flows
    std::uint32_t state = 0;
    const Member* first = nullptr;  // of these; to be fetched before it is needed
  };
  struct Candidate {
    double level;
    std::uint32_t flow;
  };

  void know(std::uint32_t flow);
  void open_row(std::uint32_t link, double capacity, double most);
  // Calls with the others of m, whichever form they have.
  template <class M, class With>
  void with_others(M& m, With with) const {
    if (narrow_)
      with(std::span(m.narrow));
    else
      with(std::span(m.wide));
  }
  template <class Each>
  void for_each_active(const Member& m, std::uint32_t link, Each each) const;
  template <class Each>
  void for_each_calm(const Member& m, std::uint32_t link, Each each) const;
  void give_calm(std::uint32_t link, std::int64_t quanta);
  void promise(std::uint32_t link, double before, double after);
  void regroup(std::uint32_t flow, std::uint32_t link, bool calm);
  void sweep(std::uint32_t link);
  void try_calm(std::uint32_t link);
  void wake(std::uint32_t link);
  void wake_overdrawn();
  void bind(std::uint32_t flow, std::uint32_t link);
  void unbind(std::uint32_t flow);
  void set_thresholds(std::uint32_t link);
  void due(std::uint32_t link);
  // A flow on `link` of another group, at `level` now. Returns whether the link is due. No branch: what it would depend
  // on has mostly yet to come from memory.
  bool update(std::uint32_t link, double before, double after, double level) {
    Row& r = row_[link];
    r.give(r.quanta(before) - r.quanta(after));
    r.highest = std::max(r.highest, level);
    const auto f = static_cast<double>(r.free_in_64());
    const auto s = static_cast<double>(r.slack);
    return (f < -s) | ((f > s) & (r.bar < kInfinity)) | (level > r.bar);
  }
  [[nodiscard]] std::uint32_t flows_on(std::uint32_t link) const {
    return link < table_.link_count() ? table_.count_on(link) : 1;
  }
  void consider(std::uint32_t flow, std::uint32_t link, double bar, double& rest);
  template <bool kWeighted>
  void share(std::uint32_t link);
  void forget_reported();
  void note_changed(std::uint32_t group);
  void note_moved(std::uint32_t flow);

  const FlowTable& table_;
  std::span<const double> capacity_, most_;
  double same_level_;  // relative: flows above a link by no more may stay where they are
  double same_rate_;   // relative: a level that would change by no more stays
  std::uint64_t most_visits_;
  bool narrow_;  // form of Member's others
  std::vector<Row> row_;
  std::vector<Group> group_row_;
  std::vector<std::vector<Member>> members_;  // by group
  // columns over flow
  std::vector<std::uint32_t> group_;
  std::vector<std::uint32_t> place_;  // in members_[group_]
  std::vector<std::uint32_t> own_;    // its link for its limit, or kNone
  std::vector<std::uint32_t> moved_at_;
  std::vector<std::uint8_t> calm_;        // by link
  std::vector<std::uint32_t> overdrawn_;  // calm links on which promises no longer fit
  std::uint32_t sweep_ = 0;               // link at which the search for calm ones goes on
  // links for limits
  std::vector<std::uint32_t> owner_;
  std::vector<std::uint32_t> free_own_;
  // of the current solve
  std::uint32_t solve_ = 1;
  bool reported_ = false;  // changed_ and moved_ are of a solve that is over
  LevelQueue queue_;
  std::vector<std::uint32_t> touched_;  // by slot
  std::vector<std::uint32_t> changed_at_;
  std::vector<std::uint32_t> changed_;
  std::vector<std::uint32_t> moved_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint32_t> due_;
  std::size_t longest_ = 1;  // links of a route
  std::uint64_t links_visited_ = 0;
  std::uint64_t flows_visited_ = 0;
};

}  // namespace weft::congestion
