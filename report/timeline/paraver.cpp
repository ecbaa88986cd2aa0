#include "report/timeline/paraver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "core/byte_sum.hpp"
#include "report/timeline/extrae_events.hpp"
#include "report/timeline/op_groups.hpp"
#include "report/timeline/paraver_head.hpp"
#include "report/timeline/paraver_messages.hpp"
#include "report/timeline/replay_export.hpp"
#include "traces/kernel.hpp"
#include "traces/request_book.hpp"

namespace weft::report {
namespace {

using traces::OpKind;

// Beside Extrae's (extrae_events.hpp).
constexpr std::uint32_t kRegion = 60000019, kKernel = 60000119, kPathEvent = 60000319, kSeries = 60000419;

struct State {
  int number;
  const char* name;
  const char* color;
};
constexpr State kRunning{1, "Running", "{0,0,255}"};
constexpr int kIdle = 0, kNotCreated = 2, kMemoryTransfer = 17;
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

// A line of the .prv that is of one rank, before it is text.
struct Record {
  std::int64_t at = 0;
  std::int64_t value = 0;   // of an event; a state's end
  std::uint64_t order = 0;  // of what a rank does at one instant
  std::uint32_t rank = 0;
  std::uint32_t type = 0;    // of an event; 0: a state
  std::uint16_t thread = 0;  // of the rank: 0 it itself, then its lanes
  std::int16_t state = 0;    // of an event kOwnLine or kBeside
};
constexpr std::int16_t kOwnLine = 0, kBeside = 1;
struct RecordsByTime {
  bool operator()(const Record& a, const Record& b) const {
    return std::tie(a.at, a.order) < std::tie(b.at, b.order);
  }
};

using RecordRows = SortedRows<Record, RecordsByTime>;

// `order` is as they are added: what a rank does at one instant stays in its order.
class Records {
 public:
  explicit Records(const Timeline& timeline) : rows_(timeline.beside, timeline.memory / 2) {}
  // Whose thread the next ones are.
  void thread(std::uint16_t of_rank) { thread_ = of_rank; }
  void state(std::uint32_t rank, std::int64_t from, std::int64_t to, int state) {
    if (to > from) rows_.add({from, to, rows_.size(), rank, 0, thread_, static_cast<std::int16_t>(state)});
  }
  void event(std::uint32_t rank, std::int64_t at, std::uint32_t type, std::int64_t value) {
    rows_.add({at, value, rows_.size(), rank, type, thread_, kOwnLine});
  }
  // On the line of the event before.
  void beside(std::uint32_t rank, std::int64_t at, std::uint32_t type, std::int64_t value) {
    rows_.add({at, value, rows_.size(), rank, type, thread_, kBeside});
  }
  [[nodiscard]] Result<RecordRows> finish() && {
    WEFT_TRY(rows_.finish());
    return std::move(rows_);
  }

 private:
  RecordRows rows_;
  std::uint16_t thread_ = 0;
};

// When things are in the file, of one rank.
class RankClock {
 public:
  explicit RankClock(SimTime from) : now_(prv_time(from)), seen_(from) {}
  [[nodiscard]] std::int64_t now() const { return now_; }
  // Something that is no call, or nothing, up to then.
  void pass(SimTime until) {
    if (until <= seen_) return;
    const std::int64_t ps = (until - seen_).count() + owed_;
    const std::int64_t whole = std::max<std::int64_t>(0, (ps + 500) / 1000);
    owed_ = ps - 1000 * whole;
    now_ += whole;
    seen_ = until;
  }
  // A call up to then.
  void call(SimTime until, std::int64_t least) {
    now_ = std::max(now_ + least, prv_time(until));
    seen_ = std::max(seen_, until);
  }

