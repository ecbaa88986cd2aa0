#include "replay/engine.hpp"

#include <fmt/format.h>

#include "network/sharing.hpp"
#include "replay/simulation.hpp"

namespace weft::replay {
namespace {

using Choices = std::map<std::string, std::string>;

// Algorithm by blocking kind, null = the default of the call. The command line's choices win over the
// platform's.
Result<std::vector<const CollectiveAlgorithm*>> choose_collectives(const Choices& platform,
                                                                   const Choices& line) {
  std::vector<const CollectiveAlgorithm*> chosen(traces::kOpKindCount, nullptr);
  for (const Choices* choices : {&platform, &line}) {
    for (const auto& [collective, algorithm] : *choices) {
      WEFT_ASSIGN(const traces::OpKind kind, find_collective_kind(collective));
      if (algorithm.empty() || algorithm == "default") continue;
      WEFT_ASSIGN(chosen[static_cast<std::size_t>(kind)], find_collective(kind, algorithm));
    }
  }
  return chosen;
}

}  // namespace

Result<ReplayResult> replay(traces::TraceReader& trace, const topology::Platform& platform,
                            const std::vector<HostId>& placement, const ReplayOptions& options) {
  const std::uint32_t ranks = trace.header().ranks;
  if (placement.size() != ranks)
    return usage_error("placement does not fit the trace", fmt::format("{} hosts", placement.size()),
                       fmt::format("{} (one per rank)", ranks));
  for (HostId h : placement)
    if (h.index() >= platform.fabric.host_count())
      return usage_error("placement names an unknown host", std::to_string(h.index()),
                         fmt::format("below {}", platform.fabric.host_count()));
  WEFT_ASSIGN(auto chosen, choose_collectives(platform.mpi.collectives, options.collectives));
  WEFT_ASSIGN(auto model, network::make_model(options.model, platform.fabric, options.accuracy));
  WEFT_ASSIGN(auto kernels, KernelClock::create(platform));
  trace.rewind();
  Simulation simulation(trace, platform, placement, options, std::move(model), std::move(chosen),
                        std::move(kernels));
  return simulation.run();
}

}  // namespace weft::replay
