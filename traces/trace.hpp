// What a trace is besides its operations, and the two interfaces every format implements: reader and (optional) writer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "traces/op.hpp"

namespace weft::traces {

struct Communicator {
  std::string name;                   // "world", else "split<k>" ... by order of creation on its first member
  std::vector<std::int32_t> members;  // world ranks in communicator-rank order
};

// Calls of one MPI function that the operations have no place for, summed over the ranks.
struct NotRecorded {
  std::string group;  // "one-sided communication", "file I/O": continues "calls of"
  std::string call;   // "MPI_Put"; empty = only the group was counted
  std::uint64_t count = 0;
  friend bool operator==(const NotRecorded&, const NotRecorded&) = default;
};

// Which clock the compute times of a recording are of. Values are those of trace.proto.
enum class ComputeClock : std::uint8_t { kUnknown = 0, kCpu = 1, kWall = 2 };

// What a recorder saw of the program beyond the operations; all "not known" in other traces.
struct RecordingFacts {
  std::vector<NotRecorded> not_recorded;
  std::uint32_t thread_level = 0;      // what MPI_Init_thread granted, + 1: 1 single .. 4 multiple
  std::uint32_t threads = 0;           // most threads of one rank that called MPI
  std::uint64_t concurrent_calls = 0;  // made while another thread of the rank was inside MPI
  ComputeClock clock = ComputeClock::kUnknown;
  // Time outside MPI of each rank by both clocks; as many as ranks, or none.
  std::vector<std::int64_t> cpu_ps, wall_ps;
  friend bool operator==(const RecordingFacts&, const RecordingFacts&) = default;
};

struct TraceHeader {
  std::uint32_t ranks = 0;
  std::vector<std::string> hostnames;  // one per rank, or empty
  std::string recorder;                // "weft record 0.1.0", "simgrid-ti"
  std::string mpi_version;
  std::string command_line;
  std::string hpl_dat;  // text of the HPL.dat of the run, if there was one
  std::int64_t clock_resolution_ps = 0;
  std::vector<std::string> notes;  // provenance, one sentence each
  std::vector<std::string>
      warnings;  // what is missing or was dropped, one sentence each: see trace_warnings.hpp
  RecordingFacts recording;
};

// Totals that need no scan of the operations.
struct TraceTotals {
  std::uint64_t ops = 0;
  std::uint64_t messages = 0;  // point-to-point sends as written
  std::uint64_t bytes = 0;     // their bytes; kTooManyBytes (core/byte_sum.hpp): more than fit
};

inline constexpr std::uint64_t kUnknownOps = UINT64_MAX;

// A trace open for reading. Blocks of one rank come in program order; ranks may be read in any order and at any
// speed. Memory: what next_block fills, plus one decode buffer. Not thread-safe.
class TraceReader {
 public:
  virtual ~TraceReader() = default;
  [[nodiscard]] virtual const TraceHeader& header() const = 0;
  [[nodiscard]] virtual const TraceTotals& totals() const = 0;
  // Index = CommId; [0] is the world with members 0..ranks-1.
  [[nodiscard]] virtual const std::vector<Communicator>& communicators() const = 0;
  [[nodiscard]] virtual const std::vector<std::string>& regions() const = 0;
  // kUnknownOps: a generator that would have to generate everything to know; replay takes that.
  [[nodiscard]] virtual std::uint64_t ops_of(RankId rank) const = 0;
  // Fills `out` with the rank's next block, of one operation at least; false at the end of the rank. Errors: kBadInput
  // with the position.
  [[nodiscard]] virtual Result<bool> next_block(RankId rank, OpBlock& out) = 0;
  // True: every operation of a block obeys the rules of op_rules.hpp, because the reader checks them or because it makes them
  // up itself. Who uses the blocks does not look again.
  [[nodiscard]] virtual bool well_formed() const { return false; }
  // All ranks from the start again.
  virtual void rewind() = 0;
  // Where operation `index` of `rank` stands, for messages: FILE:LINE or FILE@byte.
  [[nodiscard]] virtual std::string position(RankId rank, std::uint64_t index) const = 0;
};

// Operations per block that keep a window of one block for each rank small: 16 MB of rows for 128 and 256 ranks, 32 MB for 1,024, 128 MB
// for 4,096 and 8,192, 256 MB for 32,768 and 65,536, then 4 KB a rank. Larger ones save 0.5 % of the instructions of a replay and lose 5
// to 25 % of its time to memory that is touched for the first time, or no longer near; smaller ones make longer files (a halo exchange of
// 65,536 ranks: 512, 256, 128 operations a block are 21, 31, 50 MB on disk and 1.7, 1.1, 0.76 GB in a replay). At most kMaxBlockOps.
[[nodiscard]] constexpr std::size_t block_ops_for(std::uint32_t ranks) {
  return ranks <= 64      ? kMaxBlockOps
         : ranks <= 256   ? 2048
         : ranks <= 4096  ? 1024
         : ranks <= 8192  ? 512
         : ranks <= 32768 ? 256
                          : 128;
}

// Opens any known format (sniffs the first bytes; a directory or list of files for formats that are one file per rank).
// `from` forces a format by name; empty = sniff. Errors: kBadInput, kUsage (unknown format name, with the known ones).
[[nodiscard]] Result<std::unique_ptr<TraceReader>> open_trace(const std::vector<std::string>& paths,
                                                              const std::string& from = {});

// The paths, and what open_trace() of them reads besides: the files of a folder, and those that an index, a .meta file
// or an anchor stands for, for who asks whether they are still what they were. Where that ends in an error, the paths alone.
[[nodiscard]] std::vector<std::string> trace_files(const std::vector<std::string>& paths,
                                                   const std::string& from = {});

struct OpenOptions {
  std::string from;  // format by name; empty = sniff
  bool allow_truncated =
      false;  // salvage: what is whole of a file that was cut off; a note in the header says so
  bool one_order =
      false;  // GOAL: one order of the operations of each rank, also where a schedule leaves it open: no tasks
};
[[nodiscard]] Result<std::unique_ptr<TraceReader>> open_trace_with(const std::vector<std::string>& paths,
                                                                   const OpenOptions& options);

}  // namespace weft::traces
