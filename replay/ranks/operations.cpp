#include "replay/ranks/operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "replay/event_loop.hpp"
#include "replay/ranks/detours.hpp"
#include "traces/request_book.hpp"

namespace weft::replay {

using traces::kProcNull;

Step Operations::bad(std::uint32_t r, std::string_view what) {
  agenda_.fail(ranks_.bad_operation(r, what));
  return Step::kBlocked;
}

Step Operations::in_use(std::uint32_t r, const Op& op) {
  return bad(r, fmt::format("request {} is {} while it is in use", op.request,
                            traces::makes_persistent_request(op.kind) ? "made" : "started"));
}

Step Operations::not_for_launched(std::uint32_t r, const Op& op, std::int64_t slot) {
  return bad(r, fmt::format("{} on request {}, a launched kernel: only a wait may name it",
                            traces::op_name(op.kind), slot));
}

std::optional<LinkCopy> Operations::link_copy(std::uint32_t r, const Rank& k, const Op& op) const {
  if (!copies_.any()) return {};
  const auto list = k.program.list(k.pc, op);
  if (list.size() < 4 || list[0] < 0 || list[0] >= static_cast<std::int64_t>(traces::kKernelCount)) return {};
  const traces::KernelShape shape{static_cast<traces::Kernel>(list[0]), list[1], list[2], list[3]};
  if (!compute_.over_links(r, shape)) return {};
  return compute_.link_copy(r, shape);
}

Step Operations::compute(std::uint32_t r, Rank& k, const Op& op) {
  if (k.stage != Stage::kFresh) return Step::kDone;
  if (op.kind == OpKind::compute_kernel) {
    if (const auto copy = link_copy(r, k, op)) {
      hindsight_.depends_on_time();  // which other flows it meets
      k.part = Part::kCompute;
      k.pending = 1;
      k.stage = Stage::kFinishing;
      copies_.begin(r, *copy, Target{Target::kBlocking});
      return Step::kBlocked;
    }
  }
  k.computed = k.computed || ComputeTimes::more_than_copies(k.program, k.pc, op);
  const Elapsed d =
      op.kind == OpKind::compute_kernel ? run_ahead_.call_time(r, op) : compute_.of(r, k.pc, op);
  if (agenda_.failed()) return Step::kBlocked;
  if (d == kNoTime) return Step::kDone;
  if (op.kind == OpKind::sleep) hindsight_.sleeps(r, d);
  k.part = Part::kCompute;
  return pass(r, k, d, Stage::kFinishing);
}

// The rank goes on at once; its accelerator does the rest.
Step Operations::launch(std::uint32_t r, Rank& k, const Op& op) {
  hindsight_.depends_on_time();
  auto copy = link_copy(r, k, op);
  const Elapsed d = copy ? kNoTime : compute_.of(r, k.pc, op);
  if (agenda_.failed()) return Step::kBlocked;
  if (op.request != traces::kNoRequest) {
    if (!k.requests.begin(op.request, false)) return in_use(r, op);
    k.requests.mark_launched(op.request);
  }
  const auto kernel = static_cast<traces::Kernel>(k.program.list(k.pc, op)[0]);
  // One queue for all copies, also where a platform gives those of one direction a time and those of the other links.
  if (!copy && copies_.any() && traces::is_device_copy(kernel))
    copy = LinkCopy{.to_device = kernel == traces::Kernel::copy_to_device, .before = d};
  if (copy) {
    copies_.launch(r, k.pc, *copy, op.request == traces::kNoRequest ? Target{} : Target{op.request});
    return Step::kDone;
  }
  devices_.launch(r, k.pc, kernel, op.request, d);
  return Step::kDone;
}

Step Operations::send(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kSend;
  if (op.peer == kProcNull || k.stage == Stage::kFinishing) return Step::kDone;
  const Elapsed d = overheads_ ? cost_.send(op.amount) : kNoTime;
  if (k.stage == Stage::kFresh && d > kNoTime)
    return pay(r, k, d, Cause::kSendOverhead, Stage::kOverheadPaid);
  k.pending = 1;
  transfers_.post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, op.kind,
                       Target{Target::kBlocking}, d);
  if (k.pending == 0) return Step::kDone;
  k.stage = Stage::kFinishing;
  return Step::kBlocked;
}

