#include "replay/messages/transfers.hpp"

#include <algorithm>
#include <utility>

#include "replay/messages/flow_terms.hpp"
#include "replay/messages/match_audit.hpp"
#include "replay/messages/message_steps.hpp"
#include "topology/routing/no_route.hpp"

namespace weft::replay {

using traces::OpKind;

void Transfers::no_route(const Message& m) {
  agenda_.fail(topology::no_route(fabric_, placement_[m.src], placement_[m.dst]));
}

void Transfers::post_send(std::uint32_t src, std::uint32_t dst, std::uint32_t context, std::int32_t tag,
                          std::int64_t bytes, OpKind kind, Target target, Elapsed paid, SendForm form) {
  if (of_its_own_call(target)) ranks_[src].computed = false;
  const std::uint32_t i = messages_.take();
  Message& m = messages_[i];
  const bool over = begin_message(m, cost_, {src, dst, context, tag, bytes, kind, form, ShortElapsed(paid)},
                                  target, agenda_.now());
  hindsight_.sent(i, m, src, target);
  if (audit_ != nullptr) audit_->sent(i, m);
  if (options_.on_match && (m.state & kCollective) == 0) note_sent(i);
  if (over)
    tell(i, src, target, 0, nullptr, true);
  else
    of_requests_.add(src, target, i);
  const HostId a = placement_[src], b = placement_[dst];
  if (cost_.known_at_once()) {
    m.visible = agenda_.now();
    if (!leaves_at_once(m.protocol)) {
      if (a != b) {
        const auto route = router_.between(a, b);
        m.hops = hops_of(route);
        m.visible = agenda_.now() + cost_.envelope(route.latency);
      }
    } else {
      leave(i, kNoTime);
      if (agenda_.failed()) return;
    }
    return delivered(i, matcher_.deliver(i));
  }
  const Matcher::LastRoute& last = matcher_.send(i);
  m.route = last.route;
  m.route_epoch = last.epoch;
  if (m.protocol == Protocol::kEager) return leave(i, kNoTime);  // the envelope travels with the data
  // Rendezvous: a request to send travels first.
  const auto route = router_.of_pair(m);
  if (!route.reachable) return no_route(m);
  m.hops = hops_of(route);
  const Elapsed way = request_way(cost_, a == b, route.latency);
  m.visible = agenda_.now() + way;
  if (m.protocol == Protocol::kExpected)
    return leave(i, way + permission_way(cost_, a == b, [&] { return router_.latency_back(m); }));
  agenda_.post_in_turn(way, EventKind::kEnvelope, i);
}

void Transfers::envelope_arrived(std::uint32_t i) {
  const Matcher::Turn own = matcher_.arrives(i);
  if (own.message == kNone) return;
  if (own.more) return take_turns(i, own.recv);
  delivered(i, own.recv);
}

void Transfers::take_turns(std::uint32_t i, std::uint32_t recv) {
  const std::uint32_t src = messages_[i].src, dst = messages_[i].dst, context = messages_[i].context;
  std::uint32_t past = hindsight_.gives_turns(messages_[i], router_.is_copy(messages_[i]));
  delivered(i, recv);
  for (bool more = true; more && !agenda_.failed();) {
    const Matcher::Turn next = matcher_.next_in_order(src, dst, context);
    if (next.message == kNone) break;
    hindsight_.takes_turn(messages_[next.message], past);
    delivered(next.message, next.recv);
    more = next.more;
  }
  hindsight_.turns_taken(past);
}

bool Transfers::instant_over() {
  agenda_.end_told();
  const bool came = matcher_.decide([this](std::uint32_t i, std::uint32_t r) { match(i, r, false); });
  const bool looks = !lookers_.empty();
  std::sort(lookers_.begin(), lookers_.end());
  lookers_.erase(std::unique(lookers_.begin(), lookers_.end()), lookers_.end());
  for (const std::uint32_t r : lookers_) {
    if (ranks_[r].state == RankState::kProbing) probes_.poke(r);
    if (ranks_[r].state == RankState::kRunning) run_ahead_.poke(r);
  }
  lookers_.clear();
  return came || looks;
}

// Message i had its turn: receive `r` takes it, or none does yet.
void Transfers::delivered(std::uint32_t i, std::uint32_t r) {
  if (r != kNone) return match(i, r, false);
  messages_[i].matched = agenda_.now();
  agenda_.ask_for_end();
  may_be_seen(messages_[i].dst);
}

std::uint32_t Transfers::post_recv(std::uint32_t rank, std::int32_t source, std::uint32_t context,
                                   std::int32_t tag, std::int64_t bytes, Target target) {
  if (of_its_own_call(target)) ranks_[rank].computed = false;
  const std::uint32_t r = matcher_.receives().take();
  PostedRecv& v = matcher_.receives()[r];
  v = PostedRecv{rank, context, source, tag, bytes, target, 0, kNone, kNone, agenda_.now()};
  if (audit_ != nullptr) audit_->posted(r, v);
  if (options_.on_match) note_posted(r, rank);
  if (source == traces::kAnySource) hindsight_.depends_on_time();
  hindsight_.posted(r, rank, target);
  const std::uint32_t m = matcher_.post(r);
  if (m == kNone) return r;
  match(m, r, true);
  return kNone;
}

void Transfers::note_posted(std::uint32_t r, std::uint32_t rank) {
  if (posted_by_.size() <= r) posted_by_.resize(r + std::size_t{1});
  posted_by_[r] = {ranks_[rank].pc, matcher_.receives()[r].target};
}

void Transfers::note_sent(std::uint32_t i) {
  if (sent_by_.size() <= i) sent_by_.resize(i + std::size_t{1});
  sent_by_[i] = {ranks_[messages_[i].src].pc, sent_++};
}

void Transfers::show_match(std::uint32_t i, std::uint32_t r) {
  const Message& m = messages_[i];
  // The request may be freed by now.
  const std::uint32_t t = posted_by_[r].target.value;
  options_.on_match({RankId(m.dst), posted_by_[r].op, t == Target::kBlocking ? traces::kNoRequest : t,
                     RankId(m.src), m.tag, m.bytes, sent_by_[i].number});
}

// Message i belongs to receive r, whose row is given back. The later of the two sides is this instant.
void Transfers::match(std::uint32_t i, std::uint32_t r, bool late) {
  if (audit_ != nullptr) audit_->matched(i, r);
  // The row is nobody's from here on: withdraw() looks whose it is.
  const Target target = std::exchange(matcher_.receives()[r].target, Target{});
  Message& m = messages_[i];
  if (m.bytes > matcher_.receives()[r].bytes) ++truncated_;
  matcher_.receives().give(r);
  m.recv_target = target;
  m.matched = agenda_.now();
  if (options_.on_match && (m.state & kCollective) == 0) show_match(i, r);
  hindsight_.met(i, m, r, late);
  if ((m.state & kArrived) != 0) {
    tell(i, m.dst, target, m.bytes, &m, false);
    return over(i);
  }
  of_requests_.add(m.dst, target, i);
  if (leaves_at_once(m.protocol)) return;
  m.receive_was_there(matcher_.receives()[r].posted, cost_.known_at_once());
  if (late) hindsight_.late_receiver(m, target);
  // Permission to send travels back before the data leave.
  leave(i, permission_way(cost_, placement_[m.src] == placement_[m.dst],
                          [&] { return router_.latency_back(m); }));
}

// The data of message i leave after `before`, wait out the latency, and then are transferred.
void Transfers::leave(std::uint32_t i, Elapsed before) {
  Message& m = messages_[i];
  const Instant now = agenda_.now();
  if (router_.is_copy(m)) {
    m.started = now + leave_in_host(m, cost_, traffic_, now, before);
    return agenda_.post(m.started, EventKind::kMessageDone, i);
  }
  const auto route = router_.choose(i);
  if (!route.reachable) return no_route(m);
  const Elapsed latency = leave_over(m, route, cost_, traffic_, now, before);
  m.started = now + latency;
  if (m.started == now) return start_flow(i);
  agenda_.post_in_turn(latency, EventKind::kTransferStart, i);
}

void Transfers::start_flow(std::uint32_t i) {
  {
    Message& m = messages_[i];
    m.flow_start = agenda_.now();
    if (!cost_.known_at_once() && leaves_at_once(m.protocol)) {
      envelope_arrived(i);  // with the first byte
      if (agenda_.failed()) return;
    }
  }
  if (cost_.size(messages_[i].bytes) == 0) return arrive(i);
  starts_.add(i);
}

void Transfers::enter_network(std::uint32_t i) {
  Message& m = messages_[i];
  const std::int64_t size = cost_.size(m.bytes);
  const auto route = router_.chosen(i);
  const FlowTerms t = flow_terms(cost_, m, route, options_.rtt_weights);
  m.ideal = t.time_alone(size);
  m.flow = network_.start(route.links, t.weight, t.limit, t.alone, size, i, agenda_.now(), agenda_.sequence(),
                          {m.src, m.dst});
}

void Transfers::arrive(std::uint32_t i) {
  Message& m = messages_[i];
  if (!cost_.known_at_once() && leaves_at_once(m.protocol) && (m.state & kEnvelopeHere) == 0) {
    envelope_arrived(i);  // with the data of a copy
    if (agenda_.failed()) return;
  }
  Message& n = messages_[i];
  if (look_ahead_)
    for (const std::uint32_t r : {n.src, n.dst}) ranks_[r].program.prefetch(ranks_[r].pc);
  n.state |= kArrived;
  if (n.flow.valid()) hindsight_.arrived(n, network_.last_held_by());
  n.started = agenda_.now();  // from here on: since when the data wait
  traffic_.arrived(n, agenda_.now());
  if (options_.on_message) {
    MessageSeen s = seen(n, (n.state & kMatched) != 0 ? n.matched : agenda_.now(), agenda_.now());
    if (options_.on_match && !s.of_collective) {
      s.number = sent_by_[i].number;
      s.send_op = sent_by_[i].op;
    }
    options_.on_message(s);
  }
  router_.give_back(i);
  if (n.send_target.value != Target::kNobody) tell(i, n.src, n.send_target, 0, &n, true);
  n.send_target.value = Target::kNobody;
  if ((n.state & kMatched) != 0) {
    tell(i, n.dst, n.recv_target, n.bytes, &n, false);
    return over(i);
  }
  if ((n.state & kQueued) != 0) matcher_.data_came(i);
  may_be_seen(n.dst);
}

bool Transfers::withdraw(std::uint32_t recv, std::uint32_t rank, Target target) {
  const bool taken = matcher_.withdraw(recv, rank, target);
  if (taken && audit_ != nullptr) audit_->withdrawn(rank, target);
  return taken;
}

bool Transfers::of_its_own_call(Target target) const {
  return !target.is_activity() ||
         (!target.is_task() && collectives_.target(target.activity()).value == Target::kBlocking);
}

bool Transfers::lacks_its_receive(std::uint32_t rank, Target target) {
  const std::uint32_t i = of_requests_.find(rank, target, messages_);
  if (i == kNone) return false;
  const Message& m = messages_[i];
  return m.src == rank && m.send_target.value == target.value && (m.state & kMatched) == 0;
}

bool Transfers::forget(std::uint32_t rank, Target target, std::uint32_t recv) {
  if (audit_ != nullptr) audit_->forgotten(rank, target);
  if (const std::uint32_t i = of_requests_.find(rank, target, messages_); i != kNone) {
    Message& m = messages_[i];
    (m.src == rank && m.send_target.value == target.value ? m.send_target : m.recv_target).value =
        Target::kNobody;
    of_requests_.remove(rank, target);
    return true;
  }
  if (recv < matcher_.receives().rows()) {
    PostedRecv& v = matcher_.receives()[recv];
    if (v.rank == rank && v.target.value == target.value) {
      v.target.value = Target::kNobody;
      return true;
    }
  }
  return false;
}

}  // namespace weft::replay
