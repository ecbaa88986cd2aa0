// ProgramCursor: one rank's operations by index, read block by block, each checked once: when it is loaded, or by the reader
// (TraceReader::well_formed).
//
// Invariants:
//  1. A block stays in memory, and pointers into it stay good, until release_before() passes its end: one
//     block in the usual case, more only while a conditional step looks ahead.
//  2. Every operation handed out is valid by itself (traces/op_rules.hpp). The engine relies on it and checks
//     nothing again.
#pragma once

#include <cstdint>
#include <vector>

#include "core/result.hpp"
#include "traces/trace.hpp"

namespace weft::replay {

class ProgramCursor {
 public:
  void attach(traces::TraceReader& reader, RankId rank) {
    reader_ = &reader;
    rank_ = rank;
    total_ = reader.ops_of(rank);
  }
  // traces::kUnknownOps until the end has been read, if the trace does not know.
  [[nodiscard]] std::uint64_t total() const { return total_; }
  // The operation at `index`, or null at the end of the program.
  [[nodiscard]] Result<const traces::Op*> at(std::uint64_t index) {
    if (index - base_ < count_) [[likely]]
      return front_ + (index - base_);
    return slow_at(index);
  }
  // The same if it is in the selected block, else null.
  [[nodiscard]] const traces::Op* here(std::uint64_t index) const {
    return index - base_ < count_ ? front_ + (index - base_) : nullptr;
  }
  // A hint to the processor: operation `index` will be asked for soon.
  void prefetch(std::uint64_t index) const {
    if (const traces::Op* const op = here(index)) __builtin_prefetch(op);
  }
  // The same of the list of an operation of the selected block.
  void prefetch_list(const traces::Op& op) const {
    if (op.extra != traces::kNoList) __builtin_prefetch(lists_ + op.extra);
  }
  // The list of an operation that at(index) returned.
  [[nodiscard]] std::span<const std::int64_t> list(std::uint64_t index, const traces::Op& op) const {
    if (!in_current_block(index)) [[unlikely]]
      return slow_list(index, op);
    if (op.extra == traces::kNoList) return {};
    const std::int64_t* const row = lists_ + op.extra;
    return {row + 1, static_cast<std::size_t>(*row)};
  }
  [[nodiscard]] bool in_current_block(std::uint64_t index) const { return index - base_ < count_; }
  // The operations of the selected block from `index` on; REQUIRES: it is in there.
  [[nodiscard]] std::span<const traces::Op> rest_of_block(std::uint64_t index) const {
    return {front_ + (index - base_), count_ - (index - base_)};
  }
  // All that was read is still held and was right, so that a replay may begin anew with it.
  [[nodiscard]] bool from_start() const { return !incomplete_; }
  // It is, no more blocks are held than that and what is looked ahead into, so that nothing is to be released, and nobody
  // is to be asked before each.
  [[nodiscard]] bool at_hand(std::uint64_t index) const { return index - base_ < at_hand_; }
  // No operation is at_hand() until that is over.
  void be_asked(bool before_each) {
    asked_ = before_each;
    see_what_is_at_hand();
  }
  // Operations below `index` are not asked for again.
  void release_before(std::uint64_t index);

 private:
  [[nodiscard]] Result<const traces::Op*> slow_at(std::uint64_t index);
  [[nodiscard]] std::span<const std::int64_t> slow_list(std::uint64_t index, const traces::Op& op) const;
  [[nodiscard]] Result<void> validate(const traces::OpBlock& block) const;
  const traces::OpBlock* block_of(std::uint64_t index) const;
  void select(const traces::OpBlock& b) {
    base_ = b.first_op;
    count_ = b.ops.size();
    front_ = b.ops.data();
    lists_ = b.lists.data();
    see_what_is_at_hand();
  }
  void see_what_is_at_hand() { at_hand_ = asked_ || blocks_.size() > 2 ? 0 : count_; }

  // What every operation needs stands first, on one cache line.
  std::uint64_t base_ = 0;  // of the selected block
  std::uint64_t count_ = 0;
  const traces::Op* front_ = nullptr;
  const std::int64_t* lists_ = nullptr;
  std::uint64_t at_hand_ = 0;  // operations from base_ on: count_, or none
  bool asked_ = false;
  traces::TraceReader* reader_ = nullptr;
  RankId rank_;
  std::uint64_t total_ = 0;
  std::vector<traces::OpBlock> blocks_;  // mostly one: an empty deque would take 576 bytes a rank
  traces::OpBlock spare_;
  std::uint64_t loaded_ = 0;  // operations loaded so far
  bool end_ = false;
  bool incomplete_ = false;  // a block was released, or could not be read
};

}  // namespace weft::replay
