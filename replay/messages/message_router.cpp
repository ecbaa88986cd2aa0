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
      sockets_(fabric, placement) {
  if (fabric.routing().scope() != topology::RouteScope::kPair) routes_.emplace(fabric);
}

MessageRouter::Route MessageRouter::choose_own(std::uint32_t i) {
  if (i >= own_.size()) own_.resize(messages_.rows());
  own_[i].clear();
  const Message& m = messages_[i];
  if (!routes_->choose(placement_[m.src], placement_[m.dst], own_[i]))
    return {{}, Duration(0), false, 0, topology::RouteCache::Kind::kUnreachable};
  return own(i);
}

MessageRouter::Route MessageRouter::own(std::uint32_t i) const {
  const double narrowest = network_.narrowest(own_[i]);
  return {own_[i], topology::latency_of(fabric_.links(), own_[i]), true, narrowest,
          topology::RouteCache::kind_of(fabric_.links(), own_[i], narrowest)};
}

void MessageRouter::give_back_own(std::uint32_t i) {
  if (i >= own_.size()) return;
  routes_->give_back(own_[i]);
  own_[i].clear();
}

}  // namespace weft::replay
