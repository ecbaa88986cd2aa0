#include "report/timeline/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "core/byte_sum.hpp"
#include "report/timeline/span_ops.hpp"
#include "traces/request_book.hpp"

namespace weft::report {

TimelineCollector::TimelineCollector(std::uint32_t ranks, TimelineOptions options,
                                     const topology::Fabric& fabric, const std::vector<HostId>& placement,
                                     const replay::ReplayOptions& replayed)
    : options_(std::move(options)),
      seen_(options_.beside, options_.memory),
      fabric_(fabric),
      load_(fabric, placement, replayed) {
  timeline_.ranks = ranks;
  timeline_.chosen = options_.ranks;
  timeline_.from = options_.from;
  timeline_.to = options_.to;
  timeline_.beside = options_.beside;
  timeline_.memory = options_.memory;
  timeline_.calls = options_.calls;
  timeline_.spans = SortedRows<TimelineSpan, SpansByTime>(options_.beside, options_.memory);
  timeline_.messages = SortedRows<TimelineMessage, MessagesByNumber>(options_.beside, options_.memory);
  timeline_.devices = SortedRows<TimelineDevice, DevicesByTime>(options_.beside, options_.memory);
  timeline_.matches = SortedRows<TimelineMatch, MatchesByOp>(options_.beside, options_.memory / 4);
  timeline_.requests = SortedRows<TimelineRequest, RequestsBySpan>(options_.beside, options_.memory / 4);
}

void TimelineCollector::attach(replay::ReplayOptions& options) {
  // What a rank hangs in is the last thing that it did.
  options.on_hang = options.on_op = [this](RankId rank, std::uint64_t op, SimTime begin, SimTime end) {
    // What takes no time may be a mark of a region that is open then.
    const bool before = end < options_.from && begin != end;
    if (!timeline_.is_chosen(rank.index()) || before || begin > options_.to) return;
    seen_.add({.begin = begin, .end = end, .op = op, .order = seen_.size(), .rank = rank.index()});
  };
  options.on_device = [this](const replay::DeviceSeen& d) {
    if (!timeline_.is_chosen(d.rank.index()) || d.end < options_.from || d.begin > options_.to) return;
    timeline_.devices.add({d, timeline_.devices.size()});
    timeline_.lanes.resize(timeline_.ranks);
    timeline_.lanes[d.rank.index()] |= static_cast<std::uint8_t>(1u << static_cast<unsigned>(d.lane));
  };
  options.on_copy = [this](const replay::CopySeen& c) { load_.add(c); };
  options.on_message = [this](const replay::MessageSeen& m) {
    load_.add(m);
    if (!timeline_.is_chosen(m.src.index()) || !timeline_.is_chosen(m.dst.index()) ||
        m.arrived < options_.from || m.posted > options_.to)
      return;
    timeline_.messages.add({m, timeline_.messages.size()});
  };
  if (!options_.calls) return;
  options.on_match = [this, before = std::move(options.on_match)](const replay::MatchSeen& m) {
    if (before) before(m);
    if (timeline_.is_chosen(m.rank.index()))
      timeline_.matches.add({m.number, m.op, m.rank.index(), m.request});
  };
}

// Operations of a rank come in the order of its program.
void TimelineCollector::note_requests(Requests& open, const traces::OpBlock& block, const traces::Op& op,
                                      const TimelineSpan& span) {
  const auto add = [&](std::uint32_t slot, const Request& r, bool ends) {
    timeline_.requests.add(
        {span.order, r.made, timeline_.requests.size(), span.rank, slot, r.comm, r.as, ends});
  };
  const auto start = [&](std::int64_t slot) {
    const auto it = open.find(static_cast<std::uint32_t>(slot));
    if (it == open.end()) return;
    it->second.made = span.op;
    add(it->first, it->second, false);
  };
  if (op.kind == traces::OpKind::launch) return;  // computation, as the wait for it
  if (traces::makes_request(op.kind)) {
    const bool persistent = traces::makes_persistent_request(op.kind);
    const bool to_nobody = op.peer == traces::kProcNull && !traces::is_collective(op.kind);
    if (to_nobody) return void(open.erase(op.request));  // it has no message
    open[op.request] = {span.op, span.comm, persistent ? traces::started_form(op.kind) : op.kind, persistent};
    if (!persistent) start(op.request);
  } else if (op.kind == traces::OpKind::start) {
    start(op.request);
  } else if (op.kind == traces::OpKind::startall) {
    for (const std::int64_t slot : block.list(op)) start(slot);
  } else if (op.kind == traces::OpKind::request_free) {
    const auto it = open.find(op.request);
    if (it == open.end()) return;
    if (it->second.as != traces::OpKind::irecv) add(it->first, it->second, true);
    open.erase(it);
  } else if (traces::is_completion(op.kind)) {
    std::int64_t one = 0;
    for (const std::int64_t slot : traces::completed_requests(op, block.list(op), one)) {
      const auto it = open.find(static_cast<std::uint32_t>(slot));
      if (it == open.end()) continue;
      add(it->first, it->second, true);
      if (!it->second.persistent) open.erase(it);
    }
  }
}

std::int64_t listed_bytes(const traces::Op& op, std::span<const std::int64_t> list,
                          const std::vector<std::int32_t>& members, std::uint32_t rank) {
  using traces::OpKind;
  const auto sum = [](std::span<const std::int64_t> of) {
    std::uint64_t bytes = 0;
    for (const std::int64_t b : of) bytes = add_bytes(bytes, static_cast<std::uint64_t>(b));
    return static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX));
  };
  if (list.empty()) return 0;
  switch (traces::blocking_form(op.kind)) {
    case OpKind::gatherv:
    case OpKind::scatterv:
    case OpKind::allgatherv:
      return sum(list);
    case OpKind::alltoallv:
    case OpKind::alltoallw:
      return sum(list.last(list.size() / 2));
    case OpKind::reduce_scatter: {
      const auto own = std::ranges::find(members, static_cast<std::int32_t>(rank)) - members.begin();
      return own < std::ssize(list) ? list[static_cast<std::size_t>(own)] : 0;
    }
    case OpKind::neighbor_allgather:
    case OpKind::neighbor_alltoall:
      return static_cast<std::int64_t>(
          std::min(times_bytes(static_cast<std::uint64_t>(list[0]), static_cast<std::uint64_t>(op.amount)),
                   std::uint64_t{INT64_MAX}));
    case OpKind::neighbor_allgatherv:
    case OpKind::neighbor_alltoallv:
    case OpKind::neighbor_alltoallw: {
      const auto in = static_cast<std::size_t>(list[0]);
      const auto out = static_cast<std::size_t>(list[1 + in]);
      return sum(list.subspan(2 + in + out, in));
    }
    default:
      return 0;
  }
}

