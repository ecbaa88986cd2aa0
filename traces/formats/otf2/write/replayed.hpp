// A replayed trace as an OTF2 archive: its operations at the times that the replay gave them, with the messages that its
// receives took there.
//
// Memory: the operations of one rank at a time, beside what the replay told (16 bytes for each operation of the trace, 32 for
// each receive, 24 for each launch, 16 wherever operations did not end in the order of the program).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "traces/kernel.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

// Of an operation in the replay, in picoseconds; negative: it never ended.
struct OpTime {
  std::int64_t begin = -1, end = -1;
};
// Operations first, first + 1, ... below `end` were over one after the other, as far as they were.
struct OpRun {
  std::uint64_t first = 0, end = 0;
};
// What the receive that operation `op` posted for `request` (kNoRequest: a blocking one) took; of a sendrecv, its first half.
struct OpMatch {
  std::uint64_t op = 0;
  std::uint32_t request = 0;
  std::int32_t source = 0, tag = 0;  // world rank
  std::int64_t bytes = 0;
};
// What the rank's accelerator did because an operation launched it: on which of its lanes (traces/accelerator.hpp), and when, in
// picoseconds.
struct OpDevice {
  std::int64_t begin = 0, end = 0;
  Kernel kernel{};
  std::uint8_t lane = 0;
};
struct ReplayedRank {
  // By index of the operation; what is beyond the end never ended.
  std::vector<OpTime> times;
  // The order in which operations were over: bodies of polls run elsewhere than they stand, and of operations of one instant
  // the times do not say which came first.
  std::vector<OpRun> runs;
  std::vector<OpMatch> matches;   // in any order
  std::vector<OpDevice> devices;  // in any order

  // The next operation that was over.
  void add(std::uint64_t op, OpTime time) {
    if (times.size() <= op) times.resize(op + 1);
    times[op] = time;
    // The second half of a sendrecv is not told.
    if (runs.empty() || (op != runs.back().end && op != runs.back().end + 1)) runs.push_back({op, op});
    runs.back().end = op + 1;
  }
};
using ReplayedOps = std::vector<ReplayedRank>;  // by rank

class ReplayedArchive {
 public:
  virtual ~ReplayedArchive() = default;
  // The whole trace, from its start; the archive appears whole. `warnings`: as of an export (traces/exports/export.hpp).
  [[nodiscard]] virtual Result<void> write(TraceReader& trace, const ReplayedOps& replayed,
                                           std::vector<std::string>* warnings) = 0;
};

// Before the replay, so that a place that is taken is told at once. Errors: kNotSupported (built without OTF2), kBadInput.
[[nodiscard]] Result<std::unique_ptr<ReplayedArchive>> open_replayed_otf2(const std::string& path);

}  // namespace weft::traces
