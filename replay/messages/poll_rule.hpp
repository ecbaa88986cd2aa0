// What a poll sees (docs/model.md, "Probes as conditional steps"), in one place for all ways to replay:
//
//   a message that can be seen before the poll's instant                                    is found
//   one that can be seen from that very instant on                                         is found if it was sent
//                        before what the rank did last began (Rank::since), else by the next poll
//
// Decided by instants alone, never by what was looked at first: of a message that was sent before, all that makes it seen at an
// instant is known when all else of the instant has happened, and a poll waits for that (Agenda::post_last).
// Complexity: O(1).
#pragma once

#include <algorithm>

#include "replay/messages/message.hpp"
#include "replay/time.hpp"

namespace weft::replay {

// From when on probes see m; never(): not yet known. REQUIRES: no receive has taken it, and `matched` is when it had its turn.
[[nodiscard]] inline Instant seen_from(const Message& m) {
  if (m.protocol != Protocol::kEager) return std::max(m.matched, m.visible);
  return (m.state & kArrived) != 0 ? std::max(m.matched, m.started) : Instant::never();
}

// A poll at `now` finds m, which can be seen `from` then on; what its rank did up to there began at `since`.
[[nodiscard]] inline bool poll_sees(const Message& m, Instant from, Instant now, Instant since) {
  return from < now || (from == now && m.posted < since);
}

}  // namespace weft::replay
