// One input through every public trace reader and the trace doctor.
#pragma once

#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "traces/check.hpp"
#include "traces/info.hpp"
#include "traces/trace.hpp"
#include "traces/weft_format.hpp"

namespace weft::traces {

// Opens, scans and checks `bytes` as a file, with and without salvage. True if some of it was a trace.
inline bool fuzz_one(std::string_view bytes) {
  std::string path = (std::filesystem::temp_directory_path() / "weft_fuzz_XXXXXX").string();
  const int fd = ::mkstemp(path.data());
  if (fd < 0) std::abort();
  std::FILE* f = ::fdopen(fd, "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), f);
  std::fclose(f);
  bool opened = false;
  for (const bool salvage : {false, true})
    if (auto t = open_trace_with({path}, {{}, salvage})) {
      opened = true;
      (void)scan_trace(**t);
      (void)check_trace(**t);
    }
  ::unlink(path.c_str());
  return opened;
}

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

// What libFuzzer drives: the first byte says what the rest is (0 to 4: a frame's message, else a whole file).
inline bool fuzz_bytes(std::string_view data) {
  if (data.size() < 2) return fuzz_one(data);
  const auto mode = static_cast<unsigned char>(data[0]);
  if (mode == 0 || mode > 4) return fuzz_one(mode > 0x1f ? data : data.substr(1));
  return fuzz_one(
      weft_around(static_cast<format::FrameType>(mode), data.substr(2), static_cast<unsigned char>(data[1])));
}

}  // namespace weft::traces
