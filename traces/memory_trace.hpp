// A trace held in memory: what a text reader makes, so that a text trace replays without a conversion. The first blocks are held
// as they are, 32 bytes an operation, up to kPlainBytes of them; those after, of a trace that large, in their compact form, as messages
// of trace.proto, lightly compressed: about 3 bytes an operation for HPL. To pack and unpack an operation costs some 300 instructions, a
// third of reading it from text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "traces/send_counter.hpp"
#include "traces/trace.hpp"
#include "traces/weft/block_codec.hpp"

namespace weft::traces {

class MemoryTrace final : public TraceReader {
 public:
  static constexpr std::uint64_t kPlainBytes = std::uint64_t{64} << 20;

  // `header.ranks` must be final.
  explicit MemoryTrace(TraceHeader header, std::uint64_t plain_bytes = kPlainBytes);
  ~MemoryTrace() override;
  MemoryTrace(const MemoryTrace&) = delete;
  MemoryTrace& operator=(const MemoryTrace&) = delete;

  // --- building ---
  // All of them, the world first; before there are operations.
  void set_communicators(std::vector<Communicator> all) { communicators_ = std::move(all); }
  // Names a source for position(); returns its number.
  std::uint32_t add_source(std::string name);
  // Appends operations of block.rank. lines[i] = the line of ops[i] in `source`. Precondition: operations are
  // well formed (op_rules.hpp), at most kMaxBlockOps.
  void append(const OpBlock& block, std::uint32_t source, const std::vector<std::uint32_t>& lines);
  void add_communicator(Communicator c) { communicators_.push_back(std::move(c)); }
  // The number of ranks stays as it is.
  [[nodiscard]] TraceHeader& building_header() { return header_; }
  void add_note(std::string note) { header_.notes.push_back(std::move(note)); }
  void add_warning(std::string warning) { header_.warnings.push_back(std::move(warning)); }

  // --- reading ---
  const TraceHeader& header() const override { return header_; }
  const TraceTotals& totals() const override { return counter_.totals(); }
  const std::vector<Communicator>& communicators() const override { return communicators_; }
  const std::vector<std::string>& regions() const override { return regions_; }
  std::uint64_t ops_of(RankId rank) const override { return ranks_.at(rank.index()).ops; }
  Result<bool> next_block(RankId rank, OpBlock& out) override;
  bool well_formed() const override { return true; }  // who appends sees to it
  void rewind() override;
  std::string position(RankId rank, std::uint64_t index) const override;
  // Bytes of the stored blocks.
  [[nodiscard]] std::uint64_t stored_bytes() const { return stored_; }

 private:
  struct Block {
    // As it is: operations, the pool of their lists (OpBlock::lists), their lines unless each is one further than the one before.
    std::vector<Op> ops;
    std::vector<std::int64_t> lists;
    std::vector<std::uint32_t> lines;
    // Packed, if there are none: zstd of an OpBlock message; LEB128 zigzag deltas between the lines of consecutive operations, none
    // if all are 1.
    std::string packed, line_deltas;
    std::uint64_t first_op = 0;
    std::uint32_t raw_bytes = 0;
    std::uint32_t count = 0;  // operations
    std::uint32_t source = 0;
    std::uint32_t first_line = 0;
    [[nodiscard]] std::uint64_t bytes() const {
      return ops.size() * sizeof(Op) + lists.size() * sizeof(std::int64_t) +
             lines.size() * sizeof(std::uint32_t) + packed.size() + line_deltas.size();
    }
  };
  struct Rank {
    std::vector<Block> blocks;
    std::size_t next = 0;
    std::uint64_t ops = 0;
  };
  struct Zstd;
  std::size_t pack(const OpBlock& block, std::size_t begin, std::span<const std::uint32_t> lines, Block& b);
  TraceHeader header_;
  SendCounter counter_;
  std::vector<Communicator> communicators_;
  std::vector<std::string> regions_;
  std::vector<std::string> sources_;
  std::vector<Rank> ranks_;
  std::uint64_t plain_bytes_;
  std::uint64_t stored_ = 0;
  BlockEncoder encoder_;
  BlockDecoder decoder_;
  std::string raw_;
  std::string packed_;
  std::unique_ptr<Zstd> zstd_;
};

}  // namespace weft::traces
