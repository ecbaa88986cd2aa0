#include "topology/routing/route_cache.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "topology/routing/route_latency.hpp"

namespace weft::topology {
namespace {
constexpr std::uint64_t kEmpty = ~0ULL;
constexpr std::size_t kLeast = 1024;
int shift_of(std::size_t slots) { return 66 - std::countr_zero(slots); }
}  // namespace

RouteCache::RouteCache(const Fabric& fabric, std::size_t max_routes)
    : fabric_(fabric),
      max_routes_(max_routes),
      slots_(kLeast, Slot{kEmpty, 0, 0}),
      shift_(shift_of(kLeast)) {}

void RouteCache::insert(std::uint64_t key, RouteId id) {
  std::size_t i = slot_of(key);
  while (slots_[i].key != kEmpty) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = {key, id, 0};
}

void RouteCache::grow() {
  Table<Slot> old(slots_.size() * 2, Slot{kEmpty, 0, 0});
  old.swap(slots_);
  shift_ = shift_of(slots_.size());
  for (const Slot& s : old)
    if (s.key != kEmpty) insert(s.key, s.id);
}

std::optional<RouteCache::RouteId> RouteCache::known(std::uint64_t key) {
  for (std::size_t i = slot_of(key); slots_[i].key != kEmpty; i = (i + 1) & (slots_.size() - 1)) {
    if (slots_[i].key == key) return slots_[i].id;
    ++steps_;
  }
  return std::nullopt;
}

RouteCache::RouteId RouteCache::open(std::uint64_t key) {
  // Full: start again. Callers copy what they keep, so nothing dangles past the next find().
  if (entries_.size() >= max_routes_ || arena_.size() >= kLinksPerRoute * max_routes_) {
    arena_.clear();
    entries_.clear();
    slots_.assign(kLeast, Slot{kEmpty, 0, 0});
    shift_ = shift_of(kLeast);
    ++epoch_;
  }
  if ((entries_.size() + 1) * 2 > slots_.size()) grow();
  // A large block takes memory where something is written: all of it at once saves copying what is known, again and again.
  if (entries_.size() == entries_.capacity() && entries_.size() * sizeof(Entry) >= kLargeBlock)
    entries_.reserve(max_routes_);
  const auto id = static_cast<RouteId>(entries_.size());
  insert(key, id);
  return id;
}

void RouteCache::add(std::span<const LinkId> links, Kind kind) {
  Entry e;
  e.kind = kind;
  e.length = static_cast<std::uint32_t>(links.size());
  e.latency = latency_of(fabric_.links(), links).count();
  e.narrowest = std::numeric_limits<double>::infinity();
  for (const LinkId l : links) e.narrowest = std::min(e.narrowest, fabric_.links().capacity[l.index()]);
  if (links.size() <= kShort) {
    std::copy(links.begin(), links.end(), e.links.begin());
  } else {
    e.offset = static_cast<std::uint32_t>(arena_.size());
    arena_.insert(arena_.end(), links.begin(), links.end());
  }
  entries_.push_back(e);
}

RouteCache::RouteId RouteCache::id(HostId src, HostId dst) {
  const std::uint64_t key = key_of(src, dst);
  if (const auto found = known(key)) return *found;
  const RouteId id = open(key);
  found_.clear();
  if (fabric_.routing().route(src, dst, found_))
    add(found_, Kind::kBetweenHosts);
  else
    entries_.emplace_back();
  return id;
}

RouteCache::RouteId RouteCache::id(LinkId between_sockets) {
  const std::uint64_t key = key_of(between_sockets);
  if (const auto found = known(key)) return *found;
  const RouteId id = open(key);
  add({&between_sockets, 1}, Kind::kInHost);
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
