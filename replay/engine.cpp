#include "replay/engine.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/counted.hpp"
#include "network/flow_audit.hpp"
#include "network/sharing.hpp"
#include "replay/collective_calls.hpp"
#include "replay/direct/direct_replay.hpp"
#include "replay/messages/match_audit.hpp"
#include "replay/simulation.hpp"
#include "replay/verification.hpp"
#include "topology/placement/locality.hpp"
#include "traces/recorded/recorded_matches.hpp"

namespace weft::replay {
namespace {

// The audits of a replay that may take more than one attempt: each has its own.
class Auditors {
 public:
  Auditors(const topology::Platform& platform, const ReplayOptions& options)
      : platform_(platform), options_(options) {}
  [[nodiscard]] Audits begin() {
    flows_.emplace(options_.model, platform_.fabric, options_.accuracy);
    matches_ = MatchAudit();
    clock_ = ClockAudit();
    return {&*flows_, &matches_, &clock_};
  }
  [[nodiscard]] Verification close(const ReplayResult& result) {
    const network::FlowFindings& f = flows_->close(result.links);
    const MatchFindings& m = matches_.findings();
    Verification out = {flows_->conditions(),
                        f.solves,
                        f.rates,
                        f.messages,
                        f.links,
                        f.worst_bytes_error,
                        m.matches,
                        clock_.instants,
                        clock_.events,
                        f.wrong + m.wrong + clock_.wrong,
                        f.told};
    out.told.insert(out.told.end(), m.told.begin(), m.told.end());
    if (clock_.wrong > 0) out.told.push_back(counted(clock_.wrong, "event") + " out of the order of time");
    return out;
  }

