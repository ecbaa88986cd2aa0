// Operations of a DirectReplay: what each does to its rank, by the rank's own clock; Operations and CollectiveRuns say the same
// in events.
#include <algorithm>
#include <array>
#include <utility>

#include "replay/direct/direct_replay.hpp"

namespace weft::replay {

using traces::kProcNull;
using traces::Op;
using traces::OpKind;

DirectReplay::Step DirectReplay::compute(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  const Elapsed d =
      op.kind == OpKind::compute_kernel ? run_ahead_.call_time(r, op) : compute_.of(r, k.pc, op);
  if (agenda_.failed()) return give_up();
  k.computed = k.computed || ComputeTimes::more_than_copies(k.program, k.pc, op);
  k.spend(Part::kCompute, d);
  pass(l, d);
  return Step::kDone;
}

DirectReplay::Step DirectReplay::send(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (op.peer == kProcNull) return Step::kDone;
  if (k.stage == Stage::kFresh) {
    if (overheads_) spend(r, k, l, Part::kSend, cost_.send(op.amount), Cause::kSendOverhead);
    k.pending = 1;
    post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, op.kind,
              Target{Target::kBlocking}, l.clock);
    if (await(k) == Step::kBlocked) return Step::kBlocked;
  }
  wait_until_last(r, k, l, Part::kSend);
  return Step::kDone;
}

DirectReplay::Step DirectReplay::recv(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (op.peer == kProcNull) return Step::kDone;
  if (op.peer < 0) return give_up();
  if (k.stage == Stage::kFresh) {
    k.pending = 1;
    post_recv(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount,
              Target{Target::kBlocking}, l.clock);
    if (await(k) == Step::kBlocked) return Step::kBlocked;
  }
  wait_until_last(r, k, l, Part::kRecv);
  if (overheads_) spend(r, k, l, Part::kRecv, cost_.recv(op.amount), Cause::kRecvOverhead);
  return Step::kDone;
}

// The send's operation and the receive right after it.
DirectReplay::Step DirectReplay::sendrecv(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  const auto next = k.program.at(k.pc + 1);
  if (!next || *next == nullptr || (*next)->kind != OpKind::recv ||
      ((*next)->flags & traces::kPairedRecv) == 0)
    return give_up();
  const Op half = **next;
  if (half.peer == traces::kAnySource) return give_up();
  k.op_length = 2;
  const bool sends = op.peer != kProcNull, receives = half.peer != kProcNull;
  if (k.stage == Stage::kFresh) {
    k.pending = (sends ? 1u : 0u) + (receives ? 1u : 0u);
    const Elapsed d = overheads_ && sends ? cost_.send(op.amount) : kNoTime;
    const Target t{Target::kBlocking};
    const auto receive = [&] {
      if (receives)
        post_recv(r, static_cast<std::uint32_t>(half.peer), half.comm.index(), half.tag, half.amount, t,
                  l.clock);
    };
    if (d > kNoTime) {
      receive();
      spend(r, k, l, Part::kSend, d, Cause::kSendOverhead);
    }
    if (sends)
      post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, OpKind::send, t,
                l.clock);
    if (d == kNoTime) receive();
    if (await(k) == Step::kBlocked) return Step::kBlocked;
  }
  wait_until_last(r, k, l, Part::kSend);
  if (overheads_ && receives) spend(r, k, l, Part::kSend, cost_.recv(half.amount), Cause::kRecvOverhead);
  return Step::kDone;
}

bool DirectReplay::begin(Lane& l, std::uint32_t slot, bool receive) {
  if (slot >= l.requests.size()) l.requests.resize(slot + std::size_t{1});
  Request& q = l.requests[slot];
  using State = Request::State;
  if (q.state == State::kActive || q.state == State::kInactive) return false;
  if (q.state == State::kComplete && q.end.at > l.clock) return false;
  let_go(q.end);
  q.state = State::kActive;
  q.receive = receive;
  q.awaited = false;
  q.persistent = false;
  return true;
}

void DirectReplay::post_request(std::uint32_t r, Lane& l, std::uint32_t slot, const Op& op) {
  const bool receive = l.requests[slot].receive;
  if (op.peer == kProcNull)
    tell(r, Target{slot}, {l.clock, kNone, false}, 0);
  else if (op.peer < 0)
    give_up();
  else if (receive)
    post_recv(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, Target{slot},
              l.clock);
  else
    post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, op.kind,
              Target{slot}, l.clock);
}

