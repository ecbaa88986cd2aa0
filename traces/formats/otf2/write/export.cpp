// A trace -> an OTF2 archive. In recorded time the clock of a rank is its computation, and calls of MPI take none, since a
// trace does not say how long they took; in the time of a replay everything is where the replay had it.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "traces/exports/export.hpp"
#include "traces/exports/poll_count.hpp"
#include "traces/formats/otf2/limits.hpp"
#include "traces/formats/otf2/write/export_rank.hpp"
#include "traces/formats/otf2/write/replayed.hpp"

namespace weft::traces {
namespace {

// What a rank computes before its first event and behind its last one is within a region "program": between two events, as
// all computation of an archive. A rank that computes before its first event is in it from the start.
class ProgramRegion {
 public:
  ProgramRegion(const TraceReader& trace, otf2::ArchiveWriter& out) : trace_(trace), out_(out) {}
  // Before the events of an operation are written.
  void operation(std::int64_t begin, std::int64_t end) {
    if (!any_ && begin > 0) enter(0);
    any_ = true;
    last_ = std::max(last_, end);
  }
  [[nodiscard]] std::int64_t last() const { return last_; }
  // Behind all of them: computation went on until `time`.
  void end(std::int64_t time) {
    if (time > last_ && !inside_) enter(last_);
    if (inside_) out_.leave(std::max(time, last_), region());
  }

 private:
  void enter(std::int64_t time) {
    out_.enter(time, region());
    inside_ = true;
  }
  [[nodiscard]] std::uint32_t region() const { return out_.named(trace_, "program"); }
  const TraceReader& trace_;
  otf2::ArchiveWriter& out_;
  std::int64_t last_ = 0;  // end of the last operation
  bool any_ = false;
  bool inside_ = false;
};

// The end of a rank that computed until `computed`. `waits`: for requests that the program left.
Result<void> end_rank(otf2::RankExporter& rank, ProgramRegion& program, std::int64_t computed, bool waits) {
  const std::int64_t now = std::max(computed, program.last());
  if (waits && rank.something_is_left()) {
    program.operation(now, now);
    WEFT_TRY(rank.wait_for_what_is_left(now));
  }
  program.end(now);
  return {};
}

// Whoever reads the archive would refuse the rank.
Error computes_too_long(const TraceReader& trace, std::uint32_t r, std::uint64_t index) {
  Error e =
      not_supported("an OTF2 archive in which a rank computes for more than 26 days", "a shorter program");
  e.where = trace.position(RankId(r), index);
  return e;
}

constexpr std::string_view kRegionsOnly =
    "regions only: an archive does not say which of them found its message";

Result<void> write_recorded(TraceReader& trace, std::uint32_t r, otf2::RankExporter& rank,
                            ProgramRegion program, PollCount& polls) {
  OpBlock block;
  std::int64_t now = 0;
  while (true) {
    WEFT_ASSIGN(const bool more, trace.next_block(RankId(r), block));
    if (!more) break;
    for (std::size_t i = 0; i < block.ops.size(); ++i) {
      const Op& op = block.ops[i];
      const std::uint64_t index = block.first_op + i;
      if (op.kind == OpKind::compute_time || op.kind == OpKind::sleep) {
        if (op.amount >= otf2::kMostPs - now) return computes_too_long(trace, r, index);
        now += op.amount;
      } else if (is_compute(op.kind)) {
        Error e = not_supported("computation without a duration in an OTF2 archive of recorded time",
                                "a trace with recorded times, or replay --export");
        e.where = trace.position(RankId(r), index);
        return e;
      } else {
        program.operation(now, now);
        polls.add(op);
        WEFT_TRY(rank.write(op, block.list(op), index, now, now));
      }
    }
  }
  return end_rank(rank, program, now, true);
}

// The operations of a rank, all of them.
struct RankOps {
  std::vector<Op> ops;
  std::vector<std::vector<std::int64_t>> lists;

