#include "report/html/timeline_section.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "report/html/packed.hpp"
#include "report/timeline/op_groups.hpp"
#include "report/timeline/span_ops.hpp"
#include "traces/kernel.hpp"
#include "traces/request_book.hpp"

namespace weft::report {
namespace {

using traces::OpKind;

std::string_view group_of(OpKind k) {
  if (traces::is_compute(k) || k == OpKind::task_compute) return "compute";
  if (counts_as_send(k)) return "send";
  if (traces::is_collective(k) || traces::is_comm_create(k) || k == OpKind::comm_free) return "collective";
  if (traces::is_completion(k) || k == OpKind::task_wait) return "wait";
  switch (k) {
    case OpKind::recv:
    case OpKind::irecv:
    case OpKind::task_recv:
    case OpKind::probe:
    case OpKind::mprobe:
    case OpKind::iprobe:
    case OpKind::improbe:
      return "receive";
    default:
      return "other";
  }
}

// Names of operations as small numbers.
class Kinds {
 public:
  explicit Kinds(TimelineSection& t) : t_(t) {}
  std::uint8_t of(std::string_view name, std::string_view group) {
    const auto [it, added] = ids_.try_emplace(std::string(name), static_cast<std::uint8_t>(ids_.size()));
    if (added) {
      t_.kinds.emplace_back(name);
      t_.group.emplace_back(group);
    }
    return it->second;
  }

 private:
  TimelineSection& t_;
  std::map<std::string, std::uint8_t> ids_;
};
static_assert(traces::kOpKindCount + traces::kKernelCount + 1 < 256);

// Of a run whose messages may come after the end of all ranks, at which nobody waits for them.
std::int64_t tick_of(Duration makespan, const std::vector<replay::MessageSeen>& messages) {
  Duration last = makespan;
  for (const replay::MessageSeen& m : messages) last = std::max(last, m.arrived.time_since_epoch());
  return last.count() / std::numeric_limits<std::uint32_t>::max() + 1;
}

std::uint32_t ticks(Duration d, std::int64_t tick) { return static_cast<std::uint32_t>(d.count() / tick); }
std::uint32_t ticks(SimTime t, std::int64_t tick) { return ticks(t.time_since_epoch(), tick); }

// Fills in what the spans of one rank are.
Result<void> name_spans(const std::vector<ThinSpan>& spans, RankId rank, traces::TraceReader& trace,
                        Kinds& kinds, TimelineSection& t) {
  const std::size_t first = t.kind.size();
  t.kind.resize(first + spans.size());
  t.peer.resize(first + spans.size(), -1);
  t.amount.resize(first + spans.size());
  const auto name_one = [&](std::size_t i, const traces::OpBlock& block, const traces::Op& op,
                            std::optional<std::uint64_t> launched_by) {
    if (launched_by) {
      t.kind[first + i] = kinds.of(kAcceleratorWait, "compute");
      return;
    }
    std::string_view name = traces::op_name(op.kind);
    if (op.kind == OpKind::compute_kernel)
      if (const auto list = block.list(op);
          !list.empty() && static_cast<std::size_t>(list[0]) < traces::kKernelCount)
        name = traces::kKernelNames[static_cast<std::size_t>(list[0])];
    t.kind[first + i] = kinds.of(name, group_of(op.kind));
    if (traces::is_compute(op.kind)) return;
    if (has_peer(op.kind)) t.peer[first + i] = op.peer;
    if (has_bytes(op.kind)) t.amount[first + i] = static_cast<float>(op.amount);
  };
  return for_each_span_op(spans, rank, trace, name_one);
}

// Row of the spans; nothing is told of what is after the end of the run.
void add_row(const std::vector<ThinSpan>& spans, SimTime end_of_run, TimelineSection& t) {
  t.first.push_back(static_cast<std::uint32_t>(t.gap.size()));
  std::uint32_t before = 0;
  for (const ThinSpan& s : spans) {
    const std::uint32_t begin = ticks(std::min(s.begin, end_of_run), t.tick),
                        end = ticks(std::min(s.end, end_of_run), t.tick);
    t.gap.push_back(begin - before);
    t.length.push_back(end - begin);
    t.ops.push_back(s.ops);
    before = end;
  }
}

void add_lanes(const SpanThinner& lanes, SimTime end_of_run, Kinds& kinds, TimelineSection& t) {
  t.spans_seen += lanes.seen();
  t.joined_below = std::max(t.joined_below, lanes.width());
  for (std::uint32_t row = 0; row < lanes.spans().size(); ++row) {
    const std::vector<ThinSpan>& spans = lanes.spans()[row];
    if (spans.empty()) continue;
    t.lane_rank.push_back(row / kLanes);
    t.lane.push_back(static_cast<std::uint8_t>(row % kLanes));
    add_row(spans, end_of_run, t);
    for (const ThinSpan& s : spans) {
      const bool copies = traces::is_device_copy(static_cast<traces::Kernel>(s.op));
      t.kind.push_back(kinds.of(traces::kKernelNames[s.op], copies ? "copy" : "compute"));
      t.peer.push_back(-1);
      t.amount.push_back(0);
    }
  }
}

void add_path(const replay::PathResult& path, std::size_t most, TimelineSection& t) {
  t.path_seen = path.segments.size();
  std::vector<std::uint32_t> shown(path.segments.size());
  for (std::uint32_t i = 0; i < shown.size(); ++i) shown[i] = i;
  if (shown.size() > most) {
    const auto time = [&](std::uint32_t i) { return path.segments[i].to - path.segments[i].from; };
    std::stable_sort(shown.begin(), shown.end(), [&](auto a, auto b) { return time(a) > time(b); });
    shown.resize(most);
    std::sort(shown.begin(), shown.end());
  }
  for (const std::uint32_t i : shown) {
    const replay::PathSegment& s = path.segments[i];
    t.path_rank.push_back(s.rank.index());
    t.path_receiver.push_back(s.is_message() ? s.receiver.index() : s.rank.index());
    t.path_from.push_back(ticks(s.from, t.tick));
    t.path_to.push_back(ticks(s.to, t.tick));
    t.path_part.push_back(
        static_cast<std::uint8_t>(std::max_element(s.parts.begin(), s.parts.end()) - s.parts.begin()));
  }
}

}  // namespace

void MessageThinner::add(const replay::MessageSeen& m) {
  ++seen_;
  kept_.push_back(m);
  if (kept_.size() >= 2 * std::max<std::size_t>(most_, 1)) thin();
}

// Of equal ones the earlier stays.
void MessageThinner::thin() {
  std::vector<std::uint32_t> order(kept_.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto time = [&](std::uint32_t i) { return kept_[i].arrived - kept_[i].posted; };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return time(a) > time(b); });
  order.resize(most_);
  std::sort(order.begin(), order.end());
  std::vector<replay::MessageSeen> fewer;
  fewer.reserve(order.size());
  for (const std::uint32_t i : order) fewer.push_back(kept_[i]);
  kept_ = std::move(fewer);
}

