// What the network is told of the flow of a message: bytes, how fast it may go, its share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "replay/message_cost.hpp"
#include "replay/messages/message.hpp"
#include "replay/time.hpp"
#include "topology/routing/route_cache.hpp"

namespace weft::replay {

struct FlowTerms {
  double limit = 0;   // bytes/s, infinity: as fast as the links allow
  double alone = 0;   // bytes/s, on an idle network
  double weight = 1;  // of its share of a link
  // That many bytes on an idle network.
  [[nodiscard]] Elapsed time_alone(std::int64_t bytes) const {
    return Elapsed::of_seconds(static_cast<double>(bytes) / alone);
  }
};

// The share of what goes over that route. `by_latency`: 1 / its latency (--weights rtt).
[[nodiscard, gnu::always_inline]] inline double share_weight(const topology::RouteCache::Route& route,
                                                             bool by_latency) {
  return by_latency && route.latency.count() > 0 ? 1 / to_seconds(route.latency) : 1;
}

// Message m over that route. `by_latency`: as share_weight() says.
[[nodiscard, gnu::always_inline]] inline FlowTerms flow_terms(const MessageCost& cost, const Message& m,
                                                              const topology::RouteCache::Route& route,
                                                              bool by_latency) {
  FlowTerms t;
  if (route.kind == topology::RouteCache::Kind::kShared) [[likely]]
    t.limit = cost.rate_cap(m.bytes, route.narrowest, m.found());
  else
    t.limit = route.in_host() ? cost.socket_rate(m.bytes, m.found())
                              : route.limit(cost.rate_cap(m.bytes, route.narrowest, m.found()));
  t.alone = std::min(route.narrowest, t.limit);
  t.weight = share_weight(route, by_latency);
  return t;
}

// Message m, whose data came over links, was slower than these alone, so wider ones would not have helped it: as a copy
// between sockets, or under load. What `transfer` of a platform makes of a link grows with it.
[[nodiscard]] inline bool at_own_pace(const MessageCost& cost, const Message& m) {
  // Of an eager message a poll finds out when all of it has come.
  const Found found = m.protocol == Protocol::kEager ? Found::kWaitedFor : m.found();
  FlowTerms own;
  own.alone = m.hops == 0 ? cost.socket_rate(m.bytes, found) : cost.loaded_rate(m.bytes, found);
  return m.ideal == own.time_alone(cost.size(m.bytes));
}

}  // namespace weft::replay
