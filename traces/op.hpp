// The operations of a trace, as replay sees them: one 32-byte row per operation.
//
// On disk a block is stored column by column (trace.proto); in memory it is rows, because replay reads every
// field of one operation at once and the next one right after: 256 ranks x one cache line stay in L1, 256 x 8
// columns don't.
//
// Conventions:
//  - `peer` is a rank of MPI_COMM_WORLD, whatever the communicator; kAnySource and kProcNull are the only
//  negatives.
//  - `bytes` is count x datatype size: sent for sends, posted for receives.
//  - `request` is a slot of the rank, chosen small and reused after completion.
//  - `extra` indexes the block's `lists` pool (see list()); kNoList = none.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/id.hpp"
#include "core/uninitialized.hpp"
#include "core/units.hpp"

namespace weft::traces {

inline constexpr std::int32_t kAnySource = -1;
inline constexpr std::int32_t kProcNull = -2;
inline constexpr std::int32_t kAnyTag = -1;
inline constexpr std::uint32_t kNoRequest = 0xffffffffu;
inline constexpr std::uint32_t kNoList = 0xffffffffu;

// X(enumerator, text name, what it is). The text name is the MPI name in lower case without prefix.
// Order and values are fixed by the file format: append only.
#define WEFT_OP_KINDS(X)                                                                                    \
  /* computation */                                                                                         \
  X(compute_time, "compute", "recorded duration; amount = picoseconds")                                     \
  X(compute_flops, "compute", "floating-point work; amount = bits of a double")                             \
  X(compute_kernel, "compute", "BLAS kernel; list = {kernel, m, n, k}; amount = bits of flops as a double") \
  X(sleep, "sleep", "time that no host speed changes; amount = picoseconds")                                \
  /* blocking point-to-point */                                                                             \
  X(send, "send", "standard send")                                                                          \
  X(ssend, "ssend", "synchronous send")                                                                     \
  X(bsend, "bsend", "buffered send")                                                                        \
  X(rsend, "rsend", "ready send")                                                                           \
  X(recv, "recv", "receive; list = {source, tag, bytes} that matched, if recorded")                         \
  X(sendrecv, "sendrecv", "send half; the next op is its recv half (kind recv, flag kPairedRecv)")          \
  /* non-blocking point-to-point: request = slot */                                                         \
  X(isend, "isend", "")                                                                                     \
  X(issend, "issend", "")                                                                                   \
  X(ibsend, "ibsend", "")                                                                                   \
  X(irsend, "irsend", "")                                                                                   \
  X(irecv, "irecv", "list as recv, if recorded (wildcards, shorter messages)")                              \
  /* persistent: *_init makes an inactive request, start activates it */                                    \
  X(send_init, "send_init", "")                                                                             \
  X(ssend_init, "ssend_init", "")                                                                           \
  X(bsend_init, "bsend_init", "")                                                                           \
  X(rsend_init, "rsend_init", "")                                                                           \
  X(recv_init, "recv_init", "")                                                                             \
  X(start, "start", "request = slot; list as recv, of a receive, if recorded")                              \
  X(startall, "startall", "list = requests")                                                                \
  X(request_free, "request_free", "request = slot")                                                         \
  X(cancel, "cancel", "request = slot")                                                                     \
  /* completion: wait/test name one request; the others list {n asked, asked..., completed...} */           \
  X(wait, "wait", "request = slot; peer, tag, amount = matched source, tag, bytes for a receive")           \
  X(waitall, "waitall", "list = requests")                                                                  \
  X(waitany, "waitany", "list = {n, requests..., completed}")                                               \
  X(waitsome, "waitsome", "list = {n, requests..., completed...}")                                          \
  X(test, "test", "a test that said yes: as wait")                                                          \
  X(testall, "testall", "a test that said yes: as waitall")                                                 \
  X(testany, "testany", "a test that said yes: as waitany")                                                 \
  X(testsome, "testsome", "a test that completed some: as waitsome")                                        \
  /* probes */                                                                                              \
  X(probe, "probe", "list = {source, tag, bytes} that matched, if recorded")                                \
  X(iprobe, "iprobe", "conditional step: see IprobeFlags; amount = how many polls were merged into it")     \
  X(mprobe, "mprobe", "as probe; the receive of what it found follows")                                     \
  X(improbe, "improbe", "as iprobe")                                                                        \
  /* collectives: comm; peer = root or kAnySource; amount = bytes sent; list: see docs/trace-format.md */   \
  X(barrier, "barrier", "")                                                                                 \
  X(bcast, "bcast", "amount = bytes of the message")                                                        \
  X(gather, "gather", "amount = bytes a rank contributes")                                                  \
  X(gatherv, "gatherv", "amount = own bytes; on the root list = bytes from each rank")                      \
  X(scatter, "scatter", "amount = bytes a rank gets")                                                       \
  X(scatterv, "scatterv", "amount = own bytes; on the root list = bytes to each rank")                      \
  X(allgather, "allgather", "amount = bytes a rank contributes")                                            \
  X(allgatherv, "allgatherv", "amount = own bytes; list = bytes of each rank")                              \
  X(alltoall, "alltoall", "amount = bytes per pair")                                                        \
  X(alltoallv, "alltoallv", "list = {n, sent to each..., received from each...}; amount = sum sent")        \
  X(alltoallw, "alltoallw", "as alltoallv")                                                                 \
  X(reduce, "reduce", "amount = bytes of the vector")                                                       \
  X(allreduce, "allreduce", "amount = bytes of the vector")                                                 \
  X(reduce_scatter, "reduce_scatter", "list = bytes each rank gets; amount = sum")                          \
  X(reduce_scatter_block, "reduce_scatter_block", "amount = bytes a rank gets")                             \
  X(scan, "scan", "amount = bytes of the vector")                                                           \
  X(exscan, "exscan", "amount = bytes of the vector")                                                       \
  X(neighbor_allgather, "neighbor_allgather",                                                               \
    "list = {n_in, sources..., n_out, destinations...}, world ranks")                                       \
  X(neighbor_allgatherv, "neighbor_allgatherv", "as above, then bytes in..., bytes out...")                 \
  X(neighbor_alltoall, "neighbor_alltoall", "as neighbor_allgather")                                        \
  X(neighbor_alltoallv, "neighbor_alltoallv", "as neighbor_allgatherv")                                     \
  X(neighbor_alltoallw, "neighbor_alltoallw", "as neighbor_allgatherv")                                     \
  X(ibarrier, "ibarrier", "non-blocking forms: the same fields and a request")                              \
  X(ibcast, "ibcast", "")                                                                                   \
  X(igather, "igather", "")                                                                                 \
  X(igatherv, "igatherv", "")                                                                               \
  X(iscatter, "iscatter", "")                                                                               \
  X(iscatterv, "iscatterv", "")                                                                             \
  X(iallgather, "iallgather", "")                                                                           \
  X(iallgatherv, "iallgatherv", "")                                                                         \
  X(ialltoall, "ialltoall", "")                                                                             \
  X(ialltoallv, "ialltoallv", "")                                                                           \
  X(ialltoallw, "ialltoallw", "")                                                                           \
  X(ireduce, "ireduce", "")                                                                                 \
  X(iallreduce, "iallreduce", "")                                                                           \
  X(ireduce_scatter, "ireduce_scatter", "")                                                                 \
  X(ireduce_scatter_block, "ireduce_scatter_block", "")                                                     \
  X(iscan, "iscan", "")                                                                                     \
  X(iexscan, "iexscan", "")                                                                                 \
  X(ineighbor_allgather, "ineighbor_allgather", "")                                                         \
  X(ineighbor_allgatherv, "ineighbor_allgatherv", "")                                                       \
  X(ineighbor_alltoall, "ineighbor_alltoall", "")                                                           \
  X(ineighbor_alltoallv, "ineighbor_alltoallv", "")                                                         \
  X(ineighbor_alltoallw, "ineighbor_alltoallw", "")                                                         \
  /* communicators: collective over `comm`; amount = CommId of the new one on this rank, or -1 */           \
  X(comm_split, "comm_split", "")                                                                           \
  X(comm_dup, "comm_dup", "")                                                                               \
  X(comm_create, "comm_create", "")                                                                         \
  X(comm_create_group, "comm_create_group", "collective over the members of the new one only")              \
  X(cart_create, "cart_create", "")                                                                         \
  X(comm_free, "comm_free", "")                                                                             \
  /* life of the program, regions */                                                                        \
  X(init, "init", "")                                                                                       \
  X(finalize, "finalize", "")                                                                               \
  X(region_begin, "region_begin", "amount = RegionId")                                                      \
  X(region_end, "region_end", "amount = RegionId")                                                          \
  /* collective over `comm`: kernels and exchanges of a panel's factorisation (exchange_series.hpp) */      \
  X(exchange_series, "exchange_series",                                                                     \
    "peer = root; amount = bytes of a candidate; list = {row bytes, segments}")                             \
  /* accelerators: the rank goes on at once; what it launches runs in this order, one after the other */    \
  X(launch, "launch",                                                                                       \
    "kernel on the rank's accelerator, as compute_kernel; request = slot, ended by a wait")                 \
  /* tasks: each begins when tasks before it are over, beside the rank, which goes on at once: tasks.hpp */ \
  X(task_compute, "task_compute", "recorded duration; amount = picoseconds; list = {cpu, after...}")        \
  X(task_send, "task_send", "standard send; list = {cpu, after...}")                                        \
  X(task_recv, "task_recv", "receive; list = {cpu, after...}")                                              \
  X(task_wait, "task_wait", "until all tasks before it are over")

enum class OpKind : std::uint8_t {
#define WEFT_X(id, text, doc) id,
  WEFT_OP_KINDS(WEFT_X)
#undef WEFT_X
};
inline constexpr std::size_t kOpKindCount = static_cast<std::size_t>(OpKind::task_wait) + 1;

[[nodiscard]] std::string_view op_name(OpKind k);

// Bits of Op::flags.
enum OpFlags : std::uint8_t {
  kPairedRecv = 1,  // this recv is the second half of the sendrecv right before it
  // Iprobe, Improbe: a *conditional step*. A program that polls runs some operations (the "body": the receive
  // and what it forwards) at the first poll that finds the message. On another network that is another poll.
  // So a trace holds every poll place of a run of polls, in program order:
  //   - a poll that missed: kHit clear, `extra` list = {distance}: the hit of this run is `distance` ops
  //   further on;
  //   - the poll that hit: kHit set, list = {distance = 0, body length in ops, source, tag, bytes}; the body
  //   follows.
  // Replay runs the body at the first poll of the run that finds the message there, and waits at the hit if
  // none did. Polls of a run that never hit have no list and do nothing.
  kHit = 2,
  // Never in a file: peer and tag of this start are those that its persistent receive asks for this time (recorded_matches.hpp).
  kNarrowed = 4,
};

struct Op {
  OpKind kind{};
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
  CommId comm{0};
  std::int32_t peer = 0;
  std::int32_t tag = 0;
  std::int64_t amount = 0;  // bytes, picoseconds, bits of a double, or an id: by kind
  std::uint32_t request = kNoRequest;
  std::uint32_t extra = kNoList;

