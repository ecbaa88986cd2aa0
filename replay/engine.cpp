#include "replay/engine.hpp"

#include <fmt/format.h>

#include "network/sharing.hpp"
#include "replay/simulation.hpp"

namespace weft::replay {
namespace {

using Choices = std::map<std::string, std::string>;

// The command line's choices win over the platform's, those for one collective over rules.
Result<CollectiveChoices> choose_collectives(const topology::MpiParameters& mpi, const ReplayOptions& options,
                                             const std::vector<HostId>& placement) {
  WEFT_ASSIGN(auto rules, open_collective_rules(options.collective_rules.empty() ? mpi.collective_rules
                                                                                 : options.collective_rules));
  CollectiveChoices out(std::move(rules));
  for (const Choices* choices : {&mpi.collectives, &options.collectives}) {
    for (const auto& [collective, algorithm] : *choices) {
      WEFT_ASSIGN(const traces::OpKind kind, find_collective_kind(collective));
      if (algorithm.empty() || algorithm == "default") continue;
      WEFT_ASSIGN(const CollectiveAlgorithm* chosen, find_collective(kind, algorithm));
      out.choose(*chosen);
    }
  }
  std::vector<std::uint32_t> hosts;
  hosts.reserve(placement.size());
  for (const HostId h : placement) hosts.push_back(h.index());
  out.place(std::move(hosts));
  return out;
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
  WEFT_ASSIGN(auto choices, choose_collectives(platform.mpi, options, placement));
  WEFT_ASSIGN(auto model, network::make_model(options.model, platform.fabric, options.accuracy));
  WEFT_ASSIGN(auto kernels, KernelClock::create(platform));
  trace.rewind();
  Simulation simulation(trace, platform, placement, options, std::move(model), std::move(choices),
                        std::move(kernels));
  return simulation.run();
}

}  // namespace weft::replay
