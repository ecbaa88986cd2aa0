// A replayed trace as an OTF2 archive: its operations at the times that the replay gave them.
//
// Memory: the operations of one rank at a time, beside the times (16 bytes for each operation of the trace).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "traces/trace.hpp"

namespace weft::traces {

// Of an operation in the replay, in picoseconds; negative: it never ended.
struct OpTime {
  std::int64_t begin = -1, end = -1;
};
// By rank and index of the operation; what is beyond the end of a rank's vector never ended.
using OpTimes = std::vector<std::vector<OpTime>>;

class ReplayedArchive {
 public:
  virtual ~ReplayedArchive() = default;
  // The whole trace, from its start; the archive appears whole.
  [[nodiscard]] virtual Result<void> write(TraceReader& trace, const OpTimes& times) = 0;
};

// Before the replay, so that a place that is taken is told at once. Errors: kNotSupported (built without OTF2), kBadInput.
[[nodiscard]] Result<std::unique_ptr<ReplayedArchive>> open_replayed_otf2(const std::string& path);

}  // namespace weft::traces
