// Steps of a message's life, as what they write into its row and how long they take (docs/model.md, "Protocol"):
//
//   eager      sent: data leave -> latency -> flow; the envelope is there with the first byte
//   others     sent: request leaves -> envelope is there
//              matched: permission goes back -> data leave -> latency -> flow
//   expected   sent: request, permission -> data leave -> latency -> flow; for the receiver as an eager one
//   in a host  no flow: the data are there after the time that MessageCost says; between sockets that a link joins, as
//              between hosts, with the costs of a host
//
// When a step is taken is the business of whoever replays: Transfers by events, DirectReplay by instants that it knows
// ahead. Complexity: O(1).
#pragma once

#include <algorithm>
#include <cstdint>

#include "replay/engine.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/message.hpp"
#include "replay/messages/traffic.hpp"
#include "replay/time.hpp"
#include "topology/routing/route_cache.hpp"
#include "traces/op.hpp"

namespace weft::replay {

// What a send posts. `context`: communicator, with the top bit set for messages of a collective.
struct Sent {
  std::uint32_t src = 0, dst = 0;  // world ranks
  std::uint32_t context = 0;
  std::int32_t tag = 0;
  std::int64_t bytes = 0;
  traces::OpKind kind{};
  SendForm form = SendForm::kAsAny;
  ShortElapsed paid{};  // Message::paid
};

// Makes m the message of a send at `now`, of whose end `target` is to be told. True: the send is over at once, so `target` is to be
// told now, and nobody later.
[[nodiscard]] inline bool begin_message(Message& m, const MessageCost& cost, const Sent& sent, Target target,
                                        Instant now) {
  m = Message{};
  m.src = sent.src;
  m.dst = sent.dst;
  m.context = sent.context;
  m.tag = sent.tag;
  m.bytes = sent.bytes;
  m.protocol = cost.protocol_of(sent.kind, sent.bytes);
  m.posted = now;
  m.paid = sent.paid;
  if ((sent.context & Target::kActivity) != 0) m.state |= kCollective;
  if (sent.form == SendForm::kAsAny) [[likely]] {
    if (m.protocol != Protocol::kRendezvous) return true;
  } else if (sent.form == SendForm::kExpected) {
    m.protocol = m.protocol == Protocol::kRendezvous ? Protocol::kExpected : Protocol::kEager;
    if (m.protocol == Protocol::kEager) return true;
  }
  m.send_target = target;
  return false;
}

// Links of the network on a route.
[[nodiscard]] inline std::uint16_t hops_of(const topology::RouteCache::Route& route) {
  return route.in_host() ? std::uint16_t{0}
                         : static_cast<std::uint16_t>(std::min<std::size_t>(route.links.size(), 0xffff));
}
// From the send of a message that is not eager until its envelope is there, over a route of that latency.
[[nodiscard]] inline Elapsed request_way(const MessageCost& cost, bool in_host, Duration latency) {
  return in_host ? cost.local_leg() : cost.envelope(latency);
}
// From its match until its data leave; `latency_back()`: of the route of the permission, asked for between hosts only.
template <class LatencyBack>
[[nodiscard]] Elapsed permission_way(const MessageCost& cost, bool in_host, LatencyBack latency_back) {
  if (cost.known_at_once()) return kNoTime;
  return in_host ? cost.local_leg() : cost.permission(latency_back());
}

// What the request of m took to come, which its data waited for before `before` began.
[[nodiscard]] inline Elapsed request_of(const Message& m, const MessageCost& cost) {
  return leaves_at_once(m.protocol) || cost.known_at_once() ? kNoTime : m.visible - m.posted;
}

// The data of m leave `before` after `at`. Within a host: returns from `at` until they are there.
[[nodiscard]] inline Elapsed leave_in_host(Message& m, const MessageCost& cost, Traffic& traffic, Instant at,
                                           Elapsed before) {
  m.state |= kStarted;
  m.left = m.flow_start = at + before;
  m.ideal = cost.local_data(m.bytes, m.found());
  traffic.left(m, request_of(m, cost) + before);
  return before + m.ideal;
}
// Over a link between sockets: returns from `at` until their flow starts.
[[nodiscard]] inline Elapsed leave_socket(Message& m, const MessageCost& cost, Traffic& traffic, Instant at,
                                          Elapsed before) {
  m.state |= kStarted;
  m.left = at + before;
  m.hops = 0;  // of the network
  const Elapsed latency = before + cost.socket_latency(m.bytes, m.found());
  traffic.left(m, request_of(m, cost) + latency);
  return latency;
}
// Over any links: likewise.
[[nodiscard, gnu::always_inline]] inline Elapsed leave_over(Message& m,
                                                            const topology::RouteCache::Route& route,
                                                            const MessageCost& cost, Traffic& traffic,
                                                            Instant at, Elapsed before) {
  if (route.in_host()) [[unlikely]]
    return leave_socket(m, cost, traffic, at, before);
  m.state |= kStarted;
  m.left = at + before;
  m.hops = hops_of(route);
  const Elapsed latency =
      before + cost.data_latency(m.bytes, route.latency, m.protocol == Protocol::kEager, m.found());
  traffic.left(m, request_of(m, cost) + latency);
  return latency;
}

// The message for who watches, all of whose data came at `arrived`; `received`: when it was received, or came unexpected.
[[nodiscard]] inline MessageSeen seen(const Message& m, Instant received, Instant arrived) {
  return {RankId(m.src),
          RankId(m.dst),
          CommId(m.context),
          m.tag,
          m.bytes,
          (m.state & kCollective) != 0,
          m.posted.rounded(),
          m.left.rounded(),
          received.rounded(),
          arrived.rounded()};
}

}  // namespace weft::replay
