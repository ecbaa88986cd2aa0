#include "replay/messages/message_router.hpp"

#include "topology/routing/route_latency.hpp"

namespace weft::replay {

MessageRouter::MessageRouter(const topology::Fabric& fabric, const std::vector<HostId>& placement,
                             const network::Network& network, Pool<Message>& messages, Matcher& matcher)
    : fabric_(fabric),
      placement_(placement),
      network_(network),
      messages_(messages),
      matcher_(matcher),
      pairs_(fabric),
      sockets_(fabric, placement),
      by_message_(fabric.routing().scope() != topology::RouteScope::kPair) {
  if (by_message_) own_.emplace(fabric);
}

MessageRouter::Route MessageRouter::choose_own(std::uint32_t i) {
  const Message& m = messages_[i];
  if (!own_->choose(i, placement_[m.src], placement_[m.dst])) return {{}, Duration(0), false, 0, false};
  return own(i);
}

MessageRouter::Route MessageRouter::own(std::uint32_t i) const {
  const std::span<const LinkId> links = own_->links(i);
  return {links, topology::latency_of(fabric_.links(), links), true, network_.narrowest(links), false};
}

}  // namespace weft::replay
