// MessageRoutes: chooses the links of each message where the routing decides for every one of them (RouteScope).
//
// A message's route is chosen when it starts; until it is given back the message counts on each of its links, the time in which it waits
// out the latency included: what starts at one instant sees each other, in the order of the calls. Messages are numbered in
// that order, all or those of each host alone, for routings that draw or take turns. Complexity: the routing's, and O(links of the route).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

class MessageRoutes {
 public:
  // `fabric` outlives it.
  explicit MessageRoutes(const Fabric& fabric) : fabric_(fabric), load_(fabric.link_count()) {
    if (fabric.routing().numbers_by_source()) chosen_by_.resize(fabric.host_count(), 0);
  }

  // Appends the links of the next message. False: no way leads there, and nothing is appended.
  [[nodiscard]] bool choose(HostId src, HostId dst, std::vector<LinkId>& out) {
    const std::size_t before = out.size();
    std::uint64_t& number = chosen_by_.empty() || src == dst ? chosen_ : chosen_by_[src.index()];
    const bool reached = fabric_.routing().route_message(src, dst, number++, load_, out);
    if (!reached) out.resize(before);
    for (std::size_t i = before; i < out.size(); ++i) ++load_[out[i].index()];
    return reached;
  }
  // A message has left these links.
  void give_back(std::span<const LinkId> links) {
    for (const LinkId l : links) --load_[l.index()];
  }

 private:
  const Fabric& fabric_;
  std::uint64_t chosen_ = 0;
  std::vector<std::uint64_t> chosen_by_;  // by source; empty: all are counted together
  std::vector<std::uint32_t> load_;       // messages by link
};

}  // namespace weft::topology
