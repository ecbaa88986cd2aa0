#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

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

std::uint64_t nanoseconds(SimTime t) {
  return static_cast<std::uint64_t>(t.time_since_epoch().count() / 1000);
}

class Writer {
 public:
  void describe(std::uint64_t uuid, std::uint64_t parent, std::string_view name, std::int32_t place) {
    auto& d = *trace_.add_packet()->mutable_track_descriptor();
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
    auto& packet = *trace_.mutable_packet(trace_.packet_size() - 1);
    packet.mutable_track_descriptor()->mutable_counter()->set_unit_name(unit);
  }
  perfetto::TrackEvent& event(SimTime t, std::uint64_t track, perfetto::TrackEvent::Type type,
                              std::string_view name) {
    auto& packet = *trace_.add_packet();
    packet.set_timestamp(nanoseconds(t));
    packet.set_trusted_packet_sequence_id(kSequence);
    packet.set_sequence_flags(fresh_ ? 3 : 2);
    fresh_ = false;
    auto& e = *packet.mutable_track_event();
    e.set_type(type);
    e.set_track_uuid(track);
    if (!name.empty()) {
      const auto [it, added] = names_.try_emplace(std::string(name), names_.size() + 1);
      e.set_name_iid(it->second);
      if (added) {
        auto& n = *packet.mutable_interned_data()->add_event_names();
        n.set_iid(it->second);
        n.set_name(it->first);
      }
    }
    return e;
  }
  // What was collected goes to the text: messages of the format may be written one after the other.
  void flush() {
    trace_.AppendToString(&text_);
    trace_.Clear();
  }
  std::string take() {
    flush();
    return std::move(text_);
  }

 private:
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

bool is_region(const TimelineSpan& s) {
  return s.kind == OpKind::region_begin || s.kind == OpKind::region_end;
}

// One end of a message on the track of its rank.
struct Mark {
  SimTime at;
  std::size_t message;
  bool sent;
};

class Track {
 public:
  Track(Writer& out, const Timeline& timeline, std::uint32_t rank, const std::vector<Mark>& marks)
      : out_(out), timeline_(timeline), uuid_(kRoot + 1 + rank), marks_(marks) {}

  void write(const std::vector<TimelineSpan>& spans) {
    SimTime last{};
    for (const TimelineSpan& s : spans) {
      last = s.end;
      if (is_region(s)) {
        region(s);
        continue;
      }
      if (s.begin == s.end && !traces::is_send(s.kind) && s.kind != OpKind::recv) continue;
      marks_before(s.begin);
      auto& e = out_.event(s.begin, uuid_, perfetto::TrackEvent::SLICE_BEGIN, name_of(s));
      annotate(e, "operation", static_cast<std::int64_t>(s.op));
      if (!traces::is_compute(s.kind) && !s.for_accelerator) {
        if (has_peer(s.kind) && s.peer >= 0) annotate(e, "peer", s.peer);
        if (has_bytes(s.kind)) annotate(e, "bytes", s.amount);
      }
      marks_before(s.end);
      out_.event(s.end, uuid_, perfetto::TrackEvent::SLICE_END, {});
    }
    marks_before(SimTime(Duration::max()));
    for (; !open_.empty(); open_.pop_back())
      out_.event(std::max(last, last_mark_), uuid_, perfetto::TrackEvent::SLICE_END, {});
  }

 private:
  void region(const TimelineSpan& s) {
    marks_before(s.begin);
    if (s.kind == OpKind::region_begin) {
      const auto id = static_cast<std::size_t>(s.amount);
      out_.event(s.begin, uuid_, perfetto::TrackEvent::SLICE_BEGIN,
                 id < timeline_.regions.size() ? timeline_.regions[id] : "region");
      open_.push_back(s.amount);
    } else if (!open_.empty() && open_.back() == s.amount) {  // slices of a track must nest
      out_.event(s.end, uuid_, perfetto::TrackEvent::SLICE_END, {});
      open_.pop_back();
    }
  }
  void marks_before(SimTime t) {
    for (; next_ < marks_.size() && marks_[next_].at < t; ++next_) {
      const Mark& mark = marks_[next_];
      const replay::MessageSeen& m = timeline_.messages[mark.message];
      last_mark_ = mark.at;
      auto& e = out_.event(mark.at, uuid_, perfetto::TrackEvent::INSTANT,
                           mark.sent ? "message sent" : "message there");
      annotate(e, mark.sent ? "to" : "from", mark.sent ? m.dst.index() : m.src.index());
      annotate(e, "bytes", m.bytes);
      annotate(e, "tag", m.tag);
      if (mark.sent)
        e.add_flow_ids(mark.message + 1);
      else
        e.add_terminating_flow_ids(mark.message + 1);
    }
  }

  Writer& out_;
  const Timeline& timeline_;
  std::uint64_t uuid_;
  const std::vector<Mark>& marks_;
  std::size_t next_ = 0;
  SimTime last_mark_{};
  std::vector<std::int64_t> open_;  // regions, innermost last
};

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

std::string perfetto(const Timeline& timeline, std::string_view title) {
  Writer out;
  out.describe(kRoot, 0, title, 0);
  add_path_track(out, timeline);
  std::vector<std::vector<Mark>> marks(timeline.ranks);
  for (std::size_t i = 0; i < timeline.messages.size(); ++i) {
    const auto& m = timeline.messages[i];
    marks[m.src.index()].push_back({m.posted, i, true});
    marks[m.dst.index()].push_back({m.arrived, i, false});
  }
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) {
    if (timeline.spans[r].empty() && marks[r].empty()) continue;
    std::stable_sort(marks[r].begin(), marks[r].end(),
                     [](const Mark& a, const Mark& b) { return a.at < b.at; });
    out.describe(kRoot + 1 + r, kRoot, "rank " + std::to_string(r), static_cast<std::int32_t>(r));
    Track(out, timeline, r, marks[r]).write(timeline.spans[r]);
    out.flush();
  }
  add_links(out, timeline);
  return out.take();
}

namespace {

class PerfettoFile final : public ReplayFiles {
 public:
  using ReplayFiles::ReplayFiles;

 private:
  [[nodiscard]] std::vector<std::string> texts(const Replayed& run) const override {
    return {perfetto(run.timeline, run.title)};
  }
};

}  // namespace

std::unique_ptr<ReplayExport> replay_export_perfetto(std::string place) {
  return std::make_unique<PerfettoFile>(std::vector{std::move(place)});
}

}  // namespace weft::report
