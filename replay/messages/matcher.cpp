#include "replay/messages/matcher.hpp"

#include <algorithm>
#include <utility>

#include "replay/messages/linked_rows.hpp"
#include "traces/op.hpp"

namespace weft::replay {
namespace {
using traces::kAnySource;
using traces::kAnyTag;
}  // namespace

Matcher::Matcher(Pool<Message>& messages, std::uint32_t ranks)
    : messages_(messages), queues_(messages, ranks), receivers_(ranks) {}

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

void Matcher::unlink_receive(Channel& c, std::uint32_t r) {
  if (receives()[r].source == kAnySource)
    unlink_from_receiver(r);
  else
    queues_.remove_receive(c, r);
}

void Matcher::leave_channel(std::uint32_t i) {
  Message& m = messages_[i];
  queues_.remove_message(channel(m), i);
  m.state &= static_cast<std::uint8_t>(~kQueued);
  --unexpected_;
}

void Matcher::unlink_message(std::uint32_t i) {
  leave_channel(i);
  const Message& m = messages_[i];
  if (m.all_prev == kUndecided) {
    undecided_[m.all_next] = kNone;
    return;
  }
  Receiver& a = receivers_[m.dst];
  unlink<&Message::all_next, &Message::all_prev>(messages_, a.msg_head, a.msg_tail, i);
  if (a.shown) {
    shown_.remove(m, i);
    if (a.msg_head == kNone) a.shown = false;
  }
  if (!a.msgs_indexed) return;
  any_msg_index_.remove(any_key(m.dst, m.context, m.tag), i);
  any_tag_index_.remove(any_key(m.dst, m.context, kAnyTag), i);
  if (a.msg_head == kNone) a.msgs_indexed = false;
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

// It is the message's turn: to a receive that was posted and certainly takes it, or into the queues.
std::uint32_t Matcher::hand_over(Channel& c, std::uint32_t message) {
  Message& m = messages_[message];
  Receiver& a = receivers_[m.dst];
  const std::uint32_t r = receive_for(c, m);
  // Not from any source, and no message before it that waits for a decision and may need the receive.
  if (r != kNone && receives()[r].source != kAnySource &&
      (!a.undecided || queues_.first_message(c, receives()[r].tag) == kNone)) {
    queues_.remove_receive(c, r);
    m.state |= kMatched;
    return r;
  }
  queues_.append_message(c, message);
  m.all_prev = kUndecided;
  m.all_next = static_cast<std::uint32_t>(undecided_.size());
  if (!std::exchange(a.undecided, true)) undecided_of_.push_back(m.dst);
  undecided_.push_back(message);
  m.state |= kQueued;
  ++unexpected_;
  return kNone;
}

// By receiver, then as a receive from any source sees them.
void Matcher::put_in_order() {
  std::erase(undecided_, kNone);
  if (undecided_.size() <= 1) return;
  std::stable_sort(undecided_.begin(), undecided_.end(), [this](std::uint32_t i, std::uint32_t j) {
    const Message &a = messages_[i], &b = messages_[j];
    if (a.dst != b.dst) return a.dst < b.dst;
    return a.posted != b.posted ? a.posted < b.posted : a.src < b.src;
  });
}

// All of its instant came: the receive that takes it (removed from its queue, row still live), or kNone: it is unexpected.
std::uint32_t Matcher::settle(std::uint32_t i) {
  Message& m = messages_[i];
  Channel& c = channel(m);
  const std::uint32_t r = receive_for(c, m);
  if (r != kNone) {
    unlink_receive(c, r);
    leave_channel(i);
    m.state |= kMatched;
    return r;
  }
  Receiver& a = receivers_[m.dst];
  link_last<&Message::all_next, &Message::all_prev>(messages_, a.msg_head, a.msg_tail, i);
  if (a.msgs_indexed) index_any(i);
  if (a.shown) list(i);
  return kNone;
}

void Matcher::list_shown(std::uint32_t rank) {
  receivers_[rank].shown = true;
  for (std::uint32_t m = receivers_[rank].msg_head; m != kNone; m = messages_[m].all_next) list(m);
}

void Matcher::list(std::uint32_t i) {
  shown_.take_place(i);
  if (may_be_shown(messages_[i])) shown_.add(messages_[i], i);
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
  // What is undecided may be for a receive that was posted before.
  const bool certain =
      m != kNone && (messages_[m].all_prev != kUndecided || receive_for(*c, messages_[m]) == kNone);
  if (certain) {
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
