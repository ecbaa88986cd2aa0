// The program of one rank while it is made: operations and their lines, handed to a MemoryTrace block by block.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/memory_trace.hpp"

namespace weft::traces::goal {

class Program {
 public:
  Program(MemoryTrace& out, RankId rank, std::uint32_t source)
      : out_(out), block_ops_(block_ops_for(out.header().ranks)), source_(source) {
    block_.rank = rank;
  }
  void add(const Op& op, std::uint32_t line) {
    block_.ops.push_back(op);
    lines_.push_back(line);
    if (block_.ops.size() >= block_ops_) flush();
  }
  void add(Op op, std::span<const std::int64_t> list, std::uint32_t line) {
    op.extra = block_.add_list(list);
    add(op, line);
    // Long lists end a block early.
    if (block_.lists.size() >= kBlockListValues) flush();
  }
  void flush() {
    if (!block_.ops.empty()) out_.append(block_, source_, lines_);
    block_.clear();
    lines_.clear();
  }

 private:
  static constexpr std::size_t kBlockListValues = 1u << 17;
  MemoryTrace& out_;
  std::size_t block_ops_;
  std::uint32_t source_;
  OpBlock block_;
  std::vector<std::uint32_t> lines_;
};

}  // namespace weft::traces::goal
