// GroupAccounts: what flows got that go in groups at one level (congestion/level_groups.hpp), and which ends next.
//
// All flows of a group get the same, per unit of weight. So one number grows for a group, its service, and a flow that
// joins at service s with b bytes to go at weight w ends at service s + b / w, whatever the levels until then, unless it
// leaves for another group. A level that changes costs a group O(1); the flow that ends next is the top of a heap.
//
// Ends of groups go into a CompletionQueue, by number of the group. A group that became slower is not moved there:
// an entry may be too early, never too late, and settle() moves those that come up. No allocation once grown.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/id.hpp"
#include "network/clock.hpp"
#include "network/completion_queue.hpp"

namespace weft::network {

class GroupAccounts {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr double kAsAlone = 1 - 1e-9;  // at that part of its rate alone nothing holds a flow back

  // `book(group, seconds, per_alone)`: the group's flows were under way for so many seconds together, of which they would
  // have needed `per_alone` alone.
  template <class Book>
  void advance(std::uint32_t group, Instant now, Book book) {
    Group& g = group_[group];
    if (g.updated == now) return;
    const double seconds = (now - g.updated).seconds();
    const double served = g.level * seconds;
    g.served += served;
    g.updated = now;
    book(group, seconds * g.heads, served * g.alone);
    if (g.served > kRebase) rebase(group);
  }
  [[nodiscard]] std::uint32_t flows() const { return static_cast<std::uint32_t>(flow_.size()); }
  [[nodiscard]] std::uint32_t group_of(std::uint32_t flow) const {
    return flow < flow_.size() ? flow_[flow].group : kNone;
  }
  [[nodiscard]] double alone(std::uint32_t flow) const { return flow_[flow].alone; }
  // Of flows that end together in a group the lowest order is first.
  void set_order(std::uint32_t flow, std::uint64_t order) {
    if (flow >= flow_.size()) flow_.resize(flow + 1);
    flow_[flow].order = order;
  }
  // REQUIRES: the group was advanced to now; the flow has an order. `service`: to go; `alone`: weight x seconds a byte
  // takes alone; `heads`: the flow stands for so many.
  void join(std::uint32_t flow, std::uint32_t group, double service, double alone, std::uint32_t heads) {
    Flow& f = flow_[flow];
    Group& g = group_[group];
    if (g.served > service * kMuch && service > 0) rebase(group);
    f.group = group;
    f.end = g.served + service;
    f.service = service;
    f.since = g.updated;
    f.alone = alone;
    f.heads = heads;
    ++f.stamp;
    ++g.flows;
    g.heads += heads;
    g.alone += alone;
    ends_[group].push_back({f.end, f.order, flow, f.stamp});
    std::push_heap(ends_[group].begin(), ends_[group].end());
    mark(group);
  }
  // Whether its group held the flow back since it joined. REQUIRES: advanced to now, and the flow is in a group.
  [[nodiscard]] bool slowed(std::uint32_t flow) const {
    const Flow& f = flow_[flow];
    const Group& g = group_[f.group];
    const double seconds = (g.updated - f.since).seconds() * f.heads;
    return (f.service - (f.end - g.served)) * f.alone < seconds * kAsAlone;
  }
  // Returns the service to go.
  double leave(std::uint32_t flow) {
    Flow& f = flow_[flow];
    const std::uint32_t group = f.group;
    Group& g = group_[group];
    f.group = kNone;
    ++f.stamp;
    g.alone -= f.alone;
    g.heads -= f.heads;
    if (--g.flows == 0) {
      ends_[group].clear();
      const double left = f.end - g.served;
      g.served = g.alone = 0;  // no rounding is carried on
      mark(group);
      return std::max(0.0, left);
    }
    std::vector<End>& ends = ends_[group];
    if (ends.size() > 2 * std::size_t{g.flows} + 8) {
      std::erase_if(ends, [&](const End& e) { return flow_[e.flow].stamp != e.stamp; });
      std::make_heap(ends.begin(), ends.end());
    }
    drop_stale(group);
    mark(group);
    return std::max(0.0, f.end - g.served);
  }
  // The flow that ends next in its group, which is not empty.
  [[nodiscard]] std::uint32_t next(std::uint32_t group) const { return ends_[group].front().flow; }
  // That flow ends now: rounding may say that it has a little to go.
  void arrive(std::uint32_t group) {
    group_[group].served = std::max(group_[group].served, ends_[group].front().at);
  }
  // REQUIRES: advanced to now.
  void set_level(std::uint32_t group, double level) {
    group_[group].level = level;
    mark(group);
  }
  void grow(std::uint32_t groups) {
    if (groups <= group_.size()) return;
    group_.resize(groups);
    ends_.resize(groups);
  }
  // A group whose end may be another one than the queue has; requeue() looks at each once.
  void mark(std::uint32_t group) {
    if (group_[group].marked != 0) return;
    group_[group].marked = 1;
    marked_.push_back(group);
  }
  // REQUIRES: marked groups were advanced to some instant since their last change. The top is exact afterwards.
  void requeue(CompletionQueue& queue, std::uint64_t& sequence) {
    for (const std::uint32_t group : marked_) {
      Group& g = group_[group];
      g.marked = 0;
      if (g.flows == 0) {
        if (g.queued < kNever) queue.remove(FlowId(group));
        g.queued = kNever;
        continue;
      }
      const Instant end = end_of(group);
      const double s = end.since_start().seconds();
      if (s > g.queued) continue;
      g.queued = s;
      queue.set(FlowId(group), end, sequence++);
    }
    marked_.clear();
    while (!queue.empty()) {
      const std::uint32_t group = queue.top().flow.index();
      const Instant end = end_of(group);
      if (end == queue.top().time) break;
      group_[group].queued = end.since_start().seconds();
      queue.set(FlowId(group), end, sequence++);
    }
  }
  void clear() {
    group_.clear();
    ends_.clear();
    flow_.clear();
    marked_.clear();
  }

