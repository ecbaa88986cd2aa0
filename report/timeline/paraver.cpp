#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "core/append_text.hpp"
#include "report/timeline/extrae_events.hpp"
#include "report/timeline/op_groups.hpp"
#include "report/timeline/replay_export.hpp"
#include "traces/kernel.hpp"

namespace weft::report {
namespace {

using traces::OpKind;

// Beside Extrae's (extrae_events.hpp).
constexpr std::uint32_t kRegion = 60000019, kKernel = 60000119, kLinkLoad = 60000219, kPathEvent = 60000319;

struct State {
  int number;
  const char* name;
  const char* color;
};
constexpr State kRunning{1, "Running", "{0,0,255}"};
constexpr int kIdle = 0, kMemoryTransfer = 17;
constexpr std::array<State, 18> kStates{{{0, "Idle", "{117,195,255}"},
                                         kRunning,
                                         {2, "Not created", "{255,255,255}"},
                                         {3, "Waiting a message", "{255,0,0}"},
                                         {4, "Blocking Send", "{255,0,174}"},
                                         {5, "Synchronization", "{179,0,0}"},
                                         {6, "Test/Probe", "{0,255,0}"},
                                         {7, "Scheduling and Fork/Join", "{255,255,0}"},
                                         {8, "Wait/WaitAll", "{235,0,0}"},
                                         {9, "Blocked", "{0,162,0}"},
                                         {10, "Immediate Send", "{255,0,255}"},
                                         {11, "Immediate Receive", "{100,100,177}"},
                                         {12, "I/O", "{172,174,41}"},
                                         {13, "Group Communication", "{255,144,26}"},
                                         {14, "Tracing Disabled", "{2,255,177}"},
                                         {15, "Others", "{192,224,0}"},
                                         {16, "Send Receive", "{66,66,66}"},
                                         {17, "Memory transfer", "{255,0,96}"}}};

int state_of(OpKind k) {
  if (traces::is_compute(k) || k == OpKind::task_compute) return 1;
  if (k == OpKind::sendrecv) return 16;
  if (traces::is_blocking_send(k)) return 4;
  if (counts_as_send(k)) return 10;
  if (k == OpKind::recv || k == OpKind::task_recv) return 3;
  if (k == OpKind::irecv) return 11;
  if ((k >= OpKind::wait && k <= OpKind::waitsome) || k == OpKind::task_wait) return 8;
  if (k >= OpKind::test && k <= OpKind::improbe) return 6;
  if (k == OpKind::barrier) return 5;
  if (traces::is_collective(k) || traces::is_comm_create(k)) return 13;
  return 15;
}

std::int64_t ns(SimTime t) { return t.time_since_epoch().count() / 1000; }

// A line of the .prv that is of one rank, before it is text.
struct Record {
  std::int64_t at = 0;
  std::int64_t value = 0;   // of an event; a state's end
  std::uint64_t order = 0;  // of what a rank does at one instant
  std::uint32_t rank = 0;
  std::uint32_t type = 0;    // of an event; 0: a state
  std::uint16_t thread = 0;  // of the rank: 0 it itself, then its lanes
  std::int16_t state = 0;
};
struct RecordsByTime {
  bool operator()(const Record& a, const Record& b) const {
    return std::tie(a.at, a.order) < std::tie(b.at, b.order);
  }
};

using RecordRows = SortedRows<Record, RecordsByTime>;

// `order` is as they are added: what a rank does at one instant stays in its order.
class Records {
 public:
  explicit Records(const Timeline& timeline) : rows_(timeline.beside, timeline.memory) {}
  // Whose thread the next ones are.
  void thread(std::uint16_t of_rank) { thread_ = of_rank; }
  void state(std::uint32_t rank, SimTime from, SimTime to, int state) {
    if (ns(to) > ns(from))
      rows_.add({ns(from), ns(to), rows_.size(), rank, 0, thread_, static_cast<std::int16_t>(state)});
  }
  void event(std::uint32_t rank, SimTime at, std::uint32_t type, std::int64_t value) {
    rows_.add({ns(at), value, rows_.size(), rank, type, thread_, 0});
  }
  [[nodiscard]] Result<RecordRows> finish() && {
    WEFT_TRY(rows_.finish());
    return std::move(rows_);
  }

