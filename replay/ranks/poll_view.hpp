// PollView: what polls see. Who replays messages knows.
#pragma once

#include <cstdint>

#include "traces/op.hpp"

namespace weft::replay {

class PollView {
 public:
  virtual ~PollView() = default;
  // Operation `op` of rank r, a probe, finds a message now.
  [[nodiscard]] virtual bool hits(std::uint32_t r, const traces::Op& op) = 0;
};

}  // namespace weft::replay