 private:
  std::int64_t now_;
  std::int64_t owed_ = 0;  // ps of what is no call that are not in now_: at most half a ns, more or less
  SimTime seen_;
};

bool is_call_with_ends(OpKind k) {
  return traces::is_send(k) || traces::is_receive(k) || k == OpKind::start || k == OpKind::startall;
}

struct Sizes {
  std::int64_t sent = 0, received = 0;
};
// As Extrae's wrappers and its merger have them: what a rank gives each of the others, or all, and what it gets.
Sizes sizes_of(const TimelineSpan& s, std::size_t members) {
  const bool root = s.peer == static_cast<std::int32_t>(s.rank);
  const std::int64_t a = s.amount;
  const auto all = static_cast<std::int64_t>(std::min<std::uint64_t>(
      times_bytes(members, static_cast<std::uint64_t>(a)), std::numeric_limits<std::int64_t>::max()));
  switch (traces::blocking_form(s.kind)) {
    case OpKind::barrier:
      return {0, 0};
    case OpKind::bcast:
      return root ? Sizes{a, 0} : Sizes{0, a};
    case OpKind::reduce:
      return root ? Sizes{0, a} : Sizes{a, 0};
    case OpKind::gather:
      return {a, root ? all : 0};
    case OpKind::gatherv:
      return {a, root ? s.listed : 0};
    case OpKind::scatter:
      return {root ? all : 0, a};
    case OpKind::scatterv:
      return {root ? s.listed : 0, a};
    case OpKind::allgather:
    case OpKind::alltoall:
      return {a, all};
    case OpKind::reduce_scatter_block:
      return {all, a};
    case OpKind::allreduce:
    case OpKind::scan:
    case OpKind::exscan:
      return {a, a};
    default:
      return {a, s.listed};
  }
}

using Requests = SortedRows<TimelineRequest, RequestsBySpan>::Reader;

// What a replay leaves of its ranks, rank by rank.
class RankWriter {
 public:
  RankWriter(const Timeline& timeline, const std::vector<traces::Communicator>& communicators, Records& out,
             PrvCalls& calls)
      : timeline_(timeline),
        communicators_(communicators),
        out_(out),
        calls_(calls),
        requests_(timeline.requests.reader()) {}

  // `spans` is at the first of the rank, or of a later one.
  void add(std::uint32_t rank, SortedRows<TimelineSpan, SpansByTime>::Reader& spans) {
    std::int64_t last = 0;
    if (spans.more() && spans.row().rank == rank) {
      RankClock clock(spans.row().begin);
      if (spans.row().begin == SimTime{}) out_.event(rank, 0, extrae::kApplication, 1);
      SimTime over{};
      for (; spans.more() && spans.row().rank == rank; spans.next()) {
        add(spans.row(), clock);
        over = std::max(over, spans.row().end);
      }
      last = clock.now();
      // To who reads the file as a program a rank computes up to its last event.
      if (over <= timeline_.to) out_.event(rank, last, extrae::kApplication, 0);
    }
    calls_.rank_over(rank, last);
    // Operations follow each other, so a rank whose last one is over before the time asked for is done. Of others nothing is known.
    // It is not idle: prv2dim takes that for computation, and Extrae says it of nobody.
    const SimTime end = std::min(timeline_.to, timeline_.end);
    if (timeline_.is_chosen(rank))
      out_.state(rank, std::max(last, prv_time(timeline_.from)), prv_time(end), kNotCreated);
    last_ = std::max(last_, last);
  }
  // The end of the last call of any.
  [[nodiscard]] std::int64_t last() const { return last_; }
  [[nodiscard]] Result<void> status() const { return requests_.status(); }

