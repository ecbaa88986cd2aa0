// MessageRouter: which links a message takes.
//
// Most routings know one route a pair of hosts: it is searched once (topology::RouteCache), and mostly the channel of
// the message remembers it, so a message costs no search at all. Where the routing decides for every message
// (topology::RouteScope), its choice belongs to the message from choose() until give_back() (topology::MessageRoutes).
//
// Within a host a message takes the link between its two sockets, where there is one (topology::SocketRoutes), whatever the
// routing, or none.
//
// A Route is valid until the next call. Complexity: O(1) a message after the first of its pair; O(links of the route)
// where the routing decides for every message. No allocation a message but for the links of a longer route than before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "network/network.hpp"
#include "replay/messages/matcher.hpp"
#include "replay/messages/message.hpp"
#include "topology/routing/message_routes.hpp"
#include "topology/routing/route_cache.hpp"
#include "topology/routing/socket_routes.hpp"

namespace weft::replay {

class MessageRouter {
 public:
  using Route = topology::RouteCache::Route;

  // All outlive it. `messages` are those that it is asked about, by index; `matcher` has their channels.
  MessageRouter(const topology::Fabric& fabric, const std::vector<HostId>& placement,
                const network::Network& network, Pool<Message>& messages, Matcher& matcher);

  // Routes of pairs of hosts.
  [[nodiscard]] topology::RouteCache& pairs() { return pairs_; }
  // The route between two hosts, whatever a single message takes.
  [[nodiscard]] Route between(HostId from, HostId to) { return pairs_.find(from, to); }
  // Message m stays in its host and no link carries it.
  [[nodiscard]] bool is_copy(const Message& m) const { return sockets_.is_copy(m.src, m.dst); }
  // The route of the pair of ranks of message m, searched at most once a message: that of its envelope.
  [[nodiscard]] Route of_pair(Message& m) {
    const std::uint32_t epoch = pairs_.epoch() + 1;
    if (m.route_epoch != epoch) {
      Matcher::LastRoute& last = matcher_.last_route(m);
      if (last.epoch != epoch) {
        const topology::RouteCache::RouteId id = sockets_.id(pairs_, m.src, m.dst);
        last = {id, pairs_.epoch() + 1};
      }
      m.route = last.route;
      m.route_epoch = last.epoch;
    }
    return pairs_.at(m.route);
  }
  // Latency of the way back of that route: that of its permission.
  [[nodiscard]] Duration latency_back(Message& m) {
    (void)of_pair(m);
    return pairs_.latency_back(m.route, placement_[m.src], placement_[m.dst]);
  }
  // The links that the data of message `i` take from now on. Called once a message.
  [[nodiscard]] Route choose(std::uint32_t i) { return chooses(i) ? choose_own(i) : of_pair(messages_[i]); }
  // What choose() answered.
  [[nodiscard]] Route chosen(std::uint32_t i) { return chooses(i) ? own(i) : of_pair(messages_[i]); }
  // The data of message `i` have left its links.
  void give_back(std::uint32_t i) {
    if (routes_) give_back_own(i);
  }
  // A hint to the processor: the route of m will be asked for soon.
  void prefetch(const Message& m) const {
    if (m.route_epoch == pairs_.epoch() + 1) pairs_.prefetch(m.route);
  }

 private:
  // The routing decides for message `i` alone.
  [[nodiscard]] bool chooses(std::uint32_t i) const {
    return routes_ && placement_[messages_[i].src] != placement_[messages_[i].dst];
  }
  [[nodiscard]] Route choose_own(std::uint32_t i);
  [[nodiscard]] Route own(std::uint32_t i) const;
  void give_back_own(std::uint32_t i);

  const topology::Fabric& fabric_;
  const std::vector<HostId>& placement_;
  const network::Network& network_;
  Pool<Message>& messages_;
  Matcher& matcher_;
  topology::RouteCache pairs_;
  topology::SocketRoutes sockets_;
  // Only where the routing decides for every message.
  std::optional<topology::MessageRoutes> routes_;
  std::vector<std::vector<LinkId>> own_;  // by message
};

}  // namespace weft::replay
