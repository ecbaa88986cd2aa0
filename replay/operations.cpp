// What each operation of a trace does to its rank. Every handler may be entered again after a wait:
// `Rank::stage` says how far the operation is.
#include <fmt/format.h>

#include <algorithm>

#include "replay/simulation.hpp"

namespace weft::replay {

using traces::kAnySource;
using traces::kProcNull;
using traces::OpKind;

void Simulation::bad_op(const Rank& k, std::uint32_t r, std::string what) {
  fail(bad_input(trace_.position(RankId(r), k.pc), fmt::format("rank {}: {}", r, what)));
}

// CPU time `d` of this rank passes, for `cause`, then the operation goes on at `next`.
Simulation::Step Simulation::pay(std::uint32_t r, Rank& k, Elapsed d, Cause cause, Stage next) {
  causes_.add(r, cause, d);
  return pass(r, k, d, next);
}

// Time `d` of this rank passes, then the operation goes on at `next`.
Simulation::Step Simulation::pass(std::uint32_t r, Rank& k, Elapsed d, Stage next) {
  k.stage = next;
  post_event(now_ + d, EventKind::kRankTimer, r);
  return Step::kBlocked;
}

Simulation::Slot* Simulation::slot_for(Rank& k, const Op& op) {
  if (op.request == traces::kNoRequest) return nullptr;
  if (op.request >= k.slots.size()) k.slots.resize(op.request + 1);
  return &k.slots[op.request];
}

Simulation::Step Simulation::do_compute(std::uint32_t r, Rank& k, const Op& op) {
  if (k.stage != Stage::kFresh) return Step::kDone;
  k.computed |= computes_more_than_copies(k.program, k.pc, op);
  const Elapsed d = op.kind == OpKind::compute_kernel ? call_time(r, k, op) : compute_time(r, k, k.pc, op);
  if (error_) return Step::kBlocked;
  if (d == kNoTime) return Step::kDone;
  k.part = Part::kCompute;
  return pass(r, k, d, Stage::kFinishing);
}

Simulation::Step Simulation::do_send(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kSend;
  if (op.peer == kProcNull || k.stage == Stage::kFinishing) return Step::kDone;
  if (k.stage == Stage::kFresh && overheads_) {
    const Elapsed d = cost_.send(op.amount);
    if (d > kNoTime) return pay(r, k, d, Cause::kSendOverhead, Stage::kOverheadPaid);
  }
  k.pending = 1;
  post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, op.kind,
            Target{Target::kBlocking});
  if (k.pending == 0) return Step::kDone;
  k.stage = Stage::kFinishing;
  return Step::kBlocked;
}

Simulation::Step Simulation::do_recv(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kRecv;
  if (op.peer == kProcNull || k.stage == Stage::kFinishing) return Step::kDone;
  if (k.stage == Stage::kFresh) {
    k.pending = 1;
    post_recv(r, op.peer, op.comm.index(), op.tag, op.amount, Target{Target::kBlocking});
    if (k.pending > 0) {
      k.stage = Stage::kWaiting;
      return Step::kBlocked;
    }
  }
  if (overheads_) {
    const Elapsed d = cost_.recv(op.amount);
    if (d > kNoTime) return pay(r, k, d, Cause::kRecvOverhead, Stage::kFinishing);
  }
  return Step::kDone;
}