 private:
  using RequestList = std::span<const TimelineRequest>;
  void add(const TimelineSpan& s, RankClock& clock) {
    clock.pass(s.begin);
    const std::int64_t from = clock.now();
    if (s.is_region_mark()) {
      out_.event(s.rank, from, kRegion, s.kind == OpKind::region_begin ? s.amount + 1 : 0);
      return;
    }
    // To who reads the file as a program MPI_Init is a barrier of all, which it is not in a replay.
    const bool is_call = extrae_event(s.kind).value != 0 && s.kind != OpKind::init && !s.for_accelerator;
    std::int64_t calls = 1;
    if (is_call) {
      take_requests(s);
      if (s.kind == OpKind::startall && !is_one_call(of_span_)) calls = std::ssize(of_span_);
      const bool has_ends =
          is_call_with_ends(s.kind) || traces::is_completion(s.kind) || traces::is_collective(s.kind);
      clock.call(s.end, has_ends ? kLeastCall * calls : 0);
    } else {
      clock.pass(s.end);
    }
    const std::int64_t to = clock.now();
    out_.state(s.rank, from, to, s.for_accelerator ? kRunning.number : state_of(s.kind));
    if (is_call && calls > 1) {
      add_starts(s, from, to);
    } else if (is_call) {
      if (is_call_with_ends(s.kind)) calls_.add(s.rank, s.op, from, to);
      add_call(s, s.kind, from, to, of_span_);
    } else if (s.kind == OpKind::compute_kernel) {
      add_between(s.rank, from, to, kKernel, s.kernel + 1);
    } else if (s.kind == OpKind::exchange_series) {
      add_between(s.rank, from, to, kSeries, 1);
    }
  }
  // Beside a call stands one communicator of its messages, and one way in which it sends.
  static bool is_one_call(RequestList started) {
    const TimelineRequest* send = nullptr;
    for (const TimelineRequest& r : started) {
      if (r.comm != started.front().comm || (send != nullptr && is_send_request(r) && r.as != send->as))
        return false;
      if (is_send_request(r)) send = &r;
    }
    return true;
  }
  static bool is_send_request(const TimelineRequest& r) { return traces::is_nonblocking_send(r.as); }
  // A call for each request.
  void add_starts(const TimelineSpan& s, std::int64_t from, std::int64_t to) {
    const std::int64_t each = (to - from) / std::ssize(of_span_);
    std::uint32_t sends = 0;
    for (std::size_t i = 0; i < of_span_.size(); ++i) {
      const TimelineRequest& r = of_span_[i];
      const std::int64_t end = i + 1 == of_span_.size() ? to : from + each;
      if (is_send_request(r))
        calls_.add_send_of(s.rank, s.op, from, end, sends++);
      else
        calls_.add_receive_of(s.rank, s.op, from, end, r.slot);
      add_call(s, OpKind::start, from, end, {&r, 1});
      from = end;
    }
  }
  void add_call(const TimelineSpan& s, OpKind kind, std::int64_t from, std::int64_t to,
                RequestList requests) {
    const ExtraeEvent& call = extrae_event(kind);
    out_.event(s.rank, from, call.type, call.value);
    if (traces::is_collective(kind)) add_sizes(s, from);
    const bool starts = kind == OpKind::start || kind == OpKind::startall;
    const std::uint32_t comm = starts && !requests.empty() ? requests.front().comm : s.comm;
    if ((is_call_with_ends(kind) || traces::is_comm_create(kind)) && comm != 0)
      out_.beside(s.rank, from, traces::paraver::kMessageCommunicator, comm + std::int64_t{1});
    if (traces::is_comm_create(kind))
      out_.beside(s.rank, from, traces::paraver::kMadeCommunicator, s.amount + 1);
    if (starts) add_how_sent(s.rank, from, requests);
    for (const TimelineRequest& r : requests) {
      if (r.ends) calls_.add_end(r, from, to);
      if (r.as != OpKind::irecv)
        out_.beside(s.rank, from, traces::paraver::kRequest, r.slot + std::int64_t{1});
    }
    out_.event(s.rank, to, call.type, 0);
  }
  void add_how_sent(std::uint32_t rank, std::int64_t at, RequestList started) {
    const auto send = std::ranges::find_if(started, is_send_request);
    if (send != started.end() && send->as != OpKind::isend)
      out_.beside(rank, at, traces::paraver::kStartedAs, extrae_event(send->as).value);
  }
  void add_between(std::uint32_t rank, std::int64_t from, std::int64_t to, std::uint32_t type, int value) {
    out_.event(rank, from, type, value);
    out_.event(rank, to, type, 0);
  }
  void add_sizes(const TimelineSpan& s, std::int64_t at) {
    if (s.comm >= communicators_.size()) return;
    const Sizes sizes = sizes_of(s, communicators_[s.comm].members.size());
    out_.beside(s.rank, at, traces::paraver::kSentSize, sizes.sent);
    out_.beside(s.rank, at, traces::paraver::kReceivedSize, sizes.received);
    out_.beside(s.rank, at, traces::paraver::kCommunicator, s.comm + std::int64_t{1});
    // To prv2dim the event alone says that it is one.
    if (traces::is_rooted(s.kind) && s.peer == static_cast<std::int32_t>(s.rank))
      out_.beside(s.rank, at, traces::paraver::kIsRoot, 1);
  }
  void take_requests(const TimelineSpan& s) {
    of_span_.clear();
    const auto here = [&] { return std::tie(requests_.row().rank, requests_.row().span); };
    while (requests_.more() && here() < std::tie(s.rank, s.order)) requests_.next();
    for (; requests_.more() && here() == std::tie(s.rank, s.order); requests_.next())
      of_span_.push_back(requests_.row());
  }

