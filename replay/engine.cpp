#include "replay/engine.hpp"

namespace weft::replay {

Result<ReplayResult> replay(traces::TraceReader& trace, const topology::Platform& platform,
                            const std::vector<HostId>& placement, const ReplayOptions& options) {
  (void)trace;
  (void)platform;
  (void)placement;
  (void)options;
  return not_supported("replay");
}

}  // namespace weft::replay
