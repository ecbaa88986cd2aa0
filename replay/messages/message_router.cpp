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
  if (by_message_) load_.assign(fabric.link_count(), 0);
}

MessageRouter::Route MessageRouter::choose_own(std::uint32_t i) {
  if (i >= own_.size()) own_.resize(messages_.rows());
  std::vector<LinkId>& links = own_[i];
  links.clear();
  const Message& m = messages_[i];
  if (!fabric_.routing().route_message(placement_[m.src], placement_[m.dst], decided_++, load_, links))
    return {{}, Duration(0), false, 0, false};
  for (const LinkId l : links) ++load_[l.index()];
  return own(i);
}

MessageRouter::Route MessageRouter::own(std::uint32_t i) const {
  return {own_[i], topology::latency_of(fabric_.links(), own_[i]), true, network_.narrowest(own_[i]), false};
}

void MessageRouter::give_back_own(std::uint32_t i) {
  if (i >= own_.size()) return;
  for (const LinkId l : own_[i]) --load_[l.index()];
  own_[i].clear();
}

}  // namespace weft::replay