  const Timeline& timeline_;
  const std::vector<traces::Communicator>& communicators_;
  Records& out_;
  PrvCalls& calls_;
  Requests requests_;
  std::vector<TimelineRequest> of_span_;  // those of one
  std::int64_t last_ = 0;
};

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
      const std::int64_t from = prv_time(d.begin), to = prv_time(over);
      out.state(rank, prv_time(last), from, kIdle);
      out.state(rank, from, to, traces::is_device_copy(d.kernel) ? kMemoryTransfer : kRunning.number);
      out.event(rank, from, kKernel, static_cast<std::int64_t>(d.kernel) + 1);
      out.event(rank, to, kKernel, 0);
      last = std::max(last, over);
    }
    out.state(rank, prv_time(last), prv_time(end), kIdle);
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
    out.event(rank, prv_time(s.from), kPathEvent, s.is_message() ? kAwaited : kOwnTime);
    out.event(rank, prv_time(s.to), kPathEvent, 0);
  }
}

PrvSystem system_of(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank) {
  std::vector<std::uint32_t> threads(timeline.ranks);
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) threads[r] = threads_of(timeline, r);
  return {node_of_rank, threads, 0};
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
  type(extrae::kApplication, "Application", Values{{1, "Begin"}});
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
  type(kSeries, "Exchange series", Values{{1, "exchange series"}});
  Values ways;
  for (const OpKind k : {OpKind::ibsend, OpKind::issend, OpKind::irsend})
    ways.emplace_back(extrae_event(k).value, std::string(extrae_event(k).label));
  type(traces::paraver::kStartedAs, "Sends are started as", ways);
  out += "\n\nEVENT_TYPE\n";
  for (const ExtraeEventType& t : extrae::kCollectiveTypes)
    out += fmt::format("1    {}    {}\n", t.number, t.label);
  out += fmt::format(
      "1    {}    Request of a send or a collective\n1    {}    Communicator of a message\n1    {}    "
      "Communicator that is made\n",
      traces::paraver::kRequest, traces::paraver::kMessageCommunicator, traces::paraver::kMadeCommunicator);
  return out + "\n";
}

namespace {

struct ProgramRecords {
  RecordRows rows;
  PrvCalls calls;
  std::int64_t last = 0;
};
Result<ProgramRecords> records_of(const Timeline& timeline,
                                  const std::vector<traces::Communicator>& communicators) {
  Records records(timeline);
  PrvCalls calls(timeline);
  RankWriter writer(timeline, communicators, records, calls);
  auto spans = timeline.spans.reader();
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) writer.add(r, spans);
  WEFT_TRY(spans.status());
  WEFT_TRY(writer.status());
  WEFT_TRY(add_devices(records, timeline));
  add_path_events(records, timeline);
  WEFT_ASSIGN(RecordRows rows, std::move(records).finish());
  return ProgramRecords{std::move(rows), std::move(calls), writer.last()};
}

