// Why ranks wait, recorded when a wait ends (Cause in results.hpp; docs/model.md, "Why ranks wait").
#include <algorithm>

#include "replay/simulation.hpp"

namespace weft::replay {
namespace {

Elapsed& at(std::array<Elapsed, kCauseCount>& causes, Cause c) { return causes[static_cast<std::size_t>(c)]; }

}  // namespace

// A wait since `from` that message m ends now, on its sender's or its receiver's side. The message's life is walked
// from its end backwards until `from` is reached; every instant of the wait falls into one piece of it.
void Simulation::explain(Causes& causes, const Message& m, bool sender, Instant from) {
  Instant to = now_;
  const auto back_to = [&](Instant since, Cause c) {
    if (to <= from || to <= since) return;
    const Instant begin = std::max(since, from);
    at(causes, c) += to - begin;
    to = begin;
  };
  if ((m.state & kArrived) != 0) back_to(m.started, Cause::kInOrder);  // `started`: when the data had come
  if ((m.state & kStarted) != 0) {
    if (m.flow.valid() && to > std::max(m.flow_start, from)) {
      // Without contention the data would have been there this much earlier.
      const Elapsed lost = (to - m.flow_start) - m.ideal;
      if (lost > kNoTime) back_to(std::max(from, m.flow_start + m.ideal), Cause::kContention);
    }
    back_to(m.flow_start, Cause::kTransfer);
    back_to(m.left, Cause::kLatency);
  }
  if (m.protocol != Protocol::kEager) {
    if ((m.state & kStarted) != 0) {
      back_to(m.matched, Cause::kHandshake);
      back_to(cost_.known_at_once() ? m.posted : m.visible, sender ? Cause::kLateReceiver : Cause::kInOrder);
    }
    back_to(m.posted, Cause::kHandshake);
  }
  if (to <= from) return;
  const Elapsed late = to - from;
  at(causes, sender ? Cause::kLateReceiver : Cause::kLateSender) += late;
}

// The account of an activity's rank if it waits for the activity now, and since when that is not explained.
Simulation::Causes* Simulation::waiting_for(Activity& act, Instant& from) {
  const Rank& k = ranks_[act.rank];
  from = act.mark;
  act.mark = now_;
  if (act.target.value == Target::kBlocking) return &causes_[act.rank];
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
  if (Causes* const causes = waiting_for(act, from)) explain(*causes, m, sender, from);
}

// The processor time between two rounds is over: receives of the one, then sends of the other.
void Simulation::explain_overheads(Activity& act) {
  const Instant received = act.mark + act.receive_cost;
  Instant from;
  Causes* const causes = waiting_for(act, from);
  if (causes == nullptr) return;
  if (received > from) at(*causes, Cause::kRecvOverhead) += received - from;
  at(*causes, Cause::kSendOverhead) += now_ - std::max(received, from);
}

// `seconds` by cause, of which the largest makes up for what rounding leaves of `total`.
void Simulation::explain_series(Causes& causes, const std::array<double, kCauseCount>& seconds,
                                Elapsed total) {
  const std::size_t largest =
      static_cast<std::size_t>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
  for (std::size_t c = 0; c < kCauseCount; ++c) {
    if (c == largest) continue;
    const Elapsed d = Elapsed::of_seconds(std::max(0.0, seconds[c]));
    causes[c] += d;
    total = total - d;
  }
  causes[largest] += total;
}

// As the parts of RankTimes: the running sum is rounded, so that the causes add up to all parts but computation. What
// a rank that never finished waited for is the rest.
void Simulation::round_causes(RankTimes& t, const Rank& k, const Causes& causes) const {
  Elapsed sum = k.spent[static_cast<int>(Part::kCompute)];
  Duration before = sum.rounded();
  for (std::size_t c = 0; c + 1 < kCauseCount; ++c) {
    sum += causes[c];
    t.causes[c] = sum.rounded() - before;
    before = sum.rounded();
  }
  const Duration all = t.compute + t.send + t.recv + t.wait + t.collective;
  t.causes[kCauseCount - 1] = k.state == RankState::kDone ? Duration(0) : all - before;
}

}  // namespace weft::replay
