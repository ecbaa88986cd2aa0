#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "report/timeline/op_groups.hpp"
#include "report/timeline/perfetto.pb.h"
#include "report/timeline/replay_export.hpp"
#include "traces/kernel.hpp"

namespace weft::report {
namespace {

using traces::OpKind;

constexpr std::uint32_t kSequence = 1;
// uuids of the tracks above those of the ranks and above those of the links, and of the critical path
constexpr std::uint64_t kRoot = 1, kLinks = std::uint64_t{1} << 40, kPathTrack = kLinks - 1;
// Lanes of accelerators: kDevices + kLanes * rank + lane.
constexpr std::uint64_t kDevices = std::uint64_t{1} << 41;

// The arrow from a launch to what was launched and on to who waits for it; those of messages count from 1. 0: none, of what is
// beyond the numbers that there are.
std::uint64_t launch_arrow(std::uint32_t rank, std::uint64_t op) {
  constexpr int kOpBits = 39;
  if (rank >= 1u << 24 || op >> kOpBits != 0) return 0;
  return std::uint64_t{1} << 63 | std::uint64_t{rank} << kOpBits | op;
}

std::uint64_t nanoseconds(SimTime t) {
  return static_cast<std::uint64_t>(t.time_since_epoch().count() / 1000);
}

class Writer {
 public:
  explicit Writer(const TextSink& out) : out_(out) {}
  void describe(std::uint64_t uuid, std::uint64_t parent, std::string_view name, std::int32_t place) {
    auto& d = *packet().mutable_track_descriptor();
    d.set_uuid(uuid);
    d.set_name(std::string(name));
    if (parent == 0) {
      d.set_child_ordering(perfetto::TrackDescriptor::EXPLICIT);
    } else {
      d.set_parent_uuid(parent);
      d.set_sibling_order_rank(place);
    }
  }
  void describe_counter(std::uint64_t uuid, std::uint64_t parent, std::string_view name, std::int32_t place,
                        const char* unit) {
    describe(uuid, parent, name, place);
    trace_.mutable_packet(trace_.packet_size() - 1)
        ->mutable_track_descriptor()
        ->mutable_counter()
        ->set_unit_name(unit);
  }
  perfetto::TrackEvent& event(SimTime t, std::uint64_t track, perfetto::TrackEvent::Type type,
                              std::string_view name) {
    auto& p = packet();
    p.set_timestamp(nanoseconds(t));
    p.set_trusted_packet_sequence_id(kSequence);
    p.set_sequence_flags(fresh_ ? 3 : 2);
    fresh_ = false;
    auto& e = *p.mutable_track_event();
    e.set_type(type);
    e.set_track_uuid(track);
    if (!name.empty()) {
      const auto [it, added] = names_.try_emplace(std::string(name), names_.size() + 1);
      e.set_name_iid(it->second);
      if (added) {
        auto& n = *p.mutable_interned_data()->add_event_names();
        n.set_iid(it->second);
        n.set_name(it->first);
      }
    }
    return e;
  }
  // What was collected goes out: messages of the format may be written one after the other.
  void flush() {
    text_.clear();
    trace_.AppendToString(&text_);
    trace_.Clear();
    out_(text_);
  }

 private:
  static constexpr int kPackets = 1024;  // at once
  // A new one: what refers to those before is done.
  perfetto::TracePacket& packet() {
    if (trace_.packet_size() >= kPackets) flush();
    return *trace_.add_packet();
  }
  const TextSink& out_;
  perfetto::Trace trace_;
  std::string text_;
  std::map<std::string, std::uint64_t> names_;
  bool fresh_ = true;
};

void annotate(perfetto::TrackEvent& e, const char* name, std::int64_t value) {
  auto& a = *e.add_debug_annotations();
  a.set_name(name);
  a.set_int_value(value);
}

std::string_view name_of(const TimelineSpan& s) {
  if (s.kind == OpKind::compute_kernel && s.kernel < traces::kKernelCount)
    return traces::kKernelNames[s.kernel];
  if (s.for_accelerator) return kAcceleratorWait;
  return traces::op_name(s.kind);
}

// One end of a message on the track of its rank.
struct Mark {
  SimTime at;
  std::uint64_t message;
  std::int64_t bytes;
  std::uint32_t rank, other;
  std::int32_t tag;
  bool sent;
};
struct MarksByTime {
  bool operator()(const Mark& a, const Mark& b) const {
    return std::tie(a.rank, a.at, a.message, b.sent) < std::tie(b.rank, b.at, b.message, a.sent);
  }
};
using Marks = SortedRows<Mark, MarksByTime>;
using Spans = SortedRows<TimelineSpan, SpansByTime>;
using Devices = SortedRows<TimelineDevice, DevicesByTime>;

Result<Marks> marks_of(const Timeline& timeline) {
  Marks marks(timeline.beside, timeline.memory);
  auto message = timeline.messages.reader();
  for (; message.more(); message.next()) {
    const replay::MessageSeen& m = message.row().seen;
    const std::uint64_t i = message.row().number;
    const std::uint32_t src = m.src.index(), dst = m.dst.index();
    marks.add({m.posted, i, m.bytes, src, dst, m.tag, true});
    marks.add({m.arrived, i, m.bytes, dst, src, m.tag, false});
  }
  WEFT_TRY(message.status());
  WEFT_TRY(marks.finish());
  return marks;
}

// What one rank did, from where both readers are: at its first span and its first mark, or at those of a later rank.
class Track {
 public:
  Track(Writer& out, const Timeline& timeline, std::uint32_t rank, Spans::Reader& spans, Marks::Reader& marks)
      : out_(out), timeline_(timeline), rank_(rank), uuid_(kRoot + 1 + rank), spans_(spans), marks_(marks) {}