// Both halves at once: the send's operation and the receive right after it. Where the send takes processor time the
// receive is posted before it: what arrives meanwhile finds it there.
Simulation::Step Simulation::do_sendrecv(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kSend;
  auto next = k.program.at(k.pc + 1);
  if (!next) {
    fail(std::move(next).error());
    return Step::kBlocked;
  }
  if (*next == nullptr || (*next)->kind != OpKind::recv || ((*next)->flags & traces::kPairedRecv) == 0) {
    bad_op(k, r, "a sendrecv without its receive half");
    return Step::kBlocked;
  }
  const Op half = **next;
  k.op_length = 2;
  if (k.stage == Stage::kFinishing) return Step::kDone;
  const Target t{Target::kBlocking};
  const auto post_half = [&] {
    if (half.peer != kProcNull) post_recv(r, half.peer, half.comm.index(), half.tag, half.amount, t);
  };
  if (k.stage == Stage::kFresh) {
    k.pending = (op.peer != kProcNull ? 1u : 0u) + (half.peer != kProcNull ? 1u : 0u);
    const Elapsed d = overheads_ && op.peer != kProcNull ? cost_.send(op.amount) : kNoTime;
    if (d > kNoTime) {
      post_half();
      return pay(r, k, d, Cause::kSendOverhead, Stage::kOverheadPaid);
    }
  }
  if (k.stage != Stage::kWaiting) {
    if (op.peer != kProcNull)
      post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, OpKind::send, t);
    if (k.stage == Stage::kFresh) post_half();
    if (k.pending > 0) {
      k.stage = Stage::kWaiting;
      return Step::kBlocked;
    }
  }
  if (overheads_ && half.peer != kProcNull) {
    const Elapsed d = cost_.recv(half.amount);
    if (d > kNoTime) return pay(r, k, d, Cause::kRecvOverhead, Stage::kFinishing);
  }
  return Step::kDone;
}

// Makes slot `slot` active with what `op` says: a send or a receive of a persistent or plain request.
void Simulation::start_request(std::uint32_t r, Rank& k, std::uint32_t slot, const Op& op) {
  Slot& s = k.slots[slot];
  s.state = SlotState::kActive;
  s.awaited = false;
  s.bytes = 0;
  if (op.peer == kProcNull) {
    s.state = SlotState::kComplete;
    return;
  }
  if (s.receive)
    post_recv(r, op.peer, op.comm.index(), op.tag, op.amount, Target{slot});
  else
    post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, op.kind,
              Target{slot});
}

Simulation::Step Simulation::do_isend(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kSend;
  if (k.stage == Stage::kFresh && overheads_ && op.peer != kProcNull) {
    const Elapsed d = cost_.isend(op.amount);
    if (d > kNoTime) return pay(r, k, d, Cause::kSendOverhead, Stage::kOverheadPaid);
  }
  Slot* s = slot_for(k, op);
  if (s == nullptr) {  // the program freed the request at once
    if (op.peer != kProcNull)
      post_send(r, static_cast<std::uint32_t>(op.peer), op.comm.index(), op.tag, op.amount, op.kind,
                Target{});
    return Step::kDone;
  }
  if (s->state == SlotState::kActive || s->state == SlotState::kInactive) {
    bad_op(k, r, fmt::format("request {} is started while it is in use", op.request));
    return Step::kBlocked;
  }
  s->persistent = false;
  s->receive = false;
  start_request(r, k, op.request, op);
  return Step::kDone;
}

Simulation::Step Simulation::do_irecv(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kRecv;
  Slot* s = slot_for(k, op);
  if (s == nullptr) {
    if (op.peer != kProcNull) post_recv(r, op.peer, op.comm.index(), op.tag, op.amount, Target{});
    return Step::kDone;
  }
  if (s->state == SlotState::kActive || s->state == SlotState::kInactive) {
    bad_op(k, r, fmt::format("request {} is started while it is in use", op.request));
    return Step::kBlocked;
  }
  s->persistent = false;
  s->receive = true;
  start_request(r, k, op.request, op);
  return Step::kDone;
}

Simulation::Step Simulation::do_init(Rank& k, const Op& op, bool receive) {
  Slot* s = slot_for(k, op);
  if (s == nullptr) return Step::kDone;
  *s = Slot{};
  s->state = SlotState::kInactive;
  s->persistent = true;
  s->receive = receive;
  s->op = op;
  switch (op.kind) {  // what start() posts
    case OpKind::ssend_init:
      s->op.kind = OpKind::issend;
      break;
    case OpKind::bsend_init:
      s->op.kind = OpKind::ibsend;
      break;
    case OpKind::rsend_init:
      s->op.kind = OpKind::irsend;
      break;
    case OpKind::recv_init:
      s->op.kind = OpKind::irecv;
      break;
    default:
      s->op.kind = OpKind::isend;
  }
  return Step::kDone;
}

