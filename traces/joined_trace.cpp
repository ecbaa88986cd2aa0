#include "traces/joined_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/byte_sum.hpp"
#include "traces/op_rules.hpp"
#include "traces/recorded/recorded_matches.hpp"
#include "traces/trace_warnings.hpp"

namespace weft::traces {
namespace {

constexpr std::uint64_t kMaxRanks = 1u << 24;
constexpr std::uint64_t kMaxMembers = 1u << 26;

void shift_rank(std::int64_t& rank, std::int64_t by) {
  if (rank >= 0) rank += by;
}

// World ranks that stand in the list of `op`.
void shift_list(const Op& op, std::vector<std::int64_t>& lists, std::int64_t by) {
  if (op.extra == kNoList) return;
  const auto size = static_cast<std::size_t>(lists[op.extra]);
  std::int64_t* const l = lists.data() + op.extra + 1;
  if (const auto at = match_place(op, size)) shift_rank(l[*at], by);
  switch (blocking_form(op.kind)) {
    case OpKind::neighbor_allgather:
    case OpKind::neighbor_allgatherv:
    case OpKind::neighbor_alltoall:
    case OpKind::neighbor_alltoallv:
    case OpKind::neighbor_alltoallw: {
      const auto in = static_cast<std::size_t>(l[0]);
      const auto out = static_cast<std::size_t>(l[in + 1]);
      for (std::size_t i = 0; i < in; ++i) shift_rank(l[1 + i], by);
      for (std::size_t i = 0; i < out; ++i) shift_rank(l[2 + in + i], by);
      return;
    }
    default:
      return;
  }
}

bool names_a_rank(OpKind k) {
  return is_send(k) || is_send_init(k) || is_receive(k) || k == OpKind::recv_init || k == OpKind::wait ||
         k == OpKind::test || (k >= OpKind::probe && k <= OpKind::improbe) || is_collective(k);
}

}  // namespace

Result<std::unique_ptr<JoinedTrace>> JoinedTrace::join(std::vector<JobTrace> jobs, std::string mpi_version) {
  std::unique_ptr<JoinedTrace> out(new JoinedTrace());
  std::uint64_t ranks = 0, members = 0;
  for (const JobTrace& j : jobs) {
    ranks += j.reader->header().ranks;
    for (const Communicator& c : j.reader->communicators()) members += c.members.size();
  }
  if (ranks > kMaxRanks || members + ranks > kMaxMembers)
    return usage_error("too many ranks in all jobs together", std::to_string(ranks),
                       fmt::format("at most {}", kMaxRanks));
  out->header_.ranks = static_cast<std::uint32_t>(ranks);
  out->header_.recorder = "weft, several jobs";
  out->header_.mpi_version = std::move(mpi_version);
  Communicator all{"all jobs", {}};
  for (std::uint64_t r = 0; r < ranks; ++r) all.members.push_back(static_cast<std::int32_t>(r));
  out->communicators_.push_back(std::move(all));
  std::uint32_t first = 0;
  for (JobTrace& j : jobs) {
    const TraceReader& t = *j.reader;
    const std::uint32_t comm = static_cast<std::uint32_t>(out->communicators_.size());
    const std::uint32_t region = static_cast<std::uint32_t>(out->regions_.size());
    for (const Communicator& c : t.communicators()) {
      Communicator shifted{j.label + ": " + c.name, c.members};
      for (std::int32_t& m : shifted.members) m += static_cast<std::int32_t>(first);
      out->communicators_.push_back(std::move(shifted));
    }
    for (const std::string& r : t.regions()) out->regions_.push_back(j.label + ": " + r);
    out->totals_.ops += t.totals().ops;
    out->totals_.messages += t.totals().messages;
    out->totals_.bytes = add_bytes(out->totals_.bytes, t.totals().bytes);
    for (const std::string& w : trace_warnings(t.header()))
      out->header_.warnings.push_back(j.label + ": " + w);
    out->header_.command_line += (first == 0 ? "" : " + ") + t.header().command_line;
    const std::uint32_t n = t.header().ranks;
    out->jobs_.push_back({std::move(j), first, comm, region});
    first += n;
  }
  return out;
}

const JoinedTrace::Job& JoinedTrace::job_of(RankId rank) const {
  const auto after = std::upper_bound(jobs_.begin(), jobs_.end(), rank.index(),
                                      [](std::uint32_t r, const Job& j) { return r < j.first_rank; });
  return *std::prev(after);
}

std::uint64_t JoinedTrace::ops_of(RankId rank) const {
  const Job& j = job_of(rank);
  return j.trace.reader->ops_of(RankId(rank.index() - j.first_rank));
}

Result<bool> JoinedTrace::next_block(RankId rank, OpBlock& out) {
  const Job& j = job_of(rank);
  WEFT_ASSIGN(const bool more, j.trace.reader->next_block(RankId(rank.index() - j.first_rank), out));
  out.rank = rank;
  if (!more) return false;
  const auto by = static_cast<std::int32_t>(j.first_rank);
  for (Op& op : out.ops) {
    op.comm = CommId(op.comm.index() + j.first_comm);
    if (op.peer >= 0 && names_a_rank(op.kind)) op.peer += by;
    if (is_comm_create(op.kind) && op.amount >= 0) op.amount += j.first_comm;
    if (op.kind == OpKind::region_begin || op.kind == OpKind::region_end) op.amount += j.first_region;
    shift_list(op, out.lists, by);
  }
  return true;
}

void JoinedTrace::rewind() {
  for (Job& j : jobs_) j.trace.reader->rewind();
}

std::string JoinedTrace::position(RankId rank, std::uint64_t index) const {
  const Job& j = job_of(rank);
  return j.trace.reader->position(RankId(rank.index() - j.first_rank), index);
}

}  // namespace weft::traces
