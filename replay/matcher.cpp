#include "replay/matcher.hpp"

#include "traces/op.hpp"

namespace weft::replay {
namespace {
using traces::kAnySource;

bool accepts(std::uint32_t context, std::int32_t tag, const Message& m) {
  return m.context == context && (tag == traces::kAnyTag || tag == m.tag);
}
}  // namespace

Matcher::Matcher(Pool<Message>& messages, std::uint32_t ranks)
    : messages_(messages), receivers_(ranks), pairs_(1024) {}

const Matcher::Pair* Matcher::find_pair(std::uint32_t dst, std::uint32_t src) const {
  const std::uint64_t key = (static_cast<std::uint64_t>(dst) << 32) | src;
  for (std::size_t i = mix(key) & (pairs_.size() - 1);; i = (i + 1) & (pairs_.size() - 1)) {
    if (pairs_[i].key == key) return &pairs_[i];
    if (pairs_[i].key == kEmpty) return nullptr;
  }
}

Matcher::Pair& Matcher::pair(std::uint32_t dst, std::uint32_t src) {
  const std::uint64_t key = (static_cast<std::uint64_t>(dst) << 32) | src;
  while (true) {
    for (std::size_t i = mix(key) & (pairs_.size() - 1);; i = (i + 1) & (pairs_.size() - 1)) {
      if (pairs_[i].key == key) return pairs_[i];
      if (pairs_[i].key != kEmpty) continue;
      if ((used_ + 1) * 2 > pairs_.size()) break;
      ++used_;
      pairs_[i].key = key;
      return pairs_[i];
    }
    rebuild();
  }
}

// Drops pairs with empty queues; grows only if that leaves the table more than a quarter full.
void Matcher::rebuild() {
  std::size_t live = 0;
  for (const Pair& p : pairs_) live += p.key != kEmpty && (p.recv_head != kNone || p.msg_head != kNone);
  std::vector<Pair> old(live * 4 > pairs_.size() ? pairs_.size() * 2 : pairs_.size());
  old.swap(pairs_);
  used_ = 0;
  for (const Pair& p : old) {
    if (p.key == kEmpty || (p.recv_head == kNone && p.msg_head == kNone)) continue;
    std::size_t i = mix(p.key) & (pairs_.size() - 1);
    while (pairs_[i].key != kEmpty) i = (i + 1) & (pairs_.size() - 1);
    pairs_[i] = p;
    ++used_;
  }
}

void Matcher::unlink(std::uint32_t r, std::uint32_t& head, std::uint32_t& tail) {
  const PostedRecv& v = recvs_[r];
  (v.prev == kNone ? head : recvs_[v.prev].next) = v.next;
  (v.next == kNone ? tail : recvs_[v.next].prev) = v.prev;
}

void Matcher::unlink_recv(std::uint32_t r) {
  const PostedRecv& v = recvs_[r];
  if (v.source == kAnySource) return unlink(r, receivers_[v.rank].any_head, receivers_[v.rank].any_tail);
  Pair& p = pair(v.rank, static_cast<std::uint32_t>(v.source));
  unlink(r, p.recv_head, p.recv_tail);
}

void Matcher::unlink_message(std::uint32_t m) {
  Message& v = messages_[m];
  Pair& p = pair(v.dst, v.src);
  (v.pair_prev == kNone ? p.msg_head : messages_[v.pair_prev].pair_next) = v.pair_next;
  (v.pair_next == kNone ? p.msg_tail : messages_[v.pair_next].pair_prev) = v.pair_prev;
  Receiver& a = receivers_[v.dst];
  (v.all_prev == kNone ? a.msg_head : messages_[v.all_prev].all_next) = v.all_next;
  (v.all_next == kNone ? a.msg_tail : messages_[v.all_next].all_prev) = v.all_prev;
  v.state &= static_cast<std::uint8_t>(~kQueued);
  --unexpected_;
}

bool Matcher::withdraw(std::uint32_t rank, Target target) {
  const std::uint32_t r =
      recvs_.find_live([&](const PostedRecv& v) { return v.rank == rank && v.target.value == target.value; });
  if (r == kNone) return false;
  unlink_recv(r);
  recvs_.give(r);
  return true;
}

std::uint32_t Matcher::deliver(std::uint32_t message) {
  Message& m = messages_[message];
  Pair& p = pair(m.dst, m.src);
  std::uint32_t exact = p.recv_head;
  while (exact != kNone && !accepts(recvs_[exact].context, recvs_[exact].tag, m)) exact = recvs_[exact].next;
  std::uint32_t any = receivers_[m.dst].any_head;
  while (any != kNone && !accepts(recvs_[any].context, recvs_[any].tag, m)) any = recvs_[any].next;
  std::uint32_t r = exact;
  if (any != kNone && (exact == kNone || recvs_[any].sequence < recvs_[exact].sequence)) r = any;
  if (r != kNone) {
    if (r == exact)
      unlink(r, p.recv_head, p.recv_tail);
    else
      unlink(r, receivers_[m.dst].any_head, receivers_[m.dst].any_tail);
    m.state |= kMatched;
    return r;
  }
  m.pair_prev = p.msg_tail;
  m.pair_next = kNone;
  (p.msg_tail == kNone ? p.msg_head : messages_[p.msg_tail].pair_next) = message;
  p.msg_tail = message;
  Receiver& a = receivers_[m.dst];
  m.all_prev = a.msg_tail;
  m.all_next = kNone;
  (a.msg_tail == kNone ? a.msg_head : messages_[a.msg_tail].all_next) = message;
  a.msg_tail = message;
  m.state |= kQueued;
  ++unexpected_;
  return kNone;
}

std::uint32_t Matcher::peek(std::uint32_t rank, std::uint32_t context, std::int32_t source,
                            std::int32_t tag) const {
  if (source == kAnySource) {
    std::uint32_t m = receivers_[rank].msg_head;
    while (m != kNone && !accepts(context, tag, messages_[m])) m = messages_[m].all_next;
    return m;
  }
  const Pair* p = find_pair(rank, static_cast<std::uint32_t>(source));
  return p == nullptr ? kNone : first_accepted(*p, context, tag);
}

std::uint32_t Matcher::first_accepted(const Pair& p, std::uint32_t context, std::int32_t tag) const {
  std::uint32_t m = p.msg_head;
  while (m != kNone && !accepts(context, tag, messages_[m])) m = messages_[m].pair_next;
  return m;
}

std::uint32_t Matcher::post(std::uint32_t recv) {
  PostedRecv& r = recvs_[recv];
  const bool any = r.source == kAnySource;
  Pair* const p = any ? nullptr : &pair(r.rank, static_cast<std::uint32_t>(r.source));
  const std::uint32_t m =
      any ? peek(r.rank, r.context, r.source, r.tag) : first_accepted(*p, r.context, r.tag);
  if (m != kNone) {
    unlink_message(m);
    messages_[m].state |= kMatched;
    return m;
  }
  r.sequence = next_sequence_++;
  std::uint32_t* const head = any ? &receivers_[r.rank].any_head : &p->recv_head;
  std::uint32_t* const tail = any ? &receivers_[r.rank].any_tail : &p->recv_tail;
  r.prev = *tail;
  r.next = kNone;
  (*tail == kNone ? *head : recvs_[*tail].next) = recv;
  *tail = recv;
  return kNone;
}

}  // namespace weft::replay