  void write() {
    if (!has_span() && !has_mark()) return;
    // The lanes of its accelerator come behind it.
    const std::uint32_t place = timeline_.lanes.empty() ? rank_ : (kLanes + 1) * rank_;
    out_.describe(uuid_, kRoot, "rank " + std::to_string(rank_), static_cast<std::int32_t>(place));
    SimTime last{};
    for (; has_span(); spans_.next()) {
      const TimelineSpan& s = spans_.row();
      last = s.end;
      if (s.is_region_mark()) {
        region(s);
        continue;
      }
      if (s.kind == OpKind::launch) {
        launch(s);
        continue;
      }
      if (s.begin == s.end && !traces::is_send(s.kind) && s.kind != OpKind::recv) continue;
      // Slices of a track nest by their times, and the regions that it is in begin at the time asked for.
      const SimTime begin = std::max(s.begin, timeline_.from);
      marks_before(begin);
      auto& e = out_.event(begin, uuid_, perfetto::TrackEvent::SLICE_BEGIN, name_of(s));
      annotate(e, "operation", static_cast<std::int64_t>(s.op));
      if (!traces::is_compute(s.kind) && !s.for_accelerator) {
        if (has_peer(s.kind) && s.peer >= 0) annotate(e, "peer", s.peer);
        if (has_bytes(s.kind)) annotate(e, "bytes", s.amount);
      }
      if (s.for_accelerator)
        if (const auto arrow = launch_arrow(rank_, static_cast<std::uint64_t>(s.amount)); arrow != 0)
          e.add_terminating_flow_ids(arrow);
      marks_before(s.end);
      out_.event(s.end, uuid_, perfetto::TrackEvent::SLICE_END, {});
    }
    marks_before(std::nullopt);
    for (; !open_.empty(); open_.pop_back()) end_region(std::max(last, last_mark_));
  }

 private:
  // Takes no time: an arrow begins there.
  void launch(const TimelineSpan& s) {
    marks_before(s.begin);
    auto& e =
        out_.event(s.begin, uuid_, perfetto::TrackEvent::INSTANT,
                   s.kernel < traces::kKernelCount ? fmt::format("launch {}", traces::kKernelNames[s.kernel])
                                                   : "launch");
    annotate(e, "operation", static_cast<std::int64_t>(s.op));
    if (const auto arrow = launch_arrow(rank_, s.op); arrow != 0) e.add_flow_ids(arrow);
  }
  void region(const TimelineSpan& s) {
    marks_before(s.begin);
    if (s.kind == OpKind::region_begin) {
      open_.push_back(s.amount);
      begin_region(s.begin, s.amount);
    } else if (const auto it = std::ranges::find(open_.rbegin(), open_.rend(), s.amount);
               it != open_.rend()) {
      // Slices of a track must nest: those inside of this one end with it and go on behind it.
      const auto ended = open_.erase(std::next(it).base());
      for (auto inner = ended; inner != open_.end(); ++inner) end_region(s.end);
      end_region(s.end);
      for (auto inner = ended; inner != open_.end(); ++inner) begin_region(s.end, *inner);
    }
  }
  void begin_region(SimTime at, std::int64_t region) {
    const auto id = static_cast<std::size_t>(region);
    out_.event(at, uuid_, perfetto::TrackEvent::SLICE_BEGIN,
               id < timeline_.regions.size() ? timeline_.regions[id] : "region");
  }
  void end_region(SimTime at) { out_.event(at, uuid_, perfetto::TrackEvent::SLICE_END, {}); }
  [[nodiscard]] bool has_span() const { return spans_.more() && spans_.row().rank == rank_; }
  [[nodiscard]] bool has_mark() const { return marks_.more() && marks_.row().rank == rank_; }
  // All that are left without `t`.
  void marks_before(std::optional<SimTime> t) {
    for (; has_mark() && (!t || marks_.row().at < *t); marks_.next()) {
      const Mark& m = marks_.row();
      last_mark_ = m.at;
      auto& e =
          out_.event(m.at, uuid_, perfetto::TrackEvent::INSTANT, m.sent ? "message sent" : "message there");
      annotate(e, m.sent ? "to" : "from", m.other);
      annotate(e, "bytes", m.bytes);
      annotate(e, "tag", m.tag);
      if (m.sent)
        e.add_flow_ids(m.message + 1);
      else
        e.add_terminating_flow_ids(m.message + 1);
    }
  }

