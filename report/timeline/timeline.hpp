// Timeline: what every rank did when, and which messages went between them, of one replay; for viewers.
//
// Collected while the replay runs, through its callbacks, then joined with the trace for the names. Memory: some tens of MB, however
// many operations and messages there are (SortedRows). On disk 56 B an operation, twice that while they are joined, and 80 B a
// message; what a format sorts comes on top.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/files/sorted_rows.hpp"
#include "core/files/text_sink.hpp"
#include "core/result.hpp"
#include "replay/engine.hpp"
#include "report/timeline/link_load.hpp"
#include "traces/trace.hpp"

namespace weft::report {

struct TimelineOptions {
  std::vector<bool> ranks;      // which; empty: all
  SimTime from{};               // what ended before is left out; regions that are open then begin then
  SimTime to{Duration::max()};  // what began after is left out
  // An output that is made of it: what is too much for memory goes to a file beside it.
  std::string beside = "-";
  std::size_t memory = kRowsMemory;  // of each of the lists of rows
};

// An operation. Those of a rank follow each other and do not overlap. After a deadlock the last one of a rank may be the one that
// it waits in forever: it ends with the replay.
struct TimelineSpan {
  SimTime begin, end;
  std::uint64_t op = 0;     // index in the rank's program
  std::uint64_t order = 0;  // of spans, in time
  // Bytes where has_bytes() (op_groups.hpp); the region of region_begin, _end; what launched that which a wait is for_accelerator.
  std::int64_t amount = 0;
  std::uint32_t rank = 0;
  std::int32_t peer = 0;
  traces::OpKind kind{};
  std::uint8_t kernel = 0;       // of a compute_kernel, a launch
  bool for_accelerator = false;  // a wait for a launched kernel: computation, with no peer and no bytes

  [[nodiscard]] bool is_region_mark() const {
    return kind == traces::OpKind::region_begin || kind == traces::OpKind::region_end;
  }
};
struct TimelineMessage {
  replay::MessageSeen seen;
  std::uint64_t number = 0;  // in order of their ends
};

// What an accelerator did.
struct TimelineDevice {
  replay::DeviceSeen seen;
  std::uint64_t order = 0;  // of those of a lane
};

struct SpansByTime {
  bool operator()(const TimelineSpan& a, const TimelineSpan& b) const {
    return std::tie(a.rank, a.order) < std::tie(b.rank, b.order);
  }
};
struct SpansByOp {
  bool operator()(const TimelineSpan& a, const TimelineSpan& b) const {
    return std::tie(a.rank, a.op, a.order) < std::tie(b.rank, b.op, b.order);
  }
};
struct MessagesByNumber {
  bool operator()(const TimelineMessage& a, const TimelineMessage& b) const { return a.number < b.number; }
};

struct DevicesByTime {
  bool operator()(const TimelineDevice& a, const TimelineDevice& b) const {
    return std::tie(a.seen.rank, a.seen.lane, a.order) < std::tie(b.seen.rank, b.seen.lane, b.order);
  }
};

struct Timeline {
  std::uint32_t ranks = 0;                                 // of the trace
  std::vector<bool> chosen;                                // which of them; empty: all
  SortedRows<TimelineSpan, SpansByTime> spans;             // rank by rank, in order of time
  SortedRows<TimelineMessage, MessagesByNumber> messages;  // in order of their ends
  SortedRows<TimelineDevice, DevicesByTime> devices;       // rank by rank, lane by lane, in order of time
  std::vector<std::uint8_t>
      lanes;  // a bit for each lane that the rank has in `devices`; empty: nobody has one
  std::vector<std::string> regions;
  SimTime from, to, end;                // what was asked for, and of the replay
  LinkLoad load;                        // of all messages and copies, whichever ranks were asked for
  std::vector<std::string> link_names;  // of load.links
  // Of the critical path, where it is known, through whatever ranks: as far as the time asked for.
  std::vector<replay::PathSegment> path;
  std::string beside = "-";  // as in the options
  std::size_t memory = kRowsMemory;

  [[nodiscard]] bool is_chosen(std::uint32_t rank) const { return chosen.empty() || chosen[rank]; }
};

// The load of a link from `at` on, in hundredths of a percent of its bandwidth.
struct LoadStep {
  SimTime at;
  std::int32_t used;
};
// Where the load of link `i` of load.links changes, within the time asked for; the last step is to 0.
[[nodiscard]] std::vector<LoadStep> load_steps(const Timeline& timeline, std::size_t i);

class TimelineCollector {
 public:
  // `fabric` and `placement`, hosts by rank, outlive it. `replayed`: as in LinkLoadCollector.
  TimelineCollector(std::uint32_t ranks, TimelineOptions options, const topology::Fabric& fabric,
                    const std::vector<HostId>& placement, const replay::ReplayOptions& replayed);
  // Sets the callbacks of `options`; this must outlive the replay.
  void attach(replay::ReplayOptions& options);
  // After the replay: `trace` again from its start, for what the operations are. Errors: the trace's; a full disk.
  [[nodiscard]] Result<Timeline> finish(traces::TraceReader& trace, Duration makespan);

 private:
  using RegionMarks = SortedRows<TimelineSpan, SpansByTime>;
  [[nodiscard]] Result<void> reopen(const RegionMarks& marks);
  TimelineOptions options_;
  Timeline timeline_;
  SortedRows<TimelineSpan, SpansByOp> seen_;
  const topology::Fabric& fabric_;
  LinkLoadCollector load_;
};

// "0-3,8": ranks below `count`. Error: kUsage.
[[nodiscard]] Result<std::vector<bool>> parse_rank_set(std::string_view text, std::uint32_t count,
                                                       std::string_view where);

// Takes the critical path of `result` into `timeline`, if there is one.
void add_path(Timeline& timeline, const replay::PathResult& path);

// Google's Perfetto (ui.perfetto.dev): a track a rank, slices of operations inside those of regions, an arrow a message;
// the critical path as a track above them; a counter a link. Whole nanoseconds, rounded down. Errors: a disk that is full, or
// cannot be read.
[[nodiscard]] Result<void> write_perfetto(const Timeline& timeline, std::string_view title,
                                          const TextSink& out);

// BSC's Paraver: .prv, .pcf and .row, of the same names. Nanoseconds. `node_of_rank`: 0-based, in order of first use. Where a
// rank, or a message that it waits for, is on the critical path is an event of the rank. Links
// are the threads of a second application on a node of its own, since an event of the format is a thread's.
// Errors: as write_perfetto().
[[nodiscard]] Result<void> write_prv(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank,
                                     const std::vector<traces::Communicator>& communicators,
                                     const TextSink& out);
[[nodiscard]] std::string paraver_pcf(const Timeline& timeline);
[[nodiscard]] std::string paraver_row(const Timeline& timeline,
                                      const std::vector<std::uint32_t>& node_of_rank);

}  // namespace weft::report
