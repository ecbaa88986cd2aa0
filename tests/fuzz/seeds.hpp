// Small valid inputs of the trace readers: what mutations and libFuzzer start from.
#pragma once

#include <xxhash.h>
#include <zstd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/files.hpp"
#include "traces/trace.hpp"
#include "traces/weft/block_codec.hpp"
#include "traces/weft/format.hpp"
#include "traces/weft/writer.hpp"

namespace weft::traces {

// A literal with its zeros.
template <std::size_t N>
[[nodiscard]] constexpr std::string_view bytes_of(const char (&s)[N]) {
  return {s, N - 1};
}

// Checksums stop nearly every mutation of a .weft file at once, so what stands inside the frames is reached
// from here: a file whose one frame of `type` holds `message`, everything around it correct.
inline std::string weft_around(format::FrameType type, std::string_view message, std::uint32_t ops) {
  using format::FrameType;
  std::string file(format::kMagic);
  file += std::string("\x01\0\0\0\0\0\0\0", 8);
  const auto add = [&file](FrameType t, std::string_view raw, std::uint32_t rank, std::uint32_t n) {
    std::string packed(ZSTD_compressBound(raw.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), raw.data(), raw.size(), 1));
    format::FrameHeader h;
    h.type = static_cast<std::uint8_t>(t);
    h.stored_bytes = static_cast<std::uint32_t>(packed.size());
    h.raw_bytes = static_cast<std::uint32_t>(raw.size());
    h.rank = rank;
    h.ops = n;
    const std::uint64_t seed = XXH64(&h, format::kChecksummedHeaderBytes, 0);
    h.checksum = XXH64(packed.data(), packed.size(), seed);
    file.append(reinterpret_cast<const char*>(&h), sizeof h);
    file += packed;
  };
  add(FrameType::kHeader, type == FrameType::kHeader ? message : "\x08\x03", format::kNoRank, 0);  // 3 ranks
  // A communicator {0, 1} and a region, so that ids other than 0 mean something.
  add(FrameType::kDefinitions,
      type == FrameType::kDefinitions
          ? message
          : bytes_of("\x08\x01\x12\x0c\x0a\x01p\x12\x01\0\x1a\x01\x02\x22\x01\x02\x22\x01r"),
      format::kNoRank, 0);
  if (type == FrameType::kOps)
    for (std::uint32_t rank = 0; rank < 3; ++rank) add(FrameType::kOps, message, rank, ops);
  if (type == FrameType::kIndex) {
    const std::uint64_t at = file.size();
    add(FrameType::kIndex, message, format::kNoRank, 0);
    const std::uint64_t size = file.size() + format::kTrailerBytes;
    file.append(reinterpret_cast<const char*>(&at), 8);
    file.append(reinterpret_cast<const char*>(&size), 8);
    const std::uint64_t sum = XXH64(file.data() + file.size() - 16, 16, 0);
    file.append(reinterpret_cast<const char*>(&sum), 8);
    file += format::kTrailerMagic;
  }
  return file;
}

inline const std::string& ti_seed() {
  static const std::string text =
      "0 init\n1 init\n0 send 1 5 8 0\n1 recv 0 5 8 0\n0 irecv 1 6 5e1 1\n1 isend 0 6 50 1\n0 wait 1 0 6\n1 "
      "waitall\n"
      "0 alltoallv 3 1 2 3 1 2\n1 alltoallv 3 2 1 3 2 1\n0 allreduce 4 1e3\n1 allreduce 4 1e3\n0 bcast 3 1 "
      "6\n"
      "1 bcast 3 1 6\n0 gatherv 3 3 5 0\n1 gatherv 5 3 5 0\n0 reducescatter 3 5 7\n1 reducescatter 3 5 7\n"
      "0 sendRecv 3 1 4 1\n1 sendRecv 4 0 3 0\n0 sleep 0.5\n0 compute 1.5e9\n0 finalize\n1 finalize\n";
  return text;
}