 private:
  RecordRows rows_;
  std::uint16_t thread_ = 0;
};

// `spans` is at the first of the rank, or of a later one.
void add_rank(Records& out, const Timeline& timeline, std::uint32_t rank,
              SortedRows<TimelineSpan, SpansByTime>::Reader& spans) {
  SimTime last{};
  for (; spans.more() && spans.row().rank == rank; spans.next()) {
    const TimelineSpan& s = spans.row();
    if (s.is_region_mark()) {
      out.event(rank, s.begin, kRegion, s.kind == OpKind::region_begin ? s.amount + 1 : 0);
      continue;
    }
    out.state(rank, s.begin, s.end, s.for_accelerator ? kRunning.number : state_of(s.kind));
    last = s.end;
    if (s.kind == OpKind::launch || s.for_accelerator) continue;  // no calls of MPI
    if (s.kind == OpKind::compute_kernel) {
      out.event(rank, s.begin, kKernel, s.kernel + 1);
      out.event(rank, s.end, kKernel, 0);
    } else if (const ExtraeEvent& call = extrae_event(s.kind); call.value != 0) {
      out.event(rank, s.begin, call.type, call.value);
      out.event(rank, s.end, call.type, 0);
    }
  }
  // Operations follow each other, so a rank whose last one is over before the time asked for is done. Of others nothing is known.
  if (timeline.is_chosen(rank))
    out.state(rank, std::max(last, timeline.from), std::min(timeline.to, timeline.end), 0);
}

// The threads of a rank: it itself, then what its accelerator has.
std::uint32_t threads_of(const Timeline& timeline, std::uint32_t rank) {
  return 1 + (timeline.lanes.empty() ? 0u : static_cast<std::uint32_t>(std::popcount(timeline.lanes[rank])));
}
std::uint16_t thread_of(const Timeline& timeline, const replay::DeviceSeen& d) {
  const unsigned before = (1u << static_cast<unsigned>(d.lane)) - 1;
  return static_cast<std::uint16_t>(1 + std::popcount(timeline.lanes[d.rank.index()] & before));
}

// Lane by lane; idle where nothing is told. What goes on after all ranks is cut off: a file ends with the replay.
Result<void> add_devices(Records& out, const Timeline& timeline) {
  const SimTime end = std::min(timeline.to, timeline.end);
  auto device = timeline.devices.reader();
  while (device.more()) {
    const replay::DeviceSeen lane = device.row().seen;
    const std::uint32_t rank = lane.rank.index();
    SimTime last = timeline.from;
    out.thread(thread_of(timeline, lane));
    for (; device.more() && device.row().seen.rank == lane.rank && device.row().seen.lane == lane.lane;
         device.next()) {
      const replay::DeviceSeen& d = device.row().seen;
      const SimTime over = std::min(d.end, timeline.end);
      if (over <= d.begin) continue;
      out.state(rank, last, d.begin, kIdle);
      out.state(rank, d.begin, over, traces::is_device_copy(d.kernel) ? kMemoryTransfer : kRunning.number);
      out.event(rank, d.begin, kKernel, static_cast<std::int64_t>(d.kernel) + 1);
      out.event(rank, over, kKernel, 0);
      last = std::max(last, over);
    }
    out.state(rank, last, end, kIdle);
  }
  out.thread(0);
  return device.status();
}

// Of a rank: its own time is on the critical path, or a message that it waits for is.
constexpr std::int64_t kOwnTime = 1, kAwaited = 2;

void add_path_events(Records& out, const Timeline& timeline) {
  for (const replay::PathSegment& s : timeline.path) {
    const std::uint32_t rank = s.waiter().index();
    if (!timeline.is_chosen(rank)) continue;
    out.event(rank, s.from, kPathEvent, s.is_message() ? kAwaited : kOwnTime);
    out.event(rank, s.to, kPathEvent, 0);
  }
}

// A name is the rest of its line, and of some files as many lines as are said above them.
std::string on_one_line(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return name;
}

}  // namespace

std::string paraver_pcf(const Timeline& timeline) {
  std::string out =
      "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\nLOOK_BACK           "
      "100\nSPEED               1\n"
      "FLAG_ICONS          ENABLED\nNUM_OF_STATE_COLORS 1000\nYMAX_SCALE          "
      "37\n\n\nDEFAULT_SEMANTIC\n\nTHREAD_FUNC         "
      " State As Is\n\n\nSTATES\n";
  for (const State& s : kStates) out += fmt::format("{}    {}\n", s.number, s.name);
  out += "\n\nSTATES_COLOR\n";
  for (const State& s : kStates) out += fmt::format("{}    {}\n", s.number, s.color);
  const auto type = [&](std::uint32_t number, std::string_view name, const auto& values,
                        const char* none = "End") {
    out += fmt::format("\n\nEVENT_TYPE\n9    {}    {}\nVALUES\n0      {}\n", number, name, none);
    for (const auto& [value, text] : values) out += fmt::format("{}      {}\n", value, text);
  };
  using Values = std::vector<std::pair<std::int64_t, std::string>>;
  for (const ExtraeEventType& t : extrae::kTypes) {
    Values values;
    for (const ExtraeEvent& e : extrae::kEvents)
      if (e.type == t.number) values.emplace_back(e.value, e.label);
    type(t.number, t.label, values, "Outside MPI");
  }
  Values kernels, regions;
  for (std::size_t k = 0; k < traces::kKernelCount; ++k)
    kernels.emplace_back(static_cast<std::int64_t>(k) + 1, std::string(traces::kKernelNames[k]));
  type(kKernel, "Kernel", kernels);
  for (std::size_t i = 0; i < timeline.regions.size(); ++i)
    regions.emplace_back(static_cast<std::int64_t>(i) + 1, on_one_line(timeline.regions[i]));
  type(kRegion, "User function", regions);
  if (!timeline.path.empty())
    type(kPathEvent, "Critical path",
         Values{{kOwnTime, "own time"}, {kAwaited, "message that is waited for"}});
  if (!timeline.link_names.empty())
    out += fmt::format("\n\nEVENT_TYPE\n1    {}    Link load, hundredths of a percent of the bandwidth\n",
                       kLinkLoad);
  return out + "\n";
}

namespace {

Result<RecordRows> records_of(const Timeline& timeline) {
  Records records(timeline);
  auto spans = timeline.spans.reader();
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) add_rank(records, timeline, r, spans);
  WEFT_TRY(spans.status());
  WEFT_TRY(add_devices(records, timeline));
  add_path_events(records, timeline);
  return std::move(records).finish();
}

struct MessagesByTime {
  bool operator()(const TimelineMessage& a, const TimelineMessage& b) const {
    return std::tuple(ns(a.seen.posted), a.number) < std::tuple(ns(b.seen.posted), b.number);
  }
};

struct SortedMessages {
  SortedRows<TimelineMessage, MessagesByTime> rows;
  SimTime last{};  // when the last one is there: after all ranks have ended where nobody waits for it
};
Result<SortedMessages> messages_by_time(const Timeline& timeline) {
  SortedMessages sorted{SortedRows<TimelineMessage, MessagesByTime>(timeline.beside, timeline.memory), {}};
  auto m = timeline.messages.reader();
  for (; m.more(); m.next()) {
    sorted.rows.add(m.row());
    sorted.last = std::max({sorted.last, m.row().seen.arrived, m.row().seen.received});
  }
  WEFT_TRY(m.status());
  WEFT_TRY(sorted.rows.finish());
  return sorted;
}

struct Load {
  std::int64_t at;
  std::uint32_t link;
  std::int32_t used;
};
std::vector<Load> loads_by_time(const Timeline& timeline) {
  std::vector<Load> loads;
  for (std::uint32_t l = 0; l < timeline.link_names.size(); ++l)
    for (const LoadStep& step : load_steps(timeline, l)) loads.push_back({ns(step.at), l, step.used});
  std::ranges::stable_sort(loads, {}, &Load::at);
  return loads;
}

std::uint32_t thread_count(const Timeline& timeline) {
  std::uint32_t threads = 0;
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) threads += threads_of(timeline, r);
  return threads;
}

