// PollView: what polls see. Who replays messages knows.
#pragma once

#include <cstdint>

#include "network/clock.hpp"
#include "traces/op.hpp"

namespace weft::replay {

class PollView {
 public:
  virtual ~PollView() = default;
  // A message that operation `op` of rank r, a probe, looks for can be seen by now.
  [[nodiscard]] virtual bool hits(std::uint32_t r, const traces::Op& op) = 0;
  // The same, if `op` is a poll that looks now; what the rank did up to there began at `since` (poll_rule.hpp).
  [[nodiscard]] virtual bool finds(std::uint32_t r, const traces::Op& op, network::Instant since) = 0;
  // A poll that does not find its message now may, when the network has shared its links anew: flows may end by that at once.
  [[nodiscard]] virtual bool may_come(std::uint32_t r, const traces::Op& op) = 0;
};

}  // namespace weft::replay
