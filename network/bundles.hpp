// Bundles: many flows of one route, limit and weight as one flow of the sharing model.
//
// Such flows always have the same rate, so a model that shares by weight (SharingModel::weight_counts_flows()) may see
// n of them as one flow of n times the weight and limit. How much each has been served grows for all alike: a member
// that joins at service s with b bytes ends at service s + b, whatever the rates until then, and the next to end is the
// top of a heap. A change costs O(log members) instead of O(members): 60,000 messages of one pair took time by their
// square.
//
// Only where several flows are: kinds are looked up only on routes all of whose links are crowded (the Network looks).
// Elsewhere nothing of this is touched and every rate is computed as ever, to the bit.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/id.hpp"
#include "network/clock.hpp"

namespace weft::network {

struct Bundle {
  struct Member {
    double end = 0;  // service at which it ends
    std::uint64_t order = 0;
    std::uint32_t owner = 0;
    bool operator<(const Member& o) const {
      return end != o.end ? end > o.end : order > o.order;
    }  // heap: least first
  };
  FlowId flow;        // of the model
  double weight = 1;  // of a member
  double limit = 0;   // of a member
  double served = 0;  // bytes that every member got since the bundle began, at `updated`
  double rate = 0;    // of a member
  Instant updated;
  bool changed = false;    // the model does not count its members right
  std::uint64_t kind = 0;  // key of its kind
  std::vector<Member> members;

  void advance(Instant now) {
    served += rate * (now - updated).seconds();
    updated = now;
  }
  void join(double bytes, std::uint64_t order, std::uint32_t owner) {
    members.push_back({served + bytes, order, owner});
    std::push_heap(members.begin(), members.end());
  }
  std::uint32_t pop() {
    std::pop_heap(members.begin(), members.end());
    const std::uint32_t owner = members.back().owner;
    members.pop_back();
    return owner;
  }
};

class Bundles {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  // Flows on every link of a crowded route; of a route of one link, as between the sockets of a host: what shares it is
  // mostly of one kind, and a bundle that has the link to itself needs no solve.
  static constexpr std::uint32_t kCrowded = 4;
  static constexpr std::uint32_t kCrowdedLink = 2;
  // What flows of one kind have in common, hashed: a bundle checks for equality.
  static std::uint64_t kind_of(std::span<const LinkId> route, double weight, double limit) {
    std::uint64_t h =
        std::bit_cast<std::uint64_t>(weight) * 0x9e3779b97f4a7c15ULL + std::bit_cast<std::uint64_t>(limit);
    for (const LinkId l : route) {
      h = (h ^ l.index()) * 0xbf58476d1ce4e5b9ULL;
      h ^= h >> 29;
    }
    return h | 1;  // 0: an empty row
  }
  struct Kind {
    std::uint64_t key = 0;
    std::uint32_t bundle = kNone;
  };
  Kind& kind(std::uint64_t key) {
    while (true) {
      for (std::size_t i = slot_of(key); i < kinds_.size(); i = (i + 1) & (kinds_.size() - 1)) {
        if (kinds_[i].key == key) return kinds_[i];
        if (kinds_[i].key != 0) continue;
        if ((used_ + 1) * 2 > kinds_.size()) break;
        ++used_;
        kinds_[i].key = key;
        return kinds_[i];
      }
      rebuild();
    }
  }
  // A bundle without members; reuses the memory of one that is over.
  std::uint32_t open() {
    if (free_.empty()) {
      bundles_.emplace_back();
      return static_cast<std::uint32_t>(bundles_.size() - 1);
    }
    const std::uint32_t b = free_.back();
    free_.pop_back();
    return b;
  }
  void close(std::uint32_t b) { free_.push_back(b); }
  Bundle& operator[](std::uint32_t b) { return bundles_[b]; }
  const Bundle& operator[](std::uint32_t b) const { return bundles_[b]; }

 private:
  [[nodiscard]] std::size_t slot_of(std::uint64_t key) const {
    return kinds_.empty() ? 0 : static_cast<std::size_t>(key ^ (key >> 32)) & (kinds_.size() - 1);
  }
  void rebuild() {
    std::size_t live = 0;
    for (const Kind& k : kinds_) live += k.bundle != kNone;
    std::vector<Kind> old(kinds_.empty()             ? 256
                          : live * 4 > kinds_.size() ? kinds_.size() * 2
                                                     : kinds_.size());
    old.swap(kinds_);
    used_ = 0;
    for (const Kind& k : old) {
      if (k.bundle == kNone) continue;
      std::size_t i = slot_of(k.key);
      while (kinds_[i].key != 0) i = (i + 1) & (kinds_.size() - 1);
      kinds_[i] = k;
      ++used_;
    }
  }

  std::vector<Kind> kinds_;  // open addressing, power of two
  std::vector<Bundle> bundles_;
  std::vector<std::uint32_t> free_;
  std::size_t used_ = 0;
};

}  // namespace weft::network