std::uint32_t node_count(const std::vector<std::uint32_t>& node_of_rank) {
  std::uint32_t nodes = 0;
  for (const std::uint32_t n : node_of_rank) nodes = std::max(nodes, n + 1);
  return nodes;
}

void write_head(TextPieces& out, const Timeline& timeline, SimTime end,
                const std::vector<std::uint32_t>& node_of_rank, const std::vector<std::uint32_t>& on_node,
                const std::vector<traces::Communicator>& communicators) {
  const auto links = static_cast<std::uint32_t>(timeline.link_names.size());
  const auto nodes = static_cast<std::uint32_t>(on_node.size());
  // No date: the same replay gives the same bytes.
  out.add("#Paraver (01/01/70 at 00:00):{}_ns:{}(", ns(end), nodes + (links > 0 ? 1 : 0));
  for (std::uint32_t n = 0; n < nodes; ++n) out.add("{}{}", n == 0 ? "" : ",", on_node[n]);
  if (links > 0) out.add(",{}", links);
  out.add("):{}:{}(", links > 0 ? 2 : 1, timeline.ranks);
  for (std::uint32_t r = 0; r < timeline.ranks; ++r)
    out.add("{}{}:{}", r == 0 ? "" : ",", threads_of(timeline, r), node_of_rank[r] + 1);
  out.add(")");
  if (links > 0) out.add(":1({}:{})", links, nodes + 1);
  out.add(",{}\n", communicators.size());
  for (std::size_t c = 0; c < communicators.size(); ++c) {
    out.add("c:1:{}:{}", c + 1, communicators[c].members.size());
    for (const std::int32_t m : communicators[c].members) out.add(":{}", m + 1);
    out.add("\n");
  }
}

}  // namespace

