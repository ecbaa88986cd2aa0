#include "replay/messages/matcher.hpp"

#include "traces/op.hpp"

namespace weft::replay {
namespace {
using traces::kAnySource;
}  // namespace

Matcher::Matcher(Pool<Message>& messages, std::uint32_t ranks)
    : messages_(messages), receivers_(ranks), channels_(1024) {}

Matcher::Channel* Matcher::find_channel(std::uint32_t dst, std::uint32_t src, std::uint32_t context) {
  const std::uint64_t pair = pair_of(dst, src);
  for (std::size_t i = mix(pair, context) & (channels_.size() - 1);; i = (i + 1) & (channels_.size() - 1)) {
    if (channels_[i].pair == pair && channels_[i].context == context) return &channels_[i];
    if (channels_[i].pair == kEmpty) return nullptr;
  }
}

// What channel() did not find where it looked first; makes it if there is none.
Matcher::Channel& Matcher::search(std::uint64_t pair, std::uint32_t context) {
  while (true) {
    for (std::size_t i = mix(pair, context) & (channels_.size() - 1);; i = (i + 1) & (channels_.size() - 1)) {
      if (channels_[i].pair == pair && channels_[i].context == context) return channels_[i];
      if (channels_[i].pair != kEmpty) continue;
      if ((used_ + 1) * 2 > channels_.size()) break;
      ++used_;
      channels_[i].pair = pair;
      channels_[i].context = context;
      return channels_[i];
    }
    rebuild();
  }
}

// Drops channels without anything in them; grows only if that leaves the table more than a quarter full.
void Matcher::rebuild() {
  std::size_t live = 0;
  for (const Channel& c : channels_) live += c.pair != kEmpty && !c.idle();
  std::vector<Channel> old(live * 4 > channels_.size() ? channels_.size() * 2 : channels_.size());
  old.swap(channels_);
  used_ = 0;
  for (const Channel& c : old) {
    if (c.pair == kEmpty || c.idle()) continue;
    std::size_t i = mix(c.pair, c.context) & (channels_.size() - 1);
    while (channels_[i].pair != kEmpty) i = (i + 1) & (channels_.size() - 1);
    channels_[i] = c;
    ++used_;
  }
}

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
  Channel& c = channel(destination, source, context);
  if (c.early == 0 || (messages_[c.flight_head].state & kEnvelopeHere) == 0) return {};
  --c.early;
  return take_turn(c, c.flight_head);
}

void Matcher::unlink(std::uint32_t r, std::uint32_t& head, std::uint32_t& tail) {
  const PostedRecv& v = recvs_[r];
  (v.prev == kNone ? head : recvs_[v.prev].next) = v.next;
  (v.next == kNone ? tail : recvs_[v.next].prev) = v.prev;
}

void Matcher::unlink_from_channel(Channel& c, std::uint32_t r) {
  unlink(r, c.recv_head, c.recv_tail);
  if (c.recvs_indexed == 0) return;
  recv_index_.remove(key_of(recvs_[r]), r);
  if (c.recv_head == kNone) c.recvs_indexed = 0;
}

void Matcher::unlink_from_receiver(std::uint32_t r) {
  Receiver& a = receivers_[recvs_[r].rank];
  unlink(r, a.any_head, a.any_tail);
  if (!a.any_indexed) return;
  recv_index_.remove(key_of(recvs_[r]), r);
  if (a.any_head == kNone) a.any_indexed = false;
}

void Matcher::unlink_message(std::uint32_t i) {
  Message& m = messages_[i];
  Channel& c = channel(m);
  (m.pair_prev == kNone ? c.msg_head : messages_[m.pair_prev].pair_next) = m.pair_next;
  (m.pair_next == kNone ? c.msg_tail : messages_[m.pair_next].pair_prev) = m.pair_prev;
  if (c.msgs_indexed != 0) {
    msg_index_.remove(key_of(m), i);
    if (c.msg_head == kNone) c.msgs_indexed = 0;
  }
  Receiver& a = receivers_[m.dst];
  (m.all_prev == kNone ? a.msg_head : messages_[m.all_prev].all_next) = m.all_next;
  (m.all_next == kNone ? a.msg_tail : messages_[m.all_next].all_prev) = m.all_prev;
  if (a.msgs_indexed) {
    any_msg_index_.remove(any_key(m.dst, m.context, m.tag), i);
    any_tag_index_.remove(any_key(m.dst, m.context, kAnyTag), i);
    if (a.msg_head == kNone) a.msgs_indexed = false;
  }
  m.state &= static_cast<std::uint8_t>(~kQueued);
  --unexpected_;
}

bool Matcher::withdraw(std::uint32_t rank, Target target) {
  const std::uint32_t r =
      recvs_.find_live([&](const PostedRecv& v) { return v.rank == rank && v.target.value == target.value; });
  if (r == kNone) return false;
  const PostedRecv& v = recvs_[r];
  if (v.source == kAnySource)
    unlink_from_receiver(r);
  else
    unlink_from_channel(channel(v.rank, static_cast<std::uint32_t>(v.source), v.context), r);
  recvs_.give(r);
  return true;
}

// The one that was posted first; kNone is after all others.
std::uint32_t Matcher::earlier(std::uint32_t a, std::uint32_t b) const {
  if (a == kNone || b == kNone) return a == kNone ? b : a;
  return recvs_[b].sequence < recvs_[a].sequence ? b : a;
}

