// What verifies a replay while it goes on (verification.hpp): accounts of rates and bytes, of matches and of the clock, each of which
// is told what happens. Nothing else changes by them.
#pragma once

#include <cstdint>

#include "replay/time.hpp"

namespace weft::network {
class FlowAudit;  // network/flow_audit.hpp
}

namespace weft::replay {

class MatchAudit;  // replay/messages/match_audit.hpp

// Does time ever go back? Every instant at which something happens, and every event.
struct ClockAudit {
  std::uint64_t instants = 0, events = 0, wrong = 0;
  void moved(Instant from, Instant to) {
    ++instants;
    wrong += to < from;
  }
  // What was due at `due`.
  void happened(Instant due, Instant now) {
    ++events;
    wrong += due != now || now < last_;
    last_ = now;
  }

 private:
  Instant last_;
};

// Of one attempt at a replay; null: not verified.
struct Audits {
  network::FlowAudit* flows = nullptr;
  MatchAudit* matches = nullptr;
  ClockAudit* clock = nullptr;
  [[nodiscard]] bool any() const { return flows != nullptr || matches != nullptr || clock != nullptr; }
};

}  // namespace weft::replay
