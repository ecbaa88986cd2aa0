#include "replay/engine.hpp"

#include <fmt/format.h>

#include "network/sharing.hpp"
#include "replay/collective_calls.hpp"
#include "replay/simulation.hpp"

namespace weft::replay {
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
  const RulesName rules =
      name_of_rules(options.collective_rules, platform.mpi.collective_rules, trace.header());
  std::vector<std::uint32_t> hosts;
  hosts.reserve(placement.size());
  for (const HostId h : placement) hosts.push_back(h.index());
  WEFT_ASSIGN(auto choices, choose_collectives(rules.name, {&platform.mpi.collectives, &options.collectives},
                                               std::move(hosts)));
  WEFT_ASSIGN(auto model, network::make_model(options.model, platform.fabric, options.accuracy));
  WEFT_ASSIGN(auto kernels, KernelClock::create(platform));
  trace.rewind();
  Simulation simulation(trace, platform, placement, options, std::move(model), std::move(choices),
                        std::move(kernels));
  auto result = simulation.run();
  if (result) result->collective_rules = rules;
  return result;
}

}  // namespace weft::replay
