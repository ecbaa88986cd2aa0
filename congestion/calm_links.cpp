// MaxMin: links that a large filling leaves out because there is room to spare on them.
#include <algorithm>

#include "congestion/max_min.hpp"

namespace weft::congestion {
namespace {

// A promise is kPromise times the rate, and renewed where the rate is above it, or below 1 / kStalePromise of it. A link
// may become calm when kCalmRoom of it is free.
constexpr double kPromise = 1.25;
constexpr double kStalePromise = 1.6;
constexpr double kCalmRoom = 0.25;
constexpr std::uint32_t kCalmPeriod = 8;  // solves from one try to the next; a power of two

}  // namespace

// Calm links. On most links of a large filling there is room to spare, and what their flows get changes by little. Once
// a solve was large, such a link counts each of its flows with a promise, a little more than the rate, and as long as
// the promises fit into its capacity no filling looks at it: it cannot be full. A flow that goes beyond its promise gets
// a larger one; a link on which these no longer fit is calm no more, and if it is overfull indeed, which is rare, the
// filling is done again with it. So calm links change no rate.
void MaxMin::promise(std::uint32_t flow, double rate) {
  Flow& f = flow_[flow];
  if (rate <= f.most && rate * kStalePromise >= f.most) return;
  const double most = rate * kPromise;
  for (const LinkId id : route_of(flow)) {
    if (!calm(id.index())) continue;
    Link& l = link_[id.index()];
    const bool fitted = l.free >= 0;
    l.free += l.quanta(f.most) - l.quanta(most);
    if (fitted && l.free < 0) overdrawn_.push_back(id.index());
  }
  f.most = most;
}

void MaxMin::make_calm(std::uint32_t link) {
  Link& l = link_[link];
  std::int64_t free = l.quanta(capacity_[link]);
  for (const FlowTable::Entry e : table_.flows_on(link)) {
    promise(e.flow, flow_[e.flow].rate);
    free -= l.quanta(flow_[e.flow].most);
  }
  if (free < 0) return;
  l.free = free;
  calm_[link] = 1;
}

void MaxMin::wake(std::uint32_t link) {
  if (!calm(link)) return;
  calm_[link] = 0;
  Link& l = link_[link];
  l.free = l.quanta(capacity_[link]);
  for (const FlowTable::Entry e : table_.flows_on(link)) l.free -= l.quanta(flow_[e.flow].rate);
}

void MaxMin::wake_overdrawn() {
  for (const std::uint32_t link : overdrawn_) wake(link);
  overdrawn_.clear();
}

// After a filling: do flows want more of a calm link than it has?
bool MaxMin::overfull() const {
  bool over = false;
  for (const std::uint32_t link : overdrawn_) {
    const Link& l = link_[link];
    std::int64_t free = l.quanta(capacity_[link]);
    for (const FlowTable::Entry e : table_.flows_on(link))
      free -= l.quanta(member_[e.flow] == solve_ ? flow_[e.flow].next_rate : flow_[e.flow].rate);
    over |= free < 0;
  }
  return over;
}

// After a solve: links that it touched become calm where there is room.
void MaxMin::calm_down() {
  wake_overdrawn();
  for (const std::uint32_t link : touched_) {
    const Link& l = link_[link];
    if (l.bound > 0 || l.count < 2 || ((link ^ solve_) & (kCalmPeriod - 1)) != 0) continue;
    if (l.room() > kCalmRoom * capacity_[link]) make_calm(link);
  }
  wake_overdrawn();  // promises were renewed for the newly calm
}

}  // namespace weft::congestion
