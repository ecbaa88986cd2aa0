// Collectives as rounds of point-to-point messages: one Activity per rank and call, blocking or not.
#include <fmt/format.h>

#include <algorithm>

#include "replay/simulation.hpp"

namespace weft::replay {

using traces::OpKind;

// Rank of world rank `world` in communicator `comm`, or -1.
std::int64_t Simulation::rank_in(std::uint32_t comm, std::uint32_t world) const {
  const Comm& c = comm_ranks_[comm];
  if (c.identity) return world < comms_[comm].members.size() ? static_cast<std::int64_t>(world) : -1;
  const auto at = std::lower_bound(c.by_world.begin(), c.by_world.end(), std::pair(world, 0u));
  return at != c.by_world.end() && at->first == world ? static_cast<std::int64_t>(at->second) : -1;
}

void Simulation::start_collective(std::uint32_t r, Rank& k, const Op& op, Target target) {
  CollectiveCall call;
  std::uint32_t comm = op.comm.index();
  if (op.kind == OpKind::comm_create_group) {
    // Only the members of the new communicator take part.
    if (op.amount < 0 || op.amount >= static_cast<std::int64_t>(comms_.size()))
      return notify(r, target, 0, {});
    comm = static_cast<std::uint32_t>(op.amount);
  }
  const std::int64_t me = rank_in(comm, r);
  if (me < 0) {
    return bad_op(k, r,
                  fmt::format("{} on communicator {} (\"{}\"), of which it is no member",
                              traces::op_name(op.kind), comm, comms_[comm].name));
  }
  call.ranks = static_cast<std::uint32_t>(comms_[comm].members.size());
  if (traces::is_collective(op.kind)) {
    call.kind = traces::blocking_form(op.kind);
    call.bytes = op.amount;
    call.counts = k.program.list(k.pc, op);
    if (op.peer >= 0) {
      const std::int64_t root = rank_in(comm, static_cast<std::uint32_t>(op.peer));
      if (root < 0) return bad_op(k, r, fmt::format("root {} is not in communicator {}", op.peer, comm));
      call.root = static_cast<std::uint32_t>(root);
    }
    if (auto good = check_collective(call, static_cast<std::uint32_t>(me), {}); !good) {
      good.error().where = trace_.position(RankId(r), k.pc);
      return fail(std::move(good.error()));
    }
  }

  std::uint32_t a = 0;
  if (free_activities_.empty()) {
    a = static_cast<std::uint32_t>(activities_.size());
    activities_.emplace_back();
  } else {
    a = free_activities_.back();
    free_activities_.pop_back();
  }
  Activity& act = activities_[a];
  if (comm >= k.collective_count.size()) k.collective_count.resize(comm + 1, 0);
  act.rank = r;
  act.comm = comm;
  act.tag = static_cast<std::int32_t>(k.collective_count[comm]++ & 0x7fffffffu);
  act.target = target;
  act.next = 0;
  act.pending = 0;
  act.receive_cost = kNoTime;
  act.step = Activity::Step::kReceived;
  act.mark = now_;
  act.schedule.clear();
  if (traces::is_collective(op.kind)) {
    const CollectiveAlgorithm* algorithm = chosen_[static_cast<std::size_t>(call.kind)];
    if (algorithm == nullptr) algorithm = &default_collective(call);
    algorithm->build(call, static_cast<std::uint32_t>(me), act.schedule);
  } else {
    schedule_comm_operation(op.kind, call.ranks, static_cast<std::uint32_t>(me), act.schedule);
  }
  advance(a);
}

// Takes activity `a` on until it waits; tells its target when it is over. Between two rounds come the receive overheads
// of the one, the receives of the next, its send overheads, its sends: what arrives meanwhile finds the receives there.
void Simulation::advance(std::uint32_t a) {
  Activity& act = activities_[a];
  const auto& list = act.schedule.messages;
  const std::uint32_t size = static_cast<std::uint32_t>(list.size());
  const auto post = [&](bool receives, bool sends) {
    for (std::uint32_t i = act.next; i < act.round_end && !error_; ++i)
      if (list[i].send ? sends : receives) post_of_round(a, list[i]);
  };
  while (!error_) {
    if (act.step == Activity::Step::kRoundOver) {
      act.step = Activity::Step::kReceived;
      if (act.receive_cost > kNoTime)
        return post_event(now_ + act.receive_cost, EventKind::kActivityTimer, a);
    }
    if (act.step == Activity::Step::kReceived) {
      act.receive_cost = kNoTime;
      if (act.next == size) {
        const std::uint32_t rank = act.rank;
        const Target target = act.target;
        free_activities_.push_back(a);
        return notify(rank, target, 0, {nullptr, false, &act});
      }
      act.round_end = act.next;
      while (act.round_end < size && list[act.round_end].round == list[act.next].round) ++act.round_end;
      act.pending = 1;  // holds the round open while it is posted
      act.step = Activity::Step::kSending;
      Elapsed cost;
      if (overheads_)
        for (std::uint32_t i = act.next; i < act.round_end; ++i)
          if (list[i].send) cost += cost_.isend(list[i].bytes);
      if (cost > kNoTime) {
        post(true, false);
        return post_event(now_ + cost, EventKind::kActivityTimer, a);
      }
      post(true, true);
    } else {
      post(false, true);
    }
    if (error_) return;
    act.next = act.round_end;
    act.step = Activity::Step::kRoundOver;
    if (--act.pending > 0) return;
  }
}

void Simulation::post_of_round(std::uint32_t a, const ScheduleMessage& s) {
  Activity& act = activities_[a];
  const auto peer = static_cast<std::uint32_t>(comms_[act.comm].members[s.peer]);
  const std::uint32_t context = act.comm | Target::kActivity;
  const Target mine{a | Target::kActivity};
  ++act.pending;
  if (s.send) return post_send(act.rank, peer, context, act.tag, s.bytes, OpKind::isend, mine);
  if (overheads_) act.receive_cost += cost_.recv(s.bytes);
  post_recv(act.rank, static_cast<std::int32_t>(peer), context, act.tag, s.bytes, mine);
}

// ---- Why ranks wait for them; cause_book.hpp has the rest.

// The account of an activity's rank if it waits for the activity now, and since when that is not explained.
CauseBook::Account* Simulation::waiting_for(Activity& act, Instant& from) {
  const Rank& k = ranks_[act.rank];
  from = act.mark;
  act.mark = now_;
  if (act.target.value == Target::kBlocking) return &causes_.of(act.rank);
  if (k.state != RankState::kBlocked || act.target.value >= k.slots.size() ||
      !k.slots[act.target.value].awaited)
    return nullptr;
  // Several requests may be awaited: what counts is known when the last of them is over.
  if (act.window != k.blocked_since) {
    act.window = k.blocked_since;
    act.causes.fill(kNoTime);
  }
  from = std::max(from, k.blocked_since);
  return &act.causes;
}

// A round of a collective is over with the end of message m.
void Simulation::explain_round(Activity& act, const Message& m, bool sender) {
  Instant from;
  if (CauseBook::Account* const causes = waiting_for(act, from))
    causes_.explain(*causes, m, sender, from, now_);
}

// Processor time between two rounds is over: that of the receives of the one or of the sends of the other.
void Simulation::explain_overheads(Activity& act) {
  Instant from;
  CauseBook::Account* const causes = waiting_for(act, from);
  if (causes == nullptr) return;
  const Cause c = act.step == Activity::Step::kReceived ? Cause::kRecvOverhead : Cause::kSendOverhead;
  (*causes)[static_cast<std::size_t>(c)] += now_ - from;
}

}  // namespace weft::replay
