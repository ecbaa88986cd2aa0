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
  act.paid = false;
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

// Posts the next round of activity `a`; tells its target when there is none.
void Simulation::advance(std::uint32_t a) {
  Activity& act = activities_[a];
  const auto& list = act.schedule.messages;
  const auto& members = comms_[act.comm].members;
  const std::uint32_t context = act.comm | Target::kActivity;
  while (!error_) {
    const bool over = act.next == list.size();
    if (overheads_ && !act.paid) {
      Elapsed cost = act.receive_cost;
      if (!over)
        for (std::size_t i = act.next; i < list.size() && list[i].round == list[act.next].round; ++i)
          if (list[i].send) cost += cost_.isend(list[i].bytes);
      if (cost > kNoTime) return post_event(now_ + cost, EventKind::kActivityTimer, a);
    }
    act.paid = false;
    act.receive_cost = kNoTime;
    if (over) {
      const std::uint32_t rank = act.rank;
      const Target target = act.target;
      free_activities_.push_back(a);
      return notify(rank, target, 0, {nullptr, false, &act});
    }
    const std::uint32_t round = list[act.next].round;
    act.pending = 1;  // holds the round open while it is posted
    const Target mine{a | Target::kActivity};
    for (; act.next < list.size() && list[act.next].round == round; ++act.next) {
      const ScheduleMessage& s = list[act.next];
      const auto peer = static_cast<std::uint32_t>(members[s.peer]);
      ++act.pending;
      if (s.send) {
        post_send(act.rank, peer, context, act.tag, s.bytes, OpKind::isend, mine);
      } else {
        if (overheads_) act.receive_cost += cost_.recv(s.bytes);
        post_recv(act.rank, static_cast<std::int32_t>(peer), context, act.tag, s.bytes, mine);
      }
      if (error_) return;
    }
    if (--act.pending > 0) return;
  }
}

}  // namespace weft::replay
