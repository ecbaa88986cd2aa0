// Point-to-point messages: protocol, matching, transfers, probes (docs/model.md, "Protocol").
#include <algorithm>

#include "replay/simulation.hpp"

namespace weft::replay {

using traces::OpKind;

void Simulation::post_send(std::uint32_t src, std::uint32_t dst, std::uint32_t context, std::int32_t tag,
                           std::int64_t bytes, OpKind kind, Target target) {
  ranks_[src].computed = false;
  const std::uint32_t i = messages_.take();
  Message& m = messages_[i];
  m = Message{};
  m.src = src;
  m.dst = dst;
  m.context = context;
  m.tag = tag;
  m.bytes = bytes;
  m.send_target = target;
  m.protocol = cost_.protocol_of(kind, bytes);
  m.posted = now_;
  if ((context & Target::kActivity) != 0) m.state |= kCollective;
  if (m.protocol != Protocol::kRendezvous) {
    m.send_target.value = Target::kNobody;
    notify(src, target, 0, {});
  }
  if (cost_.known_at_once()) {
    m.visible = now_;
    if (m.protocol != Protocol::kEager) {
      const HostId a = placement_[src], b = placement_[dst];
      if (a != b) m.visible = now_ + cost_.envelope(router_.between(a, b).latency);
    } else {
      leave(i, kNoTime);
      if (error_) return;
    }
    return delivered(i, matcher_.deliver(i));
  }
  const Matcher::LastRoute& last = matcher_.send(i);
  m.route = last.route;
  m.route_epoch = last.epoch;
  if (m.protocol == Protocol::kEager) return leave(i, kNoTime);  // the envelope travels with the data
  // Rendezvous: a request to send travels first.
  const HostId a = placement_[src], b = placement_[dst];
  const auto route = router_.of_pair(m);
  if (!route.reachable)
    return fail(
        bad_input({}, "no route", platform_.fabric.host_name(a) + " to " + platform_.fabric.host_name(b)));
  m.visible = now_ + (a == b ? cost_.local_leg() : cost_.envelope(route.latency));
  post_event(m.visible, EventKind::kEnvelope, i);
}

// The envelope of message i is at the receiver. It is delivered if all earlier messages of its channel were; then those
// that came before their turn and waited for it follow.
void Simulation::envelope_arrived(std::uint32_t i) {
  Matcher::Turn turn = matcher_.arrives(i);
  const std::uint32_t src = messages_[i].src, dst = messages_[i].dst, context = messages_[i].context;
  while (turn.message != kNone) {
    delivered(turn.message, turn.recv);
    if (!turn.more || error_) return;
    turn = matcher_.next_in_order(src, dst, context);
  }
}

// Message i had its turn: receive `r` takes it, or none does yet.
void Simulation::delivered(std::uint32_t i, std::uint32_t r) {
  if (r != kNone) {
    const PostedRecv recv = matcher_.receives()[r];
    matcher_.receives().give(r);
    return match(i, recv.target, recv.bytes);
  }
  const std::uint32_t dst = messages_[i].dst;
  if (ranks_[dst].state == RankState::kProbing) poke_prober(dst);
  if (ranks_[dst].state == RankState::kRunning) poke_run(dst);
}

void Simulation::post_recv(std::uint32_t rank, std::int32_t source, std::uint32_t context, std::int32_t tag,
                           std::int64_t bytes, Target target) {
  ranks_[rank].computed = false;
  const std::uint32_t r = matcher_.receives().take();
  PostedRecv& v = matcher_.receives()[r];
  v = PostedRecv{rank, context, source, tag, bytes, target, 0, kNone, kNone};
  const std::uint32_t m = matcher_.post(r);
  if (m == kNone) return;
  matcher_.receives().give(r);
  match(m, target, bytes);
}

// Message i belongs to a posted receive. The later of the two sides is this instant.
void Simulation::match(std::uint32_t i, Target target, std::int64_t posted_bytes) {
  Message& m = messages_[i];
  if (m.bytes > posted_bytes) ++truncated_;
  m.recv_target = target;
  m.matched = now_;
  if ((m.state & kArrived) != 0) {
    notify(m.dst, target, m.bytes, {&m, false, nullptr});
    return release(i);
  }
  if (m.protocol == Protocol::kEager) return;
  // Permission to send travels back before the data leave.
  Elapsed back;
  if (!cost_.known_at_once())
    back = placement_[m.src] == placement_[m.dst] ? cost_.local_leg()
                                                  : cost_.permission(router_.latency_back(m));
  leave(i, back);
}

// The data of message i leave after `before`.
void Simulation::leave(std::uint32_t i, Elapsed before) {
  Message& m = messages_[i];
  m.state |= kStarted;
  m.left = now_ + before;
  const HostId a = placement_[m.src], b = placement_[m.dst];
  if (a == b) {
    const Elapsed d = before + cost_.local_data(m.bytes, m.found());
    m.started = now_ + d;
    m.ideal = d;
    m.flow_start = m.left;
    return post_event(now_ + d, EventKind::kMessageDone, i);
  }
  const auto route = router_.choose(i);
  if (!route.reachable)
    return fail(bad_input({}, "no route",
                          platform_.fabric.host_name(a) + " to " + platform_.fabric.host_name(b),
                          "hosts that the platform connects"));
  m.hops = static_cast<std::uint16_t>(std::min<std::size_t>(route.links.size(), 0xffff));
  const Elapsed latency =
      before + cost_.data_latency(m.bytes, route.latency, m.protocol == Protocol::kEager, m.found());
  all_.latency += latency;
  if ((m.state & kCollective) == 0) p2p_.latency += latency;
  m.started = now_ + latency;
  if (m.started == now_) return start_flow(i);
  post_event(m.started, EventKind::kTransferStart, i);
}

// Latency is paid: the data take their share of the links from now on.
void Simulation::start_flow(std::uint32_t i) {
  {
    const Message& m = messages_[i];
    if (!cost_.known_at_once() && m.protocol == Protocol::kEager) {
      envelope_arrived(i);  // with the first byte
      if (error_) return;
    }
  }
  Message& m = messages_[i];
  const std::int64_t size = cost_.size(m.bytes);
  m.flow_start = now_;
  if (size == 0) return arrive(i);
  const auto route = router_.chosen(i);
  const double narrowest = route.narrowest;
  const double cap = cost_.rate_cap(m.bytes, narrowest, m.found());
  const double alone = std::min(narrowest, cap);
  m.ideal = Elapsed::of_seconds(static_cast<double>(size) / alone);
  double weight = 1;
  if (options_.rtt_weights && route.latency.count() > 0) weight = 1 / to_seconds(route.latency);
  m.flow = network_.start(route.links, weight, cap, alone, size, i, now_, {m.src, m.dst});
}

void Simulation::account(const Message& m) {
  const Elapsed took = m.flow.valid() ? now_ - m.flow_start : kNoTime;
  const auto add = [&](Costs& c) {
    ++c.count;
    c.bytes += static_cast<std::uint64_t>(m.bytes);
    c.hops += m.hops;
    c.transfer += m.ideal;
    if (took > m.ideal) c.contention += took - m.ideal;
  };
  add(all_);
  if ((m.state & kCollective) == 0) add(p2p_);
  const std::uint64_t who = (static_cast<std::uint64_t>(m.src) << 32) | m.dst;
  fingerprint_ = (fingerprint_ ^ static_cast<std::uint64_t>(now_.rounded().time_since_epoch().count())) *
                 0x100000001b3ULL;
  fingerprint_ = (fingerprint_ ^ who) * 0x100000001b3ULL;
  fingerprint_ ^= fingerprint_ >> 29;
}

// All data of message i have come.
void Simulation::arrive(std::uint32_t i) {
  Message& m = messages_[i];
  if (!cost_.known_at_once() && m.protocol == Protocol::kEager && (m.state & kEnvelopeHere) == 0) {
    envelope_arrived(i);  // within a host it comes with the data
    if (error_) return;
  }
  Message& n = messages_[i];
  if (look_ahead_)
    for (const std::uint32_t r : {n.src, n.dst}) ranks_[r].program.prefetch(ranks_[r].pc);
  n.state |= kArrived;
  n.started = now_;  // from here on: since when the data wait
  account(n);
  if (options_.on_message)
    options_.on_message({RankId(n.src), RankId(n.dst), CommId(n.context), n.tag, n.bytes,
                         (n.state & kCollective) != 0, n.posted.rounded(), now_.rounded()});
  router_.give_back(i);
  if (n.send_target.value != Target::kNobody) notify(n.src, n.send_target, 0, {&n, true, nullptr});
  n.send_target.value = Target::kNobody;
  if ((n.state & kMatched) != 0) {
    notify(n.dst, n.recv_target, n.bytes, {&n, false, nullptr});
    return release(i);
  }
  if (ranks_[n.dst].state == RankState::kProbing) poke_prober(n.dst);
  if (ranks_[n.dst].state == RankState::kRunning) poke_run(n.dst);
}

void Simulation::release(std::uint32_t i) { messages_.give(i); }

// A probe sees an eager message when its data have come, any other when its envelope has.
bool Simulation::visible(const Message& m) const {
  return m.protocol == Protocol::kEager ? (m.state & kArrived) != 0 : m.visible <= now_;
}

std::uint32_t Simulation::probed(std::uint32_t r, const Op& op) {
  const std::uint32_t i =
      matcher_.peek(r, op.comm.index(), op.peer, op.tag, [&](const Message& m) { return visible(m); });
  return i != kNone && visible(messages_[i]) ? i : kNone;
}

// A rank that polls after it computed is in a phase in which all compute and nobody waits for this message in a call:
// what it finds travels while the cores beside it compute.
bool Simulation::poll_hits(std::uint32_t r, const Rank& k, const Op& op) {
  const std::uint32_t i = probed(r, op);
  if (i == kNone) return false;
  if (k.computed) messages_[i].state |= kFoundAtPoll;
  return true;
}

// A message may have become visible to rank r, which waits in a probe.
void Simulation::poke_prober(std::uint32_t r) {
  Rank& k = ranks_[r];
  if (k.state != RankState::kProbing) return;
  auto op = k.program.at(k.pc);
  if (!op) return fail(std::move(op).error());
  const std::uint32_t i = matcher_.peek(r, (*op)->comm.index(), (*op)->peer, (*op)->tag,
                                        [&](const Message& m) { return visible(m); });
  if (i == kNone) return;
  const Message& m = messages_[i];
  if (visible(m)) {
    causes_.explain(causes_.of(r), m, false, k.blocked_since, now_);
    return make_ready(r);
  }
  if (m.protocol != Protocol::kEager) post_event(m.visible, EventKind::kProbeWake, r);
}

}  // namespace weft::replay
