// Messages of a DirectReplay, from their send to their end: the steps of message_steps.hpp, whose instants are known ahead.
#include <algorithm>
#include <optional>

#include "core/check.hpp"
#include "network/network_steps.hpp"
#include "replay/direct/direct_replay.hpp"
#include "replay/event_loop.hpp"
#include "replay/messages/flow_terms.hpp"
#include "replay/messages/match_audit.hpp"
#include "replay/messages/message_steps.hpp"

namespace weft::replay {

void DirectReplay::find_route(Message& m) {
  m.route = sockets_.id(routes_, m.src, m.dst);
  m.route_epoch = routes_.epoch() + 1;
}

void DirectReplay::see(const Message& m) const {
  const Instant received = (m.state & kMatched) != 0 ? std::min(m.matched, m.started) : m.started;
  options_.on_message(seen(m, received, m.started));
}

[[gnu::always_inline]] inline void DirectReplay::tell_here(std::uint32_t rank, Target target, End end,
                                                           std::int64_t bytes) {
  if (target.value == Target::kNobody) return;
  end.order = ++told_;
  Rank& k = ranks_[rank];
  Lane& l = lanes_[rank];
  if (target.value == Target::kBlocking) {
    if (!end.sender) l.received = bytes;
    if (end.message != kNone && end.after(l.last)) {
      let_go(l.last);
      l.last = end;
      hold(end.message);
    }
  } else {
    l.requests.note(target.value) = end;
    if (end.message != kNone) hold(end.message);
    if (!l.requests.complete(target.value, bytes)) return;
  }
  if (--k.pending == 0 && k.state == RankState::kBlocked) ranks_.make_ready(rank);
}

void DirectReplay::tell(std::uint32_t rank, Target target, End end, std::int64_t bytes) {
  tell_here(rank, target, end, bytes);
}

[[gnu::always_inline]] inline void DirectReplay::arrive_here(std::uint32_t i, Instant at) {
  Message& m = messages_[i];
  m.state |= kArrived;
  m.started = at;  // from here on: since when the data wait
  traffic_.arrived(m, at);
  if (m.send_target.value != Target::kNobody) tell(m.src, m.send_target, {at, i, true}, 0);
  if (options_.on_message && (m.state & kMatched) != 0) see(m);
  if ((m.state & kMatched) != 0)
    tell_here(m.dst, m.recv_target, {std::max(at, m.matched), i, false}, m.bytes);
  else
    may_be_seen(i);
  drop(i);
}

void DirectReplay::arrive(std::uint32_t i, Instant at) { arrive_here(i, at); }

// Nobody may wait for what comes then, and a replay with events tells it.
[[gnu::noinline, gnu::cold]] std::optional<Instant> DirectReplay::beyond_the_clock() {
  give_up();
  return std::nullopt;
}

[[gnu::always_inline]] inline std::optional<Instant> DirectReplay::leave(std::uint32_t i, Instant at,
                                                                         Elapsed before) {
  Message& m = messages_[i];
  if (sockets_.is_copy(m.src, m.dst)) {
    const Instant there = at + leave_in_host(m, cost_, traffic_, at, before);
    if (there.past_the_end()) return beyond_the_clock();
    return there;
  }
  const auto route = route_of(m);
  if (!route.reachable) {
    give_up();
    return std::nullopt;
  }
  const Elapsed latency = leave_over(m, route, cost_, traffic_, at, before);
  m.flow_start = at + latency;
  const std::int64_t size = cost_.size(m.bytes);
  if (size == 0) return m.flow_start;
  if (flows_ == Flows::kShared) {
    WEFT_DCHECK(m.flow_start >= agenda_.now(), "a flow starts in the past of the network");
    ++lanes_[m.src].ahead;
    // Who is not ahead of the network comes in turn with others that are not.
    if (at == agenda_.now())
      agenda_.post_in_turn(latency, EventKind::kTransferStart, i);
    else
      agenda_.post(m.flow_start, EventKind::kTransferStart, i);
    return std::nullopt;
  }
  m.ideal = flow_terms(cost_, m, route, false).time_alone(size);
  const Instant end = m.flow_start + m.ideal;
  if (end.past_the_end()) return beyond_the_clock();
  m.flow = FlowId(0);
  links_entered_ += route.links.size();
  if (flows_ == Flows::kFree) {
    loads_.enter(route.links, m.flow_start, end);
    network_.carried(route.links, size);
  } else if (calendar_.enter(route.links, m.flow_start, end)) {
    network_.carried_alone(route.links, size, m.flow_start, end);
  } else {
    contended_ = true;
    give_up();
    return std::nullopt;
  }
  return end;
}

// The later of the two sides is the match; `matched` was when the message was delivered.
[[gnu::always_inline]] inline void DirectReplay::match(std::uint32_t i, const Channels::Receive& receive) {
  if (audits_.matches != nullptr) audits_.matches->matched(i, static_cast<std::uint32_t>(receive.sequence));
  const Target target = receive.target;
  Message& m = messages_[i];
  m.matched = std::max(m.matched, receive.posted);
  m.state |= kMatched;
  m.recv_target = target;
  if (m.bytes > receive.bytes) ++truncated_;
  if ((m.state & kArrived) != 0) {
    if (options_.on_message) see(m);
    tell_here(m.dst, target, {std::max(m.started, m.matched), i, false}, m.bytes);
  } else if (!leaves_at_once(m.protocol)) {
    m.receive_was_there(receive.posted, cost_.known_at_once());
    // Permission to send travels back before the data leave.
    const HostId a = placement_[m.src], b = placement_[m.dst];
    if (const auto here = leave(i, m.matched, permission_way(cost_, a == b, [&] {
                                  (void)route_of(m);
                                  return routes_.latency_back(m.route, a, b);
                                })))
      arrive(i, *here);
  }
  drop(i);
}

[[gnu::always_inline]] inline std::optional<Elapsed> DirectReplay::ask(Message& m, Instant at) {
  const auto route = route_of(m);
  if (!route.reachable) {
    give_up();
    return std::nullopt;
  }
  const Elapsed way = request_way(cost_, placement_[m.src] == placement_[m.dst], route.latency);
  m.visible = at + way;
  return way;
}

// Apart, as few messages are. Returns when its envelope is there: with the first byte, that of a copy with all.
[[gnu::noinline]] Instant DirectReplay::send_expected(std::uint32_t i, Instant at) {
  Message& m = messages_[i];
  Elapsed before;
  if (!cost_.known_at_once()) {
    const auto asked = ask(m, at);
    if (!asked) return at;
    const HostId a = placement_[m.src], b = placement_[m.dst];
    before = *asked + permission_way(cost_, a == b, [&] { return routes_.latency_back(m.route, a, b); });
  }
  if (const auto here = leave(i, at, before)) arrive_here(i, *here);
  if (cost_.known_at_once()) return at;
  return sockets_.is_copy(m.src, m.dst) ? m.started : m.flow_start;
}

void DirectReplay::post_send(std::uint32_t src, const Lane& l, const traces::Op& op, Target target,
                             SendForm form) {
  ranks_[src].computed = false;
  const auto dst = static_cast<std::uint32_t>(op.peer);
  const Instant at = l.clock;
  const std::uint32_t i = messages_.take();
  Channels::Channel& c = channels_.find(src, dst, op.comm.index());
  Message& m = messages_[i];
  const bool over = begin_message(
      m, cost_, {src, dst, op.comm.index(), op.tag, op.amount, op.kind, form, paid_}, target, at);
  if (audits_.matches != nullptr) audits_.matches->sent(i, m);
  m.route = c.route;
  m.route_epoch = c.epoch;
  holders_of(m) = 2;  // its transfer and its match
  if (over) tell_here(src, target, {at, kNone, true}, 0);
  Instant delivered = at;
  if (m.protocol == Protocol::kEager) {
    if (const auto here = leave(i, at, kNoTime)) arrive_here(i, *here);
    if (given_up_) return;
    // The envelope comes with the first byte; that of a copy with all.
    if (!cost_.known_at_once()) delivered = sockets_.is_copy(src, dst) ? m.started : m.flow_start;
  } else if (m.protocol == Protocol::kExpected) {
    delivered = send_expected(i, at);
    if (given_up_) return;
  } else if (!cost_.known_at_once()) {
    if (!ask(m, at)) return;
    delivered = m.visible;
  }
  c.route = m.route;
  c.epoch = m.route_epoch;
  if (!cost_.known_at_once()) c.delivered = delivered = std::max(c.delivered, delivered);
  m.matched = delivered;
  if (const Channels::Receive* const receive = channels_.take_receive(c, op.tag)) return match(i, *receive);
  channels_.wait(c, i);
  may_be_seen(i);
}

void DirectReplay::post_recv(std::uint32_t rank, const Lane& l, const traces::Op& op, Target target) {
  ranks_[rank].computed = false;
  Channels::Channel& c = channels_.find(static_cast<std::uint32_t>(op.peer), rank, op.comm.index());
  const Channels::Receive receive{l.clock, op.amount, op.tag, target, receives_++};
  if (audits_.matches != nullptr)
    audits_.matches->posted(
        static_cast<std::uint32_t>(receive.sequence),
        {rank, op.comm.index(), op.peer, op.tag, op.amount, target, 0, kNone, kNone, l.clock});
  const std::uint32_t i = channels_.take_message(c, op.tag);
  if (i != kNone)
    match(i, receive);
  else
    channels_.wait(c, receive);
}

// ---- Flows that share links.

[[gnu::always_inline]] inline void DirectReplay::enter_network(std::uint32_t i) {
  Message& m = messages_[i];
  --lanes_[m.src].ahead;
  const std::int64_t size = cost_.size(m.bytes);
  const auto route = route_of(m);
  const FlowTerms t = flow_terms(cost_, m, route, options_.rtt_weights);
  m.ideal = t.time_alone(size);
  m.flow = network_.start_here(route.links, t.weight, t.limit, t.alone, size, i, agenda_.now(),
                               agenda_.sequence(), {m.src, m.dst});
}

[[gnu::always_inline]] inline bool DirectReplay::start_flow(std::uint32_t i) {
  if (!starts_.any() && !due_now(agenda_, network_)) return true;
  starts_.add(i);
  return false;
}

[[gnu::always_inline]] inline std::uint32_t DirectReplay::handle(const Agenda::Event& e) {
  switch (e.kind) {
    case EventKind::kRankTimer:
      ranks_.make_ready(e.index);
      return kNone;
    case EventKind::kRunEnd:
      if (run_ahead_.end(e.index, e.sequence, network_.next_time() == agenda_.now()))
        lanes_[e.index].clock = agenda_.now();
      return kNone;
    case EventKind::kProbeWake:
      look_again(e.index);
      return kNone;
    default:
      return start_flow(e.index) ? e.index : kNone;
  }
}

// Apart, so that the loop stays short: only polls wait for it.
[[gnu::noinline]] void DirectReplay::instant_over() {
  agenda_.take_last([this](const Agenda::Event& e) {
    (void)handle(e);
    ++events_;
  });
}

bool DirectReplay::run_shared() {
  const bool many = ranks_.many();
  const auto looks = [this, many] {
    if (many) prefetch_next();
  };
  while (true) {
    if (ranks_.any_ready()) {
      run_ready();
      if (given_up_) return false;  // what else gives up is told in the end
    }
    std::uint32_t starting = kNone;
    switch (next_of(agenda_, network_, starts_, audits_.clock, looks)) {
      case Next::kEvent:
        ++events_;
        starting = handle(agenda_.take());
        break;
      case Next::kFlowEnd:
        ++events_;
        arrive_here(network_.finish_here(agenda_.now()), agenda_.now());
        continue;
      case Next::kFlowStarts:
        starts_.order();
        starting = starts_.take();
        break;
      case Next::kInstantOver:
        instant_over();
        continue;
      case Next::kNothing:
        return !given_up_;
      case Next::kTooLate:
        return false;
    }
    if (starting == kNone) continue;
    // One place for both, as it is all of Network::start().
    while (true) {
      enter_network(starting);
      if (!starts_.any()) break;
      starting = starts_.take();
      if (many) prefetch_starts();
    }
    if (network_.dirty()) network_.settle(agenda_.now(), agenda_.sequence());
  }
}

}  // namespace weft::replay
