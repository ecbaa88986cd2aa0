// PollView: what polls see. Who replays messages knows.
#pragma once

#include <cstdint>

#include "network/clock.hpp"
#include "traces/op.hpp"

namespace weft::replay {

class PollView {
 public:
  virtual ~PollView() = default;
  // Operation `op` of rank r, a probe, finds a message now.
  [[nodiscard]] virtual bool hits(std::uint32_t r, const traces::Op& op) = 0;
  // The way of the message that it finds began before `began`: of two things at one instant what began first comes first.
  // REQUIRES: hits().
  [[nodiscard]] virtual bool finds_before(std::uint32_t r, const traces::Op& op, network::Instant began) = 0;
};

}  // namespace weft::replay