DirectReplay::Step DirectReplay::isend(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (overheads_ && op.peer != kProcNull)
    spend(r, k, l, Part::kSend, cost_.isend(op.amount), Cause::kSendOverhead);
  if (op.request == traces::kNoRequest) {  // the program freed the request at once
    if (op.peer != kProcNull)
      post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, op.kind, Target{},
                l.clock);
    return Step::kDone;
  }
  if (!begin(l, op.request, false)) return give_up();
  post_request(r, l, op.request, op);
  return Step::kDone;
}

DirectReplay::Step DirectReplay::irecv(std::uint32_t r, Lane& l, const Op& op) {
  if (op.peer == traces::kAnySource) return give_up();
  if (op.request == traces::kNoRequest) {
    if (op.peer != kProcNull)
      post_recv(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, Target{},
                l.clock);
    return Step::kDone;
  }
  if (!begin(l, op.request, true)) return give_up();
  post_request(r, l, op.request, op);
  return Step::kDone;
}

// wait and test name one request, waitall and testall list them, the others list {n, asked..., completed...}:
// replay waits for the ones that completed in the recording.
DirectReplay::Step DirectReplay::wait(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  switch (op.kind) {
    case OpKind::wait:
    case OpKind::test:
      if (op.request == traces::kNoRequest) return wait_for(r, k, l, op, std::array<std::int64_t, 0>{});
      return wait_for(r, k, l, op, std::array{static_cast<std::int64_t>(op.request)});
    case OpKind::waitall:
    case OpKind::testall:
      return wait_for(r, k, l, op, k.program.list(k.pc, op));
    default: {
      const auto list = k.program.list(k.pc, op);
      if (list.empty() || list[0] + 1 >= static_cast<std::int64_t>(list.size()))
        return wait_for(r, k, l, op, std::array<std::int64_t, 0>{});
      return wait_for(r, k, l, op, list.subspan(static_cast<std::size_t>(list[0]) + 1));
    }
  }
}

template <class Slots>
DirectReplay::Step DirectReplay::wait_for(std::uint32_t r, Rank& k, Lane& l, const Op& op,
                                          const Slots& slots) {
  using State = Request::State;
  if (k.stage == Stage::kFresh) {
    k.pending = 0;
    for (const std::int64_t v : slots) {
      if (static_cast<std::uint64_t>(v) >= l.requests.size() || l.requests[v].state == State::kIdle)
        return give_up();
      Request& q = l.requests[v];
      if (q.state != State::kActive || q.awaited) continue;
      q.awaited = true;
      ++k.pending;
    }
    if (await(k) == Step::kBlocked) return Step::kBlocked;
  }
  const Request* last = nullptr;
  for (const std::int64_t v : slots) {
    const Request& q = l.requests[v];
    if (q.state == State::kComplete && (last == nullptr || q.end.after(last->end))) last = &q;
  }
  if (last != nullptr) wait_until(r, k, l, Part::kWait, last->end);
  if (op.kind == OpKind::test || op.kind == OpKind::testall || op.kind == OpKind::testany ||
      op.kind == OpKind::testsome)
    spend(r, k, l, Part::kWait, test_cost_, Cause::kPolls);
  for (const std::int64_t v : slots) {
    Request& q = l.requests[v];
    if (q.state != State::kComplete) continue;
    if (q.receive && overheads_) spend(r, k, l, Part::kWait, cost_.recv(q.bytes), Cause::kRecvOverhead);
    let_go(q.end);
    q.state = q.persistent ? State::kInactive : State::kIdle;
  }
  return Step::kDone;
}

// ---- Collectives, as rounds of messages (CollectiveRuns). A rank is in one at a time.