Step Operations::recv(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kRecv;
  if (op.peer == kProcNull || k.stage == Stage::kFinishing) return Step::kDone;
  if (k.stage == Stage::kFresh) {
    k.pending = 1;
    transfers_.post_recv(r, op.peer, op.comm.index(), op.tag, op.amount, Target{Target::kBlocking});
    if (k.pending > 0) {
      k.stage = Stage::kWaiting;
      return Step::kBlocked;
    }
  }
  if (overheads_) {
    const Elapsed d = cost_.recv(k.received);
    if (d > kNoTime) return pay(r, k, d, Cause::kRecvOverhead, Stage::kFinishing);
  }
  return Step::kDone;
}

// The send's operation and the receive right after it.
Step Operations::sendrecv(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kSend;
  auto next = k.program.at(k.pc + 1);
  if (!next) {
    agenda_.fail(std::move(next).error());
    return Step::kBlocked;
  }
  if (*next == nullptr || !traces::is_receive_half(**next))
    return bad(r, "a sendrecv without its receive half");
  const Op half = **next;
  if (k.stage == Stage::kFinishing) return Step::kBothDone;
  return sendrecv(r, k, op, half);
}

// Both halves at once.
Step Operations::sendrecv(std::uint32_t r, Rank& k, const Op& op, const Op& half) {
  const Target t{Target::kBlocking};
  const bool sends = op.peer != kProcNull, receives = half.peer != kProcNull;
  const auto post_half = [&] {
    if (receives) transfers_.post_recv(r, half.peer, half.comm.index(), half.tag, half.amount, t);
  };
  if (k.stage != Stage::kWaiting) {
    const Elapsed d = overheads_ && sends ? cost_.send(op.amount) : kNoTime;
    if (k.stage == Stage::kFresh) {
      k.pending = (sends ? 1u : 0u) + (receives ? 1u : 0u);
      if (d > kNoTime) {
        post_half();
        return pay(r, k, d, Cause::kSendOverhead, Stage::kOverheadPaid);
      }
    }
    if (sends)
      transfers_.post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount,
                           OpKind::send, t, d);
    if (k.stage == Stage::kFresh) post_half();
    if (k.pending > 0) {
      k.stage = Stage::kWaiting;
      return Step::kBlocked;
    }
  }
  if (overheads_ && receives) {
    const Elapsed d = cost_.recv(k.received);
    if (d > kNoTime) return pay(r, k, d, Cause::kRecvOverhead, Stage::kFinishing);
  }
  return Step::kBothDone;
}

void Operations::post_request(std::uint32_t r, Rank& k, std::uint32_t slot, const Op& op, Elapsed paid) {
  if (op.peer == kProcNull) {
    hindsight_.no_message(r, slot);
    k.requests.complete(slot, Requests::kNoMessage);
    return;
  }
  if (!k.requests.is_receive(slot))
    return transfers_.post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount,
                                op.kind, Target{slot}, paid);
  const std::uint32_t row =
      transfers_.post_recv(r, op.peer, op.comm.index(), op.tag, op.amount, Target{slot});
  if (row != kNone) k.requests.stands_in(slot, row);
}

Step Operations::isend(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kSend;
  const Elapsed d = overheads_ && op.peer != kProcNull ? cost_.isend(op.amount) : kNoTime;
  if (k.stage == Stage::kFresh && d > kNoTime)
    return pay(r, k, d, Cause::kSendOverhead, Stage::kOverheadPaid);
  if (op.request == traces::kNoRequest) {  // the program freed the request at once
    if (op.peer != kProcNull)
      transfers_.post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount,
                           op.kind, Target{}, d);
    return Step::kDone;
  }
  if (!k.requests.begin(op.request, false, op.kind == OpKind::issend)) return in_use(r, op);
  post_request(r, k, op.request, op, d);
  return Step::kDone;
}

Step Operations::irecv(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kRecv;
  if (op.request == traces::kNoRequest) {
    if (op.peer != kProcNull) transfers_.post_recv(r, op.peer, op.comm.index(), op.tag, op.amount, Target{});
    return Step::kDone;
  }
  if (!k.requests.begin(op.request, true)) return in_use(r, op);
  post_request(r, k, op.request, op, kNoTime);
  return Step::kDone;
}

