// OpBlock <-> the serialized OpBlock message of trace.proto. Used by the .weft writer and reader and by the
// compact in-memory trace of the text readers.
//
// Cost (recorded HPL, 420,000 operations with 2.2 values in columns each): 60 instructions an operation to decode, zstd
// apart. No allocation once warm, but for lists.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "traces/op_rules.hpp"
#include "traces/weft/kernel_numbers.hpp"

namespace weft::traces {

class BlockEncoder {
 public:
  BlockEncoder();
  ~BlockEncoder();
  BlockEncoder(BlockEncoder&&) noexcept;
  BlockEncoder& operator=(BlockEncoder&&) noexcept;
  // Encodes operations [begin, end') of `block` into `out` (replaced) and returns end': fewer than all of
  // them, or than `most`, when the rest needs more than 256 groups or would pass the size limit of a block.
  // Precondition: begin < ops.size(), most > 0. Deterministic. The field `reserved` is not stored.
  [[nodiscard]] std::size_t encode(const OpBlock& block, std::size_t begin, std::string& out,
                                   std::size_t most = kMaxBlockOps);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class BlockDecoder {
 public:
  BlockDecoder();
  ~BlockDecoder();
  BlockDecoder(BlockDecoder&&) noexcept;
  BlockDecoder& operator=(BlockDecoder&&) noexcept;
  // Decodes `raw` into out.ops and out.lists (out.rank and out.first_op are the caller's). Checks everything
  // that a replay relies on: one operation at least, column lengths, ranks, communicators, regions, kernels and lists
  // in range (op_rules.hpp). Memory is bounded before anything is built: 256 groups, kMaxBlockOps values a column, and
  // as many list values as a block has room for at their longest. Kernels come out as numbers of this version. Rows that
  // `out` has are written over; after an error it holds nothing that means anything.
  // Errors: kBadInput, or kNotSupported for a kind or a kernel of a newer version; `where` is left empty for the
  // caller.
  [[nodiscard]] Result<void> decode(std::string_view raw, std::uint32_t ops, const OpLimits& limits,
                                    const KernelNumbers& kernels, OpBlock& out);
  // Whether the block that was decoded last may have halves of sendrecvs; what decode() leaves to those who know the
  // blocks before and after it.
  [[nodiscard]] bool has_halves() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::traces