Result<void> write_prv(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank,
                       const std::vector<traces::Communicator>& communicators, const TextSink& to) {
  // A processor for each rank and each thread of its accelerator, numbered node by node.
  const std::uint32_t nodes = node_count(node_of_rank);
  std::vector<std::uint32_t> on_node(nodes, 0), first(nodes, 1), cpu(timeline.ranks);
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) {
    cpu[r] = on_node[node_of_rank[r]];
    on_node[node_of_rank[r]] += threads_of(timeline, r);
  }
  for (std::uint32_t n = 1; n < nodes; ++n) first[n] = first[n - 1] + on_node[n - 1];
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) cpu[r] += first[node_of_rank[r]];

  WEFT_ASSIGN(const auto records, records_of(timeline));
  WEFT_ASSIGN(const auto messages, messages_by_time(timeline));
  const std::vector<Load> loads = loads_by_time(timeline);

  const std::uint32_t threads = thread_count(timeline);
  TextPieces out(to);
  write_head(out, timeline, std::max(timeline.end, messages.last), node_of_rank, on_node, communicators);
  // At one instant ranks come first, then messages, then links.
  auto record = records.reader();
  auto message = messages.rows.reader();
  auto load = loads.begin();
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  while (true) {
    const std::int64_t of_rank = record.more() ? record.row().at : kNever;
    const std::int64_t of_message = message.more() ? ns(message.row().seen.posted) : kNever;
    const std::int64_t of_link = load != loads.end() ? load->at : kNever;
    const std::int64_t at = std::min({of_rank, of_message, of_link});
    if (at == kNever) break;
    if (at == of_rank) {
      const Record& r = record.row();
      if (r.type == 0)
        out.add("1:{}:1:{}:{}:{}:{}:{}\n", cpu[r.rank] + r.thread, r.rank + 1, r.thread + 1, r.at, r.value,
                r.state);
      else
        out.add("2:{}:1:{}:{}:{}:{}:{}\n", cpu[r.rank] + r.thread, r.rank + 1, r.thread + 1, r.at, r.type,
                r.value);
      record.next();
    } else if (at == of_message) {
      const replay::MessageSeen& m = message.row().seen;
      const std::uint32_t a = m.src.index(), b = m.dst.index();
      out.add("3:{}:1:{}:1:{}:{}:{}:1:{}:1:{}:{}:{}:{}\n", cpu[a], a + 1, ns(m.posted), ns(m.left), cpu[b],
              b + 1, ns(m.received), ns(m.arrived), m.bytes, m.tag);
      message.next();
    } else {
      out.add("2:{}:2:1:{}:{}:{}:{}\n", threads + load->link + 1, load->link + 1, load->at, kLinkLoad,
              load->used);
      ++load;
    }
  }
  WEFT_TRY(record.status());
  WEFT_TRY(message.status());
  out.flush();
  return {};
}