// What is still under way goes on, and nobody is told of its end (MPI-3.1, section 3.7.3).
Step Operations::request_free(std::uint32_t r, Rank& k, const Op& op) {
  if (k.requests.is_launched(op.request)) return not_for_launched(r, op, op.request);
  if (k.requests.is_active(op.request)) {
    const std::uint32_t row = k.requests.row(op.request);
    const bool receive = k.requests.is_receive(op.request);
    if (!transfers_.forget(r, Target{op.request}, receive ? row : kNone) && !receive)
      collectives_.forget(row, r, Target{op.request});
  }
  k.requests.release(op.request);
  return Step::kDone;
}

// A receive that nothing matched yet is withdrawn; its wait returns at once. Anything else completes as if
// there were no cancel (sends are rarely cancelled in time; MPI-4.0 deprecates it).
Step Operations::cancel(std::uint32_t r, Rank& k, const Op& op) {
  if (k.requests.is_launched(op.request)) return not_for_launched(r, op, op.request);
  hindsight_.depends_on_time();
  if (!k.requests.is_active(op.request) || !k.requests.is_receive(op.request)) return Step::kDone;
  if (k.stage != Stage::kLooks) return look_last(r, k);  // the message may come at this very instant
  if (transfers_.withdraw(k.requests.row(op.request), r, Target{op.request}))
    k.requests.complete(op.request, Requests::kNoMessage);
  return Step::kDone;
}

Step Operations::start(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kSend;
  const std::int64_t single = op.request;
  std::span<const std::int64_t> slots(&single, 1);
  if (op.kind == OpKind::startall) slots = k.program.list(k.pc, op);
  if (k.stage == Stage::kFresh)
    for (const std::int64_t v : slots)
      if (!k.requests.is_inactive(v))
        return bad(r, fmt::format("request {} is started but is not an inactive persistent one", v));
  Elapsed cost;
  for (const std::int64_t v : slots) {
    const auto slot = static_cast<std::uint32_t>(v);
    const Op& posted = k.requests.operation(slot);
    if (overheads_ && !k.requests.is_receive(slot) && posted.peer != kProcNull)
      cost += cost_.isend(posted.amount);
  }
  const auto post = [&](bool receives, bool sends) {
    for (const std::int64_t v : slots) {
      const auto slot = static_cast<std::uint32_t>(v);
      if (k.requests.is_receive(slot) ? receives : sends)
        post_request(r, k, slot, k.requests.restart(slot, op), cost);
    }
    return Step::kDone;
  };
  if (k.stage == Stage::kOverheadPaid) return post(false, true);
  if (cost == kNoTime) return post(true, true);
  post(true, false);
  return pay(r, k, cost, Cause::kSendOverhead, Stage::kOverheadPaid);
}

Step Operations::wait(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kWait;
  if (k.stage == Stage::kFinishing) return Step::kDone;
  std::int64_t single = op.request;
  // Of one request, as most waits are, no step is a loop.
  if (op.kind == OpKind::wait && op.request != traces::kNoRequest)
    return wait_for(r, k, op, std::array{single});
  return wait_for(r, k, op, traces::completed_requests(op, k.program.list(k.pc, op), single));
}

template <class Slots>
Step Operations::wait_for(std::uint32_t r, Rank& k, const Op& op, const Slots& slots) {
  // What a rank waits for on its accelerator is its own work, so such waits are computation and stand alone.
  for (const std::int64_t v : slots) {
    if (!k.requests.is_launched(v)) continue;
    if (op.kind != OpKind::wait) return not_for_launched(r, op, v);
    k.part = Part::kCompute;
    if (k.stage == Stage::kWaiting) devices_.waited(r, k.blocked_since);
  }
  if (k.stage == Stage::kFresh) {
    if (const std::int64_t* const never = k.requests.await(slots, k.pending))
      return bad(r,
                 fmt::format("{} on request {}, which was never started", traces::op_name(op.kind), *never));
    if (k.pending > 0) {
      k.stage = Stage::kWaiting;
      return Step::kBlocked;
    }
  }
  Elapsed cost;
  if (op.kind == OpKind::test || op.kind == OpKind::testall || op.kind == OpKind::testany ||
      op.kind == OpKind::testsome)
    causes_.add(r, Cause::kPolls, cost = test_cost_);
  hindsight_.collected(r, slots);
  k.requests.collect(slots, [&](NoNote /*note*/, bool receive, std::int64_t bytes) {
    if (!receive || !overheads_ || bytes == Requests::kNoMessage) return;
    const Elapsed d = cost_.recv(bytes);
    causes_.add(r, Cause::kRecvOverhead, d);
    cost += d;
  });
  return cost > kNoTime ? pass_in_turn(r, k, cost, Stage::kFinishing) : Step::kDone;
}

