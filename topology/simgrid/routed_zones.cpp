#include "topology/simgrid/routed_zones.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <utility>

namespace weft::topology::simgrid {
namespace {

void append_links(std::vector<std::uint32_t>& out, const std::vector<std::uint32_t>& links) {
  out.insert(out.end(), links.begin(), links.end());
}

}  // namespace

void RoutedZone::walk(const Network& /*net*/, Places& places) const {
  for (const auto& [pair, leg] : legs_) {
    const auto src = static_cast<std::uint32_t>(pair >> 32), dst = static_cast<std::uint32_t>(pair);
    if (src == dst) continue;
    places.walk(leg.begins == kNone ? members[src] : leg.begins, leg.ends == kNone ? members[dst] : leg.ends,
                leg.links);
  }
}

bool RoutedZone::may_repeat() const {
  if (!joins_legs()) return false;
  // A leg and its way back are one cable.
  std::map<std::uint32_t, Pair> taken;
  for (const auto& [pair, leg] : legs_) {
    const auto src = static_cast<std::uint32_t>(pair >> 32), dst = static_cast<std::uint32_t>(pair);
    for (const std::uint32_t l : leg.links)
      if (const Pair ends = key(std::min(src, dst), std::max(src, dst));
          taken.try_emplace(l, ends).first->second != ends)
        return true;
  }
  return false;
}

bool RoutedZone::join(const Network& net, const std::vector<const Leg*>& path, Leg& out) {
  out.begins = path.back()->begins;
  out.ends = path.front()->ends;
  std::uint32_t at = kNone;
  for (std::size_t i = path.size(); i-- > 0;) {
    const Leg& next = *path[i];
    if (at != kNone && at != next.begins) {
      // What a netzone does not tell between two of its gateways is no way through it.
      const Point &from = net.points[at], &to = net.points[next.begins];
      if (from.zone == to.zone && net.zones[from.zone]->is_untold(from.number, to.number)) return false;
      if (!net.route(at, next.begins, out.links)) return false;
    }
    append_links(out.links, next.links);
    at = next.ends;
  }
  return true;
}

bool FullZone::leg(const Network& /*net*/, std::uint32_t src, std::uint32_t dst, Leg& out) const {
  const Leg* told = find(src, dst);
  out = told != nullptr ? *told : Leg{};
  return true;
}

Result<void> FloydZone::seal() {
  const std::size_t n = members.size();
  if (n > kMostMembers)
    return not_supported(fmt::format("netzone {} with routing=\"Floyd\" and {} members", name, n),
                         fmt::format("at most {}, or routing=\"Dijkstra\"", kMostMembers));
  constexpr std::uint64_t kFar = ~std::uint64_t{0};
  std::vector<std::uint64_t> cost(n * n, kFar);
  before_.assign(n * n, kNone);
  for (const auto& [pair, leg] : legs_) {
    const std::size_t src = pair >> 32, dst = pair & 0xffffffffu;
    cost[src * n + dst] = leg.links.size();
    before_[src * n + dst] = static_cast<std::uint32_t>(src);
  }
  for (std::size_t via = 0; via < n; ++via)
    for (std::size_t a = 0; a < n; ++a) {
      const std::uint64_t first = cost[a * n + via];
      if (first == kFar) continue;
      for (std::size_t b = 0; b < n; ++b) {
        const std::uint64_t second = cost[via * n + b];
        if (second == kFar || first + second >= cost[a * n + b]) continue;
        cost[a * n + b] = first + second;
        before_[a * n + b] = before_[via * n + b];
      }
    }
  return {};
}

bool FloydZone::leg(const Network& net, std::uint32_t src, std::uint32_t dst, Leg& out) const {
  std::vector<const Leg*> path;
  for (std::uint32_t at = dst; at != src;) {
    const std::uint32_t before = before_[std::size_t{src} * members.size() + at];
    if (before == kNone) return false;
    path.push_back(find(before, at));
    at = before;
  }
  return join(net, path, out);
}

Result<void> DijkstraZone::seal() {
  node_of_.assign(members.size(), kNone);
  const auto node = [&](std::uint32_t member) {
    if (node_of_[member] == kNone) {
      node_of_[member] = static_cast<std::uint32_t>(member_of_.size());
      member_of_.push_back(member);
      from_.emplace_back();
    }
    return node_of_[member];
  };
  for (const Told& t : told_) {
    const std::uint32_t src = node(t.src), dst = node(t.dst);
    from_[src].emplace_back(dst, find(t.src, t.dst));
  }
  return {};
}

const std::vector<std::uint32_t>& DijkstraZone::ways_from(std::uint32_t start) const {
  if (const auto at = found_.find(start); at != found_.end()) return at->second;
  if (member_of_.size() > kMostKept) found_.clear();
  constexpr std::uint64_t kFar = ~std::uint64_t{0};
  std::vector<std::uint64_t> cost(member_of_.size(), kFar);
  std::vector<std::uint32_t>& before = found_[start];
  before.assign(member_of_.size(), kNone);
  using Entry = std::pair<std::uint64_t, std::uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  cost[start] = 0;
  queue.emplace(0, start);
  while (!queue.empty()) {
    const auto [so_far, at] = queue.top();
    queue.pop();
    if (so_far != cost[at]) continue;
    for (const auto& [to, over] : from_[at])
      if (so_far + over->links.size() < cost[to]) {
        cost[to] = so_far + over->links.size();
        before[to] = at;
        queue.emplace(cost[to], to);
      }
  }
  return before;
}

bool DijkstraZone::leg(const Network& net, std::uint32_t src, std::uint32_t dst, Leg& out) const {
  const std::uint32_t start = node_of_[src], end = node_of_[dst];
  if (start == kNone || end == kNone) return false;
  std::vector<const Leg*> path;
  {
    const std::lock_guard lock(mutex_);
    const std::vector<std::uint32_t>& before = ways_from(start);
    if (before[end] == kNone) return false;
    for (std::uint32_t at = end; at != start; at = before[at])
      path.push_back(find(member_of_[before[at]], member_of_[at]));
  }
  return join(net, path, out);
}

void StarZone::join(std::uint32_t member, std::uint32_t up, std::uint32_t down,
                    std::optional<std::uint32_t> backbone) {
  Ways& ways = of(member);
  ways.has_up = ways.has_down = true;
  ways.up = {up};
  ways.down = {down};
  if (!backbone) return;
  ways.up.push_back(*backbone);
  ways.down.insert(ways.down.begin(), *backbone);
}

bool StarZone::leg(const Network& /*net*/, std::uint32_t src, std::uint32_t dst, Leg& out) const {
  const Ways none;
  const Ways& from = src < ways_.size() ? ways_[src] : none;
  const Ways& to = dst < ways_.size() ? ways_[dst] : none;
  // A member of which nothing is told is in the middle.
  if ((!from.has_up && from.has_down) || (!to.has_down && to.has_up)) return false;
  for (const std::vector<std::uint32_t>* way : {&from.up, &to.down})
    for (const std::uint32_t l : *way)
      if (std::ranges::find(out.links, l) == out.links.end()) out.links.push_back(l);
  out.begins = from.gateway;
  out.ends = to.gateway;
  return true;
}

// Whole legs, since what is on both ways is between the two: the first member with all others, and the second with the third
// joins what the first one has in front of it and behind it.
void StarZone::walk(const Network& net, Places& places) const {
  // A member without links of its own, as the router of a cluster, would be on both sides of a link that is in the middle.
  std::vector<std::uint32_t> around;
  for (std::uint32_t m = 0; m < members.size(); ++m)
    if (parent != kNone || (m < ways_.size() && !(ways_[m].up.empty() && ways_[m].down.empty())))
      around.push_back(m);
  const std::size_t n = around.size();
  const auto pair = [&](std::uint32_t src, std::uint32_t dst) {
    Leg found;
    if (src == dst || !leg(net, src, dst, found)) return;
    const auto place = [&](std::uint32_t gateway, std::uint32_t member) {
      return gateway != kNone ? gateway : members[member];
    };
    places.walk(place(found.begins, src), place(found.ends, dst), found.links);
  };
  for (std::size_t i = 1; i < n; ++i) {
    pair(around[0], around[i]);
    pair(around[i], around[0]);
  }
  for (std::size_t i = 2; i < n; ++i) pair(around[i - 1], around[i]);
}

}  // namespace weft::topology::simgrid
