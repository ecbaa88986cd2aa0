#include "topology/routing/route_cache.hpp"

#include <algorithm>
#include <limits>

#include "topology/routing/route_latency.hpp"

namespace weft::topology {

RouteCache::RouteCache(const Fabric& fabric, std::size_t max_routes)
    : fabric_(fabric), max_routes_(max_routes), ids_(fabric.host_count()) {}

RouteCache::RouteId RouteCache::open(std::uint32_t host, std::uint64_t key) {
  // Full: start again. Callers copy what they keep, so nothing dangles past the next find().
  if (entries_.size() >= max_routes_ || arena_.size() >= kLinksPerRoute * max_routes_) {
    arena_.clear();
    entries_.clear();
    ids_.clear();
    ++epoch_;
  }
  // A large block takes memory where something is written: all of it at once saves copying what is known, again and again.
  if (entries_.size() == entries_.capacity() && entries_.size() * sizeof(Entry) >= kLargeBlock)
    entries_.reserve(max_routes_);
  const auto id = static_cast<RouteId>(entries_.size());
  ids_.make(host, key, [](const Known&) { return true; }).id = id;
  return id;
}

void RouteCache::add(std::span<const LinkId> links, bool in_host) {
  Entry e;
  e.length = static_cast<std::uint32_t>(links.size());
  e.latency = latency_of(fabric_.links(), links).count();
  e.narrowest = std::numeric_limits<double>::infinity();
  for (const LinkId l : links) e.narrowest = std::min(e.narrowest, fabric_.links().capacity[l.index()]);
  e.kind = in_host ? Kind::kInHost : kind_of(fabric_.links(), links, e.narrowest);
  if (links.size() <= kShort) {
    std::copy(links.begin(), links.end(), e.links.begin());
  } else {
    e.offset = static_cast<std::uint32_t>(arena_.size());
    arena_.insert(arena_.end(), links.begin(), links.end());
  }
  entries_.push_back(e);
}

RouteCache::RouteId RouteCache::id(HostId src, HostId dst) {
  const std::uint64_t key = distance(src, dst);
  if (const Known* const known = ids_.find(src.index(), key)) return known->id;
  const RouteId id = open(src.index(), key);
  found_.clear();
  if (fabric_.routing().route(src, dst, found_))
    add(found_, false);
  else
    entries_.emplace_back();
  return id;
}

RouteCache::RouteId RouteCache::id(LinkId between_sockets) {
  const std::uint64_t key = kSockets | between_sockets.index();
  const auto host = static_cast<std::uint32_t>(between_sockets.index() % fabric_.host_count());
  if (const Known* const known = ids_.find(host, key)) return known->id;
  const RouteId id = open(host, key);
  add({&between_sockets, 1}, true);
  return id;
}

Duration RouteCache::latency_back(RouteId there, HostId src, HostId dst) {
  if (const std::uint32_t back = entries_[there].back; back != 0) return Duration(entries_[back - 1].latency);
  const std::uint32_t before = epoch_;
  const RouteId back = id(dst, src);
  if (epoch_ == before) entries_[there].back = back + 1;
  return Duration(entries_[back].latency);
}

}  // namespace weft::topology