// The earliest receive of the channel that takes a message of that tag.
std::uint32_t Matcher::first_recv(Channel& c, std::int32_t tag) {
  if (c.recvs_indexed == 0) {
    std::uint32_t steps = 0;
    for (std::uint32_t r = c.recv_head; r != kNone; r = recvs_[r].next) {
      if (recvs_[r].tag == tag || recvs_[r].tag == kAnyTag) return r;
      if (++steps == TagIndex::kWalk) break;
    }
    if (steps < TagIndex::kWalk) return kNone;
    c.recvs_indexed = 1;
    for (std::uint32_t r = c.recv_head; r != kNone; r = recvs_[r].next)
      recv_index_.append(key_of(recvs_[r]), r);
  }
  TagIndex::Key key{c.pair, c.context, tag};
  const std::uint32_t exact = recv_index_.first(key);
  key.tag = kAnyTag;
  return earlier(exact, recv_index_.first(key));
}

// The same among the rank's receives from any source.
std::uint32_t Matcher::first_any(std::uint32_t rank, std::uint32_t context, std::int32_t tag) {
  Receiver& a = receivers_[rank];
  if (!a.any_indexed) {
    std::uint32_t steps = 0;
    for (std::uint32_t r = a.any_head; r != kNone; r = recvs_[r].next) {
      const PostedRecv& v = recvs_[r];
      if (v.context == context && (v.tag == tag || v.tag == kAnyTag)) return r;
      if (++steps == TagIndex::kWalk) break;
    }
    if (steps < TagIndex::kWalk) return kNone;
    a.any_indexed = true;
    for (std::uint32_t r = a.any_head; r != kNone; r = recvs_[r].next)
      recv_index_.append(key_of(recvs_[r]), r);
  }
  return earlier(recv_index_.first(any_key(rank, context, tag)),
                 recv_index_.first(any_key(rank, context, kAnyTag)));
}

// It is the message's turn: to a receive that was posted, or into the queues.
std::uint32_t Matcher::hand_over(Channel& c, std::uint32_t message) {
  Message& m = messages_[message];
  const std::uint32_t exact = c.recv_head == kNone ? kNone : first_recv(c, m.tag);
  const std::uint32_t any = receivers_[m.dst].any_head == kNone ? kNone : first_any(m.dst, m.context, m.tag);
  const std::uint32_t r = earlier(exact, any);
  if (r != kNone) {
    if (r == exact)
      unlink_from_channel(c, r);
    else
      unlink_from_receiver(r);
    m.state |= kMatched;
    return r;
  }
  m.pair_prev = c.msg_tail;
  m.pair_next = kNone;
  (c.msg_tail == kNone ? c.msg_head : messages_[c.msg_tail].pair_next) = message;
  c.msg_tail = message;
  if (c.msgs_indexed != 0) msg_index_.append(key_of(m), message);
  Receiver& a = receivers_[m.dst];
  m.all_prev = a.msg_tail;
  m.all_next = kNone;
  (a.msg_tail == kNone ? a.msg_head : messages_[a.msg_tail].all_next) = message;
  a.msg_tail = message;
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

// The earliest unexpected message of the channel that a receive of that tag takes.
std::uint32_t Matcher::first_message(Channel& c, std::int32_t tag) {
  if (tag == kAnyTag) return c.msg_head;
  if (c.msgs_indexed == 0) {
    std::uint32_t steps = 0;
    for (std::uint32_t m = c.msg_head; m != kNone; m = messages_[m].pair_next) {
      if (messages_[m].tag == tag) return m;
      if (++steps == TagIndex::kWalk) break;
    }
    if (steps < TagIndex::kWalk) return kNone;
    c.msgs_indexed = 1;
    for (std::uint32_t m = c.msg_head; m != kNone; m = messages_[m].pair_next)
      msg_index_.append(key_of(messages_[m]), m);
  }
  return msg_index_.first({c.pair, c.context, tag});
}

// The same among all of the rank's unexpected messages.
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
  Channel* const c = find_channel(rank, static_cast<std::uint32_t>(source), context);
  return c == nullptr ? kNone : first_message(*c, tag);
}

std::uint32_t Matcher::post(std::uint32_t recv) {
  PostedRecv& r = recvs_[recv];
  const bool any = r.source == kAnySource;
  Channel* const c = any ? nullptr : &channel(r.rank, static_cast<std::uint32_t>(r.source), r.context);
  const std::uint32_t m = any ? first_message(r.rank, r.context, r.tag) : first_message(*c, r.tag);
  if (m != kNone) {
    unlink_message(m);
    messages_[m].state |= kMatched;
    return m;
  }
  r.sequence = next_sequence_++;
  Receiver& a = receivers_[r.rank];
  std::uint32_t* const head = any ? &a.any_head : &c->recv_head;
  std::uint32_t* const tail = any ? &a.any_tail : &c->recv_tail;
  r.prev = *tail;
  r.next = kNone;
  (*tail == kNone ? *head : recvs_[*tail].next) = recv;
  *tail = recv;
  if (any ? a.any_indexed : c->recvs_indexed != 0) recv_index_.append(key_of(r), recv);
  return kNone;
}

}  // namespace weft::replay
