#include "topology/routing/graph_routing.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "topology/routing/choice.hpp"

namespace weft::topology {
namespace {
constexpr std::size_t kMaxCacheBytes = std::size_t{1} << 28;
}  // namespace

GraphRouting::GraphRouting(const LinkTable& links, std::uint32_t hosts, std::uint32_t vertices, GraphWay way,
                           std::uint64_t seed)
    : way_(way),
      seed_(seed),
      hosts_(hosts),
      vertices_(vertices),
      hosts_forward_(hosts == vertices),
      offset_(hosts_forward_ ? 0 : hosts),
      first_(vertices + 1, 0),
      in_first_(vertices + 1, 0),
      in_link_(links.size()),
      capacity_(links.capacity) {
  to_.reserve(links.size());
  from_.reserve(links.size());
  for (std::size_t l = 0; l < links.size(); ++l) {
    from_.push_back(links.from[l].index());
    to_.push_back(links.to[l].index());
    ++first_[from_[l] + 1];
    ++in_first_[to_[l] + 1];
  }
  for (std::uint32_t v = 0; v < vertices; ++v) {
    first_[v + 1] += first_[v];
    in_first_[v + 1] += in_first_[v];
  }
  std::vector<std::uint32_t> next(in_first_.begin(), in_first_.end() - 1);
  for (std::uint32_t l = 0; l < to_.size(); ++l) in_link_[next[to_[l]]++] = l;
}

GraphRouting::Aim GraphRouting::aim_of(std::uint32_t host) const {
  if (!hosts_forward_ && in_first_[host + 1] == in_first_[host] + 1) {
    const std::uint32_t last = in_link_[in_first_[host]];
    if (from_[last] >= hosts_) return {from_[last], LinkId(last)};
  }
  return {host, LinkId()};
}

GraphRouting::Row GraphRouting::search(std::uint32_t target) const {
  Row distance(vertices_ - offset_);
  std::vector<std::uint32_t> queue;
  const auto reach = [&](std::uint32_t v, std::uint32_t d) {
    if (v < offset_ || distance[v - offset_] != kFar) return;
    distance.set(v - offset_, d);
    queue.push_back(v);
  };
  const auto reach_before = [&](std::uint32_t v, std::uint32_t d) {
    for (std::uint32_t k = in_first_[v]; k < in_first_[v + 1]; ++k) reach(from_[in_link_[k]], d + 1);
  };
  if (target < offset_) {
    reach_before(target, 0);
  } else {
    reach(target, 0);
  }
  for (std::size_t i = 0; i < queue.size(); ++i) reach_before(queue[i], distance[queue[i] - offset_]);
  return distance;
}

std::uint32_t GraphRouting::far(const Row& row, std::uint32_t v, std::uint32_t target) const {
  if (v == target) return 0;
  if (v >= offset_) return row[v - offset_];
  std::uint32_t best = kFar;
  for (std::uint32_t l = first_[v]; l < first_[v + 1]; ++l) {
    const std::uint32_t to = to_[l];
    if (to == target) return 1;
    if (to >= offset_ && row[to - offset_] != kFar) best = std::min(best, row[to - offset_] + 1);
  }
  return best;
}

std::shared_ptr<const GraphRouting::Row> GraphRouting::row(std::uint32_t target) const {
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = rows_.find(target); it != rows_.end()) return it->second;
  }
  auto made = std::make_shared<const Row>(search(target));
  const std::lock_guard lock(mutex_);
  if ((rows_.size() + 1) * made->bytes() > kMaxCacheBytes) rows_.clear();
  return rows_.emplace(target, std::move(made)).first->second;
}

RouteScope GraphRouting::scope() const { return scope_of(way_); }

bool GraphRouting::route(HostId src, HostId dst, std::vector<LinkId>& out) const {
  const bool by_destination = way_ == GraphWay::kShortest;
  return walk(src, dst, by_destination ? mix_hash(seed_, dst.index()) : pair_key(seed_, src, dst), {}, out);
}

bool GraphRouting::route_message(HostId src, HostId dst, std::uint64_t message, const LinkLoad& load,
                                 std::vector<LinkId>& out) const {
  if (scope() == RouteScope::kPair) return route(src, dst, out);
  return walk(src, dst, message_key(seed_, src, dst, message),
              scope() == RouteScope::kLoad ? load : LinkLoad(), out);
}

bool GraphRouting::walk(HostId src, HostId dst, std::uint64_t key, const LinkLoad& load,
                        std::vector<LinkId>& out) const {
  if (src == dst) return true;
  const Aim aim = aim_of(dst.index());
  const auto distance = row(aim.vertex);
  const Row& d = *distance;
  std::uint32_t at = src.index(), left = far(d, at, aim.vertex);
  if (left == kFar) return false;
  while (at != aim.vertex) {
    const auto closer = [&](std::uint32_t l) {
      const std::uint32_t v = to_[l];
      if (v == aim.vertex) return left == 1;
      return v >= offset_ && d[v - offset_] + 1 == left;
    };
    std::uint64_t n = 0;
    for (std::uint32_t l = first_[at]; l < first_[at + 1]; ++l) n += closer(l) ? 1 : 0;
    WEFT_CHECK(n > 0, "distances and links disagree");
    std::uint64_t skip = n == 1 ? 0 : mix_hash(key, at) % n;
    // Candidate number `skip` first, so that it wins among equals; then those after it, around the end.
    std::uint32_t best = 0;
    double least = 0;
    bool any = false;
    std::uint64_t seen = 0;
    for (int round = 0; round < (load.empty() || n == 1 ? 1 : 2); ++round) {
      seen = 0;
      for (std::uint32_t l = first_[at]; l < first_[at + 1]; ++l) {
        if (!closer(l)) continue;
        const bool mine = (seen++ >= skip) == (round == 0);
        if (!mine) continue;
        const double x = load.empty() ? 0.0 : load[l] / capacity_[l];
        if (any && x >= least) continue;
        best = l;
        least = x;
        any = true;
        if (load.empty()) break;
      }
    }
    out.push_back(LinkId(best));
    at = to_[best];
    --left;
  }
  if (aim.last.valid()) out.push_back(aim.last);
  return true;
}

}  // namespace weft::topology
