// GraphRouting: shortest paths on any graph, counted in links. For families without a closed form (slim-fly, jellyfish,
// file) and for pairs that a failure cut off from their usual route.
//
// Distances to a target come from one breadth-first search backwards over the links, kept in a bounded cache (uint16
// per switch, uint32 of 65,535 switches or more; hosts that hang on a switch by one link share its row). A route steps
// along links that come one closer; of several, parallel cables included,
//   shortest  takes one by a hash of the destination and the switch: one tree per destination
//   ecmp      takes one by a hash of the pair and the switch
//   random    draws anew for every message
//   adaptive  takes the one with the fewest messages per bandwidth at the start of the message
// Hosts pass nothing on, unless every vertex is a host. Thread-safe; O(degree x length) per route once the row is
// there, O(links) before. What is routed does not depend on the cache.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topology/fabric.hpp"
#include "topology/words.hpp"

namespace weft::topology {

enum class GraphWay : std::uint8_t { kShortest, kEcmp, kRandom, kAdaptive };
inline constexpr std::array<Word<GraphWay>, 4> kGraphRoutings = {{{"shortest", GraphWay::kShortest},
                                                                  {"ecmp", GraphWay::kEcmp},
                                                                  {"random", GraphWay::kRandom},
                                                                  {"adaptive", GraphWay::kAdaptive}}};

class GraphRouting final : public Routing {
 public:
  // `links`: sorted by their first vertex, as in a Fabric.
  GraphRouting(const LinkTable& links, std::uint32_t hosts, std::uint32_t vertices, GraphWay way,
               std::uint64_t seed);

  bool route(HostId src, HostId dst, std::vector<LinkId>& out) const override;
  bool route_message(HostId src, HostId dst, std::uint64_t message, const LinkLoad& load,
                     std::vector<LinkId>& out) const override;
  RouteScope scope() const override;
  std::string_view name() const override { return text_of(kGraphRoutings, way_); }
  // Searches from 256 switches with hosts at once (graph_hops.cpp); nullopt beyond about 2^30 steps.
  std::optional<HopHistogram> hop_histogram() const override;
  std::uint64_t search_steps() const override { return vertices_ + std::uint64_t{to_.size()}; }

 private:
  static constexpr std::uint32_t kFar = ~0u;
  // Distance of every vertex from offset_ on to the row's target, which is at most the number of them.
  class Row {
   public:
    explicit Row(std::size_t n) {
      if (n < kNarrowFar)
        narrow_.resize(n, kNarrowFar);
      else
        wide_.resize(n, kFar);
    }
    [[nodiscard]] std::uint32_t operator[](std::size_t i) const {
      if (narrow_.empty()) return wide_[i];
      return narrow_[i] == kNarrowFar ? kFar : narrow_[i];
    }
    void set(std::size_t i, std::uint32_t distance) {
      if (narrow_.empty())
        wide_[i] = distance;
      else
        narrow_[i] = static_cast<std::uint16_t>(distance);
    }
    [[nodiscard]] std::size_t bytes() const {
      return narrow_.size() * sizeof(std::uint16_t) + wide_.size() * sizeof(std::uint32_t);
    }

   private:
    static constexpr std::uint16_t kNarrowFar = 0xffff;
    std::vector<std::uint16_t> narrow_;
    std::vector<std::uint32_t> wide_;
  };
  // Where routes to a host are aimed: its switch if one link leads to it, else itself.
  struct Aim {
    std::uint32_t vertex;
    LinkId last;  // none: `vertex` is the host
  };
  [[nodiscard]] Aim aim_of(std::uint32_t host) const;
  // Distance of any vertex, hosts without a place in the row included.
  [[nodiscard]] std::uint32_t far(const Row& row, std::uint32_t v, std::uint32_t target) const;
  [[nodiscard]] Row search(std::uint32_t target) const;
  [[nodiscard]] std::shared_ptr<const Row> row(std::uint32_t target) const;
  bool walk(HostId src, HostId dst, std::uint64_t key, const LinkLoad& load, std::vector<LinkId>& out) const;

  GraphWay way_;
  std::uint64_t seed_;
  std::uint32_t hosts_, vertices_;
  bool hosts_forward_;
  std::uint32_t offset_;                           // first vertex that passes messages on: 0 or hosts_
  std::vector<std::uint32_t> first_, to_;          // links out of a vertex
  std::vector<std::uint32_t> in_first_, in_link_;  // links into a vertex
  std::vector<std::uint32_t> from_;
  std::vector<double> capacity_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::uint32_t, std::shared_ptr<const Row>> rows_;
};

}  // namespace weft::topology
