// What makes one operation well formed, whatever came before it: ranges of its fields and the shape of its
// list. docs/trace-format.md lists the conventions per kind. What needs more than one operation is in
// check.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace weft::traces {

// A rank never has more requests at once than this: bounds what a hostile slot number can cost a replay.
inline constexpr std::uint32_t kMaxRequestSlots = 1u << 22;

// Values of one list: what fits into a block of the .weft format at ten bytes a value.
inline constexpr std::size_t kMaxListValues = 1'600'000;

// What ids may refer to.
struct OpLimits {
  std::uint32_t ranks = 0;
  const std::vector<Communicator>* communicators = nullptr;
  std::size_t regions = 0;
};

// What Op::amount means.
enum class AmountUnit : std::uint8_t { kNone, kPicoseconds, kFlops, kBytes, kPolls, kComm, kRegion };

// The rules of one kind. Ranges are inclusive below; peers end at ranks - 1.
struct KindRules {
  AmountUnit amount = AmountUnit::kNone;
  std::int32_t least_peer = kProcNull;
  std::int32_t least_tag = INT32_MIN;
  bool needs_request = false;
};
// Precondition: a kind below kOpKindCount.
[[nodiscard]] const KindRules& rules_of(OpKind k);

// True for gather(v), scatter(v), bcast, reduce and their non-blocking forms: peer is the root.
[[nodiscard]] bool is_rooted(OpKind k);

// True for gatherv, scatterv, allgatherv, alltoallv, alltoallw, reduce_scatter and their non-blocking forms: each rank may have
// another size.
[[nodiscard]] bool has_size_of_each(OpKind k);

// True if an operation of this kind is useless without a list.
[[nodiscard]] bool list_required(OpKind k, std::uint8_t flags);

// Null if well formed, else what is wrong. op_fault checks everything, list_fault only the list. O(list).
[[nodiscard]] const char* list_fault(const Op& op, std::span<const std::int64_t> list,
                                     const OpLimits& limits);
// Of the lists of such a kind requests_fault() says what list_fault() does, but for their length; of several lists one after the
// other, too.
[[nodiscard]] constexpr bool lists_requests(OpKind k) {
  return k == OpKind::startall || k == OpKind::waitall || k == OpKind::testall;
}
[[nodiscard]] const char* requests_fault(std::span<const std::int64_t> list);
[[nodiscard]] const char* op_fault(const Op& op, std::span<const std::int64_t> list, const OpLimits& limits);

// What is wrong with the first operation of a block that is not well formed.
struct BlockFault {
  std::uint64_t op = 0;  // index in the rank's program
  std::string what;
};
// The first half in a block that stands alone. `open`: the operation before the block is a sendrecv; becomes: its last one
// is. After the last block of a rank nothing may be open: lone_sendrecv().
[[nodiscard]] std::optional<BlockFault> halves_fault(const OpBlock& block, bool& open);
[[nodiscard]] BlockFault lone_sendrecv(std::uint64_t index);
// Of a block whose neighbours are not at hand: a half at its edge has its other half there.
[[nodiscard]] std::optional<BlockFault> block_fault(const OpBlock& block, const OpLimits& limits);

// True only if op_fault(op, {}, limits) is null; false says nothing. The common kinds in a dozen
// instructions, so that a reader's consumer can afford to check every operation.
// `ranks` and `communicators`: how many the trace has.
[[nodiscard]] inline bool surely_well_formed(const Op& op, std::uint32_t ranks, std::size_t communicators) {
  if (op.extra != kNoList || op.comm.index() >= communicators) return false;
  if (op.amount < 0 || op.peer >= static_cast<std::int64_t>(ranks)) return false;
  const bool has_slot = op.request < kMaxRequestSlots;
  switch (op.kind) {
    case OpKind::compute_time:
      return op.peer >= 0 && op.request == kNoRequest;
    case OpKind::send:
    case OpKind::sendrecv:
      return op.peer >= 0 && op.tag >= 0 && op.request == kNoRequest;
    case OpKind::isend:
      return op.peer >= 0 && op.tag >= 0 && has_slot;
    case OpKind::recv:
      return op.peer >= 0 && op.tag >= kAnyTag && op.request == kNoRequest;
    case OpKind::irecv:
      return op.peer >= 0 && op.tag >= kAnyTag && has_slot;
    case OpKind::wait:
      return op.peer >= kProcNull && has_slot;
    // A finite double >= 0 has its sign clear and its exponent below the one of infinity.
    case OpKind::compute_flops:
      return op.peer >= 0 && op.request == kNoRequest && op.amount < 0x7ff0000000000000;
    default:
      return false;
  }
}

}  // namespace weft::traces