// The slot is free at once; what is still under way goes on, and nobody is told of its end (MPI-3.1,
// section 3.7.3).
Simulation::Step Simulation::do_request_free(std::uint32_t r, Rank& k, const Op& op) {
  if (op.request >= k.slots.size()) return Step::kDone;
  if (k.slots[op.request].state == SlotState::kActive) {
    const auto forget = [&](std::uint32_t rank, Target& t) {
      if (rank == r && t.value == op.request) t.value = Target::kNobody;
    };
    messages_.for_each_live([&](Message& m) {
      forget(m.src, m.send_target);
      if ((m.state & kMatched) != 0) forget(m.dst, m.recv_target);
    });
    matcher_.receives().for_each_live([&](PostedRecv& v) { forget(v.rank, v.target); });
    for (Activity& a : activities_) forget(a.rank, a.target);
  }
  k.slots[op.request] = Slot{};
  return Step::kDone;
}

// A receive that nothing matched yet is withdrawn; its wait returns at once. Anything else completes as if
// there were no cancel (sends are rarely cancelled in time; MPI-4.0 deprecates it).
Simulation::Step Simulation::do_cancel(std::uint32_t r, Rank& k, const Op& op) {
  if (op.request >= k.slots.size()) return Step::kDone;
  Slot& s = k.slots[op.request];
  if (s.state == SlotState::kActive && s.receive && matcher_.withdraw(r, Target{op.request}))
    s.state = SlotState::kComplete;
  return Step::kDone;
}

Simulation::Step Simulation::do_start(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kSend;
  std::int64_t single = op.request;
  std::span<const std::int64_t> slots(&single, 1);
  if (op.kind == OpKind::startall) slots = k.program.list(k.pc, op);
  const auto start = [&](bool receives, bool sends) {
    for (std::int64_t v : slots)
      if (k.slots[v].receive ? receives : sends)
        start_request(r, k, static_cast<std::uint32_t>(v), k.slots[v].op);
    return Step::kDone;
  };
  if (k.stage == Stage::kOverheadPaid) return start(false, true);
  Elapsed cost;
  for (std::int64_t v : slots) {
    if (static_cast<std::uint64_t>(v) >= k.slots.size() || k.slots[v].state != SlotState::kInactive) {
      bad_op(k, r, fmt::format("request {} is started but is not an inactive persistent one", v));
      return Step::kBlocked;
    }
    if (overheads_ && !k.slots[v].receive) cost += cost_.isend(k.slots[v].op.amount);
  }
  if (cost == kNoTime) return start(true, true);
  // As in do_sendrecv: what arrives while the sends take processor time finds the receives there.
  start(true, false);
  return pay(r, k, cost, Cause::kSendOverhead, Stage::kOverheadPaid);
}

// wait and test name one request, waitall and testall list them, the others list {n, asked..., completed...}:
// replay waits for the ones that completed in the recording.
std::span<const std::int64_t> Simulation::awaited_slots(Rank& k, const Op& op, std::int64_t& single) {
  switch (op.kind) {
    case OpKind::wait:
    case OpKind::test:
      if (op.request == traces::kNoRequest) return {};
      single = op.request;
      return {&single, 1};
    case OpKind::waitall:
    case OpKind::testall:
      return k.program.list(k.pc, op);
    default: {
      const auto l = k.program.list(k.pc, op);
      if (l.empty() || l[0] + 1 >= static_cast<std::int64_t>(l.size())) return {};
      return l.subspan(static_cast<std::size_t>(l[0]) + 1);
    }
  }
}

