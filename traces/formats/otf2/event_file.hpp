// The shape of an OTF2 event file, walked without knowing what its records mean.
//
//   file  = chunk...                      each but the last as long as the anchor says
//   chunk = 03, 'B' (little-endian) or '#', u64 first event, u64 last event, entries, 00 (02 at the end of the file)
//   entry = 05 u64 time | 06 length attributes | id length fields     a record; length 255: u64 length follows
//         | id n, n bytes                                             records of one number: 12, 13, 16, 17, 20, 21, 24, 28-30
//
// The OTF2 library reads what is left in its buffer where a file ends early, and believes the numbers of events in the
// chunks: a file is walked before the library sees it, and says where it is broken.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"

namespace weft::traces::otf2 {

struct EventCount {
  std::uint64_t events = 0;
  bool known = true;  // all of them have a row in records.def
};

// What the file holds. `rank`: for messages, < 0 = none. Memory: one chunk. Errors: kBadInput with the byte.
[[nodiscard]] Result<EventCount> count_events(const std::string& path, std::uint64_t chunk_bytes,
                                              std::int64_t rank);

// Where event `number` (the first is 1) of a file that count_events() took stands: "FILE@byte 0x1f (record 3, rank 1)".
[[nodiscard]] std::string event_position(const std::string& path, std::uint64_t chunk_bytes,
                                         std::int64_t rank, std::uint64_t number);

}  // namespace weft::traces::otf2
