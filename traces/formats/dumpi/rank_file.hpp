// One rank's DUMPI file: where its parts are, and what the parts around the stream of calls say.
//
//   ff aa dd "DUMPI"                                                        8 bytes
//   stream: i32 CPU seconds, i32 wall seconds, records (record.hpp), u16 293
//   header: u8 version[3], u64 start time, host, user (u16 n, n bytes each), mesh coordinates, mesh size
//   footer: u64 f007fee7, 291 x u32 times called, 291 x u32 times called and not recorded
//   further parts: key values, labels of counters (u32 n, texts), addresses, sizes of datatypes (u32 n, u32 each)
//   index, the last 8 words or fewer: magic, sizes (from 0.6.6 on), addresses, counters, header, stream, footer, key
//   values: offsets, 0 = not there. Older files begin it later.
// All integers are big-endian. Nothing says how long a record is: a stream is right if it ends where the header begins.
//
// Errors: kBadInput with the byte. Memory: what the parts hold, each checked against the size of the file first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace weft::traces::dumpi {

struct Version {
  std::uint8_t major = 0, minor = 0, patch = 0;
  friend auto operator<=>(const Version&, const Version&) = default;
  [[nodiscard]] std::string text() const;
};
// What changed when.
inline constexpr Version kOldest{0, 5, 0};
inline constexpr Version kPlainArgc{0, 6, 2};      // one argc in Init
inline constexpr Version kStatusTags{0, 6, 3};     // a status has its tag
inline constexpr Version kWideRequests{0, 6, 7};   // request ids have more than 8 bits
inline constexpr Version kCartCoords{0, 6, 8};     // the coordinates of Cart_get are an array
inline constexpr Version kStructIndices{0, 6, 9};  // the indices of Type_struct are an array

// Labels of counters and host names that are kept.
inline constexpr std::size_t kMaxCounters = 256;

struct RankFile {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t stream = 0;  // offset of the first record
  std::uint64_t end = 0;     // offset of the header: where the stream ends
  Version version;
  std::string host;
  std::vector<std::string> counters;      // names of performance counters
  std::vector<std::uint32_t> type_sizes;  // by handle; empty: the file has none
  std::vector<std::uint32_t> called;      // by function; empty: no footer
};

[[nodiscard]] bool has_magic(std::string_view first_bytes);

[[nodiscard]] Result<RankFile> open_rank_file(const std::string& path);

}  // namespace weft::traces::dumpi
