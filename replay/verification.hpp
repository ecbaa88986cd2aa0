// A replay that checks itself: the same events and results, and beside them accounts that share nothing with those of the
// engine. Rates: network/flow_audit.hpp; matching: replay/messages/match_audit.hpp; the clock: ClockAudit.
#pragma once

#include <string>
#include <vector>

#include "replay/engine.hpp"

namespace weft::replay {

// What was checked, how often, and what was found wrong.
struct Verification {
  std::string conditions;        // what rates were held against
  std::uint64_t solves = 0;      // of links that are shared, each checked
  std::uint64_t rates = 0;       // in those
  std::uint64_t messages = 0;    // whose bytes were compared with rate x time
  std::uint64_t links = 0;       // whose sums were
  double worst_bytes_error = 0;  // of a message, relative
  std::uint64_t matches = 0;     // of a send and a receive
  std::uint64_t instants = 0, events = 0;
  std::uint64_t wrong = 0;        // 0: all of it is right
  std::vector<std::string> told;  // the first few that are not, for people
  // Empty, or the sentence that ends the run.
  [[nodiscard]] std::string finding() const;
};

// As replay(). Errors: the same; what is found wrong is none.
[[nodiscard]] Result<ReplayResult> replay_verified(traces::TraceReader& trace,
                                                   const topology::Platform& platform,
                                                   const std::vector<HostId>& placement,
                                                   const ReplayOptions& options, Verification& out);

}  // namespace weft::replay
