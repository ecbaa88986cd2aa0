// MessageRoutes: the links that each message takes where the routing decides for every one of them (RouteScope).
//
// A message's route is chosen when it starts and stands until it is given back; until then the message counts on each of its links, the
// time in which it waits out the latency included: what starts at one instant sees each other, in the order of the calls. Messages are
// numbered in that order, for routings that draw.
// A span is valid until the next choose(). Complexity: the routing's, and O(links of the route); no allocation a message but for the
// links of a longer route than before.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/fabric.hpp"

namespace weft::topology {

class MessageRoutes {
 public:
  // `fabric` outlives it.
  explicit MessageRoutes(const Fabric& fabric) : fabric_(fabric), load_(fabric.link_count()) {}

  // Chooses the links of message `m`, a small number that no message has which is under way. False: no way leads there.
  [[nodiscard]] bool choose(std::uint32_t m, HostId src, HostId dst);
  // Those of a message that was chosen for and not given back.
  [[nodiscard]] std::span<const LinkId> links(std::uint32_t m) const { return links_[m]; }
  // Message `m` has left its links, if it had any.
  void give_back(std::uint32_t m);

 private:
  const Fabric& fabric_;
  std::uint64_t chosen_ = 0;
  std::vector<std::vector<LinkId>> links_;  // by message
  std::vector<std::uint32_t> load_;         // messages by link
};

}  // namespace weft::topology