void MessageThinner::finish() {
  if (kept_.size() > most_) thin();
}

void LaneThinner::add(const replay::DeviceSeen& d) {
  if (!spans_) spans_.emplace(kLanes * ranks_, most_);
  spans_->add(kLanes * d.rank.index() + static_cast<std::uint32_t>(d.lane),
              static_cast<std::uint64_t>(d.kernel), d.begin, d.end);
}

Result<TimelineSection> timeline_section(const SpanThinner& spans, const LaneThinner& lanes,
                                         const MessageThinner& messages, const replay::ReplayResult& result,
                                         traces::TraceReader& trace, std::size_t most_path) {
  TimelineSection t;
  t.ranks = static_cast<std::uint32_t>(spans.spans().size());
  t.tick = tick_of(result.makespan, messages.messages());
  t.spans_seen = spans.seen();
  t.joined_below = spans.width();
  Kinds kinds(t);
  const SimTime end_of_run(result.makespan);
  for (std::uint32_t r = 0; r < t.ranks; ++r) {
    add_row(spans.spans()[r], end_of_run, t);
    WEFT_TRY(name_spans(spans.spans()[r], RankId(r), trace, kinds, t));
  }
  if (lanes.spans() != nullptr) add_lanes(*lanes.spans(), end_of_run, kinds, t);
  t.first.push_back(static_cast<std::uint32_t>(t.gap.size()));
  t.messages_seen = messages.seen();
  for (const replay::MessageSeen& m : messages.messages()) {
    t.src.push_back(m.src.index());
    t.dst.push_back(m.dst.index());
    t.sent.push_back(ticks(m.posted, t.tick));
    t.arrived.push_back(ticks(m.arrived, t.tick));
    t.bytes.push_back(static_cast<float>(m.bytes));
  }
  if (result.path.known) add_path(result.path, most_path, t);
  return t;
}

nlohmann::ordered_json to_json(const TimelineSection& t) {
  using Json = nlohmann::ordered_json;
  return Json{{"ranks", t.ranks},
              {"tick_s", static_cast<double>(t.tick) * 1e-12},
              {"lanes", Json{{"rank", packed(t.lane_rank)}, {"lane", packed(t.lane)}}},
              {"lane_names", kLaneNames},
              {"kinds", t.kinds},
              {"groups", t.group},
              {"spans", Json{{"first", packed(t.first)},
                             {"gap", packed(t.gap)},
                             {"length", packed(t.length)},
                             {"kind", packed(t.kind)},
                             {"ops", packed(t.ops)},
                             {"peer", packed(t.peer)},
                             {"amount", packed(t.amount)}}},
              {"operations", t.spans_seen},
              {"joined_below_s", to_seconds(t.joined_below)},
              {"messages", Json{{"src", packed(t.src)},
                                {"dst", packed(t.dst)},
                                {"sent", packed(t.sent)},
                                {"arrived", packed(t.arrived)},
                                {"bytes", packed(t.bytes)}}},
              {"messages_total", t.messages_seen},
              {"path", Json{{"rank", packed(t.path_rank)},
                            {"receiver", packed(t.path_receiver)},
                            {"from", packed(t.path_from)},
                            {"to", packed(t.path_to)},
                            {"part", packed(t.path_part)}}},
              {"path_parts", replay::kPathPartNames},
              {"path_total", t.path_seen}};
}

}  // namespace weft::report
