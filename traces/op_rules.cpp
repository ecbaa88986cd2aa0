#include "traces/op_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "traces/exchange_series.hpp"
#include "traces/tasks.hpp"

namespace weft::traces {
namespace {

using List = std::span<const std::int64_t>;

bool all_at_least(List l, std::int64_t least) {
  return std::ranges::all_of(l, [=](std::int64_t v) { return v >= least; });
}

const char* matched_fault(List l, const OpLimits& limits) {
  if (l.size() != 3) return "the list of a matched message must be source, tag, bytes";
  if (l[0] < kProcNull || l[0] >= limits.ranks) return "the matched source is not a rank";
  if (l[1] < INT32_MIN || l[1] > INT32_MAX) return "the matched tag is out of range";
  return l[2] < 0 ? "the matched bytes are negative" : nullptr;
}

// Whether each of `some` is one of `all`, as often at most.
bool among(List some, List all) {
  if (some.empty()) return true;
  if (some.size() == 1) return std::ranges::find(all, some[0]) != all.end();
  if (std::ranges::is_sorted(some) && std::ranges::is_sorted(all)) return std::ranges::includes(all, some);
  std::vector<std::int64_t> part(some.begin(), some.end()), whole(all.begin(), all.end());
  std::ranges::sort(part);
  std::ranges::sort(whole);
  return std::ranges::includes(whole, part);
}

const char* some_of_fault(OpKind k, List l) {
  if (l.empty() || l[0] < 0 || l[0] > static_cast<std::int64_t>(l.size()) - 1)
    return "the list must be n, n requests, then the completed ones";
  if (const char* fault = requests_fault(l.subspan(1))) return fault;
  const auto asked = static_cast<std::size_t>(l[0]);
  const List completed = l.subspan(1 + asked);
  if ((k == OpKind::waitany || k == OpKind::testany) && completed.size() > 1)
    return "it completes one request only";
  return among(completed, l.subspan(1, asked)) ? nullptr : "a completed request is none of those asked for";
}

const char* per_rank_bytes_fault(List l, std::size_t ranks, std::size_t copies) {
  if (l.size() != ranks * copies) return "the list must have one size for each rank of the communicator";
  return all_at_least(l, 0) ? nullptr : "a size in the list is negative";
}

const char* neighbor_fault(List l, bool sizes, const OpLimits& limits) {
  constexpr const char* kShape = "the list must be n_in, sources, n_out, destinations";
  const auto n = static_cast<std::int64_t>(l.size());
  if (n < 2 || l[0] < 0 || l[0] > n - 2) return kShape;
  const std::int64_t n_in = l[0];
  const std::int64_t n_out = l[static_cast<std::size_t>(n_in) + 1];
  if (n_out < 0 || n_out > n) return kShape;
  if (n != 2 + (n_in + n_out) * (sizes ? 2 : 1)) return kShape;
  for (std::size_t i = 1; i < static_cast<std::size_t>(2 + n_in + n_out); ++i)
    if (l[i] < kProcNull || (i != static_cast<std::size_t>(n_in) + 1 && l[i] >= limits.ranks))
      return "a neighbour is not a rank";
  return all_at_least(l.subspan(static_cast<std::size_t>(2 + n_in + n_out)), 0)
             ? nullptr
             : "a size in the list is negative";
}

}  // namespace

namespace {

constexpr bool rooted(OpKind k) {
  switch (blocking_form(k)) {
    case OpKind::bcast:
    case OpKind::gather:
    case OpKind::gatherv:
    case OpKind::scatter:
    case OpKind::scatterv:
    case OpKind::reduce:
    case OpKind::exchange_series:
      return true;
    default:
      return false;
  }
}

constexpr KindRules make_rules(OpKind k) {
  KindRules r;
  if (is_send(k) || is_send_init(k)) {
    r = {AmountUnit::kBytes, kProcNull, 0, is_nonblocking_send(k) || is_send_init(k)};
  } else if (is_receive(k) || k == OpKind::recv_init) {
    r = {AmountUnit::kBytes, kProcNull, kAnyTag, k == OpKind::irecv || k == OpKind::recv_init};
  } else if (k == OpKind::wait || k == OpKind::test) {
    r.amount = AmountUnit::kBytes;
  } else if (k == OpKind::start || k == OpKind::request_free || k == OpKind::cancel) {
    r.needs_request = true;
  } else if (k == OpKind::compute_time || k == OpKind::sleep || k == OpKind::task_compute) {
    r.amount = AmountUnit::kPicoseconds;
  } else if (is_compute(k) || k == OpKind::launch) {
    r.amount = AmountUnit::kFlops;
  } else if (k >= OpKind::probe && k <= OpKind::improbe) {
    r.amount = AmountUnit::kPolls;
    r.least_tag = kAnyTag;
  } else if (is_collective(k)) {
    r.amount = AmountUnit::kBytes;
    r.needs_request = is_nonblocking_collective(k);
    if (rooted(k)) r.least_peer = 0;
  } else if (is_comm_create(k)) {
    r.amount = AmountUnit::kComm;
  } else if (k == OpKind::region_begin || k == OpKind::region_end) {
    r.amount = AmountUnit::kRegion;
  }
  return r;
}

// A table, because the writer asks for every operation.
constexpr auto kRules = [] {
  std::array<KindRules, kOpKindCount> t{};
  for (std::size_t k = 0; k < kOpKindCount; ++k) t[k] = make_rules(static_cast<OpKind>(k));
  return t;
}();

}  // namespace

bool is_rooted(OpKind k) { return rooted(k); }

bool has_size_of_each(OpKind k) {
  switch (blocking_form(k)) {
    case OpKind::gatherv:
    case OpKind::scatterv:
    case OpKind::allgatherv:
    case OpKind::alltoallv:
    case OpKind::alltoallw:
    case OpKind::reduce_scatter:
      return true;
    default:
      return false;
  }
}

const KindRules& rules_of(OpKind k) { return kRules[static_cast<std::size_t>(k)]; }

bool list_required(OpKind k, std::uint8_t flags) {
  if (k == OpKind::iprobe || k == OpKind::improbe) return (flags & kHit) != 0;
  switch (blocking_form(k)) {
    case OpKind::compute_kernel:
    case OpKind::launch:
    case OpKind::startall:
    case OpKind::waitall:
    case OpKind::waitany:
    case OpKind::waitsome:
    case OpKind::testall:
    case OpKind::testany:
    case OpKind::testsome:
    case OpKind::allgatherv:
    case OpKind::alltoallv:
    case OpKind::alltoallw:
    case OpKind::reduce_scatter:
    case OpKind::neighbor_allgather:
    case OpKind::neighbor_allgatherv:
    case OpKind::neighbor_alltoall:
    case OpKind::neighbor_alltoallv:
    case OpKind::neighbor_alltoallw:
    case OpKind::exchange_series:
    case OpKind::task_compute:
    case OpKind::task_send:
    case OpKind::task_recv:
      return true;
    default:
      return false;
  }
}

const char* requests_fault(List l) {
  static_assert(std::has_single_bit(kMaxRequestSlots));
  std::uint64_t all = 0;  // a bit of it tells that one of them is too large, or negative
  for (const std::int64_t v : l) all |= static_cast<std::uint64_t>(v);
  return all < kMaxRequestSlots ? nullptr : "a request slot in the list is out of range";
}

const char* list_fault(const Op& op, List l, const OpLimits& limits) {
  if (l.size() > kMaxListValues) return "its list is too long";
  if (op.extra == kNoList) return list_required(op.kind, op.flags) ? "the operation needs a list" : nullptr;
  const auto comm_size = [&] { return (*limits.communicators)[op.comm.index()].members.size(); };
  switch (blocking_form(op.kind)) {
    case OpKind::compute_kernel:
    case OpKind::launch:
      if (l.size() != 4 || !all_at_least(l, 0)) return "the list of a kernel must be kernel, m, n, k";
      return l[0] < static_cast<std::int64_t>(kKernelCount) ? nullptr : "unknown kernel";
    case OpKind::recv:
    case OpKind::irecv:
    case OpKind::start:
    case OpKind::probe:
    case OpKind::mprobe:
      return matched_fault(l, limits);
    case OpKind::iprobe:
    case OpKind::improbe:
      if ((op.flags & kHit) != 0)
        return l.size() == 5 && l[0] == 0 && l[1] >= 0
                   ? matched_fault(l.subspan(2), limits)
                   : "the list of a hit must be 0, body length, source, tag, bytes";
      return l.size() == 1 && l[0] > 0 ? nullptr : "the list of a miss must be the distance to its hit";
    case OpKind::startall:
    case OpKind::waitall:
    case OpKind::testall:
      return requests_fault(l);
    case OpKind::waitany:
    case OpKind::waitsome:
    case OpKind::testany:
    case OpKind::testsome:
      return some_of_fault(op.kind, l);
    case OpKind::gatherv:
    case OpKind::scatterv:
    case OpKind::allgatherv:
    case OpKind::reduce_scatter:
      return per_rank_bytes_fault(l, comm_size(), 1);
    case OpKind::alltoallv:
    case OpKind::alltoallw:
      if (l.empty() || l[0] != static_cast<std::int64_t>(comm_size()))
        return "the list must begin with the size of the communicator";
      return per_rank_bytes_fault(l.subspan(1), comm_size(), 2);
    case OpKind::neighbor_allgather:
    case OpKind::neighbor_alltoall:
      return neighbor_fault(l, false, limits);
    case OpKind::neighbor_allgatherv:
    case OpKind::neighbor_alltoallv:
    case OpKind::neighbor_alltoallw:
      return neighbor_fault(l, true, limits);
    case OpKind::exchange_series:
      return series_fault(l);
    case OpKind::task_compute:
    case OpKind::task_send:
    case OpKind::task_recv:
      return task_fault(l);
    default:
      return "an operation of this kind has no list";
  }
}

const char* op_fault(const Op& op, List l, const OpLimits& limits) {
  if (static_cast<std::size_t>(op.kind) >= kOpKindCount) return "unknown operation kind";
  if (op.comm.index() >= limits.communicators->size()) return "unknown communicator";
  const KindRules& r = rules_of(op.kind);
  if (op.peer < r.least_peer || op.peer >= static_cast<std::int64_t>(limits.ranks))
    return "peer is not a rank";
  if ((is_send(op.kind) || is_send_init(op.kind)) && op.peer == kAnySource) return "peer is not a rank";
  if (op.tag < r.least_tag) return "tag is negative";
  if (op.request != kNoRequest && op.request >= kMaxRequestSlots) return "request slot is out of range";
  if (r.needs_request && op.request == kNoRequest) return "request is missing";
  switch (r.amount) {
    case AmountUnit::kNone:
      break;
    case AmountUnit::kFlops:
      if (!(op.flops() >= 0) || !std::isfinite(op.flops())) return "flops are not a finite number >= 0";
      break;
    case AmountUnit::kComm:
      if (op.amount < -1 || op.amount >= static_cast<std::int64_t>(limits.communicators->size()))
        return "unknown new communicator";
      break;
    case AmountUnit::kRegion:
      if (op.amount < 0 || op.amount >= static_cast<std::int64_t>(limits.regions)) return "unknown region";
      break;
    default:
      if (op.amount < 0) return "amount is negative";
  }
  return list_fault(op, l, limits);
}

BlockFault lone_sendrecv(std::uint64_t index) { return {index, "a sendrecv without its receive half"}; }

std::optional<BlockFault> halves_fault(const OpBlock& block, bool& open) {
  std::uint64_t index = block.first_op;
  for (const Op& op : block.ops) {
    if (is_receive_half(op) != open)
      return open ? lone_sendrecv(index - 1) : BlockFault{index, "a receive half without its sendrecv"};
    open = op.kind == OpKind::sendrecv;
    ++index;
  }
  return std::nullopt;
}

std::optional<BlockFault> block_fault(const OpBlock& block, const OpLimits& limits) {
  const std::size_t communicators = limits.communicators->size();
  std::uint64_t index = block.first_op;
  for (const Op& op : block.ops) {
    if (!surely_well_formed(op, limits.ranks, communicators)) {
      if (op.extra != kNoList &&
          (op.extra >= block.lists.size() || block.lists[op.extra] < 0 ||
           static_cast<std::uint64_t>(block.lists[op.extra]) > block.lists.size() - op.extra - 1))
        return BlockFault{index, "its list is outside of the block"};
      if (const char* fault = op_fault(op, block.list(op), limits))
        return BlockFault{index, fmt::format("{}: {}", op_name(op.kind), fault)};
    }
    ++index;
  }
  bool open = !block.ops.empty() && is_receive_half(block.ops.front());
  return halves_fault(block, open);
}

}  // namespace weft::traces
