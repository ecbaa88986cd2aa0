#include "replay/program_cursor.hpp"

#include <fmt/format.h>

namespace weft::replay {

using traces::Op;
using traces::OpBlock;
using traces::OpKind;

std::span<const std::int64_t> ProgramCursor::list(std::uint64_t index, const Op& op) const {
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
  while (!blocks_.empty() && blocks_.front().first_op + blocks_.front().ops.size() <= index) {
    if (front_ == blocks_.front().ops.data()) count_ = 0;
    spare_ = std::move(blocks_.front());
    blocks_.pop_front();
  }
}

Result<const Op*> ProgramCursor::slow_at(std::uint64_t index) {
  while (true) {
    if (const OpBlock* b = block_of(index)) {
      select(*b);
      return front_ + (index - base_);
    }
    if (end_) return nullptr;
    spare_.clear();
    WEFT_ASSIGN(const bool more, reader_->next_block(rank_, spare_));
    if (!more) {
      end_ = true;
      if (loaded_ != total_)
        return bad_input(reader_->position(rank_, loaded_), "rank ends early",
                         fmt::format("{} operations", loaded_), fmt::format("{}", total_));
      continue;
    }
    WEFT_TRY(validate(spare_));
    loaded_ += spare_.ops.size();
    blocks_.push_back(std::move(spare_));
    spare_ = OpBlock();
  }
}

Result<void> ProgramCursor::validate(const OpBlock& block) const {
  const auto ranks = static_cast<std::int64_t>(reader_->header().ranks);
  const std::size_t comms = reader_->communicators().size();
  std::uint64_t index = block.first_op;
  const auto fail = [&](std::string_view what, std::string got, std::string expected) {
    return bad_input(reader_->position(rank_, index), fmt::format("rank {}: {}", rank_.index(), what),
                     std::move(got), std::move(expected));
  };
  if (block.first_op != loaded_)
    return fail("operations are missing", std::to_string(block.first_op), std::to_string(loaded_));
  for (const Op& op : block.ops) {
    const OpKind k = op.kind;
    if (k <= OpKind::sleep) {
      if (k == OpKind::compute_time || k == OpKind::sleep) {
        if (op.amount < 0) return fail("negative duration", std::to_string(op.amount), "picoseconds >= 0");
      } else if (!(op.flops() >= 0) || !(op.flops() < 1e300)) {
        return fail("computation is not a finite number", fmt::format("{}", op.flops()), "flops >= 0");
      }
      ++index;
      continue;
    }
    if (op.comm.index() >= comms)
      return fail("unknown communicator", std::to_string(op.comm.index()),
                  fmt::format("a number below {}", comms));
    const bool names_peer =
        k <= OpKind::recv_init || (traces::is_collective(k)) || (k >= OpKind::probe && k <= OpKind::improbe);
    if (names_peer && (op.peer >= ranks || op.peer < traces::kProcNull))
      return fail("peer out of range", std::to_string(op.peer),
                  fmt::format("a rank from 0 to {}", ranks - 1));
    const bool has_bytes = k <= OpKind::recv_init || traces::is_collective(k);
    if (has_bytes && op.amount < 0) return fail("negative size", std::to_string(op.amount), "bytes >= 0");
    if (op.request != traces::kNoRequest && op.request >= kMaxRequests)
      return fail("request number out of range", std::to_string(op.request),
                  fmt::format("below {}", kMaxRequests));
    if (op.extra != traces::kNoList) {
      if (op.extra >= block.lists.size() || block.lists[op.extra] < 0 ||
          static_cast<std::uint64_t>(block.lists[op.extra]) > block.lists.size() - op.extra - 1)
        return fail("list out of range", std::to_string(op.extra), "a list inside the block");
      if (k == OpKind::startall || (k >= OpKind::waitall && k <= OpKind::waitsome) ||
          (k >= OpKind::testall && k <= OpKind::testsome)) {
        for (std::int64_t v : block.list(op))
          if (v < 0 || v >= static_cast<std::int64_t>(kMaxRequests))
            return fail("request number out of range", std::to_string(v),
                        fmt::format("below {}", kMaxRequests));
      }
    }
    ++index;
  }
  return {};
}

}  // namespace weft::replay
