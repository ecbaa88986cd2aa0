#include "replay/messages/probes.hpp"

#include <utility>

namespace weft::replay {

void Probes::poke(std::uint32_t r) {
  Rank& k = ranks_[r];
  if (k.state != RankState::kProbing) return;
  auto op = k.program.at(k.pc);
  if (!op) return agenda_.fail(std::move(op).error());
  const std::uint32_t i = find(r, **op);
  if (i == kNone) return;
  const Message& m = messages_[i];
  if (visible(m)) {
    causes_.waited(r, m, false, k.blocked_since, agenda_.now());
    hindsight_.woken(r, m, false);
    return ranks_.make_ready(r);
  }
  if (m.protocol != Protocol::kEager) agenda_.post(m.visible, EventKind::kProbeWake, r);
}

}  // namespace weft::replay