// Regions that are open at the time asked for begin then.
Result<void> TimelineCollector::reopen(const RegionMarks& marks) {
  std::vector<TimelineSpan> open;
  auto mark = marks.reader();
  while (mark.more()) {
    const std::uint32_t rank = mark.row().rank;
    for (; mark.more() && mark.row().rank == rank; mark.next()) {
      const TimelineSpan& s = mark.row();
      if (s.kind == traces::OpKind::region_begin) {
        open.push_back(s);
      } else if (const auto it =
                     std::ranges::find(open.rbegin(), open.rend(), s.amount, &TimelineSpan::amount);
                 it != open.rend()) {
        open.erase(std::next(it).base());
      }
    }
    for (TimelineSpan& s : open) {
      s.begin = s.end = options_.from;
      timeline_.spans.add(s);
    }
    open.clear();
  }
  return mark.status();
}

Result<Timeline> TimelineCollector::finish(traces::TraceReader& trace, Duration makespan) {
  timeline_.end = SimTime(makespan);
  timeline_.load = load_.finish(makespan);
  for (const LinkId l : timeline_.load.links) timeline_.link_names.push_back(fabric_.link_name(l));
  timeline_.regions = trace.regions();
  WEFT_TRY(timeline_.messages.finish());
  WEFT_TRY(timeline_.devices.finish());
  WEFT_TRY(seen_.finish());
  WEFT_TRY(timeline_.matches.finish());
  RegionMarks earlier(options_.beside, options_.memory);
  auto span = seen_.reader();
  for (std::uint32_t r = 0; r < timeline_.ranks; ++r) {
    Requests open;
    const auto here = [&] { return span.more() && span.row().rank == r; };
    const auto next = [&] { return here() ? std::optional(span.row().op) : std::nullopt; };
    const auto name_it = [&](const traces::OpBlock& block, const traces::Op& op,
                             std::optional<std::uint64_t> launched_by) {
      TimelineSpan s = span.row();
      s.for_accelerator = launched_by.has_value();
      s.kind = op.kind;
      s.peer = op.peer;
      s.amount = launched_by ? static_cast<std::int64_t>(*launched_by) : op.amount;
      s.comm = op.comm.index();
      if (traces::is_collective(op.kind))
        s.listed = listed_bytes(op, block.list(op), trace.communicators()[s.comm].members, r);
      if (options_.calls) note_requests(open, block, op, s);
      if (op.kind == traces::OpKind::compute_kernel || op.kind == traces::OpKind::launch)
        if (const auto list = block.list(op); !list.empty()) s.kernel = static_cast<std::uint8_t>(list[0]);
      if (s.end >= options_.from)
        timeline_.spans.add(s);
      else if (s.is_region_mark())
        earlier.add(s);
      span.next();
    };
    WEFT_TRY(for_each_op_of(RankId(r), trace, next, name_it));
    for (; here(); span.next())
      if (span.row().end >= options_.from) timeline_.spans.add(span.row());
  }
  WEFT_TRY(span.status());
  seen_ = {};
  WEFT_TRY(earlier.finish());
  if (options_.from <= timeline_.end) WEFT_TRY(reopen(earlier));
  WEFT_TRY(timeline_.spans.finish());
  WEFT_TRY(timeline_.requests.finish());
  return std::move(timeline_);
}

