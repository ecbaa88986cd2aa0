// Netzones whose legs the file tells one by one: Full (as told), Floyd and Dijkstra (shortest paths over those that are told), Cluster
// (up from one point, down to another).
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/result.hpp"
#include "topology/simgrid/network.hpp"

namespace weft::topology::simgrid {

// Legs between pairs of members, each pair at most once.
class RoutedZone : public Zone {
 public:
  // False: there is one already.
  virtual bool add(std::uint32_t src, std::uint32_t dst, Leg leg) {
    return legs_.emplace(key(src, dst), std::move(leg)).second;
  }
  // When all members and legs are there. Error (kNotSupported): more than the zone's algorithm is for.
  [[nodiscard]] virtual Result<void> seal() { return {}; }
  void walk(const Network& net, Places& places) const override;
  // Of the legs told, each of which has a link at most once.
  [[nodiscard]] bool may_repeat() const override;

 protected:
  using Pair = std::uint64_t;
  static Pair key(std::uint32_t src, std::uint32_t dst) { return std::uint64_t{src} << 32 | dst; }
  [[nodiscard]] const Leg* find(std::uint32_t src, std::uint32_t dst) const {
    const auto at = legs_.find(key(src, dst));
    return at == legs_.end() ? nullptr : &at->second;
  }
  // Legs one after the other, in `path` from the last to the first, and between them from gateway to gateway.
  static bool join(const Network& net, const std::vector<const Leg*>& path, Leg& out);
  [[nodiscard]] virtual bool joins_legs() const { return true; }

  std::map<Pair, Leg> legs_;  // ordered, so that what goes over all of them has one order
};

// What is not told has no links, as in SimGrid (FullZone::get_local_route): between two hosts that is no route, but in front of
// a gateway or behind one a route that has the links of others.
class FullZone final : public RoutedZone {
 public:
  [[nodiscard]] bool is_untold(std::uint32_t src, std::uint32_t dst) const override {
    return find(src, dst) == nullptr && !bypasses.contains(std::pair(members[src], members[dst]));
  }
  [[nodiscard]] bool leg(const Network& net, std::uint32_t src, std::uint32_t dst, Leg& out) const override;

 protected:
  [[nodiscard]] bool joins_legs() const override { return false; }
};

// Fewest links, found for all pairs at once: O(members^3) once, 4 bytes a pair. Of several, the one that Floyd's algorithm meets first over
// the members in their order.
class FloydZone final : public RoutedZone {
 public:
  static constexpr std::size_t kMostMembers = 2048;
  [[nodiscard]] Result<void> seal() override;
  [[nodiscard]] bool leg(const Network& net, std::uint32_t src, std::uint32_t dst, Leg& out) const override;

 private:
  std::vector<std::uint32_t> before_;  // by (src, dst): the member before dst on the way; kNone: no way
};

// Fewest links, to all members at once from each that a route begins at: O(legs log members). What is found is kept, 4 bytes a
// pair; among many members what the last beginning gave. Of several, the one whose members come first in the order in which legs name
// them.
class DijkstraZone final : public RoutedZone {
 public:
  [[nodiscard]] Result<void> seal() override;
  [[nodiscard]] bool leg(const Network& net, std::uint32_t src, std::uint32_t dst, Leg& out) const override;
  bool add(std::uint32_t src, std::uint32_t dst, Leg leg) override {
    told_.push_back({src, dst});
    return RoutedZone::add(src, dst, std::move(leg));
  }

 private:
  static constexpr std::size_t kMostKept = 2048;  // members of whom all that is found is kept
  struct Told {
    std::uint32_t src, dst;
  };
  // By node: the one before it on the way from `start`; kNone: no way. REQUIRES: mutex_ is held.
  [[nodiscard]] const std::vector<std::uint32_t>& ways_from(std::uint32_t start) const;
  std::vector<Told> told_;                                               // in this order
  std::vector<std::uint32_t> node_of_;                                   // by member; kNone: no leg names it
  std::vector<std::uint32_t> member_of_;                                 // by node
  std::vector<std::vector<std::pair<std::uint32_t, const Leg*>>> from_;  // by node: to whom
  mutable std::mutex mutex_;                                             // several threads ask for routes
  mutable std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>
      found_;  // by node that routes begin at
};

// All members around one place.
class StarZone final : public Zone {
 public:
  struct Ways {
    std::vector<std::uint32_t> up, down;
    std::uint32_t gateway = kNone;
    bool has_up = false, has_down = false;
  };
  Ways& of(std::uint32_t member) {
    if (ways_.size() <= member) ways_.resize(member + 1);
    return ways_[member];
  }
  // A member behind a link each way, and in front of the backbone, if there is one.
  void join(std::uint32_t member, std::uint32_t up, std::uint32_t down,
            std::optional<std::uint32_t> backbone);
  // A link that is on both ways is taken once.
  [[nodiscard]] bool leg(const Network& net, std::uint32_t src, std::uint32_t dst, Leg& out) const override;
  void walk(const Network& net, Places& places) const override;

 private:
  std::vector<Ways> ways_;
};

}  // namespace weft::topology::simgrid
