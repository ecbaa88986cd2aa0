// .weft files put together frame by frame, correct but for what a test wants wrong.
#pragma once

#include <xxhash.h>
#include <zstd.h>

#include <cstdio>
#include <cstring>

#include "tests/traces/trace_testing.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces::testing {

// A whole, correctly checksummed frame.
inline std::string frame(format::FrameHeader h, const std::string& payload, bool compress = true) {
  std::string stored = payload;
  if (compress) {
    stored.resize(ZSTD_compressBound(payload.size()));
    stored.resize(ZSTD_compress(stored.data(), stored.size(), payload.data(), payload.size(), 1));
  }
  h.stored_bytes = static_cast<std::uint32_t>(stored.size());
  h.checksum = format::frame_checksum(h, stored);
  return std::string(reinterpret_cast<const char*>(&h), sizeof h) + stored;
}
inline std::string trailer(std::uint64_t index_at, std::uint64_t size) {
  std::string t(16, '\0');
  std::memcpy(t.data(), &index_at, 8);
  std::memcpy(t.data() + 8, &size, 8);
  const std::uint64_t sum = XXH64(t.data(), 16, 0);
  t.append(reinterpret_cast<const char*>(&sum), 8);
  return t + std::string(format::kTrailerMagic);
}

// The first error met in opening and reading everything, with the path written as F.
inline std::string error_of(const TempDir& dir, const std::string& bytes, bool salvage = false) {
  const std::string path = dir.write("bad.weft", bytes);
  std::string m = "no error";
  if (auto t = open_trace_with({path}, {"weft", salvage}); !t) {
    m = t.error().message();
  } else {
    for (std::uint32_t r = 0; r < (*t)->header().ranks && m == "no error"; ++r)
      if (auto ops = read_rank(**t, r); !ops) m = ops.error().message();
  }
  for (std::size_t at = 0; (at = m.find(path)) != std::string::npos;) m.replace(at, path.size(), "F");
  return m;
}

inline std::string hex(std::size_t n) {
  char s[32];
  std::snprintf(s, sizeof s, "0x%zx", n);
  return s;
}

// The 16 bytes that a file begins with.
inline std::string file_start() { return std::string(format::kMagic) + std::string("\x01\0\0\0\0\0\0\0", 8); }

// A frame of `type` that holds `message`.
inline std::string frame_of(format::FrameType type, const std::string& message,
                            std::uint32_t rank = format::kNoRank, std::uint32_t ops = 0,
                            std::uint64_t first_op = 0) {
  format::FrameHeader h;
  h.type = static_cast<std::uint8_t>(type);
  h.raw_bytes = static_cast<std::uint32_t>(message.size());
  h.rank = rank;
  h.ops = ops;
  h.first_op = first_op;
  return frame(h, message);
}

inline std::string varint(std::uint64_t v) {
  std::string s;
  for (; v >= 0x80; v >>= 7) s += static_cast<char>(v | 0x80);
  return s + static_cast<char>(v);
}
inline std::string bytes_field(std::uint32_t number, const std::string& content) {
  return varint(number << 3 | 2) + varint(content.size()) + content;
}

// A whole file of one block for each rank: a header frame, `definitions` (a serialized Definitions) as a frame and in
// the index, the blocks (serialized OpBlocks of `ops` operations each), index and trailer.
inline std::string whole_file(const std::string& definitions, const std::vector<std::string>& blocks,
                              std::uint32_t ops) {
  using format::FrameType;
  std::string file = file_start() + frame_of(FrameType::kHeader, "\x08" + varint(blocks.size())) +
                     frame_of(FrameType::kDefinitions, definitions);
  std::string per_rank, deltas, counts;
  std::uint64_t last = 0;
  for (std::uint32_t r = 0; r < blocks.size(); ++r) {
    per_rank += varint(1);
    deltas += varint((file.size() - last) << 1);
    counts += varint(ops);
    last = file.size();
    file += frame_of(FrameType::kOps, blocks[r], r, ops);
  }
  const std::uint64_t index_at = file.size();
  file += frame_of(FrameType::kIndex, bytes_field(1, definitions) + "\x10" + varint(ops * blocks.size()) +
                                          bytes_field(5, per_rank) + bytes_field(6, deltas) +
                                          bytes_field(7, counts));
  return file + trailer(index_at, file.size() + format::kTrailerBytes);
}

}  // namespace weft::traces::testing
