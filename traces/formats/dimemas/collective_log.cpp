#include "traces/formats/dimemas/collective_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/source_pos.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces::dimemas {
namespace {

// Whether only a root has such sizes.
bool sizes_of_a_root(OpKind k, const Record& r) {
  switch (k) {
    case OpKind::bcast:
      return r.sent > 0 && r.received == 0;
    case OpKind::reduce:
      return r.sent == 0 && r.received > 0;
    case OpKind::gather:
    case OpKind::gatherv:
      return r.received > 0;
    default:
      return r.sent > 0;
  }
}

// Of these the sizes are asked before what was said: Extrae compares the rank of the root in its communicator with the task, so on
// a part of the tasks its flag stands on another one.
bool sizes_come_first(OpKind k) {
  return k == OpKind::gather || k == OpKind::gatherv || k == OpKind::scatter || k == OpKind::scatterv;
}

// What calls in place leave out: `rest` in even shares.
void share(std::int64_t rest, std::vector<std::int64_t*>& among) {
  const auto n = static_cast<std::int64_t>(among.size());
  std::int64_t more = rest % n;
  for (std::int64_t* size : among) *size = rest / n + (more-- > 0 ? 1 : 0);
}

}  // namespace

bool CollectiveLog::keeps(OpKind blocking) { return is_rooted(blocking) || has_size_of_each(blocking); }

const char* CollectiveLog::add(CommId comm, std::uint64_t n, OpKind blocking, std::uint32_t rank,
                               const Record& r, std::uint64_t line) {
  auto& calls = calls_[comm.index()];
  if (n == calls.size()) calls.push_back({.kind = blocking, .said = r.root, .line = line, .parts = {}});
  if (n >= calls.size()) return "the file changed while it was read";
  Call& call = calls[n];
  if (call.kind != blocking) return "tasks call different collectives at this place of the communicator";
  ++call.calls;
  call.same &= r.root == call.said;
  if (r.root == 1) ++call.ones, call.one = rank;
  if (is_rooted(blocking) && sizes_of_a_root(blocking, r)) ++call.by_size, call.of_size = rank;
  if (has_size_of_each(blocking)) call.parts.push_back({rank, r.sent, r.received});
  return nullptr;
}

Error CollectiveLog::fault(const std::string& file, const Call& call, std::string what,
                           std::string expected) const {
  return bad_input(
      SourcePos{file, static_cast<std::uint32_t>(std::min<std::uint64_t>(call.line, UINT32_MAX)), 0}.text(),
      std::move(what), {}, std::move(expected));
}

bool CollectiveLog::find_root(const Communicator& comm, CommId id, Call& call) const {
  std::uint32_t rank = 0;
  if (comm.members.size() == 1)
    rank = 0;
  else if (sizes_come_first(call.kind) && call.by_size == 1)
    rank = call.of_size;
  else if (!call.same && call.ones == 1)
    rank = call.one;
  else if (call.by_size == 1)
    rank = call.of_size;
  else if (!call.same || call.said < 0)
    return false;
  else if (const auto as_task = groups_->rank_in(id, static_cast<std::uint32_t>(call.said));
           as_task && *as_task < comm.members.size())
    rank = *as_task;
  else if (static_cast<std::size_t>(call.said) < comm.members.size())
    rank = static_cast<std::uint32_t>(call.said);
  else
    return false;
  call.root = comm.members[rank];
  return true;
}

