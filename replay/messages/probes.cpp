#include "replay/messages/probes.hpp"

#include <algorithm>
#include <utility>

namespace weft::replay {

void Probes::poke(std::uint32_t r) {
  Rank& k = ranks_[r];
  if (k.state != RankState::kProbing) return;
  auto op = k.program.at(k.pc);
  if (!op) return agenda_.fail(std::move(op).error());
  Instant next = Instant::never();  // when one can be seen that cannot yet
  const std::uint32_t i =
      matcher_.peek_if(r, (*op)->comm.index(), (*op)->peer, (*op)->tag, [&](const Message& m) {
        const bool seen = visible(m);
        if (!seen) next = std::min(next, seen_from(m));
        return seen;
      });
  if (i != kNone) {
    const Message& m = messages_[i];
    // One that was there before the rank came was not waited for, but for who takes the others of this instant.
    if (seen_from(m) >= k.blocked_since) {
      causes_.waited(r, m, false, k.blocked_since, agenda_.now());
      hindsight_.woken(r, m, false);
    }
    return ranks_.make_ready(r);
  }
  if (next != Instant::never()) agenda_.post(next, EventKind::kProbeWake, r);
}

}  // namespace weft::replay
