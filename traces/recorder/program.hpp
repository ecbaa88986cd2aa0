// One rank's spool translated into trace operations.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "traces/op.hpp"
#include "traces/recorder/spool_reader.hpp"

namespace weft::recorder {

// The operations of one rank; `lists` as in OpBlock, but for all of them.
struct RankProgram {
  std::vector<traces::Op> ops;
  std::vector<std::int64_t> lists;
  [[nodiscard]] std::span<const std::int64_t> list(const traces::Op& op) const {
    if (op.extra == traces::kNoList) return {};
    return std::span(lists).subspan(op.extra + 1, static_cast<std::size_t>(lists[op.extra]));
  }
};

// `comms`: local communicator id of the spool -> id of the trace. A record that names anything unknown ends
// the program there (a torn page of a crashed machine); `*whole` says whether all was translated.
[[nodiscard]] RankProgram translate(const SpoolReader& spool, const std::vector<CommId>& comms, bool* whole);

// Links the polls of every run to their hit and measures the bodies (merge.hpp). Part of translate().
void link_polls(RankProgram& program);

}  // namespace weft::recorder
