// Who shares a link: the pairs of ranks whose messages cross it, and copies between accelerators and hosts.
//
// A replay tells its messages and copies (ReplayOptions::on_message, on_copy), PairTraffic adds them up by pair;
// afterwards the routes of the pairs say who crosses a link. The link itself is known only then, so all pairs are kept: 32
// bytes each, up to kMaxPairs, beyond which nothing is known; nor is it with a routing that chooses by message (random,
// adaptive).
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/units.hpp"
#include "topology/fabric.hpp"

namespace weft::predict {

struct LinkSharer {
  RankId src, dst;
  std::uint64_t bytes = 0;
};

struct LinkSharers {
  bool known = false;
  std::uint64_t pairs = 0;       // of ranks that send anything across
  std::uint64_t bytes = 0;       // of all of them
  std::vector<LinkSharer> most;  // those with most bytes, at most kSharersShown, ties by rank
  std::uint64_t copied = 0;      // bytes of copies over links
};

class PairTraffic {
 public:
  static constexpr std::size_t kMaxPairs = 1u << 22;
  static constexpr std::size_t kSharersShown = 8;

  void add(RankId src, RankId dst, Bytes bytes);
  void add_copy(HostId from, HostId to, Bytes bytes);
  // `placement`: host by rank. O(pairs x route).
  [[nodiscard]] LinkSharers sharers_of(LinkId link, const topology::Fabric& fabric,
                                       const std::vector<HostId>& placement) const;

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> bytes_;   // src << 32 | dst
  std::unordered_map<std::uint64_t, std::uint64_t> copied_;  // by hosts, from << 32 | to: two a rank at most
  bool overflow_ = false;
};

}  // namespace weft::predict
