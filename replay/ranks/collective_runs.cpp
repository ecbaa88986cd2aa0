#include "replay/ranks/collective_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "replay/collective_calls.hpp"

namespace weft::replay {

using traces::OpKind;

std::uint32_t CollectiveRuns::take() {
  if (free_.empty()) {
    runs_.emplace_back();
    return static_cast<std::uint32_t>(runs_.size() - 1);
  }
  const std::uint32_t run = free_.back();
  free_.pop_back();
  return run;
}

std::uint32_t CollectiveRuns::begin(std::uint32_t r, const traces::Op& op, Target target) {
  std::uint32_t comm = op.comm.index();
  if (op.kind == OpKind::comm_create_group) {
    // Only the members of the new communicator take part.
    if (op.amount < 0 || op.amount >= static_cast<std::int64_t>(comms_.count())) {
      waits_.message_over(r, target, 0, nullptr, false);
      return kNone;
    }
    comm = static_cast<std::uint32_t>(op.amount);
  }
  auto asked = call_of(comms_, r, op, comm, ranks_[r].program.list(ranks_[r].pc, op));
  if (!asked) {
    asked.error().where = ranks_.position(r);
    agenda_.fail(std::move(asked.error()));
    return kNone;
  }
  const CollectiveCall& call = asked->call;
  const std::uint32_t me = asked->me;

  const std::uint32_t run = take();
  hindsight_.run_begins(run, r, {comm, traces::blocking_form(op.kind), call.ranks, me, call.root});
  Run& c = runs_[run];
  std::vector<std::uint32_t>& calls = calls_[r];
  if (comm >= calls.size()) calls.resize(comm + std::size_t{1}, 0);
  c.rank = r;
  c.comm = comm;
  c.tag = static_cast<std::int32_t>(calls[comm]++ & 0x7fffffffu);
  c.target = target;
  c.next = 0;
  c.pending = 0;
  c.receive_cost = kNoTime;
  c.step = Step::kReceived;
  c.mark = agenda_.now();
  c.schedule.clear();
  if (traces::is_collective(op.kind)) {
    c.schedule.window(kWindow);
    choices_.build(call, comm, comms_.members(comm), me, c.schedule);
    if (c.schedule.more()) {
      // The lists are the program's, which may let go of them.
      c.counts.assign(call.counts.begin(), call.counts.end());
      c.call = call;
      c.call.counts = c.counts;
      c.me = me;
    }
    if (!c.schedule.not_supported.empty()) {
      free_.push_back(run);
      agenda_.fail(not_supported(
          fmt::format("{} of {} ranks: {}", traces::op_name(op.kind), call.ranks, c.schedule.not_supported)));
      return kNone;
    }
  } else {
    schedule_comm_operation(op.kind, call.ranks, me, c.schedule);
  }
  return run;
}

void CollectiveRuns::next_rounds(Run& c) {
  c.schedule.go_on();
  choices_.build(c.call, c.comm, comms_.members(c.comm), c.me, c.schedule);
  c.next = 0;
}

Elapsed CollectiveRuns::open_round(Run& c) {
  const auto& list = c.schedule.messages;
  const auto size = static_cast<std::uint32_t>(list.size());
  c.round_end = c.next;
  while (c.round_end < size && list[c.round_end].round == list[c.next].round) ++c.round_end;
  c.pending = 1;  // holds the round open while it is posted
  c.step = Step::kSending;
  Elapsed cost;
  if (overheads_)
    for (std::uint32_t i = c.next; i < c.round_end; ++i)
      if (list[i].send) cost += cost_.isend(list[i].bytes);
  return cost;
}

void CollectiveRuns::finish(std::uint32_t run) {
  const Run& c = runs_[run];
  free_.push_back(run);
  waits_.collective_over(c.rank, run, c.target, c.window, c.causes);
  hindsight_.run_ends(run);
}

// ---- Why ranks wait for them; cause_book.hpp has the rest.

// The account of a run's rank if it waits for the run now, and since when that is not explained.
CauseBook::Account* CollectiveRuns::waiting_for(Run& c, Instant& from) {
  const Rank& k = ranks_[c.rank];
  from = c.mark;
  c.mark = agenda_.now();
  if (c.target.value == Target::kBlocking) return &causes_.of(c.rank);
  if (k.state != RankState::kBlocked || !k.requests.is_awaited(c.target.value)) return nullptr;
  // Several requests may be awaited: what counts is known when the last of them is over.
  if (c.window != k.blocked_since) {
    c.window = k.blocked_since;
    c.causes.fill(kNoTime);
  }
  from = std::max(from, k.blocked_since);
  return &c.causes;
}

// A round is over with the end of message m.
void CollectiveRuns::explain_round(Run& c, const Message& m, bool sender) {
  Instant from;
  if (CauseBook::Account* const causes = waiting_for(c, from))
    causes_.explain(*causes, m, sender, from, agenda_.now());
}

// Processor time between two rounds is over: that of the receives of the one or of the sends of the other.
void CollectiveRuns::explain_overheads(Run& c) {
  Instant from;
  CauseBook::Account* const causes = waiting_for(c, from);
  if (causes == nullptr) return;
  const Cause cause = c.step == Step::kReceived ? Cause::kRecvOverhead : Cause::kSendOverhead;
  (*causes)[static_cast<std::size_t>(cause)] += agenda_.now() - from;
}

}  // namespace weft::replay
