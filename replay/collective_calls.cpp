#include "replay/collective_calls.hpp"

#include <fmt/format.h>

#include "replay/collectives/rules.hpp"

namespace weft::replay {

using traces::OpKind;

Result<CallOfRank> call_of(const Communicators& comms, std::uint32_t rank, const traces::Op& op,
                           std::uint32_t comm, std::span<const std::int64_t> list) {
  const auto bad = [rank](const std::string& what) {
    return bad_input({}, fmt::format("rank {}: {}", rank, what));
  };
  const std::int64_t me = comms.rank_in(comm, rank);
  if (me < 0)
    return bad(fmt::format("{} on communicator {} (\"{}\"), of which it is no member",
                           traces::op_name(op.kind), comm, comms.name(comm)));
  CallOfRank out;
  out.me = static_cast<std::uint32_t>(me);
  CollectiveCall& call = out.call;
  call.ranks = static_cast<std::uint32_t>(comms.members(comm).size());
  if (!traces::is_collective(op.kind)) return out;
  call.kind = traces::blocking_form(op.kind);
  call.nonblocking = traces::is_nonblocking_collective(op.kind);
  call.bytes = op.amount;
  call.counts = list;
  if (op.peer >= 0) {
    const std::int64_t root = comms.rank_in(comm, static_cast<std::uint32_t>(op.peer));
    if (root < 0) return bad(fmt::format("root {} is not in communicator {}", op.peer, comm));
    call.root = static_cast<std::uint32_t>(root);
  }
  WEFT_TRY(check_collective(call, out.me, {}));
  return out;
}

RulesName name_of_rules(const std::string& options, const std::string& platform,
                        const traces::TraceHeader& header) {
  if (!options.empty()) return {options, RulesFrom::kOptions};
  if (!platform.empty()) return {platform, RulesFrom::kPlatform};
  const std::string_view library = rules_of_library(header.mpi_version);
  return {std::string(library), library.empty() ? RulesFrom::kDefault : RulesFrom::kRecording};
}

Result<CollectiveChoices> choose_collectives(const std::string& rules,
                                             std::initializer_list<const AlgorithmNames*> algorithms,
                                             std::vector<std::uint32_t> hosts) {
  WEFT_ASSIGN(auto opened, open_collective_rules(rules));
  CollectiveChoices out(std::move(opened));
  for (const AlgorithmNames* names : algorithms) {
    for (const auto& [collective, algorithm] : *names) {
      WEFT_ASSIGN(const OpKind kind, find_collective_kind(collective));
      if (algorithm.empty() || algorithm == "default") continue;
      WEFT_ASSIGN(const CollectiveAlgorithm* chosen, find_collective(kind, algorithm));
      out.choose(*chosen);
    }
  }
  out.place(std::move(hosts));
  return out;
}

}  // namespace weft::replay
