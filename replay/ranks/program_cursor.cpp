#include "replay/ranks/program_cursor.hpp"

#include <fmt/format.h>

#include <utility>

#include "traces/op_rules.hpp"

namespace weft::replay {

using traces::Op;
using traces::OpBlock;

std::span<const std::int64_t> ProgramCursor::slow_list(std::uint64_t index, const Op& op) const {
  const OpBlock* b = block_of(index);
  WEFT_CHECK(b != nullptr, "list of an operation that is not in memory");
  return b->list(op);
}

const OpBlock* ProgramCursor::block_of(std::uint64_t index) const {
  for (const OpBlock& b : blocks_)
    if (index - b.first_op < b.ops.size()) return &b;
  return nullptr;
}

void ProgramCursor::release_before(std::uint64_t index) {
  std::size_t past = 0;
  for (; past < blocks_.size() && blocks_[past].first_op + blocks_[past].ops.size() <= index; ++past) {
    if (front_ == blocks_[past].ops.data()) count_ = 0;
    spare_ = std::move(blocks_[past]);
  }
  incomplete_ |= past > 0;
  blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(past));
  see_what_is_at_hand();
}

Result<const Op*> ProgramCursor::slow_at(std::uint64_t index) {
  while (true) {
    if (const OpBlock* b = block_of(index)) {
      select(*b);
      return front_ + (index - base_);
    }
    if (end_) return nullptr;
    const bool was_incomplete = std::exchange(incomplete_, true);  // until it is read
    spare_.clear();
    WEFT_ASSIGN(const bool more, reader_->next_block(rank_, spare_));
    if (!more) {
      end_ = true;
      if (total_ == traces::kUnknownOps) total_ = loaded_;
      if (loaded_ != total_)
        return bad_input(reader_->position(rank_, loaded_), "rank ends early",
                         fmt::format("{} operations", loaded_), fmt::format("{}", total_));
      incomplete_ = was_incomplete;
      continue;
    }
    WEFT_TRY(validate(spare_));
    incomplete_ = was_incomplete;
    loaded_ += spare_.ops.size();
    blocks_.push_back(std::move(spare_));
    spare_ = OpBlock();
    see_what_is_at_hand();
  }
}

Result<void> ProgramCursor::validate(const OpBlock& block) const {
  const auto fail = [&](std::uint64_t index, std::string_view what) {
    return bad_input(reader_->position(rank_, index),
                     fmt::format("rank {}, operation {}: {}", rank_.index(), index, what));
  };
  if (block.first_op != loaded_)
    return fail(block.first_op, fmt::format("operations are missing after {}", loaded_));
#ifdef NDEBUG
  if (reader_->well_formed()) return {};
#endif
  const auto fault = traces::block_fault(
      block, {reader_->header().ranks, &reader_->communicators(), reader_->regions().size()});
  if (fault) return fail(fault->op, fault->what);
  return {};
}

}  // namespace weft::replay
