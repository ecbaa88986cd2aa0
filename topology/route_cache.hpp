// RouteCache: routes on demand, kept in one arena. Memory is bounded by `max_entries`, never by hosts
// squared.
//
// A span returned by find() is valid until the next call of find(). Not thread-safe: one per engine.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

class RouteCache {
 public:
  struct Route {
    std::span<const LinkId> links;
    Duration latency{0};  // sum over the links
    bool reachable = true;
  };
  explicit RouteCache(const Fabric& fabric, std::size_t max_links = std::size_t{1} << 26);
  // O(1) after the first use of a pair.
  [[nodiscard]] Route find(HostId src, HostId dst);

 private:
  struct Slot {
    std::uint64_t key;
    std::uint32_t offset;
    std::uint32_t length;
    std::int64_t latency;
  };
  void grow();
  void insert(std::uint64_t key, std::uint32_t offset, std::uint32_t length, std::int64_t latency);
  const Fabric& fabric_;
  std::size_t max_links_;
  std::vector<Slot> slots_;  // open addressing, power of two
  std::size_t used_ = 0;
  std::vector<LinkId> arena_;
};

}  // namespace weft::topology