void write_record(TextPieces& out, const PrvSystem& system, RecordRows::Reader& record) {
  const Record r = record.row();
  record.next();
  if (r.type == 0)
    return out.add("1:{}:1:{}:{}:{}:{}:{}\n", system.cpu[r.rank] + r.thread, r.rank + 1, r.thread + 1, r.at,
                   r.value, r.state);
  out.add("2:{}:1:{}:{}:{}:{}:{}", system.cpu[r.rank] + r.thread, r.rank + 1, r.thread + 1, r.at, r.type,
          r.value);
  for (; record.more() && record.row().type != 0 && record.row().state == kBeside; record.next())
    out.add(":{}:{}", record.row().type, record.row().value);
  out.add("\n");
}

}  // namespace

Result<void> write_prv(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank,
                       const std::vector<traces::Communicator>& communicators, const TextSink& to) {
  const PrvSystem system = system_of(timeline, node_of_rank);
  WEFT_ASSIGN(ProgramRecords records, records_of(timeline, communicators));
  WEFT_ASSIGN(const PrvMessages messages, std::move(records.calls).messages());

  TextPieces out(to);
  system.write_head(out, std::max({prv_time(timeline.end), messages.last, records.last}), communicators);
  // At one instant ranks come first, then messages.
  auto record = records.rows.reader();
  auto message = messages.rows.reader();
  while (record.more() || message.more()) {
    if (record.more() && (!message.more() || record.row().at <= message.row().sent)) {
      write_record(out, system, record);
      continue;
    }
    const PrvMessage& m = message.row();
    out.add("3:{}:1:{}:1:{}:{}:{}:1:{}:1:{}:{}:{}:{}\n", system.cpu[m.from], m.from + 1, m.sent, m.left,
            system.cpu[m.to], m.to + 1, m.posted, m.received, m.bytes, m.tag);
    message.next();
  }
  WEFT_TRY(record.status());
  WEFT_TRY(message.status());
  out.flush();
  return {};
}

std::string paraver_row(const Timeline& timeline, const std::vector<std::uint32_t>& node_of_rank) {
  std::vector<std::string> names;
  for (std::uint32_t r = 0; r < timeline.ranks; ++r) {
    names.push_back(fmt::format("rank {}", r));
    for (std::size_t l = 0; l < kLaneNames.size(); ++l)
      if (!timeline.lanes.empty() && (timeline.lanes[r] >> l & 1) != 0)
        names.push_back(fmt::format("rank {} {}", r, kLaneNames[l]));
  }
  return system_of(timeline, node_of_rank).row(names, "");
}

namespace {

class ParaverFiles final : public ReplayFiles {
 public:
  // NAME, or NAME.prv as the viewer's own dialogs call it.
  explicit ParaverFiles(std::string place) : ReplayFiles(files_of(place)), place_(std::move(place)) {}
  [[nodiscard]] Shows shows() const override { return Shows::kCalls; }
  [[nodiscard]] Result<void> open() override {
    if (is_standard_output(place_))
      return usage_error("what Paraver reads are several files", place_, "paraver:NAME");
    return ReplayFiles::open();
  }

 private:
  static std::vector<std::string> files_of(std::string name) {
    if (name.ends_with(".prv")) name.resize(name.size() - 4);
    return {name + ".prv",         name + ".pcf",         name + ".row",
            name + ".network.prv", name + ".network.pcf", name + ".network.row"};
  }
  [[nodiscard]] Result<void> write_files(const Replayed& run, std::span<AtomicFile> files) const override {
    WEFT_TRY(write_prv(run.timeline, run.node_of_rank, run.trace.communicators(),
                       [&files](std::string_view text) { files[0].write(text); }));
    files[1].write(paraver_pcf(run.timeline));
    files[2].write(paraver_row(run.timeline, run.node_of_rank));
    WEFT_TRY(write_network_prv(run.timeline, run.node_of_rank,
                               [&files](std::string_view text) { files[3].write(text); }));
    files[4].write(network_pcf(run.timeline));
    files[5].write(network_row(run.timeline, run.node_of_rank));
    return {};
  }
  std::string place_;
};

}  // namespace

std::unique_ptr<ReplayExport> replay_export_paraver(std::string place) {
  return std::make_unique<ParaverFiles>(std::move(place));
}

}  // namespace weft::report
