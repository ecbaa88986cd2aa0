// Operations of a DirectReplay: what each does to its rank, by the rank's own clock (Operations does the same by events), and the loop over ranks and
// their operations.
#include <algorithm>
#include <array>
#include <utility>

#include "replay/direct/direct_replay.hpp"
#include "replay/ranks/detours.hpp"
#include "traces/request_book.hpp"

namespace weft::replay {

using traces::kProcNull;
using traces::Op;
using traces::OpKind;

[[gnu::always_inline]] inline Step DirectReplay::compute(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (run_ahead_.enabled()) {
    const std::uint64_t at = k.pc;
    if (run_ahead(r, l)) return Step::kBlocked;
    if (k.pc != at) return Step::kSkip;
  }
  const Elapsed d =
      op.kind == OpKind::compute_kernel ? run_ahead_.call_time(r, op) : compute_.of(r, k.pc, op);
  if (agenda_.failed()) return give_up();
  k.computed = k.computed || ComputeTimes::more_than_copies(k.program, k.pc, op);
  k.spend(Part::kCompute, d);
  pass(k, l, d);
  return Step::kDone;
}

[[gnu::always_inline]] inline Step DirectReplay::send(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (op.peer == kProcNull) return Step::kDone;
  if (k.stage == Stage::kFresh) {
    if (overheads_) pay_sends(r, k, l, Part::kSend, cost_.send(op.amount));
    k.pending = 1;
    post_send(r, l, op, Target{Target::kBlocking});
    if (given_up_ || await(k) == Step::kBlocked) return Step::kBlocked;
  }
  wait_until_last(r, k, l, Part::kSend);
  return Step::kDone;
}

[[gnu::always_inline]] inline Step DirectReplay::recv(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (op.peer == kProcNull) return Step::kDone;
  if (op.peer < 0) return give_up();
  if (k.stage == Stage::kFresh) {
    k.pending = 1;
    post_recv(r, l, op, Target{Target::kBlocking});
    if (given_up_ || await(k) == Step::kBlocked) return Step::kBlocked;
  }
  wait_until_last(r, k, l, Part::kRecv);
  if (overheads_) spend(r, k, l, Part::kRecv, cost_.recv(l.received), Cause::kRecvOverhead);
  return Step::kDone;
}

// The send's operation and the receive right after it.
Step DirectReplay::sendrecv(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  const auto next = k.program.at(k.pc + 1);
  if (!next || *next == nullptr || !traces::is_receive_half(**next)) return give_up();
  const Op half = **next;
  if (half.peer == traces::kAnySource) return give_up();
  const bool sends = op.peer != kProcNull, receives = half.peer != kProcNull;
  if (k.stage == Stage::kFresh) {
    k.pending = (sends ? 1u : 0u) + (receives ? 1u : 0u);
    const Elapsed d = overheads_ && sends ? cost_.send(op.amount) : kNoTime;
    const Target t{Target::kBlocking};
    const auto receive = [&] {
      if (receives) post_recv(r, l, half, t);
    };
    if (d > kNoTime) receive();
    if (overheads_) pay_sends(r, k, l, Part::kSend, d);
    if (sends) {
      Op sent = op;
      sent.kind = OpKind::send;
      post_send(r, l, sent, t);
    }
    if (d == kNoTime) receive();
    if (given_up_ || await(k) == Step::kBlocked) return Step::kBlocked;
  }
  wait_until_last(r, k, l, Part::kSend);
  if (overheads_ && receives) spend(r, k, l, Part::kSend, cost_.recv(l.received), Cause::kRecvOverhead);
  return Step::kBothDone;
}

[[gnu::always_inline]] inline bool DirectReplay::begin(Lane& l, std::uint32_t slot, bool receive) {
  if (l.requests.is_complete(slot)) {
    End& end = l.requests.note(slot);
    if (end.at > l.clock) return false;  // it is in use
    let_go(end);
  }
  return l.requests.begin(slot, receive);
}

// Who is told of its end: its request; nobody if the program freed that at once.
static Target target_of(const Op& op) {
  static_assert(traces::kNoRequest == Target::kNobody);
  return {op.request};
}

template <bool kReceive>
[[gnu::always_inline]] inline void DirectReplay::post_request(std::uint32_t r, Lane& l, const Op& op,
                                                              Target target) {
  if (op.peer == kProcNull)
    tell(r, target, {l.clock, kNone, !kReceive}, Requests::kNoMessage);
  else if (op.peer < 0)
    give_up();
  else if constexpr (kReceive)
    post_recv(r, l, op, target);
  else
    post_send(r, l, op, target);
}

[[gnu::always_inline]] inline Step DirectReplay::isend(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (overheads_ && op.peer != kProcNull) pay_sends(r, k, l, Part::kSend, cost_.isend(op.amount));
  if (op.request != traces::kNoRequest && !begin(l, op.request, false)) return give_up();
  post_request<false>(r, l, op, target_of(op));
  return posted();
}

[[gnu::always_inline]] inline Step DirectReplay::irecv(std::uint32_t r, Lane& l, const Op& op) {
  if (op.request != traces::kNoRequest && !begin(l, op.request, true)) return give_up();
  post_request<true>(r, l, op, target_of(op));
  return posted();
}

Step DirectReplay::wait(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  std::int64_t single = op.request;
  const std::span<const std::int64_t> slots =
      traces::completed_requests(op, k.program.list(k.pc, op), single);
  if (k.stage == Stage::kFresh) {
    if (l.requests.await(slots, k.pending) != nullptr) return give_up();
    if (await(k) == Step::kBlocked) return Step::kBlocked;
  }
  const End* last = nullptr;
  l.requests.visit_complete(slots, [&](const End& end) {
    if (last == nullptr || end.after(*last)) last = &end;
  });
  if (last != nullptr) wait_until(r, k, l, Part::kWait, *last);
  const Instant over = l.clock;
  if (op.kind == OpKind::test || op.kind == OpKind::testall || op.kind == OpKind::testany ||
      op.kind == OpKind::testsome)
    spend(r, k, l, Part::kWait, test_cost_, Cause::kPolls);
  l.requests.collect(slots, [&](End& end, bool receive, std::int64_t bytes) {
    if (receive && overheads_ && bytes != Requests::kNoMessage)
      spend(r, k, l, Part::kWait, cost_.recv(bytes), Cause::kRecvOverhead);
    let_go(end);
  });
  if (l.clock != over) k.since = over;
  return Step::kDone;
}

// wait() of one request, as most are.
[[gnu::always_inline]] inline Step DirectReplay::wait_for_one(std::uint32_t r, Rank& k, Lane& l,
                                                              std::uint32_t slot) {
  if (k.stage == Stage::kFresh) {
    if (l.requests.await(std::array<std::int64_t, 1>{slot}, k.pending) != nullptr) return give_up();
    if (await(k) == Step::kBlocked) return Step::kBlocked;
  }
  l.requests.collect(std::array<std::int64_t, 1>{slot}, [&](End& end, bool receive, std::int64_t bytes) {
    wait_until(r, k, l, Part::kWait, end);
    if (receive && overheads_ && bytes != Requests::kNoMessage)
      spend(r, k, l, Part::kWait, cost_.recv(bytes), Cause::kRecvOverhead);
    let_go(end);
  });
  return Step::kDone;
}

// ---- Collectives, as rounds of messages. A rank is in one at a time.

Step DirectReplay::collective(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (traces::is_nonblocking_collective(op.kind)) return give_up();
  if (k.stage == Stage::kFresh) {
    const auto comm = communicator_of(comms_, op);
    if (!comm) return Step::kDone;
    if (!l.call) l.call = std::make_unique<Call>();
    l.call->posted = false;
    l.call->since = l.clock;
    if (!l.call->rounds.begin(rules(), r, op, *comm, k.program.list(k.pc, op), l.calls)) return give_up();
  }
  return go_on(r, k, l, *l.call);
}

void DirectReplay::post_round(std::uint32_t r, Rank& k, Lane& l, Call& c, bool receives, bool sends) {
  const Target mine{Target::kBlocking};
  ++rounds_;
  const auto post_one = [&](const CollectiveRounds::RoundMessage& m) {
    ++k.pending;
    const Op op{.kind = m.send ? OpKind::isend : OpKind::irecv,
                .comm = CommId(m.context),
                .peer = static_cast<std::int32_t>(m.peer),
                .tag = m.tag,
                .amount = m.bytes};
    if (m.send)
      post_send(r, l, op, mine, m.form);
    else
      post_recv(r, l, op, mine);
    return !given_up_;
  };
  // With thousands of messages each waits for the row of its channel.
  if (!channels_.many()) return c.rounds.post(rules(), receives, sends, post_one);
  c.rounds.post(rules(), receives, sends, post_one,
                [&](bool send, std::uint32_t peer, std::uint32_t context) {
                  channels_.prefetch(send ? r : peer, send ? peer : r, context);
                });
}

Step DirectReplay::go_on(std::uint32_t r, Rank& k, Lane& l, Call& c) {
  while (!given_up_) {
    if (c.posted) {
      wait_until_last(r, k, l, Part::kCollective);
      if (c.rounds.receive_cost() > kNoTime)
        spend(r, k, l, Part::kCollective, c.rounds.receive_cost(), Cause::kRecvOverhead);
    }
    if (c.rounds.over()) {
      if (l.clock != c.since) k.since = c.since;
      return Step::kDone;
    }
    c.rounds.open(rules());
    k.pending = 0;
    const bool pays = c.rounds.send_cost() > kNoTime;
    if (pays) post_round(r, k, l, c, true, false);
    if (overheads_) pay_sends(r, k, l, Part::kCollective, c.rounds.send_cost());
    post_round(r, k, l, c, !pays, true);
    c.rounds.posted();
    c.posted = true;
    if (await(k) == Step::kBlocked) return Step::kBlocked;
  }
  return Step::kBlocked;
}

Step DirectReplay::init(Lane& l, const Op& op) {
  if (op.request == traces::kNoRequest) return Step::kDone;
  if (!l.requests.is_idle(op.request)) return give_up();
  return l.requests.init(op.request, op) ? Step::kDone : give_up();
}

Step DirectReplay::start(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  const std::int64_t single = op.request;
  std::span<const std::int64_t> slots(&single, 1);
  if (op.kind == OpKind::startall) slots = k.program.list(k.pc, op);
  Elapsed cost;
  for (const std::int64_t v : slots) {
    if (!l.requests.is_inactive(v)) return give_up();
    const auto slot = static_cast<std::uint32_t>(v);
    const Op& posted = l.requests.operation(slot);
    if (overheads_ && !l.requests.is_receive(slot) && posted.peer != kProcNull)
      cost += cost_.isend(posted.amount);
  }
  const auto post = [&](bool receives, bool sends) {
    for (const std::int64_t v : slots) {
      const auto slot = static_cast<std::uint32_t>(v);
      if (!(l.requests.is_receive(slot) ? receives : sends)) continue;
      const Op posted = l.requests.restart(slot, op);
      if (l.requests.is_receive(slot))
        post_request<true>(r, l, posted, Target{slot});
      else
        post_request<false>(r, l, posted, Target{slot});
    }
  };
  const bool pays = cost > kNoTime;
  if (pays) post(true, false);
  if (overheads_) pay_sends(r, k, l, Part::kSend, cost);
  post(!pays, true);
  return posted();
}

// Where all of it is called from: most operations do less than a call of it would.
[[gnu::always_inline]] inline Step DirectReplay::operation(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
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
      return op.request != traces::kNoRequest ? wait_for_one(r, k, l, op.request) : Step::kDone;
    case OpKind::waitall:
    case OpKind::waitany:
    case OpKind::waitsome:
    case OpKind::test:
    case OpKind::testall:
    case OpKind::testany:
    case OpKind::testsome:
      return wait(r, k, l, op);
    case OpKind::region_begin:
      regions_.begin(r, static_cast<std::uint64_t>(op.amount), l.clock, k.total(Part::kCompute));
      return Step::kDone;
    case OpKind::region_end:
      if (const auto since =
              regions_.end(r, static_cast<std::uint64_t>(op.amount), l.clock, k.total(Part::kCompute));
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
    case OpKind::task_compute:
    case OpKind::task_send:
    case OpKind::task_recv:
    case OpKind::task_wait:
      return give_up();
    default:
      return collective(r, k, l, op);
  }
}

[[gnu::always_inline]] inline void DirectReplay::run_rank(std::uint32_t r) {
  const bool hints = ranks_.many() || channels_.many();
  if (flows_ != Flows::kShared)
    return hints ? run_operations<true, false>(r) : run_operations<false, false>(r);
  if (hints) [[unlikely]]
    return run_operations<true, true>(r);
  run_operations<false, true>(r);
}

void DirectReplay::run_ready() {
  while (ranks_.any_ready() && !given_up_) {
    const std::uint32_t r = ranks_.take_ready().index();
    if (ranks_.many())
      for (std::uint32_t stage = 0; stage < 3; ++stage)
        if (const auto next = ranks_.ready_after(3 - stage)) prefetch_rank(next->index(), stage);
    run_rank(r);
    if (ranks_.ops_done() + rounds_ >= next_look_) [[unlikely]]
      look();
  }
}

template <bool kHints, bool kShared>
void DirectReplay::run_operations(std::uint32_t r) {
  Rank& k = ranks_[r];
  Lane& l = lanes_[r];
  [[maybe_unused]] std::uint32_t turn = kTurn;
  k.state = RankState::kReady;
  while (true) {
    if (!k.program.at_hand(k.pc)) [[unlikely]]
      if (!fetch(k, l)) return;
    const traces::Op& op = k.program.rest_of_block(k.pc).front();
    // Not too far ahead of the others: what it sends meanwhile is kept until they come to it.
    if (k.stage == Stage::kFresh) {
      if constexpr (kShared) {
        if (l.ahead > kAhead && l.clock > agenda_.now())
          return agenda_.post(l.clock, EventKind::kRankTimer, r);
      } else if (turn-- == 0) [[unlikely]]
        return ranks_.make_ready(r);
    }
    if constexpr (kHints) prefetch_peer(r, k, kPeersAhead);
    const Step step = operation(r, k, l, op);
    if (step == Step::kBlocked) {
      if (k.state == RankState::kReady) k.state = RankState::kBlocked;
      return;
    }
    k.stage = Stage::kFresh;
    if (step == Step::kSkip) [[unlikely]]
      continue;
    const auto over = static_cast<std::uint64_t>(step);
    ranks_.count_ops(over);
    k.pc += over;
  }
}

// The block of the rank's next operation, without those that are over. False: there is none, or it could not be read.
[[gnu::noinline]] bool DirectReplay::fetch(Rank& k, const Lane& l) {
  auto fetched = replay::fetch(k);
  if (!fetched) {
    unreadable_ = std::move(fetched).error();
    give_up();
    return false;
  }
  if (*fetched == nullptr) ranks_.finish(k, l.clock);
  return *fetched != nullptr;
}

}  // namespace weft::replay