Step Operations::probe(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kRecv;
  if (op.peer == kProcNull) return Step::kDone;
  hindsight_.depends_on_time();
  // Which message it is, and whether a receive takes it, is known when all that comes at this instant has come.
  const bool later = k.stage != Stage::kWaiting && (op.peer < 0 || transfers_.undecided(r));
  if (!later && probes_.probe_finds(r, op)) return Step::kDone;
  k.stage = Stage::kWaiting;
  ranks_.look(r, RankState::kProbing);
  if (later)
    transfers_.may_be_seen(r);
  else
    probes_.poke(r);
  return Step::kBlocked;
}

// A conditional step, decided anew: the body runs at the first poll of its run that finds the message
// (OpFlags::kHit).
Step Operations::iprobe(std::uint32_t r, Rank& k, const Op& op) {
  if (k.in_detour || op.peer == kProcNull) return Step::kDone;
  // Polls that were merged into one operation each took their time; where the body ran already nobody polls.
  if (run_ahead_.polls_take_time() && k.stage == Stage::kFresh && !poll_is_over(k, k.pc, op)) {
    k.part = Part::kPoll;
    return pay(r, k, run_ahead_.poll_time(op), Cause::kPolls, Stage::kOverheadPaid);
  }
  if ((op.flags & traces::kHit) == 0) return missed_poll(r, k, op);
  if (!pass_body_that_ran(k, op)) return probe(r, k, op);
  ranks_.count_ops(1);
  return Step::kSkip;
}

// A poll that missed in the recording: if it finds the message now, the rank runs the body of the hit, then returns.
Step Operations::missed_poll(std::uint32_t r, Rank& k, const Op& op) {
  const auto hit = hit_of_missed_poll(k, k.pc, op);
  if (!hit) return Step::kDone;  // a run of polls that never hit
  hindsight_.depends_on_time();
  if (body_ran(k, *hit)) return Step::kDone;
  const bool last = k.stage == Stage::kLooks;
  // Which message it is, and whether a receive takes it, is known when all that comes at this instant has come.
  if (!last && (op.peer < 0 || transfers_.undecided(r))) return look_last(r, k);
  if (!probes_.poll_finds(r, op)) {
    // So is whether what else is due at this instant is the message.
    if (last || !(due_now(agenda_, network_) || probes_.may_come(r, op))) return Step::kDone;
    return look_last(r, k);
  }
  const std::uint64_t poll = k.pc;
  const auto taken = take_detour(k, *hit);
  if (!taken) {
    agenda_.fail(taken.error());
    return Step::kBlocked;
  }
  if (*taken == Detour::kNoHit) return bad(r, "a poll that points at no hit");
  if (*taken == Detour::kEmpty) return Step::kDone;
  if (options_.on_op) options_.on_op(RankId(r), poll, k.op_start.rounded(), agenda_.now().rounded());
  ranks_.count_ops(1);
  return Step::kSkip;
}

Step Operations::collective(std::uint32_t r, Rank& k, const Op& op) {
  if (traces::is_nonblocking_collective(op.kind)) {
    Target t{};
    if (op.request != traces::kNoRequest) {
      if (!k.requests.begin(op.request, false)) return in_use(r, op);
      t.value = op.request;
      hindsight_.no_message(r, op.request);  // a communicator operation of others
    }
    call_collective(r, op, t);
    return Step::kDone;
  }
  k.part = Part::kCollective;
  if (k.stage == Stage::kFinishing) return Step::kDone;
  k.pending = 1;
  call_collective(r, op, Target{Target::kBlocking});
  if (!agenda_.failed() && k.pending == 0) return Step::kDone;
  k.stage = Stage::kFinishing;
  return Step::kBlocked;
}

