#include "replay/messages/matcher.hpp"

#include "replay/messages/linked_rows.hpp"
#include "traces/op.hpp"

namespace weft::replay {
namespace {
using traces::kAnySource;
using traces::kAnyTag;
}  // namespace

Matcher::Matcher(Pool<Message>& messages, std::uint32_t ranks)
    : messages_(messages), queues_(messages), receivers_(ranks) {}

const Matcher::LastRoute& Matcher::send(std::uint32_t message) {
  Message& m = messages_[message];
  Channel& c = channel(m);
  m.pair_next = kNone;
  (c.flight_tail == kNone ? c.flight_head : messages_[c.flight_tail].pair_next) = message;
  c.flight_tail = message;
  return c.last;
}

// The head of what is under way leaves the flight.
Matcher::Turn Matcher::take_turn(Channel& c, std::uint32_t message) {
  c.flight_head = messages_[message].pair_next;
  if (c.flight_head == kNone) c.flight_tail = kNone;
  const std::uint32_t recv = hand_over(c, message);
  return {message, recv, c.early > 0};
}

Matcher::Turn Matcher::arrives(std::uint32_t message) {
  Message& m = messages_[message];
  Channel& c = channel(m);
  m.state |= kEnvelopeHere;
  if (c.flight_head == message) return take_turn(c, message);
  ++c.early;
  return {};
}

Matcher::Turn Matcher::next_in_order(std::uint32_t source, std::uint32_t destination, std::uint32_t context) {
  Channel& c = queues_.find(source, destination, context);
  if (c.early == 0 || (messages_[c.flight_head].state & kEnvelopeHere) == 0) return {};
  --c.early;
  return take_turn(c, c.flight_head);
}

void Matcher::unlink_from_receiver(std::uint32_t r) {
  const PostedRecv& v = receives()[r];
  Receiver& a = receivers_[v.rank];
  unlink<&PostedRecv::next, &PostedRecv::prev>(receives(), a.any_head, a.any_tail, r);
  if (!a.any_indexed) return;
  any_recv_index_.remove(any_key(v.rank, v.context, v.tag), r);
  if (a.any_head == kNone) a.any_indexed = false;
}

void Matcher::unlink_message(std::uint32_t i) {
  Message& m = messages_[i];
  queues_.remove_message(channel(m), i);
  Receiver& a = receivers_[m.dst];
  unlink<&Message::all_next, &Message::all_prev>(messages_, a.msg_head, a.msg_tail, i);
  if (a.msgs_indexed) {
    any_msg_index_.remove(any_key(m.dst, m.context, m.tag), i);
    any_tag_index_.remove(any_key(m.dst, m.context, kAnyTag), i);
    if (a.msg_head == kNone) a.msgs_indexed = false;
  }
  m.state &= static_cast<std::uint8_t>(~kQueued);
  --unexpected_;
}

bool Matcher::withdraw(std::uint32_t r, std::uint32_t rank, Target target) {
  if (r >= receives().rows()) return false;
  PostedRecv& v = receives()[r];
  if (v.rank != rank || v.target.value != target.value) return false;
  if (v.source == kAnySource)
    unlink_from_receiver(r);
  else
    queues_.remove_receive(queues_.find(static_cast<std::uint32_t>(v.source), v.rank, v.context), r);
  v.target = {};
  receives().give(r);
  return true;
}

// The earliest of the rank's receives from any source that takes a message of that tag.
std::uint32_t Matcher::first_any(std::uint32_t rank, std::uint32_t context, std::int32_t tag) {
  Receiver& a = receivers_[rank];
  if (!a.any_indexed) {
    std::uint32_t steps = 0;
    for (std::uint32_t r = a.any_head; r != kNone; r = receives()[r].next) {
      const PostedRecv& v = receives()[r];
      if (v.context == context && (v.tag == tag || v.tag == kAnyTag)) return r;
      if (++steps == TagIndex::kWalk) break;
    }
    if (steps < TagIndex::kWalk) return kNone;
    a.any_indexed = true;
    for (std::uint32_t r = a.any_head; r != kNone; r = receives()[r].next)
      any_recv_index_.append(any_key(rank, receives()[r].context, receives()[r].tag), r);
  }
  return queues_.earlier(any_recv_index_.first(any_key(rank, context, tag)),
                         any_recv_index_.first(any_key(rank, context, kAnyTag)));
}

// It is the message's turn: to a receive that was posted, or into the queues.
std::uint32_t Matcher::hand_over(Channel& c, std::uint32_t message) {
  Message& m = messages_[message];
  const std::uint32_t exact = queues_.first_receive(c, m.tag);
  const std::uint32_t any = receivers_[m.dst].any_head == kNone ? kNone : first_any(m.dst, m.context, m.tag);
  const std::uint32_t r = queues_.earlier(exact, any);
  if (r != kNone) {
    if (r == exact)
      queues_.remove_receive(c, r);
    else
      unlink_from_receiver(r);
    m.state |= kMatched;
    return r;
  }
  queues_.append_message(c, message);
  Receiver& a = receivers_[m.dst];
  link_last<&Message::all_next, &Message::all_prev>(messages_, a.msg_head, a.msg_tail, message);
  if (a.msgs_indexed) index_any(message);
  m.state |= kQueued;
  ++unexpected_;
  return kNone;
}

void Matcher::index_any(std::uint32_t i) {
  const Message& m = messages_[i];
  any_msg_index_.append(any_key(m.dst, m.context, m.tag), i);
  any_tag_index_.append(any_key(m.dst, m.context, kAnyTag), i);
}

// The earliest of all of the rank's unexpected messages that a receive of that tag from any source takes.
std::uint32_t Matcher::first_message(std::uint32_t rank, std::uint32_t context, std::int32_t tag) {
  Receiver& a = receivers_[rank];
  if (!a.msgs_indexed) {
    std::uint32_t steps = 0;
    for (std::uint32_t m = a.msg_head; m != kNone; m = messages_[m].all_next) {
      const Message& v = messages_[m];
      if (v.context == context && (tag == kAnyTag || tag == v.tag)) return m;
      if (++steps == TagIndex::kWalk) break;
    }
    if (steps < TagIndex::kWalk) return kNone;
    a.msgs_indexed = true;
    for (std::uint32_t m = a.msg_head; m != kNone; m = messages_[m].all_next) index_any(m);
  }
  return (tag == kAnyTag ? any_tag_index_ : any_msg_index_).first(any_key(rank, context, tag));
}

// The next of its receiver's unexpected messages that a receive of that tag from any source takes.
std::uint32_t Matcher::next_accepted(std::uint32_t i, std::uint32_t context, std::int32_t tag) const {
  if (receivers_[messages_[i].dst].msgs_indexed)
    return (tag == kAnyTag ? any_tag_index_ : any_msg_index_).next(i);
  std::uint32_t m = messages_[i].all_next;
  while (m != kNone && (messages_[m].context != context || (tag != kAnyTag && tag != messages_[m].tag)))
    m = messages_[m].all_next;
  return m;
}

std::uint32_t Matcher::peek(std::uint32_t rank, std::uint32_t context, std::int32_t source,
                            std::int32_t tag) {
  if (source == kAnySource) return first_message(rank, context, tag);
  Channel* const c = queues_.known(static_cast<std::uint32_t>(source), rank, context);
  return c == nullptr ? kNone : queues_.first_message(*c, tag);
}

std::uint32_t Matcher::post(std::uint32_t recv) {
  PostedRecv& r = receives()[recv];
  const bool any = r.source == kAnySource;
  Channel* const c = any ? nullptr : &queues_.find(static_cast<std::uint32_t>(r.source), r.rank, r.context);
  const std::uint32_t m = any ? first_message(r.rank, r.context, r.tag) : queues_.first_message(*c, r.tag);
  if (m != kNone) {
    unlink_message(m);
    messages_[m].state |= kMatched;
    return m;
  }
  r.sequence = next_sequence_++;
  if (!any) {
    queues_.append_receive(*c, recv);
    return kNone;
  }
  Receiver& a = receivers_[r.rank];
  link_last<&PostedRecv::next, &PostedRecv::prev>(receives(), a.any_head, a.any_tail, recv);
  if (a.any_indexed) any_recv_index_.append(any_key(r.rank, r.context, r.tag), recv);
  return kNone;
}

}  // namespace weft::replay