std::vector<LoadStep> load_steps(const Timeline& timeline, std::size_t i) {
  std::vector<LoadStep> steps;
  const LinkLoad& load = timeline.load;
  const SimTime end = std::min(timeline.to, timeline.end);
  std::int32_t last = -1;
  for (std::uint32_t b = 0; b < load.bins; ++b) {
    const SimTime begin(load.bin * static_cast<std::int64_t>(b));
    if (begin + load.bin <= timeline.from || begin >= end) continue;
    // Everything ends within the last bin: what that carried, it carried before.
    const double part = to_seconds(std::min(load.bin, SimTime(load.end) - begin)) / to_seconds(load.bin);
    const auto used = static_cast<std::int32_t>(std::lround(10'000 * load.used[i * load.bins + b] / part));
    if (used != last) steps.push_back({std::max(begin, timeline.from), used});
    last = used;
  }
  if (last > 0) steps.push_back({end, 0});
  return steps;
}

Result<std::vector<bool>> parse_rank_set(std::string_view text, std::uint32_t count, std::string_view where) {
  std::vector<bool> set(count, false);
  const auto bad = [&](std::string_view part) {
    return usage_error(fmt::format("{}: no set of ranks", where), std::string(part),
                       fmt::format("ranks below {}, as 0-3,8", count));
  };
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = std::min(part.find('-'), part.size());
    std::uint32_t low = 0, high = 0;
    const auto number = [](std::string_view t, std::uint32_t& out) {
      const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), out);
      return error == std::errc() && end == t.data() + t.size();
    };
    if (!number(part.substr(0, dash), low)) return bad(part);
    high = low;
    if (dash < part.size() && !number(part.substr(dash + 1), high)) return bad(part);
    if (high < low || high >= count) return bad(part);
    for (std::uint32_t r = low; r <= high; ++r) set[r] = true;
    if (comma == text.size()) return set;
    text.remove_prefix(comma + 1);
  }
}

void add_path(Timeline& timeline, const replay::PathResult& path) {
  for (const replay::PathSegment& s : path.segments)
    if (s.to > timeline.from && s.from < timeline.to && s.to > s.from) timeline.path.push_back(s);
}

}  // namespace weft::report
