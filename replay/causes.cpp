// Why ranks wait for collectives that are several rounds of messages; cause_book.hpp has the rest.
#include <algorithm>

#include "replay/simulation.hpp"

namespace weft::replay {

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