 private:
  static constexpr double kNever = 1e300;
  static constexpr double kRebase = 0x1p36;  // bytes: beyond it a double has less than 2^-17 of one
  // A flow that joins a group which served so many times what it needs would lose digits of it. Until the next of its size
  // joins one so far on, the group serves as much once more: rebase() is O(1) a join, spread over what is served between.
  static constexpr double kMuch = 0x1p20;
  struct Group {
    double served = 0;  // at `updated`
    double level = 0;
    Instant updated;
    double alone = 0;        // sum over flows
    double queued = kNever;  // seconds: its entry in the queue; not later than its end
    std::uint32_t flows : 31 = 0;
    std::uint32_t marked : 1 = 0;
    std::uint32_t heads = 0;  // that these stand for
  };
  static_assert(sizeof(Group) == 64);
  struct Flow {
    std::uint32_t group = kNone;
    std::uint32_t stamp = 0;
    double end = 0;      // service
    double service = 0;  // to go at `since`
    Instant since;       // when it joined
    double alone = 0;
    std::uint64_t order = 0;
    std::uint32_t heads = 0;
  };
  struct End {
    double at = 0;
    std::uint64_t order = 0;
    std::uint32_t flow = 0;
    std::uint32_t stamp = 0;              // of the flow when it joined; another now: stale
    bool operator<(const End& o) const {  // heap: least first
      return at != o.at ? at > o.at : order > o.order;
    }
  };
  [[nodiscard]] Instant end_of(std::uint32_t group) const {
    const Group& g = group_[group];
    const Elapsed left = Elapsed::of_seconds(std::max(0.0, ends_[group].front().at - g.served) / g.level);
    return (g.updated + left).no_later_than_last();  // as the queue has it
  }
  void drop_stale(std::uint32_t group) {
    std::vector<End>& ends = ends_[group];
    while (flow_[ends.front().flow].stamp != ends.front().stamp) {
      std::pop_heap(ends.begin(), ends.end());
      ends.pop_back();
    }
  }
  void rebase(std::uint32_t group) {
    Group& g = group_[group];
    for (End& e : ends_[group]) {
      e.at -= g.served;
      if (flow_[e.flow].stamp == e.stamp) flow_[e.flow].end = e.at;
    }
    std::make_heap(ends_[group].begin(), ends_[group].end());
    g.served = 0;
  }

  std::vector<Group> group_;
  std::vector<std::vector<End>> ends_;
  std::vector<Flow> flow_;
  std::vector<std::uint32_t> marked_;
};

}  // namespace weft::network
