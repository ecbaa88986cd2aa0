// Polls and probes of a DirectReplay (docs/model.md, "Probes as conditional steps"). They ask what has come by a rank's clock, so
// the rank lets the network come up to that first; computations between polls that miss are taken as one (RunAhead).
#include <algorithm>
#include <utility>

#include "replay/direct/direct_replay.hpp"
#include "replay/messages/poll_rule.hpp"
#include "replay/ranks/detours.hpp"

namespace weft::replay {

using traces::kProcNull;
using traces::Op;
using traces::OpKind;

// When the rank that is to receive it sees message i, which no receive has taken; never() as long as that is not known.
Instant DirectReplay::seen_from(std::uint32_t i) {
  Message& m = messages_[i];
  // Raw: only who looks asks when an envelope would be there, so it is known to nobody else.
  if (cost_.known_at_once() && m.protocol != Protocol::kEager && placement_[m.src] != placement_[m.dst])
    m.visible = m.posted + cost_.envelope(route_of(m).latency);
  return replay::seen_from(m);
}

// The message that probe `op` of rank r finds, or will find next; kNone: none was sent yet.
std::uint32_t DirectReplay::probed(std::uint32_t r, const Op& op) {
  return channels_.first_message(channels_.find(static_cast<std::uint32_t>(op.peer), r, op.comm.index()),
                                 op.tag);
}

// By the rank's clock if that is ahead of the network, as where a run begins.
bool DirectReplay::hits(std::uint32_t r, const Op& op) {
  const std::uint32_t i = op.peer < 0 ? kNone : probed(r, op);
  return i != kNone && seen_from(i) <= std::max(lanes_[r].clock, agenda_.now());
}

bool DirectReplay::finds(std::uint32_t r, const Op& op, Instant since) {
  const std::uint32_t i = probed(r, op);
  return i != kNone && poll_sees(messages_[i], seen_from(i), agenda_.now(), since);
}

bool DirectReplay::may_come(std::uint32_t r, const Op& op) {
  if (!network_.dirty()) return false;
  const std::uint32_t i = probed(r, op);
  return i != kNone && seen_from(i) == Instant::never();
}

// Not yet, but perhaps when what else is due at this instant has happened: if a flow that ends now is that of the message. When
// others than those of flows come is known ahead.
bool DirectReplay::may_come_now(std::uint32_t r, const Op& op, Instant since) {
  if (network_.next_time() != agenda_.now() && !network_.dirty()) return false;
  const std::uint32_t i = probed(r, op);
  return i != kNone && messages_[i].posted < since && seen_from(i) == Instant::never();
}

// The rank's poll, or its probe, has found what probed() says.
void DirectReplay::note_found(std::uint32_t r, const Op& op) {
  if (ranks_[r].computed) messages_[probed(r, op)].state |= kFoundAtPoll;
}

// False: the rank goes on when the network has come up to its clock.
bool DirectReplay::in_step(std::uint32_t r, const Lane& l) {
  if (flows_ != Flows::kShared) {
    contended_ = true;  // what came first is known there only
    give_up();
    return false;
  }
  if (l.clock <= agenda_.now()) return true;
  agenda_.post(l.clock, EventKind::kRankTimer, r);
  return false;
}

// Rank r polls or waits in a probe: looks again when the message that it may see next can be seen, if that is known.
void DirectReplay::expect(std::uint32_t r, const Op& op) {
  const std::uint32_t i = probed(r, op);
  if (i == kNone) return;
  const Instant from = seen_from(i);
  if (from != Instant::never()) agenda_.post(std::max(from, agenda_.now()), EventKind::kProbeWake, r);
}

// The receiver of message i may poll or wait in a probe.
void DirectReplay::shows(std::uint32_t i) {
  const Message& m = messages_[i];
  if (!ranks_.looks(m.dst)) return;
  const Op* const op = ranks_[m.dst].state == RankState::kRunning
                           ? run_ahead_.poll_of(m.dst)
                           : *ranks_[m.dst].program.at(ranks_[m.dst].pc);
  if (op != nullptr && op->peer == static_cast<std::int32_t>(m.src) && op->comm.index() == m.context)
    expect(m.dst, *op);
}

void DirectReplay::look_again(std::uint32_t r) {
  Rank& k = ranks_[r];
  if (k.state == RankState::kRunning) return run_ahead_.poke(r);
  if (k.state != RankState::kProbing) return;
  const Op& op = **k.program.at(k.pc);
  if (!hits(r, op)) return;
  const std::uint32_t i = probed(r, op);
  Lane& l = lanes_[r];
  wait_until(r, k, l, Part::kRecv, {std::max(seen_from(i), l.clock), i, false});
  ranks_.make_ready(r);
}

Step DirectReplay::probe(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (op.peer == kProcNull) return Step::kDone;
  if (op.peer < 0) return give_up();
  if (!in_step(r, l)) return Step::kBlocked;
  if (hits(r, op)) {
    note_found(r, op);
    return Step::kDone;
  }
  k.stage = Stage::kWaiting;
  ranks_.look(r, RankState::kProbing);
  expect(r, op);
  return Step::kBlocked;
}

Step DirectReplay::iprobe(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (k.in_detour || op.peer == kProcNull) return Step::kDone;
  if (op.peer < 0) return give_up();
  // Polls that were merged into one operation each took their time; where the body ran already nobody polls.
  if (k.stage == Stage::kFresh && run_ahead_.polls_take_time() && !poll_is_over(k, k.pc, op))
    spend(r, k, l, Part::kPoll, run_ahead_.poll_time(op), Cause::kPolls);
  k.stage = std::max(k.stage, Stage::kOverheadPaid);
  if ((op.flags & traces::kHit) == 0) return missed_poll(r, k, l, op);
  if (!pass_body_that_ran(k, op)) return probe(r, k, l, op);
  ranks_.count_ops(1);
  return Step::kSkip;
}

// A poll that missed in the recording: if it finds the message now, the rank runs the body of the hit, then returns.
Step DirectReplay::missed_poll(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  const auto hit = hit_of_missed_poll(k, k.pc, op);
  if (!hit || body_ran(k, *hit)) return Step::kDone;
  if (!in_step(r, l)) return Step::kBlocked;
  if (!finds(r, op, k.since)) {
    if (!may_come_now(r, op, k.since)) return Step::kDone;
    agenda_.post_last(EventKind::kRankTimer, r);
    return Step::kBlocked;
  }
  note_found(r, op);
  const auto taken = take_detour(k, *hit);
  if (!taken || *taken == Detour::kNoHit) return give_up();
  if (*taken == Detour::kEmpty) return Step::kDone;
  ranks_.count_ops(1);
  return Step::kSkip;
}

// Series of exchanges: when all members have come it is known when each is through.
Step DirectReplay::series(std::uint32_t r, Rank& k, Lane& l, const Op& op) {
  if (k.stage == Stage::kFinishing) {
    const Elapsed d = agenda_.now() - l.clock;
    k.spend(Part::kCollective, d);
    pass(k, l, d);
    return Step::kDone;
  }
  if (flows_ != Flows::kShared) {
    contended_ = true;
    return give_up();
  }
  k.computed = false;
  k.stage = Stage::kFinishing;
  k.op_start = l.clock;
  series_.arrive(r, op);
  return agenda_.failed() ? give_up() : Step::kBlocked;
}

}  // namespace weft::replay
