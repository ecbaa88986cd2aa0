#include "replay/ranks/collective_runs.hpp"

#include <algorithm>
#include <utility>

namespace weft::replay {

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
  const auto comm = communicator_of(comms_, op);
  if (!comm) {
    waits_.message_over(r, target, 0, nullptr, false);
    return kNone;
  }
  const std::uint32_t run = take();
  Run& c = runs_[run];
  auto call = c.rounds.begin(rules(), r, op, *comm, ranks_[r].program.list(ranks_[r].pc, op), calls_[r]);
  if (!call) {
    free_.push_back(run);
    if (call.error().code == ErrorCode::kBadInput) call.error().where = ranks_.position(r);
    agenda_.fail(std::move(call).error());
    return kNone;
  }
  hindsight_.run_begins(run, r, {*comm, traces::blocking_form(op.kind), c.rounds.me(), call->root});
  c.rank = r;
  c.target = target;
  c.pending = 0;
  c.step = Step::kReceived;
  c.mark = agenda_.now();
  return run;
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
  CauseBook::Account* const causes = waiting_for(c, from);
  if (causes == nullptr) return;
  if (causes == &c.causes)
    causes_.explain(*causes, m, sender, from, agenda_.now());
  else
    causes_.waited(c.rank, m, sender, from, agenda_.now());
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
