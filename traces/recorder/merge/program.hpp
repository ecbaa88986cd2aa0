// One rank's spool translated into trace operations.
#pragma once

#include <optional>
#include <vector>

#include "traces/op_rules.hpp"
#include "traces/recorder/merge/overlaps.hpp"
#include "traces/recorder/merge/spool_reader.hpp"

namespace weft::recorder {

// The operations of one rank; `lists` as in OpBlock, but for all of them.
struct RankProgram {
  std::vector<traces::Op> ops;
  std::vector<std::uint64_t> offsets;  // of the record each one came from
  std::vector<std::int64_t> lists;
  [[nodiscard]] std::span<const std::int64_t> list(const traces::Op& op) const {
    if (op.extra == traces::kNoList) return {};
    return std::span(lists).subspan(op.extra + 1, static_cast<std::size_t>(lists[op.extra]));
  }
};

// What translate() needs to know beside the spool.
struct RankContext {
  const std::vector<CommId>& comms;  // local communicator id of the spool -> id of the trace
  traces::OpLimits limits;
  std::uint64_t end = UINT64_MAX;      // offset at which to stop
  const Overlaps* overlaps = nullptr;  // of the job; null: no threads overlap
  std::size_t rank = 0;
};

// One order of operations for a rank whose threads were inside MPI at once: a blocking call of a message that another
// thread's call fell into becomes the call that starts it, where it was entered, and a wait where it returned; so does
// a collective, on all its ranks if on one; waits and probes stand where they returned. In that order the rank ran once, so a replay of all ranks does not
// deadlock; what it cannot show is threads that overtake each other on another network. Polls belong to no hit.
//
// The program of the rank, up to the first record that cannot be (`damage` then says where and why): one that
// names what is not there, a time that no clock counts to, an operation that is not well formed.
[[nodiscard]] RankProgram translate(const SpoolReader& spool, const RankContext& context,
                                    std::optional<Error>& damage);

// Links the polls of every run to their hit and measures the bodies (merge.hpp). Part of translate().
void link_polls(RankProgram& program);

}  // namespace weft::recorder