  Writer& out_;
  const Timeline& timeline_;
  std::uint32_t rank_;
  std::uint64_t uuid_;
  Spans::Reader& spans_;
  Marks::Reader& marks_;
  SimTime last_mark_{};
  std::vector<std::int64_t> open_;  // regions, innermost last
};

// What the accelerator of a rank did, from where the reader is: at the first of that rank, or of a later one.
void add_devices(Writer& out, std::uint32_t rank, Devices::Reader& devices) {
  std::optional<replay::DeviceSeen::Lane> lane;
  for (; devices.more() && devices.row().seen.rank == RankId(rank); devices.next()) {
    const replay::DeviceSeen& d = devices.row().seen;
    const auto number = static_cast<std::uint32_t>(d.lane);
    const std::uint64_t uuid = kDevices + std::uint64_t{kLanes} * rank + number;
    if (lane != d.lane)
      out.describe(uuid, kRoot, fmt::format("rank {} {}", rank, kLaneNames[number]),
                   static_cast<std::int32_t>((kLanes + 1) * rank + 1 + number));
    lane = d.lane;
    if (d.begin == d.end) continue;
    auto& e = out.event(d.begin, uuid, perfetto::TrackEvent::SLICE_BEGIN,
                        traces::kKernelNames[static_cast<std::size_t>(d.kernel)]);
    annotate(e, "operation", static_cast<std::int64_t>(d.op));
    if (const auto arrow = launch_arrow(rank, d.op); arrow != 0) e.add_flow_ids(arrow);
    out.event(d.end, uuid, perfetto::TrackEvent::SLICE_END, {});
  }
}

void add_links(Writer& out, const Timeline& timeline) {
  if (timeline.link_names.empty()) return;
  out.describe(kLinks, 0, "links, the busiest first", 0);
  for (std::size_t i = 0; i < timeline.link_names.size(); ++i) {
    const std::uint64_t uuid = kLinks + 1 + i;
    out.describe_counter(uuid, kLinks, timeline.link_names[i], static_cast<std::int32_t>(i),
                         "% of bandwidth");
    for (const LoadStep& step : load_steps(timeline, i))
      out.event(step.at, uuid, perfetto::TrackEvent::COUNTER, {}).set_double_counter_value(step.used / 100.0);
    out.flush();
  }
}

// The first of the tracks: whose time, or which message, it is that the end waits for.
void add_path_track(Writer& out, const Timeline& timeline) {
  if (timeline.path.empty()) return;
  out.describe(kPathTrack, kRoot, "critical path", -1);
  for (const replay::PathSegment& s : timeline.path) {
    std::string name = s.copy           ? fmt::format("copy of rank {}", s.rank.index())
                       : s.is_message() ? fmt::format("message {} to {}", s.rank.index(), s.receiver.index())
                                        : fmt::format("rank {}", s.rank.index());
    if (!s.is_message() && s.region.valid() && s.region.index() < timeline.regions.size())
      name += ": " + timeline.regions[s.region.index()];
    auto& e = out.event(s.from, kPathTrack, perfetto::TrackEvent::SLICE_BEGIN, name);
    annotate(e, s.is_message() ? "bytes" : "operation",
             static_cast<std::int64_t>(s.is_message() ? s.bytes : s.op));
    for (std::size_t p = 0; p < s.parts.size(); ++p)
      if (s.parts[p].count() != 0)
        annotate(e, fmt::format("{}_ps", replay::kPathPartNames[p]).c_str(), s.parts[p].count());
    out.event(s.to, kPathTrack, perfetto::TrackEvent::SLICE_END, {});
  }
  out.flush();
}

}  // namespace

Result<void> write_perfetto(const Timeline& timeline, std::string_view title, const TextSink& to) {
  Writer out(to);
  out.describe(kRoot, 0, title, 0);
  add_path_track(out, timeline);
  WEFT_ASSIGN(const Marks all_marks, marks_of(timeline));
  auto spans = timeline.spans.reader();
  auto marks = all_marks.reader();
  auto devices = timeline.devices.reader();
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) {
    Track(out, timeline, r, spans, marks).write();
    add_devices(out, r, devices);
  }
  WEFT_TRY(spans.status());
  WEFT_TRY(marks.status());
  WEFT_TRY(devices.status());
  add_links(out, timeline);
  out.flush();
  return {};
}

namespace {

class PerfettoFile final : public ReplayFiles {
 public:
  using ReplayFiles::ReplayFiles;

 private:
  [[nodiscard]] Result<void> write_files(const Replayed& run, std::span<AtomicFile> files) const override {
    return write_perfetto(run.timeline, run.title, [&files](std::string_view text) { files[0].write(text); });
  }
};

}  // namespace

std::unique_ptr<ReplayExport> replay_export_perfetto(std::string place) {
  return std::make_unique<PerfettoFile>(std::vector{std::move(place)});
}

}  // namespace weft::report
