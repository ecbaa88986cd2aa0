#include "replay/collective_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "replay/collectives/rules.hpp"

namespace weft::replay {

using traces::OpKind;

namespace {

bool is_neighbourhood(OpKind k) { return k >= OpKind::neighbor_allgather && k <= OpKind::neighbor_alltoallw; }

// The list of a neighbourhood collective, whose ranks a trace gives as those of the world, with ranks of the
// communicator. A list of another shape stays as it is (check_collective() tells what is wrong). Returns the first that
// is no member, else -1.
std::int64_t to_ranks_of(const Communicators& comms, std::uint32_t comm, std::vector<std::int64_t>& list) {
  const auto half = [&](std::size_t at) -> std::int64_t {  // its number of ranks stands at `at`
    if (at >= list.size() || list[at] < 0) return -1;
    const std::size_t n = std::min(static_cast<std::size_t>(list[at]), list.size() - at - 1);
    for (std::int64_t& r : std::span(list).subspan(at + 1, n)) {
      if (r < 0) continue;  // MPI_PROC_NULL
      const std::int64_t rank = comms.rank_in(comm, static_cast<std::uint32_t>(r));
      if (rank < 0) return r;
      r = rank;
    }
    return -1;
  };
  if (const std::int64_t r = half(0); r >= 0) return r;
  return list.empty() || list[0] < 0 ? -1 : half(1 + static_cast<std::size_t>(list[0]));
}

}  // namespace

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
  if (is_neighbourhood(call.kind)) {
    out.neighbours.assign(list.begin(), list.end());
    if (const std::int64_t r = to_ranks_of(comms, comm, out.neighbours); r >= 0)
      return bad(fmt::format("{}: neighbour {} is not in communicator {} (\"{}\")", traces::op_name(op.kind),
                             r, comm, comms.name(comm)));
    call.counts = out.neighbours;
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

Result<void> check_collectives(const topology::MpiParameters& mpi) {
  const auto placed = [&mpi](const Error& e, const std::string& name) {
    const auto where = mpi.chosen_where.find(name);
    return !e.where.empty() || where == mpi.chosen_where.end()
               ? e
               : bad_input(where->second, e.what, e.got, e.expected);
  };
  if (const auto rules = open_collective_rules(mpi.collective_rules); !rules)
    return placed(rules.error(), "");
  for (const auto& choice : mpi.collectives) {
    const AlgorithmNames one{choice};
    if (const auto found = choose_collectives({}, {&one}, {}); !found)
      return placed(found.error(), choice.first);
  }
  return {};
}

std::optional<std::uint32_t> communicator_of(const Communicators& comms, const traces::Op& op) {
  if (op.kind != OpKind::comm_create_group) return op.comm.index();
  if (op.amount < 0 || op.amount >= static_cast<std::int64_t>(comms.count())) return {};
  return static_cast<std::uint32_t>(op.amount);
}

Result<void> build_rounds(CollectiveChoices& choices, const Communicators& comms, const traces::Op& op,
                          std::uint32_t comm, const CallOfRank& asked, RankSchedule& out) {
  if (traces::is_collective(op.kind))
    choices.build(asked.call, comm, comms.members(comm), asked.me, out);
  else
    schedule_comm_operation(op.kind, asked.call.ranks, asked.me, out);
  if (out.not_supported.empty()) return {};
  return not_supported(
      fmt::format("{} of {} ranks: {}", traces::op_name(op.kind), asked.call.ranks, out.not_supported));
}

Result<void> ExpandedCollectives::find(RankId rank, const traces::Op& op, std::span<const std::int64_t> list,
                                       std::vector<traces::CollectiveMessage>& out) {
  out.clear();
  const auto comm = communicator_of(comms_, op);
  if (!comm) return {};
  WEFT_ASSIGN(const CallOfRank asked, call_of(comms_, rank.index(), op, *comm, list));
  schedule_.clear();
  WEFT_TRY(build_rounds(choices_, comms_, op, *comm, asked, schedule_));
  const auto& members = comms_.members(*comm);
  for (const ScheduleMessage& m : schedule_.messages)
    out.push_back({m.round, m.send, members[m.peer], m.bytes, m.paced});
  return {};
}

std::vector<std::uint32_t> recorded_hosts(const traces::TraceHeader& header) {
  std::vector<std::uint32_t> hosts(header.ranks);
  std::iota(hosts.begin(), hosts.end(), 0u);
  if (header.hostnames.size() != header.ranks) return hosts;
  std::map<std::string_view, std::uint32_t> numbers;
  for (std::uint32_t r = 0; r < header.ranks; ++r)
    hosts[r] =
        numbers.try_emplace(header.hostnames[r], static_cast<std::uint32_t>(numbers.size())).first->second;
  return hosts;
}

}  // namespace weft::replay
