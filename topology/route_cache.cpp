#include "topology/route_cache.hpp"

namespace weft::topology {
namespace {
constexpr std::uint64_t kEmpty = ~0ULL;
constexpr std::uint32_t kUnreachable = ~0u;
std::size_t mix(std::uint64_t k) {
  k *= 0x9e3779b97f4a7c15ULL;
  return static_cast<std::size_t>(k ^ (k >> 29));
}
}  // namespace

RouteCache::RouteCache(const Fabric& fabric, std::size_t max_links)
    : fabric_(fabric), max_links_(max_links), slots_(1024, Slot{kEmpty, 0, 0, 0}) {}

void RouteCache::insert(std::uint64_t key, std::uint32_t offset, std::uint32_t length, std::int64_t latency) {
  std::size_t i = mix(key) & (slots_.size() - 1);
  while (slots_[i].key != kEmpty) i = (i + 1) & (slots_.size() - 1);
  slots_[i] = {key, offset, length, latency};
}

void RouteCache::grow() {
  std::vector<Slot> old(slots_.size() * 2, Slot{kEmpty, 0, 0, 0});
  old.swap(slots_);
  for (const Slot& s : old)
    if (s.key != kEmpty) insert(s.key, s.offset, s.length, s.latency);
}

RouteCache::Route RouteCache::find(HostId src, HostId dst) {
  const std::uint64_t key = (static_cast<std::uint64_t>(src.index()) << 32) | dst.index();
  for (std::size_t i = mix(key) & (slots_.size() - 1); slots_[i].key != kEmpty;
       i = (i + 1) & (slots_.size() - 1)) {
    const Slot& s = slots_[i];
    if (s.key != key) continue;
    if (s.length == kUnreachable) return {{}, Duration(0), false};
    return {std::span<const LinkId>(arena_).subspan(s.offset, s.length), Duration(s.latency), true};
  }
  // Full: start again. Callers copy what they keep, so nothing dangles past the next find().
  if (arena_.size() > max_links_ || used_ > max_links_) {
    arena_.clear();
    slots_.assign(1024, Slot{kEmpty, 0, 0, 0});
    used_ = 0;
  }
  if ((used_ + 1) * 2 > slots_.size()) grow();
  ++used_;
  const auto offset = static_cast<std::uint32_t>(arena_.size());
  if (!fabric_.routing().route(src, dst, arena_)) {
    arena_.resize(offset);
    insert(key, 0, kUnreachable, 0);
    return {{}, Duration(0), false};
  }
  std::int64_t latency = 0;
  const auto links = std::span<const LinkId>(arena_).subspan(offset);
  for (LinkId l : links) latency += fabric_.links().latency[l.index()].count();
  insert(key, offset, static_cast<std::uint32_t>(links.size()), latency);
  return {links, Duration(latency), true};
}

}  // namespace weft::topology
