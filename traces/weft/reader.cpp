// Reader of .weft files (trace.proto, format.hpp).
//
// Memory: the index (16 bytes per block), the definitions, one decode buffer, a window of the file; blocks are read
// when asked for, so any number of ranks can be read interleaved. A file that was cut off is an error that names
// the byte where it ends; with allow_truncated its whole blocks are read instead and a note in the header
// says what is missing.

#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/files/zstd_memory.hpp"
#include "core/out_of_memory.hpp"
#include "traces/formats.hpp"
#include "traces/send_counter.hpp"
#include "traces/trace_file.hpp"
#include "traces/weft/block_codec.hpp"
#include "traces/weft/definitions.hpp"
#include "traces/weft/format.hpp"
#include "traces/weft/trace.pb.h"
#include "traces/weft/wire.hpp"

namespace weft::traces {
namespace {

using format::FrameHeader;
using format::FrameType;

// bytes 0..15             89 "WEFT" 0d 0a 1a, u16 major, u16 minor, u32 0          read_header_frame()
// 16..                    frame kHeader: ranks, hosts, recorder, notes             read_header_frame()
//                         frames kDefinitions and kOps, mixed                      walk(), if there is no index
// index_at..              frame kIndex: definitions again, where each block is     read_index()
// last 32                 u64 index_at, u64 size of the file, u64 their XXH64, "WEFTEND\n"   open()
// A frame is 40 bytes of FrameHeader (format.hpp) and stored_bytes of zstd:          read_frame()
//   57 52 46 4d | 03 | 01 | 00 00 | b4 00 00 00 | 58 02 00 00 | 02 00 00 00 | 40 00 00 00 | 00 10 00 00 00 00 00 00 |
//   sum "WRFM"       kOps zstd  0      180 stored     600 unpacked  of rank 2     64 ops        from its operation 4096
class WeftReader final : public TraceReader {
 public:
  explicit WeftReader(TraceFile file) : file_(std::move(file)), zstd_(allocated(ZSTD_createDCtx())) {}
  ~WeftReader() override { ZSTD_freeDCtx(zstd_); }
  WeftReader(const WeftReader&) = delete;
  WeftReader& operator=(const WeftReader&) = delete;

  Result<void> open(const OpenOptions& options);

  const TraceHeader& header() const override { return header_; }
  const TraceTotals& totals() const override { return totals_; }
  const std::vector<Communicator>& communicators() const override { return definitions_.communicators(); }
  const std::vector<std::string>& regions() const override { return definitions_.regions(); }
  std::uint64_t ops_of(RankId rank) const override { return ranks_.at(rank.index()).ops; }
  Result<bool> next_block(RankId rank, OpBlock& out) override;
  bool well_formed() const override { return true; }  // the decoder sees to it
  void rewind() override {
    for (auto& r : ranks_) {
      r.next = r.begin;
      r.half_open = false;
    }
  }
  std::string position(RankId rank, std::uint64_t index) const override;

 private:
  struct Block {
    std::uint64_t offset;
    std::uint64_t first_op;
  };
  struct Rank {
    std::uint32_t begin = 0;  // of blocks_
    std::uint32_t end = 0;
    std::uint32_t next = 0;
    bool half_open = false;  // the last operation that was read is a sendrecv
    std::uint64_t ops = 0;
  };
  [[nodiscard]] OpLimits limits() const {
    return {header_.ranks, &definitions_.communicators(), definitions_.regions().size()};
  }
  [[nodiscard]] std::optional<BlockFault> halves_fault_of(Rank& r, const OpBlock& block) const;
  [[nodiscard]] std::int64_t record_of(std::uint64_t offset) const;
  // Reads and verifies the frame at `at`; its payload, decompressed, is in raw_.
  Result<FrameHeader> read_frame(std::uint64_t at, std::int64_t record);
  // Reads only the header and checks that the frame lies inside the file.
  Result<FrameHeader> read_frame_header(std::uint64_t at, std::int64_t record);
  Result<void> read_header_frame();
  Result<void> read_index(std::uint64_t at);
  Result<void> salvage(std::uint64_t end_of_use);
  // Walks frames from the start; where the first frame that is not whole begins, and how many came before it.
  struct Walk {
    std::uint64_t whole_until;
    std::uint64_t frames;
    std::uint64_t blocks;
  };
  Walk walk();