std::string paraver_row(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank) {
  std::string out;
  const auto head = [&out](const char* level, std::size_t names) {
    out += fmt::format("{}LEVEL {} SIZE {}\n", out.empty() ? "" : "\n", level, names);
  };
  const auto names = [&](const char* level, std::uint32_t count, const char* name, auto&& more) {
    head(level, count + more.size());
    for (std::uint32_t i = 0; i < count; ++i) out += fmt::format("{} {}\n", name, i + 1);
    for (const std::string& text : more) out += on_one_line(text) + "\n";
  };
  const std::vector<std::string> network(timeline.link_names.empty() ? 0 : 1, "links");
  const std::uint32_t threads = thread_count(timeline);
  names("CPU", threads, "cpu", timeline.link_names);
  names("NODE", node_count(node_of_rank), "node", network);
  head("THREAD", threads + timeline.link_names.size());
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) {
    out += fmt::format("rank {}\n", r);
    for (std::size_t l = 0; l < kLaneNames.size(); ++l)
      if (!timeline.lanes.empty() && (timeline.lanes[r] >> l & 1) != 0)
        out += fmt::format("rank {} {}\n", r, kLaneNames[l]);
  }
  for (const std::string& link : timeline.link_names) out += on_one_line(link) + "\n";
  return out;
}

namespace {

class ParaverFiles final : public ReplayFiles {
 public:
  // NAME, or NAME.prv as the viewer's own dialogs call it.
  explicit ParaverFiles(std::string place) : ReplayFiles(files_of(place)), place_(std::move(place)) {}
  [[nodiscard]] Result<void> open() override {
    if (is_standard_output(place_))
      return usage_error("what Paraver reads are three files", place_, "paraver:NAME");
    return ReplayFiles::open();
  }

 private:
  static std::vector<std::string> files_of(std::string name) {
    if (name.ends_with(".prv")) name.resize(name.size() - 4);
    return {name + ".prv", name + ".pcf", name + ".row"};
  }
  [[nodiscard]] Result<void> write_files(const Replayed& run, std::span<AtomicFile> files) const override {
    WEFT_TRY(write_prv(run.timeline, run.node_of_rank, run.trace.communicators(),
                       [&files](std::string_view text) { files[0].write(text); }));
    files[1].write(paraver_pcf(run.timeline));
    files[2].write(paraver_row(run.timeline, run.node_of_rank));
    return {};
  }
  std::string place_;
};

}  // namespace

std::unique_ptr<ReplayExport> replay_export_paraver(std::string place) {
  return std::make_unique<ParaverFiles>(std::move(place));
}

}  // namespace weft::report