  [[nodiscard]] double flops() const { return std::bit_cast<double>(amount); }
  friend bool operator==(const Op&, const Op&) = default;
};
static_assert(sizeof(Op) == 32, "two operations per cache line");

// What `start` posts of the persistent operation `made`.
[[nodiscard]] inline Op started(Op made, const Op& start) {
  if ((start.flags & kNarrowed) == 0) return made;
  made.peer = start.peer;
  made.tag = start.tag;
  return made;
}

// Whether `op` is the second half of the sendrecv that stands right before it, maybe at the end of the block before.
[[nodiscard]] inline bool is_receive_half(const Op& op) {
  return op.kind == OpKind::recv && (op.flags & kPairedRecv) != 0;
}

// A run of consecutive operations of one rank.
struct OpBlock {
  RankId rank;
  std::uint64_t first_op = 0;              // index of ops[0] in the rank's program
  std::vector<Op, Uninitialized<Op>> ops;  // at most kMaxBlockOps; resize() leaves new ones to be written
  std::vector<std::int64_t> lists;         // pool: at index `extra` stands n, then n values

  [[nodiscard]] std::span<const std::int64_t> list(const Op& op) const {
    if (op.extra == kNoList) return {};
    return std::span<const std::int64_t>(lists).subspan(op.extra + 1,
                                                        static_cast<std::size_t>(lists[op.extra]));
  }
  std::uint32_t add_list(std::span<const std::int64_t> values) {
    const auto at = static_cast<std::uint32_t>(lists.size());
    lists.push_back(static_cast<std::int64_t>(values.size()));
    lists.insert(lists.end(), values.begin(), values.end());
    return at;
  }
  void clear() {
    ops.clear();
    lists.clear();
  }
};
inline constexpr std::size_t kMaxBlockOps = 4096;

[[nodiscard]] constexpr bool is_compute(OpKind k) { return k <= OpKind::sleep; }
[[nodiscard]] constexpr bool is_blocking_send(OpKind k) { return k >= OpKind::send && k <= OpKind::rsend; }
[[nodiscard]] constexpr bool is_nonblocking_send(OpKind k) {
  return k >= OpKind::isend && k <= OpKind::irsend;
}
[[nodiscard]] constexpr bool is_send(OpKind k) {
  return is_blocking_send(k) || is_nonblocking_send(k) || k == OpKind::sendrecv || k == OpKind::task_send;
}
[[nodiscard]] constexpr bool is_receive(OpKind k) {
  return k == OpKind::recv || k == OpKind::irecv || k == OpKind::task_recv;
}
// Begins when tasks before it are over. task_wait is none.
[[nodiscard]] constexpr bool is_task(OpKind k) { return k >= OpKind::task_compute && k <= OpKind::task_recv; }
// send_init, ssend_init...: makes an inactive request that start() turns into a send.
[[nodiscard]] constexpr bool is_send_init(OpKind k) {
  return k >= OpKind::send_init && k <= OpKind::rsend_init;
}
[[nodiscard]] constexpr bool is_collective(OpKind k) {
  return (k >= OpKind::barrier && k <= OpKind::ineighbor_alltoallw) || k == OpKind::exchange_series;
}
[[nodiscard]] constexpr bool is_nonblocking_collective(OpKind k) {
  return k >= OpKind::ibarrier && k <= OpKind::ineighbor_alltoallw;
}
// ibcast -> bcast ...; a blocking collective is itself.
[[nodiscard]] constexpr OpKind blocking_form(OpKind k) {
  if (!is_nonblocking_collective(k)) return k;
  return static_cast<OpKind>(static_cast<int>(k) - static_cast<int>(OpKind::ibarrier) +
                             static_cast<int>(OpKind::barrier));
}
static_assert(blocking_form(OpKind::ineighbor_alltoallw) == OpKind::neighbor_alltoallw);
[[nodiscard]] constexpr bool is_comm_create(OpKind k) {
  return k >= OpKind::comm_split && k <= OpKind::cart_create;
}

}  // namespace weft::traces
