// RouteCache: routes on demand, each with its links on one cache line if it is not long: who replays the messages of thousands of
// ranks waits for most of them. Memory is bounded by `max_routes`, never by hosts squared: some 100 bytes a route, and 4 for each
// link of the long ones, of which there are at most 16 x max_routes (together 180 MB by default). When it is full it starts
// again, which costs each pair that is still in use one more search.
//
// A span returned by find() or at() is valid until the next call of find() or id(). Not thread-safe: one per engine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/containers/grouped_table.hpp"
#include "core/containers/large_blocks.hpp"
#include "topology/fabric.hpp"
#include "topology/routing/route_limit.hpp"

namespace weft::topology {

class RouteCache {
 public:
  enum class Kind : std::uint32_t {
    kShared,  // between hosts; links that flows share are what limits them
    kPipe,    // between hosts; the narrowest link is a fatpipe, perhaps beside others as narrow
    kInHost,  // a link between sockets of one host (Fabric::socket_link)
    kUnreachable
  };
  struct Route {
    std::span<const LinkId> links;
    Duration latency{0};  // sum over the links
    bool reachable = true;
    double narrowest = 0;  // least capacity on it, bytes/s; infinity without links
    Kind kind = Kind::kShared;
    [[nodiscard]] bool in_host() const { return kind == Kind::kInHost; }
    // The limit of a flow that may itself go at `cap`. Sharing keeps it below the narrowest link where that is shared.
    [[nodiscard]] double limit(double cap) const {
      return kind == Kind::kPipe ? std::min(cap, narrowest) : cap;
    }
  };
  // A route to come back to without a search, as long as epoch() is that of its id().
  using RouteId = std::uint32_t;
  explicit RouteCache(const Fabric& fabric, std::size_t max_routes = std::size_t{1} << 20);
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  // O(1) after the first use of a pair.
  [[nodiscard]] Route find(HostId src, HostId dst) { return at(id(src, dst)); }
  [[nodiscard]] RouteId id(HostId src, HostId dst);
  // The route that is this link between sockets.
  [[nodiscard]] RouteId id(LinkId between_sockets);
  // Ids of an earlier epoch are void: the cache was full and started again.
  [[nodiscard]] std::uint32_t epoch() const { return epoch_; }
  [[nodiscard]] Route at(RouteId id) const {
    const Entry& e = entries_[id];
    if (e.kind == Kind::kUnreachable) [[unlikely]]
      return {{}, Duration(0), false, 0, Kind::kUnreachable};
    return {links_of(e), Duration(e.latency), true, e.narrowest, e.kind};
  }
  // That of a route between hosts. O(1) without fatpipes.
  [[nodiscard]] static Kind kind_of(const LinkTable& links, std::span<const LinkId> route, double narrowest) {
    return links.fatpipes && fatpipe_limit(links, route) <= narrowest ? Kind::kPipe : Kind::kShared;
  }
  // Latency of the way back of a route from src to dst. May start an epoch.
  [[nodiscard]] Duration latency_back(RouteId id, HostId src, HostId dst);
  // A hint to the processor: the route will be asked for soon.
  void prefetch(RouteId id) const { __builtin_prefetch(&entries_[id]); }
  void prefetch(HostId src, HostId dst) const { ids_.prefetch(src.index(), distance(src, dst)); }

 private:
  static constexpr std::size_t kShort = 8;  // links that stand in the row
  static constexpr std::size_t kLinksPerRoute = 16;
  static constexpr std::uint64_t kSockets = std::uint64_t{1} << 32;  // beyond all distances
  struct Known {
    static constexpr std::uint64_t kFree = ~0ULL;
    std::uint64_t key = kFree;
    RouteId id = 0;
    std::uint32_t reserved = 0;
  };
  struct alignas(64) Entry {
    std::int64_t latency = 0;
    double narrowest = 0;
    std::uint32_t back = 0;    // 1 + id of the way back, 0: not asked for yet
    std::uint32_t offset = 0;  // in arena_, of a long one
    std::uint32_t length = 0;
    Kind kind = Kind::kUnreachable;
    std::array<LinkId, kShort> links;
  };
  template <class T>
  using Table = std::vector<T, LargeBlocks<T>>;
  static_assert(sizeof(Known) == 16 && sizeof(Entry) == 64);
  [[nodiscard]] std::span<const LinkId> links_of(const Entry& e) const {
    if (e.length <= kShort) [[likely]]
      return {e.links.data(), e.length};
    return {arena_.data() + e.offset, e.length};
  }
  static std::uint64_t distance(HostId src, HostId dst) { return dst.index() - src.index(); }  // of 32 bits
  // Room for one more, whose id it is.
  [[nodiscard]] RouteId open(std::uint32_t host, std::uint64_t key);
  // The row of it.
  void add(std::span<const LinkId> links, bool in_host);
  const Fabric& fabric_;
  std::size_t max_routes_;
  GroupedTable<Known> ids_;  // routes from a host by distance; links between sockets by number
  Table<Entry> entries_;
  Table<LinkId> arena_;        // links of long routes
  std::vector<LinkId> found_;  // by the routing
  std::uint32_t epoch_ = 0;
};

}  // namespace weft::topology
