#include "traces/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "traces/op_rules.hpp"
#include "traces/request_book.hpp"

namespace weft::traces::doctor {
namespace {

constexpr std::size_t kQuantum = 256;   // operations a rank runs before the next one does
constexpr std::size_t kBacklog = 4096;  // unreceived messages of a sender before others go first

}  // namespace

bool Doctor::member(std::uint32_t r, const Op& op, std::int32_t who, const char* role, std::uint64_t index) {
  if (collectives_.position(op.comm, static_cast<std::uint32_t>(who)) >= 0) return true;
  error(r, index, op,
        fmt::format("{} {} is not in communicator {}", role, who,
                    trace_.communicators()[op.comm.index()].name));
  return false;
}

void Doctor::notify(std::uint32_t rank, std::uint32_t slot) {
  if (slot == Message::kNobody) return;
  Rank& k = ranks_[rank];
  if (slot == kCurrent) {
    k.current_done = true;
  } else if (const auto it = k.requests.find(slot); it != k.requests.end()) {
    it->second.done = true;
  }
  wake(rank);
}

void Doctor::matched(const Channel& c, const Message& m, std::int64_t posted_bytes,
                     std::uint64_t recv_index) {
  if (m.bytes > posted_bytes)
    find_.add(wild_guess_ ? Severity::kWarning : Severity::kError, c.dst, recv_index, "receive",
              fmt::format("posted {} bytes, but the message of rank {} with tag {} has {} ({})", posted_bytes,
                          c.src, m.tag, m.bytes, trace_.position(RankId(c.src), m.op)));
  --ranks_[c.src].in_flight;
  notify(c.src, m.waiter);
}

void Doctor::deliver(std::uint32_t src, const Op& op, std::uint64_t index, std::uint32_t waiter) {
  const auto dst = static_cast<std::uint32_t>(op.peer);
  Channel& c = channel(op.comm, src, dst);
  const Message m{op.tag, op.amount, index, waiter};
  ++ranks_[src].in_flight;
  const auto it =
      std::ranges::find_if(c.posted, [&](const Posted& p) { return p.tag == kAnyTag || p.tag == op.tag; });
  if (it != c.posted.end()) {
    const Posted p = *it;
    c.posted.erase(it);
    matched(c, m, p.bytes, p.op);
    notify(dst, p.slot);
    return;
  }
  c.unexpected.push_back(m);
  // A receive from any source is matched when it is completed; a synchronous sender sees it as soon as it is
  // posted.
  if (waiter != Message::kNobody && ranks_[dst].wild_posted > 0) {
    c.unexpected.back().waiter = Message::kNobody;
    notify(src, waiter);
  }
  wake(dst);
}

bool Doctor::take(Channel& c, std::int64_t tag, std::int64_t posted_bytes, std::uint64_t recv_index) {
  const auto it =
      std::ranges::find_if(c.unexpected, [&](const Message& m) { return tag == kAnyTag || m.tag == tag; });
  if (it == c.unexpected.end()) return false;
  const Message m = *it;
  c.unexpected.erase(it);
  matched(c, m, posted_bytes, recv_index);
  return true;
}

bool Doctor::take_from_any(std::uint32_t r, CommId comm, std::int64_t source, std::int64_t tag,
                           std::int64_t bytes, std::uint64_t index) {
  if (source >= 0) {
    Channel* c = find_channel(comm, static_cast<std::uint32_t>(source), r);
    return c != nullptr && take(*c, tag, bytes, index);
  }
  for (const std::int32_t s : trace_.communicators()[comm.index()].members)
    if (Channel* c = find_channel(comm, static_cast<std::uint32_t>(s), r); c != nullptr) {
      // Set first: a message too large for the receive is our guess's fault, too.
      const bool before = std::exchange(wild_guess_, true);
      if (take(*c, tag, bytes, index)) return true;
      wild_guess_ = before;
    }
  return false;
}

bool Doctor::send(std::uint32_t r, Rank& me, const Op& op) {
  if (op.peer == kProcNull) return true;
  if (!me.issued) {
    if (!member(r, op, op.peer, "destination", me.index())) return true;
    const bool waits =
        op.kind == OpKind::ssend || (synchronous_ && (op.kind == OpKind::send || op.kind == OpKind::rsend));
    me.issued = true;
    me.current_done = !waits;
    deliver(r, op, me.index(), waits ? kCurrent : Message::kNobody);
  }
  return me.current_done;
}

bool Doctor::receive(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  if (op.peer == kProcNull) return true;
  if (op.peer == kAnySource) {
    if (!me.issued) {
      me.issued = true;
      ++me.wild_posted;
    }
    const bool known = !list.empty();
    if (!take_from_any(r, op.comm, known ? list[0] : kAnySource, known ? list[1] : op.tag, op.amount,
                       me.index()))
      return false;
    --me.wild_posted;
    return true;
  }
  if (!me.issued) {
    if (!member(r, op, op.peer, "source", me.index())) return true;
    me.issued = true;
    Channel& c = channel(op.comm, static_cast<std::uint32_t>(op.peer), r);
    me.current_done = take(c, op.tag, op.amount, me.index());
    if (!me.current_done) c.posted.push_back({op.tag, op.amount, me.index(), kCurrent});
  }
  return me.current_done;
}

bool Doctor::probe(std::uint32_t r, Rank& me, const Op& op, std::int64_t source, std::int64_t tag) {
  if (source == kProcNull) return true;
  const auto there = [&](std::int64_t s) {
    const Channel* c = find_channel(op.comm, static_cast<std::uint32_t>(s), r);
    return c != nullptr && std::ranges::any_of(c->unexpected, [&](const Message& m) {
             return tag == kAnyTag || m.tag == tag;
           });
  };
  me.issued = true;
  if (source >= 0) return there(source);
  return std::ranges::any_of(trace_.communicators()[op.comm.index()].members, there);
}

void Doctor::activate(std::uint32_t r, Rank& me, Request& q, std::uint32_t slot, std::uint64_t index) {
  const Op& op = q.op;
  q.active = true;
  q.index = index;
  q.done = false;
  q.wildcard = false;
  if (op.peer == kProcNull) {
    q.done = true;
  } else if (is_receive_request(op.kind)) {
    if (op.peer == kAnySource) {
      q.wildcard = true;
      ++me.wild_posted;
      return;
    }
    q.done = !member(r, op, op.peer, "source", index);
    if (q.done) return;
    Channel& c = channel(op.comm, static_cast<std::uint32_t>(op.peer), r);
    q.done = take(c, op.tag, op.amount, index);
    if (!q.done) c.posted.push_back({op.tag, op.amount, index, slot});
  } else {
    q.done = !member(r, op, op.peer, "destination", index);
    if (q.done) return;
    const bool sync = op.kind == OpKind::issend || op.kind == OpKind::ssend_init;
    const bool buffered = op.kind == OpKind::ibsend || op.kind == OpKind::bsend_init;
    const bool waits = sync || (synchronous_ && !buffered);
    q.done = !waits;
    deliver(r, op, index, waits ? slot : Message::kNobody);
  }
}

void Doctor::post(std::uint32_t r, Rank& me, const Op& op) {
  auto& q = me.requests[op.request];
  if (q.active) {
    error(r, me.index(), op,
          fmt::format("request {} is still in use by the {} at operation {}", op.request, op_name(q.op.kind),
                      q.index));
    if (q.wildcard) --me.wild_posted;
  }
  q = Request{.op = op, .index = me.index()};
  q.persistent = op.kind >= OpKind::send_init && op.kind <= OpKind::recv_init;
  if (!q.persistent) activate(r, me, q, op.request, me.index());
}

void Doctor::request_op(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  const auto start = [&](std::uint32_t slot) {
    const auto it = me.requests.find(slot);
    if (it == me.requests.end() || !it->second.persistent)
      return error(r, me.index(), op, fmt::format("request {} is not a persistent request", slot));
    if (it->second.active)
      return error(r, me.index(), op, fmt::format("request {} is started already", slot));
    activate(r, me, it->second, slot, me.index());
  };
  if (op.kind == OpKind::start) return start(op.request);
  if (op.kind == OpKind::startall) {
    for (const std::int64_t s : list) start(static_cast<std::uint32_t>(s));
    return;
  }
  const auto it = me.requests.find(op.request);
  if (it == me.requests.end())
    return error(r, me.index(), op, fmt::format("request {} does not exist", op.request));
  Request& q = it->second;
  if (op.kind == OpKind::cancel) {
    if (q.active && !q.done && is_receive_request(q.op.kind) && !q.wildcard) {
      Channel& c = channel(q.op.comm, static_cast<std::uint32_t>(q.op.peer), r);
      std::erase_if(c.posted, [&](const Posted& p) { return p.slot == op.request; });
    }
    q.done = true;
    return;
  }
  if (q.wildcard && q.active) --me.wild_posted;
  // A freed receive stays posted (MPI completes it in the background); nobody waits for it any more.
  if (q.active && !q.done && q.op.peer >= 0)
    if (Channel* c = find_channel(q.op.comm, static_cast<std::uint32_t>(q.op.peer), r);
        c != nullptr && is_receive_request(q.op.kind))
      for (Posted& p : c->posted)
        if (p.slot == op.request) p.slot = Message::kNobody;
  me.requests.erase(it);
}

bool Doctor::complete(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  std::int64_t one = 0;
  const auto slots = completed_requests(op, list, one);
  bool all = true;
  for (const std::int64_t s : slots) {
    const auto it = me.requests.find(static_cast<std::uint32_t>(s));
    if (it == me.requests.end()) {
      if (!me.issued) error(r, me.index(), op, fmt::format("request {} is not active", s));
      continue;
    }
    Request& q = it->second;
    if (!q.active || q.done) continue;
    if (is_nonblocking_collective(q.op.kind)) {
      q.done = collectives_.may_leave(q.op, r, q.instance, synchronous_);
    } else if (q.wildcard) {
      const bool known = (op.kind == OpKind::wait || op.kind == OpKind::test) && op.peer >= 0;
      q.done = take_from_any(r, q.op.comm, known ? op.peer : kAnySource, known ? op.tag : q.op.tag,
                             q.op.amount, q.index);
    }
    all = all && q.done;
  }
  me.issued = true;
  if (!all) return false;
  for (const std::int64_t s : slots) {
    const auto it = me.requests.find(static_cast<std::uint32_t>(s));
    if (it == me.requests.end()) continue;
    Request& q = it->second;
    if (q.wildcard && q.active) --me.wild_posted;
    q.active = q.wildcard = false;
    if (!q.persistent) me.requests.erase(it);
  }
  return true;
}

bool Doctor::collective(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  if (!me.issued) {
    // comm_create_group is collective over the members of the new communicator only.
    Op on = op;
    if (op.kind == OpKind::comm_create_group) {
      if (op.amount < 0) return true;
      on.comm = CommId(static_cast<std::uint32_t>(op.amount));
    }
    if (!member(r, on, static_cast<std::int32_t>(r), "rank", me.index())) return true;
    if (is_rooted(op.kind) && !member(r, on, op.peer, "root", me.index())) return true;
    me.issued = true;
    const auto arrival = collectives_.arrive(on, r, me.index(), list);
    me.instance = arrival.instance;
    for (const auto& f : arrival.faults)
      error(r, me.index(), op,
            fmt::format("{} ({})", f.text, trace_.position(RankId(f.other_rank), f.other_op)));
    if (is_nonblocking_collective(op.kind)) {
      auto& q = me.requests[op.request];
      if (q.active) error(r, me.index(), op, fmt::format("request {} is still in use", op.request));
      q = Request{.op = on, .index = me.index(), .active = true, .instance = arrival.instance};
    }
    for (const std::int32_t m : trace_.communicators()[on.comm.index()].members)
      if (arrival.wakes) wake(static_cast<std::uint32_t>(m));
  }
  if (is_nonblocking_collective(op.kind)) return true;
  Op on = op;
  if (op.kind == OpKind::comm_create_group) on.comm = CommId(static_cast<std::uint32_t>(op.amount));
  return collectives_.may_leave(on, r, me.instance, synchronous_);
}

bool Doctor::step(std::uint32_t r, Rank& me, const Op& op, std::span<const std::int64_t> list) {
  const OpKind k = op.kind;
  if (op.comm.index() != 0 && !me.issued && k >= OpKind::send && k <= OpKind::comm_free &&
      (is_send(k) || k == OpKind::recv || makes_request(k)) &&
      !member(r, op, static_cast<std::int32_t>(r), "rank", me.index()))
    return true;
  if (k == OpKind::sendrecv) {  // its send never waits here: the receive half may be what lets it go
    if (op.peer != kProcNull && member(r, op, op.peer, "destination", me.index()))
      deliver(r, op, me.index(), Message::kNobody);
    return true;
  }
  if (is_blocking_send(k)) return send(r, me, op);
  if (k == OpKind::recv) return receive(r, me, op, list);
  if (is_collective(k) || is_comm_create(k)) return collective(r, me, op, list);
  if (makes_request(k)) {
    post(r, me, op);
    return true;
  }
  if (is_completion(k)) return complete(r, me, op, list);
  if (k == OpKind::iprobe || k == OpKind::improbe)
    return (op.flags & kHit) == 0 || probe(r, me, op, list[2], list[3]);
  if (k == OpKind::probe || k == OpKind::mprobe) {
    const bool known = !list.empty();
    return probe(r, me, op, known ? list[0] : op.peer, known ? list[1] : op.tag);
  }
  if (k == OpKind::start || k == OpKind::startall || k == OpKind::request_free || k == OpKind::cancel) {
    request_op(r, me, op, list);
  } else if (k == OpKind::region_begin) {
    me.region_stack.push_back(static_cast<std::uint32_t>(op.amount));
  } else if (k == OpKind::region_end) {
    if (me.region_stack.empty() || me.region_stack.back() != static_cast<std::uint32_t>(op.amount))
      find_.add(Severity::kWarning, r, me.index(), "region_end",
                fmt::format("region {} is not the one that was begun last",
                            trace_.regions()[static_cast<std::size_t>(op.amount)]));
    else
      me.region_stack.pop_back();
  }
  return true;
}

Result<void> Doctor::run() {
  trace_.rewind();
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    ready_.push_back(r);
    ranks_[r].queued = true;
  }
  while (!ready_.empty() || !throttled_.empty()) {
    auto& queue = ready_.empty() ? throttled_ : ready_;
    const std::uint32_t r = queue.front();
    queue.pop_front();
    Rank& me = ranks_[r];
    me.queued = false;
    me.blocked = false;
    for (std::size_t n = 0; n < kQuantum && !me.ended && !me.blocked; ++n) {
      if (me.at == me.block.ops.size()) {
        WEFT_ASSIGN(const bool more, trace_.next_block(RankId(r), me.block));
        me.at = 0;
        if (!more) {
          me.ended = true;
          me.block = {};
          break;
        }
      }
      const Op& op = me.block.ops[me.at];
      if (step(r, me, op, me.block.list(op))) {
        me.issued = me.current_done = false;
        ++me.at;
      } else {
        me.blocked = true;
      }
    }
    if (!me.ended && !me.blocked) {
      me.queued = true;
      (me.in_flight > kBacklog ? throttled_ : ready_).push_back(r);
    }
  }
  finish();
  return {};
}

}  // namespace weft::traces::doctor