bool DirectReplay::begin_call(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  std::uint32_t comm = op.comm.index();
  // Only the members of the new communicator take part.
  if (op.kind == OpKind::comm_create_group) comm = static_cast<std::uint32_t>(op.amount);
  auto asked = call_of(comms_, r, op, comm, k.program.list(k.pc, op));
  if (!asked) return false;
  if (!l.call) l.call = std::make_unique<Call>();
  Call& c = *l.call;
  if (comm >= l.calls.size()) l.calls.resize(comm + std::size_t{1}, 0);
  c.comm = comm;
  c.tag = static_cast<std::int32_t>(l.calls[comm]++ & 0x7fffffffu);
  c.next = 0;
  c.receive_cost = kNoTime;
  c.step = Call::Step::kReceived;
  c.me = asked->me;
  c.schedule.clear();
  if (!traces::is_collective(op.kind)) {
    schedule_comm_operation(op.kind, asked->call.ranks, c.me, c.schedule);
    return true;
  }
  constexpr std::uint32_t kWindow = 16;
  c.schedule.window(kWindow);
  choices_.build(asked->call, comm, comms_.members(comm), c.me, c.schedule);
  if (c.schedule.more()) {
    // The lists are the program's, which may let go of them.
    c.counts.assign(asked->call.counts.begin(), asked->call.counts.end());
    c.call = asked->call;
    c.call.counts = c.counts;
  }
  return c.schedule.not_supported.empty();
}

DirectReplay::Step DirectReplay::collective(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (traces::is_nonblocking_collective(op.kind)) return give_up();
  if (k.stage == Stage::kFresh) {
    if (op.kind == OpKind::comm_create_group &&
        (op.amount < 0 || op.amount >= static_cast<std::int64_t>(comms_.count())))
      return Step::kDone;
    if (!begin_call(r, k, l, op)) return give_up();
  }
  return go_on(r, k, l, *l.call);
}

// Makes the next round the one that is posted; returns its send overheads.
Elapsed DirectReplay::open_round(Call& c) const {
  const auto& list = c.schedule.messages;
  c.round_end = c.next;
  while (c.round_end < list.size() && list[c.round_end].round == list[c.next].round) ++c.round_end;
  Elapsed cost;
  if (overheads_)
    for (std::uint32_t i = c.next; i < c.round_end; ++i)
      if (list[i].send) cost += cost_.isend(list[i].bytes);
  return cost;
}

void DirectReplay::post_round(std::uint32_t r, Rank& k, Lane& l, Call& c, bool receives, bool sends) {
  const std::uint32_t context = c.comm | Target::kActivity;
  const Target mine{Target::kBlocking};
  for (std::uint32_t i = c.next; i < c.round_end && !given_up_; ++i) {
    const ScheduleMessage& s = c.schedule.messages[i];
    if (!(s.send ? sends : receives)) continue;
    const auto peer = static_cast<std::uint32_t>(comms_.members(c.comm)[s.peer]);
    ++k.pending;
    if (s.send) {
      post_send(r, peer, context, c.tag, s.bytes, OpKind::isend, mine, l.clock);
    } else {
      if (overheads_) c.receive_cost += cost_.recv(s.bytes);
      post_recv(r, peer, context, c.tag, s.bytes, mine, l.clock);
    }
  }
}

DirectReplay::Step DirectReplay::go_on(std::uint32_t r, Rank& k, Lane& l, Call& c) {
  using At = Call::Step;
  while (!given_up_) {
    if (c.step == At::kRoundOver) {
      wait_until_last(r, k, l, Part::kCollective);
      if (c.receive_cost > kNoTime) spend(r, k, l, Part::kCollective, c.receive_cost, Cause::kRecvOverhead);
    }
    c.receive_cost = kNoTime;
    if (c.next == c.schedule.messages.size()) {
      if (!c.schedule.more()) return Step::kDone;
      c.schedule.go_on();
      choices_.build(c.call, c.comm, comms_.members(c.comm), c.me, c.schedule);
      c.next = 0;
    }
    const Elapsed cost = open_round(c);
    k.pending = 0;
    if (cost > kNoTime) {
      post_round(r, k, l, c, true, false);
      spend(r, k, l, Part::kCollective, cost, Cause::kSendOverhead);
      post_round(r, k, l, c, false, true);
    } else {
      post_round(r, k, l, c, true, true);
    }
    c.next = c.round_end;
    c.step = At::kRoundOver;
    if (await(k) == Step::kBlocked) return Step::kBlocked;
  }
  return Step::kBlocked;
}

