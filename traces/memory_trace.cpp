#include "traces/memory_trace.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>

#include "core/files/zstd_memory.hpp"
#include "core/out_of_memory.hpp"

namespace weft::traces {
namespace {

void put_delta(std::string& out, std::int64_t d) {
  auto z = static_cast<std::uint64_t>(d) << 1 ^ static_cast<std::uint64_t>(d >> 63);
  for (; z >= 0x80; z >>= 7) out.push_back(static_cast<char>(z | 0x80));
  out.push_back(static_cast<char>(z));
}

std::int64_t get_delta(const std::string& in, std::size_t& at) {
  std::uint64_t z = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(in[at++]);
    z |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return static_cast<std::int64_t>(z >> 1) ^ -static_cast<std::int64_t>(z & 1);
}

bool consecutive(std::span<const std::uint32_t> lines) {
  return std::ranges::adjacent_find(lines, [](std::uint32_t a, std::uint32_t b) { return b != a + 1; }) ==
         lines.end();
}

constexpr int kFastLevel = 1;  // the data live as long as the process; speed counts

}  // namespace

struct MemoryTrace::Zstd {
  ZSTD_CCtx* c = ZSTD_createCCtx();
  ZSTD_DCtx* d = ZSTD_createDCtx();
  Zstd() = default;
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;
  ~Zstd() {
    ZSTD_freeCCtx(c);
    ZSTD_freeDCtx(d);
  }
};

MemoryTrace::MemoryTrace(TraceHeader header, std::uint64_t plain_bytes)
    : header_(std::move(header)),
      ranks_(header_.ranks),
      plain_bytes_(plain_bytes),
      zstd_(std::make_unique<Zstd>()) {
  keep_literals(allocated(zstd_->c), kFastLevel);
  (void)allocated(zstd_->d);
  communicators_.push_back({"world", {}});
  communicators_[0].members.resize(header_.ranks);
  for (std::uint32_t r = 0; r < header_.ranks; ++r)
    communicators_[0].members[r] = static_cast<std::int32_t>(r);
}
MemoryTrace::~MemoryTrace() = default;

std::uint32_t MemoryTrace::add_source(std::string name) {
  sources_.push_back(std::move(name));
  return static_cast<std::uint32_t>(sources_.size() - 1);
}

// The operations from `begin` on that fit into one message of trace.proto; returns where they end.
std::size_t MemoryTrace::pack(const OpBlock& block, std::size_t begin, std::span<const std::uint32_t> lines,
                              Block& b) {
  const std::size_t end = encoder_.encode(block, begin, raw_);
  packed_.resize(ZSTD_compressBound(raw_.size()));
  const std::size_t n =
      zstd_result(ZSTD_compress2(zstd_->c, packed_.data(), packed_.size(), raw_.data(), raw_.size()));
  WEFT_CHECK(ZSTD_isError(n) == 0, ZSTD_getErrorName(n));
  b.packed.assign(packed_.data(), n);
  b.raw_bytes = static_cast<std::uint32_t>(raw_.size());
  if (consecutive(lines.subspan(begin, end - begin))) return end;
  for (std::size_t i = begin + 1; i < end; ++i)
    put_delta(b.line_deltas, static_cast<std::int64_t>(lines[i]) - static_cast<std::int64_t>(lines[i - 1]));
  b.line_deltas.shrink_to_fit();
  return end;
}

void MemoryTrace::append(const OpBlock& block, std::uint32_t source,
                         const std::vector<std::uint32_t>& lines) {
  Rank& rank = ranks_.at(block.rank.index());
  const bool plain = stored_ < plain_bytes_;
  for (std::size_t at = 0; at < block.ops.size();) {
    Block b;
    std::size_t end = block.ops.size();
    if (plain) {
      b.ops.assign(block.ops.begin(), block.ops.end());
      b.lists = block.lists;
      if (!consecutive(lines)) b.lines = lines;
    } else {
      end = pack(block, at, lines, b);
    }
    b.first_op = rank.ops;
    b.count = static_cast<std::uint32_t>(end - at);
    b.source = source;
    b.first_line = lines[at];
    stored_ += b.bytes();
    rank.ops += b.count;
    rank.blocks.push_back(std::move(b));
    at = end;
  }
  for (const Op& op : block.ops) counter_.add(block.rank, op, block.list(op));
}

Result<bool> MemoryTrace::next_block(RankId rank, OpBlock& out) {
  Rank& r = ranks_.at(rank.index());
  if (r.next == r.blocks.size()) {
    out.clear();
    return false;
  }
  const Block& b = r.blocks[r.next++];
  out.rank = rank;
  out.first_op = b.first_op;
  if (!b.ops.empty()) {
    out.ops.assign(b.ops.begin(), b.ops.end());
    out.lists = b.lists;
    return true;
  }
  raw_.resize(b.raw_bytes);
  const std::size_t n =
      zstd_result(ZSTD_decompressDCtx(zstd_->d, raw_.data(), raw_.size(), b.packed.data(), b.packed.size()));
  WEFT_CHECK(n == b.raw_bytes, "a block in memory does not decompress");
  const OpLimits limits{header_.ranks, &communicators_, regions_.size()};
  auto ok = decoder_.decode(raw_, b.count, limits, KernelNumbers(), out);
  WEFT_CHECK(ok.has_value(), ok.error().message());
  return true;
}

void MemoryTrace::rewind() {
  for (Rank& r : ranks_) r.next = 0;
}

std::string MemoryTrace::position(RankId rank, std::uint64_t index) const {
  const auto& blocks = ranks_.at(rank.index()).blocks;
  auto at = std::upper_bound(blocks.begin(), blocks.end(), index,
                             [](std::uint64_t i, const Block& b) { return i < b.first_op; });
  if (at == blocks.begin()) return {};
  --at;
  std::int64_t line = at->first_line;
  const std::uint64_t k = std::min<std::uint64_t>(index - at->first_op, at->count - 1);
  if (!at->lines.empty()) {
    line = at->lines[k];
  } else if (at->line_deltas.empty()) {
    line += static_cast<std::int64_t>(k);
  } else {
    std::size_t pos = 0;
    for (std::uint64_t i = 0; i < k; ++i) line += get_delta(at->line_deltas, pos);
  }
  return fmt::format("{}:{}", sources_[at->source], line);
}

}  // namespace weft::traces