 private:
  const topology::Platform& platform_;
  const ReplayOptions& options_;
  std::optional<network::FlowAudit> flows_;
  MatchAudit matches_;
  ClockAudit clock_;
};

// What a replay is made of and takes with it.
struct Made {
  std::unique_ptr<congestion::SharingModel> model;
  CollectiveChoices choices;
  KernelClock kernels;
};

// A replay whose ranks go ahead of each other, if the program, the platform and the options allow it. Otherwise `programs` are what
// it has read, or none, and the trace stands behind them.
std::optional<ReplayResult> replay_directly(traces::TraceReader& trace, const topology::Platform& platform,
                                            const std::vector<HostId>& placement,
                                            const ReplayOptions& options, DirectReplay::Flows flows,
                                            Made made, const Audits& audits, Ranks::Programs& programs,
                                            bool& contended, std::optional<Error>& unreadable) {
  DirectReplay direct(trace, platform, placement, options, std::move(made.model), std::move(made.choices),
                      std::move(made.kernels), flows, std::move(programs));
  direct.audit(audits);
  auto result = direct.run();
  contended = direct.contended();
  unreadable = direct.take_error();
  programs = result ? Ranks::Programs() : direct.take_programs();
  if (!result && programs.empty()) trace.rewind();
  return result;
}

// What no way to replay knows of itself.
void complete(const topology::Platform& platform, const RulesName& rules, ReplayResult& out) {
  out.collective_rules = rules;
  out.warnings.insert(out.warnings.end(), platform.warnings.begin(), platform.warnings.end());
  out.engine.warnings = out.warnings.size();
}

Result<ReplayResult> simulate_as_read(traces::TraceReader& trace, const topology::Platform& platform,
                                      const std::vector<HostId>& placement, const ReplayOptions& options,
                                      Auditors* auditors) {
  WEFT_TRY(network::check_accuracy(options.accuracy));
  WEFT_TRY(check_compute_scale(options.compute_scale));
  if (options.header < Bytes(0))
    return usage_error("header out of range", std::to_string(options.header.value()), "0 bytes or more");
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
  // Who shares a node's memory, in which libraries go other ways.
  const std::vector<std::uint32_t> nodes = topology::nodes_of(platform.fabric, placement);
  const auto make = [&]() -> Result<Made> {
    auto choices = choose_collectives(rules.name, {&platform.mpi.collectives, &options.collectives}, nodes);
    if (!choices) {
      WEFT_TRY(check_collectives(platform.mpi));
      return std::move(choices.error());
    }
    WEFT_ASSIGN(auto model, network::make_model(options.model, platform.fabric, options.accuracy));
    WEFT_ASSIGN(auto kernels, KernelClock::create(platform));
    return Made{std::move(model), std::move(*choices), std::move(kernels)};
  };
  WEFT_ASSIGN(Made made, make());
  std::vector<DeviceCopies::Ends> copies;
  trace.rewind();
  Ranks::Programs programs;  // read by who gave up
  std::optional<Error> unreadable;
  if (made.kernels.links_entry().empty() && DirectReplay::possible(platform, options)) {
    using Flows = DirectReplay::Flows;
    // What is verified has its events.
    Flows flows = auditors != nullptr ? Flows::kShared : DirectReplay::first_try(platform, options);
    bool again = true;
    while (again) {
      bool contended = false;
      auto result = replay_directly(trace, platform, placement, options, flows, std::move(made),
                                    auditors != nullptr ? auditors->begin() : Audits{}, programs, contended,
                                    unreadable);
      if (result) {
        complete(platform, rules, *result);
        return std::move(*result);
      }
      if (options.on_again) options.on_again();
      again = contended;
      flows = Flows::kShared;
      WEFT_ASSIGN(made, make());
    }
  }
  auto& kernels = made.kernels;
  if (!kernels.links_entry().empty()) {
    auto ends = topology::copy_ends(platform.fabric, placement);
    if (!ends) {
      ends.error().where = kernels.links_entry();
      return std::move(ends).error();
    }
    copies = std::move(*ends);
  }
  Simulation simulation(trace, platform, placement, options, std::move(made.model), std::move(made.choices),
                        std::move(made.kernels), std::move(copies), std::move(programs));
  if (auditors != nullptr) simulation.audit(auditors->begin());
  auto result = simulation.run();
  if (result && unreadable) return std::move(*unreadable);
  if (result) complete(platform, rules, *result);
  return result;
}

// Whether a program that waits forever, as receives from any source took what came here, ends with the matches of the
// recording.
bool ends_as_recorded(traces::TraceReader& trace, const topology::Platform& platform,
                      const std::vector<HostId>& placement, const ReplayOptions& options) {
  ReplayOptions quiet = options;
  quiet.critical_path = quiet.wait_states = false;
  quiet.on_progress = nullptr;
  quiet.on_no_ideal = nullptr;
  quiet.on_op = nullptr;
  quiet.on_match = nullptr;
  quiet.on_hang = nullptr;
  quiet.on_region = nullptr;
  quiet.on_message = nullptr;
  quiet.on_device = nullptr;
  quiet.on_copy = nullptr;
  quiet.on_again = nullptr;
  traces::RecordedMatches recorded(trace);
  const auto again = simulate_as_read(recorded, platform, placement, quiet, nullptr);
  return again && again->finished && recorded.changed() > 0;
}

Result<ReplayResult> simulate(traces::TraceReader& trace, const topology::Platform& platform,
                              const std::vector<HostId>& placement, const ReplayOptions& options,
                              Auditors* auditors) {
  if (options.recorded_matches) {
    traces::RecordedMatches recorded(trace);
    auto result = simulate_as_read(recorded, platform, placement, options, auditors);
    if (auto open = recorded.warning(); result && open) {
      result->warnings.push_back(std::move(*open));
      result->engine.warnings = result->warnings.size();
    }
    return result;
  }
  auto result = simulate_as_read(trace, platform, placement, options, auditors);
  if (result && !result->finished && ends_as_recorded(trace, platform, placement, options)) {
    result->warnings.emplace_back(
        "receives from any source or of any tag took other messages than in the recording; with what they "
        "took there the program ends: --recorded-matches");
    result->engine.warnings = result->warnings.size();
  }
  return result;
}

}  // namespace

Result<void> check_compute_scale(double scale, std::string_view called) {
  if (scale >= 0 && std::isfinite(scale)) return {};
  return usage_error(fmt::format("{} out of range", called), fmt::format("{}", scale), "0 or more");
}

Result<ReplayResult> replay(traces::TraceReader& trace, const topology::Platform& platform,
                            const std::vector<HostId>& placement, const ReplayOptions& options) {
  return simulate(trace, platform, placement, options, nullptr);
}

Result<ReplayResult> replay_verified(traces::TraceReader& trace, const topology::Platform& platform,
                                     const std::vector<HostId>& placement, const ReplayOptions& options,
                                     Verification& out) {
  Auditors auditors(platform, options);
  WEFT_ASSIGN(ReplayResult result, simulate(trace, platform, placement, options, &auditors));
  out = auditors.close(result);
  return result;
}

std::string Verification::finding() const {
  if (wrong == 0) return {};
  return fmt::format("--verify found {} wrong, the first: {}", counted(wrong, "thing"), told.front());
}

}  // namespace weft::replay