  [[nodiscard]] std::span<const std::int64_t> list(const Op& op) const {
    if (op.extra == kNoList) return {};
    return lists[op.extra];
  }
  // Both halves of a sendrecv are one call: they begin and end together.
  [[nodiscard]] bool is_pair(std::size_t i) const {
    return ops[i].kind == OpKind::sendrecv && i + 1 < ops.size() && (ops[i + 1].flags & kPairedRecv) != 0;
  }
};

Result<RankOps> read_ops(TraceReader& trace, std::uint32_t r) {
  RankOps all;
  OpBlock block;
  while (true) {
    WEFT_ASSIGN(const bool more, trace.next_block(RankId(r), block));
    if (!more) return all;
    for (Op op : block.ops) {
      const auto list = block.list(op);
      if (op.extra != kNoList) {
        op.extra = static_cast<std::uint32_t>(all.lists.size());
        all.lists.emplace_back(list.begin(), list.end());
      }
      all.ops.push_back(op);
    }
  }
}

// Operations in the order in which the replay had them: a poll that hit earlier than it did in the recording runs what
// follows earlier. Memory: the operations of one rank.
Result<void> write_replayed(TraceReader& trace, std::uint32_t r, const ReplayedRank& replayed,
                            otf2::RankExporter& rank, ProgramRegion program, PollCount& polls,
                            const otf2::ArchiveWriter& out) {
  WEFT_ASSIGN(const RankOps all, read_ops(trace, r));
  const auto time_of = [&](std::size_t i) {
    return i < replayed.times.size() ? replayed.times[i] : OpTime();
  };
  const auto write = [&](std::size_t i, const OpTime& t) -> Result<void> {
    WEFT_TRY(rank.write(all.ops[i], all.list(all.ops[i]), i, t.begin, t.end));
    if (out.outside_calls() >= otf2::kMostPs) return computes_too_long(trace, r, i);
    return {};
  };
  std::int64_t computed = 0;  // until then
  for (const OpRun& run : replayed.runs)
    for (std::size_t i = run.first; i < run.end && i < all.ops.size(); ++i) {
      const OpTime t = time_of(i);
      if (t.end < 0) continue;
      if (is_compute(all.ops[i].kind)) {
        computed = std::max(computed, t.end);
        continue;
      }
      program.operation(t.begin, t.end);
      polls.add(all.ops[i]);
      WEFT_TRY(write(i, t));
      if (all.is_pair(i)) WEFT_TRY(write(++i, t));
    }
  // A rank that hangs waits for nothing more.
  const std::size_t n = all.ops.size();
  const std::size_t last = n > 1 && all.is_pair(n - 2) ? n - 2 : n - 1;
  WEFT_TRY(end_rank(rank, program, computed, n > 0 && time_of(last).end >= 0));
  if (out.outside_calls() >= otf2::kMostPs) return computes_too_long(trace, r, n - 1);
  return {};
}

// What the accelerator of a rank did: a location for each of its lanes.
void write_devices(const TraceReader& trace, std::uint32_t r, std::vector<OpDevice> devices,
                   otf2::ArchiveWriter& out) {
  std::ranges::stable_sort(devices, [](const OpDevice& a, const OpDevice& b) {
    return std::tie(a.lane, a.begin, a.end) < std::tie(b.lane, b.begin, b.end);
  });
  for (std::size_t i = 0; i < devices.size();) {
    const std::uint8_t lane = devices[i].lane;
    out.begin_lane(r, lane);
    for (; i < devices.size() && devices[i].lane == lane; ++i) {
      const std::uint32_t region = out.named(trace, otf2::kernel_name(devices[i].kernel));
      out.enter(devices[i].begin, region);
      out.leave(devices[i].end, region);
    }
    out.end_events();
  }
}

class WrittenArchive final : public ReplayedArchive {
 public:
  explicit WrittenArchive(std::unique_ptr<otf2::ArchiveWriter> out) : out_(std::move(out)) {}
  Result<void> write(TraceReader& trace, const ReplayedOps& replayed,
                     std::vector<std::string>* warnings) override {
    trace.rewind();
    static const ReplayedRank none;
    PollCount polls;
    for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
      const ReplayedRank& of_rank = r < replayed.size() ? replayed[r] : none;
      otf2::RankExporter rank(trace, r, *out_, otf2::Matches(of_rank.matches));
      out_->begin_rank(r);
      WEFT_TRY(write_replayed(trace, r, of_rank, rank, {trace, *out_}, polls, *out_));
      out_->end_events();
    }
    for (std::uint32_t r = 0; r < replayed.size(); ++r) write_devices(trace, r, replayed[r].devices, *out_);
    polls.tell(kRegionsOnly, warnings);
    return out_->commit(trace);
  }

 private:
  std::unique_ptr<otf2::ArchiveWriter> out_;
};

}  // namespace

Result<void> export_otf2(TraceReader& trace, const std::string& path, const ExportOptions& options) {
  WEFT_ASSIGN(const auto out, otf2::ArchiveWriter::open(path));
  PollCount polls;
  for (std::uint32_t r = 0; r < trace.header().ranks; ++r) {
    otf2::RankExporter rank(trace, r, *out);
    out->begin_rank(r);
    WEFT_TRY(write_recorded(trace, r, rank, {trace, *out}, polls));
    out->end_events();
  }
  polls.tell(kRegionsOnly, options.warnings);
  return out->commit(trace);
}

Result<std::unique_ptr<ReplayedArchive>> open_replayed_otf2(const std::string& path) {
  WEFT_ASSIGN(auto out, otf2::ArchiveWriter::open(path));
  return std::unique_ptr<ReplayedArchive>(std::make_unique<WrittenArchive>(std::move(out)));
}

}  // namespace weft::traces
