// The anchor of an OTF2 archive, read without the library, which believes its counts.
//
//   03, 'B' (little-endian) or '#', "OTF2" 00, u8 format, u8 trace format, u8 version[3], u64 bytes of a chunk of events, u64 of
//   definitions, u8 substrate, u8 compression, u64 locations, u64 global definitions, machine 00, creator 00, description 00
//   format 2: u32 properties, each two texts; u64 trace id      format 3: u32 snapshots, u32 thumbnails      02
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"

namespace weft::traces::otf2 {

struct Anchor {
  std::string version, creator;
  std::uint64_t chunk_bytes = 0;  // of events; 256 KiB to 16 MiB
  std::uint64_t locations = 0, definitions = 0;
  std::uint64_t trace_id_at = 0;  // byte; 0: has none
};

// Errors: kBadInput with the byte; kNotSupported for archives that are not plain files.
[[nodiscard]] Result<Anchor> read_anchor(const std::string& path);

}  // namespace weft::traces::otf2
