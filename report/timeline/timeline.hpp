// Timeline: what every rank did when, and which messages went between them, of one replay; for viewers.
//
// Collected while the replay runs, through its callbacks, then joined with the trace for the names. Memory: some tens of MB, however
// many operations and messages there are (SortedRows). On disk 64 B an operation, twice that while they are joined, and 88 B a
// message; of calls 24 B a receive and 40 B for each request that one makes or ends; what a format sorts comes on top.
#pragma once

#include <cstdint>
#include <map>
#include <span>
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
  bool calls = false;           // which operations a message belongs to, and which a request
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
  std::int64_t listed = 0;  // bytes that only the list of a collective tells: listed_bytes()
  std::uint32_t rank = 0;
  std::uint32_t comm = 0;  // as Op::comm
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
// What a receive took.
struct TimelineMatch {
  std::uint64_t message = 0;  // MessageSeen::number
  std::uint64_t op = 0;       // as MatchSeen
  std::uint32_t rank = 0, request = 0;
};
// A request that a span makes or ends.
struct TimelineRequest {
  std::uint64_t span = 0;    // its order
  std::uint64_t made = 0;    // the operation that made it, or started it
  std::uint64_t number = 0;  // of those of a rank
  std::uint32_t rank = 0, slot = 0;
  std::uint32_t comm = 0;
  traces::OpKind as{};  // the non-blocking call that it is one of, started or not
  bool ends = false;
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

struct MatchesByOp {
  bool operator()(const TimelineMatch& a, const TimelineMatch& b) const {
    return std::tie(a.rank, a.op, a.request, a.message) < std::tie(b.rank, b.op, b.request, b.message);
  }
};
struct RequestsBySpan {
  bool operator()(const TimelineRequest& a, const TimelineRequest& b) const {
    return std::tie(a.rank, a.span, a.number) < std::tie(b.rank, b.span, b.number);
  }
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
  bool calls = false;                                      // they were asked for; else these two are empty
  SortedRows<TimelineMatch, MatchesByOp> matches;          // rank by rank, in order of the program
  SortedRows<TimelineRequest, RequestsBySpan> requests;    // rank by rank, in order of the spans
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

// What a collective's list says in all: what a root of gatherv gets and one of scatterv sends, what each gets of allgatherv, alltoallv,
// alltoallw and a neighbourhood, the own part of reduce_scatter. `members`: of its communicator. 0 elsewhere.
[[nodiscard]] std::int64_t listed_bytes(const traces::Op& op, std::span<const std::int64_t> list,
                                        const std::vector<std::int32_t>& members, std::uint32_t rank);

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
  struct Request {
    std::uint64_t made = 0;  // the operation that made it, or started it
    std::uint32_t comm = 0;
    traces::OpKind as{};
    bool persistent = false;
  };
  using Requests = std::map<std::uint32_t, Request>;  // of a rank, by slot
  [[nodiscard]] Result<void> reopen(const RegionMarks& marks);
  void note_requests(Requests& open, const traces::OpBlock& block, const traces::Op& op,
                     const TimelineSpan& span);
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

}  // namespace weft::report
