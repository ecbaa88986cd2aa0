// The timeline of a run as the page draws it: spans of ranks and of their accelerators, messages as arrows, the critical path.
//
// Times are whole ticks of `tick` picoseconds, the least with which the makespan and the last arrival of a message, which
// may be later, fit into 32 bits.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "replay/engine.hpp"
#include "report/html/span_thinner.hpp"
#include "traces/trace.hpp"

namespace weft::report {

struct TimelineSection {
  std::uint32_t ranks = 0;
  std::int64_t tick = 1;
  // Rows behind those of the ranks: row ranks + i is lane[i] of DeviceSeen::Lane, of the accelerator of rank lane_rank[i].
  std::vector<std::uint32_t> lane_rank;
  std::vector<std::uint8_t> lane;
  // Spans, row by row; row r has those of first[r] up to first[r + 1]. A begin is told as the gap after the span before it
  // (or after 0), an end as the length.
  std::vector<std::uint32_t> first, gap, length, ops;
  std::vector<std::uint8_t> kind;  // index into kinds
  std::vector<std::int32_t> peer;  // of the longest operation; -1: none
  std::vector<float> amount;       // its bytes; 0 where it has none
  std::vector<std::string> kinds,
      group;  // name, and "compute", "send", "receive", "wait", "collective", "copy" or "other"
  std::uint64_t spans_seen = 0;
  Duration joined_below{0};  // spans of more than one operation are no longer
  // Messages, in order of their ends: the longest ones where there are too many.
  std::vector<std::uint32_t> src, dst, sent, arrived;
  std::vector<float> bytes;
  std::uint64_t messages_seen = 0;
  // The critical path, in order of time: the longest segments where there are too many. Own time of a rank has itself as
  // receiver.
  std::vector<std::uint32_t> path_rank, path_receiver, path_from, path_to;
  std::vector<std::uint8_t> path_part;  // replay::PathPart that it mostly is
  std::uint64_t path_seen = 0;
};

// Keeps the messages that take longest, at most so many.
class MessageThinner {
 public:
  explicit MessageThinner(std::size_t most) : most_(most) {}
  void add(const replay::MessageSeen& m);
  void finish();
  [[nodiscard]] const std::vector<replay::MessageSeen>& messages() const { return kept_; }
  [[nodiscard]] std::uint64_t seen() const { return seen_; }

 private:
  void thin();
  std::vector<replay::MessageSeen> kept_;
  std::size_t most_;
  std::uint64_t seen_ = 0;
};

// What accelerators did, thinned, lane by lane.
class LaneThinner {
 public:
  // `most`: as SpanThinner has it.
  LaneThinner(std::uint32_t ranks, std::size_t most) : ranks_(ranks), most_(most) {}
  void add(const replay::DeviceSeen& d);
  void finish() {
    if (spans_) spans_->finish();
  }
  // Null: there are none. Row kLanes * rank + lane; ThinSpan::op is the number of the kernel.
  [[nodiscard]] const SpanThinner* spans() const { return spans_ ? &*spans_ : nullptr; }

 private:
  std::uint32_t ranks_;
  std::size_t most_;
  std::optional<SpanThinner> spans_;  // once there is one
};

// All thinners finished; `trace` at its start, for what operations are. At most `most_path` segments. Errors: the trace's.
[[nodiscard]] Result<TimelineSection> timeline_section(const SpanThinner& spans, const LaneThinner& lanes,
                                                       const MessageThinner& messages,
                                                       const replay::ReplayResult& result,
                                                       traces::TraceReader& trace, std::size_t most_path);
[[nodiscard]] nlohmann::ordered_json to_json(const TimelineSection& t);

}  // namespace weft::report