// A persistent request is made; a start posts `op`, the *_init operation as its non-blocking form.
DirectReplay::Step DirectReplay::init(Lane& l, const Op& op) {
  if (op.request == traces::kNoRequest) return Step::kDone;
  if (op.request >= l.requests.size()) l.requests.resize(op.request + std::size_t{1});
  if (op.request >= l.persistent.size()) l.persistent.resize(op.request + std::size_t{1});
  Request& q = l.requests[op.request];
  if (q.state != Request::State::kIdle) return give_up();
  q.state = Request::State::kInactive;
  q.persistent = true;
  q.receive = op.kind == OpKind::recv_init;
  l.persistent[op.request] = op;
  l.persistent[op.request].kind = started_form(op.kind);
  return Step::kDone;
}

DirectReplay::Step DirectReplay::start(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  const std::int64_t single = op.request;
  std::span<const std::int64_t> slots(&single, 1);
  if (op.kind == OpKind::startall) slots = k.program.list(k.pc, op);
  Elapsed cost;
  for (const std::int64_t v : slots) {
    if (static_cast<std::uint64_t>(v) >= l.requests.size() ||
        l.requests[v].state != Request::State::kInactive)
      return give_up();
    if (overheads_ && !l.requests[v].receive) cost += cost_.isend(l.persistent[v].amount);
  }
  const auto post = [&](bool receives, bool sends) {
    for (const std::int64_t v : slots) {
      Request& q = l.requests[v];
      if (!(q.receive ? receives : sends)) continue;
      q.state = Request::State::kActive;
      q.awaited = false;
      const Op posted = l.persistent[v];
      post_request(r, l, static_cast<std::uint32_t>(v), posted);
    }
  };
  if (cost == kNoTime) {
    post(true, true);
  } else {
    post(true, false);
    spend(r, k, l, Part::kSend, cost, Cause::kSendOverhead);
    post(false, true);
  }
  return Step::kDone;
}

DirectReplay::Step DirectReplay::operation(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  k.op_length = 1;
  switch (op.kind) {
    case OpKind::compute_time:
    case OpKind::compute_flops:
    case OpKind::compute_kernel:
    case OpKind::sleep:
      return compute(r, k, l, op);
    case OpKind::send:
    case OpKind::ssend:
    case OpKind::bsend:
    case OpKind::rsend:
      return send(r, k, l, op);
    case OpKind::recv:
      return recv(r, k, l, op);
    case OpKind::sendrecv:
      return sendrecv(r, k, l, op);
    case OpKind::isend:
    case OpKind::issend:
    case OpKind::ibsend:
    case OpKind::irsend:
      return isend(r, k, l, op);
    case OpKind::irecv:
      return irecv(r, l, op);
    case OpKind::wait:
    case OpKind::waitall:
    case OpKind::waitany:
    case OpKind::waitsome:
    case OpKind::test:
    case OpKind::testall:
    case OpKind::testany:
    case OpKind::testsome:
      return wait(r, k, l, op);
    case OpKind::region_begin:
      regions_.begin(r, static_cast<std::uint64_t>(op.amount), l.clock,
                     k.spent[static_cast<int>(Part::kCompute)]);
      return Step::kDone;
    case OpKind::region_end:
      if (const auto since = regions_.end(r, static_cast<std::uint64_t>(op.amount), l.clock,
                                          k.spent[static_cast<int>(Part::kCompute)]);
          since && options_.on_region)
        options_.on_region(RankId(r), RegionId(static_cast<std::uint32_t>(op.amount)), since->rounded(),
                           l.clock.rounded());
      return Step::kDone;
    case OpKind::init:
    case OpKind::finalize:
    case OpKind::comm_free:
      return Step::kDone;
    case OpKind::send_init:
    case OpKind::ssend_init:
    case OpKind::bsend_init:
    case OpKind::rsend_init:
    case OpKind::recv_init:
      return init(l, op);
    case OpKind::start:
    case OpKind::startall:
      return start(r, k, l, op);
    case OpKind::probe:
    case OpKind::mprobe:
      return probe(r, k, l, op);
    case OpKind::iprobe:
    case OpKind::improbe:
      return iprobe(r, k, l, op);
    case OpKind::exchange_series:
      return series(r, k, l, op);
    case OpKind::request_free:
    case OpKind::cancel:
    case OpKind::launch:
      return give_up();
    default:
      return collective(r, k, l, op);
  }
}

}  // namespace weft::replay