Simulation::Step Simulation::do_wait(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kWait;
  if (k.stage == Stage::kFinishing) return Step::kDone;
  std::int64_t single = 0;
  const auto slots = awaited_slots(k, op, single);
  if (k.stage == Stage::kFresh) {
    k.pending = 0;
    for (std::int64_t v : slots) {
      if (static_cast<std::uint64_t>(v) >= k.slots.size() || k.slots[v].state == SlotState::kIdle) {
        bad_op(k, r, fmt::format("{} on request {}, which was never started", traces::op_name(op.kind), v));
        return Step::kBlocked;
      }
      Slot& s = k.slots[v];
      if (s.state != SlotState::kActive || s.awaited) continue;
      s.awaited = true;
      ++k.pending;
    }
    if (k.pending > 0) {
      k.stage = Stage::kWaiting;
      return Step::kBlocked;
    }
  }
  Elapsed cost;
  if (op.kind == OpKind::test || op.kind == OpKind::testall || op.kind == OpKind::testany ||
      op.kind == OpKind::testsome)
    causes_.add(r, Cause::kPolls, cost = test_cost_);
  for (std::int64_t v : slots) {
    Slot& s = k.slots[v];
    if (s.state != SlotState::kComplete) continue;
    if (overheads_ && s.receive) {
      const Elapsed d = cost_.recv(s.bytes);
      causes_.add(r, Cause::kRecvOverhead, d);
      cost += d;
    }
    s.state = s.persistent ? SlotState::kInactive : SlotState::kIdle;
  }
  return cost > kNoTime ? pass(r, k, cost, Stage::kFinishing) : Step::kDone;
}

Simulation::Step Simulation::do_probe(std::uint32_t r, Rank& k, const Op& op) {
  k.part = Part::kRecv;
  if (op.peer == kProcNull || poll_hits(r, k, op)) return Step::kDone;
  k.stage = Stage::kWaiting;
  k.state = RankState::kProbing;
  poke_prober(r);
  return Step::kBlocked;
}

// A conditional step, decided anew: the body runs at the first poll of its run that finds the message
// (OpFlags::kHit).
Simulation::Step Simulation::do_iprobe(std::uint32_t r, Rank& k, const Op& op) {
  const auto list = k.program.list(k.pc, op);
  if (k.in_detour || op.peer == kProcNull) return Step::kDone;
  // Polls that were merged into one operation each took their time; where the body ran already nobody polls.
  if (poll_cost_ > kNoTime && k.stage == Stage::kFresh && !poll_is_over(k, k.pc, op)) {
    k.part = Part::kRecv;
    return pay(r, k, poll_time(op), Cause::kPolls, Stage::kOverheadPaid);
  }
  if ((op.flags & traces::kHit) == 0) {
    if (list.empty() || list[0] <= 0) return Step::kDone;  // a run of polls that never hit
    const std::uint64_t hit = k.pc + static_cast<std::uint64_t>(list[0]);
    if (std::find(k.hits_done.begin(), k.hits_done.end(), hit) != k.hits_done.end()) return Step::kDone;
    if (!poll_hits(r, k, op)) return Step::kDone;
    auto at_hit = k.program.at(hit);
    if (!at_hit) {
      fail(std::move(at_hit).error());
      return Step::kBlocked;
    }
    const bool good = *at_hit != nullptr && ((*at_hit)->flags & traces::kHit) != 0;
    const auto body = good ? k.program.list(hit, **at_hit) : std::span<const std::int64_t>();
    if (body.size() < 2 || body[1] < 0 || hit + 1 + static_cast<std::uint64_t>(body[1]) > k.program.total()) {
      bad_op(k, r, "a poll that points at no hit");
      return Step::kBlocked;
    }
    if (body[1] == 0) return Step::kDone;
    k.hits_done.push_back(hit);
    if (options_.on_op) options_.on_op(RankId(r), k.pc, k.op_start.rounded(), now_.rounded());
    ++ops_done_;
    k.return_pc = k.pc + 1;
    k.pc = hit + 1;
    k.detour_end = k.pc + static_cast<std::uint64_t>(body[1]);
    k.in_detour = true;
    return Step::kSkip;
  }
  const auto done = std::find(k.hits_done.begin(), k.hits_done.end(), k.pc);
  if (done != k.hits_done.end()) {  // the body ran at an earlier poll
    k.hits_done.erase(done);
    k.op_length = 1;
    k.pc += 1 + static_cast<std::uint64_t>(list[1]);
    ++ops_done_;
    return Step::kSkip;
  }
  return do_probe(r, k, op);
}

