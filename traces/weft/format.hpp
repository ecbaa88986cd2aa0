// The bytes around the messages of trace.proto: file header, frame header, trailer. All integers
// little-endian.
//
//   file    = FileHeader frame(kHeader) { frame(kDefinitions) | frame(kOps) } frame(kIndex) Trailer
//   frame   = FrameHeader payload[stored_bytes]            payload = zstd frame of one serialized message
//   trailer = u64 offset of the index frame, u64 size of the file, u64 XXH64 of those 16 bytes, 8 bytes
//   "WEFTEND\n"
//
// Invariants: a frame's checksum covers its header and payload, so no bit of a frame can change unseen; no
// length is believed before it was compared with what the file can hold (limits below).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weft::traces::format {

static_assert(std::endian::native == std::endian::little, "the reader copies little-endian integers");

// The first byte is not ASCII, the CR LF and ^Z show a file that went through a text conversion (as PNG
// does).
inline constexpr std::string_view kMagic = "\x89WEFT\r\n\x1a";
inline constexpr std::uint16_t kMajor = 1;
inline constexpr std::uint16_t kMinor = 1;           // 1: names of kernels
inline constexpr std::size_t kFileHeaderBytes = 16;  // magic, u16 major, u16 minor, u32 0
inline constexpr std::size_t kFrameHeaderBytes = 40;
inline constexpr std::size_t kTrailerBytes = 32;
inline constexpr std::string_view kTrailerMagic = "WEFTEND\n";
inline constexpr std::uint32_t kFrameMagic = 0x4d465257u;  // "WRFM": salvage can tell a frame from noise
inline constexpr std::uint32_t kNoRank = 0xffffffffu;

// Limits that bound what a hostile file can make the reader allocate, by what the file is: its bytes, its ranks, its
// operations. docs/trace-format.md states them.
inline constexpr std::uint32_t kMaxRanks = 1u << 24;
inline constexpr std::uint32_t kMaxBlockBytes = 1u << 24;  // raw size of an op block
inline constexpr std::uint32_t kMaxMetaBytes = 1u << 28;   // raw size of any other frame
inline constexpr std::uint64_t kMaxMembers = 1ull << 26;   // of all communicators together
inline constexpr std::uint64_t kMaxNotes = 1u << 16;
// Raw size of a frame that is no block of operations.
[[nodiscard]] constexpr std::uint64_t most_meta_bytes(std::uint64_t file_bytes) {
  const std::uint64_t most = (std::uint64_t{4} << 20) + 16 * file_bytes;
  return most < kMaxMetaBytes ? most : kMaxMetaBytes;
}
// Raw size of a block: what compresses well, and lists with values for each rank.
[[nodiscard]] constexpr std::uint64_t most_block_bytes(std::uint64_t stored, std::uint64_t ranks,
                                                       std::uint64_t ops) {
  const std::uint64_t most = (std::uint64_t{1} << 18) + 1024 * stored + 40 * ranks * ops;
  return most < kMaxBlockBytes ? most : kMaxBlockBytes;
}
// Memory of what a file defines, beside its world: definition_cost() of each communicator, region and name.
[[nodiscard]] constexpr std::uint64_t most_definition_bytes(std::uint64_t file_bytes) {
  return (std::uint64_t{16} << 20) + 64 * file_bytes;
}
[[nodiscard]] constexpr std::uint64_t definition_cost(std::size_t name_bytes, std::size_t members = 0) {
  return 64 + name_bytes + 4 * members;
}
// Beyond this many ranks each rank has a block, so that the number of ranks, which costs memory everywhere,
// is backed by bytes of the file.
inline constexpr std::uint64_t kFreeRanks = 1u << 16;
[[nodiscard]] constexpr std::uint64_t most_ranks(std::uint64_t file_bytes) {
  return file_bytes / kFrameHeaderBytes > kFreeRanks ? file_bytes / kFrameHeaderBytes : kFreeRanks;
}

enum class FrameType : std::uint8_t { kHeader = 1, kDefinitions = 2, kOps = 3, kIndex = 4 };

struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  std::uint8_t type = 0;
  std::uint8_t compression = 1;  // 1 = zstd
  std::uint16_t reserved = 0;
  std::uint32_t stored_bytes = 0;
  std::uint32_t raw_bytes = 0;
  std::uint32_t rank = kNoRank;  // kOps: whose operations; else kNoRank
  std::uint32_t ops = 0;         // kOps: how many
  std::uint64_t first_op = 0;    // kOps: index of the first in the rank's program
  std::uint64_t checksum = 0;  // XXH64 of the payload, seeded with the XXH64 (seed 0) of the 32 bytes before
};
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes && std::is_trivially_copyable_v<FrameHeader>);
inline constexpr std::size_t kChecksummedHeaderBytes = 32;

// Checksum of a frame whose payload is `payload`.
[[nodiscard]] std::uint64_t frame_checksum(const FrameHeader& h, std::string_view payload);

}  // namespace weft::traces::format
