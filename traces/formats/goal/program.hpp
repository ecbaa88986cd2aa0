// The program of one rank while it is made: operations and their lines, handed to a MemoryTrace block by block, or all at once.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
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
    if (block_.ops.empty()) return;
    if (held_back_)
      held_.emplace_back(std::move(block_), std::move(lines_));
    else
      out_.append(block_, source_, lines_);
    block_.clear();
    lines_.clear();
  }
  // From here on nothing is handed over before hand_over(), or all of it is thrown away.
  void hold_back() { held_back_ = true; }
  void hand_over() {
    held_back_ = false;
    for (const auto& [block, lines] : held_) out_.append(block, source_, lines);
    held_.clear();
  }
  void throw_away() {
    held_back_ = false;
    held_.clear();
    block_.clear();
    lines_.clear();
  }

 private:
  static constexpr std::size_t kBlockListValues = 1u << 17;
  MemoryTrace& out_;
  std::size_t block_ops_;
  std::uint32_t source_;
  bool held_back_ = false;
  std::vector<std::pair<OpBlock, std::vector<std::uint32_t>>> held_;
  OpBlock block_;
  std::vector<std::uint32_t> lines_;
};

}  // namespace weft::traces::goal