Simulation::Step Simulation::do_collective(std::uint32_t r, Rank& k, const Op& op) {
  if (traces::is_nonblocking_collective(op.kind)) {
    Slot* s = slot_for(k, op);
    Target t{};
    if (s != nullptr) {
      if (s->state == SlotState::kActive || s->state == SlotState::kInactive) {
        bad_op(k, r, fmt::format("request {} is started while it is in use", op.request));
        return Step::kBlocked;
      }
      *s = Slot{};
      s->state = SlotState::kActive;
      t.value = op.request;
    }
    start_collective(r, k, op, t);
    return Step::kDone;
  }
  k.part = Part::kCollective;
  if (k.stage == Stage::kFinishing) return Step::kDone;
  k.pending = 1;
  start_collective(r, k, op, Target{Target::kBlocking});
  if (error_ || k.pending > 0) {
    k.stage = Stage::kFinishing;
    return Step::kBlocked;
  }
  return Step::kDone;
}

Simulation::Step Simulation::do_region(std::uint32_t r, Rank& k, const Op& op) {
  const auto id = static_cast<std::uint64_t>(op.amount);
  if (id >= region_total_.size()) return Step::kDone;
  if (op.kind == OpKind::region_begin) {
    k.regions.emplace_back(static_cast<std::uint32_t>(id), now_);
    return Step::kDone;
  }
  // Ends the innermost open region of that name; an end without a begin counts nothing.
  for (std::size_t i = k.regions.size(); i > 0; --i) {
    if (k.regions[i - 1].first != id) continue;
    ++region_count_[id];
    region_total_[id] += now_ - k.regions[i - 1].second;
    if (options_.on_region)
      options_.on_region(RankId(r), RegionId(static_cast<std::uint32_t>(id)),
                         k.regions[i - 1].second.rounded(), now_.rounded());
    k.regions.erase(k.regions.begin() + static_cast<std::ptrdiff_t>(i - 1));
    break;
  }
  return Step::kDone;
}

Simulation::Step Simulation::execute(std::uint32_t r, Rank& k, const Op& op) {
  switch (op.kind) {
    case OpKind::compute_time:
    case OpKind::compute_flops:
    case OpKind::compute_kernel:
    case OpKind::sleep:
      return do_compute(r, k, op);
    case OpKind::send:
    case OpKind::ssend:
    case OpKind::bsend:
    case OpKind::rsend:
      return do_send(r, k, op);
    case OpKind::recv:
      return do_recv(r, k, op);
    case OpKind::sendrecv:
      return do_sendrecv(r, k, op);
    case OpKind::isend:
    case OpKind::issend:
    case OpKind::ibsend:
    case OpKind::irsend:
      return do_isend(r, k, op);
    case OpKind::irecv:
      return do_irecv(r, k, op);
    case OpKind::send_init:
    case OpKind::ssend_init:
    case OpKind::bsend_init:
    case OpKind::rsend_init:
      return do_init(k, op, false);
    case OpKind::recv_init:
      return do_init(k, op, true);
    case OpKind::start:
    case OpKind::startall:
      return do_start(r, k, op);
    case OpKind::request_free:
      return do_request_free(r, k, op);
    case OpKind::cancel:
      return do_cancel(r, k, op);
    case OpKind::wait:
    case OpKind::waitall:
    case OpKind::waitany:
    case OpKind::waitsome:
    case OpKind::test:
    case OpKind::testall:
    case OpKind::testany:
    case OpKind::testsome:
      return do_wait(r, k, op);
    case OpKind::probe:
    case OpKind::mprobe:
      return do_probe(r, k, op);
    case OpKind::iprobe:
    case OpKind::improbe:
      return do_iprobe(r, k, op);
    case OpKind::region_begin:
    case OpKind::region_end:
      return do_region(r, k, op);
    case OpKind::exchange_series:
      return do_series(r, k, op);
    case OpKind::init:
    case OpKind::finalize:
    case OpKind::comm_free:
      return Step::kDone;
    default:
      return do_collective(r, k, op);
  }
}

}  // namespace weft::replay