// A block that names every kind of operation with well-formed lists, for a world of 3 ranks.
inline OpBlock block_seed() {
  OpBlock b;
  b.rank = RankId(0);
  const auto with = [&b](Op op, std::vector<std::int64_t> list) {
    op.extra = b.add_list(list);
    return op;
  };
  b.ops = {{.kind = OpKind::init},
           {.kind = OpKind::send, .peer = 1, .tag = 5, .amount = 800},
           {.kind = OpKind::isend, .comm = CommId(1), .peer = 1, .tag = 6, .amount = 80, .request = 2},
           {.kind = OpKind::irecv, .peer = kAnySource, .tag = kAnyTag, .amount = 80, .request = 3},
           {.kind = OpKind::wait, .peer = 1, .tag = 6, .amount = 80, .request = 3},
           {.kind = OpKind::recv_init, .peer = 2, .tag = 4, .amount = 8, .request = 0},
           {.kind = OpKind::compute_flops, .amount = std::bit_cast<std::int64_t>(1.25)},
           {.kind = OpKind::compute_time, .amount = 1000},
           {.kind = OpKind::bcast, .peer = 1, .amount = 64},
           {.kind = OpKind::ibarrier, .comm = CommId(1), .peer = kAnySource, .request = 1},
           {.kind = OpKind::comm_dup, .amount = 1},
           {.kind = OpKind::region_begin, .amount = 0}};
  b.ops.push_back(with({.kind = OpKind::waitall}, {1, 2}));
  b.ops.push_back(with({.kind = OpKind::waitany}, {2, 0, 1, 1}));
  b.ops.push_back(
      with({.kind = OpKind::iprobe, .flags = kHit, .peer = 1, .tag = 5, .amount = 2}, {0, 1, 1, 5, 8}));
  b.ops.push_back(with({.kind = OpKind::iprobe, .peer = 1, .tag = 5, .amount = 2}, {2}));
  b.ops.push_back(with({.kind = OpKind::alltoallv, .peer = kAnySource, .amount = 6}, {3, 1, 2, 3, 1, 2, 3}));
  b.ops.push_back(with({.kind = OpKind::allgatherv, .peer = kAnySource, .amount = 2}, {2, 3, 4}));
  b.ops.push_back(with({.kind = OpKind::neighbor_alltoallv, .peer = kAnySource}, {1, 1, 1, 2, 7, 8}));
  b.ops.push_back(with({.kind = OpKind::recv, .peer = kAnySource, .tag = kAnyTag, .amount = 9}, {1, 5, 9}));
  return b;
}
inline std::string block_message_seed() {
  std::string out;
  (void)BlockEncoder().encode(block_seed(), 0, out);
  return out;
}
inline constexpr std::string_view kHeaderMessageSeed = bytes_of(
    "\x08\x03\x12\x01"
    "a\x12\x01"
    "b\x12\x01"
    "c\x1a\x01w\x38\x05\x42\x01n");
inline constexpr std::string_view kDefinitionsMessageSeed =
    bytes_of("\x08\x01\x12\x0c\x0a\x01p\x12\x01\0\x1a\x01\x02\x22\x01\x02\x12\x05\x0a\x01q\x28\x02\x22\x01r");
inline constexpr std::string_view kIndexMessageSeed =
    bytes_of("\x0a\x03\x22\x01r\x10\x14\x18\x01\x20\x08\x2a\x03\x01\0\0\x32\x02\x90\x02\x3a\x01\x14");

// A whole .weft file, written to `path` on the way.
inline std::string weft_seed(const std::string& path) {
  TraceHeader h;
  h.ranks = 3;
  h.recorder = "seed";
  auto w = TraceWriter::create(path, h).value();
  (void)w.add_communicator({"p", {0, 1}});
  (void)w.add_region("r");
  w.append(block_seed());
  w.finish().value();
  std::string bytes = support::slurp(path);
  std::filesystem::remove(path);
  return bytes;
}

}  // namespace weft::traces
