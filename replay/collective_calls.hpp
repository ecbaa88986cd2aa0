// Calls of collectives as a trace has them: what a call asks for, which algorithms answer, and what it sends then.
//
// Whose rules choose: what the options say, else the platform, else the library that a recording names
// (rules_of_library), else the default ones. A choice for one collective wins over all rules, the options' over the
// platform's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replay/collectives/choices.hpp"
#include "replay/collectives/schedule.hpp"
#include "replay/communicators.hpp"
#include "topology/platform/platform.hpp"
#include "traces/exports/collective_messages.hpp"
#include "traces/trace.hpp"

namespace weft::replay {

// Of a communicator: all ranks in it are ranks of the communicator.
struct CallOfRank {
  CollectiveCall call;
  std::uint32_t me = 0;
  std::vector<std::int64_t>
      neighbours;  // the list of a neighbourhood collective, to which call.counts points
};
// What world rank `rank` asks for by `op`, on communicator `comm`: a collective, or what makes communicators, of which
// only `ranks` is filled in. `list` outlives it. Error, without a position: kBadInput.
[[nodiscard]] Result<CallOfRank> call_of(const Communicators& comms, std::uint32_t rank, const traces::Op& op,
                                         std::uint32_t comm, std::span<const std::int64_t> list);

// The communicator whose ranks call `op`; none: nobody takes part. Of comm_create_group only the members of the new one do.
[[nodiscard]] std::optional<std::uint32_t> communicator_of(const Communicators& comms, const traces::Op& op);
// Appends the rounds of a call to `out`: messages of a collective, or of what makes communicators. Error: kNotSupported.
[[nodiscard]] Result<void> build_rounds(CollectiveChoices& choices, const Communicators& comms,
                                        const traces::Op& op, std::uint32_t comm, const CallOfRank& asked,
                                        RankSchedule& out);

[[nodiscard]] RulesName name_of_rules(const std::string& options, const std::string& platform,
                                      const traces::TraceHeader& header);

using AlgorithmNames = std::map<std::string, std::string>;  // by collective: "bcast" -> "ring"
// `algorithms`: later ones win. `hosts`: the node of each world rank. Errors: as open_collective_rules() and find_collective().
[[nodiscard]] Result<CollectiveChoices> choose_collectives(
    const std::string& rules, std::initializer_list<const AlgorithmNames*> algorithms,
    std::vector<std::uint32_t> hosts);

// Whether there are the rules and algorithms that a platform names. Errors: those of choose_collectives(), with the place
// in the platform.
[[nodiscard]] Result<void> check_collectives(const topology::MpiParameters& mpi);

// The messages of a trace's collectives, as a replay sends them.
class ExpandedCollectives final : public traces::CollectiveMessages {
 public:
  // `trace` outlives it.
  ExpandedCollectives(const traces::TraceReader& trace, CollectiveChoices choices)
      : comms_(trace.communicators()), choices_(std::move(choices)) {}
  Result<void> find(RankId rank, const traces::Op& op, std::span<const std::int64_t> list,
                    std::vector<traces::CollectiveMessage>& out) override;
  [[nodiscard]] std::vector<CollectiveUse> used() const { return choices_.used(); }

 private:
  Communicators comms_;
  CollectiveChoices choices_;
  RankSchedule schedule_;
};

// By world rank: numbers that are the same where the host names of the recording are; no two where it names none.
[[nodiscard]] std::vector<std::uint32_t> recorded_hosts(const traces::TraceHeader& header);

}  // namespace weft::replay