Result<void> CollectiveLog::settle(const std::string& file) {
  for (std::uint32_t c = 0; c < calls_.size(); ++c) {
    const Communicator& comm = groups_->all()[c];
    for (Call& call : calls_[c]) {
      if (is_rooted(call.kind) && !find_root(comm, CommId(c), call))
        return fault(file, call,
                     fmt::format("no task is the root of this {}, or several are", op_name(call.kind)),
                     "1 on the root and 0 elsewhere, or the task that is the root");
      if (!has_size_of_each(call.kind)) continue;
      if (call.calls != comm.members.size())
        return fault(
            file, call,
            fmt::format("{} of the {} tasks of the communicator call this {}, which has a size of each",
                        call.calls, comm.members.size(), op_name(call.kind)),
            "a record of each");
      if (2 * call.parts.size() + 1 > kMaxListValues)
        return fault(file, call, fmt::format("the communicator of this {} is too large", op_name(call.kind)),
                     fmt::format("at most {} tasks", kMaxListValues / 2));
      std::ranges::sort(call.parts, {}, &Part::rank);
      __int128 sent = 0, received = 0;
      std::int64_t most_received = 0, most_sent = 0;
      for (const Part& p : call.parts) {
        sent += p.sent, received += p.received;
        most_received = std::max(most_received, p.received), most_sent = std::max(most_sent, p.sent);
      }
      if (sent > kMostBytes || received > kMostBytes)
        return fault(file, call, "the messages of a collective are too large", "at most 2^62 bytes");
      std::vector<std::int64_t*> without;
      if (call.kind == OpKind::gatherv || call.kind == OpKind::scatterv) {
        // The part of a root in place is in its sum only.
        const bool gather = call.kind == OpKind::gatherv;
        const auto root = *groups_->rank_in(CommId(c), static_cast<std::uint32_t>(call.root));
        Part& own = call.parts[root];
        const std::int64_t all = gather ? most_received : most_sent;
        const auto parts = static_cast<std::int64_t>(gather ? sent : received);
        std::int64_t& part = gather ? own.sent : own.received;
        if (part == 0 && all > parts) part = all - parts;
      } else if (call.kind == OpKind::allgatherv && most_received > sent) {
        for (Part& p : call.parts)
          if (p.sent == 0) without.push_back(&p.sent);
        if (!without.empty()) share(most_received - static_cast<std::int64_t>(sent), without);
      } else if (call.kind == OpKind::reduce_scatter && received != most_sent && most_sent > 0) {
        for (Part& p : call.parts) without.push_back(&p.received);
        share(most_sent, without);
      } else if (call.kind == OpKind::alltoallv || call.kind == OpKind::alltoallw) {
        ++shared_out_;
        if (received == 0)
          for (Part& p : call.parts) p.received = 1;
      }
    }
  }
  return {};
}

// n, what is sent to each, what is received from each. A rank sends another what is between two sums, each its own share of all
// that is received up to there: so the shares add up to what it sends, and both ranks of a pair say the same.
void CollectiveLog::pairs(const Call& call, std::uint32_t rank) {
  __int128 all = 0, before = 0;
  for (const Part& p : call.parts) {
    all += p.received;
    if (p.rank < rank) before += p.received;
  }
  list_.assign(1, static_cast<std::int64_t>(call.parts.size()));
  const Part& own = call.parts[rank];
  __int128 up_to = 0;
  std::int64_t last = 0;
  for (const Part& p : call.parts) {
    up_to += p.received;
    const auto next = static_cast<std::int64_t>(own.sent * up_to / all);
    list_.push_back(next - last);
    last = next;
  }
  for (const Part& p : call.parts)
    list_.push_back(static_cast<std::int64_t>(p.sent * (before + own.received) / all) -
                    static_cast<std::int64_t>(p.sent * before / all));
}

bool CollectiveLog::complete(CommId comm, std::uint64_t n, std::uint32_t rank, Op& op, OpBlock& out) {
  const auto& calls = calls_[comm.index()];
  if (n >= calls.size() || calls[n].kind != blocking_form(op.kind)) return false;
  const Call& call = calls[n];
  if (is_rooted(call.kind)) op.peer = call.root;
  if (!has_size_of_each(call.kind)) return true;
  if (rank >= call.parts.size()) return false;
  const auto& parts = call.parts;
  const bool by_received = call.kind == OpKind::scatterv || call.kind == OpKind::reduce_scatter;
  if (call.kind == OpKind::alltoallv || call.kind == OpKind::alltoallw) {
    pairs(call, rank);
    op.amount = parts[rank].sent;
  } else {
    op.amount = by_received ? parts[rank].received : parts[rank].sent;
    list_.clear();
    std::int64_t sum = 0;
    for (const Part& p : parts) list_.push_back(by_received ? p.received : p.sent), sum += list_.back();
    if (call.kind == OpKind::reduce_scatter) op.amount = sum;
    const auto& members = groups_->all()[comm.index()].members;
    if (is_rooted(call.kind) && members[rank] != call.root) return true;
  }
  op.extra = out.add_list(list_);
  return true;
}

}  // namespace weft::traces::dimemas