  TraceFile file_;
  ZSTD_DCtx* zstd_;
  std::string raw_;
  BlockDecoder decoder_;
  TraceHeader header_;
  TraceTotals totals_;
  Definitions definitions_;
  std::vector<Block> blocks_;
  std::vector<Rank> ranks_;
  std::uint64_t after_header_ = 0;
};

Result<FrameHeader> WeftReader::read_frame_header(std::uint64_t at, std::int64_t record) {
  FrameHeader h;
  if (at > file_.size() || file_.size() - at < sizeof h)
    return bad_input(file_.where(std::min(at, file_.size()), record), "the file ends inside a frame header",
                     fmt::format("{} bytes", file_.size() - std::min(at, file_.size())),
                     std::to_string(sizeof h));
  WEFT_ASSIGN(const std::string_view bytes, file_.view(at, sizeof h));
  std::memcpy(&h, bytes.data(), sizeof h);
  if (h.magic != format::kFrameMagic)
    return bad_input(file_.where(at, record), "no frame begins here", fmt::format("{:#010x}", h.magic),
                     fmt::format("{:#010x}", format::kFrameMagic));
  const std::int64_t rank = h.rank == format::kNoRank ? -1 : static_cast<std::int64_t>(h.rank);
  if (h.stored_bytes > file_.size() - at - sizeof h)
    return bad_input(file_.where(at, record, rank), "the frame is longer than the file",
                     fmt::format("{} bytes", h.stored_bytes),
                     fmt::format("at most {}", file_.size() - at - sizeof h));
  const bool ops = h.type == static_cast<std::uint8_t>(FrameType::kOps);
  const std::uint64_t limit = ops ? format::most_block_bytes(h.stored_bytes, header_.ranks,
                                                             std::min<std::uint64_t>(h.ops, kMaxBlockOps))
                                  : format::most_meta_bytes(file_.size());
  if (h.raw_bytes > limit)
    return bad_input(file_.where(at, record, rank),
                     "the frame claims to unpack to more than a frame may hold",
                     fmt::format("{} bytes", h.raw_bytes), fmt::format("at most {}", limit));
  return h;
}

Result<FrameHeader> WeftReader::read_frame(std::uint64_t at, std::int64_t record) {
  WEFT_ASSIGN(const FrameHeader h, read_frame_header(at, record));
  const std::int64_t rank = h.rank == format::kNoRank ? -1 : static_cast<std::int64_t>(h.rank);
  const auto corrupt = [&](std::string what, std::string got = {}, std::string expected = {}) {
    return bad_input(file_.where(at, record, rank), std::move(what), std::move(got), std::move(expected));
  };
  WEFT_ASSIGN(const std::string_view packed, file_.view(at + sizeof h, h.stored_bytes));
  const std::uint64_t sum = format::frame_checksum(h, packed);
  if (sum != h.checksum)
    return corrupt("the checksum of the frame does not match: the file is damaged",
                   fmt::format("{:016x}", h.checksum), fmt::format("{:016x}", sum));
  if (h.compression != 1)
    return Error{ErrorCode::kNotSupported, file_.where(at, record, rank), "unknown compression method",
                 std::to_string(h.compression), "1 (zstd)"};
  const unsigned long long content = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (content != h.raw_bytes)
    return corrupt("the frame's length contradicts its compressed content",
                   fmt::format("{} bytes", h.raw_bytes),
                   content >= ZSTD_CONTENTSIZE_ERROR - 1 ? "a zstd frame that states its size"
                                                         : std::to_string(content));
  raw_.resize(h.raw_bytes);
  const std::size_t n =
      zstd_result(ZSTD_decompressDCtx(zstd_, raw_.data(), raw_.size(), packed.data(), packed.size()));
  if (ZSTD_isError(n) != 0 || n != h.raw_bytes) return corrupt("the frame does not decompress");
  return h;
}

Result<void> WeftReader::read_header_frame() {
  if (file_.size() < format::kFileHeaderBytes)
    return bad_input(file_.where(file_.size()), "the file is too short for a .weft trace",
                     fmt::format("{} bytes", file_.size()),
                     fmt::format("at least {}", format::kFileHeaderBytes));
  WEFT_ASSIGN(const std::string_view start, file_.view(0, format::kFileHeaderBytes));
  if (!start.starts_with(format::kMagic)) {
    std::string got;
    for (std::size_t i = 0; i < format::kMagic.size(); ++i)
      got += fmt::format("{}{:02x}", i == 0 ? "" : " ", static_cast<unsigned char>(start[i]));
    return bad_input(file_.where(0), "not a .weft trace: wrong first bytes", got, "89 57 45 46 54 0d 0a 1a");
  }
  std::uint16_t major = 0;
  std::memcpy(&major, start.data() + 8, 2);
  if (major != format::kMajor)
    return Error{ErrorCode::kNotSupported, file_.where(8),
                 "the trace has another major version of the format", std::to_string(major),
                 std::to_string(format::kMajor)};
  WEFT_ASSIGN(const FrameHeader h, read_frame(format::kFileHeaderBytes, 0));
  if (h.type != static_cast<std::uint8_t>(FrameType::kHeader))
    return bad_input(file_.where(format::kFileHeaderBytes, 0), "the first frame is not a header");
  auto decoded = decode_header(raw_);
  if (!decoded) {
    decoded.error().where = file_.where(format::kFileHeaderBytes, 0);
    return std::move(decoded).error();
  }
  header_ = std::move(decoded).value();
  const std::uint64_t most = format::most_ranks(file_.size());
  if (header_.ranks > most)
    return bad_input(file_.where(format::kFileHeaderBytes, 0), "the file is too small for so many ranks",
                     fmt::format("{} ranks", header_.ranks), fmt::format("at most {}", most));
  after_header_ = format::kFileHeaderBytes + sizeof h + h.stored_bytes;
  definitions_ = Definitions(header_.ranks, file_.size());
  return {};
}

Result<void> WeftReader::read_index(std::uint64_t at) {
  WEFT_ASSIGN(const FrameHeader h, read_frame(at, -1));
  pb::Index m;
  const auto damaged = [&](std::string what) {
    return bad_input(file_.where(at), "index: " + std::move(what));
  };
  if (h.type != static_cast<std::uint8_t>(FrameType::kIndex))
    return damaged("the trailer does not point to one");
  // A block is a frame of the file: what the index lists is counted before it is made.
  std::uint64_t ranks = 0, blocks = 0;
  WireScanner scan(raw_);
  while (scan.next()) {
    if (scan.field() == pb::Index::kBlocksOfRankFieldNumber) ranks += scan.varints();
    if (scan.field() == pb::Index::kBlockOpsFieldNumber) blocks += scan.varints();
    if (scan.field() == pb::Index::kOffsetDeltaFieldNumber) blocks += scan.varints();
  }
  if (!scan.ok()) return damaged("the trailer does not point to one");
  if (ranks > header_.ranks || blocks / 2 > file_.size() / sizeof(FrameHeader))
    return damaged("it lists more blocks than the file has room for");
  if (!m.ParseFromString(raw_)) return damaged("the trailer does not point to one");
  if (auto r = definitions_.add(m.definitions()); !r) {
    r.error().where = file_.where(at);
    return std::move(r).error();
  }
  if (static_cast<std::uint32_t>(m.blocks_of_rank_size()) != header_.ranks ||
      m.offset_delta_size() != m.block_ops_size())
    return damaged("its columns differ in length");
  std::uint64_t total = 0;
  for (const std::uint32_t n : m.blocks_of_rank()) total += n;
  if (total != static_cast<std::uint64_t>(m.block_ops_size())) return damaged("its columns differ in length");
  blocks_.reserve(total);
  ranks_.resize(header_.ranks);
  // Two ranks with blocks {64 ops at byte 0x100, 10 at 0x300} and {70 at 0x200}:
  //   blocks_of_rank 2 1, block_ops 64 10 70, offset_delta 0x100 +0x200 -0x100
  std::uint64_t offset = 0;
  int next = 0;
  for (std::uint32_t r = 0; r < header_.ranks; ++r) {
    Rank& rank = ranks_[r];
    rank.begin = rank.next = static_cast<std::uint32_t>(next);
    for (std::uint32_t i = 0; i < m.blocks_of_rank(static_cast<int>(r)); ++i, ++next) {
      offset += static_cast<std::uint64_t>(m.offset_delta(next));
      if (offset < after_header_ || offset >= at)
        return bad_input(file_.where(at), "index: a block lies outside the file",
                         fmt::format("byte {:#x}", offset),
                         fmt::format("{:#x} to {:#x}", after_header_, at - 1));
      if (m.block_ops(next) == 0 || m.block_ops(next) > kMaxBlockOps)
        return damaged("a block's size is out of range");
      blocks_.push_back({offset, rank.ops});
      rank.ops += m.block_ops(next);
    }
    rank.end = static_cast<std::uint32_t>(next);
    totals_.ops += rank.ops;
  }
  if (totals_.ops != m.ops()) return damaged("its number of operations is not the sum of its blocks");
  totals_.messages = m.messages();
  totals_.bytes = m.bytes();
  return {};
}

WeftReader::Walk WeftReader::walk() {
  Walk w{after_header_, 1, 0};
  while (w.whole_until < file_.size()) {
    const auto h = read_frame(w.whole_until, static_cast<std::int64_t>(w.frames));
    if (!h || h->type == static_cast<std::uint8_t>(FrameType::kIndex)) break;
    w.whole_until += sizeof(FrameHeader) + h->stored_bytes;
    ++w.frames;
    w.blocks += h->type == static_cast<std::uint8_t>(FrameType::kOps);
  }
  return w;
}

Result<void> WeftReader::salvage(std::uint64_t end_of_use) {
  struct Found {
    std::uint32_t rank;
    Block block;
    std::uint32_t ops;
  };
  std::vector<Found> found;
  ranks_.resize(header_.ranks);
  OpBlock block;
  SendCounter counter;
  std::uint64_t record = 1;
  for (std::uint64_t at = after_header_; at < end_of_use; ++record) {
    WEFT_ASSIGN(const FrameHeader h, read_frame(at, static_cast<std::int64_t>(record)));
    const auto bad = [&](const Error& e) {
      Error out = e;
      out.where = file_.where(at, static_cast<std::int64_t>(record));
      return out;
    };
    if (h.type == static_cast<std::uint8_t>(FrameType::kDefinitions)) {
      if (auto r = definitions_.add(raw_); !r) return bad(r.error());
    } else if (h.type == static_cast<std::uint8_t>(FrameType::kOps)) {
      if (h.rank >= header_.ranks || h.first_op != ranks_[h.rank].ops)
        return bad(bad_input({}, "the block does not continue its rank's program"));
      if (auto r = decoder_.decode(raw_, h.ops, limits(), definitions_.kernels(), block); !r)
        return bad(r.error());
      found.push_back({h.rank, {at, h.first_op}, h.ops});
      ranks_[h.rank].ops += h.ops;
      for (const Op& op : block.ops) counter.add(RankId(h.rank), op, block.list(op));
    }
    at += sizeof(FrameHeader) + h.stored_bytes;
  }
  totals_ = counter.totals();
  std::ranges::stable_sort(found, {}, &Found::rank);
  for (const Found& f : found) blocks_.push_back(f.block);
  std::uint32_t next = 0;
  for (std::uint32_t r = 0; r < header_.ranks; ++r) {
    ranks_[r].begin = ranks_[r].next = next;
    while (next < found.size() && found[next].rank == r) ++next;
    ranks_[r].end = next;
  }
  return {};
}

Result<void> WeftReader::open(const OpenOptions& options) {
  WEFT_TRY(read_header_frame());
  std::uint64_t index_at = 0;
  bool whole = false;
  if (file_.size() >= after_header_ + format::kTrailerBytes) {
    WEFT_ASSIGN(const std::string_view bytes,
                file_.view(file_.size() - format::kTrailerBytes, format::kTrailerBytes));
    const char* const t = bytes.data();
    std::uint64_t size = 0;
    std::uint64_t sum = 0;
    // The trailer: where the index is, how long the file is, the checksum of these two, "WEFTEND\n".
    std::memcpy(&index_at, t, 8);
    std::memcpy(&size, t + 8, 8);
    std::memcpy(&sum, t + 16, 8);
    whole = std::string_view(t + 24, 8) == format::kTrailerMagic && sum == XXH64(t, 16, 0) &&
            size == file_.size();
  }
  if (whole) {
    auto r = read_index(index_at);
    if (r || !options.allow_truncated) return r;
    blocks_.clear();
    ranks_.clear();
    totals_ = {};
    definitions_ = Definitions(header_.ranks, file_.size());
  }
  const Walk w = walk();
  const std::string lost = fmt::format("{} whole blocks end at byte {:#x}, the file at {:#x}", w.blocks,
                                       w.whole_until, file_.size());
  if (!options.allow_truncated)
    return bad_input(file_.where(w.whole_until, static_cast<std::int64_t>(w.frames)),
                     "the trace is cut off or damaged at its end", lost,
                     "an index and a trailer; --salvage reads the whole blocks");
  WEFT_TRY(salvage(w.whole_until));
  header_.notes.push_back("Salvaged from a file without an index: " + lost + ".");
  return {};
}

Result<bool> WeftReader::next_block(RankId rank, OpBlock& out) {
  WEFT_CHECK(rank.index() < ranks_.size(), "next_block: rank out of range");
  Rank& r = ranks_[rank.index()];
  if (r.next == r.end) {
    out.clear();
    return false;
  }
  const Block& b = blocks_[r.next];
  const std::uint64_t end = r.next + 1 < r.end ? blocks_[r.next + 1].first_op : r.ops;
  auto h = read_frame(b.offset, -1);
  Error e;
  if (!h) {
    e = h.error();
  } else if (h->type != static_cast<std::uint8_t>(FrameType::kOps) || h->rank != rank.index() ||
             h->first_op != b.first_op || h->ops != end - b.first_op) {
    const auto text = [](std::uint64_t n, std::uint32_t of, std::uint64_t from) {
      return fmt::format("{} operations of rank {} from {}", n, of, from);
    };
    e = bad_input({}, "the index points to another block than this one", text(h->ops, h->rank, h->first_op),
                  text(end - b.first_op, rank.index(), b.first_op));
  } else {
    out.rank = rank;
    out.first_op = b.first_op;
    auto r2 = decoder_.decode(raw_, h->ops, limits(), definitions_.kernels(), out);
    if (r2) {
      ++r.next;
      const auto lone = halves_fault_of(r, out);
      if (!lone) return true;
      out.clear();
      return bad_input(position(rank, lone->op), lone->what);
    }
    e = std::move(r2).error();
  }
  out.clear();
  e.where = file_.where(b.offset, record_of(b.offset), rank.index());
  return e;
}

// After `block`, the one before r.next, was decoded.
std::optional<BlockFault> WeftReader::halves_fault_of(Rank& r, const OpBlock& block) const {
  if (!decoder_.has_halves() && !r.half_open) return std::nullopt;
  if (auto fault = halves_fault(block, r.half_open)) return fault;
  if (r.half_open && r.next == r.end) return lone_sendrecv(block.first_op + block.ops.size() - 1);
  return std::nullopt;
}

std::int64_t WeftReader::record_of(std::uint64_t offset) const {
  // Frames before it: the header, then blocks in file order (definition frames are not counted).
  return 1 + std::ranges::count_if(blocks_, [=](const Block& b) { return b.offset < offset; });
}

std::string WeftReader::position(RankId rank, std::uint64_t index) const {
  const Rank& r = ranks_.at(rank.index());
  const auto begin = blocks_.begin() + r.begin;
  const auto end = blocks_.begin() + r.end;
  auto at =
      std::upper_bound(begin, end, index, [](std::uint64_t i, const Block& b) { return i < b.first_op; });
  if (at == begin) return file_.path();
  --at;
  return fmt::format("{}, operation {}", file_.where(at->offset, record_of(at->offset), rank.index()), index);
}

}  // namespace

bool sniff_weft(const std::string& /*path*/, std::string_view first) {
  return first.starts_with(format::kMagic.substr(0, 5));
}

std::vector<std::string> files_weft(const std::vector<std::string>& /*paths*/) { return {}; }

Result<std::unique_ptr<TraceReader>> open_weft(const std::vector<std::string>& paths,
                                               const OpenOptions& options) {
  if (paths.size() > 1)
    return usage_error("a .weft trace is one file", fmt::format("{} paths", paths.size()));
  WEFT_ASSIGN(TraceFile file, TraceFile::open(paths[0], "a .weft file"));
  auto reader = std::make_unique<WeftReader>(std::move(file));
  WEFT_TRY(reader->open(options));
  return std::unique_ptr<TraceReader>(std::move(reader));
}

}  // namespace weft::traces