Step Operations::task(std::uint32_t r, Rank& k, const Op& op) {
  if (!tasks_.add(r, op, k.program.list(k.pc, op)))
    return bad(r, fmt::format("{} after a task that does not stand before it", traces::op_name(op.kind)));
  ++k.pc;  // it is over, and shown, when the task is
  return Step::kSkip;
}

Step Operations::task_wait(std::uint32_t r, Rank& k) {
  k.part = Part::kWait;
  if (k.stage == Stage::kFinishing) k.op_start = agenda_.now();  // what it did meanwhile was told
  if (k.stage == Stage::kFinishing || !tasks_.wait(r)) return Step::kDone;
  k.pending = 1;
  k.stage = Stage::kFinishing;
  return Step::kBlocked;
}

Step Operations::series(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kCollective;
  if (k.stage == Stage::kFinishing) return Step::kDone;
  hindsight_.depends_on_time();
  k.stage = Stage::kFinishing;
  series_.arrive(r, op);
  return Step::kBlocked;
}

Step Operations::region(std::uint32_t r, const Op& op) {
  const auto id = static_cast<std::uint64_t>(op.amount);
  const Instant now = agenda_.now();
  const Elapsed computed = ranks_[r].total(Part::kCompute);
  if (op.kind == OpKind::region_begin) {
    regions_.begin(r, id, now, computed);
  } else if (const auto since = regions_.end(r, id, now, computed); since && options_.on_region) {
    options_.on_region(RankId(r), RegionId(static_cast<std::uint32_t>(id)), since->rounded(), now.rounded());
  }
  if (hindsight_.any()) {
    hindsight_.region(r, id, op.kind == OpKind::region_begin);
    hindsight_.enters(r, static_cast<std::uint32_t>(regions_.innermost(r).value_or(kNone)));
  }
  return Step::kDone;
}

Step Operations::run(std::uint32_t r, Rank& k, const Op& op) {
  switch (op.kind) {
    case OpKind::compute_time:
    case OpKind::compute_flops:
    case OpKind::compute_kernel:
    case OpKind::sleep:
      return compute(r, k, op);
    case OpKind::launch:
      return launch(r, k, op);
    case OpKind::send:
    case OpKind::ssend:
    case OpKind::bsend:
    case OpKind::rsend:
      return send(r, k, op);
    case OpKind::recv:
      return recv(r, k, op);
    case OpKind::sendrecv:
      return sendrecv(r, k, op);
    case OpKind::isend:
    case OpKind::issend:
    case OpKind::ibsend:
    case OpKind::irsend:
      return isend(r, k, op);
    case OpKind::irecv:
      return irecv(r, k, op);
    case OpKind::send_init:
    case OpKind::ssend_init:
    case OpKind::bsend_init:
    case OpKind::rsend_init:
    case OpKind::recv_init:
      if (op.request != traces::kNoRequest && !k.requests.init(op.request, op)) return in_use(r, op);
      return Step::kDone;
    case OpKind::start:
    case OpKind::startall:
      return start(r, k, op);
    case OpKind::request_free:
      return request_free(r, k, op);
    case OpKind::cancel:
      return cancel(r, k, op);
    case OpKind::wait:
    case OpKind::waitall:
    case OpKind::waitany:
    case OpKind::waitsome:
    case OpKind::test:
    case OpKind::testall:
    case OpKind::testany:
    case OpKind::testsome:
      return wait(r, k, op);
    case OpKind::probe:
    case OpKind::mprobe:
      return probe(r, k, op);
    case OpKind::iprobe:
    case OpKind::improbe:
      return iprobe(r, k, op);
    case OpKind::task_compute:
    case OpKind::task_send:
    case OpKind::task_recv:
      return task(r, k, op);
    case OpKind::task_wait:
      return task_wait(r, k);
    case OpKind::region_begin:
    case OpKind::region_end:
      return region(r, op);
    case OpKind::exchange_series:
      k.computed = false;
      return series(r, k, op);
    case OpKind::init:
    case OpKind::finalize:
    case OpKind::comm_free:
      return Step::kDone;
    default:
      return collective(r, k, op);
  }
}

}  // namespace weft::replay
