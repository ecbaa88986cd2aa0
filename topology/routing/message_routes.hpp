// MessageRoutes: chooses the links of each message where the routing decides for every one of them (RouteScope).
//
// A message's route is chosen when it starts; until it is given back the message counts on each of its links, the time in which it waits
// out the latency included: what starts at one instant sees each other, in the order of the calls. Messages are numbered in
// that order, all or those of each counter of the routing alone, for routings that draw or take turns. Complexity: the routing's, and O(links of the route).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

class MessageRoutes {
 public:
  // `fabric` outlives it.
  explicit MessageRoutes(const Fabric& fabric) : fabric_(fabric), load_(fabric.link_count()) {}

  // Appends the links of the next message. False: no way leads there, and nothing is appended.
  [[nodiscard]] bool choose(HostId src, HostId dst, std::vector<LinkId>& out) {
    const std::size_t before = out.size();
    const bool reached = fabric_.routing().route_message(src, dst, next_number(src, dst), load_, out);
    if (!reached) out.resize(before);
    for (std::size_t i = before; i < out.size(); ++i) ++load_[out[i].index()];
    return reached;
  }
  // A message has left these links.
  void give_back(std::span<const LinkId> links) {
    for (const LinkId l : links) --load_[l.index()];
  }

 private:
  [[nodiscard]] std::uint64_t next_number(HostId src, HostId dst) {
    const std::optional<std::uint32_t> counter = fabric_.routing().counter(src, dst);
    if (!counter) return chosen_++;
    if (*counter >= chosen_by_.size()) chosen_by_.resize(*counter + std::size_t{1}, 0);
    return chosen_by_[*counter]++;
  }

  const Fabric& fabric_;
  std::uint64_t chosen_ = 0;              // by no counter
  std::vector<std::uint64_t> chosen_by_;  // by counter
  std::vector<std::uint32_t> load_;       // messages by link
};

}  // namespace weft::topology
